"""A collection of volumes on disk: volumes.tsv, and regions.tsv where somebody has labelled them.

    volumes.tsv   volume_id, subject_id, path (relative to the table), optionally split; every further column is an attribute
    regions.tsv   volume_id, region, and first_slice, last_slice (inclusive, counted from the feet along the third axis of the
                  volume in its closest RAS order, from 0) or from_mm, to_mm (scanner z)

A volume with at least one row in regions.tsv is labelled: its slices outside every row are `none`.  All faults of both tables are
reported at once, since they are mended in one sitting.  A volume *file* that is missing is no fault of the tables: it is refused
when it is sliced.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError
from fovnet.regions import DEFAULT, NONE, Vocabulary
from fovnet.volume.slices import SliceStack
from fovnet.volume.split import SPLITS

VOLUME_COLUMNS = ("volume_id", "subject_id", "path")
REGION_COLUMNS = ("volume_id", "region")
RANGES = (("first_slice", "last_slice"), ("from_mm", "to_mm"))
NAME = re.compile(r"[^\s./\\][^/\\\x00-\x1f]{0,199}")     # becomes a file name: <volume_id>.json, <volume_id>.png


@dataclass(frozen=True)
class VolumeRow:
    """One row of volumes.tsv: names, the path resolved against the table's folder, a split if the user gave one, attributes."""

    volume_id: str
    subject_id: str
    path: Path
    split: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RegionRow:
    """One row of regions.tsv: a class of the vocabulary, `first` to `last` inclusive, in slices or, if `in_mm`, millimetres."""

    volume_id: str
    region: str
    first: float
    last: float
    in_mm: bool = False


@dataclass(frozen=True)
class Collection:
    """The rows of a collection in the order of its tables; `regions` holds the labels by volume_id."""

    path: Path
    volumes: tuple[VolumeRow, ...]
    regions: Mapping[str, tuple[RegionRow, ...]]


@dataclass(frozen=True)
class Line:
    """One line of a table: file, line number as an editor shows it, cells by column."""

    file: Path
    number: int
    cells: Mapping[str, str]

    def fault(self, column: str, what: str) -> str:
        """A sentence for `column` of this line, with the value seen."""
        return f"{self.file}, line {self.number}, {column} {self.cells.get(column, '')!r}: {what}"


def read_collection(path: Path, vocabulary: Vocabulary = DEFAULT) -> Collection:
    """The collection in a folder, or beside a volumes.tsv.

    Raises CollectionError "collection-missing" if there is no volumes.tsv, "collection-invalid" with every fault found:
    file, line, column, value and what to write instead.
    """
    table = Path(path) / "volumes.tsv" if Path(path).is_dir() else Path(path)
    faults: list[str] = []
    lines = _table(table, VOLUME_COLUMNS, faults)
    volumes = [row for line in lines if (row := _volume_row(line, faults))]
    faults += _repeated(lines) + _split_subjects(lines)
    labels = table.with_name("regions.tsv")
    labelled: list[tuple[Line, RegionRow]] = []
    if labels.exists():
        known = {line.cells["volume_id"] for line in lines}
        for line in _table(labels, REGION_COLUMNS, faults):
            label = _region_row(line, known, vocabulary, faults)
            labelled += [(line, label)] if label else []
        faults += _conflicts(labelled, vocabulary)
    if faults:
        count = "1 fault" if len(faults) == 1 else f"{len(faults)} faults"
        raise CollectionError("collection-invalid", f"{table.parent}: {count} in the tables\n  " + "\n  ".join(faults))
    regions: dict[str, list[RegionRow]] = {}
    for _, label in labelled:
        regions.setdefault(label.volume_id, []).append(label)
    return Collection(table, tuple(volumes), MappingProxyType({name: tuple(found) for name, found in regions.items()}))


BEYOND_MM = 20.0
"""A row in millimetres that ends farther outside a volume than this was meant for another one, or another frame."""


def truth(stack: SliceStack, rows: Iterable[RegionRow], vocabulary: Vocabulary = DEFAULT) -> NDArray[np.bool_]:
    """(s, k) which classes each cut shows, in the order of vocabulary.classes; `none` exactly where nothing else is.

    A cut of several slices belongs to the rows that cover its middle slice (of an even number, the lower of the two in the
    middle); for rows in millimetres, to those that hold its z.  Where two regions of the chain meet at that very millimetre, the
    lower one has it.  Raises CollectionError "collection-slices" for a slice number the volume does not have,
    "collection-extent" for millimetres far outside it.
    """
    classes = vocabulary.classes
    shown = np.zeros((len(stack.pixels), len(classes)), dtype=bool)
    slices = stack.counted_slices or int(stack.covers[-1, 1]) + 1
    for row in rows:
        if not row.in_mm and row.last >= slices:
            raise CollectionError("collection-slices", f"{row.volume_id}: {row.region} is said to reach slice {row.last:g}, the "
                                                       f"last slice is {slices - 1}. Count from 0 at the feet, in RAS order.")
        if row.in_mm and (row.last < stack.z_mm[0] - BEYOND_MM or row.first > stack.z_mm[-1] + BEYOND_MM):
            said, real = f"{row.first:g} to {row.last:g} mm", f"{stack.z_mm[0]:.0f} to {stack.z_mm[-1]:.0f} mm"
            raise CollectionError("collection-extent", f"{row.volume_id}: {row.region} is said to reach from {said}, the volume reaches "
                                                       f"from {real}. Give scanner millimetres (RAS), or slice numbers.")
        at = stack.z_mm if row.in_mm else stack.middle
        if row.region != NONE:
            shown[:, classes.index(row.region)] |= (at >= row.first) & (at <= row.last)
    chain = shown[:, : len(vocabulary.chain)]
    chain &= np.cumsum(chain, axis=1) == 1
    shown[:, classes.index(NONE)] = ~shown.any(axis=1)
    return shown


def region_named(text: str, vocabulary: Vocabulary) -> str | None:
    """The class a cell means: its name in any case, or a synonym such as THORAX or LEG; None if none does."""
    wanted = " ".join(text.upper().replace("_", " ").split())
    meant = {NONE.upper(): NONE}
    for region in vocabulary.regions:
        meant.update(dict.fromkeys((region.name.upper(), region.body_part.upper(), *map(str.upper, region.synonyms)), region.name))
    return meant.get(wanted)


def _table(path: Path, columns: Sequence[str], faults: list[str]) -> list[Line]:
    """The lines of a tab-separated table; a table that cannot be used at all gives none and one fault."""
    try:
        reader = csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), delimiter="\t")
        records = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except FileNotFoundError as fault:
        raise CollectionError("collection-missing", f"{path}: there is no such table. A collection is a folder with a volumes.tsv "
                                                    f"of the columns {', '.join(VOLUME_COLUMNS)}.") from fault
    except (OSError, UnicodeDecodeError, csv.Error) as fault:
        raise CollectionError("collection-unreadable", f"{path}: not a UTF-8 table ({fault}). Save it as UTF-8.") from fault
    header = records[0][1] if records else []
    missing = [column for column in columns if column not in header]
    if missing:
        near = get_close_matches(missing[0], header, 1)
        hint = f"Is {near[0]!r} meant?" if near else "Are the columns separated by tabs?"
        faults.append(f"{path}, line 1: no column {', '.join(missing)} among {', '.join(header) or 'nothing'}. {hint}")
        return []
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        faults.append(f"{path}, line 1: column {', '.join(twice)} stands there twice. Rename one.")
        return []
    lines = []
    for number, cells in records[1:]:
        if len(cells) > len(header) and any(cells[len(header):]):
            faults.append(f"{path}, line {number}: {len(cells)} cells under {len(header)} columns. Is a tab too many in it?")
        elif any(cells):
            lines.append(Line(path, number, dict(zip(header, [*cells, *[""] * len(header)], strict=False))))
    return lines


def _volume_row(line: Line, faults: list[str]) -> VolumeRow | None:
    found = []
    for column in VOLUME_COLUMNS:
        if not line.cells[column]:
            found.append(line.fault(column, "must be given"))
    if line.cells["volume_id"] and not NAME.fullmatch(line.cells["volume_id"]):
        found.append(line.fault("volume_id", "becomes a file name: at most 200 characters, no slash, no dot in front"))
    if "\0" in line.cells["path"]:
        found.append(line.fault("path", "holds a null character, which no file name can"))
    split = line.cells.get("split", "")
    if split and split not in SPLITS:
        found.append(line.fault("split", f"write one of {', '.join(SPLITS)}, or leave it empty"))
    faults += found
    if found:
        return None
    attributes = {name: cell for name, cell in line.cells.items() if name not in (*VOLUME_COLUMNS, "split") and name}
    return VolumeRow(line.cells["volume_id"], line.cells["subject_id"], line.file.parent / line.cells["path"], split, attributes)


def _region_row(line: Line, known: set[str], vocabulary: Vocabulary, faults: list[str]) -> RegionRow | None:
    found = []
    volume_id = line.cells["volume_id"]
    if volume_id not in known:
        found.append(line.fault("volume_id", "is not in volumes.tsv" + _did_you_mean(volume_id, known)))
    region = region_named(line.cells["region"], vocabulary)
    if region is None:
        names = {spelling.lower(): kind.name for kind in vocabulary.regions for spelling in (kind.name, *kind.synonyms)}
        near = get_close_matches(line.cells["region"].lower(), names, 1)
        hint = f"did you mean {names[near[0]]!r}?" if near else f"write one of {', '.join(vocabulary.classes)}"
        found.append(line.fault("region", hint))
    given = [columns for columns in RANGES if any(line.cells.get(column) for column in columns)]
    if len(given) != 1:
        both = "give slices or millimetres, not both" if given else "give first_slice and last_slice, or from_mm and to_mm"
        found.append(f"{line.file}, line {line.number}: {both}")
    else:
        first, last = (_number(line, column, given[0] == RANGES[1], found) for column in given[0])
        if first is not None and last is not None and first > last:
            found.append(line.fault(given[0][1], f"lies below {given[0][0]} {first:g}; ranges run from feet to head"))
    faults += found
    if found or region is None or first is None or last is None:
        return None
    return RegionRow(volume_id, region, first, last, given[0] == RANGES[1])


def _number(line: Line, column: str, in_mm: bool, faults: list[str]) -> float | None:
    """The number in a cell: any finite one for millimetres, a whole one from 0 for slices."""
    cell = line.cells.get(column, "")
    try:
        value = float(cell) if in_mm else float(int(cell))
    except ValueError:
        value = float("nan")
    if not np.isfinite(value) or (value < 0 and not in_mm):
        faults.append(line.fault(column, "a number of millimetres is wanted" if in_mm else "a whole slice number from 0 is wanted"))
        return None
    return value


def _repeated(lines: Sequence[Line]) -> list[str]:
    """A fault for each volume_id that stood there before, also in other capitals: some file systems keep only one of those."""
    first: dict[str, int] = {}
    faults = []
    for line in lines:
        name = line.cells["volume_id"].casefold()
        if name and first.setdefault(name, line.number) != line.number:
            faults.append(line.fault("volume_id", f"stands in line {first[name]} already; give every volume its own name"))
    return faults


def _split_subjects(lines: Sequence[Line]) -> list[str]:
    """A fault for each line that puts a subject into a second split."""
    first: dict[str, Line] = {}
    faults = []
    for line in lines:
        split = line.cells.get("split", "")
        other = first.setdefault(line.cells["subject_id"], line) if split else line
        if split != other.cells.get("split", ""):
            faults.append(line.fault("split", f"subject {line.cells['subject_id']!r} is in {other.cells['split']!r} in line "
                                              f"{other.number}; one person must stay in one split"))
    return faults


def _conflicts(rows: Sequence[tuple[Line, RegionRow]], vocabulary: Vocabulary) -> list[str]:
    """A fault for every two rows of one volume that give one slice two rungs of the chain, or the chain upside down."""
    order = {name: rung for rung, name in enumerate(vocabulary.chain)}
    by_volume: dict[tuple[str, bool], list[tuple[Line, RegionRow]]] = {}
    for line, row in rows:
        if row.region in order or row.region == NONE:
            by_volume.setdefault((row.volume_id, row.in_mm), []).append((line, row))
    faults = []
    for together in by_volume.values():
        together.sort(key=lambda pair: (pair[1].first, pair[1].last))
        for (_, lower), (line, upper) in pairwise(together):
            overlap = upper.first < lower.last if upper.in_mm else upper.first <= lower.last
            if overlap and lower.region != upper.region:
                faults.append(line.fault("region",
                                         f"overlaps {lower.region} ({lower.first:g} to {lower.last:g}); mend one of the two"))
        chain = [(line, row) for line, row in together if row.region in order]
        for (_, lower), (line, upper) in pairwise(chain):
            if order[upper.region] < order[lower.region]:
                faults.append(line.fault("region", f"lies above {lower.region}; slices count from the feet, in RAS order"))
    return faults


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""
