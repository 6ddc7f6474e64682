"""A page about a service for people, the node or a run over an archive: what waits, what was answered,
the newest series.  It names no patient; thumbnails show images."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.decision.statements import UNSURE, YES
from fovnet.node.places import STATES, Places
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.region_answers import STATUS_IN_WORDS
from fovnet.report.pages.templating import template_environment
from fovnet.watch.serving import Answer
from fovnet.watch.tally import RECENT_SERIES, CountedAnswer, Tally

MOST_ROWS = 50
SECONDS_PER_HOUR = 3600
HTML = "text/html; charset=utf-8"
QUEUE_FIGURES = ("associations", "series_arriving", "series_waiting", "oldest_waiting_s")
WORDS_BY_FIGURE = {
    "associations": "associations now",
    "series_arriving": "series arriving",
    "series_waiting": "series waiting for their answers",
    "oldest_waiting_s": "the oldest waits for",
    "series_answered": "series answered",
    "reports_unsent": "reports not sent",
    "reports_stored": "reports stored, not yet committed to",
    "reports_delivered": "reports delivered",
    "free_bytes": "free on the disk",
    "seconds": "at work for",
    "resident_bytes": "memory",
    "series": "series taken",
    "answered": "volumes answered",
    "refused": "volumes refused",
    "without_report": "without a report",
    "unchanged": "series sent again, nothing new",
    "instances": "instances taken",
    "bytes": "taken in all",
    "strangers": "callers refused",
    "limit_reached": "callers rejected: no association free",
    "classes_refused": "associations that sent nothing, of objects not taken",
    "tls_failed": "connections ended: TLS",
    "not_dicom": "connections ended: no DICOM",
    "silent": "associations ended: silent",
    "without_request": "connections without a request (probes)",
    "connections_broken": "connections broken off",
    "sent": "reports sent",
    "retries": "attempts put off",
    "given_up": "reports given up and removed",
    "uncommitted": "reports stored, never committed to",
    "disk_full": "instances refused: disk full",
    "mismatched": "instances refused: UIDs",
    "not_understood": "instances refused: unreadable",
    "too_large": "connections closed: too large",
}
"""What the page calls the figures; those after `seconds` are counted since the start."""


@dataclass(frozen=True)
class NewestRow:
    """One volume of the newest series.

    report  where its report is: unsent, stored, delivered; "" where none lies on the disk
    picture  data: URI of its thumbnail, "" without one
    """

    volume_id: str
    time: str
    status: str
    shows: str
    unsure: str
    codes: str
    report: str
    picture: str


@dataclass(frozen=True)
class PageSubject:
    """What a page is about.

    kind              of the service, in words
    title             its name
    places            the folders of its reports
    queue_figures     names of those that tell what waits
    words_by_figure   what its figures are called
    answer_time       when a volume was answered, in seconds since 1970; 0.0 if that is not known
    thumbnail_paths   of a volume: the first that exists is shown
    failed_by_code    how many series did not come, by code
    """

    kind: str
    title: str
    places: Places
    queue_figures: Sequence[str]
    words_by_figure: Mapping[str, str]
    answer_time: Callable[[CountedAnswer], float]
    thumbnail_paths: Callable[[str], Sequence[Path]]
    reports_caption: str
    newest_caption: str
    failed_by_code: Callable[[], Mapping[str, int]] = dict


@dataclass(frozen=True)
class ServicePage:
    """The whole page."""

    subject: PageSubject
    trouble: str
    drift: str
    queue: ReportTable
    throughput: ReportTable
    outcomes: ReportTable
    regions: ReportTable
    refusals: ReportTable
    failures: ReportTable
    reports: ReportTable
    figures: ReportTable
    newest: tuple[NewestRow, ...]


def node_subject(title: str, places: Places) -> PageSubject:
    """What the page of a node is about."""
    return PageSubject(
        kind="a DICOM node",
        title=title,
        places=places,
        queue_figures=QUEUE_FIGURES,
        words_by_figure=WORDS_BY_FIGURE,
        answer_time=lambda answer: places.answer_time(answer.series_key),
        thumbnail_paths=lambda volume_id: [
            places.thumbnail_path(volume_id, faces=faces) for faces in (False, True)
        ],
        reports_caption="On the disk; delivered ones are removed after some hours.",
        newest_caption="Names are hashes; answers.tsv has the UIDs. Pictures go when the images go.",
    )


def page_answer(subject: PageSubject, figures: Mapping[str, Any], tally: Tally) -> Answer:
    """What is answered to a request for the page.

    figures  numbers by name; `trouble`, what is wrong, and `drift`, in words
    """
    template = template_environment().get_template("service.html.jinja")
    page = make_page(subject, figures, tally)
    return Answer(template.render(page=page).encode(), HTML)


def make_page(subject: PageSubject, figures: Mapping[str, Any], tally: Tally) -> ServicePage:
    """The page of a service: its figures, what its table comes to, and the newest series."""
    recent_answers = tally.recent()
    newest_answers = recent_answers[: -MOST_ROWS - 1 : -1]
    words_by_figure = subject.words_by_figure
    report_figures = [f"reports_{state}" for state in STATES]
    return ServicePage(
        subject=subject,
        trouble=figures["trouble"],
        drift=figures["drift"],
        queue=_figure_table("waits", figures, words_by_figure, subject.queue_figures),
        throughput=_throughput_table(subject, figures, recent_answers),
        outcomes=_count_table(
            "answer", {STATUS_IN_WORDS.get(s, s): count for s, count in tally.by_status().items()}
        ),
        regions=_region_table(tally),
        refusals=_count_table("refused for", tally.by_code()),
        failures=_count_table("did not come for", subject.failed_by_code(), "series"),
        reports=_figure_table("reports", figures, words_by_figure, report_figures),
        figures=_figure_table("all figures", figures, words_by_figure, [*words_by_figure]),
        newest=tuple(_newest_row(answer, subject) for answer in newest_answers),
    )


def _figure_table(
    name: str,
    figures: Mapping[str, Any],
    words_by_figure: Mapping[str, str],
    figure_names: Sequence[str],
) -> ReportTable:
    rows = [
        (words_by_figure[figure], _format_figure(figure, figures[figure]))
        for figure in figure_names
        if figure in figures
    ]
    return ReportTable((name, "number"), rows)


def _count_table(
    name: str, count_by_word: Mapping[str, int], counted: str = "volumes"
) -> ReportTable:
    return ReportTable(
        (name, counted), [(word, f"{count:,}") for word, count in count_by_word.items()]
    )


def _region_table(tally: Tally) -> ReportTable:
    count_by_answer = tally.by_region()
    regions = dict.fromkeys(region for region, _ in count_by_answer)
    rows = [
        (region, *(f"{count_by_answer.get((region, word), 0):,}" for word in (YES, UNSURE)))
        for region in regions
    ]
    return ReportTable(("region", "shown", "unsure"), rows)


def _throughput_table(
    subject: PageSubject, figures: Mapping[str, Any], answers: list[CountedAnswer]
) -> ReportTable:
    """Series answered within the last hour, of the newest RECENT_SERIES, and what was taken."""
    hour_ago = time.time() - SECONDS_PER_HOUR
    answer_by_key = {answer.series_key: answer for answer in answers}
    hour_count = sum(subject.answer_time(answer) >= hour_ago for answer in answer_by_key.values())
    hour_in_words = f"{hour_count:,}"
    if hour_count == RECENT_SERIES:
        hour_in_words += " or more"
    rows = [("series answered in the last hour", hour_in_words)]
    for figure in ("series_answered", "instances", "bytes", "seconds"):
        if figure in figures:
            words = subject.words_by_figure[figure]
            rows.append((words, _format_figure(figure, figures[figure])))
    return ReportTable(("throughput", "number"), rows)


def _newest_row(answer: CountedAnswer, subject: PageSubject) -> NewestRow:
    words_by_answer: dict[str, list[str]] = {YES: [], UNSURE: []}
    for region, word in answer.answer_by_name.items():
        words_by_answer.setdefault(word, []).append(region)
    report_states = [
        state
        for state in STATES
        if (subject.places.reports(state) / f"{answer.volume_id}.dcm").exists()
    ]
    answer_time = time.localtime(subject.answer_time(answer))
    return NewestRow(
        volume_id=answer.volume_id,
        time=time.strftime("%d %b %H:%M:%S", answer_time),
        status=STATUS_IN_WORDS.get(answer.status, answer.status),
        shows=", ".join(words_by_answer[YES]),
        unsure=", ".join(words_by_answer[UNSURE]),
        codes=" ".join(answer.codes),
        report=" ".join(report_states),
        picture=_picture_uri(subject.thumbnail_paths(answer.volume_id)),
    )


def _picture_uri(paths: Sequence[Path]) -> str:
    for path in paths:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        return "data:image/jpeg;base64," + base64.b64encode(content).decode()
    return ""


def _format_figure(name: str, value: float) -> str:
    if name.endswith("bytes"):
        return f"{value / 2**30:,.2f} GiB"
    if name in ("seconds", "oldest_waiting_s"):
        return f"{value // 3600:,.0f} h {value % 3600 // 60:.0f} min"
    return f"{value:,.0f}"
