"""The index of a batch: the answer for every volume, those that need review first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from fovnet.decision.answers_table import TableRows
from fovnet.decision.statements import SOME_UNSURE, UNSURE, YES, Statement, is_guess_sure
from fovnet.own_files import PAGES, ROWS_OPENING, page_name, remove_rows, rows_name, thumbnail_name
from fovnet.records import read_json, write_text
from fovnet.regions import NONE, Vocabulary
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.region_answers import (
    ANSWERS,
    GUESS_SENTENCES,
    RegionChip,
    answer_sentence,
    chips,
    chips_of_spans,
)
from fovnet.report.content.wording import percent
from fovnet.report.pages.pour import template_environment
from fovnet.words import several

ROWS_IN_HTML = 200
"""Rows written as HTML, for readers without JavaScript; with it, further ones are built from
the data of all rows, as many at a time."""
ROWS_IN_PAGE = 50_000
"""Rows that the page itself holds, 6 MB; the further ones of a large batch lie in files of as
many beside the pages of volumes, which the script asks for one by one.  In one page a million rows
took 1.5 GB of memory."""
URGENCY = {status: rank for rank, status in enumerate(ANSWERS)}
"""Order of the volumes by status."""
LONGEST_DOUBT = 160
"""Characters of a doubt in the list; the volume's JSON and spans.tsv have the whole sentence.  The
reason why a volume is refused is whole, as it has no page."""
MOST_UNREAD_LISTED = 200
"""Series that are not read, listed with their reasons; found.tsv has all."""
MOST_DOUBTS_NAMED = 12
"""Kinds of doubt listed with their counts, the most frequent ones."""


@dataclass(frozen=True)
class IndexRow:
    """One volume: what it shows in plain words and as chips, confidence of the whole volume,
    doubts.

    none        "yes" if it surely shows no region, "unsure" if it may be so, else ""
    confidence  None where its best guess is not sure
    page        relative URL of its page, "" if it has none
    picture     relative URL of its thumbnail, "" if it has none
    certainty   by which volumes of one status are ordered, the least sure first
    """

    volume_id: str
    status: str
    sentence: str
    said: tuple[RegionChip, ...]
    none: str
    confidence: float | None
    doubt: str
    page: str
    picture: str
    certainty: float


@dataclass(frozen=True)
class IndexPage:
    """The whole index.

    aside        numbers of the DICOM series found but not read, by kind
    unread       the first of them with their reasons
    unlisted     the number of the others
    rows         all volumes
    first        those that are written as HTML
    names        of the regions, and of none
    colours      of the same
    guess_words  what a best guess is, where any is not sure
    """

    sentence: str
    statuses: ReportTable
    regions: ReportTable
    doubts: ReportTable
    aside: ReportTable
    unread: ReportTable
    unlisted: int
    rows: tuple[IndexRow, ...]
    first: tuple[IndexRow, ...]
    names: tuple[str, ...]
    colours: tuple[str, ...]
    guess_words: str


def index_page(
    volumes: Iterable[TableRows],
    folder: Path,
    vocabulary: Vocabulary,
    series: Sequence[Mapping[str, Any]] = (),
) -> IndexPage:
    """The index from what the tables hold of each volume; doubts of flagged volumes that are not
    told there are read from their JSON in `folder`.

    series   rows of found.tsv, of which those set aside are counted
    """
    rows = []
    count_of_status: Counter[str] = Counter()
    count_of_doubt: Counter[str] = Counter()
    present_files = _present_files(folder)
    for volume in volumes:
        volume_doubts = _doubts_of(folder, volume)
        count_of_doubt.update({doubt_in_words(code) for code, _ in volume_doubts})
        doubt_text = "; ".join(filter(None, (words for _, words in volume_doubts)))
        row = _index_row(volume, doubt_text, present_files, vocabulary)
        if row.status == "refused":
            row = replace(row, doubt=doubt_text)
        count_of_status[row.status] += 1
        rows.append(row)
    count_of_kind = Counter(str(row["kind"]) for row in series if row["kind"] != "volume")
    ordered = sorted(rows, key=_order_key)
    return IndexPage(
        sentence=_summary_sentence(count_of_status),
        statuses=_counts_table(
            "answer",
            {words: count_of_status[key] for key, words in ANSWERS.items() if count_of_status[key]},
            len(rows),
        ),
        regions=_regions_table(rows, vocabulary),
        doubts=_counts_table("doubt", _most_frequent(count_of_doubt), len(rows)),
        aside=_counts_table(
            "set aside", _most_frequent(count_of_kind, len(count_of_kind)), len(series), "series"
        ),
        unread=_unread_table(series),
        unlisted=max(0, count_of_kind.total() - MOST_UNREAD_LISTED),
        rows=tuple(ordered),
        first=tuple(ordered[:ROWS_IN_HTML]),
        names=vocabulary.classes,
        colours=tuple(map(vocabulary.colour, vocabulary.classes)),
        guess_words=GUESS_SENTENCES if any(map(_is_guess_unsure, rows)) else "",
    )


def write_index(path: Path, page: IndexPage, rows_in_page: int = ROWS_IN_PAGE) -> Path:
    """Writes the index, atomically: one HTML file, after the files of the rows beyond those of
    the page, if there are any; returns `path`."""
    data = script_data(page)
    rows = data["rows"]
    row_files = [
        rows[first : first + rows_in_page] for first in range(rows_in_page, len(rows), rows_in_page)
    ]
    for number, file_rows in enumerate(row_files, 1):
        write_text(
            path.parent / rows_name(number),
            f"{ROWS_OPENING}{_script_text(file_rows)});\n",
            keep_same=True,
        )
    page_data = Markup(
        _script_text(
            {**data, "rows": rows[:rows_in_page], "total": len(rows), "files": len(row_files)}
        )
    )
    template = template_environment().get_template("index.html.jinja")
    html = template.render(page=page, data=page_data, answers=ANSWERS)
    write_text(path, html, keep_same=True)
    remove_rows(path.parent, len(row_files))
    return path


def _script_text(data: Any) -> str:
    """JSON that may stand in a script, whatever its text says, and in UTF-8."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def script_data(page: IndexPage) -> dict[str, Any]:
    """What the script reads, kept short: of a hundred thousand volumes it is 12 MB.

    rows  a list for each volume, in the order of its constants: name, places of status and sentence
          in their lists, confidence, doubt, what is said of each region, address of its page, has
          it a thumbnail
    """
    sentences = list(dict.fromkeys(row.sentence for row in page.rows))
    sentence_indices = {words: index for index, words in enumerate(sentences)}
    rows = [
        [
            row.volume_id,
            URGENCY[row.status],
            sentence_indices[row.sentence],
            None if row.confidence is None else round(row.confidence, 3),
            row.doubt,
            _marks_text(row, page.names),
            _stem(row),
            int(bool(row.picture)),
        ]
        for row in page.rows
    ]
    return {
        "regions": page.names,
        "colours": page.colours,
        "answers": list(ANSWERS),
        "sentences": sentences,
        "rows": rows,
    }


def _marks_text(row: IndexRow, names: Sequence[str]) -> str:
    """ "y97 n2 g55 u40 - - -": the answer on each region and its percentage, "g" of a region that
    is unsure and in the best guess, "-" where nothing is said."""
    marks = {chip.region: _chip_mark(chip) for chip in row.said}
    return " ".join(marks.get(name, "-") for name in names[:-1]) + f" {row.none[:1] or '-'}"


def _chip_mark(chip: RegionChip) -> str:
    letter = "g" if chip.answer == UNSURE and chip.is_guess else chip.answer[0]
    return letter if chip.percent is None else f"{letter}{chip.percent}"


def _stem(row: IndexRow) -> str | int:
    """The name of a volume's page: 0 without one, 1 if it is the volume's, else the name quoted, as
    of bytes that are not UTF-8."""
    if not row.page:
        return 0
    try:
        row.volume_id.encode()
    except UnicodeEncodeError:
        return row.page.removeprefix(f"{PAGES}/").removesuffix(".html")
    return 1


def _order_key(row: IndexRow) -> tuple[int, bool, float, str]:
    """Its place in the list: those that need a look first, the least sure before the others; before
    those of which a confidence is told those of which none is."""
    return URGENCY[row.status], row.confidence is not None, row.certainty, row.volume_id


def _present_files(folder: Path) -> frozenset[str]:
    """Paths of the pages and thumbnails that are there, relative to the index."""
    folder_of_pages = folder / PAGES
    if not folder_of_pages.is_dir():
        return frozenset()
    return frozenset(f"{PAGES}/{path.name}" for path in folder_of_pages.iterdir())


def _index_row(
    volume: TableRows, doubt_text: str, present_files: Container[str], vocabulary: Vocabulary
) -> IndexRow:
    head = volume.spans[0]
    statements = volume.statements(vocabulary.classes[:-1])
    volume_id = str(head["volume_id"])
    status = str(head["status"])
    span_regions = [str(span["region"]) for span in volume.spans if span.get("region")]
    regions = tuple(dict.fromkeys(span_regions))
    region_chips = chips(statements, vocabulary) or chips_of_spans(regions, status, vocabulary)
    is_shown = bool(regions) or any(chip.answer == YES for chip in region_chips)
    none = ""
    if status != "refused" and not is_shown:
        none = YES if status == "ok" else UNSURE
    if len(doubt_text) > LONGEST_DOUBT:
        doubt_text = f"{doubt_text[: LONGEST_DOUBT - 1]}…"
    page, picture = (
        quote(path, errors="surrogateescape") if path in present_files else ""
        for path in (page_name(volume_id), thumbnail_name(volume_id))
    )
    confidence = head.get("volume_confidence")
    return IndexRow(
        volume_id=volume_id,
        status=status,
        sentence=answer_sentence(statements, regions, status),
        said=region_chips,
        none=none,
        confidence=confidence if is_guess_sure(statements, status) else None,
        doubt=doubt_text,
        page=page,
        picture=picture,
        certainty=_certainty(statements, confidence),
    )


def _is_guess_unsure(row: IndexRow) -> bool:
    """Whether a region of its best guess is unsure, by probabilities."""
    return any(
        chip.is_guess and chip.answer == UNSURE and chip.percent is not None for chip in row.said
    )


def _certainty(statements: Sequence[Statement], confidence: float | None) -> float:
    """The confidence of a volume where it has one; else how far its statements are from even, on
    average: 0.5 to 1; 1 without any."""
    if confidence is not None:
        return confidence
    if not statements:
        return 1.0
    probabilities = [statement.probability for statement in statements]
    return sum(max(share, 1 - share) for share in probabilities) / len(probabilities)


def _doubts_of(folder: Path, volume: TableRows) -> list[tuple[str, str]]:
    """(code, sentence) of each doubt of a flagged volume; of a refused one the code and the reason;
    without a sentence where only probabilities are unsure, which the chips show."""
    head = volume.spans[0]
    status = str(head["status"])
    doubts_of_some = []
    if SOME_UNSURE.code in str(head.get("code") or "").split():
        doubts_of_some.append((SOME_UNSURE.code, ""))
    extents = head.get("extents")
    if extents == "sure" or (status == "ok" and extents != "unsure"):
        return doubts_of_some
    codes_and_words: Sequence[tuple[Any, Any]] | None = volume.doubts
    facts: Mapping[str, Any] = head
    if codes_and_words is None:
        codes_and_words, facts = _doubts_in_json(folder, head)
    doubts = [
        (str(code or "other"), str(words or "")) for code, words in codes_and_words if code != NONE
    ]
    if doubts or doubts_of_some:
        return doubts + doubts_of_some
    code = str(facts.get("code") or "") if status == "refused" else ""
    return [(code or ANSWERS[status], str(facts.get("message") or ""))]


def _doubts_in_json(
    folder: Path, head: Mapping[str, Any]
) -> tuple[list[tuple[Any, Any]], Mapping[str, Any]]:
    """(code and sentence of each doubt, the facts) of a volume's JSON; none and `head` if
    unreadable."""
    try:
        facts: Mapping[str, Any] = read_json(folder / f"{head['volume_id']}.json")
    except (OSError, ValueError):
        facts = head
    return [
        (doubt.get("code"), doubt.get("sentence")) for doubt in facts.get("doubts") or ()
    ], facts


def _summary_sentence(count_of_status: Counter[str]) -> str:
    total = sum(count_of_status.values())
    flagged = total - count_of_status["ok"]
    if not flagged:
        return f"{several(total, 'volume')}, all answered."
    counts_text = ", ".join(
        f"{count_of_status[status]:,} {ANSWERS[status]}"
        for status in ("ok", "partly", "uncertain", "refused")
        if count_of_status[status] or status != "partly"
    )
    return (
        f"{several(total, 'volume')}: {counts_text}. Those that need a look ({flagged:,}) come "
        "first."
    )


def _regions_table(rows: Sequence[IndexRow], vocabulary: Vocabulary) -> ReportTable:
    """Volumes that surely show a region, and those that may, by region in the order of the
    vocabulary."""
    surely_shown: Counter[str] = Counter()
    perhaps_shown: Counter[str] = Counter()
    for row in rows:
        answers = {chip.region: chip.answer for chip in row.said} | {NONE: row.none}
        surely_shown.update(name for name, answer in answers.items() if answer == YES)
        perhaps_shown.update(name for name, answer in answers.items() if answer in (YES, UNSURE))
    names = [name for name in vocabulary.classes if perhaps_shown[name]]
    return ReportTable(
        ("region", "surely shows", "may show"),
        [(name, f"{surely_shown[name]:,}", f"{perhaps_shown[name]:,}") for name in names],
        list(map(vocabulary.colour, names)),
    )


def _unread_table(series: Iterable[Mapping[str, Any]]) -> ReportTable:
    """Path, kind and whole reason of series that are not read, unreadable ones first."""
    rows = [row for row in series if row["kind"] != "volume"]
    rows.sort(key=lambda row: row["kind"] != "unreadable")
    header = ("path", "set aside as", "reason")
    cells = [
        (row.get("path", ""), row["kind"], row.get("reason", ""))
        for row in rows[:MOST_UNREAD_LISTED]
    ]
    return ReportTable(header, cells)


def _most_frequent(counts: Counter[str], most: int = MOST_DOUBTS_NAMED) -> dict[str, int]:
    """The most frequent kinds and their counts, those of equal counts by name: the order does not
    depend on that of the volumes."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:most])


def _counts_table(
    name: str, counts: Mapping[str, int], total: int, unit: str = "volumes"
) -> ReportTable:
    rows = [(key, f"{count:,}/{total:,}", percent(count / total)) for key, count in counts.items()]
    return ReportTable((name, unit, "share"), rows)
