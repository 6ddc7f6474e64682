"""What may be labelled: volumes of an answers folder with their predictions, of a collection's
tables with their labels, or of both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.decision.answer import SPANS_TABLE_NAME as SPANS
from fovnet.errors import CollectionError
from fovnet.label.law import Extents, LabelGrid, RegionExtent, grid_between
from fovnet.own_files import is_our_table
from fovnet.records import read_json, read_tsv
from fovnet.regions import Vocabulary
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.slices.stack import compute_edges_mm


@dataclass(frozen=True)
class VolumePrediction:
    """What networks say of a volume.

    extents        its spans, and those of the parts of regions that are labelled
    message        the doubts, in sentences
    probabilities  that each region is shown
    agreement      of the networks; None where not known
    novelty        small where the volume is unlike what they learned from; None where not known
    grid           its slices; None if it was straightened, and labels count other slices than were
                   predicted
    checksum       SHA-256 of what was predicted
    """

    extents: Extents
    message: str = ""
    probabilities: tuple[float, ...] = ()
    agreement: float | None = None
    novelty: float | None = None
    grid: LabelGrid | None = None
    checksum: str = ""


@dataclass(frozen=True)
class LabelItem:
    """A volume to label.

    row                 of volumes.tsv, with the path in full
    prediction          what networks say of it
    given_rows          of regions.tsv, with which it came
    is_subject_guessed  whether its subject is only known from its name
    """

    row: VolumeRow
    prediction: VolumePrediction | None = None
    given_rows: tuple[RegionRow, ...] = ()
    is_subject_guessed: bool = False


@dataclass
class ItemIndex:
    """Items by volume_id, and which of them has a path."""

    item_by_volume_id: dict[str, LabelItem] = field(default_factory=dict)
    volume_id_by_path: dict[str, str] = field(default_factory=dict)

    def add(self, item: LabelItem) -> None:
        """Adds a volume, or what is new about one of the same path: a table's row replaces a
        guessed one.

        Raises CollectionError "label-same-name" if another path already has its volume_id.
        """
        path = str(item.row.path)
        volume_id = self.volume_id_by_path.setdefault(path, item.row.volume_id)
        known_item = self.item_by_volume_id.get(volume_id)
        if known_item is None:
            self.item_by_volume_id[volume_id] = item
        elif str(known_item.row.path) != path:
            raise CollectionError(
                "label-same-name",
                f"{item.row.volume_id}: the name of {known_item.row.path} and of {path}; give the "
                "two starts folders of their own (--out), or rename one in its table",
            )
        else:
            self.item_by_volume_id[volume_id] = _merge_items(known_item, item)


def gather_items(
    starts: Sequence[Path],
    vocabulary: Vocabulary,
    advance: Callable[[int, int], None] = lambda *_: None,
) -> list[LabelItem]:
    """The volumes under some folders of answers or of tables, in their order.

    advance  called with the number of answers read, and of all
    Raises CollectionError "label-start" for a folder that is neither, as `read_collection` for
    faulty tables, "label-nothing" if there is no volume.
    """
    gathering = ItemIndex()
    for start_folder in starts:
        if is_our_table(start_folder / SPANS):
            items_of_start: Iterable[LabelItem] = _items_of_answers(
                start_folder, vocabulary, advance
            )
        elif (start_folder / "volumes.tsv").is_file() or start_folder.is_file():
            items_of_start = _items_of_tables(start_folder, vocabulary)
        else:
            fault_of_folder = "holds neither" if start_folder.exists() else "no such folder"
            raise CollectionError(
                "label-start",
                f"{start_folder}: {fault_of_folder}; wanted are answers (spans.tsv of `fovnet predict`) or tables "
                "(volumes.tsv of a collection); give a folder of either kind",
            )
        for item in items_of_start:
            gathering.add(item)
    if not gathering.item_by_volume_id:
        raise CollectionError(
            "label-nothing",
            f"{', '.join(map(str, starts))}: no volume that could be labelled; predict some",
        )
    return [*gathering.item_by_volume_id.values()]


def count_refused(starts: Sequence[Path]) -> int:
    """The number of volumes in folders of answers that could not be read, and so cannot be
    labelled; one that several folders have counts once."""
    span_tables = [start / SPANS for start in starts if is_our_table(start / SPANS)]
    rows = (row for table in span_tables for row in read_tsv(table) if row["status"] == "refused")
    return len({_full_path(Path(row["path"])) for row in rows})


def refuse_out_in_starts(out: Path, starts: Sequence[Path]) -> None:
    """Raise CollectionError "label-out-in-answers" if `out` is one of the folders of answers:
    tables of both kinds would lie mixed there, and a later `fovnet predict` would be told that they
    are not its own."""
    answer_folders = [
        start_folder
        for start_folder in starts
        if start_folder.is_dir() and is_our_table(start_folder / SPANS)
    ]
    if any(start_folder.resolve() == out.resolve() for start_folder in answer_folders):
        raise CollectionError(
            "label-out-in-answers",
            f"--out {out}: is a folder of answers, where a folder for labels is wanted; give "
            "another one",
        )


def _items_of_tables(start: Path, vocabulary: Vocabulary) -> Iterable[LabelItem]:
    collection = read_collection(start, vocabulary)
    for row in collection.volume_rows:
        yield LabelItem(
            replace(row, path=_full_path(row.path)),
            given_rows=collection.region_rows_by_volume.get(row.volume_id, ()),
        )


def _items_of_answers(
    folder: Path, vocabulary: Vocabulary, advance: Callable[[int, int], None]
) -> Iterable[LabelItem]:
    """The volumes of an answers folder that were read: of `refused` ones there is nothing to look
    at."""
    row_by_volume_id = {
        spans_row["volume_id"]: spans_row
        for spans_row in read_tsv(folder / SPANS)
        if spans_row["status"] != "refused"
    }
    found_table = folder / "found.tsv"
    subject_id_by_path = {}
    if found_table.is_file():
        subject_id_by_path = {
            series_row["path"]: series_row["patient"] for series_row in read_tsv(found_table)
        }
    for read_count, (volume_id, spans_row) in enumerate(row_by_volume_id.items(), start=1):
        subject_id = subject_id_by_path.get(spans_row["path"], "")
        path = _full_path(Path(spans_row["path"]))
        volume_row = VolumeRow(volume_id, subject_id or _subject_in_name(volume_id), path)
        prediction = _prediction_in(folder / f"{volume_id}.json", vocabulary)
        yield LabelItem(volume_row, prediction, is_subject_guessed=not subject_id)
        advance(read_count, len(row_by_volume_id))


def _subject_in_name(volume_id: str) -> str:
    """The participant in a name as BIDS has it (sub-01_T1w); else the whole name, a person of its
    own."""
    leading_entity = volume_id.partition("_")[0]
    return leading_entity if leading_entity.startswith("sub-") else volume_id


def _prediction_in(path: Path, vocabulary: Vocabulary) -> VolumePrediction | None:
    """What a volume's JSON says; None where it cannot be read."""
    try:
        volume_json = read_json(path)
        part_spans = [
            span
            for span in volume_json.get("part_spans", ())
            if span["region"] in vocabulary.part_names
        ]
        extents = [
            RegionExtent(span["region"], span["first_slice"], span["last_slice"])
            for span in (*volume_json["spans"], *part_spans)
        ]
        statements = volume_json.get("statements") or ()
        probabilities = [float(statement["probability"]) for statement in statements]
        return VolumePrediction(
            tuple(extents),
            message=_message_without_notes(volume_json),
            probabilities=tuple(probabilities),
            agreement=volume_json.get("agreement"),
            novelty=volume_json.get("novelty"),
            grid=_grid_as_predicted(volume_json),
            checksum=str(volume_json["checksum"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _message_without_notes(volume_json: Mapping[str, Any]) -> str:
    """The message of an answer without what was done while reading, which it ends with."""
    notes_text = "; ".join(volume_json.get("notes") or ())
    return str(volume_json["message"]).removesuffix(notes_text).removesuffix("; ")


def _grid_as_predicted(volume_json: Mapping[str, Any]) -> LabelGrid | None:
    if volume_json.get("counted_slices") is not None:
        return None
    covers = np.asarray(volume_json["covers"])
    z_mm = np.asarray(volume_json["z_mm"], dtype=np.float64)
    edges_mm = compute_edges_mm(z_mm, covers, np.asarray(volume_json["vox_to_ras"]))
    return grid_between(float(edges_mm[0]), float(edges_mm[-1]), int(covers[-1, 1]) + 1)


def _merge_items(item: LabelItem, other_item: LabelItem) -> LabelItem:
    """Two items of the same path: the row of a table before one whose subject is guessed, the first
    prediction, the first labels."""
    is_other_better = item.is_subject_guessed and not other_item.is_subject_guessed
    better_item = item
    if is_other_better:
        better_item = other_item
    merged_row = replace(better_item.row, volume_id=item.row.volume_id)
    given_rows = item.given_rows or other_item.given_rows
    return LabelItem(
        merged_row,
        item.prediction or other_item.prediction,
        given_rows=tuple(replace(row, volume_id=merged_row.volume_id) for row in given_rows),
        is_subject_guessed=better_item.is_subject_guessed,
    )


def _full_path(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  (resolve would follow links out of the tree)
