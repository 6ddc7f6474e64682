"""What a Spend is told, and what it answers: it knows slots, rungs and scores, but no space.

A slot has seen another as by the virtual clock; what it has not seen is pending, with an unknown
score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from fovnet.search.spend.schedule import Schedule
from fovnet.search.trial import Proposal


@dataclass(frozen=True)
class LedgerEntry:
    """One earlier slot: its row and rung, whether it was seen, and its score, None if it failed or
    was not seen."""

    slot: int
    row: int
    bracket: int
    rung: int
    continues: int | None
    is_seen: bool
    score: float | None


class Begin(NamedTuple):
    """Begin a configuration that the Look chooses, in a bracket, up to the epochs of a rung.

    stopped  earlier slots whose rows the Look may choose as well: then that training goes on to the
             rung
    """

    bracket: int
    rung: int
    stopped: Sequence[LedgerEntry] = ()


class GoOn(NamedTuple):
    """Go on with the training of an earlier slot, up to the epochs of a higher rung."""

    slot: int
    bracket: int
    rung: int


@dataclass(frozen=True, eq=False)
class Ledger:
    """The earlier slots, in their order, and whether any row is left that was never begun."""

    schedule: Schedule
    entries: tuple[LedgerEntry, ...]
    any_free: bool

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        earlier: Iterable[Proposal],
        score_by_slot: Mapping[int, float | None],
        *,
        any_free: bool,
    ) -> Ledger:
        """The ledger of all earlier proposals; score_by_slot has the seen slots."""
        entries = (
            LedgerEntry(
                proposal.slot,
                proposal.row,
                proposal.bracket,
                proposal.rung,
                proposal.continues,
                is_seen=proposal.slot in score_by_slot,
                score=score_by_slot.get(proposal.slot),
            )
            for proposal in earlier
        )
        return cls(schedule, tuple(entries), any_free)

    @cached_property
    def continued_slots(self) -> frozenset[int]:
        """The slots that another continues."""
        return frozenset(entry.continues for entry in self.entries if entry.continues is not None)

    @cached_property
    def rungs(self) -> Mapping[tuple[int, int], Sequence[LedgerEntry]]:
        """The slots of each (bracket, rung), in their order."""
        entries_by_rung: dict[tuple[int, int], list[LedgerEntry]] = {}
        for entry in self.entries:
            entries_by_rung.setdefault((entry.bracket, entry.rung), []).append(entry)
        return entries_by_rung

    @property
    def newest_bracket(self) -> int:
        """The newest bracket, -1 before the first slot."""
        return max((entry.bracket for entry in self.entries), default=-1)

    @cached_property
    def paused_entries(self) -> Sequence[LedgerEntry]:
        """Seen and scored slots below the last rung with which nothing goes on."""
        return [
            entry
            for entry in self.entries
            if entry.score is not None
            and entry.rung < self.schedule.last
            and entry.slot not in self.continued_slots
        ]


Move = Begin | GoOn
Spend = Callable[[Ledger], Move | None]
"""How much to spend on the next slot; None where nothing is left to do.  A pure function."""


def best_of(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """The entries with a score, best first, ties by slot."""
    scored_entries = [
        (entry.score, entry.slot, entry) for entry in entries if entry.score is not None
    ]
    return [
        entry
        for *_, entry in sorted(scored_entries, key=lambda score_slot_entry: score_slot_entry[:2])
    ]
