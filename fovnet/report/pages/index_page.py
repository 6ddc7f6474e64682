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
from fovnet.report.content.cells import Table
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.said import ANSWERS, GUESS_WORDS, Said, chips, chips_of_spans, sentence
from fovnet.report.content.wording import percent
from fovnet.report.pages.pour import rooms
from fovnet.words import several

FIRST = 200
"""Rows written as HTML, for readers without JavaScript; with it, further ones are built from the data of all
rows, as many at a time."""
HELD = 50_000
"""Rows that the page itself holds, 6 MB; the further ones of a large batch lie in files of as many beside the
pages of volumes, which the script asks for one by one.  In one page a million rows took 1.5 GB of memory."""
URGENCY = {status: place for place, status in enumerate(ANSWERS)}
"""Order of the volumes by status."""
LONGEST = 160
"""Characters of a doubt in the list; the volume's JSON and spans.tsv have the whole sentence.  The reason why
a volume is refused is whole, as it has no page."""
LISTED_ASIDE = 200
"""Series that are not read, listed with their reasons; found.tsv has all."""
NAMED_DOUBTS = 12
"""Kinds of doubt listed with their counts, the most frequent ones."""


@dataclass(frozen=True)
class IndexRow:
    """One volume: what it shows in plain words and as chips, confidence of the whole volume, doubts.

    none     "yes" if it surely shows no region, "unsure" if it may be so, else ""
    confidence  None where its best guess is not sure
    certainty   by which volumes of one status are ordered, the least sure first
    page, picture  relative URLs of its page and its thumbnail, "" if it has none
    """

    volume_id: str
    status: str
    sentence: str
    said: tuple[Said, ...]
    none: str
    confidence: float | None
    doubt: str
    page: str
    picture: str
    certainty: float


@dataclass(frozen=True)
class IndexPage:
    """The whole index; `aside` counts the DICOM series found but not read, by kind; `unread` lists the first
    of them with their reasons, all but `unlisted`; `names` and `colours` are of the regions, and of none;
    `guess_words` tell what a best guess is, where any is not sure."""

    sentence: str
    statuses: Table
    regions: Table
    doubts: Table
    aside: Table
    unread: Table
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
    """The index from what the tables hold of each volume; doubts of flagged volumes that are not told there
    are read from their JSON in `folder`.

    series   rows of found.tsv, of which those set aside are counted
    """
    rows, counted, doubts = [], Counter[str](), Counter[str]()
    drawn = _drawn(folder)
    for one in volumes:
        why = _doubts(folder, one)
        doubts.update({doubt_in_words(code) for code, _ in why})
        doubt = "; ".join(filter(None, (words for _, words in why)))
        row = _row(one, doubt, drawn, vocabulary)
        if row.status == "refused":
            row = replace(row, doubt=doubt)
        counted[row.status] += 1
        rows.append(row)
    unread = Counter(str(row["kind"]) for row in series if row["kind"] != "volume")
    ordered = sorted(rows, key=_place)
    return IndexPage(
        sentence=_sentence(counted),
        statuses=_counted(
            "answer",
            {words: counted[key] for key, words in ANSWERS.items() if counted[key]},
            len(rows),
        ),
        regions=_regions(rows, vocabulary),
        doubts=_counted("doubt", _frequent(doubts), len(rows)),
        aside=_counted("set aside", _frequent(unread, len(unread)), len(series), "series"),
        unread=_unread(series),
        unlisted=max(0, unread.total() - LISTED_ASIDE),
        rows=tuple(ordered),
        first=tuple(ordered[:FIRST]),
        names=vocabulary.classes,
        colours=tuple(map(vocabulary.colour, vocabulary.classes)),
        guess_words=GUESS_WORDS if any(map(_is_guess_unsure, rows)) else "",
    )


def write_index(path: Path, page: IndexPage, held: int = HELD) -> Path:
    """Writes the index, atomically: one HTML file, after the files of the rows beyond the `held` first, if
    there are any; returns `path`."""
    data = script_data(page)
    rows = data["rows"]
    further = [rows[at : at + held] for at in range(held, len(rows), held)]
    for number, some in enumerate(further, 1):
        write_text(
            path.parent / rows_name(number),
            f"{ROWS_OPENING}{_script_text(some)});\n",
            keep_same=True,
        )
    shown = Markup(
        _script_text({**data, "rows": rows[:held], "total": len(rows), "files": len(further)})
    )
    html = rooms().get_template("index.html.jinja").render(page=page, data=shown, answers=ANSWERS)
    write_text(path, html, keep_same=True)
    remove_rows(path.parent, len(further))
    return path


def _script_text(data: Any) -> str:
    """JSON that may stand in a script, whatever its text says, and in UTF-8."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def script_data(page: IndexPage) -> dict[str, Any]:
    """What the script reads, kept short: of a hundred thousand volumes it is 12 MB.

    rows  a list for each volume, in the order of its constants: name, places of status and sentence in their
          lists, confidence, doubt, what is said of each region, address of its page, has it a thumbnail
    """
    sentences = list(dict.fromkeys(row.sentence for row in page.rows))
    places = {words: place for place, words in enumerate(sentences)}
    rows = [
        [
            row.volume_id,
            URGENCY[row.status],
            places[row.sentence],
            None if row.confidence is None else round(row.confidence, 3),
            row.doubt,
            _marks(row, page.names),
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


def _marks(row: IndexRow, names: Sequence[str]) -> str:
    """ "y97 n2 g55 u40 - - -": the answer on each region and its percentage, "g" of a region that is unsure
    and in the best guess, "-" where nothing is said."""
    marks = {chip.region: _mark(chip) for chip in row.said}
    return " ".join(marks.get(name, "-") for name in names[:-1]) + f" {row.none[:1] or '-'}"


def _mark(chip: Said) -> str:
    letter = "g" if chip.answer == UNSURE and chip.is_guess else chip.answer[0]
    return letter if chip.percent is None else f"{letter}{chip.percent}"


def _stem(row: IndexRow) -> str | int:
    """The name of a volume's page: 0 without one, 1 if it is the volume's, else the name quoted, as of bytes
    that are not UTF-8."""
    if not row.page:
        return 0
    try:
        row.volume_id.encode()
    except UnicodeEncodeError:
        return row.page.removeprefix(f"{PAGES}/").removesuffix(".html")
    return 1


def _place(row: IndexRow) -> tuple[int, bool, float, str]:
    """Its place in the list: those that need a look first, the least sure before the others; before those of
    which a confidence is told those of which none is."""
    return URGENCY[row.status], row.confidence is not None, row.certainty, row.volume_id


def _drawn(folder: Path) -> frozenset[str]:
    """Paths of the pages and thumbnails that are there, relative to the index."""
    place = folder / PAGES
    return (
        frozenset(f"{PAGES}/{path.name}" for path in place.iterdir())
        if place.is_dir()
        else frozenset()
    )


def _row(one: TableRows, doubt: str, drawn: Container[str], vocabulary: Vocabulary) -> IndexRow:
    head, made = one.spans[0], one.statements(vocabulary.classes[:-1])
    name, status = str(head["volume_id"]), str(head["status"])
    found = tuple(dict.fromkeys(str(span["region"]) for span in one.spans if span.get("region")))
    said = chips(made, vocabulary) if made else chips_of_spans(found, status, vocabulary)
    bare = status != "refused" and not found and all(chip.answer != YES for chip in said)
    page, picture = (
        quote(path, errors="surrogateescape") if path in drawn else ""
        for path in (page_name(name), thumbnail_name(name))
    )
    confidence = head.get("volume_confidence")
    return IndexRow(
        name,
        status,
        sentence(made, found, status),
        said,
        (YES if status == "ok" else UNSURE) if bare else "",
        confidence if is_guess_sure(made, status) else None,
        doubt if len(doubt) <= LONGEST else f"{doubt[: LONGEST - 1]}…",
        page,
        picture,
        _certainty(made, confidence),
    )


def _is_guess_unsure(row: IndexRow) -> bool:
    """Whether a region of its best guess is unsure, by probabilities."""
    return any(
        chip.is_guess and chip.answer == UNSURE and chip.percent is not None for chip in row.said
    )


def _certainty(made: Sequence[Statement], confidence: float | None) -> float:
    """The confidence of a volume where it has one; else how far its statements are from even, on average: 0.5
    to 1; 1 without any."""
    if confidence is not None:
        return confidence
    return (
        sum(max(one.probability, 1 - one.probability) for one in made) / len(made) if made else 1.0
    )


def _doubts(folder: Path, one: TableRows) -> list[tuple[str, str]]:
    """(code, sentence) of each doubt of a flagged volume; of a refused one the code and the reason; without a
    sentence where only probabilities are unsure, which the chips show."""
    head = one.spans[0]
    some = (
        [(SOME_UNSURE.code, "")] if SOME_UNSURE.code in str(head.get("code") or "").split() else []
    )
    extents = head.get("extents")
    if extents == "sure" or (head["status"] == "ok" and extents != "unsure"):
        return some
    given, body = (one.doubts, head) if one.doubts is not None else _told(folder, head)
    listed = [(str(code or "other"), str(words or "")) for code, words in given if code != NONE]
    if listed or some:
        return listed + some
    code = (head["status"] == "refused" and str(body.get("code") or "")) or ANSWERS[
        str(head["status"])
    ]
    return [(code, str(body.get("message") or ""))]


def _told(folder: Path, head: Mapping[str, Any]) -> tuple[list[tuple[Any, Any]], Mapping[str, Any]]:
    """(code and sentence of each doubt, the facts) of a volume's JSON; none and `head` if unreadable."""
    try:
        body: Mapping[str, Any] = read_json(folder / f"{head['volume_id']}.json")
    except (OSError, ValueError):
        body = head
    return [(one.get("code"), one.get("sentence")) for one in body.get("doubts") or ()], body


def _sentence(counted: Counter[str]) -> str:
    total = sum(counted.values())
    flagged = total - counted["ok"]
    if not flagged:
        return f"{several(total, 'volume')}, all answered."
    named = ", ".join(
        f"{counted[status]:,} {ANSWERS[status]}"
        for status in ("ok", "partly", "uncertain", "refused")
        if counted[status] or status != "partly"
    )
    return f"{several(total, 'volume')}: {named}. Those that need a look ({flagged:,}) come first."


def _regions(rows: Sequence[IndexRow], vocabulary: Vocabulary) -> Table:
    """Volumes that surely show a region, and those that may, by region in the order of the vocabulary."""
    surely, perhaps = Counter[str](), Counter[str]()
    for row in rows:
        answers = {one.region: one.answer for one in row.said} | {NONE: row.none}
        surely.update(name for name, answer in answers.items() if answer == YES)
        perhaps.update(name for name, answer in answers.items() if answer in (YES, UNSURE))
    names = [name for name in vocabulary.classes if perhaps[name]]
    return Table(
        ("region", "surely shows", "may show"),
        [(name, f"{surely[name]:,}", f"{perhaps[name]:,}") for name in names],
        list(map(vocabulary.colour, names)),
    )


def _unread(series: Iterable[Mapping[str, Any]]) -> Table:
    """Path, kind and whole reason of series that are not read, unreadable ones first."""
    rows = [row for row in series if row["kind"] != "volume"]
    rows.sort(key=lambda row: row["kind"] != "unreadable")
    header = ("path", "set aside as", "reason")
    cells = [
        (row.get("path", ""), row["kind"], row.get("reason", "")) for row in rows[:LISTED_ASIDE]
    ]
    return Table(header, cells)


def _frequent(counts: Counter[str], most: int = NAMED_DOUBTS) -> dict[str, int]:
    """The most frequent kinds and their counts, those of equal counts by name: the order does not depend on
    that of the volumes."""
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:most])


def _counted(name: str, counts: Mapping[str, int], total: int, of: str = "volumes") -> Table:
    rows = [(key, f"{count:,}/{total:,}", percent(count / total)) for key, count in counts.items()]
    return Table((name, of, "share"), rows)
