"""The virtual clock: what a slot has seen follows from predictions, never from the speed of the day.

W virtual workers take the slots in order.  A slot starts at the earliest virtual time a worker is free, has seen every slot
virtually finished by then, and knows the others as pending; with one worker every slot sees all before it.  The real run waits
where reality is later than the prediction, so that the same search takes the same path on any machine.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def sees(predicted_seconds: Sequence[float], workers: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(seen, pending) of slot t, each ascending, given the predicted seconds of slots 0..t-1.

    A slot that ends at the very moment t starts is seen.  Time is counted in whole microseconds: sums are then exact, so that
    two workers free at the same moment are so on every machine, whatever the order of adding.
    """
    ends, now = _run(predicted_seconds, workers)
    seen = tuple(slot for slot, end in enumerate(ends) if end <= now)
    pending = tuple(slot for slot, end in enumerate(ends) if end > now)
    return seen, pending


def ends(predicted_seconds: Sequence[float], workers: int) -> tuple[float, ...]:
    """The virtual second at which each slot is finished."""
    return tuple(end / 1e6 for end in _run(predicted_seconds, workers)[0])


def _run(predicted_seconds: Sequence[float], workers: int) -> tuple[list[int], int]:
    """When each slot ends, and when the next one starts, in microseconds."""
    free_at = [0] * workers
    ends = []
    for seconds in predicted_seconds:
        end = free_at[0] + max(1, round(seconds * 1e6))        # free_at is a heap: its head is the next start
        heapq.heapreplace(free_at, end)
        ends.append(end)
    return ends, free_at[0]
