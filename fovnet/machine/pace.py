"""The rate of a long task, and its remaining time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

RATE_WINDOW_S = 120.0
"""The rate shown is that of the last two minutes: large volumes of an archive come in
succession."""
SECONDS_BETWEEN_LINES = 60.0


class Pace:
    """Rate and remaining time of a task, from counts of finished items; items finished before the
    first count do not enter the rate.

    >>> clock = iter([0.0, 0.0, 10.0, 20.0]).__next__
    >>> pace = Pace("volumes", clock)
    >>> pace.progress_text(400, 1000), pace.progress_text(430, 1000), pace.progress_text(450, 1000)
    ('', '3.0 volumes/s, 3 min left', '2.5 volumes/s, 4 min left')
    """

    def __init__(self, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._unit = unit
        self._clock = clock
        self._last_line_s = clock()  # when a line was due last
        self._counts: deque[tuple[float, int]] = deque()  # (second, items done)

    def progress_text(self, done: int, total: int) -> str:
        """ "2.5 volumes/s, 4 min left"; empty before the second count, or without a unit."""
        now_s = self._clock()
        self._counts.append((now_s, done))
        while len(self._counts) > 2 and self._counts[1][0] <= now_s - RATE_WINDOW_S:
            self._counts.popleft()
        first_time_s, first_done_count = self._counts[0]
        window_seconds = now_s - first_time_s
        if not self._unit or done <= first_done_count or window_seconds <= 0:
            return ""
        rate = (done - first_done_count) / window_seconds
        return f"{_rate_text(rate)} {self._unit}/s, {_time_text((total - done) / rate)} left"

    def minute_passed(self) -> bool:
        """Whether a minute has passed since this was last true."""
        if not self._unit or not self._counts:
            return False
        now_s, _ = self._counts[-1]
        if now_s - self._last_line_s < SECONDS_BETWEEN_LINES:
            return False
        self._last_line_s = now_s
        return True


def _rate_text(rate: float) -> str:
    """Two digits or more."""
    if rate >= 10:
        return f"{rate:.0f}"
    if rate >= 1:
        return f"{rate:.1f}"
    return f"{rate:.2f}"


def _time_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
