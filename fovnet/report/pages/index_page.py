"""The index of a batch: the answer for every volume, those that need review first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from fovnet.decision.answer import PART_LEVEL
from fovnet.decision.answers_table import TableRows
from fovnet.decision.statements import SOME_UNSURE, UNSURE, YES, Statement, is_guess_sure
from fovnet.own_files import (
    PAGE_FOLDER,
    ROWS_OPENING,
    page_name,
    remove_rows,
    rows_name,
    thumbnail_name,
)
from fovnet.records import read_json, write_text
from fovnet.regions import NONE, Vocabulary
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.parts import VolumeParts, parts_in_rows
from fovnet.report.content.region_answers import (
    GUESS_EXPLANATION,
    STATUS_IN_WORDS,
    RegionChip,
    answer_sentence,
    chips_of_parts,
    chips_of_spans,
    chips_of_statements,
)
from fovnet.report.content.wording import percent
from fovnet.report.pages.templating import template_environment
from fovnet.words import several

ROWS_IN_HTML = 200
"""Rows written as HTML, for readers without JavaScript; with it, further ones are built from
the data of all rows, as many at a time."""
ROWS_IN_PAGE = 50_000
"""Rows that the page itself holds, 6 MB; the further ones of a large batch lie in files of as
many beside the pages of volumes, which the script asks for one by one.  In one page a million rows
took 1.5 GB of memory."""
URGENCY = {status: rank for rank, status in enumerate(STATUS_IN_WORDS)}
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

    no_region_answer   "yes" if it surely shows no region, "unsure" if it may be so, else ""
    confidence         None where its best guess is not sure
    page_address       relative URL of its page, "" if it has none
    thumbnail_address  relative URL of its thumbnail, "" if it has none
    certainty          by which volumes of one status are ordered, the least sure first
    """

    volume_id: str
    status: str
    sentence: str
    chips: tuple[RegionChip, ...]
    no_region_answer: str
    confidence: float | None
    doubt: str
    page_address: str
    thumbnail_address: str
    certainty: float


@dataclass(frozen=True)
class IndexPage:
    """The whole index.

    unread_kinds     numbers of the DICOM series found but not read, by kind
    unread_series    the first of them with their reasons
    unlisted_count   the number of the others
    rows             all volumes
    html_rows        those that are written as HTML, the first
    class_names      of the regions, each followed by its parts, and of none
    class_colours    of the same
    guess_words      what a best guess is, where any is not sure
    """

    sentence: str
    statuses: ReportTable
    regions: ReportTable
    doubts: ReportTable
    unread_kinds: ReportTable
    unread_series: ReportTable
    unlisted_count: int
    rows: tuple[IndexRow, ...]
    html_rows: tuple[IndexRow, ...]
    class_names: tuple[str, ...]
    class_colours: tuple[str, ...]
    guess_words: str


def make_index_page(
    volumes: Iterable[TableRows],
    folder: Path,
    vocabulary: Vocabulary,
    series: Sequence[Mapping[str, Any]] = (),
) -> IndexPage:
    """The index from what the tables hold of each volume; doubts of flagged volumes that are not
    told there are read from their JSON in `folder`.

    vocabulary  the classes of the networks
    series      rows of found.tsv, of which those set aside are counted
    """
    index_rows = []
    count_by_status: Counter[str] = Counter()
    count_by_doubt: Counter[str] = Counter()
    present_files = _present_files(folder)
    for volume in volumes:
        doubts = _doubts_of(folder, volume)
        count_by_doubt.update({doubt_in_words(doubt.code) for doubt in doubts})
        doubt_text = "; ".join(filter(None, (doubt.sentence for doubt in doubts)))
        index_row = _index_row(volume, doubt_text, present_files, vocabulary)
        count_by_status[index_row.status] += 1
        index_rows.append(index_row)
    count_by_answer = {
        answer_words: count_by_status[status]
        for status, answer_words in STATUS_IN_WORDS.items()
        if count_by_status[status]
    }
    unread_series = [found_row for found_row in series if found_row["kind"] != "volume"]
    count_by_unread_kind = _by_frequency(Counter(str(row["kind"]) for row in unread_series))
    rows_by_urgency = sorted(index_rows, key=_urgency_order)
    guess_words = ""
    if any(map(_is_guess_unsure, index_rows)):
        guess_words = GUESS_EXPLANATION
    return IndexPage(
        sentence=_summary_sentence(count_by_status),
        statuses=_counts_table("answer", count_by_answer, len(index_rows)),
        regions=_regions_table(index_rows, vocabulary),
        doubts=_counts_table(
            "doubt", _by_frequency(count_by_doubt, MOST_DOUBTS_NAMED), len(index_rows)
        ),
        unread_kinds=_counts_table("set aside", count_by_unread_kind, len(series), "series"),
        unread_series=_unread_table(unread_series),
        unlisted_count=max(0, len(unread_series) - MOST_UNREAD_LISTED),
        rows=tuple(rows_by_urgency),
        html_rows=tuple(rows_by_urgency[:ROWS_IN_HTML]),
        class_names=vocabulary.answer_names,
        class_colours=tuple(map(vocabulary.colour, vocabulary.answer_names)),
        guess_words=guess_words,
    )


def write_index(path: Path, page: IndexPage, rows_in_page: int = ROWS_IN_PAGE) -> Path:
    """Writes the index, atomically: one HTML file, after the files of the rows beyond those of
    the page, if there are any; returns `path`."""
    page_data = script_data(page)
    all_rows = page_data["rows"]
    further_row_files = [
        all_rows[first_index : first_index + rows_in_page]
        for first_index in range(rows_in_page, len(all_rows), rows_in_page)
    ]
    for file_number, file_rows in enumerate(further_row_files, 1):
        write_text(
            path.parent / rows_name(file_number),
            f"{ROWS_OPENING}{_script_text(file_rows)});\n",
            keep_same=True,
        )
    page_data |= {
        "rows": all_rows[:rows_in_page],
        "total": len(all_rows),
        "files": len(further_row_files),
    }
    template = template_environment().get_template("index.html.jinja")
    index_html = template.render(
        page=page, data=Markup(_script_text(page_data)), answers=STATUS_IN_WORDS
    )
    write_text(path, index_html, keep_same=True)
    remove_rows(path.parent, len(further_row_files))
    return path


def _script_text(json_data: Any) -> str:
    """JSON that may stand in a script, whatever its text says, and in UTF-8."""
    json_text = json.dumps(json_data, separators=(",", ":"), ensure_ascii=False)
    return (
        json_text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def script_data(page: IndexPage) -> dict[str, Any]:
    """What the script reads, kept short: of a hundred thousand volumes it is 12 MB.

    rows  a list for each volume, in the order of the constants of index.js: name, places of status
          and sentence in their lists, confidence, doubt, what is said of each region, address of
          its page, has it a thumbnail
    """
    sentences = list(dict.fromkeys(index_row.sentence for index_row in page.rows))
    index_by_sentence = {sentence: index for index, sentence in enumerate(sentences)}
    return {
        "regions": page.class_names,
        "colours": page.class_colours,
        "answers": list(STATUS_IN_WORDS),
        "sentences": sentences,
        "rows": [
            [
                index_row.volume_id,
                URGENCY[index_row.status],
                index_by_sentence[index_row.sentence],
                _round_confidence(index_row),
                index_row.doubt,
                _marks_text(index_row, page.class_names[:-1]),
                _page_name_in_script(index_row),
                int(index_row.thumbnail_address != ""),
            ]
            for index_row in page.rows
        ],
    }


def _round_confidence(index_row: IndexRow) -> float | None:
    """The confidence of a volume with three decimals, if it has one."""
    if index_row.confidence is None:
        return None
    return round(index_row.confidence, 3)


def _marks_text(index_row: IndexRow, regions: Sequence[str]) -> str:
    """ "y97 n2 g55 u40 - - -": the answer on each region and its percentage, "g" of a region that
    is unsure and in the best guess, "-" where nothing is said; last, the answer on no region."""
    mark_by_region = {chip.region: _chip_mark(chip) for chip in index_row.chips}
    marks = [mark_by_region.get(region, "-") for region in regions]
    no_region_mark = index_row.no_region_answer[:1] or "-"
    return " ".join([*marks, no_region_mark])


def _chip_mark(chip: RegionChip) -> str:
    """ "y97", "g55": the first letter of the answer, "g" if unsure and guessed, and the
    percentage."""
    mark = chip.answer[0]
    if chip.answer == UNSURE and chip.is_guess:
        mark = "g"
    if chip.percent is not None:
        mark += str(chip.percent)
    return mark


def _page_name_in_script(index_row: IndexRow) -> str | int:
    """The name of a volume's page: 0 without one, 1 if it is the volume's, else the name quoted, as
    of bytes that are not UTF-8."""
    if not index_row.page_address:
        return 0
    try:
        index_row.volume_id.encode()
    except UnicodeEncodeError:
        return index_row.page_address.removeprefix(f"{PAGE_FOLDER}/").removesuffix(".html")
    return 1


def _urgency_order(index_row: IndexRow) -> tuple[int, bool, float, str]:
    """The key by which volumes are sorted: those that need a look first, those without a confidence
    before those with one, the least sure before the others."""
    return (
        URGENCY[index_row.status],
        index_row.confidence is not None,
        index_row.certainty,
        index_row.volume_id,
    )


def _present_files(folder: Path) -> frozenset[str]:
    """Paths of the pages and thumbnails that are there, relative to the index."""
    folder_of_pages = folder / PAGE_FOLDER
    if not folder_of_pages.is_dir():
        return frozenset()
    return frozenset(f"{PAGE_FOLDER}/{path.name}" for path in folder_of_pages.iterdir())


def _index_row(
    volume: TableRows, doubt_text: str, present_files: Collection[str], vocabulary: Vocabulary
) -> IndexRow:
    """The row of one volume, from what the tables hold of it and the files that are there, paths
    relative to the index.  Its doubts are cut to LONGEST_DOUBT, unless it is refused."""
    first_span = volume.spans[0]
    statements = volume.statements(vocabulary.whole.classes[:-1])
    parts = parts_in_rows(volume, vocabulary)
    volume_id = str(first_span["volume_id"])
    status = str(first_span["status"])
    span_regions = [
        str(span["region"])
        for span in volume.spans
        if span.get("region") and span.get("level") != PART_LEVEL
    ]
    regions = tuple(dict.fromkeys(span_regions))
    chips = _chips_with_parts(statements, parts, vocabulary)
    if not chips:
        chips = chips_of_spans(regions, status, vocabulary)
    if status != "refused" and len(doubt_text) > LONGEST_DOUBT:
        doubt_text = f"{doubt_text[: LONGEST_DOUBT - 1]}…"
    volume_confidence = first_span.get("volume_confidence")
    sure_confidence = None
    if is_guess_sure(statements, status):
        sure_confidence = volume_confidence
    return IndexRow(
        volume_id=volume_id,
        status=status,
        sentence=answer_sentence(statements, regions, status, parts),
        chips=chips,
        no_region_answer=_no_region_answer(status, regions, chips),
        confidence=sure_confidence,
        doubt=doubt_text,
        page_address=_address_of(page_name(volume_id), present_files),
        thumbnail_address=_address_of(thumbnail_name(volume_id), present_files),
        certainty=_certainty(statements, volume_confidence),
    )


def _chips_with_parts(
    statements: Sequence[Statement], parts: VolumeParts, vocabulary: Vocabulary
) -> tuple[RegionChip, ...]:
    """A chip for each statement, followed by those of its parts."""
    chips: list[RegionChip] = []
    for statement, chip in zip(
        statements, chips_of_statements(statements, vocabulary), strict=True
    ):
        chips += [chip, *chips_of_parts(statement, parts, vocabulary)]
    return tuple(chips)


def _no_region_answer(status: str, regions: Sequence[str], chips: Sequence[RegionChip]) -> str:
    """Whether a volume shows no region: "yes" if it surely shows none, "unsure" if it may be so,
    "" if it shows one or was refused.

    regions  those that have a span
    """
    if status == "refused" or regions or any(chip.answer == YES for chip in chips):
        return ""
    if status == "ok":
        return YES
    return UNSURE


def _address_of(path: str, present_files: Collection[str]) -> str:
    """The relative URL of a file, "" if it is not among those that are there."""
    if path not in present_files:
        return ""
    return quote(path, errors="surrogateescape")


def _is_guess_unsure(index_row: IndexRow) -> bool:
    """Whether a region of its best guess is unsure, by probabilities."""
    return any(
        chip.is_guess and chip.answer == UNSURE and chip.percent is not None and not chip.whole
        for chip in index_row.chips
    )


def _certainty(statements: Sequence[Statement], volume_confidence: float | None) -> float:
    """The confidence of a volume where it has one; else how far its statements are from even, on
    average: 0.5 to 1; 1 without any."""
    if volume_confidence is not None:
        return volume_confidence
    if not statements:
        return 1.0
    certainties = [
        max(statement.probability, 1 - statement.probability) for statement in statements
    ]
    return sum(certainties) / len(certainties)


class ToldDoubt(NamedTuple):
    """A doubt of a volume: its code, and a sentence, "" where the chips say enough."""

    code: str
    sentence: str


def _doubts_of(folder: Path, volume: TableRows) -> list[ToldDoubt]:
    """The doubts of a flagged volume, of a refused one the reason; without a sentence where only
    probabilities are unsure, which the chips show."""
    first_span = volume.spans[0]
    status = str(first_span["status"])
    doubts_of_regions = []
    if SOME_UNSURE.code in str(first_span.get("code") or "").split():
        doubts_of_regions.append(ToldDoubt(SOME_UNSURE.code, ""))
    extents = first_span.get("extents")
    if extents == "sure" or (status == "ok" and extents != "unsure"):
        return doubts_of_regions
    codes_and_sentences: Sequence[tuple[Any, Any]] | None = volume.doubts
    volume_json: Mapping[str, Any] = first_span
    if codes_and_sentences is None:
        volume_json = _volume_json(folder, first_span)
        codes_and_sentences = [
            (doubt.get("code"), doubt.get("sentence")) for doubt in volume_json.get("doubts") or ()
        ]
    doubts = [
        ToldDoubt(str(code or "other"), str(sentence or ""))
        for code, sentence in codes_and_sentences
        if code != NONE
    ]
    doubts += doubts_of_regions
    if doubts:
        return doubts
    only_code = STATUS_IN_WORDS[status]
    if status == "refused":
        only_code = str(volume_json.get("code") or only_code)
    return [ToldDoubt(only_code, str(volume_json.get("message") or ""))]


def _volume_json(folder: Path, first_span: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON of a volume; `first_span`, its row of spans.tsv, if that cannot be read."""
    try:
        volume_json: Mapping[str, Any] = read_json(folder / f"{first_span['volume_id']}.json")
    except (OSError, ValueError):
        return first_span
    return volume_json


def _summary_sentence(count_by_status: Counter[str]) -> str:
    """How many volumes there are of each status."""
    volumes_phrase = several(count_by_status.total(), "volume")
    flagged_count = count_by_status.total() - count_by_status["ok"]
    if not flagged_count:
        return f"{volumes_phrase}, all answered."
    counts_text = ", ".join(
        f"{count_by_status[status]:,} {STATUS_IN_WORDS[status]}"
        for status in ("ok", "partly", "uncertain", "refused")
        if count_by_status[status] or status != "partly"
    )
    return (
        f"{volumes_phrase}: {counts_text}. Those that need a look ({flagged_count:,}) come first."
    )


def _regions_table(index_rows: Sequence[IndexRow], vocabulary: Vocabulary) -> ReportTable:
    """Volumes that surely show a region, and those that may, by region in the order of the
    vocabulary."""
    sure_count_by_region: Counter[str] = Counter()
    possible_count_by_region: Counter[str] = Counter()
    for index_row in index_rows:
        answer_by_region = {chip.region: chip.answer for chip in index_row.chips}
        answer_by_region[NONE] = index_row.no_region_answer
        for region, answer in answer_by_region.items():
            if answer == YES:
                sure_count_by_region[region] += 1
            if answer in (YES, UNSURE):
                possible_count_by_region[region] += 1
    possible_regions = [
        region for region in vocabulary.answer_names if possible_count_by_region[region]
    ]
    rows = [
        (region, f"{sure_count_by_region[region]:,}", f"{possible_count_by_region[region]:,}")
        for region in possible_regions
    ]
    return ReportTable(
        ("region", "surely shows", "may show"),
        rows,
        list(map(vocabulary.colour, possible_regions)),
    )


def _unread_table(unread_series: Sequence[Mapping[str, Any]]) -> ReportTable:
    """Path, kind and whole reason of the first MOST_UNREAD_LISTED of these rows of found.tsv,
    unreadable series before others."""
    ordered_series = sorted(unread_series, key=lambda found_row: found_row["kind"] != "unreadable")
    rows = [
        (found_row.get("path", ""), found_row["kind"], found_row.get("reason", ""))
        for found_row in ordered_series[:MOST_UNREAD_LISTED]
    ]
    return ReportTable(("path", "set aside as", "reason"), rows)


def _by_frequency(count_by_kind: Counter[str], most_listed: int | None = None) -> dict[str, int]:
    """The counts of the most frequent kinds, all by default; those of equal counts by name, so that
    the order does not depend on that of the volumes."""
    kinds_by_frequency = sorted(count_by_kind, key=lambda kind: (-count_by_kind[kind], kind))
    return {kind: count_by_kind[kind] for kind in kinds_by_frequency[:most_listed]}


def _counts_table(
    label_title: str, count_by_label: Mapping[str, int], total_count: int, unit: str = "volumes"
) -> ReportTable:
    """One row per label: its count of the total, and its share."""
    rows = [
        (label, f"{count:,}/{total_count:,}", percent(count / total_count))
        for label, count in count_by_label.items()
    ]
    return ReportTable((label_title, unit, "share"), rows)
