"""The images of a series, fetched by C-MOVE (DICOM PS3.4, C.4.2): the archive sends them to a door of
ours, the node's, which it must know by our AE title, this host and its port.

Orthanc answers C000 for an unknown title as for an unknown series, so what is said of a door that
nothing has reached yet names both.
"""

from __future__ import annotations

import os
import shutil
import ssl
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import BinaryIO

from pydicom.dataset import Dataset
from pynetdicom.sop_class import (  # type: ignore[attr-defined]
    StudyRootQueryRetrieveInformationModelMove,
)

from fovnet.archive.arrival import Arrival
from fovnet.archive.faults import ArchiveError
from fovnet.archive.retrieving import SeriesRetrieve
from fovnet.errors import ConfigError
from fovnet.machine.ports import refusal_of_port
from fovnet.node.calling import calling_entity
from fovnet.node.door import STATUS_SUCCESS, Door, InstanceMismatch
from fovnet.node.peers import Caller
from fovnet.node.places import hash_uids
from fovnet.node.settings import DoorLimits
from fovnet.watch.figures import Figures

STATUS_UNKNOWN_DESTINATION = 0xA801  # PS3.4, table C.4-2
# without a word or an image: a tape is mounted and wound within two or three minutes, and what takes
# longer is on the archive's disk when the series is asked for again
LONGEST_SILENCE_S = 300.0
LIMITS = DoorLimits(instance_bytes=2**32, idle_s=600.0)


@dataclass
class Reception:
    """Images that come in by a door, each given to the series that it is awaited for.

    folder       where they are written first, on the disk of the series' folders
    port         of the door
    refusal      what the door refused last, in words, since an image was taken
    image_count  taken since the door was opened
    """

    folder: Path
    port: int = 0
    refusal: str = ""
    image_count: int = 0
    _arrivals_by_key: dict[str, list[Arrival]] = field(default_factory=lambda: defaultdict(list))
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def awaiting(self, arrival: Arrival) -> Iterator[None]:
        """Gives the images of a series to it while the block runs; of one UID in use for two
        patients there may be two."""
        key = hash_uids(arrival.row.study_uid, arrival.row.series_uid)
        with self._lock:
            self._arrivals_by_key[key].append(arrival)
        try:
            yield
        finally:
            with self._lock:
                self._arrivals_by_key[key].remove(arrival)

    def keep(
        self, write: Callable[[BinaryIO], object], read_names: Callable[[Path], tuple[str, str]]
    ) -> None:
        """As `InstanceKeeper`; an image of another patient is taken, and dropped."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=self.folder)
        path = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                write(file)
            key, _ = read_names(path)
            with self._lock:
                arrivals = list(self._arrivals_by_key[key])
            if not arrivals:
                raise InstanceMismatch("sent an image of a series that was not asked for")
            is_taken = any(arrival.take(path) for arrival in arrivals)
        finally:
            path.unlink(missing_ok=True)
        if is_taken:
            self.image_count += 1
            self.refusal = ""

    def free_bytes(self) -> int:
        """As `InstanceKeeper`."""
        return shutil.disk_usage(self.folder.parent).free

    def wait_for_room(self, has_room: Callable[[], bool]) -> None:
        """Nothing: the series is asked for again."""

    def note(self, event: str, sentence: str, **facts: object) -> None:
        """Keeps what the door says of a refusal."""
        self.refusal = sentence


@contextmanager
def open_reception(
    folder: Path,
    own_title: str,
    port: int,
    callers: Sequence[Caller],
    tls_context: ssl.SSLContext | None = None,
) -> Iterator[Reception]:
    """A door that is open while the block runs, port 0 for any; with a context it speaks TLS alone.
    Raises ConfigError "archive-door" if the port is taken."""
    reception = Reception(folder)
    door = Door(
        inbox=reception, figures=Figures(), limits=LIMITS, callers=callers, log=reception.note
    )
    try:
        reception.port = door.open(own_title, "", port, tls_context)
    except OSError as fault:
        raise ConfigError("archive-door", f"--move, {refusal_of_port(fault, port)}") from fault
    try:
        yield reception
    finally:
        door.close()
        door.abort()


@dataclass
class SeriesMove(SeriesRetrieve):
    """One series that comes to a door.

    longest_silence_s  after which an archive counts as away, however long it has sent images before
    outcome            of the last move, in words
    """

    reception: Reception
    longest_silence_s: float = LONGEST_SILENCE_S
    outcome: str = field(default="", init=False)
    _answered_s: float = field(default=0.0, init=False)

    def fetch(self) -> None:
        """As `SeriesRetrieve`."""
        with self.reception.awaiting(self.arrival):
            try:
                super().fetch()
            except ArchiveError as fault:
                if fault.code != "archive-incomplete":
                    raise
                raise ArchiveError(fault.code, f"{fault.sentence} ({self.outcome})") from None

    def ask(self, identifier: Dataset) -> None:
        """As `SeriesRetrieve`."""
        application_entity = calling_entity(self.archive.own_title, self.archive.timeout_s)
        application_entity.dimse_timeout = None  # images that come are answers too
        application_entity.add_requested_context(StudyRootQueryRetrieveInformationModelMove)
        association = self.archive.associate(application_entity, "send images (C-MOVE, study root)")
        response = Dataset()
        with self._breaking_off_silence():
            for latest_response, _ in association.send_c_move(
                identifier, self.archive.own_title, StudyRootQueryRetrieveInformationModelMove
            ):
                response = latest_response
                self._answered_s = time.monotonic()
        status = response.get("Status")
        if status is None:
            raise self.broke_off(self.longest_silence_s)
        self.outcome = f"C-MOVE ended with status {status:04X}"
        if failed_count := response.get("NumberOfFailedSuboperations"):
            self.outcome += f", {failed_count} of its sub-operations failed"
        if self.reception.refusal:
            self.outcome += f"; our door {self.reception.refusal}"
        if status == STATUS_UNKNOWN_DESTINATION:
            raise self._nothing_comes("archive-denied")
        if status != STATUS_SUCCESS and not self.arrival.image_uids:
            if self.reception.image_count:
                raise self._nothing_comes("archive-failed")
            raise self._nothing_comes("archive-unreachable")

    @contextmanager
    def _breaking_off_silence(self) -> Iterator[None]:
        """Breaks off while the block runs as soon as the archive has been silent for too long."""
        self._answered_s = time.monotonic()
        has_ended = Event()

        def watch() -> None:
            silence_s = 0.0
            while not has_ended.wait(self.longest_silence_s - silence_s):
                silence_s = time.monotonic() - max(self._answered_s, self.arrival.last_s)
                if silence_s >= self.longest_silence_s:
                    self.archive.break_off()
                    return

        watcher = Thread(target=watch)
        watcher.start()
        try:
            yield
        finally:
            has_ended.set()
            watcher.join()

    def _nothing_comes(self, code: str) -> ArchiveError:
        """What is said where the archive cannot send, or does not."""
        advice = "try whether the archive still has it"
        if "TLS" in self.reception.refusal:
            advice = "have it send by TLS, with a certificate of the authorities that --ca gives"
        elif self.reception.refusal:
            advice = "let it in"
        elif not self.reception.image_count:
            advice = (
                f"have {self.archive.own_title} entered there as a destination, at this machine, port "
                f"{self.reception.port}"
            )
        return ArchiveError(code, f"{self.arrival.name}: no image comes ({self.outcome}); {advice}")
