"""The virtual clock: what a slot has seen follows from predictions, never from the speed of the day.

    W  workers       t  slots proposed so far, and the number of the next one

W virtual workers take the slots in order.  A slot starts at the earliest virtual time a worker is free, has seen every slot
virtually finished by then, and knows the others as pending; with one worker every slot sees all before it.  The real run waits
where reality is later than the prediction, so that the same search takes the same path on any machine.

Where trainings last between a second and an hour, the free workers would draw dozens of short ones while a long one, from which they
might learn, is under way.  So a slot also waits until all but a share `lead` of the slots before it are finished, the earliest first:
then it knows at least what slot (1 - lead)·t of a search with one worker knows, and a search takes about 1 / (1 - lead) times as many
draws at most.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

LEAD = 0.15
"""What fovnet recommends: several workers then take at most about a sixth more draws than one (`fovnet bench search --workers 4`)."""


@dataclass(frozen=True)
class Clock:
    """W workers, and how far they may run ahead of what they learn.

    initial  the first slots of a search, which look at no score and need not wait for any
    lead     in [0, 1]: 0 waits for every slot before, as one worker does; 1 waits for none
    """

    workers: int
    initial: int
    lead: float

    def sees(self, predicted_seconds: Sequence[float]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(seen, pending) of slot t, each ascending, given the predicted seconds of slots 0..t-1.

        A slot that ends at the very moment t starts is seen.  Time is counted in whole microseconds: sums are then exact, so that
        two workers free at the same moment are so on every machine, whatever the order of adding.
        """
        ends, now = self._run(predicted_seconds)
        seen = tuple(slot for slot, end in enumerate(ends) if end <= now)
        pending = tuple(slot for slot, end in enumerate(ends) if end > now)
        return seen, pending

    def ends(self, predicted_seconds: Sequence[float]) -> tuple[float, ...]:
        """The virtual second at which each slot is finished."""
        return tuple(end / 1e6 for end in self._run(predicted_seconds)[0])

    def _run(self, predicted_seconds: Sequence[float]) -> tuple[list[int], int]:
        """When each slot ends, and when the next one starts, in microseconds."""
        free_at, ends, all_ended = [0] * self.workers, [], [0]   # all_ended[k]: when slots 0..k-1 are finished
        for slot, seconds in enumerate(predicted_seconds):
            start = max(free_at[0], all_ended[self._awaited(slot)])    # free_at is a heap: its head is the first worker free
            end = start + max(1, round(seconds * 1e6))
            heapq.heapreplace(free_at, end)
            ends.append(end)
            all_ended.append(max(all_ended[-1], end))
        return ends, max(free_at[0], all_ended[self._awaited(len(ends))])

    def _awaited(self, slot: int) -> int:
        """How many of the first slots have to be finished before `slot` starts."""
        return 0 if slot < self.initial else slot - int(self.lead * slot)
