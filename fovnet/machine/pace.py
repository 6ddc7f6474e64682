"""The rate of a long task, and its remaining time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 120.0
"""The rate shown is that of the last two minutes: large volumes of an archive come in succession."""
LINE_S = 60.0


class Pace:
    """Rate and remaining time of a task, from counts of finished items; items finished before the first count
    do not enter the rate.

    >>> clock = iter([0.0, 0.0, 10.0, 20.0]).__next__
    >>> pace = Pace("volumes", clock)
    >>> pace.progress_text(400, 1000), pace.progress_text(430, 1000), pace.progress_text(450, 1000)
    ('', '3.0 volumes/s, 3 min left', '2.5 volumes/s, 4 min left')
    """

    def __init__(self, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._unit, self._clock = unit, clock
        self._line = clock()
        self._seen: deque[tuple[float, int]] = deque()

    def progress_text(self, done: int, total: int) -> str:
        """ "2.5 volumes/s, 4 min left"; empty before the second count, or without a unit."""
        now = self._clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW_S:
            self._seen.popleft()
        began, before = self._seen[0]
        passed = now - began
        if not self._unit or done <= before or passed <= 0:
            return ""
        rate = (done - before) / passed
        return f"{_few(rate)} {self._unit}/s, {_time((total - done) / rate)} left"

    def minute_passed(self) -> bool:
        """Whether a minute has passed since this was last true."""
        now = self._seen[-1][0] if self._seen else self._line
        if not self._unit or now - self._line < LINE_S:
            return False
        self._line = now
        return True


def _few(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}" if rate >= 1 else f"{rate:.2f}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
