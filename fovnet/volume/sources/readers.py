"""The choice of the reader of a file, and a refusal with a reason for every file that none can
read.

Formats are identified by content, not by name: a text file renamed `.nii` is reported as a text
file.  To add a format, add an entry to READERS.
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
from fovnet.volume.formats import analyze, gipl, metaimage, mgh, nifti, nrrd
from fovnet.volume.sources.kind import FileKind, file_kind
from fovnet.volume.sources.other_formats import ANNEX, leads_to_annex, recognise_other_format
from fovnet.volume.unpacking import DAMAGE_EXCEPTIONS, has_preamble, is_gzip
from fovnet.volume.volume import Volume

Result = TypeVar("Result")

VOLUME_NAME_SUFFIXES = (
    ".nii.gz",
    ".hdr.gz",
    ".img.gz",
    ".mgh.gz",
    ".gipl.gz",
    ".nii",
    ".hdr",
    ".img",
)


@dataclass(frozen=True)
class Reader:
    """One format.

    name      for messages
    suffixes  for messages
    claims    whether a file is in this format
    read      the volume in a file
    files_of  the files that a volume has
    """

    name: str
    suffixes: str
    claims: Callable[[FileKind], bool]
    read: Callable[[Path], Volume]
    files_of: Callable[[Path], tuple[Path, ...]] = lambda path: (path,)


def _claims_opening(claims: Callable[[Path, bytes], bool]) -> Callable[[FileKind], bool]:
    """The test of a format that asks for the name and the first bytes, unpacked."""
    return lambda kind: claims(kind.path, kind.opening)


DICOM_READER = Reader(
    "DICOM", "files, folders and zip archives", FileKind.means_dicom, dicom.read, dicom.files_of
)
READERS: tuple[Reader, ...] = (
    Reader(
        "NIfTI",
        ".nii, .nii.gz, .hdr/.img, NIfTI-1 or -2",
        _claims_opening(nifti.claims),
        nifti.read,
        nifti.files_of,
    ),
    Reader("NRRD", ".nrrd, .nhdr", _claims_opening(nrrd.claims), nrrd.read, nrrd.files_of),
    Reader(
        "MetaImage",
        ".mha, .mhd",
        _claims_opening(metaimage.claims),
        metaimage.read,
        metaimage.files_of,
    ),
    Reader("MGH", ".mgh, .mgz", _claims_opening(mgh.claims), mgh.read),
    Reader("GIPL", ".gipl, .gipl.gz", _claims_opening(gipl.claims), gipl.read),
    Reader(
        "Analyze",
        ".hdr/.img with SPM's .mat",
        _claims_opening(analyze.claims),
        analyze.read,
        analyze.files_of,
    ),
    DICOM_READER,
)


def find_reader(kind: FileKind) -> Reader:
    """The reader that claims a file.

    Raises VolumeError "volume-format", with what the file seems to be, if none does, and as
    `_refuse_unreadable`.
    """
    _refuse_unreadable(kind)
    readers = READERS
    if has_preamble(kind.opening):
        readers = (DICOM_READER,)
    for reader in readers:
        # a test may read more than the first bytes: the header beside an .img
        if run_guarded(reader, kind.path, partial(reader.claims, kind)):
            return reader
    seeming_kind, remedy = recognise_other_format(kind.path, kind.opening)
    readable_formats = "; ".join(f"{reader.name} ({reader.suffixes})" for reader in READERS)
    raise VolumeError(
        "volume-format",
        f"{kind.path}: this is {seeming_kind}; fovnet reads {readable_formats}. {remedy}",
    )


def has_reader(kind: FileKind) -> bool:
    """Whether some reader claims a file; False for a file that cannot be opened."""
    try:
        return bool(find_reader(kind))
    except VolumeError:
        return False


def volume_name(path: Path) -> str:
    """The file name without the suffixes of a volume: "knee.v2.nii.gz" gives "knee.v2", the address
    "study.zip#0123456789ab" gives "study-0123456789ab"."""
    container, series_id = split_address(path)
    if series_id:
        return f"{volume_name(container)}-{series_id}"
    container_name = container.name
    if container_name in ("", "..") or os.path.isdir(container):  # noqa: PTH112  (is_dir raises in a closed folder); 1.2.840.113 has no suffix
        return container.resolve().name or "volume"
    suffix = next(
        (suffix for suffix in VOLUME_NAME_SUFFIXES if container_name.lower().endswith(suffix)),
        Path(container_name).suffix,
    )
    return container_name[: len(container_name) - len(suffix)] or container_name


def run_guarded(reader: Reader, path: Path, work: Callable[[], Result]) -> Result:
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
    except DAMAGE_EXCEPTIONS as fault:
        raise _refusal_of_damage(path, fault) from fault
    except MemoryError as fault:
        raise refusal_of_memory(path, "read it") from fault
    except OSError as fault:
        raise _refusal_of_os_fault(path, fault) from fault
    except Exception as fault:  # for damaged files the libraries may raise any exception
        raise VolumeError(
            "volume-corrupt", f"{path}: damaged {reader.name} ({fault}). Export it again."
        ) from fault


def refusal_of_memory(path: Path, what: str) -> VolumeError:
    """The refusal of a volume within all limits for which memory ran out while doing `what`; a
    later attempt may succeed."""
    return VolumeError(
        "volume-memory",
        f"{path}: not enough memory to {what}. Try again with fewer other programs running or fewer workers, "
        "or resample it to larger voxels.",
    )


def _refuse_unreadable(kind: FileKind) -> None:
    """Raises VolumeError for a file that is empty, or whose first bytes could not be read."""
    path = kind.container
    fault = kind.fault
    if isinstance(fault, DAMAGE_EXCEPTIONS):
        raise VolumeError(
            "volume-corrupt",
            f"{path}: begins like gzip but cannot be unpacked ({fault}). Copy it again.",
        ) from fault
    if isinstance(fault, EOFError):
        raise VolumeError(
            "volume-truncated",
            f"{path}: the gzip ends before anything can be unpacked. Copy it again.",
        ) from fault
    if isinstance(fault, OSError):
        raise _refusal_of_os_fault(path, fault) from fault
    if isinstance(fault, ValueError):  # a null byte in the name
        raise VolumeError(
            "volume-missing", f"{str(path)!r}: not a possible file name ({fault}). Check the path."
        ) from fault
    if fault is not None:
        raise fault
    if not kind.opening and not kind.is_folder:
        raise VolumeError(
            "volume-empty", f"{path}: the file is empty. Copy it again from its origin."
        )


def _refusal_of_damage(path: Path, fault: Exception) -> VolumeError:
    """The refusal of damaged compressed data, or of gzip followed by other bytes, which gunzip
    ignores with a warning."""
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


def _refusal_of_os_fault(path: Path, fault: OSError) -> VolumeError:
    if isinstance(fault, FileNotFoundError | NotADirectoryError):
        container, hash_sign, digits = str(path).rpartition("#")
        if (
            hash_sign
            and os.path.lexists(container)
            and not _may_hold_series(file_kind(Path(container)))
        ):
            return VolumeError(
                "volume-series",
                f"{path}: {container} is no folder, archive or DICOM file, so it holds no series to name. "
                f"Leave #{digits} out.",
            )
        if hash_sign and os.path.lexists(container):
            return VolumeError(
                "volume-series",
                f"{path}: {digits!r} after # is not a series: it must be twelve hexadecimal digits, as "
                f"found.tsv and `{shlex.join(['fovnet', 'predict', container])}` show them. Name one of those.",
            )
        if fault.filename and Path(fault.filename).name != path.name:
            return VolumeError(
                "volume-missing",
                f"{path}: its other half {Path(fault.filename).name} is missing. Put it beside this file.",
            )
        if path.is_symlink():
            target = path.readlink()
            if leads_to_annex(str(target)):
                return VolumeError("volume-missing", f"{path}: {ANNEX[0]}. {ANNEX[1]}")
            return VolumeError(
                "volume-missing",
                f"{path}: a link to {target}, which does not exist. Correct the link.",
            )
        return VolumeError("volume-missing", f"{path}: there is no such file. Check the path.")
    if isinstance(fault, PermissionError):
        missing_name = Path(fault.filename or path).name
        subject = f"{path}:"
        if missing_name != path.name:
            subject = f"{path}: {missing_name}, a part of it,"
        return VolumeError(
            "volume-permission",
            f"{subject} may not be read by this user. Change its permissions (chmod u+r), or those of "
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


def _may_hold_series(kind: FileKind) -> bool:
    return kind.is_folder or kind.is_archive or kind.looks_like_dicom()
