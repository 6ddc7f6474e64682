"""What the actions of a log amount to: of each volume and reader a label, how it came to be, and what can be
undone.

    mode   "open": the reader saw the prediction and what others read;  "blind": neither;  "third": two
           readings that differ, to settle them
    mark   "" while it is worked on, DONE, SKIPPED, or ASIDE: it cannot be labelled

The label of a volume is settled if all independent readings agree.  Independent are each blind one, and the
latest of all others together (of labels that were there at the start, and of readers who saw them).  Where
they differ, a third reading settles it, and until then there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.label.law import Extent, Extents, Grid, extents_of
from fovnet.regions import Vocabulary
from fovnet.volume.collection.table_rows import RegionRow

DONE, SKIPPED, ASIDE = "done", "skipped", "aside"
OPEN, BLIND, THIRD = "open", "blind", "third"
MODES = (OPEN, BLIND, THIRD)
SHOWN, UNDO, REDO, GIVE = "shown", "undo", "redo", "given"
CHANGES = ("edit", DONE, SKIPPED, ASIDE, "comment")
GIVEN = "(given)"
"""The reader of labels that were there at the start; no reader can have this name."""
HELD_S = 900.0
"""So long a volume that a session looks at is not given to another."""


@dataclass(frozen=True)
class State:
    """A label at one moment: its regions, its mark, the reader's comment or reason, and when; `seconds` and
    `actions` from its being shown to its being marked.

    is_read  whether the regions are the reader's: one that was only skipped or commented on has none yet,
             and still begins with what is predicted
    checksum  SHA-256 of what the reader saw; "" of labels that a volume came with
    """

    extents: Extents = ()
    mark: str = ""
    comment: str = ""
    mode: str = OPEN
    at: float = 0.0
    seconds: float = 0.0
    actions: int = 0
    is_read: bool = False
    checksum: str = ""

    def is_of(self, checksum: str) -> bool:
        """Whether its regions are of the file that has this checksum, as far as is known."""
        return not self.is_read or self.checksum in ("", checksum)

    @property
    def is_finished(self) -> bool:
        """Whether the reader has decided on it: labelled, or not to be labelled."""
        return self.mark in (DONE, ASIDE)


@dataclass
class Reading:
    """What one reader made of one volume: the present state, those before it, and those undone."""

    now: State | None = None
    past: list[State | None] = field(default_factory=list)
    future: list[State | None] = field(default_factory=list)


@dataclass
class Pages:
    """All that is known of one volume from the log: its readings by reader, its grid, the rows of regions.tsv
    it came with, the number of changes that open sessions see, and those of each blind reader.

    checksum  SHA-256 of the file as it is now, where it was looked at; labels of another file do not count
    """

    readings: dict[str, Reading] = field(default_factory=dict)
    grid: Grid | None = None
    given: tuple[RegionRow, ...] = ()
    revision: int = 0
    blind: dict[str, int] = field(default_factory=dict)
    checksum: str = ""

    def of_present_file(self) -> dict[str, State]:
        """The readings of the file as it is now, by reader."""
        states = {reader: one.now for reader, one in self.readings.items()}
        return {
            reader: now
            for reader, now in states.items()
            if now is not None and (not self.checksum or now.is_of(self.checksum))
        }

    def finished(self) -> dict[str, State]:
        """The readings of the file as it is now that are finished, by reader."""
        return {reader: now for reader, now in self.of_present_file().items() if now.is_finished}


class Held(NamedTuple):
    """A volume that a session of a reader looks at, since when."""

    volume_id: str
    reader: str
    since: float


class Book:
    """The readings of all volumes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.volumes: dict[str, Pages] = {}
        self.held: dict[str, Held] = {}  # what each session looks at
        self._shown: dict[tuple[str, str], tuple[float, int]] = {}

    def pages(self, volume_id: str) -> Pages:
        """What is known of a volume; empty pages of one that nobody has seen."""
        return self.volumes.setdefault(volume_id, Pages())

    def revision(self, volume_id: str, reader: str, mode: str) -> int:
        """The number of changes to a volume that this reader can see: of a blind one, the own."""
        pages = self.pages(volume_id)
        return pages.blind.get(reader, 0) if mode == BLIND else pages.revision

    def follow(self, actions: Iterable[Mapping[str, Any]]) -> set[str]:
        """Takes in actions as the log has them; returns the volumes that changed."""
        return {action["volume_id"] for action in actions if self._take(action)}

    def _take(self, action: Mapping[str, Any]) -> bool:
        """Takes in one action; whether it changed a label."""
        volume_id, reader, session = action["volume_id"], action["reader"], action["session"]
        pages, at = self.pages(volume_id), datetime.fromisoformat(action["time"]).timestamp()
        if "grid" in action:
            self.measure(volume_id, Grid(**action["grid"]))
        if action["act"] == GIVE:
            pages.given = tuple(RegionRow(volume_id, *row) for row in action["rows"])
            label = extents_of(pages.given, pages.grid, self.vocabulary)
            pages.readings[GIVEN] = Reading(State(label, DONE, at=at, is_read=True))
            return True
        if action["act"] == SHOWN:
            self.held[session], self._shown[session, volume_id] = (
                Held(volume_id, reader, at),
                (at, 0),
            )
            return False
        reading = pages.readings.setdefault(reader, Reading())
        self._change(reading, action, at)
        if action["mode"] == BLIND:
            pages.blind[reader] = pages.blind.get(reader, 0) + 1
        else:
            pages.revision += 1
        return True

    def measure(self, volume_id: str, grid: Grid) -> None:
        """Takes in the grid of a volume; labels in millimetres that it came with are known from then on."""
        pages = self.pages(volume_id)
        if pages.grid != grid:
            pages.grid, given = grid, pages.readings.get(GIVEN)
            if given is not None and given.now is not None:
                given.now = replace(
                    given.now, extents=extents_of(pages.given, grid, self.vocabulary)
                )

    def _change(self, reading: Reading, action: Mapping[str, Any], at: float) -> None:
        if action["act"] == UNDO:
            if reading.past:
                reading.future.append(reading.now)
                reading.now = reading.past.pop()
            return
        if action["act"] == REDO:
            if reading.future:
                reading.past.append(reading.now)
                reading.now = reading.future.pop()
            return
        shown, actions = self._shown.get((action["session"], action["volume_id"]), (at, 0))
        self._shown[action["session"], action["volume_id"]] = shown, actions + 1
        reading.past.append(reading.now)
        reading.future.clear()
        reading.now = _after(reading.now or State(), action, at, at - shown, actions + 1)


def _after(
    before: State, action: Mapping[str, Any], at: float, seconds: float, actions: int
) -> State:
    """The state after an action that changes it."""
    act = action["act"]
    changed = replace(before, mode=action["mode"], at=at)
    if "extents" in action:
        extents = tuple(Extent(*one) for one in action["extents"])
        changed = replace(
            changed, extents=extents, is_read=True, checksum=action.get("checksum", "")
        )
    if "words" in action:
        changed = replace(changed, comment=action["words"])
    if act in (DONE, SKIPPED, ASIDE):
        changed = replace(changed, mark=act)
        if not before.is_finished:
            changed = replace(changed, seconds=seconds, actions=actions)
    return changed


def independent(finished: Mapping[str, State]) -> dict[str, State]:
    """Of the finished readings those that count for themselves: each blind one, and the latest of the others;
    third readings are none of them."""
    blind = {reader: one for reader, one in finished.items() if one.mode == BLIND}
    others = {reader: one for reader, one in finished.items() if one.mode == OPEN}
    last = max(others, key=lambda reader: others[reader].at, default=None)
    return ({last: others[last]} if last is not None else {}) | blind


def settled(pages: Pages) -> State | None:
    """The label of a volume that all independent readings, or a third one, agree on; None if there is no
    reading yet, or they differ."""
    finished = pages.finished()
    third = [one for one in finished.values() if one.mode == THIRD]
    if third:
        return max(third, key=lambda one: one.at)
    readings = [*independent(finished).values()]
    differ = any(differences(readings[0], other, pages.grid) for other in readings[1:])
    return readings[0] if readings and not differ else None


def is_disputed(pages: Pages) -> bool:
    """Whether independent readings differ and no third one has settled it."""
    return len(independent(pages.finished())) > 1 and settled(pages) is None


def differences(first: State, second: State, grid: Grid | None) -> list[str]:
    """What two readings differ on, in sentences: whether it can be labelled, a region, an end of one by more
    than AGREEMENT_MM."""
    if first.mark != second.mark:
        return ["only one of the two holds that it can be labelled"]
    if first.mark == ASIDE:
        return []
    one, other = ({extent.region: extent for extent in state.extents} for state in (first, second))
    found = [f"{region} in one reading only" for region in one.keys() ^ other.keys()]
    step = grid.step_mm if grid else 1.0
    for region in (region for region in one if region in other):
        for end, apart in _apart(one[region], other[region]):
            if apart * step > AGREEMENT_MM:
                found.append(f"{end} of {region}: {apart * step:.0f} mm apart")
    return found


def _apart(one: Extent, other: Extent) -> Sequence[tuple[str, int]]:
    return ("lower end", abs(one.first - other.first)), ("upper end", abs(one.last - other.last))
