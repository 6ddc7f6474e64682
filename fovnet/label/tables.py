"""The tables of a labelling, made anew from the readings after every action.

volumes.tsv   every volume, as a collection's         regions.tsv  the settled labels, as a collection's
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
from fovnet.label.readings import ASIDE, GIVEN, Book, Pages, State, settled
from fovnet.label.starts import Item
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
Row = dict[str, Any]
TABLES = ("volumes.tsv", "regions.tsv", "aside.tsv", "readings.tsv")


def refuse_tables_of_others(out: Path) -> None:
    """Raise CollectionError "collection-exists" if a folder has such tables and no log of a labelling."""
    present = [name for name in TABLES if (out / name).exists()]
    if present and not (out / log.NAME).exists():
        raise CollectionError(
            "collection-exists",
            f"--out {out}: {' and '.join(present)} there were not written by `fovnet label`, and would be "
            "overwritten; give a folder of its own (labels that exist are taken in as a start)",
        )


def write_volumes(out: Path, items: Sequence[Item]) -> None:
    """Writes volumes.tsv."""
    further = dict.fromkeys(name for one in items for name in one.row.attributes)
    split = ("split",) if any(one.row.split for one in items) else ()
    rows = [
        {
            **one.row.attributes,
            "volume_id": one.row.volume_id,
            "subject_id": one.row.subject_id,
            "path": path_in_table(one.row.path, out),
            "split": one.row.split,
        }
        for one in items
    ]
    write_tsv(out / "volumes.tsv", (*VOLUME_COLUMNS, *split, *further), rows, keep_same=True)


@dataclass(frozen=True)
class Lines:
    """What the tables say of one volume, as text: lines of regions.tsv, the same with columns for heights,
    of aside.tsv and of readings.tsv; and whether its label is in millimetres.

    They are kept: to format those of thousands anew after each action takes longer than the action.
    """

    labels: str = ""
    with_heights: str = ""
    aside: str = ""
    readings: str = ""
    in_mm: bool = False


def lines_of(out: Path, one: Item, book: Book) -> Lines:
    """The lines of a volume for the tables in `out`."""
    pages = book.pages(one.row.volume_id)
    label = settled(pages)
    readings = tsv_lines(READING_COLUMNS, _readings(one.row.volume_id, pages))
    if label is None:
        return Lines(readings=readings)
    if label.mark == ASIDE:
        row = {
            "path": path_in_table(one.row.path, out),
            "kind": NOT_LABELLED,
            "reason": label.comment,
        }
        return Lines(aside=tsv_lines(ASIDE_COLUMNS, [row]), readings=readings)
    rows = [*_labels(one, label, pages)]
    return Lines(
        tsv_lines(LABEL_COLUMNS, rows),
        tsv_lines((*LABEL_COLUMNS, *HEIGHTS), rows),
        readings=readings,
        in_mm=any(HEIGHTS[0] in row for row in rows),
    )


def write_labels(out: Path, lines: Collection[Lines]) -> None:
    """Writes regions.tsv, aside.tsv and readings.tsv; one that would hold what it holds is left as it is.

    They are not waited for until they are on the disk, as the log is: they are made from it at every start.
    """
    in_mm = any(one.in_mm for one in lines)
    for name, columns, texts in (
        (
            "regions.tsv",
            (*LABEL_COLUMNS, *(HEIGHTS if in_mm else ())),
            [one.with_heights if in_mm else one.labels for one in lines],
        ),
        ("aside.tsv", ASIDE_COLUMNS, [one.aside for one in lines]),
        ("readings.tsv", READING_COLUMNS, [one.readings for one in lines]),
    ):
        header = "\t".join(columns) + "\n"
        write_text(out / name, header + "".join(texts), keep_same=True, lasting=False)


def _labels(one: Item, label: State, pages: Pages) -> Iterator[Row]:
    """The rows of a settled label: as they came if nobody changed them; `none` over all slices where no
    region is shown."""
    volume_id, given = one.row.volume_id, pages.readings.get(GIVEN)
    if given is not None and label is given.now:
        for row in pages.given:
            ends = HEIGHTS if row.in_mm else SLICES
            low, high = (row.first, row.last) if row.in_mm else (int(row.first), int(row.last))
            yield {"volume_id": volume_id, "region": row.region, ends[0]: low, ends[1]: high}
        return
    for region, first, last in label.extents:
        yield {"volume_id": volume_id, "region": region, SLICES[0]: first, SLICES[1]: last}
    if not label.extents and pages.grid:
        yield {
            "volume_id": volume_id,
            "region": NONE,
            SLICES[0]: 0,
            SLICES[1]: pages.grid.slices - 1,
        }


def _readings(volume_id: str, pages: Pages) -> Iterator[Row]:
    """One row a region of each reader's own label, or one without a region."""
    for reader, label in pages.of_present_file().items():
        if reader == GIVEN:
            continue
        head = {"volume_id": volume_id, "reader": reader} | _head(label)
        for one in label.extents:
            ends: dict[str, Any] = {SLICES[0]: one.first, SLICES[1]: one.last}
            if grid := pages.grid:
                heights = (grid.bottom_mm + at * grid.step_mm for at in (one.first, one.last + 1))
                ends |= dict(zip(HEIGHTS, heights, strict=True))
            yield {**head, "region": one.region, **ends}
        if not label.extents:
            yield head


def _head(now: State) -> Row:
    when = datetime.fromtimestamp(now.at, UTC).isoformat(timespec="seconds")
    return {
        "mode": now.mode,
        "mark": now.mark,
        "comment": now.comment,
        "seconds": round(now.seconds, 1),
        "actions": now.actions,
        "time": when,
    }
