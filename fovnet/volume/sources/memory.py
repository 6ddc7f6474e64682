"""The memory that reading a volume takes, estimated from its header or file size, so that a batch does not
exceed its memory budget.

An oblique volume is resampled on a grid along the scanner axes, which may have many times its voxels: that
grid is counted from the header.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.grid import stack_positions
from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.survey import file_stamp, find_series, survey
from fovnet.volume.formats import analyze, metaimage, mgh, nifti, nrrd
from fovnet.volume.grid import LPS_TO_RAS, MOST_BYTES, VOXEL_BYTES
from fovnet.volume.orient import straight_voxels
from fovnet.volume.sources.readers import DICOM
from fovnet.volume.sources.source import Source
from fovnet.volume.unpacking import GZIP, regular

Header = tuple[tuple[int, ...], NDArray[np.float64]]

MOST_VOXELS = MOST_BYTES // VOXEL_BYTES
# measured: 4 whatever is stored, 9 with a next frame, 15 to 17 if oblique by 25° to 34°
BYTES_PER_VOXEL = 18
# of the voxels of a resampled grid beyond TWICE the volume's own: float32, once more if noise is made black
STRAIGHT_TO_BYTES = 10
TWICE = 2  # a grid oblique by 34° has 1.9 times the voxels of the volume
HEADER_OF = {  # of the formats that can be oblique, besides DICOM
    "NIfTI": nifti.header_of,
    "NRRD": nrrd.header_of,
    "MetaImage": metaimage.header_of,
    "MGH": mgh.header_of,
    "Analyze": analyze.header_of,
}
# per byte of a compressed file of unknown grid: int16 unpacks about threefold, and its 2 bytes take 18
PACKED_TO_BYTES = 27
PLAIN_TO_BYTES = 18  # per byte of an uncompressed file: voxels of one byte, the smallest
LEAST_BYTES = 2**22  # 200 slices of 128 × 128, a decoded header, buffers

BUDGET_BYTES = 2**32
"""Memory for all volumes of a batch that are being read or wait to be used; a larger volume is read alone."""


def bytes_to_read(source: Source) -> int:
    """The approximate bytes of memory that reading a volume takes; at most those of the largest one
    (MOST_VOXELS).

    From the grid in a NIfTI header, else from grid and size on disk: for a folder those of all its series,
    for a series in it those of its files.  LEAST_BYTES for a file that will be refused by its header.
    """
    place, series = split_address(source.path)
    try:
        folder = place.is_dir()
        sizes = (
            _taken_in(place, place.stat().st_mtime_ns)
            if folder
            else {series: _bytes_of_file(source, place, series)}
        )
        wanted = sizes.get(series, 0)
    except (
        OSError,
        ValueError,
        VolumeError,
    ):  # a null byte in the name; a file that no reader claims
        wanted = 0
    except Exception:
        # reading it will raise it too, and refuse the volume; until then it is alone
        return BUDGET_BYTES
    return LEAST_BYTES + min(wanted, MOST_VOXELS * BYTES_PER_VOXEL)


@lru_cache(maxsize=64)
def _taken_in(folder: Path, changed_ns: int) -> dict[str, int]:
    """Bytes of memory for each series of a folder, by the digits of its address, and for all under ""; cached
    for a batch of these series."""
    sizes = {"": 0}
    for series in survey(folder).series:
        on_disk = sum(max(file_stamp(file)[0], 0) for file in {item.path for item in series.items})
        own, straight = _counted(partial(_series_header, series))
        taken = max(PACKED_TO_BYTES * on_disk, BYTES_PER_VOXEL * own) + _straight_bytes(
            own, straight
        )
        sizes |= {**dict.fromkeys((series.id, *series.beside), taken), "": sizes[""] + taken}
    return sizes


def _bytes_of_file(source: Source, place: Path, series: str) -> int:
    """Those of one volume; of a file or an archive of DICOM, of all its series or that of the address."""
    format_of = source.reader.name
    if format_of == DICOM.name:
        named = find_series(place, series) if series else None
        meant = survey(place).series if named is None else (named,)
        grids = [_counted(partial(_series_header, one)) for one in meant]
    else:
        grids = (
            [_counted(partial(HEADER_OF[format_of], source.path))] if format_of in HEADER_OF else []
        )
    own = BYTES_PER_VOXEL * sum(voxels for voxels, _ in grids)
    straight = sum(_straight_bytes(*grid) for grid in grids)
    if format_of == "NIfTI":
        return own + straight
    with regular(place).open("rb") as file:
        packed = file.read(2) in (GZIP, b"PK")
    return (
        max(own, place.stat().st_size * (PACKED_TO_BYTES if packed else PLAIN_TO_BYTES)) + straight
    )


def _series_header(series: Series) -> Header:
    """The shape (columns, rows, images) and the affine of a series as if it were evenly spaced."""
    stand, (columns, rows) = (
        stack_positions("", series.frames),
        (series.frames[0].columns, series.frames[0].rows),
    )
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
    except Exception:  # for invalid numbers the libraries may raise any exception
        return 0, 0


def _straight_bytes(own: int, straight: int) -> int:
    return STRAIGHT_TO_BYTES * max(0, straight - TWICE * own)
