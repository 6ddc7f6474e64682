"""How far the readers of a labelling agree: agreement.tsv, in figures, and differences.tsv, volume
by volume.

Compared are independent readings (`readings.independent_readings`): those begun from nothing, and
that of the readers who saw the prediction, which counts as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from fovnet.errors import CollectionError
from fovnet.evaluate.measures import Measure
from fovnet.evaluate.readers import ReadingPair, measure_agreement, write_agreement
from fovnet.label.law import LabelGrid, class_mask
from fovnet.label.log import LOG_FILE_NAME, Log
from fovnet.label.present import checksum_if_replaced
from fovnet.label.readings import (
    DONE_MARK,
    LabelState,
    ReadingBook,
    describe_differences,
    independent_readings,
    settled_label,
)
from fovnet.label.starts import LabelItem
from fovnet.records import why_no_folder, write_tsv
from fovnet.regions import Vocabulary
from fovnet.volume.collection.table_rows import VolumeRow
from fovnet.volume.collection.tables import read_collection
from fovnet.words import yes_or_no

DIFFERENCE_COLUMNS = ("volume_id", "first", "second", "what", "settled")


@dataclass(frozen=True)
class ReaderComparison:
    """How far the readers of a labelling agree.

    measures_by_readers      of each pair of readers, by their two names
    volume_count_by_readers  how many volumes both have labelled
    difference_rows          rows of differences.tsv, one for each volume that two readers see
                             differently
    replaced_volume_ids      volumes of which labels do not count: they are of an earlier file
    """

    measures_by_readers: Mapping[tuple[str, str], Sequence[Measure]]
    volume_count_by_readers: Mapping[tuple[str, str], int]
    difference_rows: Sequence[Mapping[str, str]]
    replaced_volume_ids: Sequence[str] = ()


def compare_readers(out: Path, vocabulary: Vocabulary) -> ReaderComparison:
    """The agreement of the readers of a labelling; writes agreement.tsv and differences.tsv.

    Raises CollectionError "label-none" if there is no log of one, "label-one-reader" if no volume
    was read twice.
    """
    _refuse_without_log(out)
    book = _book_from_log(out, vocabulary)
    collection = read_collection(out, vocabulary)
    reading_pairs_by_readers: dict[tuple[str, str], list[ReadingPair]] = {}
    difference_rows = []
    replaced_volume_ids = []
    for volume_row in collection.volume_rows:
        record = book.record(volume_row.volume_id)
        record.checksum = checksum_if_replaced(LabelItem(volume_row), record)
        if record.checksum:
            replaced_volume_ids.append(volume_row.volume_id)
        state_by_reader = sorted(independent_readings(record.final_states()).items())
        for (first_reader, first_state), (second_reader, second_state) in combinations(
            state_by_reader, 2
        ):
            pairs_of_readers = reading_pairs_by_readers.setdefault(
                (first_reader, second_reader), []
            )
            if record.grid and first_state.mark == second_state.mark == DONE_MARK:
                pairs_of_readers.append(
                    _masks_of_readings(
                        volume_row, first_state, second_state, record.grid, vocabulary
                    )
                )
            difference_sentences = describe_differences(first_state, second_state, record.grid)
            if difference_sentences:
                difference_rows.append(
                    {
                        "volume_id": volume_row.volume_id,
                        "first": first_reader,
                        "second": second_reader,
                        "what": "; ".join(difference_sentences),
                        "settled": yes_or_no(settled_label(record) is not None),
                    }
                )
    if not reading_pairs_by_readers:
        raise _refusal_of_one_reading(out)
    measures_by_readers = {
        reader_names: measure_agreement(reading_pairs, vocabulary)
        for reader_names, reading_pairs in reading_pairs_by_readers.items()
    }
    write_agreement(out, measures_by_readers)
    write_tsv(out / "differences.tsv", DIFFERENCE_COLUMNS, difference_rows)
    volume_count_by_readers = {
        reader_names: len(reading_pairs)
        for reader_names, reading_pairs in reading_pairs_by_readers.items()
    }
    return ReaderComparison(
        measures_by_readers, volume_count_by_readers, difference_rows, replaced_volume_ids
    )


def _refuse_without_log(out: Path) -> None:
    """Raises CollectionError "label-none" for a folder that is of no labelling."""
    if not (out / LOG_FILE_NAME).exists():
        reason = why_no_folder(out) or f"no {LOG_FILE_NAME} in it"
        raise CollectionError(
            "label-none",
            f"{out}: {reason}; give the folder that `fovnet label --out` wrote",
        )


def refuse_single_readings(out: Path, vocabulary: Vocabulary) -> None:
    """Raise CollectionError "label-one-reader" unless a volume was read twice; nothing is written."""
    if (out / LOG_FILE_NAME).exists():
        records = _book_from_log(out, vocabulary).record_by_volume_id.values()
        if any(len(independent_readings(record.final_states())) > 1 for record in records):
            return
    raise _refusal_of_one_reading(out)


def _refusal_of_one_reading(out: Path) -> CollectionError:
    return CollectionError(
        "label-one-reader",
        f"{out}: no volume was read twice; let a second reader read some: `fovnet label ... "
        "--reader NAME --blind`",
    )


def _book_from_log(out: Path, vocabulary: Vocabulary) -> ReadingBook:
    """What the log of a labelling holds."""
    book = ReadingBook(vocabulary)
    with closing(Log(out / LOG_FILE_NAME, [*vocabulary.classes])) as log, log.lock():
        book.take_in_actions(log.read_new_actions())
    return book


def _masks_of_readings(
    volume_row: VolumeRow,
    first_state: LabelState,
    second_state: LabelState,
    grid: LabelGrid,
    vocabulary: Vocabulary,
) -> ReadingPair:
    """The masks of one volume by two readers, with the edges of its slices in mm."""
    first_mask, second_mask = (
        class_mask(state.extents, grid.slices, vocabulary) for state in (first_state, second_state)
    )
    edges_mm = grid.bottom_mm + grid.step_mm * np.arange(grid.slices + 1, dtype=np.float64)
    return ReadingPair(
        volume_row.volume_id, volume_row.subject_id, first_mask, second_mask, edges_mm
    )
