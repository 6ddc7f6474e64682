"""The choice of the reader of a file, and a refusal with a reason for every file that none can read.

Formats are identified by content, not by name: a text file renamed `.nii` is reported as a text file.  To add
a format, add an entry to READERS.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from fovnet.errors import VolumeError
from fovnet.volume.dicom import reading as dicom
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.source import is_archive, looks_like_dicom
from fovnet.volume.formats import analyze, gipl, metaimage, mgh, nifti, nrrd
from fovnet.volume.sources.other_formats import ANNEX, is_annexed, other_format
from fovnet.volume.unpacking import DAMAGED, has_preamble, is_gzip, opened
from fovnet.volume.volume import Volume

Result = TypeVar("Result")

OPENING_BYTES = 1024  # enough for the magic of every format below; NIfTI-2's header is 540 bytes
SUFFIXES = (".nii.gz", ".hdr.gz", ".img.gz", ".mgh.gz", ".gipl.gz", ".nii", ".hdr", ".img")


@dataclass(frozen=True)
class Reader:
    """One format: name and suffixes for messages; functions that tell whether it claims a file (path, first
    bytes, uncompressed), read a volume, and list its files."""

    name: str
    suffixes: str
    claims: Callable[[Path, bytes], bool]
    read: Callable[[Path], Volume]
    files_of: Callable[[Path], tuple[Path, ...]] = lambda path: (path,)


DICOM = Reader("DICOM", "files, folders and zip archives", dicom.claims, dicom.read, dicom.files_of)
READERS = (
    Reader(
        "NIfTI", ".nii, .nii.gz, .hdr/.img, NIfTI-1 or -2", nifti.claims, nifti.read, nifti.files_of
    ),
    Reader("NRRD", ".nrrd, .nhdr", nrrd.claims, nrrd.read, nrrd.files_of),
    Reader("MetaImage", ".mha, .mhd", metaimage.claims, metaimage.read, metaimage.files_of),
    Reader("MGH", ".mgh, .mgz", mgh.claims, mgh.read),
    Reader("GIPL", ".gipl, .gipl.gz", gipl.claims, gipl.read),
    Reader("Analyze", ".hdr/.img with SPM's .mat", analyze.claims, analyze.read, analyze.files_of),
    DICOM,
)


def reader_of(path: Path) -> Reader:
    """The reader that claims a file.  Raises VolumeError "volume-format", with what the file seems to be, if
    none does."""
    opening = _opening(path)
    for reader in (DICOM,) if has_preamble(opening) else READERS:
        # a test may read more than the first bytes
        if guarded(reader, path, partial(reader.claims, path, opening)):
            return reader
    kind, remedy = other_format(path, opening)
    known = "; ".join(f"{reader.name} ({reader.suffixes})" for reader in READERS)
    raise VolumeError("volume-format", f"{path}: this is {kind}; fovnet reads {known}. {remedy}")


def is_known(path: Path) -> bool:
    """Whether some reader claims a file; False for a file that cannot be opened."""
    try:
        return bool(reader_of(path))
    except VolumeError:
        return False


def volume_name(path: Path) -> str:
    """The file name without the suffixes of a volume: "knee.v2.nii.gz" gives "knee.v2", the address
    "study.zip#0123456789ab" gives "study-0123456789ab"."""
    place, series = split_address(path)
    if series:
        return f"{volume_name(place)}-{series}"
    name = place.name
    if name in ("", "..") or os.path.isdir(place):  # noqa: PTH112  (is_dir raises in a closed folder); 1.2.840.113 has no suffix
        return place.resolve().name or "volume"
    suffix = next(
        (suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), Path(name).suffix
    )
    return name[: len(name) - len(suffix)] or name


def guarded(reader: Reader, path: Path, work: Callable[[], Result]) -> Result:
    """The result of `work`; any exception inside the reader becomes a VolumeError."""
    try:
        # results from a damaged header are refused later
        with np.errstate(over="ignore", invalid="ignore"):
            return work()
    except VolumeError:
        raise
    except EOFError as fault:
        raise VolumeError(
            "volume-truncated", f"{path}: the file ends too early ({fault}). Copy it again."
        ) from fault
    except DAMAGED as fault:
        raise _damage(path, fault) from fault
    except MemoryError as fault:
        raise short_of_memory(path, "read it") from fault
    except OSError as fault:
        raise _os_fault(path, fault) from fault
    except Exception as fault:  # for damaged files the libraries may raise any exception
        raise VolumeError(
            "volume-corrupt", f"{path}: damaged {reader.name} ({fault}). Export it again."
        ) from fault


def short_of_memory(path: Path, what: str) -> VolumeError:
    """The refusal of a volume within all limits for which memory ran out while doing `what`; a later attempt
    may succeed."""
    return VolumeError(
        "volume-memory",
        f"{path}: not enough memory to {what}. Try again with fewer other programs running or fewer workers, "
        "or resample it to larger voxels.",
    )


def _opening(path: Path) -> bytes:
    """The first bytes of a file, uncompressed if it is gzip; empty for a folder.  Raises VolumeError if it is
    empty or cannot be read."""
    try:
        path = split_address(path)[0]
        if path.is_dir():
            return b""
        with opened(path) as file:
            opening = file.read(OPENING_BYTES)
    except DAMAGED as fault:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: begins like gzip but cannot be unpacked ({fault}). Copy it again.",
        ) from fault
    except EOFError as fault:
        raise VolumeError(
            "volume-truncated",
            f"{path}: the gzip ends before anything can be unpacked. Copy it again.",
        ) from fault
    except OSError as fault:
        raise _os_fault(path, fault) from fault
    except ValueError as fault:  # a null byte in the name
        raise VolumeError(
            "volume-missing", f"{str(path)!r}: not a possible file name ({fault}). Check the path."
        ) from fault
    if not opening:
        raise VolumeError(
            "volume-empty", f"{path}: the file is empty. Copy it again from its origin."
        )
    return opening


def _damage(path: Path, fault: Exception) -> VolumeError:
    """The refusal of damaged compressed data, or of gzip followed by other bytes, which gunzip ignores with a
    warning."""
    with suppress(OSError, VolumeError):
        if str(fault).startswith("Not a gzipped file") and is_gzip(path):
            return VolumeError(
                "volume-corrupt",
                f"{path}: extra bytes follow the gzip data ({fault}). Copy it again, or unpack it with "
                "gunzip -c IN > OUT, which drops them.",
            )
    return VolumeError(
        "volume-corrupt", f"{path}: the compressed data are damaged ({fault}). Copy it again."
    )


def _os_fault(path: Path, fault: OSError) -> VolumeError:
    if isinstance(fault, FileNotFoundError | NotADirectoryError):
        place, hash_sign, digits = str(path).rpartition("#")
        if hash_sign and os.path.lexists(place) and not _may_hold_series(Path(place)):
            return VolumeError(
                "volume-series",
                f"{path}: {place} is no folder, archive or DICOM file, so it holds no series to name. "
                f"Leave #{digits} out.",
            )
        if hash_sign and os.path.lexists(place):
            return VolumeError(
                "volume-series",
                f"{path}: {digits!r} after # is not a series: it must be twelve hexadecimal digits, as "
                f"found.tsv and `{shlex.join(['fovnet', 'predict', place])}` show them. Name one of those.",
            )
        if fault.filename and Path(fault.filename).name != path.name:
            return VolumeError(
                "volume-missing",
                f"{path}: its other half {Path(fault.filename).name} is missing. Put it beside this file.",
            )
        if path.is_symlink():
            target = path.readlink()
            if is_annexed(str(target)):
                return VolumeError("volume-missing", f"{path}: {ANNEX[0]}. {ANNEX[1]}")
            return VolumeError(
                "volume-missing",
                f"{path}: a link to {target}, which does not exist. Correct the link.",
            )
        return VolumeError("volume-missing", f"{path}: there is no such file. Check the path.")
    if isinstance(fault, PermissionError):
        part = Path(fault.filename or path).name
        which = f"{path}:" if part == path.name else f"{path}: {part}, a part of it,"
        return VolumeError(
            "volume-permission",
            f"{which} may not be read by this user. Change its permissions (chmod u+r), or those of "
            "the folders above it (chmod u+rx).",
        )
    # raised by nibabel or gzip, not by the system: "Expected 200 bytes, got 96 bytes"
    if fault.errno is None:
        return VolumeError(
            "volume-truncated",
            f"{path}: the data end too early ({fault}). Copy it again from its origin.",
        )
    return VolumeError(
        "volume-unreadable",
        f"{path}: cannot be read ({fault.strerror or fault}). Check the disk and the path.",
    )


def _may_hold_series(place: Path) -> bool:
    return place.is_dir() or is_archive(place) or looks_like_dicom(place)
