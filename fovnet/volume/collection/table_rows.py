"""The rows of a collection's tables, each made of one line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fovnet.regions import DEFAULT, NINE, NONE, WHOLE_BY_PART, Vocabulary, as_word
from fovnet.volume.collection.split import SPLITS
from fovnet.volume.collection.table_lines import (
    RANGE_COLUMNS,
    VOLUME_COLUMNS,
    TableFault,
    TableLine,
    find_missing_range_columns,
)
from fovnet.volume.sources.discovery import MAX_ID_BYTES
from fovnet.words import did_you_mean, near_spelling

VOLUME_FILE_NAME = re.compile(r"[^\s./\\\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f\u2028\u2029]*")
# most names an unknown one is compared with, 20 ms; with more, a table with many faults would take
# hours
MAX_NAMES_COMPARED = 2000
DECIMAL_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class VolumeRow:
    """One row of volumes.tsv: ids, the path relative to the table's folder joined with it, a split
    if the user gave one, attributes."""

    volume_id: str
    subject_id: str
    path: Path
    split: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RegionRow:
    """One row of regions.tsv: a class of the vocabulary, `range_start` to `range_end` inclusive, in
    slices or, if `in_mm`, millimetres.

    part  the part of it that the table names ("knee" of legs); "" if the vocabulary has that part
    """

    volume_id: str
    region: str
    range_start: float
    range_end: float
    in_mm: bool = False
    part: str = field(default="", compare=False)


class LabelledLine(NamedTuple):
    """A label and the line it stands in."""

    line: TableLine
    row: RegionRow


def find_region(text: str, vocabulary: Vocabulary) -> str | None:
    """The class that a text names, in any case, by name or by a synonym such as THORAX or LEG; None
    if it names none."""
    word = as_word(text)
    if word == as_word(NONE):
        return NONE
    return next((region.name for region in vocabulary.regions if word in region.words), None)


def find_part(text: str, vocabulary: Vocabulary) -> str:
    """The part of a region of the vocabulary that a text names, in any case, by its own name; "" if
    it names none, or the vocabulary has that part."""
    word = as_word(text)
    for part, whole in WHOLE_BY_PART.items():
        if word == as_word(part) and whole in vocabulary.classes and part not in vocabulary.classes:
            return part
    return ""


def find_region_of_table(text: str, vocabulary: Vocabulary) -> str | None:
    """The region that a cell of a table names; None if it names none.

    As `find_region`, or else the region of which it names a part by any of its words, such as FOOT
    for legs.  Where the vocabulary has parts, a word of the whole is the whole, of which the labels
    then do not tell the parts: LEGS, and also LEG and HEAD, by which DICOM means a lower leg and a
    skull, and many the whole.
    """
    word = as_word(text)
    region = find_region(text, vocabulary)
    for whole, parts in vocabulary.parts.items():
        is_ambiguous = region in parts and word == vocabulary.region(region).body_part
        if word in DEFAULT.region(whole).words and (
            region is None or (is_ambiguous and word != as_word(region))
        ):
            return whole
    if region is not None:
        return region
    whole_of_part = WHOLE_BY_PART.get(find_region(text, NINE) or "")
    if whole_of_part in vocabulary.classes:
        return whole_of_part
    return None


def is_valid_file_name(volume_id: str) -> bool:
    """Whether a volume_id is valid as a file name, since output files are named after it."""
    return (
        VOLUME_FILE_NAME.fullmatch(volume_id) is not None
        and len(os.fsencode(volume_id)) <= MAX_ID_BYTES
    )


def read_volume_row(line: TableLine, faults: list[TableFault]) -> VolumeRow | None:
    """The volume of one line, or None after adding its faults."""
    row_faults = [
        line.make_fault(column, "must be given")
        for column in VOLUME_COLUMNS
        if line.cells.get(column) == ""
    ]
    if line.cells.get("volume_id") and not is_valid_file_name(line.cells["volume_id"]):
        valid_form = f"at most {MAX_ID_BYTES} bytes, no slash, no dot at the start"
        row_faults.append(line.make_fault("volume_id", f"becomes a file name: {valid_form}"))
    if "\0" in line.cells.get("path", ""):
        row_faults.append(
            line.make_fault("path", "contains a null character, which no file name can have")
        )
    split = line.cells.get("split", "")
    if split and split not in SPLITS:
        row_faults.append(
            line.make_fault("split", f"write one of {', '.join(SPLITS)}, or leave it empty")
        )
    faults += row_faults
    if row_faults or not line.cells.keys() >= set(VOLUME_COLUMNS):
        return None
    attributes = {
        column_name: cell
        for column_name, cell in line.cells.items()
        if column_name not in (*VOLUME_COLUMNS, "split") and column_name
    }
    return VolumeRow(
        line.cells["volume_id"],
        line.cells["subject_id"],
        line.table_path.parent / line.cells["path"],
        split,
        attributes,
    )


def read_region_row(
    line: TableLine, possible_ids: set[str] | None, vocabulary: Vocabulary, faults: list[TableFault]
) -> RegionRow | None:
    """The label of one line, or None after adding its faults; `possible_ids` are the volume_ids
    that may stand there, None if volumes.tsv gives none."""
    row_faults: list[TableFault] = []
    volume_id = line.cells.get("volume_id")
    if volume_id == "":
        row_faults.append(line.make_fault("volume_id", "must be given"))
    elif volume_id is not None and possible_ids is not None and volume_id not in possible_ids:
        hint = _suggest_name(volume_id, possible_ids)
        row_faults.append(line.make_fault("volume_id", f"is not in volumes.tsv{hint}"))
    region = _region_of_line(line, vocabulary, row_faults)
    range_and_unit = None
    if not find_missing_range_columns([*line.cells]):  # else reported once, with the header
        range_and_unit = _range_of_line(line, row_faults)
    faults += row_faults
    if row_faults or volume_id is None or region is None or range_and_unit is None:
        return None
    part = find_part(line.cells["region"], vocabulary)
    return RegionRow(volume_id, region, *range_and_unit, part=part)


def _region_of_line(
    line: TableLine, vocabulary: Vocabulary, faults: list[TableFault]
) -> str | None:
    """The class of one line, or None after adding a fault; None too without such a column."""
    region_text = line.cells.get("region")
    if region_text is None:
        return None
    if not region_text:
        faults.append(line.make_fault("region", "must be given"))
        return None
    region = find_region_of_table(region_text, vocabulary)
    if region is None:
        name_by_spelling = {
            spelling.lower(): known_region.name
            for known_region in vocabulary.regions
            for spelling in (known_region.name, *known_region.synonyms)
        }
        hint = f"write one of {', '.join(vocabulary.label_names)}"
        if similar_spelling := near_spelling(region_text, name_by_spelling):
            hint = f"did you mean {name_by_spelling[similar_spelling]!r}?"
        faults.append(line.make_fault("region", hint))
    return region


def _range_of_line(line: TableLine, faults: list[TableFault]) -> tuple[float, float, bool] | None:
    """(first, last, whether in millimetres) of a line, or None after adding its faults."""
    given_pairs = [
        range_columns
        for range_columns in RANGE_COLUMNS
        if any(line.cells.get(column) for column in range_columns)
    ]
    if len(given_pairs) != 1:
        range_columns = [
            column
            for column_pair in given_pairs
            for column in column_pair
            if line.cells.get(column)
        ]
        given_values = ", ".join(f"{column} {line.cells[column]!r}" for column in range_columns)
        sentence = "give first_slice and last_slice, or from_mm and to_mm"
        if given_pairs:
            sentence = f"give slices or millimetres, not both ({given_values})"
        faults.append(TableFault.of_line(line.table_path, line.number, sentence))
        return None
    low_column, high_column = given_pairs[0]
    in_mm = given_pairs[0] == RANGE_COLUMNS[1]
    first_number, last_number = (
        _number_of_cell(line, column, in_mm, faults) for column in (low_column, high_column)
    )
    if first_number is None or last_number is None:
        return None
    if first_number > last_number:
        swap_hint = f"is below {low_column} {first_number:g}; ranges run from feet to head. Are the two swapped?"
        faults.append(line.make_fault(high_column, swap_hint))
    return first_number, last_number, in_mm


def _number_of_cell(
    line: TableLine, column: str, in_mm: bool, faults: list[TableFault]
) -> float | None:
    """The number in a cell: any finite one for millimetres, a whole one from 0 for slices; None
    after adding a fault."""
    cell = line.cells.get(column, "")
    # float() and int() also read 1_000, ٣ and nan
    pattern = WHOLE_NUMBER
    quantity = "whole slice number from 0"
    if in_mm:
        pattern = DECIMAL_NUMBER
        quantity = "number of millimetres"
    if pattern.fullmatch(cell) and np.isfinite(float(cell)):
        return float(cell)
    sentence = f"a {quantity} is wanted"
    if "," in cell and DECIMAL_NUMBER.fullmatch(cell.replace(",", ".")):
        sentence += "; write a point, not a comma"
    faults.append(line.make_fault(column, sentence))
    return None


def _suggest_name(name: str, names: set[str]) -> str:
    """ "; did you mean ...?" for a name that is similar to one of these; else empty."""
    if len(names) > MAX_NAMES_COMPARED:
        return ""
    hint = did_you_mean(name, sorted(names))
    if not hint:
        return ""
    return f"; {hint}"
