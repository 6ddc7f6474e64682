"""The index of a batch: the answer for every volume, those that need review first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from fovnet.own_files import page_name
from fovnet.records import read_json, write_text
from fovnet.regions import NONE
from fovnet.report.content.cells import Table
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.wording import percent
from fovnet.report.pages.pour import rooms
from fovnet.report.pages.volume_page import ANSWERS, doubts_in_words
from fovnet.words import several

FIRST = 500
"""Rows written as HTML, for readers without JavaScript; with it, the table is built from the data of all
rows."""
URGENCY = {"uncertain": 0, "refused": 1, "ok": 2}
"""Order of the volumes by status."""
LONGEST = 240
"""Characters of a doubt in the list; the volume's JSON and spans.tsv have the whole sentence."""
NAMED_DOUBTS = 12
"""Kinds of doubt listed with their counts, the most frequent ones."""


@dataclass(frozen=True)
class IndexRow:
    """One volume: predicted regions, confidence of the whole volume, doubts.

    `page` is the relative URL of its page, "" if it has none.  The script reads the fields in this order.
    """

    volume_id: str
    status: str
    regions: str
    confidence: float | None
    doubt: str
    page: str


@dataclass(frozen=True)
class IndexPage:
    """The whole index; `aside` counts the DICOM series found but not read, by kind."""

    sentence: str
    statuses: Table
    regions: Table
    doubts: Table
    aside: Table
    rows: tuple[IndexRow, ...]
    first: tuple[IndexRow, ...]
    names: tuple[str, ...]


def index_page(
    volumes: Iterable[Sequence[Mapping[str, Any]]], folder: Path, series: Sequence[Mapping[str, Any]] = ()
) -> IndexPage:
    """The index from the rows of spans.tsv, grouped by volume; doubts of flagged volumes are read from their
    JSON in `folder`.

    series   rows of found.tsv, of which those set aside are counted
    """
    rows, counted, doubts = [], Counter[str](), Counter[str]()
    regions: dict[str, Counter[str]] = {"ok": Counter(), "uncertain": Counter()}
    for spans in volumes:
        head = spans[0]
        predicted = tuple(dict.fromkeys(str(span["region"]) for span in spans if span.get("region")))
        why = _doubts(folder, head)
        counted[str(head["status"])] += 1
        if head["status"] in regions:
            regions[str(head["status"])].update(predicted or (NONE,))
        doubts.update({doubt_in_words(code) for code, _ in why})
        rows.append(_row(head, predicted, "; ".join(sentence for _, sentence in why), folder))
    unread = Counter(str(row["kind"]) for row in series if row["kind"] != "volume")
    ordered = sorted(
        rows,
        key=lambda row: (
            URGENCY[row.status], 1.0 if row.confidence is None else row.confidence, row.volume_id,
        ),
    )
    return IndexPage(
        sentence=_sentence(counted),
        statuses=_counted(
            "answer", {ANSWERS[status]: counted[status] for status in URGENCY if counted[status]}, len(rows)
        ),
        regions=_regions(regions["ok"], regions["uncertain"]),
        doubts=_counted("doubt", _frequent(doubts), len(rows)),
        aside=_counted("set aside", _frequent(unread, len(unread)), len(series), "series"),
        rows=tuple(ordered),
        first=tuple(ordered[:FIRST]),
        names=tuple(sorted(regions["ok"] | regions["uncertain"])),
    )


def write_index(path: Path, page: IndexPage) -> Path:
    """Writes the index as one HTML file, atomically; returns `path`."""
    rows = json.dumps([astuple(row) for row in page.rows], separators=(",", ":"), ensure_ascii=False)
    data = Markup(rows.replace("<", "\\u003c"))
    html = rooms().get_template("index.html.jinja").render(page=page, data=data, answers=ANSWERS)
    return write_text(path, html, keep_same=True)


def _row(head: Mapping[str, Any], predicted: tuple[str, ...], doubt: str, folder: Path) -> IndexRow:
    sure = head.get("volume_confidence")
    name = page_name(str(head["volume_id"]))
    address = quote(name, errors="surrogateescape") if (folder / name).exists() else ""
    short = doubt if len(doubt) <= LONGEST else f"{doubt[: LONGEST - 1]}…"
    return IndexRow(
        str(head["volume_id"]), str(head["status"]), ", ".join(predicted) or "–", sure, short, address
    )


def _doubts(folder: Path, head: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(code, sentence) of each doubt of a flagged volume; of a refused one the code and the reason; none if
    the status is ok."""
    if head["status"] == "ok":
        return []
    try:
        body = read_json(folder / f"{head['volume_id']}.json")
    except (OSError, ValueError):
        body = dict(head)
    given = [
        (str(one.get("code") or "other"), str(one.get("sentence") or "")) for one in body.get("doubts") or ()
    ]
    listed = [one for one in given if one[0] != "none"]
    if listed:
        return listed
    code = (head["status"] == "refused" and str(body.get("code") or "")) or ANSWERS[str(head["status"])]
    return [(code, " ".join(doubts_in_words(body)))]


def _sentence(counted: Counter[str]) -> str:
    total, flagged = sum(counted.values()), counted["uncertain"] + counted["refused"]
    if not flagged:
        return f"{several(total, 'volume')}, all answered."
    return (
        f"{several(total, 'volume')}: {counted['ok']:,} answered, {counted['uncertain']:,} uncertain, "
        f"{counted['refused']:,} refused. Those that need a look ({flagged:,}) come first."
    )


def _regions(answered: Counter[str], guessed: Counter[str]) -> Table:
    """Volumes by region, answered and uncertain ones in separate columns; the most frequent answers first."""
    names = sorted(answered | guessed, key=lambda name: (-answered[name], -guessed[name], name))
    rows = tuple((name, f"{answered[name]:,}", f"{guessed[name]:,}") for name in names)
    return Table(("region", "answered", "best guess"), rows)


def _frequent(counts: Counter[str], most: int = NAMED_DOUBTS) -> dict[str, int]:
    """The most frequent kinds and their counts, those of equal counts by name: the order does not depend on
    that of the volumes."""
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:most])


def _counted(name: str, counts: Mapping[str, int], total: int, of: str = "volumes") -> Table:
    rows = tuple((key, f"{count:,}/{total:,}", percent(count / total)) for key, count in counts.items())
    return Table((name, of, "share"), rows)
