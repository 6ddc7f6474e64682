"""The log of a labelling: one JSON line an action, appended and on the disk before it is answered.

It is the truth; tables are made from it.  Several processes, of several readers, write to the same
file: each holds its lock while it reads what the others wrote, decides, and appends.  A line that a
killed process left unfinished is dropped, and counted.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from fovnet._version import __version__
from fovnet.errors import CollectionError
from fovnet.machine.locks import release_lock, take_lock
from fovnet.own_files import LABEL_LOG

FILE_NAME = LABEL_LOG
FORMAT = 1


class Log:
    """A log file, created where it is missing.

    dropped  lines without an end that were found and removed
    Raises CollectionError "label-log" for a file that is no such log, or one with other regions.
    """

    def __init__(self, path: Path, regions: list[str]) -> None:
        self.path = path
        self.dropped = 0
        self._regions = regions
        self._threads = Lock()
        self._read_to = 0
        self._lines = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("a+b", buffering=0)
        self._file = self._stream.fileno()
        with self.lock():
            if os.fstat(self._file).st_size == 0:
                self._write({"fovnet": __version__, "label_log": FORMAT, "regions": regions})

    @contextmanager
    def lock(self) -> Iterator[None]:
        """No other process or thread writes while the block runs."""
        with self._threads:
            take_lock(self._file, wait=True)
            try:
                self._drop_unfinished()
                yield
            finally:
                release_lock(self._file)

    def news(self) -> list[dict[str, Any]]:
        """The actions that were written since this was last asked, by whichever process; within
        `lock`."""
        text = os.pread(self._file, os.fstat(self._file).st_size - self._read_to, self._read_to)
        facts = [
            self._fact(line, self._lines + number)
            for number, line in enumerate(text.split(b"\n")[:-1], start=1)
        ]
        begins_file = self._read_to == 0
        if begins_file:
            self._refuse_other(facts[0])
        self._read_to += len(text)
        self._lines += len(facts)
        return facts[1:] if begins_file else facts

    def append(self, action: Mapping[str, Any]) -> None:
        """Writes an action, and waits until it is on the disk; within `lock`.  Raises OSError, and
        leaves the file as it was, if the disk is full."""
        self._write(action)

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()

    def _write(self, fact: Mapping[str, Any]) -> None:
        size = os.fstat(self._file).st_size
        line = json.dumps(fact, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        try:
            if self._stream.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def _drop_unfinished(self) -> None:
        """Removes a last line without an end: what a process was writing when it was killed."""
        size = os.fstat(self._file).st_size
        if size == 0 or os.pread(self._file, 1, size - 1) == b"\n":
            return
        text = os.pread(self._file, size, 0)
        os.ftruncate(self._file, text.rfind(b"\n") + 1)
        self.dropped += 1

    def _fact(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            fact = json.loads(line)
        except ValueError:
            fact = None
        if not isinstance(fact, dict):
            raise CollectionError(
                "label-log",
                f"{self.path}, line {number}: no action as `fovnet label` writes it; put the file "
                "back as it was, or label into another folder",
            )
        return fact

    def _refuse_other(self, header: Mapping[str, Any]) -> None:
        if header.get("label_log") != FORMAT:
            raise CollectionError(
                "label-log",
                f"{self.path}: not a log of this version of `fovnet label`; label into another "
                "folder",
            )
        if header.get("regions") != self._regions:
            raise CollectionError(
                "label-log",
                f"{self.path}: labels of the regions {', '.join(header.get('regions', []))}, "
                f"wanted {', '.join(self._regions)}; give the same --regions, or another folder",
            )
