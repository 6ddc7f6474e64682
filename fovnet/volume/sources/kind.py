"""What stands at a path, from one look: its state on disk, and its first bytes from one opening.

Discovery, the choice of a reader and the source ask this record, so that a file is opened once for
all of their questions.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path

from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.source import DICOM_SUFFIXES as DICOM_SUFFIXES
from fovnet.volume.dicom.source import ZIP_MAGIC, begins_like_dicom
from fovnet.volume.unpacking import (
    GZIP_MAGIC,
    begins_like_gzip,
    decode_stream,
    has_preamble,
    refuse_pipe,
)

OPENING_BYTES = 1024  # enough for the magic of every format; NIfTI-2's header is 540 bytes

FileStamps = list[list[int]]
"""Size, mtime, ctime and inode of each of some files."""


@dataclass(frozen=True)
class FileKind:
    """What stands at a path, as one look at it saw it.

    path            of a file or a folder, or the address of a series in one
    container       the file or folder itself
    series_id       of the address; empty if the path is none
    mode            type and permissions of the container, as in `os.stat`; 0 if the disk does not
                    tell
    stamps          size, times and inode of the container; empty if the disk does not tell
    stored_opening  the first bytes of a file as they are stored; empty if it cannot be read
    opening         the first bytes of a file, unpacked if they are gzip
    fault           why the container cannot be read or its first bytes not be unpacked
    """

    path: Path
    container: Path
    series_id: str
    mode: int = 0
    stamps: FileStamps = field(default_factory=list)
    stored_opening: bytes = b""
    opening: bytes = b""
    fault: Exception | None = None

    @property
    def is_folder(self) -> bool:
        """Whether the container is a folder."""
        return stat.S_ISDIR(self.mode)

    @property
    def is_closed(self) -> bool:
        """Whether the container is a folder that this user may not read."""
        return self.is_folder and not os.access(self.container, os.R_OK | os.X_OK)

    @property
    def is_file(self) -> bool:
        """Whether the container is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_archive(self) -> bool:
        """Whether the first bytes are those of a zip archive, not the preamble of a DICOM file."""
        return self.stored_opening.startswith(ZIP_MAGIC) and not has_preamble(self.stored_opening)

    @property
    def is_packed(self) -> bool:
        """Whether the first two bytes are those of gzip or zip."""
        return self.stored_opening[:2] in (GZIP_MAGIC, ZIP_MAGIC)

    def looks_like_dicom(self) -> bool:
        """Whether a file's suffix or first bytes are those of DICOM."""
        return self.path.name.lower().endswith(DICOM_SUFFIXES) or begins_like_dicom(
            self.stored_opening
        )

    def means_dicom(self) -> bool:
        """Whether the path is a folder, an address of a series, a zip archive or a DICOM file; not
        one packed with gzip."""
        if self.series_id or self.is_folder or self.is_archive:
            return True
        return begins_like_dicom(self.opening) and not begins_like_gzip(self.stored_opening)


def file_kind(path: Path) -> FileKind:
    """What stands at a path now.  A pipe is never opened: that could block for ever."""
    container, series_id = split_address(path)
    try:
        file_status = container.stat()
    except (OSError, ValueError) as fault:  # ValueError: a null byte in the name
        return FileKind(path, container, series_id, fault=fault)
    kind = FileKind(path, container, series_id, file_status.st_mode, [stamp_of_status(file_status)])
    if kind.is_folder:
        return kind
    stored_opening = b""
    try:
        refuse_pipe(container, kind.mode)
        with container.open("rb", buffering=0) as file:
            stored_opening = file.read(OPENING_BYTES)
            if not begins_like_gzip(stored_opening):
                return replace(kind, stored_opening=stored_opening, opening=stored_opening)
            file.seek(0)
            unpacked_opening = decode_stream(file, "gzip").read(OPENING_BYTES)
    # a damaged stream may raise any: `find_reader` refuses the file for it
    except Exception as fault:
        return replace(kind, stored_opening=stored_opening, fault=fault)
    return replace(kind, stored_opening=stored_opening, opening=unpacked_opening)


def stamp_of_status(file_status: os.stat_result) -> list[int]:
    """Size, mtime, ctime and inode of a file, which change when it is changed or replaced."""
    return [
        file_status.st_size,
        file_status.st_mtime_ns,
        file_status.st_ctime_ns,
        file_status.st_ino,
    ]
