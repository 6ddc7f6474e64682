"""The tables of a labelling, made anew from the readings after every action.

volumes.tsv   every volume, as a collection's
regions.tsv   the settled labels, as a collection's
aside.tsv     which volumes cannot be labelled, and why
readings.tsv  every reader's own label of every volume, settled or not
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fovnet.errors import CollectionError
from fovnet.label import log
from fovnet.label.readings import (
    ASIDE_MARK,
    GIVEN_READER,
    LabelState,
    ReadingBook,
    VolumeRecord,
    settled_label,
)
from fovnet.label.starts import LabelItem
from fovnet.records import tsv_lines, write_text, write_tsv
from fovnet.regions import NONE
from fovnet.volume.adapters.gathering import NOT_LABELLED_KIND, path_in_table
from fovnet.volume.collection.table_lines import REGION_COLUMNS, VOLUME_COLUMNS

SLICE_COLUMNS = ("first_slice", "last_slice")
HEIGHT_COLUMNS = ("from_mm", "to_mm")
LABEL_COLUMNS = (*REGION_COLUMNS, *SLICE_COLUMNS)
ASIDE_COLUMNS = ("path", "kind", "code", "reason")
READING_COLUMNS = (
    "volume_id",
    "reader",
    "mode",
    "mark",
    "region",
    *SLICE_COLUMNS,
    *HEIGHT_COLUMNS,
    "comment",
    "seconds",
    "actions",
    "time",
)
TableRow = dict[str, Any]
TABLE_NAMES = ("volumes.tsv", "regions.tsv", "aside.tsv", "readings.tsv")


def refuse_foreign_tables(out: Path) -> None:
    """Raise CollectionError "collection-exists" if a folder has such tables and no log of a
    labelling."""
    present_tables = [table_name for table_name in TABLE_NAMES if (out / table_name).exists()]
    if present_tables and not (out / log.LOG_FILE_NAME).exists():
        raise CollectionError(
            "collection-exists",
            f"--out {out}: {' and '.join(present_tables)} there were not written by `fovnet label`, and "
            "would be overwritten; give a folder of its own (labels that exist are taken in as a "
            "start)",
        )


def write_volumes(out: Path, items: Sequence[LabelItem]) -> None:
    """Writes volumes.tsv."""
    attribute_names = dict.fromkeys(
        attribute_name for item in items for attribute_name in item.row.attributes
    )
    split_column: tuple[str, ...] = ()
    if any(item.row.split for item in items):
        split_column = ("split",)
    volume_rows = [
        {
            **item.row.attributes,
            "volume_id": item.row.volume_id,
            "subject_id": item.row.subject_id,
            "path": path_in_table(item.row.path, out),
            "split": item.row.split,
        }
        for item in items
    ]
    write_tsv(
        out / "volumes.tsv",
        (*VOLUME_COLUMNS, *split_column, *attribute_names),
        volume_rows,
        keep_same=True,
    )


@dataclass(frozen=True)
class TableLines:
    """What the tables say of one volume, as lines of text.

    region_lines               of regions.tsv
    region_lines_with_heights  of regions.tsv with columns for heights
    aside_lines                of aside.tsv
    reading_lines              of readings.tsv
    is_in_mm                   whether its label is in millimetres
    They are kept: to format those of thousands anew after each action takes longer than the action.
    """

    region_lines: str = ""
    region_lines_with_heights: str = ""
    aside_lines: str = ""
    reading_lines: str = ""
    is_in_mm: bool = False


def table_lines_of(out: Path, item: LabelItem, book: ReadingBook) -> TableLines:
    """What each of the tables in `out` says of one volume."""
    record = book.record(item.row.volume_id)
    label_state = settled_label(record)
    reading_lines = tsv_lines(READING_COLUMNS, _reading_rows(item.row.volume_id, record))
    if label_state is None:
        return TableLines(reading_lines=reading_lines)
    if label_state.mark == ASIDE_MARK:
        aside_row = {
            "path": path_in_table(item.row.path, out),
            "kind": NOT_LABELLED_KIND,
            "reason": label_state.comment,
        }
        return TableLines(
            aside_lines=tsv_lines(ASIDE_COLUMNS, [aside_row]), reading_lines=reading_lines
        )
    label_rows = [*_label_rows(item, label_state, record)]
    return TableLines(
        tsv_lines(LABEL_COLUMNS, label_rows),
        tsv_lines((*LABEL_COLUMNS, *HEIGHT_COLUMNS), label_rows),
        reading_lines=reading_lines,
        is_in_mm=any(HEIGHT_COLUMNS[0] in label_row for label_row in label_rows),
    )


def write_labels(out: Path, lines_of_volumes: Collection[TableLines]) -> None:
    """Writes regions.tsv, aside.tsv and readings.tsv; one that would hold what it holds is left as
    it is.

    They are not waited for until they are on the disk, as the log is: they are made from it at
    every start.
    """
    region_columns: tuple[str, ...] = LABEL_COLUMNS
    region_lines = [volume_lines.region_lines for volume_lines in lines_of_volumes]
    if any(volume_lines.is_in_mm for volume_lines in lines_of_volumes):
        region_columns = (*LABEL_COLUMNS, *HEIGHT_COLUMNS)
        region_lines = [volume_lines.region_lines_with_heights for volume_lines in lines_of_volumes]
    aside_lines = [volume_lines.aside_lines for volume_lines in lines_of_volumes]
    reading_lines = [volume_lines.reading_lines for volume_lines in lines_of_volumes]
    for file_name, columns, lines_by_volume in (
        ("regions.tsv", region_columns, region_lines),
        ("aside.tsv", ASIDE_COLUMNS, aside_lines),
        ("readings.tsv", READING_COLUMNS, reading_lines),
    ):
        header = "\t".join(columns) + "\n"
        write_text(
            out / file_name, header + "".join(lines_by_volume), keep_same=True, lasting=False
        )


def _label_rows(item: LabelItem, label: LabelState, record: VolumeRecord) -> Iterator[TableRow]:
    """The rows of a settled label: as they came if nobody changed them; `none` over all slices
    where no region is shown."""
    volume_id = item.row.volume_id
    given_reading = record.reading_by_reader.get(GIVEN_READER)
    if given_reading is not None and label is given_reading.state:
        for given_row in record.given_rows:
            cells: TableRow = {"volume_id": volume_id, "region": given_row.region}
            if given_row.in_mm:
                cells |= zip(
                    HEIGHT_COLUMNS, (given_row.range_start, given_row.range_end), strict=True
                )
            else:
                slices = (int(given_row.range_start), int(given_row.range_end))
                cells |= zip(SLICE_COLUMNS, slices, strict=True)
            yield cells
        return
    for region, first_slice, last_slice in label.extents:
        slice_cells = dict(zip(SLICE_COLUMNS, (first_slice, last_slice), strict=True))
        yield {"volume_id": volume_id, "region": region, **slice_cells}
    if not label.extents and record.grid:
        slice_cells = dict(zip(SLICE_COLUMNS, (0, record.grid.slices - 1), strict=True))
        yield {"volume_id": volume_id, "region": NONE, **slice_cells}


def _reading_rows(volume_id: str, record: VolumeRecord) -> Iterator[TableRow]:
    """One row a region of each reader's own label, or one without a region."""
    for reader, reader_label in record.states_of_present_file().items():
        if reader == GIVEN_READER:
            continue
        cells_of_reading = {"volume_id": volume_id, "reader": reader} | _cells_of_label_state(
            reader_label
        )
        for extent in reader_label.extents:
            slices = (extent.first_slice, extent.last_slice)
            end_cells: dict[str, Any] = dict(zip(SLICE_COLUMNS, slices, strict=True))
            if record.grid:
                edge_heights_mm = (
                    record.grid.bottom_mm + slice_edge * record.grid.step_mm
                    for slice_edge in (extent.first_slice, extent.last_slice + 1)
                )
                end_cells |= dict(zip(HEIGHT_COLUMNS, edge_heights_mm, strict=True))
            yield {**cells_of_reading, "region": extent.region, **end_cells}
        if not reader_label.extents:
            yield cells_of_reading


def _cells_of_label_state(state: LabelState) -> TableRow:
    """The cells of readings.tsv that do not depend on the region."""
    time_text = datetime.fromtimestamp(state.time_s, UTC).isoformat(timespec="seconds")
    return {
        "mode": state.mode,
        "mark": state.mark,
        "comment": state.comment,
        "seconds": round(state.reading_seconds, 1),
        "actions": state.action_count,
        "time": time_text,
    }
