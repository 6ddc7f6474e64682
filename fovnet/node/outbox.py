"""Reports until the peer has them: `unsent`, then `stored` while the peer is asked to commit itself to keep
them, then `delivered`.  Each step is one rename.

A report sent twice, as after a kill between its sending and its rename, has the same UID both times: an
archive keeps one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pydicom import dcmread

from fovnet.node.places import DELIVERED, STORED, UNSENT, Places

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 600.0       # between attempts: doubled after each that failed
COMMITMENT_WAIT_S = 3600.0      # until a peer that has not answered is asked again for its commitment


@dataclass
class Outbox:
    """What is to be sent, what to be asked for, and when next; both at once after a start."""

    places: Places
    clock: Callable[[], float] = time.monotonic
    _next: dict[str, float] = field(default_factory=dict)
    _failed: dict[str, int] = field(default_factory=dict)
    _uids: dict[str, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        for path in self.places.reports(STORED).glob("*.dcm"):
            self._uids[uid_of(path)] = path.name

    def due(self, state: str, most: int) -> list[Path]:
        """Reports of a state, UNSENT or STORED, whose next attempt is due, oldest names first, `most` at
        most."""
        now = self.clock()
        there = sorted(self.places.reports(state).glob("*.dcm"))
        return [path for path in there if self._next.get(path.name, 0.0) <= now][:most]

    def sent(self, path: Path, uid: str, to_be_committed: bool) -> None:
        """Moves a report that the peer has stored."""
        with self._lock:
            self._forget(path.name)
            if to_be_committed:
                self._uids[uid] = path.name
            path.replace(self.places.reports(STORED if to_be_committed else DELIVERED) / path.name)

    def asked(self, path: Path) -> None:
        """Notes that the peer was asked to commit itself to a report."""
        with self._lock:
            if path.name in self._uids.values():            # not where it has answered already
                self._next[path.name] = self.clock() + COMMITMENT_WAIT_S

    def failed(self, path: Path) -> None:
        """Notes an attempt that failed: the next one later."""
        with self._lock:
            self._put_off(path.name)

    def committed(self, uid: str, kept: bool) -> bool:
        """Whether a stored report has this UID; moves it: done if it is kept, else to be sent again."""
        with self._lock:
            name = self._uids.pop(uid, "")
            if not name:
                return False
            self._forget(name)
            if not kept:
                self._put_off(name)
            after = self.places.reports(DELIVERED if kept else UNSENT)
            (self.places.reports(STORED) / name).replace(after / name)
            return True

    def _put_off(self, name: str) -> None:
        times = self._failed[name] = self._failed.get(name, 0) + 1
        self._next[name] = self.clock() + min(FIRST_WAIT_S * 2.0 ** (times - 1), LONGEST_WAIT_S)

    def _forget(self, name: str) -> None:
        self._next.pop(name, None)
        self._failed.pop(name, None)


def uid_of(report: Path) -> str:
    """The SOP Instance UID of a report."""
    return str(dcmread(report, specific_tags=["SOPInstanceUID"]).SOPInstanceUID)
