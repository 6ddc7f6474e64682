"""What a service counts since it started, and how long its stages take."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from fovnet.machine.memory import resident_bytes

STAGE_BOUNDS_S = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
"""Upper bounds of the buckets: a small series is answered within a second, and an archive may be away
for hours."""


@dataclass
class Durations:
    """Seconds of one stage: how many were at most so long, by bound and above all, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(STAGE_BOUNDS_S) + 1))
    sum_s: float = 0.0


@dataclass
class Figures:
    """Counts since the start, from any thread.

    instances, bytes   taken
    strangers          connections refused by address or title
    limit_reached      callers rejected for want of an association
    classes_refused    associations that sent nothing, whose caller offered something that is not
                       taken
    tls_failed, not_dicom, silent, without_request, connections_broken   connections ended so
    disk_full, mismatched, not_understood, too_large   instances refused
    series             at rest with something new
    answered, refused, without_report, unchanged       volumes, and series
    sent, retries, given_up, uncommitted               reports; attempts put off
    """

    started: float = field(default_factory=time.monotonic)
    counts: Counter[str] = field(default_factory=Counter)
    _durations_by_stage: dict[str, Durations] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def count(self, figure: str, number: int = 1) -> None:
        """One more, or many."""
        with self._lock:
            self.counts[figure] += number

    def time(self, stage: str, seconds: float) -> None:
        """Notes how long a stage took."""
        with self._lock:
            durations = self._durations_by_stage.setdefault(stage, Durations())
            durations.counts[bisect_left(STAGE_BOUNDS_S, seconds)] += 1
            durations.sum_s += seconds

    def durations(self) -> dict[str, Durations]:
        """A copy of what was noted, by stage."""
        with self._lock:
            return {
                stage: Durations(list(durations.counts), durations.sum_s)
                for stage, durations in self._durations_by_stage.items()
            }

    def now(self) -> dict[str, Any]:
        """All counts, with seconds since the start and the memory taken."""
        with self._lock:
            counts = dict(sorted(self.counts.items()))
        seconds_at_work = round(time.monotonic() - self.started)
        return {"seconds": seconds_at_work, "resident_bytes": resident_bytes(), **counts}
