"""The lines of a tab-separated table, and the faults found in them, each with its file, line,
column and value."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fovnet.errors import CollectionError
from fovnet.records import remove_formula_mark
from fovnet.words import near_spelling

VOLUME_COLUMNS = ("volume_id", "subject_id", "path")
REGION_COLUMNS = ("volume_id", "region")
RANGE_COLUMNS = (("first_slice", "last_slice"), ("from_mm", "to_mm"))


@dataclass(frozen=True, order=True)
class TableFault:
    """A fault in a line of a table, as a sentence; sorted by line, faults of the same line in the
    order they were found."""

    line_number: int
    sentence: str = field(compare=False)

    @classmethod
    def of_line(cls, file: Path, line: int, what: str) -> TableFault:
        """A fault of a whole line of a file."""
        return cls(line, f"{file}, line {line}: {what}")


@dataclass(frozen=True)
class TableLine:
    """One line of a table: file, line number as an editor shows it, cells by column."""

    table_path: Path
    number: int
    cells: Mapping[str, str]

    def make_fault(self, column: str, what: str) -> TableFault:
        """A fault in `column` of this line, with the value seen."""
        return TableFault(
            self.number,
            f"{self.table_path}, line {self.number}, {column} {self.cells.get(column, '')!r}: {what}",
        )


def read_lines(
    path: Path, columns: Sequence[str], faults: list[TableFault]
) -> tuple[list[TableLine], set[str]]:
    """(lines of a tab-separated table, every cell of the lines that cannot be split into the
    columns).

    A fault is added for each of those lines, and one for missing required columns; the other
    columns are still read.
    """
    numbered_lines = [
        (number, line)
        for number, line in enumerate(_read_text_lines(path), start=1)
        if line.strip()
    ]
    heading_number = 1
    heading = ""
    if numbered_lines:
        heading_number, heading = numbered_lines[0]
    header = _split_cells(heading) or []
    header_faults = [*_find_missing_columns(header, columns), *_find_doubled_columns(header)]
    faults += [
        TableFault.of_line(path, heading_number, fault_sentence) for fault_sentence in header_faults
    ]
    if _find_doubled_columns(header) or not set(columns) & set(header):
        return [], set()
    lines: list[TableLine] = []
    stray_words: set[str] = set()
    for number, line_text in numbered_lines[1:]:
        cells = _split_cells(line_text)
        fault_sentence = _fault_of_cells(cells, len(header))
        if fault_sentence:
            faults.append(TableFault.of_line(path, number, fault_sentence))
            stray_words.update(word.strip(' "') for word in line_text.split("\t"))
        elif cells and any(cells):
            padded_cells = [*cells, *[""] * len(header)]
            lines.append(TableLine(path, number, dict(zip(header, padded_cells, strict=False))))
    if len(numbered_lines) == 1 and columns == VOLUME_COLUMNS and set(columns) <= set(header):
        fault_sentence = "no volume under the header. Write a line for each."
        faults.append(TableFault.of_line(path, heading_number, fault_sentence))
    return lines, stray_words


def _find_missing_columns(header: Sequence[str], columns: Sequence[str]) -> list[str]:
    """What is wrong if the header lacks required columns, or of a labels' table both ranges."""
    missing_columns = [column for column in columns if column not in header]
    hint = "Are the columns separated by tabs?"
    if not missing_columns and columns == REGION_COLUMNS:
        missing_columns = find_missing_range_columns(header)
        hint = "Rows need first_slice and last_slice, or from_mm and to_mm."
    if not missing_columns:
        return []
    hint = _hint_of_similar_column(missing_columns, set(header) - set(columns)) or hint
    return [
        f"no column {', '.join(missing_columns)} among {', '.join(header) or 'nothing'}. {hint}"
    ]


def _find_doubled_columns(header: Sequence[str]) -> list[str]:
    """What is wrong if columns appear twice."""
    doubled_names = sorted({column for column in header if column and header.count(column) > 1})
    if not doubled_names:
        return []
    return [f"column {', '.join(doubled_names)} appears twice. Rename one."]


def _fault_of_cells(cells: Sequence[str] | None, column_count: int) -> str:
    """What is wrong with the cells of a line; "" if nothing is."""
    if cells is None:
        return (
            "a quotation mark that opens a cell is not closed in that line. Remove it, or close it."
        )
    if any(cells[column_count:]):
        return f"{len(cells)} cells under {column_count} columns. Is there an extra tab?"
    return ""


def find_missing_range_columns(header: Sequence[str]) -> list[str]:
    """The columns missing from the header, for the pair of RANGE_COLUMNS of which fewest are missing;
    empty if it has a complete pair."""
    return min(
        ([column for column in pair if column not in header] for pair in RANGE_COLUMNS), key=len
    )


def _hint_of_similar_column(missing_columns: Sequence[str], other_columns: set[str]) -> str:
    """ "Is 'subjectid' meant?" for the first missing column to which another column's name is
    similar; else empty."""
    for column in missing_columns:
        if similar_column := near_spelling(column, sorted(other_columns)):
            return f"Is {similar_column!r} meant?"
    return ""


def _split_cells(line: str) -> list[str] | None:
    """The cells of one line, stripped, as `remove_formula_mark`; None if a quoted cell does not end in it."""
    try:
        (cells,) = csv.reader([line], delimiter="\t", strict=True)
    except csv.Error as fault:
        if "unexpected end of data" in str(fault):
            return None  # csv would otherwise append the following lines to the cell
        (cells,) = csv.reader([line], delimiter="\t")
    return [remove_formula_mark(cell.strip()) for cell in cells]


def _read_text_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 table without line ends.  Raises CollectionError "collection-missing" or
    "collection-unreadable"."""
    try:
        table_text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as fault:
        raise CollectionError(
            "collection-missing",
            f"{path}: no such file or folder. A collection is a folder with a volumes.tsv that "
            f"has the columns {', '.join(VOLUME_COLUMNS)}: `fovnet collect` writes it for data "
            "sets, `fovnet label` for volumes that you label.",
        ) from fault
    except UnicodeDecodeError as fault:
        line_number = fault.object[: fault.start].count(b"\n") + 1
        raise CollectionError(
            "collection-unreadable",
            f"{path}, line {line_number}: not a UTF-8 table ({fault}). Save it as UTF-8.",
        ) from fault
    except OSError as fault:
        raise CollectionError(
            "collection-unreadable",
            f"{path}: cannot be read ({fault.strerror}). Check it and its folder.",
        ) from fault
    return [line.rstrip("\n") for line in io.StringIO(table_text, newline=None)]
