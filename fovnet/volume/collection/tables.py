"""A collection of volumes on disk: volumes.tsv, and regions.tsv with the labels, if any.

    volumes.tsv   volume_id, subject_id, path (relative to the table), optionally split; every further column
                  is an attribute
    regions.tsv   volume_id, region, and first_slice, last_slice (inclusive, counted from the feet along the
                  third axis of the volume in its closest RAS order, from 0) or from_mm, to_mm (scanner z)

A volume with at least one row in regions.tsv is labelled: its slices outside every row are `none`.  All
faults of both tables are reported at once.  A missing volume *file* is not a fault of the tables: it is
refused when it is sliced.
"""

from __future__ import annotations

import csv
import io
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError
from fovnet.records import as_named
from fovnet.regions import DEFAULT, NONE, Vocabulary, as_word
from fovnet.volume.collection.split import SPLITS
from fovnet.volume.slices.stack import SliceStack
from fovnet.volume.sources.discovery import LONGEST
from fovnet.words import did_you_mean, near_spelling, several

VOLUME_COLUMNS = ("volume_id", "subject_id", "path")
REGION_COLUMNS = ("volume_id", "region")
RANGES = (("first_slice", "last_slice"), ("from_mm", "to_mm"))
NAME = re.compile(r"[^\s./\\\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f\u2028\u2029]*")


# most names an unknown one is compared with, 20 ms; with more, a table with many faults would take hours
GUESSABLE = 2000
NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
WHOLE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class VolumeRow:
    """One row of volumes.tsv: ids, the path relative to the table's folder joined with it, a split if the
    user gave one, attributes."""

    volume_id: str
    subject_id: str
    path: Path
    split: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RegionRow:
    """One row of regions.tsv: a class of the vocabulary, `first` to `last` inclusive, in slices or, if
    `in_mm`, millimetres."""

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


@dataclass(frozen=True, order=True)
class Fault:
    """A fault in a line of a table, as a sentence; sorted by line, faults of the same line in the order they
    were found."""

    line: int
    sentence: str = field(compare=False)

    @classmethod
    def of(cls, file: Path, line: int, what: str) -> Fault:
        """A fault of a whole line of a file."""
        return cls(line, f"{file}, line {line}: {what}")


@dataclass(frozen=True)
class Line:
    """One line of a table: file, line number as an editor shows it, cells by column."""

    file: Path
    number: int
    cells: Mapping[str, str]

    def fault(self, column: str, what: str) -> Fault:
        """A fault in `column` of this line, with the value seen."""
        return Fault(
            self.number,
            f"{self.file}, line {self.number}, {column} {self.cells.get(column, '')!r}: {what}",
        )


Labelled = tuple[Line, RegionRow]


def read_collection(path: Path, vocabulary: Vocabulary = DEFAULT) -> Collection:
    """The collection in a folder, or beside a volumes.tsv.

    Raises CollectionError "collection-missing" if there is no volumes.tsv, "collection-invalid" with every
    fault found: file, line, column, value and what to write instead.
    """
    table = Path(path) / "volumes.tsv" if Path(path).is_dir() else Path(path)
    faults: list[Fault] = []
    lines, astray = _table(table, VOLUME_COLUMNS, faults)
    volumes = [row for line in lines if (row := _volume_row(line, faults))]
    faults += [*_repeated(lines), *_split_subjects(lines), *_shared_files(volumes, lines)]
    faults.sort()
    labels = table.with_name("regions.tsv")
    labelled: list[Labelled] = []
    if labels.exists():
        # Words of an unreadable line may be volume_ids, as may any if the column is missing: report that
        # fault, not one for every row here.
        named = {line.cells["volume_id"] for line in lines if line.cells.get("volume_id")}
        known = named | astray if named else None
        of_labels: list[Fault] = []
        for line in _table(labels, REGION_COLUMNS, of_labels)[0]:
            label = _region_row(line, known, vocabulary, of_labels)
            labelled += [(line, label)] if label else []
        first = {row: line for line, row in reversed(labelled)}
        doubled = _doubles(labelled, first)
        labelled = [(line, row) for line, row in labelled if first[row] is line]
        faults += sorted([*of_labels, *doubled, *_conflicts(labelled, vocabulary)])
    if faults:
        listed = "\n  ".join(fault.sentence for fault in faults)
        raise CollectionError(
            "collection-invalid",
            f"{table.parent}: {several(len(faults), 'fault')} in the tables\n  {listed}",
        )
    regions: dict[str, list[RegionRow]] = {}
    for _, label in labelled:
        regions.setdefault(label.volume_id, []).append(label)
    return Collection(
        table,
        tuple(volumes),
        MappingProxyType({name: tuple(found) for name, found in regions.items()}),
    )


BEYOND_MM = 20.0
"""A row in millimetres that lies farther outside a volume than this belongs to another one, or another frame
of reference."""


def truth(
    stack: SliceStack, rows: Iterable[RegionRow], vocabulary: Vocabulary = DEFAULT
) -> NDArray[np.bool_]:
    """(s, k) which classes each cut shows, in the order of vocabulary.classes; `none` exactly where no other
    class is shown.

    A cut of several slices gets the labels of its middle slice (of an even number, the lower of the two in
    the middle); from rows in millimetres, those of its z.  If two regions of the chain meet at exactly this
    z, the lower one applies. Raises CollectionError "collection-slices" for a slice number the volume does
    not have, "collection-extent" for millimetres more than 20 mm outside it.
    """
    slices = stack.counted_slices or int(stack.covers[-1, 1]) + 1
    return truth_at(stack.z_mm, stack.middle, slices, rows, vocabulary)


def truth_at(
    z_mm: NDArray[np.float64],
    middle: NDArray[np.int64],
    slices: int,
    rows: Iterable[RegionRow],
    vocabulary: Vocabulary = DEFAULT,
) -> NDArray[np.bool_]:
    """`truth` for cuts at heights z_mm (s,) with middle slices `middle` (s,), of a volume of `slices`
    slices."""
    classes = vocabulary.classes
    shown = np.zeros((len(z_mm), len(classes)), dtype=bool)
    for row in rows:
        refuse_beyond(row, slices)
        if row.in_mm and (row.last < z_mm[0] - BEYOND_MM or row.first > z_mm[-1] + BEYOND_MM):
            given, actual = (
                f"{row.first:g} to {row.last:g} mm",
                f"{z_mm[0]:.0f} to {z_mm[-1]:.0f} mm",
            )
            raise CollectionError(
                "collection-extent",
                f"{row.volume_id}: {row.region} is labelled from {given}, but the volume extends from "
                f"{actual}. Give scanner millimetres (RAS), or slice numbers.",
            )
        at = z_mm if row.in_mm else middle
        if row.region != NONE:
            shown[:, classes.index(row.region)] |= (at >= row.first) & (at <= row.last)
    chain = shown[:, : len(vocabulary.chain)]
    chain &= np.cumsum(chain, axis=1) == 1
    shown[:, classes.index(NONE)] = ~shown.any(axis=1)
    return shown


def refuse_beyond(row: RegionRow, slices: int) -> None:
    """Raise CollectionError "collection-slices" if a row in slices names one that a volume of so many has
    not."""
    if not row.in_mm and row.last >= slices:
        raise CollectionError(
            "collection-slices",
            f"{row.volume_id}: {row.region} is labelled up to slice {row.last:g}, but the "
            f"last slice is {slices - 1}. Count from 0 at the feet, in RAS order.",
        )


def nearest_name(path: Path, *, folder: bool = False) -> str:
    """ "did you mean 'data/mine'?" for a missing path whose parent folder contains a similar name (with
    `folder`, that of a folder); else empty."""
    try:
        names = sorted(
            beside.name for beside in path.parent.iterdir() if not folder or beside.is_dir()
        )
    except OSError:
        return ""
    near = near_spelling(path.name, names)
    return f"did you mean '{path.with_name(near)}'?" if near else ""


def region_named(text: str, vocabulary: Vocabulary) -> str | None:
    """The class that a text names, in any case, by name or by a synonym such as THORAX or LEG; None if it
    names none."""
    wanted = as_word(text)
    if wanted == as_word(NONE):
        return NONE
    return next((region.name for region in vocabulary.regions if wanted in region.words), None)


def _table(path: Path, columns: Sequence[str], faults: list[Fault]) -> tuple[list[Line], set[str]]:
    """(lines of a tab-separated table, every cell of the lines that cannot be split into the columns).

    A fault is added for each of those lines, and one for missing required columns; the other columns are
    still read.
    """
    records = [
        (number, line) for number, line in enumerate(_text_lines(path), start=1) if line.strip()
    ]
    first, heading = records[0] if records else (1, "")
    header = _cells(heading) or []
    missing = [column for column in columns if column not in header]
    lacking = missing or (_lacking_range(header) if columns == REGION_COLUMNS else [])
    if lacking:
        rows = "Rows need first_slice and last_slice, or from_mm and to_mm."
        otherwise = "Are the columns separated by tabs?" if missing else rows
        hint = _meant(lacking, set(header) - set(columns)) or otherwise
        among = f"no column {', '.join(lacking)} among {', '.join(header) or 'nothing'}"
        faults.append(Fault.of(path, first, f"{among}. {hint}"))
    twice = sorted({column for column in header if column and header.count(column) > 1})
    if twice:
        faults.append(
            Fault.of(path, first, f"column {', '.join(twice)} appears twice. Rename one.")
        )
    if missing == list(columns) or twice:
        return [], set()
    lines: list[Line] = []
    astray: set[str] = set()
    for number, line in records[1:]:
        cells = _cells(line)
        if cells is not None and not any(cells[len(header) :]):
            if any(cells):
                padded = [*cells, *[""] * len(header)]
                lines.append(Line(path, number, dict(zip(header, padded, strict=False))))
            continue
        what = (
            "a quotation mark that opens a cell is not closed in that line. Remove it, or close it."
        )
        if cells is not None:
            what = f"{len(cells)} cells under {len(header)} columns. Is there an extra tab?"
        faults.append(Fault.of(path, number, what))
        astray.update(word.strip(' "') for word in line.split("\t"))
    if len(records) == 1 and not missing and columns == VOLUME_COLUMNS:
        faults.append(Fault.of(path, first, "no volume under the header. Write a line for each."))
    return lines, astray


def _lacking_range(header: Sequence[str]) -> list[str]:
    """The columns missing from the header, for the pair of RANGES of which fewest are missing; empty if it
    has a complete pair."""
    return min(([column for column in pair if column not in header] for pair in RANGES), key=len)


def _meant(missing: Sequence[str], others: set[str]) -> str:
    """ "Is 'subjectid' meant?" for the first missing column to which another column's name is similar; else
    empty."""
    near = [match for column in missing if (match := near_spelling(column, sorted(others)))]
    return f"Is {near[0]!r} meant?" if near else ""


def _cells(line: str) -> list[str] | None:
    """The cells of one line, stripped, as `as_named`; None if a quoted cell does not end in it."""
    try:
        (cells,) = csv.reader([line], delimiter="\t", strict=True)
    except csv.Error as fault:
        if "unexpected end of data" in str(fault):
            return None  # csv would otherwise append the following lines to the cell
        (cells,) = csv.reader([line], delimiter="\t")
    return [as_named(cell.strip()) for cell in cells]


def _text_lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as fault:
        raise CollectionError(
            "collection-missing",
            f"{path}: no such file or folder. A collection is a folder with a volumes.tsv that has the "
            f"columns {', '.join(VOLUME_COLUMNS)}: `fovnet collect` writes it for data sets, `fovnet label` "
            "for volumes that you label.",
        ) from fault
    except UnicodeDecodeError as fault:
        number = fault.object[: fault.start].count(b"\n") + 1
        raise CollectionError(
            "collection-unreadable",
            f"{path}, line {number}: not a UTF-8 table ({fault}). Save it as UTF-8.",
        ) from fault
    except OSError as fault:
        raise CollectionError(
            "collection-unreadable",
            f"{path}: cannot be read ({fault.strerror}). Check it and its folder.",
        ) from fault
    return [line.rstrip("\n") for line in io.StringIO(text, newline=None)]


def names_a_file(volume_id: str) -> bool:
    """Whether a volume_id is valid as a file name, since output files are named after it."""
    return NAME.fullmatch(volume_id) is not None and len(os.fsencode(volume_id)) <= LONGEST


def _volume_row(line: Line, faults: list[Fault]) -> VolumeRow | None:
    found = [
        line.fault(column, "must be given")
        for column in VOLUME_COLUMNS
        if line.cells.get(column) == ""
    ]
    if line.cells.get("volume_id") and not names_a_file(line.cells["volume_id"]):
        valid = f"at most {LONGEST} bytes, no slash, no dot at the start"
        found.append(line.fault("volume_id", f"becomes a file name: {valid}"))
    if "\0" in line.cells.get("path", ""):
        found.append(line.fault("path", "contains a null character, which no file name can have"))
    split = line.cells.get("split", "")
    if split and split not in SPLITS:
        found.append(line.fault("split", f"write one of {', '.join(SPLITS)}, or leave it empty"))
    faults += found
    if found or not line.cells.keys() >= set(VOLUME_COLUMNS):
        return None
    attributes = {
        name: cell
        for name, cell in line.cells.items()
        if name not in (*VOLUME_COLUMNS, "split") and name
    }
    return VolumeRow(
        line.cells["volume_id"],
        line.cells["subject_id"],
        line.file.parent / line.cells["path"],
        split,
        attributes,
    )


def _region_row(
    line: Line, known: set[str] | None, vocabulary: Vocabulary, faults: list[Fault]
) -> RegionRow | None:
    """The label of one line, or None after adding its faults; `known` are the possible volume_ids, None if
    volumes.tsv gives none."""
    found = []
    volume_id, region_text = line.cells.get("volume_id"), line.cells.get("region")
    if volume_id == "":
        found.append(line.fault("volume_id", "must be given"))
    elif volume_id is not None and known is not None and volume_id not in known:
        found.append(
            line.fault("volume_id", "is not in volumes.tsv" + _did_you_mean(volume_id, known))
        )
    region = None if region_text is None else region_named(region_text, vocabulary)
    if region_text == "":
        found.append(line.fault("region", "must be given"))
    elif region is None and region_text is not None:
        names = {
            spelling.lower(): kind.name
            for kind in vocabulary.regions
            for spelling in (kind.name, *kind.synonyms)
        }
        near = near_spelling(region_text, names)
        wanted = f"write one of {', '.join(vocabulary.classes)}"
        found.append(line.fault("region", f"did you mean {names[near]!r}?" if near else wanted))
    # missing columns are reported once, with the header
    bounds = None if _lacking_range([*line.cells]) else _range(line, found)
    faults += found
    if found or volume_id is None or region is None or bounds is None:
        return None
    return RegionRow(volume_id, region, *bounds)


def _range(line: Line, faults: list[Fault]) -> tuple[float, float, bool] | None:
    """(first, last, whether in millimetres) of a line, or None after adding its faults."""
    given = [columns for columns in RANGES if any(line.cells.get(column) for column in columns)]
    if len(given) != 1:
        columns = [column for pair in given for column in pair if line.cells.get(column)]
        seen = ", ".join(f"{column} {line.cells[column]!r}" for column in columns)
        neither = "give first_slice and last_slice, or from_mm and to_mm"
        what = f"give slices or millimetres, not both ({seen})" if given else neither
        faults.append(Fault.of(line.file, line.number, what))
        return None
    (low, high), in_mm = given[0], given[0] == RANGES[1]
    first, last = (_number(line, column, in_mm, faults) for column in (low, high))
    if first is None or last is None:
        return None
    if first > last:
        swapped = f"is below {low} {first:g}; ranges run from feet to head. Are the two swapped?"
        faults.append(line.fault(high, swapped))
    return first, last, in_mm


def _number(line: Line, column: str, in_mm: bool, faults: list[Fault]) -> float | None:
    """The number in a cell: any finite one for millimetres, a whole one from 0 for slices; None after adding
    a fault."""
    cell = line.cells.get(column, "")
    written = NUMBER if in_mm else WHOLE  # float() and int() also read 1_000, ٣ and nan
    value = float(cell) if written.fullmatch(cell) else float("nan")
    if np.isfinite(value):
        return value
    wanted = f"a {'number of millimetres' if in_mm else 'whole slice number from 0'} is wanted"
    if "," in cell and NUMBER.fullmatch(cell.replace(",", ".")):
        wanted += "; write a point, not a comma"
    faults.append(line.fault(column, wanted))
    return None


def _repeated(lines: Sequence[Line]) -> Iterator[Fault]:
    """A fault for each repeated volume_id, ignoring case and the Unicode composition of accents, which some
    file systems do not distinguish."""
    first: dict[str, int] = {}
    for line in lines:
        name = unicodedata.normalize("NFC", line.cells.get("volume_id", "").casefold())
        if name and first.setdefault(name, line.number) != line.number:
            yield line.fault(
                "volume_id", f"is in line {first[name]} already; give every volume its own name"
            )


def _split_subjects(lines: Sequence[Line]) -> Iterator[Fault]:
    """A fault for each line that puts a subject into a second split."""
    first: dict[str, Line] = {}
    for line in lines:
        split, subject = line.cells.get("split", ""), line.cells.get("subject_id")
        other = first.setdefault(subject, line) if subject and split in SPLITS else line
        if split != other.cells.get("split", ""):
            yield line.fault(
                "split",
                f"its subject is in {other.cells['split']!r} in line {other.number}; one person must "
                "stay in one split",
            )


def _shared_files(volumes: Sequence[VolumeRow], lines: Sequence[Line]) -> Iterator[Fault]:
    """A fault for each line that gives a file to a second subject, who could be in another split."""
    of_name = {line.cells.get("volume_id"): line for line in reversed(lines)}
    first: dict[Path, VolumeRow] = {}
    for row in volumes:
        owner = first.setdefault(row.path, row)
        if owner.subject_id != row.subject_id:
            yield of_name[row.volume_id].fault(
                "path",
                f"is the file of another subject in line {of_name[owner.volume_id].number} "
                "already; one file shows one person",
            )


def _doubles(rows: Sequence[Labelled], first: Mapping[RegionRow, Line]) -> Iterator[Fault]:
    """A fault for each row that is not the first of its kind."""
    for line, row in rows:
        if first[row] is not line:
            said = f"the same volume, region and range are in line {first[row].number} already; change one"
            yield line.fault("region", said)


def refuse_shared_names(tables: Mapping[str, Collection]) -> None:
    """Raises CollectionError "collection-duplicate" for one table under two names, or one volume_id, in any
    case, in two collections: results are identified by it."""
    folders: dict[Path, str] = {}
    owner: dict[str, str] = {}
    for name, table in tables.items():
        first = folders.setdefault(table.path.resolve(), name)
        if first != name:
            raise CollectionError(
                "collection-duplicate",
                f"{table.path}: is collection {first!r} and {name!r}; leave out one of the two",
            )
        for row in table.volumes:
            other = owner.setdefault(row.volume_id.casefold(), name)
            if other != name:
                raise CollectionError(
                    "collection-duplicate",
                    f"{table.path}: volume_id {row.volume_id!r} is in collection "
                    f"{other!r} too. Rename one, for instance to {name}_{row.volume_id}.",
                )


def _conflicts(rows: Sequence[Labelled], vocabulary: Vocabulary) -> Iterator[Fault]:
    """A fault for every row that overlaps one of another region of the chain or of `none`, contradicts the
    order of the chain, or uses another unit (slices, millimetres) than the volume's first row, so that an
    overlap cannot be detected."""
    order = {name: rung for rung, name in enumerate(vocabulary.chain)}
    by_volume: dict[str, list[Labelled]] = {}
    for line, row in rows:
        if row.region in order or row.region == NONE:
            by_volume.setdefault(row.volume_id, []).append((line, row))
    yield from _beside_none(rows, order)
    for every in by_volume.values():
        first, unit = every[0][0], every[0][1].in_mm
        for line, row in every:
            if row.in_mm != unit:
                given = f"line {first.number} gives {' and '.join(RANGES[unit])}"
                yield line.fault(RANGES[row.in_mm][0], f"{given}; use one unit per volume")
        together = sorted(
            (pair for pair in every if pair[1].in_mm == unit),
            key=lambda pair: (pair[1].first, pair[1].last),
        )
        yield from _overlaps(together)
        yield from _upside_down([pair for pair in together if pair[1].region in order], order)


def _beside_none(rows: Sequence[Labelled], order: Mapping[str, int]) -> Iterator[Fault]:
    """A fault for every row of a region outside the chain that overlaps a row of `none`."""
    nothing: dict[tuple[str, bool], list[RegionRow]] = {}
    for _, row in rows:
        if row.region == NONE:
            nothing.setdefault((row.volume_id, row.in_mm), []).append(row)
    for line, row in rows:
        if row.region != NONE and row.region not in order:
            for empty in nothing.get((row.volume_id, row.in_mm), ()):
                if _reaches(empty, row) and _reaches(row, empty):
                    seen = f"overlaps a `none` row ({empty.first:g} to {empty.last:g})"
                    yield line.fault("region", f"{seen}; correct one of them")


def _reaches(lower: RegionRow, upper: RegionRow) -> bool:
    """Whether a row ends above the beginning of another in the same unit; rows in millimetres may touch."""
    return upper.first < lower.last if upper.in_mm else upper.first <= lower.last


def _overlaps(together: Sequence[Labelled]) -> Iterator[Fault]:
    """A fault for each row that begins before a row of another region before it has ended; `together` is
    sorted by first slice."""
    furthest: dict[str, RegionRow] = {}
    for line, upper in together:
        lower = max(
            (row for name, row in furthest.items() if name != upper.region),
            key=lambda row: row.last,
            default=None,
        )
        furthest[upper.region] = max(
            upper, furthest.get(upper.region, upper), key=lambda row: row.last
        )
        if lower is not None and _reaches(lower, upper):
            seen = f"overlaps {lower.region} ({lower.first:g} to {lower.last:g})"
            yield line.fault("region", f"{seen}; correct one of them")


def _upside_down(chain: Sequence[Labelled], order: Mapping[str, int]) -> Iterator[Fault]:
    """A fault for each row that lies above a region it must lie below."""
    for (_, lower), (line, upper) in pairwise(chain):
        if order[upper.region] < order[lower.region]:
            yield line.fault(
                "region", f"is above {lower.region}; slices are counted from the feet, in RAS order"
            )


def _did_you_mean(name: str, known: set[str]) -> str:
    hint = did_you_mean(name, sorted(known)) if len(known) <= GUESSABLE else ""
    return f"; {hint}" if hint else ""
