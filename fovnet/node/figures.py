"""What a node counts since it started, and what it finds on its disk now."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from fovnet.machine.memory import resident_bytes


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
    answered, refused, without_report, unchanged       volumes, and series
    given_up, uncommitted                              reports
    """

    started: float = field(default_factory=time.monotonic)
    counts: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def count(self, figure: str, number: int = 1) -> None:
        """One more, or many."""
        with self._lock:
            self.counts[figure] += number

    def now(self) -> dict[str, Any]:
        """All of them, with seconds since the start and the memory taken."""
        with self._lock:
            counts = dict(sorted(self.counts.items()))
        seconds_at_work = round(time.monotonic() - self.started)
        return {"seconds": seconds_at_work, "resident_bytes": resident_bytes(), **counts}
