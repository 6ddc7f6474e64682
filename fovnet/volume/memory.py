"""The memory that reading a volume takes, estimated from its header or file size, so that a batch does not exceed its memory budget."""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import nibabel

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.reading import MAX_SERIES_VOXELS
from fovnet.volume.dicom.survey import file_stamp, survey
from fovnet.volume.grid import WHOLE_VOXELS
from fovnet.volume.unpacking import DAMAGED, GZIP, opened, regular

BYTES_PER_VOXEL = 18        # measured: 5 to 6 (integers, float32), 12 (float64), 8 to 16 with a next frame, 17 resampled (oblique by 34°)
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
            wanted = PACKED_TO_BYTES * _sizes_in(place, place.stat().st_mtime_ns).get(series, 0)
        else:
            wanted = _bytes_of_file(place, whole_voxels)
    except (OSError, ValueError, VolumeError):       # ValueError: a null byte in the name; VolumeError: a pipe
        wanted = 0
    return LEAST_BYTES + min(wanted, MAX_SERIES_VOXELS * BYTES_PER_VOXEL)


@lru_cache(maxsize=64)
def _sizes_in(folder: Path, changed_ns: int) -> dict[str, int]:
    """Bytes on disk of each series of a folder, by the digits of its address, and of all under ""; cached for a batch of these series."""
    sizes = {"": 0}
    for series in survey(folder).series:
        taken = sum(max(file_stamp(file)[0], 0) for file in {item.path for item in series.items})
        sizes |= {**dict.fromkeys((series.id, *series.beside), taken), "": sizes[""] + taken}
    return sizes


def _bytes_of_file(path: Path, whole_voxels: int) -> int:
    with regular(path).open("rb") as file:
        packed = file.read(2) in (GZIP, b"PK")
    try:
        with opened(path) as stream:
            voxels = _voxels(stream.read(HEADER_BYTES))
    except (*DAMAGED, EOFError):
        return 0
    if voxels is not None:
        return min(voxels, whole_voxels) * BYTES_PER_VOXEL
    return path.stat().st_size * (PACKED_TO_BYTES if packed else PLAIN_TO_BYTES)


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
