"""The memory that reading a volume takes, estimated from its header or file size, so that a batch does not
exceed its memory budget.

An oblique volume is resampled on a grid along the scanner axes, which may have many times its voxels: that
grid is counted from the header.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.dicom import reading as dicom
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.grid import stand_of
from fovnet.volume.dicom.reading import MAX_SERIES_VOXELS
from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.survey import file_stamp, survey
from fovnet.volume.formats import analyze, metaimage, mgh, nifti, nrrd
from fovnet.volume.grid import LPS_TO_RAS, WHOLE_VOXELS
from fovnet.volume.orient import straight_voxels
from fovnet.volume.unpacking import DAMAGED, GZIP, opened, regular

Header = tuple[tuple[int, ...], NDArray[np.float64]]

BYTES_PER_VOXEL = 18        # measured: 5 to 6 (integers, float32), 12 (float64), 8 to 16 with a next frame, 17 resampled (oblique by 34°)
STRAIGHT_TO_BYTES = 10      # of the voxels of a resampled grid beyond TWICE the volume's own: float32, once more if noise is made black
TWICE = 2                   # a grid oblique by 34° has 1.9 times the voxels of the volume
HAVE_HEADERS = (nifti, nrrd, metaimage, mgh, analyze)        # of formats that can be oblique, besides DICOM
OPENING_BYTES = 1024
PACKED_TO_BYTES = 27        # per byte of a compressed file of unknown grid: int16 unpacks about threefold, and its 2 bytes take 18
PLAIN_TO_BYTES = 18         # per byte of an uncompressed file: voxels of one byte, the smallest
LEAST_BYTES = 2**22         # 200 slices of 128 × 128, a decoded header, buffers
HEADER_BYTES = 540          # NIfTI-2's; NIfTI-1's has 348

BUDGET_BYTES = 2**32
"""Memory for all volumes of a batch that are being read or wait to be used; a larger volume is read alone."""


def bytes_to_read(path: Path, whole_voxels: int = WHOLE_VOXELS) -> int:
    """The approximate bytes of memory that reading a volume takes; at most those of the largest DICOM series (MAX_SERIES_VOXELS).

    From the grid in a NIfTI header, else from the size on disk: for a folder that of all its series, for a series in it that of its files.
    LEAST_BYTES for a file that cannot be opened: it will be refused.
    """
    place, series = split_address(path)
    try:
        if place.is_dir():
            wanted = _taken_in(place, place.stat().st_mtime_ns).get(series, 0)
        else:
            wanted = _bytes_of_file(place, series, whole_voxels)
    except (OSError, ValueError, VolumeError):       # ValueError: a null byte in the name; VolumeError: a pipe
        wanted = 0
    except Exception:                   # reading it will raise it too, and refuse the volume; until then it is alone
        return BUDGET_BYTES
    return LEAST_BYTES + min(wanted, MAX_SERIES_VOXELS * BYTES_PER_VOXEL)


@lru_cache(maxsize=64)
def _taken_in(folder: Path, changed_ns: int) -> dict[str, int]:
    """Bytes of memory for each series of a folder, by the digits of its address, and for all under ""; cached
    for a batch of these series."""
    sizes = {"": 0}
    for series in survey(folder).series:
        on_disk = sum(max(file_stamp(file)[0], 0) for file in {item.path for item in series.items})
        own, straight = _counted(partial(_series_header, series))
        taken = max(PACKED_TO_BYTES * on_disk, BYTES_PER_VOXEL * own) + _straight_bytes(own, straight)
        sizes |= {**dict.fromkeys((series.id, *series.beside), taken), "": sizes[""] + taken}
    return sizes


def _bytes_of_file(path: Path, series: str, whole_voxels: int) -> int:
    with regular(path).open("rb") as file:
        packed = file.read(2) in (GZIP, b"PK")
    try:
        with opened(path) as stream:
            opening = stream.read(OPENING_BYTES)
    except (*DAMAGED, EOFError):
        return 0
    grids = [_counted(header) for header in _headers(path, opening, series)]
    voxels, straight = _voxels(opening[:HEADER_BYTES]), sum(_straight_bytes(own, straight) for own, straight in grids)
    if voxels is not None:
        return int(min(1.0, whole_voxels / voxels) * (voxels * BYTES_PER_VOXEL + straight))
    detached = min(sum(own for own, _ in grids), whole_voxels) * BYTES_PER_VOXEL        # a header with its voxels in another file
    return max(detached, path.stat().st_size * (PACKED_TO_BYTES if packed else PLAIN_TO_BYTES)) + straight


def _headers(path: Path, opening: bytes, series: str) -> Sequence[Callable[[], Header]]:
    """What gives shape and affine of the volume in a file, or of each DICOM series meant; empty for formats
    that are never oblique."""
    if dicom.claims(path, opening):
        return [partial(_series_header, one) for one in survey(path).series if not series or one.is_called(series)]
    return [partial(form.header_of, path) for form in HAVE_HEADERS if form.claims(path, opening)][:1]


def _series_header(series: Series) -> Header:
    """The shape (columns, rows, images) and the affine of a series as if it were evenly spaced."""
    stand, (columns, rows) = stand_of("", series.frames), (series.frames[0].columns, series.frames[0].rows)
    apart = np.ptp(stand.along) / max(1, len(stand.along) - 1)
    vox_to_lps = np.eye(4)
    vox_to_lps[:3, :3] = stand.axes.T * [stand.spacing_mm[1], stand.spacing_mm[0], apart or 1.0]
    return (columns, rows, len(stand.along)), LPS_TO_RAS @ vox_to_lps


def _counted(header: Callable[[], Header]) -> tuple[int, int]:
    """(voxels of a volume, voxels of its grid along the scanner axes); (0, 0) for a header that the reader
    will refuse."""
    try:
        sizes, vox_to_ras = header()
        return math.prod(sizes[:3]), straight_voxels(vox_to_ras, sizes[:3])
    except Exception:                   # for invalid numbers the libraries may raise any exception
        return 0, 0


def _straight_bytes(own: int, straight: int) -> int:
    return STRAIGHT_TO_BYTES * max(0, straight - TWICE * own)


def _voxels(first: bytes) -> int | None:
    """The number of voxels of a frame from a NIfTI header, of a single file or a pair, in either byte order; None for other formats."""
    try:
        if first[344:348] in (b"n+1\0", b"ni1\0"):
            header: Any = nibabel.Nifti1Header(first[:348], check=False)  # type: ignore[no-untyped-call]
        elif first[4:8] in (b"n+2\0", b"ni2\0"):
            header = nibabel.Nifti2Header(first[:HEADER_BYTES], check=False)  # type: ignore[no-untyped-call]
        else:
            return None
        shape = header.get_data_shape()
    except Exception:                   # an invalid header after a valid magic: the reader will refuse it
        return None
    return max(1, math.prod(max(0, int(side)) for side in shape[:3]))
