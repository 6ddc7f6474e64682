"""A collection of volumes on disk: volumes.tsv, and regions.tsv with the labels, if any.

    volumes.tsv   volume_id, subject_id, path (relative to the table), optionally split; every
                  further column is an attribute
    regions.tsv   volume_id, region, and first_slice, last_slice (inclusive, counted from the feet
                  along the third axis of the volume in its closest RAS order, from 0) or from_mm,
                  to_mm (scanner z)

A volume with at least one row in regions.tsv is labelled: its slices outside every row are `none`.
All faults of both tables are reported at once.  A missing volume *file* is not a fault of the
tables: it is refused when it is sliced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fovnet.errors import CollectionError
from fovnet.regions import DEFAULT, Vocabulary
from fovnet.volume.collection.table_checks import (
    find_doubled_labels,
    find_label_conflicts,
    find_repeated_names,
    find_shared_files,
    find_split_people,
)
from fovnet.volume.collection.table_lines import (
    REGION_COLUMNS,
    VOLUME_COLUMNS,
    TableFault,
    TableLine,
    read_lines,
)
from fovnet.volume.collection.table_rows import (
    LabelledLine,
    RegionRow,
    VolumeRow,
    read_region_row,
    read_volume_row,
)
from fovnet.words import several


@dataclass(frozen=True)
class Collection:
    """The rows of a collection in the order of its tables, the labels by volume_id."""

    table_path: Path
    volume_rows: tuple[VolumeRow, ...]
    region_rows_by_volume: Mapping[str, tuple[RegionRow, ...]]


def read_collection(path: Path, vocabulary: Vocabulary = DEFAULT) -> Collection:
    """The collection in a folder, or beside a volumes.tsv.

    Raises CollectionError "collection-missing" if there is no volumes.tsv, "collection-invalid"
    with every fault found: file, line, column, value and what to write instead.
    """
    volume_table = Path(path)
    if volume_table.is_dir():
        volume_table = volume_table / "volumes.tsv"
    faults: list[TableFault] = []
    lines, stray_words = read_lines(volume_table, VOLUME_COLUMNS, faults)
    volumes = [row for line in lines if (row := read_volume_row(line, faults))]
    faults += [
        *find_repeated_names(lines),
        *find_split_people(lines),
        *find_shared_files(volumes, lines),
    ]
    faults.sort()
    region_table = volume_table.with_name("regions.tsv")
    labelled_lines: list[LabelledLine] = []
    if region_table.exists():
        possible_ids = _possible_ids(lines, stray_words)
        labelled_lines, label_faults = _read_labels(region_table, possible_ids, vocabulary)
        faults += label_faults
    if faults:
        sentences = "\n  ".join(fault.sentence for fault in faults)
        raise CollectionError(
            "collection-invalid",
            f"{path}: {several(len(faults), 'fault')} in the tables\n  {sentences}",
        )
    rows_by_volume: dict[str, list[RegionRow]] = {}
    for label in labelled_lines:
        rows_by_volume.setdefault(label.row.volume_id, []).append(label.row)
    rows_by_id = {volume_id: tuple(rows) for volume_id, rows in rows_by_volume.items()}
    return Collection(volume_table, tuple(volumes), MappingProxyType(rows_by_id))


def _possible_ids(lines: list[TableLine], stray_words: set[str]) -> set[str] | None:
    """The volume_ids that labels may name; None for any, if the column is missing.

    Words of an unreadable line may be volume_ids: that fault is reported, not one for every label.
    """
    volume_ids = {line.cells["volume_id"] for line in lines if line.cells.get("volume_id")}
    if not volume_ids:
        return None
    return volume_ids | stray_words


def _read_labels(
    region_table: Path, possible_ids: set[str] | None, vocabulary: Vocabulary
) -> tuple[list[LabelledLine], list[TableFault]]:
    """(the labels of a regions.tsv without doubles, all faults in it in the order of its lines)."""
    faults: list[TableFault] = []
    labelled_lines: list[LabelledLine] = []
    for line in read_lines(region_table, REGION_COLUMNS, faults)[0]:
        row = read_region_row(line, possible_ids, vocabulary, faults)
        if row:
            labelled_lines.append(LabelledLine(line, row))
    first_line_by_row = {row: line for line, row in reversed(labelled_lines)}
    faults += find_doubled_labels(labelled_lines, first_line_by_row)
    labelled_lines = [
        label for label in labelled_lines if first_line_by_row[label.row] is label.line
    ]
    faults += find_label_conflicts(labelled_lines, vocabulary)
    return labelled_lines, sorted(faults)


def refuse_shared_names(tables: Mapping[str, Collection]) -> None:
    """Raises CollectionError "collection-duplicate" for one table under two names, or one
    volume_id, in any case, in two collections: results are identified by it."""
    name_by_path: dict[Path, str] = {}
    name_by_id: dict[str, str] = {}
    for name, table in tables.items():
        name_of_same_table = name_by_path.setdefault(table.table_path.resolve(), name)
        if name_of_same_table != name:
            raise CollectionError(
                "collection-duplicate",
                f"{table.table_path}: is collection {name_of_same_table!r} and {name!r}; leave out one of the two",
            )
        for row in table.volume_rows:
            earlier_name = name_by_id.setdefault(row.volume_id.casefold(), name)
            if earlier_name != name:
                raise CollectionError(
                    "collection-duplicate",
                    f"{table.table_path}: volume_id {row.volume_id!r} is in collection "
                    f"{earlier_name!r} too. Rename one, for instance to {name}_{row.volume_id}.",
                )
