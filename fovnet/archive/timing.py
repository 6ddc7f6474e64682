"""When an archive may be asked for images, and how fast."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from datetime import time as time_of_day
from threading import Lock

from fovnet.errors import ConfigError

HOURS_PATTERN = re.compile(r"(\d\d?):(\d\d)-(\d\d?):(\d\d)")
LONGEST_SLEEP_S = 60.0  # a clock may be set


@dataclass(frozen=True)
class Hours:
    """The hours of each day between two times, the second on the next day where it is the earlier."""

    first: time_of_day
    last: time_of_day

    def seconds_until_open(self, now: datetime) -> float:
        """0 within the hours."""
        if self.first <= self.last:
            is_open = self.first <= now.time() < self.last
        else:
            is_open = now.time() >= self.first or now.time() < self.last
        if is_open:
            return 0.0
        opening = datetime.combine(now.date(), self.first)
        if opening <= now:
            opening += timedelta(days=1)
        return (opening - now).total_seconds()


def hours_of(text: str) -> Hours | None:
    """The hours of "22:00-06:00"; None for "", all.  Raises ConfigError "archive-hours"."""
    if not text:
        return None
    match = HOURS_PATTERN.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        first_hour, first_minute, last_hour, last_minute = map(int, match.groups())
        return Hours(time_of_day(first_hour, first_minute), time_of_day(last_hour, last_minute))
    except ValueError:
        raise ConfigError(
            "archive-hours", f"--between {text}: are no hours of a day; give some as 22:00-06:00"
        ) from None


@dataclass
class Throttle:
    """At most so many images a second of all fetches together, within hours.

    images_per_s  0: as many as come
    """

    images_per_s: float = 0.0
    hours: Hours | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    _next_s: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def wait_for_hours(self) -> None:
        """Waits until a series may be asked for."""
        if self.hours is None:
            return
        while (wait_s := self.hours.seconds_until_open(datetime.now())) > 0:
            self.sleep(min(wait_s, LONGEST_SLEEP_S))

    def wait_for_image(self) -> None:
        """Waits until one more image may be taken."""
        if not self.images_per_s:
            return
        with self._lock:
            now_s = self.clock()
            self._next_s = max(self._next_s, now_s) + 1 / self.images_per_s
            wait_s = self._next_s - now_s
        self.sleep(wait_s)
