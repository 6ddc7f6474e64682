"""What the actions of a log amount to: of each volume and reader a label, how it came to be, and
what can be undone.

    mode   "open": the reader saw the prediction and what others read;  "blind": neither;  "third":
           two readings that differ, to settle them
    mark   "" while it is worked on, "done", "skipped", or "aside": it cannot be labelled

The label of a volume is settled if all independent readings agree.  Independent are each blind one,
and the latest of all others together (of labels that were there at the start, and of readers who
saw them).  Where they differ, a third reading settles it, and until then there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.label.law import Extents, LabelGrid, RegionExtent, extents_of
from fovnet.regions import Vocabulary
from fovnet.volume.collection.table_rows import RegionRow

DONE_MARK = "done"
SKIPPED_MARK = "skipped"
ASIDE_MARK = "aside"
OPEN_MODE = "open"
BLIND_MODE = "blind"
THIRD_MODE = "third"
LOOK_ACTION = "shown"
UNDO_ACTION = "undo"
REDO_ACTION = "redo"
GIVE_ACTION = "given"
CHANGING_ACTIONS = ("edit", DONE_MARK, SKIPPED_MARK, ASIDE_MARK, "comment")
GIVEN_READER = "(given)"
"""The reader of labels that were there at the start; no reader can have this name."""
HOLD_SECONDS = 900.0
"""So long a volume that a session looks at is not given to another."""


@dataclass(frozen=True)
class LabelState:
    """A label at one moment.

    extents          its regions, each from its first to its last slice
    mark             "" while it is worked on, DONE_MARK, SKIPPED_MARK or ASIDE_MARK
    comment          of the reader, or why the volume cannot be labelled
    mode             of the reading: OPEN_MODE, BLIND_MODE or THIRD_MODE
    time_s           when, in seconds since 1970
    reading_seconds  from its being shown to its being marked
    action_count     of the reader, from its being shown to its being marked
    is_read          whether the regions are the reader's: one that was only skipped or commented on
                     has none yet, and still begins with what is predicted
    checksum         SHA-256 of what the reader saw; "" of labels that a volume came with
    """

    extents: Extents = ()
    mark: str = ""
    comment: str = ""
    mode: str = OPEN_MODE
    time_s: float = 0.0
    reading_seconds: float = 0.0
    action_count: int = 0
    is_read: bool = False
    checksum: str = ""

    def is_of_file(self, checksum: str) -> bool:
        """Whether its regions are of the file that has this checksum, as far as is known."""
        return not self.is_read or self.checksum in ("", checksum)

    @property
    def is_final(self) -> bool:
        """Whether the reader has decided on it: labelled, or not to be labelled."""
        return self.mark in (DONE_MARK, ASIDE_MARK)


@dataclass
class VolumeReading:
    """What one reader made of one volume: the present label, those before it, and those undone.  A
    state of None is one before anything was done."""

    state: LabelState | None = None
    past_states: list[LabelState | None] = field(default_factory=list)
    undone_states: list[LabelState | None] = field(default_factory=list)


@dataclass
class VolumeRecord:
    """All that is known of one volume from the log.

    reading_by_reader         what each reader made of it
    grid                      its slices; None where nobody has seen it
    given_rows                the rows of regions.tsv that it came with
    revision                  the number of changes that readers who are not blind see
    revision_by_blind_reader  the number of changes of each blind reader
    checksum                  SHA-256 of the file as it is now, where it was looked at; labels of
                              another file do not count
    """

    reading_by_reader: dict[str, VolumeReading] = field(default_factory=dict)
    grid: LabelGrid | None = None
    given_rows: tuple[RegionRow, ...] = ()
    revision: int = 0
    revision_by_blind_reader: dict[str, int] = field(default_factory=dict)
    checksum: str = ""

    def states_of_present_file(self) -> dict[str, LabelState]:
        """The readings of the file as it is now, by reader."""
        states = {reader: reading.state for reader, reading in self.reading_by_reader.items()}
        return {
            reader: state
            for reader, state in states.items()
            if state is not None and (not self.checksum or state.is_of_file(self.checksum))
        }

    def final_states(self) -> dict[str, LabelState]:
        """The readings of the file as it is now that are finished, by reader."""
        return {
            reader: state
            for reader, state in self.states_of_present_file().items()
            if state.is_final
        }


class Hold(NamedTuple):
    """A volume that a session of a reader looks at, since when."""

    volume_id: str
    reader: str
    since_s: float


class Viewing(NamedTuple):
    """Since when a session looks at a volume, and how many actions it has done on it."""

    since_s: float
    action_count: int


class ReadingBook:
    """The readings of all volumes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.record_by_volume_id: dict[str, VolumeRecord] = {}
        self.hold_by_session: dict[str, Hold] = {}  # what each session looks at
        self._viewing_by_session_and_volume: dict[tuple[str, str], Viewing] = {}

    def record(self, volume_id: str) -> VolumeRecord:
        """What is known of a volume; an empty record of one that nobody has seen."""
        return self.record_by_volume_id.setdefault(volume_id, VolumeRecord())

    def revision(self, volume_id: str, reader: str, mode: str) -> int:
        """The number of changes to a volume that this reader can see: of a blind one, the own."""
        record = self.record(volume_id)
        if mode == BLIND_MODE:
            return record.revision_by_blind_reader.get(reader, 0)
        return record.revision

    def take_in_actions(self, actions: Iterable[Mapping[str, Any]]) -> set[str]:
        """Takes in actions as the log has them; returns the volumes that changed."""
        return {action["volume_id"] for action in actions if self._take_in_action(action)}

    def _take_in_action(self, action: Mapping[str, Any]) -> bool:
        """Takes in one action; returns whether it changed a label."""
        volume_id = action["volume_id"]
        reader = action["reader"]
        session = action["session"]
        record = self.record(volume_id)
        action_time_s = datetime.fromisoformat(action["time"]).timestamp()
        if "grid" in action:
            self.set_grid(volume_id, LabelGrid(**action["grid"]))
        if action["act"] == GIVE_ACTION:
            record.given_rows = tuple(
                RegionRow(volume_id, *row_cells) for row_cells in action["rows"]
            )
            extents = extents_of(record.given_rows, record.grid, self.vocabulary)
            mark = DONE_MARK
            if any(row.region not in self.vocabulary.classes for row in record.given_rows):
                # a whole region, whose parts are to be labelled here
                mark = ""
            record.reading_by_reader[GIVEN_READER] = VolumeReading(
                LabelState(extents, mark, time_s=action_time_s, is_read=True)
            )
            return True
        if action["act"] == LOOK_ACTION:
            self.hold_by_session[session] = Hold(volume_id, reader, action_time_s)
            self._viewing_by_session_and_volume[session, volume_id] = Viewing(
                action_time_s, action_count=0
            )
            return False
        reading = record.reading_by_reader.setdefault(reader, VolumeReading())
        self._apply_change(reading, action, action_time_s)
        if action["mode"] == BLIND_MODE:
            record.revision_by_blind_reader[reader] = (
                record.revision_by_blind_reader.get(reader, 0) + 1
            )
        else:
            record.revision += 1
        return True

    def set_grid(self, volume_id: str, grid: LabelGrid) -> None:
        """Takes in the grid of a volume; labels in millimetres that it came with are known from
        then on."""
        record = self.record(volume_id)
        if record.grid != grid:
            record.grid = grid
            given_reading = record.reading_by_reader.get(GIVEN_READER)
            if given_reading is not None and given_reading.state is not None:
                given_reading.state = replace(
                    given_reading.state,
                    extents=extents_of(record.given_rows, grid, self.vocabulary),
                )

    def _apply_change(
        self, reading: VolumeReading, action: Mapping[str, Any], time_s: float
    ) -> None:
        """Undoes or redoes the last change of a reading, or makes a new one."""
        if action["act"] == UNDO_ACTION:
            if reading.past_states:
                reading.undone_states.append(reading.state)
                reading.state = reading.past_states.pop()
            return
        if action["act"] == REDO_ACTION:
            if reading.undone_states:
                reading.past_states.append(reading.state)
                reading.state = reading.undone_states.pop()
            return
        session_and_volume = (action["session"], action["volume_id"])
        viewing = self._viewing_by_session_and_volume.get(
            session_and_volume, Viewing(time_s, action_count=0)
        )
        viewing = viewing._replace(action_count=viewing.action_count + 1)
        self._viewing_by_session_and_volume[session_and_volume] = viewing
        reading.past_states.append(reading.state)
        reading.undone_states.clear()
        reading.state = _state_after_action(
            reading.state or LabelState(),
            action,
            time_s,
            reading_seconds=time_s - viewing.since_s,
            action_count=viewing.action_count,
        )


def _state_after_action(
    state: LabelState,
    action: Mapping[str, Any],
    time_s: float,
    *,
    reading_seconds: float,
    action_count: int,
) -> LabelState:
    """The state after an action that changes it."""
    action_kind = action["act"]
    changed_state = replace(state, mode=action["mode"], time_s=time_s)
    if "extents" in action:
        extents = tuple(RegionExtent(*extent) for extent in action["extents"])
        changed_state = replace(
            changed_state, extents=extents, is_read=True, checksum=action.get("checksum", "")
        )
    if "words" in action:
        changed_state = replace(changed_state, comment=action["words"])
    if action_kind in (DONE_MARK, SKIPPED_MARK, ASIDE_MARK):
        changed_state = replace(changed_state, mark=action_kind)
        if not state.is_final:
            changed_state = replace(
                changed_state, reading_seconds=reading_seconds, action_count=action_count
            )
    return changed_state


def independent_readings(final_states: Mapping[str, LabelState]) -> dict[str, LabelState]:
    """Of the finished readings, by reader, those that count for themselves: each blind one, and the
    latest of the open ones; third readings are none of them."""
    blind_states = {
        reader: state for reader, state in final_states.items() if state.mode == BLIND_MODE
    }
    open_states = {
        reader: state for reader, state in final_states.items() if state.mode == OPEN_MODE
    }
    latest_reader = max(open_states, key=lambda reader: open_states[reader].time_s, default=None)
    if latest_reader is None:
        return blind_states
    return {latest_reader: open_states[latest_reader]} | blind_states


def settled_label(record: VolumeRecord) -> LabelState | None:
    """The label of a volume that all independent readings, or a third one, agree on; None if there
    is no reading yet, or they differ."""
    final_states_by_reader = record.final_states()
    third_states = [state for state in final_states_by_reader.values() if state.mode == THIRD_MODE]
    if third_states:
        return max(third_states, key=lambda state: state.time_s)
    independent_states = [*independent_readings(final_states_by_reader).values()]
    if not independent_states:
        return None
    first_state, *other_states = independent_states
    if any(describe_differences(first_state, state, record.grid) for state in other_states):
        return None
    return first_state


def is_disputed(record: VolumeRecord) -> bool:
    """Whether independent readings differ and no third one has settled it."""
    return len(independent_readings(record.final_states())) > 1 and settled_label(record) is None


def describe_differences(
    first_state: LabelState, second_state: LabelState, grid: LabelGrid | None
) -> list[str]:
    """What two readings differ on, in sentences: whether it can be labelled, a region, an end of
    one by more than AGREEMENT_MM."""
    if first_state.mark != second_state.mark:
        return ["only one of the two holds that it can be labelled"]
    if first_state.mark == ASIDE_MARK:
        return []
    first_extent_by_region = {extent.region: extent for extent in first_state.extents}
    second_extent_by_region = {extent.region: extent for extent in second_state.extents}
    difference_sentences = [
        f"{region} in one reading only"
        for region in first_extent_by_region.keys() ^ second_extent_by_region.keys()
    ]
    step_mm = grid.step_mm if grid else 1.0
    for region, first_extent in first_extent_by_region.items():
        if region not in second_extent_by_region:
            continue
        for end_name, slices_apart in _slices_apart_by_end(
            first_extent, second_extent_by_region[region]
        ):
            if slices_apart * step_mm > AGREEMENT_MM:
                difference_sentences.append(
                    f"{end_name} of {region}: {slices_apart * step_mm:.0f} mm apart"
                )
    return difference_sentences


def _slices_apart_by_end(first: RegionExtent, second: RegionExtent) -> Sequence[tuple[str, int]]:
    """(name of the end, slices apart) of the lower and of the upper end."""
    return (
        ("lower end", abs(first.first_slice - second.first_slice)),
        ("upper end", abs(first.last_slice - second.last_slice)),
    )
