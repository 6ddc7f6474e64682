"""What the page asks of a labelling: the volumes one after another, actions on them, and how far it
is.

Every answer begins with what other processes have written meanwhile; every action is in the log
before it is answered, and in the tables as soon as these can be written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from fovnet.errors import CollectionError
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.slices import foremost_class
from fovnet.label.law import Extents, RegionExtent, class_mask, lawful_label, mend_label
from fovnet.label.log import LOG_FILE_NAME, Log
from fovnet.label.order import ORDER_BY_NAME
from fovnet.label.pictures import CUTS_PER_LINE, PictureStore, VolumeSheet
from fovnet.label.present import checksum_if_replaced
from fovnet.label.readings import (
    ASIDE_MARK,
    BLIND_MODE,
    CHANGING_ACTIONS,
    DONE_MARK,
    GIVE_ACTION,
    GIVEN_READER,
    HOLD_SECONDS,
    LOOK_ACTION,
    OPEN_MODE,
    REDO_ACTION,
    SKIPPED_MARK,
    THIRD_MODE,
    UNDO_ACTION,
    LabelState,
    ReadingBook,
    VolumeReading,
    VolumeRecord,
    independent_readings,
    is_disputed,
)
from fovnet.label.starts import LabelItem, VolumePrediction
from fovnet.label.tables import (
    TableLines,
    refuse_foreign_tables,
    table_lines_of,
    write_labels,
    write_volumes,
)
from fovnet.regions import LANDMARKS, MEANINGS, Vocabulary
from fovnet.volume.collection.tables import read_collection

SLICE_ERROR_RESAMPLES = 400  # computed anew after each volume
VOLUMES_READ_AHEAD = 4  # volumes read ahead of the one that is looked at
OTHER_FILE_PREDICTED_SENTENCE = (
    "this file is another than the one that was predicted, so no prediction is offered: give "
    "`fovnet predict` again"
)
NOTHING_OFFERED_SENTENCE = (
    "nothing is offered for this volume, as another file was predicted: add the regions that you "
    "see, or press 0 first if it shows none"
)
OTHER_FILE_LABELLED_SENTENCE = (
    "a label of this volume was made on another file than this one, and is not offered"
)


@dataclass(frozen=True)
class Action:
    """What a reader does to a volume.

    name      one of CHANGING_ACTIONS, "undo", "redo" or "shown"
    revision  of the volume as the page showed it
    extents   (region, first slice, last slice) of each region, where the action gives a label
    comment   of the reader, or why the volume cannot be labelled
    """

    name: str
    revision: int
    extents: tuple[tuple[str, int, int], ...] | None = None
    comment: str | None = None


class VolumeChanged(Exception):
    """Somebody else changed the volume since the page was shown it."""


class Desk:
    """One reader's work on the volumes of `out`, by one process; sessions are the windows of the
    browser.

    Raises CollectionError as `Log`, and "collection-exists" for tables that are not a labelling's.
    """

    def __init__(
        self,
        out: Path,
        items: Sequence[LabelItem],
        vocabulary: Vocabulary,
        *,
        reader: str,
        mode: str = OPEN_MODE,
        order: str = "teaching",
        seed: int = 0,
    ) -> None:
        refuse_foreign_tables(out)
        self.out = out
        self.vocabulary = vocabulary
        self.reader = reader
        self.mode = mode
        self.log = Log(out / LOG_FILE_NAME, [*vocabulary.classes])
        self.book = ReadingBook(vocabulary)
        self._lock = Lock()
        self._progress_by_volume_id: dict[str, VolumeProgress] = {}
        self._slice_error_measure: Measure | None = None
        # volumes whose labels are of a file that is another now
        self.volumes_of_replaced_files: list[str] = []
        # the last action of this process on each volume
        self._last_line_by_volume_id: dict[str, dict[str, Any]] = {}
        self.unwritten_reason = ""  # why the tables lag behind the log, in a sentence
        try:
            self._start_from_log(items)
        except BaseException:
            self.log.close()
            raise
        self.pictures = PictureStore([item.row.path for item in self.items])
        done_indices = [
            index
            for index, item in enumerate(self.items)
            if self._progress_by_volume_id[item.row.volume_id].is_done
        ]
        self._order_name = order
        if mode == BLIND_MODE:
            done_indices = []
        self.queue = ORDER_BY_NAME[order](self.items, seed, done_indices)

    def volume_facts(self, index: int) -> dict[str, Any]:
        """All that the page shows of a volume, without its pictures."""
        item = self.items[index]
        sheet = self.pictures.sheet_of(index)
        with self._lock, self.log.lock():
            self._take_in_new_actions()
            self._note_file_checksum(item.row.volume_id, sheet)
            if not sheet.fault:
                self.book.set_grid(item.row.volume_id, sheet.grid)
            return self._unchanging_facts(index, item, sheet) | self._changing_facts(index, sheet)

    def apply_action(self, session: str, index: int, action: Action) -> dict[str, Any]:
        """The volume after an action, how far all is, and the next volume.  An action that is sent
        again, as its answer did not arrive, is not done twice.

        Raises VolumeChanged if somebody else changed the volume, CollectionError "label-unlawful"
        for a label that is none, "label-action" for an action that is none, and for one that
        settles without a region what was offered none because another file was predicted.
        """
        item = self.items[index]
        sheet = self.pictures.sheet_of(index)
        log_line = self._log_line(session, item.row.volume_id, action, sheet)
        with self._lock, self.log.lock():
            self._take_in_new_actions()
            self._note_file_checksum(item.row.volume_id, sheet)
            if action.name == DONE_MARK and not action.extents and self._is_unoffered(item, sheet):
                raise CollectionError("label-action", NOTHING_OFFERED_SENTENCE)
            if action.name == LOOK_ACTION or not self._is_repeated(log_line, action):
                self._append_to_log(log_line, action)
            if action.name != LOOK_ACTION:
                self._write_when_possible()
            page_facts = self._changing_facts(index, sheet)
            if action.name != LOOK_ACTION:
                page_facts["progress"] = self._known_progress_facts()
            page_facts["next"] = self._next_index(session, index)
        # another action is answered before the processor is needed for this
        if action.name == LOOK_ACTION:
            self._read_ahead(session, index)
        return page_facts

    def find_next(self, session: str, previous_index: int | None) -> int | None:
        """The index of the volume that this window looks at next, other than `previous_index`; None
        if there is none left."""
        with self._lock, self.log.lock():
            self._take_in_new_actions()
            next_index = self._next_index(session, previous_index)
        if next_index is not None:
            self.pictures.read_ahead(next_index)
        return next_index

    def progress_facts(self) -> dict[str, Any]:
        """How many volumes are done, by whom, how wrong the networks were on them, and why the
        tables lag behind, if they do."""
        with self._lock, self.log.lock():
            self._take_in_new_actions()
            if self.unwritten_reason:
                self._write_when_possible()
            return self._known_progress_facts()

    def list_volumes(self) -> list[tuple[int, str, str]]:
        """Every volume in the order of the queue: its index, its name, and "done", "skipped" or
        "left"."""
        with self._lock, self.log.lock():
            self._take_in_new_actions()
            index_with_id = ((index, self.items[index].row.volume_id) for index in self.queue)
            return [
                (index, volume_id, self._progress_by_volume_id[volume_id].state_in_a_word)
                for index, volume_id in index_with_id
            ]

    def revision(self, index: int) -> int:
        """How often a volume was changed, as far as this reader may see."""
        return self.book.revision(self.items[index].row.volume_id, self.reader, self.mode)

    def close(self) -> None:
        """Stops reading ahead and closes the log."""
        self.pictures.close()
        self.log.close()

    def _start_from_log(self, items: Sequence[LabelItem]) -> None:
        """Takes in what the log holds and what is new at this start, and writes the tables."""
        with self.log.lock():
            self.book.take_in_actions(self.log.read_new_actions())
            # without the windows of this reader's server that has ended
            self.book.hold_by_session = {
                session: hold
                for session, hold in self.book.hold_by_session.items()
                if hold.reader != self.reader
            }
            self.items = self._items_with_earlier(items)
            self._index_by_volume_id = {
                item.row.volume_id: index for index, item in enumerate(self.items)
            }
            self._log_given_labels()
            self._set_aside_other_files()
            write_volumes(self.out, self.items)
            self._update_progress({item.row.volume_id for item in self.items})
            self._write_label_tables()

    def _items_with_earlier(self, items: Sequence[LabelItem]) -> list[LabelItem]:
        """The items, and the volumes of earlier starts; subjects and attributes as the table in
        `out` has them, which may be corrected by hand."""
        if not (self.out / "volumes.tsv").exists():
            return [*items]
        table_row_by_id = {
            table_row.volume_id: table_row
            for table_row in read_collection(self.out, self.vocabulary).volume_rows
        }
        all_items = []
        for item in items:
            table_row = table_row_by_id.pop(item.row.volume_id, None)
            if table_row is not None and table_row.path.absolute() != item.row.path:
                raise CollectionError(
                    "label-same-name",
                    f"{table_row.volume_id}: the name of {table_row.path} in {self.out}, and of "
                    f"{item.row.path}; give these volumes an --out of their own",
                )
            if table_row is None:
                all_items.append(item)
            else:
                row_as_in_table = replace(table_row, path=item.row.path)
                all_items.append(replace(item, row=row_as_in_table, is_subject_guessed=False))
        return all_items + [
            LabelItem(replace(table_row, path=table_row.path.absolute()))
            for table_row in table_row_by_id.values()
        ]

    def _log_given_labels(self) -> None:
        """Writes labels that volumes came with into the log, unless it has them."""
        for item in self.items:
            if (
                item.given_rows
                and item.given_rows != self.book.record(item.row.volume_id).given_rows
            ):
                log_line = self._log_line_head("", item.row.volume_id, GIVE_ACTION) | {
                    "reader": GIVEN_READER
                }
                log_line["rows"] = [
                    [row.region, row.range_start, row.range_end, row.in_mm]
                    for row in item.given_rows
                ]
                if item.prediction and item.prediction.grid:
                    log_line["grid"] = asdict(item.prediction.grid)
                self.log.append(log_line)
        self.book.take_in_actions(self.log.read_new_actions())

    def _set_aside_other_files(self) -> None:
        """Labels of a file that another has replaced since do not count."""
        for item in self.items:
            record = self.book.record(item.row.volume_id)
            record.checksum = checksum_if_replaced(item, record)
            if record.checksum:
                self.volumes_of_replaced_files.append(item.row.volume_id)

    def _note_file_checksum(self, volume_id: str, sheet: VolumeSheet) -> None:
        """Sets the checksum of the volume's file as it is now; labels of another file no longer
        count."""
        record = self.book.record(volume_id)
        if not sheet.fault and record.checksum != sheet.checksum:
            record.checksum = sheet.checksum
            self._update_progress({volume_id})

    def _log_line_head(self, session: str, volume_id: str, act: str) -> dict[str, Any]:
        """What every line of the log begins with: time, reader, session, mode, volume and
        action."""
        return {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "reader": self.reader,
            "session": session,
            "mode": self.mode,
            "volume_id": volume_id,
            "act": act,
        }

    def _take_in_new_actions(self) -> None:
        self._update_progress(self.book.take_in_actions(self.log.read_new_actions()))

    def _update_progress(self, changed_ids: Set[str]) -> None:
        """Works out anew how far the changed volumes are; of thousands a few change."""
        for volume_id in changed_ids & self._index_by_volume_id.keys():
            item = self.items[self._index_by_volume_id[volume_id]]
            record = self.book.record(volume_id)
            finished_readers = [
                reader for reader in record.final_states() if reader != GIVEN_READER
            ]
            wrong_and_all_slices = None
            if self.mode != BLIND_MODE:
                wrong_and_all_slices = _count_wrong_slices(item, record, self.vocabulary)
            self._progress_by_volume_id[volume_id] = VolumeProgress(
                is_done=self._is_finished(record),
                is_skipped=self._is_skipped(record),
                finished_readers=tuple(finished_readers),
                wrong_and_all_slices=wrong_and_all_slices,
                table_lines=table_lines_of(self.out, item, self.book),
            )
        if changed_ids:
            subject_ids = [item.row.subject_id for item in self.items]
            self._slice_error_measure = _measure_slice_error(
                subject_ids,
                [self._progress_by_volume_id[item.row.volume_id] for item in self.items],
            )

    def _write_when_possible(self) -> None:
        """Writes the tables.  Where they cannot be written, the action is saved all the same, as it
        is in the log, from which they are made at the next action, the next look at the progress,
        or the next start."""
        try:
            self._write_label_tables()
            self.unwritten_reason = ""
        except OSError as fault:
            reason = f"{fault.filename or self.out}: {fault.strerror}"
            self.unwritten_reason = f"saved; the tables follow when there is room ({reason})"

    def _write_label_tables(self) -> None:
        write_labels(
            self.out,
            [self._progress_by_volume_id[item.row.volume_id].table_lines for item in self.items],
        )

    def _log_line(
        self, session: str, volume_id: str, action: Action, sheet: VolumeSheet
    ) -> dict[str, Any]:
        """An action as a line of the log, with the slices that the reader saw and the lawful label.
        Raises CollectionError "label-action" or "label-unlawful"."""
        _refuse_unknown_action(action)
        log_line = self._log_line_head(session, volume_id, action.name)
        if action.name in (LOOK_ACTION, DONE_MARK) and not sheet.fault:
            log_line["grid"] = asdict(sheet.grid)
        if action.extents is not None:
            label = lawful_label(
                (RegionExtent(*extent) for extent in action.extents),
                sheet.grid.slices,
                self.vocabulary,
            )
            log_line["extents"] = [list(extent) for extent in label]
            log_line["checksum"] = sheet.checksum
        if action.comment is not None:
            log_line["words"] = action.comment
        return log_line

    def _append_to_log(self, log_line: dict[str, Any], action: Action) -> None:
        """Puts an action into the log, and takes in what it changed.  Raises VolumeChanged."""
        if action.name != LOOK_ACTION:
            self._refuse_changed_volume(log_line["volume_id"], action)
            self._last_line_by_volume_id[log_line["volume_id"]] = log_line
        self.log.append(log_line)
        self._take_in_new_actions()

    def _is_repeated(self, log_line: dict[str, Any], action: Action) -> bool:
        """Whether the last change of a volume is this action, from the same window."""
        volume_id = log_line["volume_id"]
        last_log_line = self._last_line_by_volume_id.get(volume_id, {})
        is_next_revision = (
            self.book.revision(volume_id, self.reader, self.mode) == action.revision + 1
        )
        return is_next_revision and last_log_line | {"time": ""} == log_line | {"time": ""}

    def _refuse_changed_volume(self, volume_id: str, action: Action) -> None:
        if self.book.revision(volume_id, self.reader, self.mode) != action.revision:
            raise VolumeChanged

    def _is_finished(self, record: VolumeRecord) -> bool:
        """Whether nothing is left to do for this reader: in blind readings the own one counts."""
        if self.mode == THIRD_MODE:
            return not is_disputed(record)
        states = record.final_states()
        has_own_reading = self.reader in states
        return has_own_reading or (
            self.mode == OPEN_MODE and any(state.mode != BLIND_MODE for state in states.values())
        )

    def _is_skipped(self, record: VolumeRecord) -> bool:
        reading = record.reading_by_reader.get(self.reader)
        return (
            reading is not None and reading.state is not None and reading.state.mark == SKIPPED_MARK
        )

    def _next_index(self, session: str, previous_index: int | None) -> int | None:
        return next(iter(self._waiting_indices(session, previous_index)), None)

    def _waiting_indices(self, session: str, previous_index: int | None) -> Iterable[int]:
        """The indices of the volumes left, in the order of the queue, without those that another
        session holds; those that the reader skipped come last."""
        now_s = datetime.now(UTC).timestamp()
        held_ids = {
            hold.volume_id
            for holder, hold in self.book.hold_by_session.items()
            if holder != session and now_s - hold.since_s < HOLD_SECONDS
        }
        skipped_indices = []
        for index in self.queue:
            volume_id = self.items[index].row.volume_id
            if (
                index == previous_index
                or volume_id in held_ids
                or self._progress_by_volume_id[volume_id].is_done
            ):
                continue
            if self._progress_by_volume_id[volume_id].is_skipped:
                skipped_indices.append(index)
            else:
                yield index
        yield from skipped_indices

    def _read_ahead(self, session: str, index: int) -> None:
        with self._lock:
            indices = [index, *islice(self._waiting_indices(session, index), VOLUMES_READ_AHEAD)]
        self.pictures.read_ahead_only(indices)

    def _unchanging_facts(self, index: int, item: LabelItem, sheet: VolumeSheet) -> dict[str, Any]:
        """What the page shows of a volume and labelling does not change: its attributes,
        prediction, doubts, cuts and slices."""
        prediction = self._prediction_to_show(item, sheet)
        message = self._doubt_sentences(item, sheet)
        attributes = {} if self.mode == BLIND_MODE else dict(item.row.attributes)
        return {
            "index": index,
            "volume_id": item.row.volume_id,
            "subject_id": item.row.subject_id,
            "attributes": attributes,
            "message": message,
            "predicted": _as_lists(prediction.extents) if prediction else None,
            "fault": sheet.fault,
            "notes": sheet.notes,
            "cuts": sheet.cut_count,
            "across": CUTS_PER_LINE,
            "cut_of": sheet.cut_of_slice,
            "side_mm": sheet.cut_side_mm,
            "grid": asdict(sheet.grid),
        }

    def _prediction_to_show(self, item: LabelItem, sheet: VolumeSheet) -> VolumePrediction | None:
        """What is predicted of the file that is seen; blind, nothing."""
        prediction = item.prediction
        if self.mode == BLIND_MODE or prediction is None or prediction.checksum != sheet.checksum:
            return None
        return prediction

    def _is_unoffered(self, item: LabelItem, sheet: VolumeSheet) -> bool:
        """Whether the reader begins with an empty label only because another file was predicted,
        and has not said anything of this one: that is no label without regions."""
        if (
            self.mode == BLIND_MODE
            or item.prediction is None
            or self._prediction_to_show(item, sheet)
        ):
            return False
        record = self.book.record(item.row.volume_id)
        state = record.reading_by_reader.get(self.reader, VolumeReading()).state
        has_own_label = state is not None and state.is_read and state.is_of_file(sheet.checksum)
        return not has_own_label and not self._label_to_offer(
            item, self._visible_readings(record), sheet
        )

    def _doubt_sentences(self, item: LabelItem, sheet: VolumeSheet) -> str:
        """What is in doubt, in sentences: the file, where it is another than was predicted or
        labelled, and the prediction."""
        record = self.book.record(item.row.volume_id)
        prediction = self._prediction_to_show(item, sheet)
        doubt_sentences = []
        if self.mode != BLIND_MODE and item.prediction and not prediction and not sheet.fault:
            doubt_sentences.append(OTHER_FILE_PREDICTED_SENTENCE)
        seen_label_states = [
            reading.state
            for reader, reading in record.reading_by_reader.items()
            if self.mode != BLIND_MODE or reader == self.reader
        ]
        if not sheet.fault and any(
            label_state and not label_state.is_of_file(sheet.checksum)
            for label_state in seen_label_states
        ):
            doubt_sentences.append(OTHER_FILE_LABELLED_SENTENCE)
        if prediction and prediction.message:
            doubt_sentences.append(prediction.message)
        return "; ".join(doubt_sentences)

    def _changing_facts(self, index: int, sheet: VolumeSheet) -> dict[str, Any]:
        """What the page shows of a volume and labelling changes: the label, its mark and comment,
        the revision, whether it can be undone, and what others read."""
        item = self.items[index]
        record = self.book.record(item.row.volume_id)
        reading = record.reading_by_reader.get(self.reader, VolumeReading())
        other_states = self._visible_readings(record)
        offered_label = self._label_to_offer(item, other_states, sheet)
        own_state = reading.state or LabelState()
        shown_label = offered_label
        if own_state.is_read and own_state.is_of_file(sheet.checksum):
            shown_label = own_state.extents
        return {
            "extents": _as_lists(shown_label),
            "begun": _as_lists(offered_label),
            "mark": own_state.mark,
            "comment": own_state.comment,
            "revision": self.revision(index),
            "unoffered": self._is_unoffered(item, sheet),
            "undo": bool(reading.past_states),
            "redo": bool(reading.undone_states),
            "beside": [
                {
                    "reader": reader,
                    "mark": state.mark,
                    "comment": state.comment,
                    "extents": _as_lists(state.extents),
                }
                for reader, state in other_states.items()
            ],
        }

    def _visible_readings(self, record: VolumeRecord) -> dict[str, LabelState]:
        """The states of other readers that this one may see, by name: none if blind, those that are
        not blind if open, the two that differ, as "reading 1" and "reading 2", if third."""
        if self.mode == BLIND_MODE:
            return {}
        final_states_by_reader = record.final_states()
        if self.mode == THIRD_MODE:
            differing_readings = sorted(independent_readings(final_states_by_reader).items())
            return {
                f"reading {reading_number}": state
                for reading_number, (_, state) in enumerate(differing_readings, start=1)
            }
        return {
            reader: state
            for reader, state in final_states_by_reader.items()
            if reader != self.reader and state.mode != BLIND_MODE
        }

    def _label_to_offer(
        self, item: LabelItem, other_states: dict[str, LabelState], sheet: VolumeSheet
    ) -> Extents:
        """The extents to begin with: of the latest label that others finished, else of the
        prediction; none if blind."""
        finished_states = [
            state
            for state in other_states.values()
            if state.mark == DONE_MARK and state.is_of_file(sheet.checksum)
        ]
        if finished_states:
            return max(finished_states, key=lambda state: state.time_s).extents
        prediction = self._prediction_to_show(item, sheet)
        if prediction is None:
            return ()
        return mend_label(prediction.extents, sheet.grid.slices, self.vocabulary)

    def _known_progress_facts(self) -> dict[str, Any]:
        """How many volumes there are, are done and are left, who read how many, and the share of
        wrongly predicted slices, as the page is told."""
        volumes_progress = [*self._progress_by_volume_id.values()]
        volume_count_by_reader: Counter[str] = Counter()
        if self.mode != BLIND_MODE:
            volume_count_by_reader.update(
                reader for volume in volumes_progress for reader in volume.finished_readers
            )
        done_count = sum(volume.is_done for volume in volumes_progress)
        return {
            "volumes": len(volumes_progress),
            "done": done_count,
            "left": len(volumes_progress) - done_count,
            "readers": dict(sorted(volume_count_by_reader.items())),
            "wrong": asdict(self._slice_error_measure) if self._slice_error_measure else None,
            "is_random": self._order_name == "random",
            "unwritten": self.unwritten_reason,
        }


@dataclass(frozen=True)
class VolumeProgress:
    """How far one volume is.

    is_done               whether this reader is done with it
    is_skipped            whether this reader skipped it
    finished_readers      who finished it
    wrong_and_all_slices  how many of its slices were predicted wrongly, and how many it has; None
                          where it is not known
    table_lines           what the tables say of it
    """

    is_done: bool
    is_skipped: bool
    finished_readers: tuple[str, ...]
    wrong_and_all_slices: tuple[int, int] | None
    table_lines: TableLines

    @property
    def state_in_a_word(self) -> str:
        """How far it is: "done", "skipped" or "left"."""
        if self.is_done:
            return "done"
        return "skipped" if self.is_skipped else "left"


def _measure_slice_error(
    subject_of_volume: Sequence[str], volumes_progress: Sequence[VolumeProgress]
) -> Measure | None:
    """The share of slices on which the prediction is wrong, with its interval over people; None if
    nothing predicted is labelled."""
    subject_with_progress = zip(subject_of_volume, volumes_progress, strict=True)
    counts_of_volumes = [
        (subject, *volume.wrong_and_all_slices)
        for subject, volume in subject_with_progress
        if volume.wrong_and_all_slices
    ]
    if not counts_of_volumes:
        return None
    subject_ids, wrong_counts, slice_counts = zip(*counts_of_volumes, strict=True)
    resampling = Resampling(subject_ids, repeats=SLICE_ERROR_RESAMPLES, seed=0)
    return resampling.measure_rates(
        "slice_error", np.array(wrong_counts)[:, None], np.array(slice_counts)[:, None]
    )[0]


def _count_wrong_slices(
    item: LabelItem, record: VolumeRecord, vocabulary: Vocabulary
) -> tuple[int, int] | None:
    """(wrong slices, all slices) of the prediction by the latest finished label of a reader who saw
    it; None where there is no such label."""
    informed_labels = [
        label
        for reader, label in record.final_states().items()
        if label.mark == DONE_MARK
        and reader != GIVEN_READER
        and label.mode != BLIND_MODE
        and item.prediction
        and label.is_of_file(item.prediction.checksum)
    ]
    if not informed_labels or record.grid is None or item.prediction is None:
        return None
    latest_label = max(informed_labels, key=lambda label: label.time_s)
    slice_count = record.grid.slices
    predicted_mask = class_mask(
        mend_label(item.prediction.extents, slice_count, vocabulary), slice_count, vocabulary
    )
    true_mask = class_mask(latest_label.extents, slice_count, vocabulary)
    is_right = true_mask[np.arange(slice_count), foremost_class(predicted_mask, vocabulary)]
    return int((~is_right).sum()), slice_count


def region_facts(vocabulary: Vocabulary) -> dict[str, Any]:
    """What the page needs to know of the regions: names in order, colours, landmarks between
    neighbours, and what side regions mean."""
    chain = vocabulary.chain
    return {
        "chain": chain,
        "side": vocabulary.side_regions,
        "colours": {class_name: vocabulary.colour(class_name) for class_name in vocabulary.classes},
        "meanings": [MEANINGS.get(class_name, "") for class_name in vocabulary.side_regions],
        "landmarks": [LANDMARKS.get(neighbours, "") for neighbours in pairwise(chain)],
    }


def _as_lists(extents: Extents) -> list[list[Any]]:
    return [list(extent) for extent in extents]


def _refuse_unknown_action(action: Action) -> None:
    """Raise CollectionError "label-action" unless the page could have sent this."""
    if action.name not in (*CHANGING_ACTIONS, UNDO_ACTION, REDO_ACTION, LOOK_ACTION):
        raise CollectionError("label-action", f"{action.name!r}: no such action; reload the page")
    if action.name in ("edit", DONE_MARK) and action.extents is None:
        raise CollectionError("label-action", f"{action.name}: without a label; reload the page")
    if action.name == ASIDE_MARK and not (action.comment or "").strip():
        raise CollectionError("label-action", "not to be labelled: say why, in a few words")
