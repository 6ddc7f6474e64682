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
    """One earlier slot.

    row, bracket, rung  those of its proposal
    continued_slot  the earlier slot whose training it continues; None if it begins a row
    is_seen         whether it has been seen finished
    score           None if it failed or was not seen
    """

    slot: int
    row: int
    bracket: int
    rung: int
    continued_slot: int | None
    is_seen: bool
    score: float | None


class Begin(NamedTuple):
    """Begin a configuration that the Look chooses, in a bracket, up to the epochs of a rung.

    stopped_entries  earlier slots whose rows the Look may choose as well: then that training goes
                     on to the rung, or if it has reached it, to the next
    least_rung       scores from below say nothing: the Look does not see them
    """

    bracket: int
    rung: int
    stopped_entries: Sequence[LedgerEntry] = ()
    least_rung: int = 0


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
    has_free_rows: bool

    @classmethod
    def of(
        cls,
        schedule: Schedule,
        earlier: Iterable[Proposal],
        score_by_slot: Mapping[int, float | None],
        *,
        has_free_rows: bool,
    ) -> Ledger:
        """The ledger of all earlier proposals; score_by_slot has the seen slots."""
        entries = (
            LedgerEntry(
                proposal.slot,
                proposal.row,
                proposal.bracket,
                proposal.rung,
                proposal.continued_slot,
                is_seen=proposal.slot in score_by_slot,
                score=score_by_slot.get(proposal.slot),
            )
            for proposal in earlier
        )
        return cls(schedule, tuple(entries), has_free_rows)

    @cached_property
    def continued_slots(self) -> frozenset[int]:
        """The slots that another continues."""
        return frozenset(
            entry.continued_slot for entry in self.entries if entry.continued_slot is not None
        )

    @cached_property
    def entries_by_rung(self) -> Mapping[tuple[int, int], Sequence[LedgerEntry]]:
        """{(bracket, rung): its slots, in their order}."""
        entries_by_rung: dict[tuple[int, int], list[LedgerEntry]] = {}
        for entry in self.entries:
            entries_by_rung.setdefault((entry.bracket, entry.rung), []).append(entry)
        return entries_by_rung

    def entries_on(self, rung: int) -> list[LedgerEntry]:
        """The slots on a rung, of all brackets, in their order."""
        return [entry for entry in self.entries if entry.rung == rung]

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
            and entry.rung < self.schedule.last_rung
            and entry.slot not in self.continued_slots
        ]


Move = Begin | GoOn
Spend = Callable[[Ledger], Move | None]
"""How much to spend on the next slot; None where nothing is left to do.  A pure function."""


def sort_best_first(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """The entries with a score, best first, ties by slot."""
    scored_entries = [
        (entry.score, entry.slot, entry) for entry in entries if entry.score is not None
    ]
    scored_entries.sort(key=lambda score_slot_entry: score_slot_entry[:2])
    return [entry for _, _, entry in scored_entries]
