"""What may be labelled: volumes of an answers folder with their predictions, of a collection's tables with
their labels, or of both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fovnet.decision.answer import TABLE as SPANS
from fovnet.errors import CollectionError
from fovnet.label.law import Extent, Extents, Grid, grid_between
from fovnet.own_files import is_our_table
from fovnet.records import read_json, read_tsv
from fovnet.regions import Vocabulary
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.slices.stack import edges_of


@dataclass(frozen=True)
class Predicted:
    """What networks say of a volume.

    extents        its spans;  message  the doubts, in sentences
    probabilities  that each region is shown;  agreement of the networks;  novelty, small where it is unlike
                   what they learned from; None where not known
    grid           its slices; None if it was straightened, and labels count other slices than were predicted
    checksum       SHA-256 of what was predicted
    """

    extents: Extents
    message: str = ""
    probabilities: tuple[float, ...] = ()
    agreement: float | None = None
    novelty: float | None = None
    grid: Grid | None = None
    checksum: str = ""


@dataclass(frozen=True)
class Item:
    """A volume to label: its row of volumes.tsv with the path in full, what was predicted, the rows of
    regions.tsv it came with, and whether its subject is only known from its name."""

    row: VolumeRow
    predicted: Predicted | None = None
    given: tuple[RegionRow, ...] = ()
    is_subject_guessed: bool = False


@dataclass
class Gathering:
    """Items by volume_id, and which of them has a path."""

    items: dict[str, Item] = field(default_factory=dict)
    of_path: dict[str, str] = field(default_factory=dict)

    def add(self, item: Item) -> None:
        """Adds a volume, or what is new about one of the same path: a table's row replaces a guessed one.

        Raises CollectionError "label-same-name" if another path already has its volume_id.
        """
        path = str(item.row.path)
        name = self.of_path.setdefault(path, item.row.volume_id)
        before = self.items.get(name)
        if before is None:
            self.items[name] = item
        elif str(before.row.path) != path:
            raise CollectionError(
                "label-same-name",
                f"{item.row.volume_id}: the name of {before.row.path} and of {path}; give the two starts "
                "folders of their own (--out), or rename one in its table",
            )
        else:
            self.items[name] = _merged(before, item)


def gathered(
    starts: Sequence[Path],
    vocabulary: Vocabulary,
    advance: Callable[[int, int], None] = lambda *_: None,
) -> list[Item]:
    """The volumes under some folders of answers or of tables, in their order.

    advance  called with the number of answers read, and of all
    Raises CollectionError "label-start" for a folder that is neither, as `read_collection` for faulty tables,
    "label-nothing" if there is no volume.
    """
    found = Gathering()
    for start in starts:
        if is_our_table(start / SPANS):
            items: Iterable[Item] = _answers(start, advance)
        elif (start / "volumes.tsv").is_file() or start.is_file():
            items = _tables(start, vocabulary)
        else:
            seen = "holds neither" if start.exists() else "no such folder"
            raise CollectionError(
                "label-start",
                f"{start}: {seen}; wanted are answers (spans.tsv of `fovnet predict`) or tables (volumes.tsv "
                "of a collection); give a folder of either kind",
            )
        for item in items:
            found.add(item)
    if not found.items:
        raise CollectionError(
            "label-nothing",
            f"{', '.join(map(str, starts))}: no volume that could be labelled; predict some",
        )
    return [*found.items.values()]


def refused(starts: Sequence[Path]) -> int:
    """The number of volumes in folders of answers that could not be read, and so cannot be labelled; one that
    several folders have counts once."""
    tables = [start / SPANS for start in starts if is_our_table(start / SPANS)]
    rows = (row for table in tables for row in read_tsv(table) if row["status"] == "refused")
    return len({_full(Path(row["path"])) for row in rows})


def refuse_out_in_starts(out: Path, starts: Sequence[Path]) -> None:
    """Raise CollectionError "label-out-in-answers" if `out` is one of the folders of answers: tables of both
    kinds would lie mixed there, and a later `fovnet predict` would be told that they are not its own."""
    same = [start for start in starts if start.is_dir() and is_our_table(start / SPANS)]
    if any(start.resolve() == out.resolve() for start in same):
        raise CollectionError(
            "label-out-in-answers",
            f"--out {out}: is a folder of answers, where a folder for labels is wanted; give another one",
        )


def _tables(start: Path, vocabulary: Vocabulary) -> Iterable[Item]:
    collection = read_collection(start, vocabulary)
    for row in collection.volumes:
        yield Item(
            replace(row, path=_full(row.path)), None, collection.regions.get(row.volume_id, ())
        )


def _answers(folder: Path, advance: Callable[[int, int], None]) -> Iterable[Item]:
    """The volumes of an answers folder that were read: of `refused` ones there is nothing to look at."""
    rows = {row["volume_id"]: row for row in read_tsv(folder / SPANS) if row["status"] != "refused"}
    found = folder / "found.tsv"
    people = {row["path"]: row["patient"] for row in read_tsv(found)} if found.is_file() else {}
    for number, (volume_id, row) in enumerate(rows.items(), start=1):
        subject = people.get(row["path"], "")
        known = VolumeRow(volume_id, subject or _subject_named(volume_id), _full(Path(row["path"])))
        yield Item(known, _predicted(folder / f"{volume_id}.json"), (), not subject)
        advance(number, len(rows))


def _subject_named(volume_id: str) -> str:
    """The participant in a name as BIDS has it (sub-01_T1w); else the whole name, a person of its own."""
    entity = volume_id.partition("_")[0]
    return entity if entity.startswith("sub-") else volume_id


def _predicted(path: Path) -> Predicted | None:
    """What a volume's JSON says; None where it cannot be read."""
    try:
        facts = read_json(path)
        spans = [(one["region"], one["first_slice"], one["last_slice"]) for one in facts["spans"]]
        chances = [float(one["probability"]) for one in facts.get("statements") or ()]
        return Predicted(
            tuple(Extent(*one) for one in spans),
            _doubts(facts),
            tuple(chances),
            facts.get("agreement"),
            facts.get("novelty"),
            _grid(facts),
            str(facts["checksum"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _doubts(facts: Mapping[str, Any]) -> str:
    """The message of an answer without what was done while reading, which it ends with."""
    notes = "; ".join(facts.get("notes") or ())
    return str(facts["message"]).removesuffix(notes).removesuffix("; ")


def _grid(facts: Mapping[str, Any]) -> Grid | None:
    import numpy as np

    if facts.get("counted_slices") is not None:
        return None
    covers, affine = np.asarray(facts["covers"]), np.asarray(facts["vox_to_ras"])
    edges = edges_of(np.asarray(facts["z_mm"], dtype=np.float64), covers, affine)
    return grid_between(float(edges[0]), float(edges[-1]), int(covers[-1, 1]) + 1)


def _merged(one: Item, other: Item) -> Item:
    """Two items of the same path: the row of a table before one whose subject is guessed, the first
    prediction, the first labels."""
    keeps = one if not one.is_subject_guessed or other.is_subject_guessed else other
    row = replace(keeps.row, volume_id=one.row.volume_id)
    given = tuple(replace(label, volume_id=row.volume_id) for label in one.given or other.given)
    return Item(row, one.predicted or other.predicted, given, keeps.is_subject_guessed)


def _full(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  (resolve would follow links out of the tree)
