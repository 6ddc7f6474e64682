"""How much memory reading a volume takes, judged from its first bytes, so that a batch never reads more at a time than fits."""

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

BYTES_PER_VOXEL = 18        # measured: 5 to 6 (integers, float32), 12 (float64), 8 to 16 beside a next frame, 17 resampled (oblique by 34°)
PACKED_TO_BYTES = 27        # of a compressed file whose grid is not known: int16 unpacks about threefold, and becomes 18 bytes for its 2
PLAIN_TO_BYTES = 18         # of a file of bytes, the smallest voxels there are
LEAST_BYTES = 2**22         # 200 slices of 128 × 128, a decoded header, buffers
HEADER_BYTES = 540          # NIfTI-2's; NIfTI-1's has 348

BUDGET_BYTES = 2**32
"""What the volumes of a batch that are being read, or wait for their turn, may take together; one larger volume is read alone."""


def bytes_to_read(path: Path, whole_voxels: int = WHOLE_VOXELS) -> int:
    """About the bytes of memory that reading a volume takes; never more than the largest frame that is held whole needs.

    From the grid in a NIfTI header, else from the size on disk: of a folder, of all DICOM in it, and of a series there, of its own files.
    What cannot be opened takes little: it will be refused.
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
    """Bytes on disk of each series of a folder, by what it is called, and of all as ""; asked once for a batch that reads one after the
    other."""
    sizes = {"": 0}
    for series in survey(folder).series:
        taken = sum(max(file_stamp(file)[0], 0) for file in {item.path for item in series.items})
        sizes |= {series.id: taken, series.beside: taken, "": sizes[""] + taken}
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
    """Voxels of a frame by a NIfTI header, of a single file or a pair, in either byte order; None for other bytes."""
    try:
        if first[344:348] in (b"n+1\0", b"ni1\0"):
            header: Any = nibabel.Nifti1Header(first[:348], check=False)  # type: ignore[no-untyped-call]
        elif first[4:8] in (b"n+2\0", b"ni2\0"):
            header = nibabel.Nifti2Header(first[:HEADER_BYTES], check=False)  # type: ignore[no-untyped-call]
        else:
            return None
        shape = header.get_data_shape()
    except Exception:                   # nonsense behind a right magic: the reader will refuse it
        return None
    return max(1, math.prod(max(0, int(side)) for side in shape[:3]))
