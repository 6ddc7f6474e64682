"""What has arrived: instances kept as they come, until their series is at rest.

An instance is acknowledged when its bytes and its name are on the disk.  A series is at rest when nothing has
arrived for `rest_s`, or at the latest `longest_s` after its first instance; then its folder is renamed, and
whatever arrives later belongs to a next version of it: the earlier instances together with the later ones,
answered again.  A series that is sent again without anything new in it is dropped.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from fovnet.node.places import Places, split_name, sync
from fovnet.records import checksum, copy

HEX = 32  # of names: 128 bits of a SHA-256


@dataclass
class Arrival:
    """When a series that is arriving began, and when its newest instance came: seconds of a monotonic
    clock."""

    first: float
    last: float
    instances: int = 0


@dataclass
class Inbox:
    """The series that are arriving.  After a start, all that lies there has just arrived."""

    places: Places
    rest_s: float
    longest_s: float
    clock: Callable[[], float] = time.monotonic
    arrivals: dict[str, Arrival] = field(default_factory=dict)
    _has_room: Callable[[], bool] | None = None
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        for home in self.places.incoming.iterdir():
            self.arrivals[home.name] = Arrival(self.clock(), self.clock())

    def keep(
        self, write: Callable[[BinaryIO], object], named: Callable[[Path], tuple[str, str]]
    ) -> str:
        """The key of the series of an instance that is now on the disk, its name included.

        write   fills the file         named   its series' key and its own name, read from the file
        An instance that comes again replaces the earlier one.  Raises what these two raise, and OSError; then
        nothing of it is kept.
        """
        handle, path = tempfile.mkstemp(dir=self.places.unfinished)
        part = Path(path)
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
                file.flush()
                key, name = named(part)
                os.fsync(file.fileno())
            with self._lock:
                self._put(part, key, name)
        finally:
            part.unlink(missing_ok=True)
        return key

    def _put(self, part: Path, key: str, name: str) -> None:
        home, now = self.places.incoming / key, self.clock()
        is_new = not home.exists()
        home.mkdir(exist_ok=True)
        part.replace(home / name)
        sync(home)
        if is_new:
            sync(self.places.incoming)
        arrival = self.arrivals.setdefault(key, Arrival(now, now))
        arrival.last = now
        arrival.instances += 1

    def delay(self, has_room: Callable[[], bool]) -> None:
        """Notes that an instance was refused for want of room: any series may wait for it, and none is at
        rest until there is room, and its sender has had the time to send again."""
        with self._lock:
            self._has_room = has_room

    @property
    def waits_for_room(self) -> bool:
        """Whether instances were refused for want of room, and there was none yet."""
        return self._has_room is not None

    def at_rest(self) -> list[str]:
        """The keys of the series that nothing more is waited for, oldest first."""
        now = self.clock()
        with self._lock:
            if self._has_room is not None:
                for arrival in self.arrivals.values():
                    arrival.first = arrival.last = now
                if self._has_room():
                    self._has_room = None
                return []
            resting = [
                (arrival.first, key)
                for key, arrival in self.arrivals.items()
                if now - arrival.last >= self.rest_s or now - arrival.first >= self.longest_s
            ]
        return [key for _, key in sorted(resting)]

    def take(self, key: str) -> Path | None:
        """`series/KEY-N`, which nothing is added to any more; None where it held nothing new and was dropped,
        or while instances are just arriving.

        To be called where no earlier version of the series waits for its answer.
        """
        home, seen = self.places.incoming / key, self.arrivals[key].instances
        record = self.places.record(key)
        known = record["instances"]
        assert isinstance(known, dict)
        version = int(str(record["version"]))
        is_new = any(known.get(path.name) != checksum(path) for path in home.iterdir())
        taken = self.places.series / f"{key}-{version + 1}"
        if is_new:
            self._complete(home, self.places.series / f"{key}-{version}")
        with self._lock:
            if self.arrivals[key].instances != seen:  # compared with the record while one arrived
                return None
            del self.arrivals[key]
            if is_new:
                home.rename(taken)
            else:
                self.places.remove(home)
        sync(self.places.series)
        sync(self.places.incoming)
        return taken if is_new else None

    def _complete(self, home: Path, earlier: Path) -> None:
        """Adds the instances of the earlier version that did not come again, where they are still there."""
        for path in earlier.iterdir() if earlier.exists() else ():
            if not (home / path.name).exists():
                try:
                    os.link(path, home / path.name)
                except OSError:  # a file system without hard links
                    copy(path, home / path.name)


def pending(places: Places) -> list[Path]:
    """The series at rest that have no answer yet, those first that the fewest processes have ended over."""
    waiting = [
        home
        for home in places.series.iterdir()
        if int(str(places.record(split_name(home.name)[0])["version"])) < split_name(home.name)[1]
    ]
    return sorted(waiting, key=lambda home: (times_begun(places, home), home.stat().st_mtime_ns))


def times_begun(places: Places, home: Path) -> int:
    """How often the answer of a series was begun and not ended."""
    try:
        return int((places.begun / home.name).read_text() or 0)
    except FileNotFoundError:
        return 0


def hashed(*uids: str) -> str:
    """A name made of UIDs: no path, whatever they hold, and not readable in a log."""
    return hashlib.sha256("\0".join(uids).encode()).hexdigest()[:HEX]
