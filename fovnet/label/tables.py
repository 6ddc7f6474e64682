"""The tables of a labelling, made anew from the readings after every action.

volumes.tsv   every volume, as a collection's         regions.tsv  the settled labels, as a
              collection's
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
from fovnet.label.readings import ASIDE, GIVEN, LabelState, ReadingBook, VolumeRecord, final_label
from fovnet.label.starts import LabelItem
from fovnet.records import tsv_lines, write_text, write_tsv
from fovnet.regions import NONE
from fovnet.volume.adapters.gathering import NOT_LABELLED, path_in_table
from fovnet.volume.collection.table_lines import REGION_COLUMNS, VOLUME_COLUMNS

SLICES, HEIGHTS = ("first_slice", "last_slice"), ("from_mm", "to_mm")
LABEL_COLUMNS = (*REGION_COLUMNS, *SLICES)
ASIDE_COLUMNS = ("path", "kind", "code", "reason")
READING_COLUMNS = (
    "volume_id",
    "reader",
    "mode",
    "mark",
    "region",
    *SLICES,
    *HEIGHTS,
    "comment",
    "seconds",
    "actions",
    "time",
)
TableRow = dict[str, Any]
TABLES = ("volumes.tsv", "regions.tsv", "aside.tsv", "readings.tsv")


def refuse_tables_of_others(out: Path) -> None:
    """Raise CollectionError "collection-exists" if a folder has such tables and no log of a
    labelling."""
    present = [name for name in TABLES if (out / name).exists()]
    if present and not (out / log.FILE_NAME).exists():
        raise CollectionError(
            "collection-exists",
            f"--out {out}: {' and '.join(present)} there were not written by `fovnet label`, and "
            "would be overwritten; give a folder of its own (labels that exist are taken in as a "
            "start)",
        )


def write_volumes(out: Path, items: Sequence[LabelItem]) -> None:
    """Writes volumes.tsv."""
    attribute_names = dict.fromkeys(name for item in items for name in item.row.attributes)
    split_column = ("split",) if any(item.row.split for item in items) else ()
    rows = [
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
        rows,
        keep_same=True,
    )


@dataclass(frozen=True)
class TableLines:
    """What the tables say of one volume, as text: lines of regions.tsv, the same with columns for
    heights, of aside.tsv and of readings.tsv; and whether its label is in millimetres.

    They are kept: to format those of thousands anew after each action takes longer than the action.
    """

    labels: str = ""
    with_heights: str = ""
    aside: str = ""
    readings: str = ""
    in_mm: bool = False


def lines_of(out: Path, item: LabelItem, book: ReadingBook) -> TableLines:
    """The lines of a volume for the tables in `out`."""
    record = book.record(item.row.volume_id)
    label = final_label(record)
    readings = tsv_lines(READING_COLUMNS, _reading_rows(item.row.volume_id, record))
    if label is None:
        return TableLines(readings=readings)
    if label.mark == ASIDE:
        row = {
            "path": path_in_table(item.row.path, out),
            "kind": NOT_LABELLED,
            "reason": label.comment,
        }
        return TableLines(aside=tsv_lines(ASIDE_COLUMNS, [row]), readings=readings)
    rows = [*_label_rows(item, label, record)]
    return TableLines(
        tsv_lines(LABEL_COLUMNS, rows),
        tsv_lines((*LABEL_COLUMNS, *HEIGHTS), rows),
        readings=readings,
        in_mm=any(HEIGHTS[0] in row for row in rows),
    )


def write_labels(out: Path, lines_of_volumes: Collection[TableLines]) -> None:
    """Writes regions.tsv, aside.tsv and readings.tsv; one that would hold what it holds is left as
    it is.

    They are not waited for until they are on the disk, as the log is: they are made from it at
    every start.
    """
    in_mm = any(volume_lines.in_mm for volume_lines in lines_of_volumes)
    for name, columns, texts in (
        (
            "regions.tsv",
            (*LABEL_COLUMNS, *(HEIGHTS if in_mm else ())),
            [
                volume_lines.with_heights if in_mm else volume_lines.labels
                for volume_lines in lines_of_volumes
            ],
        ),
        ("aside.tsv", ASIDE_COLUMNS, [volume_lines.aside for volume_lines in lines_of_volumes]),
        (
            "readings.tsv",
            READING_COLUMNS,
            [volume_lines.readings for volume_lines in lines_of_volumes],
        ),
    ):
        header = "\t".join(columns) + "\n"
        write_text(out / name, header + "".join(texts), keep_same=True, lasting=False)


def _label_rows(item: LabelItem, label: LabelState, record: VolumeRecord) -> Iterator[TableRow]:
    """The rows of a settled label: as they came if nobody changed them; `none` over all slices
    where no region is shown."""
    volume_id = item.row.volume_id
    given_reading = record.readings.get(GIVEN)
    if given_reading is not None and label is given_reading.state:
        for row in record.given_rows:
            end_columns = HEIGHTS if row.in_mm else SLICES
            low, high = (row.first, row.last) if row.in_mm else (int(row.first), int(row.last))
            yield {
                "volume_id": volume_id,
                "region": row.region,
                end_columns[0]: low,
                end_columns[1]: high,
            }
        return
    for region, first, last in label.extents:
        yield {"volume_id": volume_id, "region": region, SLICES[0]: first, SLICES[1]: last}
    if not label.extents and record.grid:
        yield {
            "volume_id": volume_id,
            "region": NONE,
            SLICES[0]: 0,
            SLICES[1]: record.grid.slices - 1,
        }


def _reading_rows(volume_id: str, record: VolumeRecord) -> Iterator[TableRow]:
    """One row a region of each reader's own label, or one without a region."""
    for reader, label in record.of_present_file().items():
        if reader == GIVEN:
            continue
        reading_columns = {"volume_id": volume_id, "reader": reader} | _reading_columns(label)
        for extent in label.extents:
            end_cells: dict[str, Any] = {SLICES[0]: extent.first, SLICES[1]: extent.last}
            if grid := record.grid:
                heights = (
                    grid.bottom_mm + edge * grid.step_mm for edge in (extent.first, extent.last + 1)
                )
                end_cells |= dict(zip(HEIGHTS, heights, strict=True))
            yield {**reading_columns, "region": extent.region, **end_cells}
        if not label.extents:
            yield reading_columns


def _reading_columns(state: LabelState) -> TableRow:
    time = datetime.fromtimestamp(state.time_s, UTC).isoformat(timespec="seconds")
    return {
        "mode": state.mode,
        "mark": state.mark,
        "comment": state.comment,
        "seconds": round(state.seconds, 1),
        "actions": state.actions,
        "time": time,
    }
