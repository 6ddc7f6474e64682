"""A volume on disk, as it travels from being found to its slices and its answer; what it is, is
found out once.

    find_volumes            its format, from its first bytes (kind)
    estimate_bytes_to_read  its grid, from its header
    look_again, read        its files and, of DICOM, its series; checked, and the checksum taken
    file_record             stamps, checksum, and what lies beside it, for the next run
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fovnet.errors import VolumeError
from fovnet.records import checksum
from fovnet.volume.both_signs import note_both_signs
from fovnet.volume.checks import refuse_ct, refuse_labels
from fovnet.volume.dicom import reading as dicom
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.choosing import SeriesChoice, choose_series
from fovnet.volume.filled import remove_fill
from fovnet.volume.formats import nifti
from fovnet.volume.sources.kind import FileKind, FileStamps, file_kind, stamp_of_status
from fovnet.volume.sources.readers import DICOM_READER, READERS, Reader, find_reader, run_guarded
from fovnet.volume.unpacking import collect_checksums, regular_path
from fovnet.volume.volume import Volume

READER_BY_NAME = {reader.name: reader for reader in READERS}


@dataclass(frozen=True)
class Source:
    """A volume on disk.  Made by `source_of`, for all volumes under some paths by `discovery.find_volumes`.

    path         of a file, of a folder or an archive with one volume, or the address of a series in
                 one
    format_name  the name of the reader that claims it; empty if none does
    stamps       size, times and inode of the file, folder or archive when its format was found;
                 empty if unreadable
    is_packed    whether the file is gzip or a zip archive
    opening      the first bytes of a NIfTI file then, unpacked; empty for other formats
    refusal      why no reader claims it, if none does

    All else is found when it is first asked for, and then kept, as it was at that moment: `look_again`
    forgets it.
    """

    path: Path
    format_name: str
    stamps: FileStamps
    is_packed: bool = False
    opening: bytes = field(default=b"", repr=False, compare=False)
    refusal: VolumeError | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, kind: FileKind) -> Source:
        """The source that stands at a path; one that no reader claims is refused, with the reason,
        when it is read."""
        format_name = ""
        refusal = None
        try:
            format_name = find_reader(kind).name
        except Exception as fault:  # reading it raises it again, whatever it is
            if isinstance(fault, VolumeError):
                refusal = fault.with_traceback(None)
        opening = b""
        if format_name == "NIfTI":
            opening = kind.opening[: nifti.HEADER_BYTES]
        return cls(kind.path, format_name, kind.stamps, kind.is_packed, opening, refusal)

    def look_again(self) -> Source:
        """The source as it is at this moment.  Its format is found again only if none was, or if it
        has changed."""
        if self.format_name and self.has_same_stamps():
            return replace(self)
        return source_of(self.path)

    def has_same_stamps(self) -> bool:
        """Whether the file, folder or archive has the stamps that it had when its format was found."""
        return self.stamps == stamps_of_files([split_address(self.path)[0]])

    @property
    def size_bytes(self) -> int:
        """The size of the file, folder or archive when its format was found; 0 if unreadable."""
        if not self.stamps:
            return 0
        return self.stamps[0][0]

    @property
    def reader(self) -> Reader:
        """Raises VolumeError as `find_reader` if no reader claims it."""
        if self.format_name:
            return READER_BY_NAME[self.format_name]
        if self.refusal is not None:
            raise self.refusal
        return find_reader(file_kind(self.path))

    @cached_property
    def series(self) -> SeriesChoice | None:
        """Its DICOM series; None for other formats.  Raises VolumeError if it means none, or
        several."""
        if self.format_name != DICOM_READER.name:
            return None
        return run_guarded(DICOM_READER, self.path, lambda: choose_series(self.path))

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """Its files, in the order of its format.  Raises VolumeError as `read`."""
        reader = self.reader
        if self.series:
            return self.series.files
        return run_guarded(reader, self.path, lambda: reader.files_of(self.path))

    @cached_property
    def file_stamps(self) -> FileStamps | None:
        """`stamps_of_files` its files, or of itself if they are not known."""
        return stamps_of_files(self._files_or_itself)

    @cached_property
    def checksum(self) -> str:
        """SHA-256 hex of its file; of several files, or a series given by its address, of their
        joined checksums and its digits.

        Raises VolumeError as `read`.
        """
        checksums = run_guarded(
            self.reader,
            self.path,
            lambda: [
                self._checksum_by_file.get(file) or checksum(regular_path(file))
                for file in self.files
            ],
        )
        series_id = split_address(self.path)[1]
        if series_id:
            checksums.append(series_id)
        if len(checksums) == 1:
            return checksums[0]
        return hashlib.sha256("".join(checksums).encode()).hexdigest()

    @cached_property
    def _checksum_by_file(self) -> dict[Path, str]:
        """Of the bytes that `read` made the volume of, or refused."""
        return {}

    @property
    def content_checksum(self) -> str | None:
        """Its checksum; that of the file itself for what is no volume; None if unreadable."""
        try:
            return self.checksum
        except VolumeError:
            try:
                return checksum(regular_path(self.path))
            except (OSError, VolumeError):  # VolumeError: a pipe, whose opening may block for ever
                return None

    @cached_property
    def neighbour_notes(self) -> list[str] | None:
        """Notes on a DICOM volume that depend on the objects beside it; None for other formats, and
        if unreadable."""
        try:
            if self.series:
                return list(self.series.neighbour_notes)
        except VolumeError:
            pass
        return None

    def is_unchanged(self) -> bool:
        """Whether its files still have the stamps that they had."""
        return self.file_stamps == stamps_of_files(self._files_or_itself)

    @cached_property
    def _files_or_itself(self) -> tuple[Path, ...]:
        try:
            return self.files
        except VolumeError:
            return (self.path,)

    def __getstate__(self) -> dict[str, Any]:
        """All but the series: a thousand headers, which another process can do without."""
        return {name: value for name, value in self.__dict__.items() if name != "series"}


def source_of(path: Path) -> Source:
    """The source at a path, whatever is there, as `Source.of`."""
    return Source.of(file_kind(Path(path)))


def read(source: Source | Path) -> Volume:
    """The volume of a source, on its grid as stored.

    Raises VolumeError for any fault of the file: the code is stable ("volume-missing",
    "volume-format", "volume-truncated", "volume-geometry", ...), the message states the file, the
    value seen, the value wanted, and what to try.
    """
    if not isinstance(source, Source):
        source = source_of(source)
    path = source.path
    reader = source.reader
    series = source.series
    with collect_checksums(source._checksum_by_file):
        volume = run_guarded(
            reader, path, lambda: dicom.volume_of(series) if series else reader.read(path)
        )
    volume = remove_fill(volume)
    if volume.images is None:  # DICOM states the modality, and phase images have values below -900
        refuse_ct(volume)
    refuse_labels(volume)
    return note_both_signs(volume)


def stamps_of_files(files: Iterable[Path]) -> FileStamps | None:
    """`stamp_of_status` each file; None if one cannot be asked."""
    try:
        return [stamp_of_status(file.stat()) for file in files]
    except (OSError, ValueError):  # ValueError: a null byte in the name
        return None
