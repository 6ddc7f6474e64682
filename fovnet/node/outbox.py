"""Reports until the peer has them: `unsent`, then `stored` while the peer is asked to commit itself
to keep them, then `delivered`.  Each step is one rename.

A report sent twice, as after a kill between its sending and its rename, has the same UID both
times: an archive keeps one.  Attempts become rarer, and end: a report names a patient.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pydicom import dcmread

from fovnet.node.places import DELIVERED, STORED, UNSENT, Places
from fovnet.words import several

MOST_DOUBLINGS = 60  # of a pause: more would overflow, and mean nothing


@dataclass(frozen=True)
class Pauses:
    """Seconds between attempts.

    first_s    after the first that failed; doubled after each more
    longest_s  at most
    answer_s   until a peer is asked again whether it keeps a report; doubled each time
    give_up_s  until a report is given up
    """

    first_s: float = 1.0
    longest_s: float = 600.0
    answer_s: float = 3600.0
    give_up_s: float = 168 * 3600.0

    def after_s(self, failure_count: int) -> float:
        """The pause after so many attempts in a row that failed, one or more."""
        doublings = min(failure_count - 1, MOST_DOUBLINGS)
        return min(self.first_s * 2.0**doublings, self.longest_s)


@dataclass
class Delivery:
    """How far one report has come, since the process began.

    began_s        when it was made, on the outbox's clock
    due_s          of the next attempt
    failure_count  attempts that failed
    request_count  times that its commitment was asked for
    trouble        why it is not delivered; "" before anything failed
    """

    began_s: float
    due_s: float = 0.0
    failure_count: int = 0
    request_count: int = 0
    trouble: str = ""


@dataclass
class Outbox:
    """What is to be sent, what to be asked for, and when next; both at once after a start."""

    places: Places
    clock: Callable[[], float] = time.monotonic
    pauses: Pauses = field(default_factory=Pauses)
    _deliveries: dict[str, Delivery] = field(default_factory=dict)
    _name_by_uid: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        for path in self.places.reports(STORED).glob("*.dcm"):
            self._name_by_uid[uid_of(path)] = path.name

    def due_reports(self, state: str, limit: int | None = None) -> list[Path]:
        """Reports of a state, UNSENT or STORED, whose next attempt is due, at most `limit` of them,
        sorted by name."""
        now_s = self.clock()
        paths = sorted(self.places.reports(state).glob("*.dcm"))
        return [path for path in paths if self._delivery(path).due_s <= now_s][:limit]

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not any(any(self.places.reports(state).glob("*.dcm")) for state in (UNSENT, STORED))

    @property
    def trouble(self) -> str:
        """Why reports are not delivered, and how many, of those that were refused or not committed
        to."""
        with self._lock:
            report_count_by_trouble = Counter(
                delivery.trouble for delivery in self._deliveries.values() if delivery.trouble
            )
        return "; ".join(
            f"{cause}: {several(count, 'report')}"
            for cause, count in report_count_by_trouble.items()
        )

    def mark_sent(self, path: Path, uid: str, to_be_committed: bool) -> None:
        """Moves a report that the peer has stored."""
        with self._lock:
            if to_be_committed:
                self._delivery(path).due_s = 0.0
                self._name_by_uid[uid] = path.name
                state = STORED
            else:
                self._deliveries.pop(path.name, None)
                state = DELIVERED
            path.replace(self.places.reports(state) / path.name)

    def mark_asked(self, path: Path, trouble: str) -> None:
        """Notes that the peer was asked to commit itself to a report; `trouble` if it did not
        answer when it was asked before."""
        with self._lock:
            if path.name in self._name_by_uid.values():  # not where it has answered already
                delivery = self._delivery(path)
                doublings = min(delivery.request_count, MOST_DOUBLINGS)
                delivery.due_s = self.clock() + self.pauses.answer_s * 2.0**doublings
                if delivery.request_count:
                    delivery.trouble = trouble
                delivery.request_count += 1

    def mark_failed(self, path: Path, trouble: str) -> None:
        """Notes an attempt that failed, and why: the next one later."""
        with self._lock:
            self._put_off(path, trouble)

    def mark_committed(self, uid: str, trouble: str) -> bool:
        """Whether a stored report has this UID; moves it: done without trouble, else to be sent
        again.

        Failures are counted on: an archive that stores and then does not keep is called less and
        less often.
        """
        with self._lock:
            file_name = self._name_by_uid.pop(uid, "")
            if not file_name:
                return False
            path = self.places.reports(STORED) / file_name
            if trouble:
                self._put_off(path, trouble)
                state = UNSENT
            else:
                self._deliveries.pop(file_name, None)
                state = DELIVERED
            path.replace(self.places.reports(state) / file_name)
            return True

    def overdue_reports(self, state: str, trouble: str) -> list[tuple[Path, str]]:
        """Reports of a state that are due after `give_up_s`, and the trouble of each: its own, or
        the peer's. None that was not tried since the start."""
        latest_begin_s = self.clock() - self.pauses.give_up_s
        paths_and_causes = [
            (path, self._delivery(path).trouble or trouble) for path in self.due_reports(state)
        ]
        return [
            (path, cause)
            for path, cause in paths_and_causes
            if cause and self._delivery(path).began_s < latest_begin_s
        ]

    def give_up(self, path: Path, state: str) -> None:
        """Ends the attempts: a report that was never stored is removed, one that was stored is
        done."""
        with self._lock:
            self._deliveries.pop(path.name, None)
            if state == UNSENT:
                path.unlink()
                return
            self._name_by_uid = {
                uid: file_name
                for uid, file_name in self._name_by_uid.items()
                if file_name != path.name
            }
            path.replace(self.places.reports(DELIVERED) / path.name)

    def _delivery(self, path: Path) -> Delivery:
        delivery = self._deliveries.get(path.name)
        if delivery is None:
            age_s = 0.0
            if path.exists():
                age_s = max(0.0, time.time() - path.stat().st_mtime)
            delivery = self._deliveries.setdefault(path.name, Delivery(self.clock() - age_s))
        return delivery

    def _put_off(self, path: Path, trouble: str) -> None:
        delivery = self._delivery(path)
        delivery.failure_count += 1
        delivery.request_count = 0
        delivery.due_s = self.clock() + self.pauses.after_s(delivery.failure_count)
        delivery.trouble = trouble


def uid_of(report: Path) -> str:
    """The SOP Instance UID of a report."""
    return str(dcmread(report, specific_tags=["SOPInstanceUID"]).SOPInstanceUID)
