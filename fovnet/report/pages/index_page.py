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
from fovnet.report.content.region_answers import (
    GUESS_EXPLANATION,
    STATUS_IN_WORDS,
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
    index_rows = []
    count_by_status: Counter[str] = Counter()
    count_by_doubt: Counter[str] = Counter()
    present_files = _present_files(folder)
    for volume in volumes:
        volume_doubts = _doubts_of(folder, volume)
        count_by_doubt.update({doubt_in_words(code) for code, _ in volume_doubts})
        doubt_text = "; ".join(filter(None, (doubt_words for _, doubt_words in volume_doubts)))
        index_row = _index_row(volume, doubt_text, present_files, vocabulary)
        if index_row.status == "refused":
            index_row = replace(index_row, doubt=doubt_text)
        count_by_status[index_row.status] += 1
        index_rows.append(index_row)
    count_by_series_kind = Counter(
        str(index_row["kind"]) for index_row in series if index_row["kind"] != "volume"
    )
    rows_by_urgency = sorted(index_rows, key=_urgency_order)
    return IndexPage(
        sentence=_summary_sentence(count_by_status),
        statuses=_counts_table(
            "answer",
            {
                answer_words: count_by_status[status]
                for status, answer_words in STATUS_IN_WORDS.items()
                if count_by_status[status]
            },
            len(index_rows),
        ),
        regions=_regions_table(index_rows, vocabulary),
        doubts=_counts_table("doubt", _most_frequent(count_by_doubt), len(index_rows)),
        aside=_counts_table(
            "set aside",
            _most_frequent(count_by_series_kind, len(count_by_series_kind)),
            len(series),
            "series",
        ),
        unread=_unread_table(series),
        unlisted=max(0, count_by_series_kind.total() - MOST_UNREAD_LISTED),
        rows=tuple(rows_by_urgency),
        first=tuple(rows_by_urgency[:ROWS_IN_HTML]),
        names=vocabulary.classes,
        colours=tuple(map(vocabulary.colour, vocabulary.classes)),
        guess_words=GUESS_EXPLANATION if any(map(_is_guess_unsure, index_rows)) else "",
    )


def write_index(path: Path, page: IndexPage, rows_in_page: int = ROWS_IN_PAGE) -> Path:
    """Writes the index, atomically: one HTML file, after the files of the rows beyond those of
    the page, if there are any; returns `path`."""
    data_of_script = script_data(page)
    row_lists = data_of_script["rows"]
    row_files = [
        row_lists[first_row_index : first_row_index + rows_in_page]
        for first_row_index in range(rows_in_page, len(row_lists), rows_in_page)
    ]
    for file_number, file_rows in enumerate(row_files, 1):
        write_text(
            path.parent / rows_name(file_number),
            f"{ROWS_OPENING}{_script_text(file_rows)});\n",
            keep_same=True,
        )
    page_data_json = Markup(
        _script_text(
            {
                **data_of_script,
                "rows": row_lists[:rows_in_page],
                "total": len(row_lists),
                "files": len(row_files),
            }
        )
    )
    template = template_environment().get_template("index.html.jinja")
    index_html = template.render(page=page, data=page_data_json, answers=STATUS_IN_WORDS)
    write_text(path, index_html, keep_same=True)
    remove_rows(path.parent, len(row_files))
    return path


def _script_text(json_data: Any) -> str:
    """JSON that may stand in a script, whatever its text says, and in UTF-8."""
    json_text = json.dumps(json_data, separators=(",", ":"), ensure_ascii=False)
    return (
        json_text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def script_data(page: IndexPage) -> dict[str, Any]:
    """What the script reads, kept short: of a hundred thousand volumes it is 12 MB.

    rows  a list for each volume, in the order of its constants: name, places of status and sentence
          in their lists, confidence, doubt, what is said of each region, address of its page, has
          it a thumbnail
    """
    sentences = list(dict.fromkeys(index_row.sentence for index_row in page.rows))
    index_by_sentence = {sentence: index for index, sentence in enumerate(sentences)}
    row_lists = [
        [
            index_row.volume_id,
            URGENCY[index_row.status],
            index_by_sentence[index_row.sentence],
            None if index_row.confidence is None else round(index_row.confidence, 3),
            index_row.doubt,
            _marks_text(index_row, page.names),
            _page_name_in_script(index_row),
            int(bool(index_row.picture)),
        ]
        for index_row in page.rows
    ]
    return {
        "regions": page.names,
        "colours": page.colours,
        "answers": list(STATUS_IN_WORDS),
        "sentences": sentences,
        "rows": row_lists,
    }


def _marks_text(index_row: IndexRow, class_names: Sequence[str]) -> str:
    """ "y97 n2 g55 u40 - - -": the answer on each region and its percentage, "g" of a region that
    is unsure and in the best guess, "-" where nothing is said."""
    mark_by_region = {chip.region: _chip_mark(chip) for chip in index_row.said}
    return (
        " ".join(mark_by_region.get(region, "-") for region in class_names[:-1])
        + f" {index_row.none[:1] or '-'}"
    )


def _chip_mark(chip: RegionChip) -> str:
    answer_letter = "g" if chip.answer == UNSURE and chip.is_guess else chip.answer[0]
    return answer_letter if chip.percent is None else f"{answer_letter}{chip.percent}"


def _page_name_in_script(index_row: IndexRow) -> str | int:
    """The name of a volume's page: 0 without one, 1 if it is the volume's, else the name quoted, as
    of bytes that are not UTF-8."""
    if not index_row.page:
        return 0
    try:
        index_row.volume_id.encode()
    except UnicodeEncodeError:
        return index_row.page.removeprefix(f"{PAGE_FOLDER}/").removesuffix(".html")
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
    volume: TableRows, doubt_text: str, present_files: Container[str], vocabulary: Vocabulary
) -> IndexRow:
    """The row of one volume, from what the tables hold of it and the files that are there."""
    first_span = volume.spans[0]
    statements = volume.statements(vocabulary.classes[:-1])
    volume_id = str(first_span["volume_id"])
    status = str(first_span["status"])
    span_regions = [str(span["region"]) for span in volume.spans if span.get("region")]
    regions = tuple(dict.fromkeys(span_regions))
    region_chips = chips(statements, vocabulary) or chips_of_spans(regions, status, vocabulary)
    is_any_shown = bool(regions) or any(chip.answer == YES for chip in region_chips)
    no_region_answer = ""
    if status != "refused" and not is_any_shown:
        no_region_answer = YES if status == "ok" else UNSURE
    if len(doubt_text) > LONGEST_DOUBT:
        doubt_text = f"{doubt_text[: LONGEST_DOUBT - 1]}…"
    page_address, thumbnail_address = (
        quote(path, errors="surrogateescape") if path in present_files else ""
        for path in (page_name(volume_id), thumbnail_name(volume_id))
    )
    confidence = first_span.get("volume_confidence")
    return IndexRow(
        volume_id=volume_id,
        status=status,
        sentence=answer_sentence(statements, regions, status),
        said=region_chips,
        none=no_region_answer,
        confidence=confidence if is_guess_sure(statements, status) else None,
        doubt=doubt_text,
        page=page_address,
        picture=thumbnail_address,
        certainty=_certainty(statements, confidence),
    )


def _is_guess_unsure(index_row: IndexRow) -> bool:
    """Whether a region of its best guess is unsure, by probabilities."""
    return any(
        chip.is_guess and chip.answer == UNSURE and chip.percent is not None
        for chip in index_row.said
    )


def _certainty(statements: Sequence[Statement], confidence: float | None) -> float:
    """The confidence of a volume where it has one; else how far its statements are from even, on
    average: 0.5 to 1; 1 without any."""
    if confidence is not None:
        return confidence
    if not statements:
        return 1.0
    probabilities = [statement.probability for statement in statements]
    return sum(max(probability, 1 - probability) for probability in probabilities) / len(
        probabilities
    )


def _doubts_of(folder: Path, volume: TableRows) -> list[tuple[str, str]]:
    """(code, sentence) of each doubt of a flagged volume; of a refused one the code and the reason;
    without a sentence where only probabilities are unsure, which the chips show."""
    first_span = volume.spans[0]
    status = str(first_span["status"])
    doubts_of_some = []
    if SOME_UNSURE.code in str(first_span.get("code") or "").split():
        doubts_of_some.append((SOME_UNSURE.code, ""))
    extents = first_span.get("extents")
    if extents == "sure" or (status == "ok" and extents != "unsure"):
        return doubts_of_some
    codes_and_sentences: Sequence[tuple[Any, Any]] | None = volume.doubts
    volume_json: Mapping[str, Any] = first_span
    if codes_and_sentences is None:
        codes_and_sentences, volume_json = _doubts_in_json(folder, first_span)
    doubts_told = [
        (str(doubt_code or "other"), str(sentence or ""))
        for doubt_code, sentence in codes_and_sentences
        if doubt_code != NONE
    ]
    if doubts_told or doubts_of_some:
        return doubts_told + doubts_of_some
    doubt_code = str(volume_json.get("code") or "") if status == "refused" else ""
    return [(doubt_code or STATUS_IN_WORDS[status], str(volume_json.get("message") or ""))]


def _doubts_in_json(
    folder: Path, first_span: Mapping[str, Any]
) -> tuple[list[tuple[Any, Any]], Mapping[str, Any]]:
    """((code, sentence) of each doubt, the JSON) of a volume; no doubts and `first_span` if its
    JSON cannot be read."""
    try:
        volume_json: Mapping[str, Any] = read_json(folder / f"{first_span['volume_id']}.json")
    except (OSError, ValueError):
        volume_json = first_span
    return [
        (doubt.get("code"), doubt.get("sentence")) for doubt in volume_json.get("doubts") or ()
    ], volume_json


def _summary_sentence(count_by_status: Counter[str]) -> str:
    """How many volumes there are of each status."""
    volume_count = sum(count_by_status.values())
    flagged_count = volume_count - count_by_status["ok"]
    if not flagged_count:
        return f"{several(volume_count, 'volume')}, all answered."
    counts_text = ", ".join(
        f"{count_by_status[status]:,} {STATUS_IN_WORDS[status]}"
        for status in ("ok", "partly", "uncertain", "refused")
        if count_by_status[status] or status != "partly"
    )
    return (
        f"{several(volume_count, 'volume')}: {counts_text}. Those that need a look ({flagged_count:,}) come "
        "first."
    )


def _regions_table(index_rows: Sequence[IndexRow], vocabulary: Vocabulary) -> ReportTable:
    """Volumes that surely show a region, and those that may, by region in the order of the
    vocabulary."""
    sure_count_by_region: Counter[str] = Counter()
    possible_count_by_region: Counter[str] = Counter()
    for index_row in index_rows:
        answer_by_region = {chip.region: chip.answer for chip in index_row.said} | {
            NONE: index_row.none
        }
        sure_count_by_region.update(
            region for region, answer in answer_by_region.items() if answer == YES
        )
        possible_count_by_region.update(
            region for region, answer in answer_by_region.items() if answer in (YES, UNSURE)
        )
    perhaps_shown_regions = [
        region for region in vocabulary.classes if possible_count_by_region[region]
    ]
    return ReportTable(
        ("region", "surely shows", "may show"),
        [
            (region, f"{sure_count_by_region[region]:,}", f"{possible_count_by_region[region]:,}")
            for region in perhaps_shown_regions
        ],
        list(map(vocabulary.colour, perhaps_shown_regions)),
    )


def _unread_table(series: Iterable[Mapping[str, Any]]) -> ReportTable:
    """Path, kind and whole reason of series that are not read, unreadable ones first."""
    unread_series = [found_row for found_row in series if found_row["kind"] != "volume"]
    unread_series.sort(key=lambda found_row: found_row["kind"] != "unreadable")
    header = ("path", "set aside as", "reason")
    listed_cells = [
        (found_row.get("path", ""), found_row["kind"], found_row.get("reason", ""))
        for found_row in unread_series[:MOST_UNREAD_LISTED]
    ]
    return ReportTable(header, listed_cells)


def _most_frequent(
    count_by_kind: Counter[str], most_listed: int = MOST_DOUBTS_NAMED
) -> dict[str, int]:
    """The most frequent kinds and their counts, those of equal counts by name: the order does not
    depend on that of the volumes."""
    return dict(
        sorted(count_by_kind.items(), key=lambda entry: (-entry[1], entry[0]))[:most_listed]
    )


def _counts_table(
    label_title: str, count_by_label: Mapping[str, int], total_count: int, unit: str = "volumes"
) -> ReportTable:
    """One row per label: its count of the total, and its share."""
    rows = [
        (label, f"{count:,}/{total_count:,}", percent(count / total_count))
        for label, count in count_by_label.items()
    ]
    return ReportTable((label_title, unit, "share"), rows)
