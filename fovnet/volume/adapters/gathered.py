"""What an adapter found in a tree, and how it becomes volumes.tsv, regions.tsv and aside.tsv."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fovnet.errors import CollectionError, VolumeError
from fovnet.records import tsv_text, write_together, write_tsv
from fovnet.volume.collection.tables import (
    REGION_COLUMNS,
    VOLUME_COLUMNS,
    RegionRow,
    VolumeRow,
    names_a_file,
)

BROKEN, LEFT_OUT, NOT_LABELLED, NOTE = "broken", "left out", "not labelled", "note"
# in this order, where any volume has them
ATTRIBUTES = ("site", "manufacturer", "field_strength", "sequence", "plane")


@dataclass(frozen=True)
class Aside:
    """A row of aside.tsv: a path that is not in the tables as it might have been, and why.

    kind  "broken": a volume, table or sidecar that cannot be read; "left out": not an MR volume of this kind,
          or only in part used; "not labelled": listed in volumes.tsv without rows in regions.tsv, because
          some slices cannot be labelled with certainty; "note": of `Gathered.notes`
    """

    path: Path
    kind: str
    reason: str
    code: str = ""


@dataclass
class Gathered:
    """The rows of a collection being assembled; regions in slices of the volume in its closest RAS order,
    counted from the feet.

    taken  path of each volume by its case-folded volume_id
    notes  rows of aside.tsv, of the kind "note", on volumes that are in the tables
    """

    volumes: list[VolumeRow] = field(default_factory=list)
    regions: list[RegionRow] = field(default_factory=list)
    aside: list[Aside] = field(default_factory=list)
    taken: dict[str, Path] = field(default_factory=dict)
    notes: list[Aside] = field(default_factory=list)

    @property
    def broken(self) -> int:
        """The number of entries of the kind "broken"."""
        return sum(one.kind == BROKEN for one in self.aside)

    def add(self, volume: VolumeRow, labels: Iterable[RegionRow] = ()) -> None:
        """Adds a volume, without its empty attributes, and its labels; sets it aside if its volume_id is not
        a valid file name or is already in use."""
        named, key = f"its name {volume.volume_id!r}", volume.volume_id.casefold()
        if not names_a_file(volume.volume_id):
            self.leave(volume.path, f"{named} cannot be a file name; rename it")
        elif key in self.taken:
            self.leave(
                volume.path,
                f"{named} is that of {self.taken[key]}: a duplicate, or it needs another name",
            )
        else:
            self.taken[key] = volume.path
            known = {name: value for name, value in volume.attributes.items() if value}
            self.volumes.append(replace(volume, attributes=known))
            self.regions += labels

    def refuse(self, path: Path, fault: VolumeError) -> None:
        """Sets aside a path that cannot be read as a volume."""
        self.aside.append(Aside(path, BROKEN, fault.sentence, fault.code))

    def leave(self, path: Path, reason: str, kind: str = LEFT_OUT) -> None:
        """Sets a path aside with a reason."""
        self.aside.append(Aside(path, kind, reason))


def write_tables(
    out: Path, gathered: Gathered, tree: Path | None = None, *, replace: bool = False
) -> Path:
    """Writes `out`/volumes.tsv and returns its path; regions.tsv beside it if anything is labelled, and
    aside.tsv if anything was found.

    Paths below `out` are written relative to it, others in full.  Raises CollectionError "collection-exists"
    if tables already exist there, which may have been corrected by hand, unless `replace`; "collect-nothing"
    if no volume was found in `tree`.
    """
    table, labels = out / "volumes.tsv", out / "regions.tsv"
    present = [path.name for path in (table, labels) if path.exists()]
    if present and not replace:
        raise CollectionError(
            "collection-exists",
            f"{out}: {' and '.join(present)} of an earlier run, perhaps corrected by hand, would be "
            "overwritten. Give another folder, or --replace.",
        )
    rows = [
        {"path": written(one.path, out), "kind": one.kind, "code": one.code, "reason": one.reason}
        for one in (*gathered.notes, *gathered.aside)
    ]
    if rows or gathered.volumes:
        write_tsv(out / "aside.tsv", ("path", "kind", "code", "reason"), rows)
    if not gathered.volumes:
        why = (
            f"{out / 'aside.tsv'} gives the reasons for {len(rows)}"
            if rows
            else "nothing in it has the layout that this command expects (see --help)"
        )
        raise CollectionError(
            "collect-nothing",
            f"{tree or out}: no volume was found; {why}. Is this the top folder of the tree?",
        )
    used = {name for row in gathered.volumes for name in row.attributes}
    further = [name for name in ATTRIBUTES if name in used] + sorted(used - set(ATTRIBUTES))
    volumes = [
        {
            **row.attributes,
            "volume_id": row.volume_id,
            "subject_id": row.subject_id,
            "path": written(row.path, out),
        }
        for row in gathered.volumes
    ]
    texts = dict[Path, str]()
    if gathered.regions:
        columns = (*REGION_COLUMNS, "first_slice", "last_slice")
        texts[labels] = tsv_text(columns, map(_label, gathered.regions))
    write_together(texts | {table: tsv_text((*VOLUME_COLUMNS, *further), volumes)})
    if labels not in texts:
        labels.unlink(missing_ok=True)  # of an earlier run that found labels
    return table


def _label(row: RegionRow) -> dict[str, Any]:
    return {
        "volume_id": row.volume_id,
        "region": row.region,
        "first_slice": int(row.first),
        "last_slice": int(row.last),
    }


def written(path: Path, out: Path) -> str:
    """The path as written to the table: relative if it lies in the table's folder, so that both can be moved
    together, else absolute."""
    path, folder = Path(os.path.abspath(path)), Path(os.path.abspath(out))  # noqa: PTH100  (resolve would follow links out of the tree)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix()
