"""What an adapter found in a tree, and how it becomes volumes.tsv, regions.tsv and aside.tsv."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fovnet.errors import CollectionError, VolumeError
from fovnet.records import tsv_text, write_together, write_tsv
from fovnet.volume.collection.table_lines import REGION_COLUMNS, VOLUME_COLUMNS
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow, is_valid_file_name

BROKEN_KIND = "broken"
LEFT_OUT_KIND = "left out"
NOT_LABELLED_KIND = "not labelled"
NOTE_KIND = "note"
# in this order, where any volume has them
ATTRIBUTE_ORDER = ("site", "manufacturer", "field_strength", "sequence", "plane")


@dataclass(frozen=True)
class AsideRow:
    """A row of aside.tsv: a path that is not in the tables as it might have been, and why.

    kind  "broken": a volume, table or sidecar that cannot be read; "left out": not an MR volume of
          this kind, or only in part used; "not labelled": listed in volumes.tsv without rows in
          regions.tsv, because some slices cannot be labelled with certainty; "note": of
          `Gathering.note_rows`
    """

    path: Path
    kind: str
    reason: str
    code: str = ""


@dataclass
class Gathering:
    """The rows of a collection being assembled; regions in slices of the volume in its closest RAS
    order, counted from the feet.

    path_by_id  path of each volume by its case-folded volume_id
    note_rows   rows of aside.tsv, of the kind "note", on volumes that are in the tables
    """

    volume_rows: list[VolumeRow] = field(default_factory=list)
    region_rows: list[RegionRow] = field(default_factory=list)
    aside_rows: list[AsideRow] = field(default_factory=list)
    path_by_id: dict[str, Path] = field(default_factory=dict)
    note_rows: list[AsideRow] = field(default_factory=list)

    @property
    def broken_count(self) -> int:
        """The number of entries of the kind "broken"."""
        return sum(row.kind == BROKEN_KIND for row in self.aside_rows)

    def add_volume(self, volume: VolumeRow, labels: Iterable[RegionRow] = ()) -> None:
        """Adds a volume, without its empty attributes, and its labels; sets it aside if its
        volume_id is not a valid file name or is already in use."""
        name_phrase = f"its name {volume.volume_id!r}"
        folded_id = volume.volume_id.casefold()
        if not is_valid_file_name(volume.volume_id):
            self.set_aside(volume.path, f"{name_phrase} cannot be a file name; rename it")
            return
        if folded_id in self.path_by_id:
            reason = (
                f"is that of {self.path_by_id[folded_id]}: a duplicate, or it needs another name"
            )
            self.set_aside(volume.path, f"{name_phrase} {reason}")
            return
        self.path_by_id[folded_id] = volume.path
        attributes = {name: value for name, value in volume.attributes.items() if value}
        self.volume_rows.append(replace(volume, attributes=attributes))
        self.region_rows += labels

    def set_broken_aside(self, path: Path, fault: VolumeError) -> None:
        """Sets aside a path that cannot be read as a volume."""
        self.aside_rows.append(AsideRow(path, BROKEN_KIND, fault.sentence, fault.code))

    def set_aside(self, path: Path, reason: str, kind: str = LEFT_OUT_KIND) -> None:
        """Sets a path aside with a reason."""
        self.aside_rows.append(AsideRow(path, kind, reason))


def write_tables(
    out: Path, gathering: Gathering, tree: Path | None = None, *, replace: bool = False
) -> Path:
    """Writes `out`/volumes.tsv and returns its path; regions.tsv beside it if anything is labelled,
    and aside.tsv if anything was found.

    Paths below `out` are written relative to it, others in full.  Raises CollectionError
    "collection-exists" if tables already exist there, which may have been corrected by hand, unless
    `replace`; "collect-nothing" if no volume was found in `tree`.
    """
    volumes_path = out / "volumes.tsv"
    regions_path = out / "regions.tsv"
    existing_names = [path.name for path in (volumes_path, regions_path) if path.exists()]
    if existing_names and not replace:
        raise CollectionError(
            "collection-exists",
            f"{out}: {' and '.join(existing_names)} of an earlier run, perhaps corrected by hand, would be "
            "overwritten. Give another folder, or --replace.",
        )
    aside_path = out / "aside.tsv"
    aside_count = _write_aside_table(aside_path, gathering)
    if not gathering.volume_rows:
        reason = "nothing in it has the layout that this command expects (see --help)"
        if aside_count:
            reason = f"{aside_path} gives the reasons for {aside_count}"
        raise CollectionError(
            "collect-nothing",
            f"{tree or out}: no volume was found; {reason}. Is this the top folder of the tree?",
        )
    attribute_names = {name for row in gathering.volume_rows for name in row.attributes}
    volume_columns = [
        *VOLUME_COLUMNS,
        *(name for name in ATTRIBUTE_ORDER if name in attribute_names),
        *sorted(attribute_names - set(ATTRIBUTE_ORDER)),
    ]
    volume_rows = [
        {
            **row.attributes,
            "volume_id": row.volume_id,
            "subject_id": row.subject_id,
            "path": path_in_table(row.path, out),
        }
        for row in gathering.volume_rows
    ]
    text_by_path = dict[Path, str]()
    if gathering.region_rows:
        region_columns = (*REGION_COLUMNS, "first_slice", "last_slice")
        text_by_path[regions_path] = tsv_text(
            region_columns, map(_region_row, gathering.region_rows)
        )
    write_together(text_by_path | {volumes_path: tsv_text(volume_columns, volume_rows)})
    if regions_path not in text_by_path:
        regions_path.unlink(missing_ok=True)  # of an earlier run that found labels
    return volumes_path


def _write_aside_table(path: Path, gathering: Gathering) -> int:
    """Writes what was set aside, unless nothing was found at all; the number of rows."""
    rows = [
        {
            "path": path_in_table(row.path, path.parent),
            "kind": row.kind,
            "code": row.code,
            "reason": row.reason,
        }
        for row in (*gathering.note_rows, *gathering.aside_rows)
    ]
    if rows or gathering.volume_rows:
        write_tsv(path, ("path", "kind", "code", "reason"), rows)
    return len(rows)


def _region_row(row: RegionRow) -> dict[str, Any]:
    """A label as a row of regions.tsv, by column."""
    return {
        "volume_id": row.volume_id,
        "region": row.region,
        "first_slice": int(row.range_start),
        "last_slice": int(row.range_end),
    }


def path_in_table(path: Path, out: Path) -> str:
    """The path as written to the table: relative if it lies in the table's folder, so that both can
    be moved together, else absolute."""
    # resolve would follow links out of the tree
    path = Path(os.path.abspath(path))  # noqa: PTH100
    folder = Path(os.path.abspath(out))  # noqa: PTH100
    if path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    return path.as_posix()
