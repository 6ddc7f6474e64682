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
from fovnet.own_files import LABEL_LOG_NAME

LOG_FILE_NAME = LABEL_LOG_NAME
LOG_FORMAT = 1


class Log:
    """A log file, created where it is missing.

    dropped_line_count  lines without an end that were found and removed
    Raises CollectionError "label-log" for a file that is no such log, or one with other regions.
    """

    def __init__(self, path: Path, regions: list[str]) -> None:
        self.path = path
        self.dropped_line_count = 0
        self._regions = regions
        self._thread_lock = Lock()
        self._read_byte_count = 0
        self._read_line_count = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("a+b", buffering=0)
        self._descriptor = self._stream.fileno()
        with self.lock():
            if os.fstat(self._descriptor).st_size == 0:
                self.append({"fovnet": __version__, "label_log": LOG_FORMAT, "regions": regions})

    @contextmanager
    def lock(self) -> Iterator[None]:
        """No other process or thread writes while the block runs."""
        with self._thread_lock:
            take_lock(self._descriptor, wait=True)
            try:
                self._drop_unfinished_line()
                yield
            finally:
                release_lock(self._descriptor)

    def read_new_actions(self) -> list[dict[str, Any]]:
        """The actions that were written since this was last asked, by whichever process; within
        `lock`."""
        new_bytes = os.pread(
            self._descriptor,
            os.fstat(self._descriptor).st_size - self._read_byte_count,
            self._read_byte_count,
        )
        log_lines = [
            self._parse_line(raw_line, self._read_line_count + line_offset)
            for line_offset, raw_line in enumerate(new_bytes.split(b"\n")[:-1], start=1)
        ]
        begins_with_header = self._read_byte_count == 0
        if begins_with_header:
            self._refuse_other_log(log_lines[0])
        self._read_byte_count += len(new_bytes)
        self._read_line_count += len(log_lines)
        return log_lines[1:] if begins_with_header else log_lines

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()

    def append(self, log_line: Mapping[str, Any]) -> None:
        """Writes a line, and waits until it is on the disk; within `lock`.  Raises OSError, and
        leaves the file as it was, if the disk is full."""
        size_before = os.fstat(self._descriptor).st_size
        encoded_line = (
            json.dumps(log_line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        )
        try:
            if self._stream.write(encoded_line) != len(encoded_line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, size_before)
            raise

    def _drop_unfinished_line(self) -> None:
        """Removes a last line without an end: what a process was writing when it was killed."""
        byte_count = os.fstat(self._descriptor).st_size
        if byte_count == 0 or os.pread(self._descriptor, 1, byte_count - 1) == b"\n":
            return
        log_bytes = os.pread(self._descriptor, byte_count, 0)
        os.ftruncate(self._descriptor, log_bytes.rfind(b"\n") + 1)
        self.dropped_line_count += 1

    def _parse_line(self, raw_line: bytes, line_number: int) -> dict[str, Any]:
        """A line of the log as a dictionary.  Raises CollectionError "label-log" for any other
        text."""
        try:
            log_line = json.loads(raw_line)
        except ValueError:
            log_line = None
        if not isinstance(log_line, dict):
            raise CollectionError(
                "label-log",
                f"{self.path}, line {line_number}: no action as `fovnet label` writes it; put the file "
                "back as it was, or label into another folder",
            )
        return log_line

    def _refuse_other_log(self, header: Mapping[str, Any]) -> None:
        """Raises CollectionError "label-log" for the header of another version, or of other
        regions."""
        if header.get("label_log") != LOG_FORMAT:
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
