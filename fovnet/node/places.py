"""The folders of a node, and the moves between them: each is one rename, so that a kill leaves a
series before or after it and never between.

    incoming/KEY/*.dcm      instances as they arrive; KEY is a hash of the study's and the series'
                            UIDs
    series/KEY-N/*.dcm      a series at rest, for its Nth answer; removed `keep_h` hours after the
                            answer
    answers/KEY-N.json      the answer, as `fovnet predict` writes it; stays
    answered/KEY.json       what the newest answer was made from, each instance with its checksum;
                            stays
    answers.tsv             a row of every newest answer; stays
    audit.tsv               who used which service, when; stays
    thumbnails/KEY-N.jpg    pictures for the page, KEY-N.covered.jpg without faces; removed with
                            the series
    reports/unsent, stored, delivered/KEY-N.dcm the structured report: to be sent; with the peer,
                            which has not yet committed itself to keep it; done (removed with the
                            series)
    begun/KEY-N             how many processes have ended while this series was being answered
    unfinished/             files being written; emptied when the node starts
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fovnet.errors import ConfigError
from fovnet.machine.locks import lock_folder
from fovnet.records import is_stamped, read_json, write_json

STAMP_FILE = "node.json"
HASH_DIGITS = 32  # of names: 128 bits of a SHA-256
COVERED_SUFFIX = ".covered.jpg"
STATES = UNSENT, STORED, DELIVERED = "unsent", "stored", "delivered"


@dataclass(frozen=True)
class Places:
    """The paths below the folder of a node."""

    folder: Path

    @property
    def incoming(self) -> Path:
        return self.folder / "incoming"

    @property
    def series(self) -> Path:
        return self.folder / "series"

    @property
    def answers(self) -> Path:
        return self.folder / "answers"

    @property
    def begun(self) -> Path:
        return self.folder / "begun"

    @property
    def unfinished(self) -> Path:
        return self.folder / "unfinished"

    @property
    def thumbnails(self) -> Path:
        return self.folder / "thumbnails"

    def thumbnail_path(self, volume_id: str, *, faces: bool) -> Path:
        """The picture of a volume; of those without faces the name says so."""
        if faces:
            return self.thumbnails / f"{volume_id}.jpg"
        return self.thumbnails / f"{volume_id}{COVERED_SUFFIX}"

    def reports(self, state: str) -> Path:
        """The folder of reports that are UNSENT, STORED or DELIVERED."""
        return self.folder / "reports" / state

    def answer_record_path(self, key: str) -> Path:
        """The file on the newest answer of a series."""
        return self.folder / "answered" / f"{key}.json"

    def answer_time(self, key: str) -> float:
        """When a series was answered last; 0.0 where nothing is recorded of it."""
        try:
            return self.answer_record_path(key).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def read_record(self, key: str) -> dict[str, object]:
        """What was answered of a series: `version` and `instances`; version 0 where nothing was."""
        try:
            return read_json(self.answer_record_path(key))
        except FileNotFoundError:
            return {"version": 0, "instances": {}}

    def identify(self, series_name: str, *, show_ids: bool) -> dict[str, str]:
        """What is told, beside its name, of a series that was answered: a hash of its study's UID, or
        its UIDs.  The name may be that of a report, which begins with the key, too."""
        record = self.read_record(series_name.partition("-")[0])
        if "study_uid" not in record:
            return {}
        if show_ids:
            return {name: str(record[name]) for name in ("study_uid", "series_uid")}
        return {"study": hash_uids(str(record["study_uid"]))}

    def free_bytes(self) -> int:
        """What the file system has left for this user."""
        return shutil.disk_usage(self.folder).free

    def remove(self, folder: Path) -> None:
        """Takes a folder away in one step, then its files: half of a series would be answered as a
        whole."""
        temporary_folder = Path(tempfile.mkdtemp(dir=self.unfinished))
        folder.rename(temporary_folder / folder.name)
        shutil.rmtree(temporary_folder, ignore_errors=True)


def remove_uncovered_thumbnails(places: Places) -> None:
    """Removes the pictures that may show a face, of a node that was not told to cover them."""
    for path in places.thumbnails.iterdir():
        if not path.name.endswith(COVERED_SUFFIX):
            path.unlink()


def split_name(name: str) -> tuple[str, int]:
    """KEY and N of a folder called KEY-N, or of the answer on one of its echoes, called KEY-N#ECHO."""
    key, _, version = name.partition("#")[0].rpartition("-")
    return key, int(version)


def hash_uids(*uids: str) -> str:
    """A name made of UIDs: no path, whatever they hold, and not readable in a log."""
    return hashlib.sha256("\0".join(uids).encode()).hexdigest()[:HASH_DIGITS]


def sync(folder: Path) -> None:
    """Waits until the names in a folder are on the disk: a file's own fsync does not write its
    name."""
    folder_descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(folder_descriptor)
    finally:
        os.close(folder_descriptor)


@contextmanager
def lock_places(folder: Path) -> Iterator[Places]:
    """The folder of a node, made where it is missing, readable by this user alone, and locked while
    the block runs.

    Raises ConfigError "out-busy" if another node has it, "out-foreign" if it holds anything but a
    node's.
    """
    folder = folder.resolve()
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700)
    if any(folder.iterdir()) and not is_stamped(folder / STAMP_FILE):
        raise ConfigError(
            "out-foreign",
            f"--out {folder}: is not empty, and was not filled by a node; give a folder of its own",
        )
    try:
        lock_descriptor = lock_folder(folder)
    except BlockingIOError as fault:
        raise ConfigError(
            "out-busy",
            f"--out {folder}: another node is at work there; give each a folder of its own",
        ) from fault
    try:
        write_json(folder / STAMP_FILE, {"what": "the folder of a DICOM node"}, keep_same=True)
        places = Places(folder)
        shutil.rmtree(places.unfinished, ignore_errors=True)
        for subfolder in (
            places.incoming,
            places.series,
            places.answers,
            places.begun,
            places.thumbnails,
            places.unfinished,
            *map(places.reports, STATES),
        ):
            subfolder.mkdir(parents=True, exist_ok=True)
        yield places
    finally:
        os.close(lock_descriptor)
