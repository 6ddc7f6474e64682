"""The virtual clock: what a slot has seen depends on predicted, not on measured training times.

    W  workers       t  slots proposed so far, and the number of the next one

W virtual workers take the slots in order.  A slot starts at the earliest virtual time a worker is
free, has seen every slot virtually finished by then, and knows the others as pending; with one
worker every slot sees all before it.  The real run waits when a training takes longer than
predicted, so that the same search makes the same proposals on any machine.

If trainings last between a second and an hour, the free workers would start dozens of short ones
while a long one, from which they might learn, is running.  So a slot also waits until all but a
share of the slots before it, `lead_share`, are finished, the earliest first: it then knows at least
what slot (1 - lead_share)·t of a search with one worker knows, and a search takes at most about
1 / (1 - lead_share) times as many trials.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LEAD = 0.15
"""The default: several workers then take at most about a sixth more trials than one (`fovnet bench
search --workers 4`)."""

MICROSECONDS = 1e6
"""In a second."""


class SlotsInSight(NamedTuple):
    """The slots that a slot has seen finished, and those it knows as pending, each ascending."""

    seen_slots: tuple[int, ...]
    pending_slots: tuple[int, ...]


@dataclass(frozen=True)
class Clock:
    """W workers, and how far they may run ahead of the results.

    initial_count  number of first slots, which use no scores and need not wait for any
    lead_share     in [0, 1]: 0 waits for all earlier slots, as one worker does; 1 waits for none
    """

    workers: int
    initial_count: int
    lead_share: float

    def slots_in_sight(self, predicted_seconds: Sequence[float]) -> SlotsInSight:
        """The slots that slot t has seen, and those that are pending, given the predicted seconds
        of slots 0..t-1.

        A slot that ends exactly when t starts is seen.  Time is counted in whole microseconds: sums
        are then exact, so that two workers free at the same time are so on every machine, whatever
        the order of addition.
        """
        slot_ends, next_start = self._simulate(predicted_seconds)
        return SlotsInSight(
            seen_slots=tuple(slot for slot, end in enumerate(slot_ends) if end <= next_start),
            pending_slots=tuple(slot for slot, end in enumerate(slot_ends) if end > next_start),
        )

    def virtual_ends(self, predicted_seconds: Sequence[float]) -> tuple[float, ...]:
        """The virtual time in seconds at which each slot ends."""
        slot_ends, _ = self._simulate(predicted_seconds)
        return tuple(end / MICROSECONDS for end in slot_ends)

    def _simulate(self, predicted_seconds: Sequence[float]) -> tuple[list[int], int]:
        """(end of each slot, start of the next one), in virtual microseconds."""
        worker_free_at = [0] * self.workers  # a heap: its head is the first worker free
        slot_ends: list[int] = []
        first_ended = [0]  # first_ended[k]: when slots 0..k-1 are finished
        for slot, seconds in enumerate(predicted_seconds):
            start = max(worker_free_at[0], first_ended[self._awaited_count(slot)])
            end = start + max(1, round(seconds * MICROSECONDS))
            heapq.heapreplace(worker_free_at, end)
            slot_ends.append(end)
            first_ended.append(max(first_ended[-1], end))
        return slot_ends, max(worker_free_at[0], first_ended[self._awaited_count(len(slot_ends))])

    def _awaited_count(self, slot: int) -> int:
        """How many of the first slots must be finished before `slot` starts."""
        if slot < self.initial_count:
            return 0
        return slot - int(self.lead_share * slot)
