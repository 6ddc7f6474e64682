"""What has arrived: instances kept as they come, until their series is at rest.

An instance is acknowledged when its bytes and its name are on the disk.  A series is at rest when
nothing has arrived for `rest_s`, or at the latest `longest_s` after its first instance; then its
folder is renamed, and whatever arrives later belongs to a next version of it: the earlier instances
together with the later ones, answered again.  A series that is sent again without anything new in
it is dropped.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from fovnet.node.places import Places, split_name, sync
from fovnet.records import checksum, copy_file


@dataclass
class Arrival:
    """When a series that is arriving began, and when its newest instance came: seconds of a
    monotonic clock."""

    first_s: float
    last_s: float
    instances: int = 0


@dataclass
class Inbox:
    """The series that are arriving.  After a start, all that lies there has just arrived.

    rest_s     seconds without a new instance after which a series is at rest
    longest_s  seconds after its first instance after which it is at rest in any case
    clock      seconds of a monotonic clock
    arrivals   {key of a series: when its instances came}
    """

    places: Places
    rest_s: float
    longest_s: float
    clock: Callable[[], float] = time.monotonic
    arrivals: dict[str, Arrival] = field(default_factory=dict)
    _has_room: Callable[[], bool] | None = None
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        for series_folder in self.places.incoming.iterdir():
            self.arrivals[series_folder.name] = Arrival(self.clock(), self.clock())

    def keep(
        self, write: Callable[[BinaryIO], object], read_names: Callable[[Path], tuple[str, str]]
    ) -> str:
        """Keeps an instance, so that it is on the disk, its name included; the key of its series.

        write       fills the file
        read_names  (key of the series, name of the instance's file), read from the file

        An instance that comes again replaces the earlier one.  Raises what these two raise, and
        OSError; then nothing of it is kept.
        """
        file_descriptor, name_on_disk = tempfile.mkstemp(dir=self.places.unfinished)
        unfinished_path = Path(name_on_disk)
        try:
            with os.fdopen(file_descriptor, "wb") as file:
                write(file)
                file.flush()
                series_key, file_name = read_names(unfinished_path)
                os.fsync(file.fileno())
            with self._lock:
                self._keep_in_series(unfinished_path, series_key, file_name)
        finally:
            unfinished_path.unlink(missing_ok=True)
        return series_key

    def _keep_in_series(self, unfinished_path: Path, series_key: str, file_name: str) -> None:
        """Moves a whole instance into the folder of its series, and notes when it came."""
        series_folder = self.places.incoming / series_key
        now_s = self.clock()
        is_new_series = not series_folder.exists()
        series_folder.mkdir(exist_ok=True)
        unfinished_path.replace(series_folder / file_name)
        sync(series_folder)
        if is_new_series:
            sync(self.places.incoming)
        arrival = self.arrivals.setdefault(series_key, Arrival(now_s, now_s))
        arrival.last_s = now_s
        arrival.instances += 1

    def free_bytes(self) -> int:
        """What the disk has left."""
        return self.places.free_bytes()

    def wait_for_room(self, has_room: Callable[[], bool]) -> None:
        """Notes that an instance was refused for want of room: any series may wait for it, and none
        is at rest until there is room, and its sender has had the time to send again."""
        with self._lock:
            self._has_room = has_room

    @property
    def waits_for_room(self) -> bool:
        """Whether instances were refused for want of room, and there was none yet."""
        return self._has_room is not None

    def keys_at_rest(self) -> list[str]:
        """The keys of the series that nothing more is waited for, oldest first."""
        now_s = self.clock()
        with self._lock:
            if self._has_room is not None:
                for arrival in self.arrivals.values():
                    arrival.first_s = now_s
                    arrival.last_s = now_s
                if self._has_room():
                    self._has_room = None
                return []
            times_and_keys = [
                (arrival.first_s, series_key)
                for series_key, arrival in self.arrivals.items()
                if now_s - arrival.last_s >= self.rest_s
                or now_s - arrival.first_s >= self.longest_s
            ]
        return [series_key for _, series_key in sorted(times_and_keys)]

    def take(self, key: str) -> Path | None:
        """`series/KEY-N`, which nothing is added to any more; None where it held nothing new and
        was dropped, or while instances are just arriving.

        To be called where no earlier version of the series waits for its answer.
        """
        incoming_folder = self.places.incoming / key
        instance_count = self.arrivals[key].instances
        answer_record = self.places.read_record(key)
        checksum_by_name = answer_record["instances"]
        assert isinstance(checksum_by_name, dict)
        version = int(str(answer_record["version"]))
        has_new_instance = any(
            checksum_by_name.get(path.name) != checksum(path) for path in incoming_folder.iterdir()
        )
        series_folder = self.places.series / f"{key}-{version + 1}"
        if has_new_instance:
            self._add_earlier_instances(incoming_folder, self.places.series / f"{key}-{version}")
        with self._lock:
            # one arrived while the others were compared with the record
            if self.arrivals[key].instances != instance_count:
                return None
            del self.arrivals[key]
            if has_new_instance:
                incoming_folder.rename(series_folder)
            else:
                self.places.remove(incoming_folder)
        sync(self.places.series)
        sync(self.places.incoming)
        if not has_new_instance:
            return None
        return series_folder

    def _add_earlier_instances(self, series_folder: Path, earlier_folder: Path) -> None:
        """Adds the instances of the earlier version that did not come again, where they are still
        there."""
        if not earlier_folder.exists():
            return
        for earlier_path in earlier_folder.iterdir():
            if not (series_folder / earlier_path.name).exists():
                try:
                    os.link(earlier_path, series_folder / earlier_path.name)
                except OSError:  # a file system without hard links
                    copy_file(earlier_path, series_folder / earlier_path.name)


def find_unanswered_series(places: Places) -> list[Path]:
    """The series at rest (folders KEY-VERSION) that are not answered in this version, those first
    whose answer was begun the fewest times without an end: such a series may kill the process."""
    unanswered_folders = []
    for series_folder in places.series.iterdir():
        series_key, version = split_name(series_folder.name)
        if int(str(places.read_record(series_key)["version"])) < version:
            unanswered_folders.append(series_folder)
    return sorted(
        unanswered_folders,
        key=lambda series_folder: (
            count_attempts(places, series_folder),
            series_folder.stat().st_mtime_ns,
        ),
    )


def count_attempts(places: Places, series_folder: Path) -> int:
    """How often the answer of a series was begun and not ended."""
    try:
        return int((places.begun / series_folder.name).read_text() or 0)
    except FileNotFoundError:
        return 0
