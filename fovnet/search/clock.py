"""The virtual clock: what a slot has seen depends on predicted, not on measured training times.

    W  workers       t  slots proposed so far, and the number of the next one

W virtual workers take the slots in order.  A slot starts at the earliest virtual time a worker is
free, has seen every slot virtually finished by then, and knows the others as pending; with one
worker every slot sees all before it.  The real run waits when a training takes longer than
predicted, so that the same search makes the same proposals on any machine.

If trainings last between a second and an hour, the free workers would start dozens of short ones
while a long one, from which they might learn, is running.  So a slot also waits until all but a
share `lead` of the slots before it are finished, the earliest first: it then knows at least what
slot (1 - lead)·t of a search with one worker knows, and a search takes at most about 1 / (1 - lead)
times as many trials.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LEAD = 0.15
"""The default: several workers then take at most about a sixth more trials than one (`fovnet bench
search --workers 4`)."""


class SlotsInSight(NamedTuple):
    """The slots that a slot has seen finished, and those it knows as pending, each ascending."""

    seen: tuple[int, ...]
    pending: tuple[int, ...]


@dataclass(frozen=True)
class Clock:
    """W workers, and how far they may run ahead of the results.

    initial  number of first slots, which use no scores and need not wait for any
    lead     in [0, 1]: 0 waits for all earlier slots, as one worker does; 1 waits for none
    """

    workers: int
    initial: int
    lead: float

    def sight(self, predicted_seconds: Sequence[float]) -> SlotsInSight:
        """What slot t has seen, given the predicted seconds of slots 0..t-1.

        A slot that ends exactly when t starts is seen.  Time is counted in whole microseconds: sums
        are then exact, so that two workers free at the same time are so on every machine, whatever
        the order of addition.
        """
        slot_ends, next_start = self._simulate(predicted_seconds)
        return SlotsInSight(
            seen=tuple(slot for slot, end in enumerate(slot_ends) if end <= next_start),
            pending=tuple(slot for slot, end in enumerate(slot_ends) if end > next_start),
        )

    def ends(self, predicted_seconds: Sequence[float]) -> tuple[float, ...]:
        """The virtual time in seconds at which each slot ends."""
        return tuple(end / 1e6 for end in self._simulate(predicted_seconds)[0])

    def _simulate(self, predicted_seconds: Sequence[float]) -> tuple[list[int], int]:
        """(end of each slot, start of the next one), in virtual microseconds."""
        worker_free_at = [0] * self.workers  # a heap: its head is the first worker free
        slot_ends: list[int] = []
        all_ended = [0]  # all_ended[k]: when slots 0..k-1 are finished
        for slot, seconds in enumerate(predicted_seconds):
            start = max(worker_free_at[0], all_ended[self._awaited_count(slot)])
            end = start + max(1, round(seconds * 1e6))
            heapq.heapreplace(worker_free_at, end)
            slot_ends.append(end)
            all_ended.append(max(all_ended[-1], end))
        return slot_ends, max(worker_free_at[0], all_ended[self._awaited_count(len(slot_ends))])

    def _awaited_count(self, slot: int) -> int:
        """How many of the first slots must be finished before `slot` starts."""
        return 0 if slot < self.initial else slot - int(self.lead * slot)
