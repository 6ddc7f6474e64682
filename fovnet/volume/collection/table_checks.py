"""What lines of a collection's tables contradict: doubled names, people in two splits, labels that
overlap."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from fovnet.regions import NONE, Vocabulary
from fovnet.volume.collection.split import SPLITS
from fovnet.volume.collection.table_lines import RANGE_COLUMNS, TableFault, TableLine
from fovnet.volume.collection.table_rows import LabelledLine, RegionRow, VolumeRow

RungsByName = Mapping[str, frozenset[int]]
RUNGS_OF_NONE = frozenset({-1})
"""`none` overlaps no region, as if it were a rung of its own."""


def find_repeated_names(lines: Sequence[TableLine]) -> Iterator[TableFault]:
    """A fault for each repeated volume_id, ignoring case and the Unicode composition of accents,
    which some file systems do not distinguish."""
    line_by_name: dict[str, int] = {}
    for line in lines:
        comparable_id = unicodedata.normalize("NFC", line.cells.get("volume_id", "").casefold())
        if comparable_id and line_by_name.setdefault(comparable_id, line.number) != line.number:
            earlier_number = line_by_name[comparable_id]
            yield line.make_fault(
                "volume_id", f"is in line {earlier_number} already; give every volume its own name"
            )


def find_split_people(lines: Sequence[TableLine]) -> Iterator[TableFault]:
    """A fault for each line that puts a subject into a second split."""
    line_by_subject: dict[str, TableLine] = {}
    for line in lines:
        split = line.cells.get("split", "")
        subject = line.cells.get("subject_id")
        earlier_line = line
        if subject and split in SPLITS:
            earlier_line = line_by_subject.setdefault(subject, line)
        if split != earlier_line.cells.get("split", ""):
            yield line.make_fault(
                "split",
                f"its subject is in {earlier_line.cells['split']!r} in line {earlier_line.number}; one "
                "person must stay in one split",
            )


def find_shared_files(
    volumes: Sequence[VolumeRow], lines: Sequence[TableLine]
) -> Iterator[TableFault]:
    """A fault for each line that gives a file to a second subject, who could be in another
    split."""
    line_by_id = {line.cells.get("volume_id"): line for line in reversed(lines)}
    row_by_path: dict[Path, VolumeRow] = {}
    for row in volumes:
        earlier_row = row_by_path.setdefault(row.path, row)
        if earlier_row.subject_id != row.subject_id:
            yield line_by_id[row.volume_id].make_fault(
                "path",
                f"is the file of another subject in line {line_by_id[earlier_row.volume_id].number} "
                "already; one file shows one person",
            )


def find_doubled_labels(
    labels: Sequence[LabelledLine], first_line_by_row: Mapping[RegionRow, TableLine]
) -> Iterator[TableFault]:
    """A fault for each row that is not the first of its kind."""
    for line, row in labels:
        earlier_number = first_line_by_row[row].number
        if first_line_by_row[row] is not line:
            yield line.make_fault(
                "region",
                f"the same volume, region and range are in line {earlier_number} already; change one",
            )


def find_label_conflicts(
    labels: Sequence[LabelledLine], vocabulary: Vocabulary
) -> Iterator[TableFault]:
    """A fault for every row that overlaps one of another region of the chain or of `none`,
    contradicts the order of the chain, or uses another unit (slices, millimetres) than the volume's
    first row, so that an overlap cannot be detected.  A part may overlap its whole."""
    rungs_by_name = {**vocabulary.rungs_by_label, NONE: RUNGS_OF_NONE}
    labels_by_volume: dict[str, list[LabelledLine]] = {}
    for label in labels:
        if label.row.region in rungs_by_name:
            labels_by_volume.setdefault(label.row.volume_id, []).append(label)
    yield from _find_overlaps_of_none(labels, rungs_by_name)
    for volume_labels in labels_by_volume.values():
        yield from _find_mixed_units(volume_labels)
        in_mm = volume_labels[0].row.in_mm
        sorted_labels = sorted(
            (label for label in volume_labels if label.row.in_mm == in_mm),
            key=lambda label: (label.row.range_start, label.row.range_end),
        )
        chain_labels = [label for label in sorted_labels if label.row.region != NONE]
        yield from _find_overlaps(sorted_labels, rungs_by_name)
        yield from _find_rows_upside_down(chain_labels, rungs_by_name)


def _find_mixed_units(labels: Sequence[LabelledLine]) -> Iterator[TableFault]:
    """A fault for each row of a volume in another unit than its first."""
    first_line, first_row = labels[0]
    for line, row in labels:
        if row.in_mm != first_row.in_mm:
            columns = " and ".join(RANGE_COLUMNS[first_row.in_mm])
            sentence = f"line {first_line.number} gives {columns}; use one unit per volume"
            yield line.make_fault(RANGE_COLUMNS[row.in_mm][0], sentence)


def _find_overlaps_of_none(
    labels: Sequence[LabelledLine], rungs_by_name: RungsByName
) -> Iterator[TableFault]:
    """A fault for every row of a region outside the chain that overlaps a row of `none`."""
    none_rows: dict[tuple[str, bool], list[RegionRow]] = {}
    for _, row in labels:
        if row.region == NONE:
            none_rows.setdefault((row.volume_id, row.in_mm), []).append(row)
    for line, row in labels:
        if row.region not in rungs_by_name:
            for none_row in none_rows.get((row.volume_id, row.in_mm), ()):
                if _ends_above_start(none_row, row) and _ends_above_start(row, none_row):
                    none_range = f"{none_row.range_start:g} to {none_row.range_end:g}"
                    yield line.make_fault(
                        "region", f"overlaps a `none` row ({none_range}); correct one of them"
                    )


def _ends_above_start(lower_row: RegionRow, upper_row: RegionRow) -> bool:
    """Whether a row ends above the beginning of another in the same unit; rows in millimetres may
    touch."""
    if upper_row.in_mm:
        return upper_row.range_start < lower_row.range_end
    return upper_row.range_start <= lower_row.range_end


def _find_overlaps(
    sorted_labels: Sequence[LabelledLine], rungs_by_name: RungsByName
) -> Iterator[TableFault]:
    """A fault for each row that begins before a row of another region before it has ended;
    `sorted_labels` is sorted by first slice."""
    highest_by_region: dict[str, RegionRow] = {}
    for line, upper_row in sorted_labels:
        lower_row = max(
            (
                row
                for name, row in highest_by_region.items()
                if rungs_by_name[name].isdisjoint(rungs_by_name[upper_row.region])
            ),
            key=lambda row: row.range_end,
            default=None,
        )
        highest_by_region[upper_row.region] = max(
            upper_row,
            highest_by_region.get(upper_row.region, upper_row),
            key=lambda row: row.range_end,
        )
        if lower_row is not None and _ends_above_start(lower_row, upper_row):
            overlap_phrase = f"overlaps {lower_row.region} ({lower_row.range_start:g} to {lower_row.range_end:g})"
            yield line.make_fault("region", f"{overlap_phrase}; correct one of them")


def _find_rows_upside_down(
    chain: Sequence[LabelledLine], rungs_by_name: RungsByName
) -> Iterator[TableFault]:
    """A fault for each row that lies above a region it must lie below."""
    for (_, lower_row), (line, upper_row) in pairwise(chain):
        if max(rungs_by_name[upper_row.region]) < min(rungs_by_name[lower_row.region]):
            yield line.make_fault(
                "region",
                f"is above {lower_row.region}; slices are counted from the feet, in RAS order",
            )
