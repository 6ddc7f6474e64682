"""What a Spend is told, and what it answers: it knows slots, rungs and scores, but no space.

A slot has seen another as by the virtual clock; what it has not seen is pending, with an unknown score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fovnet.search.spend.schedule import Schedule
from fovnet.search.trial import Proposal


@dataclass(frozen=True)
class Entry:
    """One earlier slot: its row and rung, whether it was seen, and its score, None if it failed or was not
    seen."""

    slot: int
    row: int
    bracket: int
    rung: int
    continues: int | None
    seen: bool
    score: float | None


class Begin(NamedTuple):
    """Begin a configuration that the Look chooses, in a bracket, up to the epochs of a rung.

    stopped  earlier slots whose rows the Look may choose as well: then that training goes on to the rung
    """

    bracket: int
    rung: int
    stopped: Sequence[Entry] = ()


class GoOn(NamedTuple):
    """Go on with the training of an earlier slot, up to the epochs of a higher rung."""

    slot: int
    bracket: int
    rung: int


@dataclass(frozen=True, eq=False)
class Book:
    """The earlier slots, in their order, and whether any row is left that was never begun."""

    schedule: Schedule
    entries: tuple[Entry, ...]
    free: bool

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        earlier: Iterable[Proposal],
        scores: Mapping[int, float | None],
        *,
        free: bool,
    ) -> Book:
        """The book of all earlier proposals; `scores` has those of the seen slots."""
        entries = (
            Entry(
                one.slot,
                one.row,
                one.bracket,
                one.rung,
                one.continues,
                one.slot in scores,
                scores.get(one.slot),
            )
            for one in earlier
        )
        return cls(schedule, tuple(entries), free)

    @cached_property
    def gone_on(self) -> frozenset[int]:
        """The slots that another continues."""
        return frozenset(entry.continues for entry in self.entries if entry.continues is not None)

    @cached_property
    def rungs(self) -> Mapping[tuple[int, int], Sequence[Entry]]:
        """The slots of each (bracket, rung), in their order."""
        sorted_in: dict[tuple[int, int], list[Entry]] = {}
        for entry in self.entries:
            sorted_in.setdefault((entry.bracket, entry.rung), []).append(entry)
        return sorted_in

    @property
    def newest(self) -> int:
        """The newest bracket, -1 before the first slot."""
        return max((entry.bracket for entry in self.entries), default=-1)

    @cached_property
    def paused(self) -> Sequence[Entry]:
        """Seen and scored slots below the last rung with which nothing goes on."""
        last, gone_on = self.schedule.last, self.gone_on
        return [
            one
            for one in self.entries
            if one.score is not None and one.rung < last and one.slot not in gone_on
        ]


Move = Begin | GoOn
Spend = Callable[[Book], Move | None]
"""How much to spend on the next slot; None where nothing is left to do.  A pure function."""


def best_of(entries: Iterable[Entry]) -> list[Entry]:
    """The scored ones, best first, ties by slot."""
    scored = [(entry.score, entry.slot, entry) for entry in entries if entry.score is not None]
    return [entry for *_, entry in sorted(scored, key=lambda each: each[:2])]
