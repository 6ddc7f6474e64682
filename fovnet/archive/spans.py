"""Spans of time that an archive is asked about: days, or hours of one day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

ONE_DAY = timedelta(days=1)
ONE_SECOND = timedelta(seconds=1)
LEAST_SPAN = timedelta(hours=1)


@dataclass(frozen=True)
class Span:
    """From the second `first` to the second `last`, both included: whole days, or whole hours of
    one day, since archives match date and time each for itself."""

    first: datetime
    last: datetime

    @classmethod
    def of_days(cls, first_day: date, last_day: date) -> Span:
        """Whole days, the last included."""
        return cls(
            datetime.combine(first_day, time.min),
            datetime.combine(last_day + ONE_DAY, time.min) - ONE_SECOND,
        )

    @property
    def dates(self) -> str:
        """As a value of StudyDate: "20260101", or a range; both ends are always given, as archives
        differ on open ones."""
        first_date = f"{self.first:%Y%m%d}"
        last_date = f"{self.last:%Y%m%d}"
        if first_date == last_date:
            return first_date
        return f"{first_date}-{last_date}"

    @property
    def times(self) -> str:
        """As a value of StudyTime; "" for whole days."""
        if self._length % ONE_DAY == timedelta():
            return ""
        return f"{self.first:%H%M%S}-{self.last:%H%M%S}"

    def holds_date(self, date_text: str) -> bool:
        """Whether a study of this date, as YYYYMMDD, may lie in it."""
        return f"{self.first:%Y%m%d}" <= date_text <= f"{self.last:%Y%m%d}"

    def halves(self) -> tuple[Span, Span] | None:
        """Its halves, of whole days or hours; None for an hour."""
        if self._length <= LEAST_SPAN:
            return None
        unit = LEAST_SPAN
        if self._length > ONE_DAY:
            unit = ONE_DAY
        middle = self.first + self._length // 2 // unit * unit
        return Span(self.first, middle - ONE_SECOND), Span(middle, self.last)

    @property
    def _length(self) -> timedelta:
        return self.last + ONE_SECOND - self.first
