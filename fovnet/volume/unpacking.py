"""The bytes of a file, decompressed if necessary, and never more of them in memory than a header
asks for.

isal decompresses gzip two to four times as fast as the standard library (a 17 MB head: 19 against
49 ms), and verifies the checksum too.
"""

from __future__ import annotations

import bz2
import hashlib
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from isal import igzip, isal_zlib
from numpy.typing import NDArray

from fovnet.errors import VolumeError

GZIP_MAGIC = b"\x1f\x8b"
PREAMBLE_BYTES = 132  # of a DICOM file, with the magic "DICM"
DICOM_OPENING_BYTES = 140  # bytes to read to know a DICOM file: also the first element
PIECE_BYTES = 1 << 20
NUMBERS_AT_ONCE = 1 << 20  # numbers in memory before they become float32
# most bytes read after the voxels to reach gzip's checksum, or skipped before them
MAX_SKIPPED_BYTES = 1 << 26
# exceptions of a damaged stream
DAMAGE_EXCEPTIONS = (zlib.error, cast(type[Exception], isal_zlib.IsalError), igzip.BadGzipFile)

_checksum_by_file: ContextVar[dict[Path, str] | None] = ContextVar("checksum", default=None)


def has_preamble(opening: bytes) -> bool:
    """Whether "DICM" stands at byte 128.  The 128 bytes before it are free: they may be the header
    of a TIFF, an Analyze or a gzip file.

    This wins over any other magic number: NIfTI has its lowest intensity there, and in a text
    header no zero follows, as in a tag.  Source: DICOM PS3.10, 7.1.
    """
    return opening[128:PREAMBLE_BYTES] == b"DICM" and (
        len(opening) <= PREAMBLE_BYTES or b"\0" in opening[PREAMBLE_BYTES:DICOM_OPENING_BYTES]
    )


def regular_path(path: Path) -> Path:
    """The path, if it is a file or folder.  Raises VolumeError as `refuse_pipe`, and OSError if
    nothing is there."""
    refuse_pipe(path, path.stat().st_mode)
    return path


def refuse_pipe(path: Path, mode: int) -> None:
    """Raises VolumeError "volume-unreadable" for the mode of a pipe, a socket or a device: opening
    one may block for ever."""
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        kind_of_file = next(
            kind_name for is_of_kind, kind_name in _SPECIAL_FILE_KINDS if is_of_kind(mode)
        )
        raise VolumeError(
            "volume-unreadable",
            f"{path}: this is {kind_of_file}, not a file on disk. Copy its contents into a file.",
        )


def open_unpacked(path: Path) -> BinaryIO:
    """A binary stream from the start of a file, decompressed if its content (not its name) is gzip."""
    file = open_file(path)
    try:
        is_packed = begins_like_gzip(file.read(DICOM_OPENING_BYTES))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    if is_packed:
        return cast(BinaryIO, _Gzip(file))
    return file


def open_file(path: Path) -> BinaryIO:
    """A binary stream of the bytes of a regular file; its checksum is taken as they are read, where
    `collect_checksums` asks for it."""
    if _checksum_by_file.get() is None:
        return regular_path(path).open("rb")
    return io.BufferedReader(_DigestedFile(regular_path(path)))


@contextmanager
def collect_checksums(checksum_by_file: dict[Path, str]) -> Iterator[None]:
    """Within it, the SHA-256 hex of the bytes of the files that this thread reads as a volume is put
    into `checksum_by_file`, so that no file is read again for it; see `_DigestedFile`."""
    token = _checksum_by_file.set(checksum_by_file)
    try:
        yield
    finally:
        _checksum_by_file.reset(token)


def note_checksum(path: Path, content: bytes) -> None:
    """Puts the checksum of a file that was read at once where `collect_checksums` asks for it."""
    checksum_by_file = _checksum_by_file.get()
    if checksum_by_file is not None:
        checksum_by_file[path] = hashlib.sha256(content).hexdigest()


def is_gzip(path: Path) -> bool:
    """Whether a file's content is gzip, whatever its name.  Raises OSError if it cannot be opened."""
    with regular_path(path).open("rb") as file:
        return begins_like_gzip(file.read(DICOM_OPENING_BYTES))


def unpack_opening(opening: bytes) -> bytes:
    """The first bytes of a file of which these are the first ones packed with gzip; empty if they
    are not gzip, or damaged."""
    try:
        return zlib.decompressobj(wbits=31).decompress(opening, 1024)
    except zlib.error:
        return b""


def begins_like_gzip(opening: bytes) -> bool:
    """Whether the first bytes of a file are the magic of gzip, not the preamble of a DICOM file."""
    return opening.startswith(GZIP_MAGIC) and not has_preamble(opening)


def decode_stream(file: BinaryIO, encoding: str) -> BinaryIO:
    """The rest of an open file, decoded while it is read: encoding "raw", "gzip", "zlib" or
    "bzip2".  Close the file."""
    if encoding == "gzip":
        return cast(BinaryIO, igzip.IGzipFile(fileobj=file))  # type: ignore[no-untyped-call]
    if encoding == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(file))
    if encoding == "zlib":
        return cast(BinaryIO, io.BufferedReader(_Zlib(file), PIECE_BYTES))
    return file


def count_plain_bytes(stream: BinaryIO) -> int | None:
    """The number of bytes left in a stream; None for a gzip stream, where it is known only after
    decompression."""
    if isinstance(cast(Any, stream), _Gzip):
        return None
    return os.fstat(stream.fileno()).st_size - stream.tell()


def read_numbers(
    path: Path, stream: BinaryIO, count: int, dtype: np.dtype[Any]
) -> Iterator[NDArray[Any]]:
    """The next `count` numbers of a stream, up to NUMBERS_AT_ONCE at a time, (m,).

    Raises VolumeError "volume-truncated" if it ends before.
    """
    for first_number in range(0, count, NUMBERS_AT_ONCE):
        number_piece = np.empty(min(NUMBERS_AT_ONCE, count - first_number), dtype)
        piece_bytes = memoryview(cast(Any, number_piece)).cast("B")
        filled_bytes = 0
        while filled_bytes < len(piece_bytes):
            read_length = stream.readinto(piece_bytes[filled_bytes : filled_bytes + PIECE_BYTES])  # type: ignore[attr-defined]
            if not read_length:
                read_bytes = first_number * dtype.itemsize + filled_bytes
                raise VolumeError(
                    "volume-truncated",
                    f"{path}: the voxels end after {read_bytes:,} of {count * dtype.itemsize:,} "
                    "bytes. Copy it again from its origin.",
                )
            filled_bytes += read_length
        yield number_piece


def skip_bytes(path: Path, stream: BinaryIO, count: int) -> None:
    """Reads and discards `count` bytes.  Raises VolumeError "volume-corrupt" for a count outside
    0..64 MiB, "volume-truncated"."""
    if not 0 <= count <= MAX_SKIPPED_BYTES:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: according to the header the voxels begin after {count:,} bytes; 0 to {MAX_SKIPPED_BYTES:,} "
            "are accepted. Export it again.",
        )
    while count:
        piece_length = len(stream.read(min(PIECE_BYTES, count)))
        if not piece_length:
            raise VolumeError(
                "volume-truncated",
                f"{path}: the file ends {count:,} bytes before its voxels begin. Copy it again.",
            )
        count -= piece_length


def read_to_end(stream: BinaryIO) -> int | None:
    """The number of bytes left in a stream, read to its end: only there gzip verifies its checksum,
    and detects a flipped bit.

    Reads at most 64 MiB, since a few kilobytes of gzip can decompress to any length; None if there
    are more.
    """
    rest_bytes = 0
    for _ in range(MAX_SKIPPED_BYTES // PIECE_BYTES):
        piece_length = len(stream.read(PIECE_BYTES))
        if not piece_length:
            return rest_bytes
        rest_bytes += piece_length
    return None


class _DigestedFile(io.FileIO):
    """A file that is digested while it is read, each byte once, in their order; when it is closed, to
    its end, unless more than MAX_SKIPPED_BYTES are left: further frames, which nobody may ask for."""

    def __init__(self, path: Path) -> None:
        super().__init__(os.fspath(path))
        self._path = path
        self._digest = hashlib.sha256()
        self._digested_bytes = 0

    def readinto(self, buffer: Any) -> int:
        position = self.tell()
        count = super().readinto(buffer) or 0
        if position <= self._digested_bytes < position + count:
            self._digest.update(memoryview(buffer)[self._digested_bytes - position : count])
            self._digested_bytes = position + count
        return count

    def close(self) -> None:
        checksum_by_file = _checksum_by_file.get()
        if not self.closed and checksum_by_file is not None:
            with suppress(OSError):  # it is read again, and refused
                if self.seek(0, os.SEEK_END) - self._digested_bytes <= MAX_SKIPPED_BYTES:
                    self.seek(self._digested_bytes)
                    while piece := self.read(PIECE_BYTES):
                        self._digest.update(piece)
                    checksum_by_file[self._path] = self._digest.hexdigest()
        super().close()


class _Gzip(igzip.IGzipFile):
    """A gzip stream that also closes the underlying file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        super().__init__(fileobj=file)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        super().close()
        self._file.close()


class _Zlib(io.RawIOBase):
    """A zlib or gzip stream (MetaImage uses both), decompressed piecewise."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = isal_zlib.decompressobj(wbits=47)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills the beginning of a buffer; how many bytes of it, 0 at the end.  Raises EOFError for data
        that stop in the middle."""
        while not self._decoder.eof:
            packed_bytes = self._decoder.unconsumed_tail or self._file.read(PIECE_BYTES)
            piece = self._decoder.decompress(packed_bytes, len(buffer))
            if piece:
                buffer[: len(piece)] = piece
                return len(piece)
            if not packed_bytes:
                raise EOFError("the compressed data stop in the middle")
        return 0


_SPECIAL_FILE_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (lambda mode: True, "something unknown"),
)
