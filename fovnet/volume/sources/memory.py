"""The memory that reading a volume takes, estimated from its header or file size, so that a batch
does not exceed its memory budget.

An oblique volume is resampled on a grid along the scanner axes, which may have many times its
voxels: that grid is counted from the header.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.grid import locate_images
from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.survey import file_stamp, find_series, survey
from fovnet.volume.formats import analyze, metaimage, mgh, nifti, nrrd
from fovnet.volume.grid import LPS_TO_RAS, MAX_FRAME_BYTES, VOXEL_BYTES
from fovnet.volume.orient import count_straight_voxels
from fovnet.volume.sources.readers import DICOM_READER
from fovnet.volume.sources.source import Source

ShapeAndAffine = tuple[tuple[int, ...], NDArray[np.float64]]

MAX_VOXELS = MAX_FRAME_BYTES // VOXEL_BYTES
# measured: 4 whatever is stored, 9 with a next frame, 15 to 17 if oblique by 25° to 34°
BYTES_PER_VOXEL = 18
# of the voxels of a resampled grid beyond UNCOUNTED_GROWTH the volume's own: float32, once more if noise is made black
BYTES_PER_STRAIGHT_VOXEL = 10
UNCOUNTED_GROWTH = 2  # a grid oblique by 34° has 1.9 times the voxels of the volume
HEADER_READER_BY_FORMAT = {  # of the formats that can be oblique, besides DICOM and NIfTI
    "NRRD": nrrd.header_of,
    "MetaImage": metaimage.header_of,
    "MGH": mgh.header_of,
    "Analyze": analyze.header_of,
}
# per byte of a compressed file of unknown grid: int16 unpacks about threefold, and its 2 bytes take 18
BYTES_PER_PACKED_BYTE = 27
BYTES_PER_PLAIN_BYTE = 18  # per byte of an uncompressed file: voxels of one byte, the smallest
LEAST_BYTES = 2**22  # 200 slices of 128 × 128, a decoded header, buffers

BATCH_BUDGET_BYTES = 2**32
"""Memory for all volumes of a batch that are being read or wait to be used; a larger volume is read
alone."""


def estimate_bytes_to_read(source: Source) -> int:
    """The approximate bytes of memory that reading a volume takes; at most those of the largest one
    (MAX_VOXELS).

    From the grid in a NIfTI header, else from grid and size on disk: for a folder those of all its
    series, for a series in it those of its files.  LEAST_BYTES for a file that will be refused by
    its header.
    """
    container, series_id = split_address(source.path)
    try:
        if container.is_dir():
            needed_bytes = _bytes_by_series_id(container, container.stat().st_mtime_ns).get(
                series_id, 0
            )
        else:
            needed_bytes = _bytes_of_file(source, container, series_id)
    except (OSError, ValueError, VolumeError):
        needed_bytes = 0  # a null byte in the name; a file that no reader claims
    except Exception:
        # reading it will raise it too, and refuse the volume; until then it is alone
        return BATCH_BUDGET_BYTES
    return LEAST_BYTES + min(needed_bytes, MAX_VOXELS * BYTES_PER_VOXEL)


@lru_cache(maxsize=64)
def _bytes_by_series_id(folder: Path, changed_ns: int) -> dict[str, int]:
    """Bytes of memory for each series of a folder, by the digits of its address, and for all under
    ""; cached for a batch of these series."""
    bytes_by_series_id: dict[str, int] = {}
    total_bytes = 0
    for series in survey(folder).series:
        files = {dicom_object.path for dicom_object in series.objects}
        file_bytes = sum(max(file_stamp(file)[0], 0) for file in files)
        voxel_counts = _count_voxels(partial(_series_header, series))
        needed_bytes = max(
            BYTES_PER_PACKED_BYTE * file_bytes, BYTES_PER_VOXEL * voxel_counts.stored_count
        )
        needed_bytes += voxel_counts.straight_bytes
        bytes_by_series_id |= dict.fromkeys((series.series_id, *series.other_ids), needed_bytes)
        total_bytes += needed_bytes
    return bytes_by_series_id | {"": total_bytes}


def _bytes_of_file(source: Source, container: Path, series_id: str) -> int:
    """Those of one volume; of a file or an archive of DICOM, of all its series or that of the
    address."""
    format_name = source.reader.name
    if format_name == DICOM_READER.name:
        series_list = _find_series_at(container, series_id)
        voxel_counts_of_volumes = [
            _count_voxels(partial(_series_header, series)) for series in series_list
        ]
    elif format_name == "NIfTI":
        opening = source.opening if source.has_same_stamps() else b""
        voxel_counts_of_volumes = [_count_voxels(partial(nifti.header_of, source.path, opening))]
    elif format_name in HEADER_READER_BY_FORMAT:
        voxel_counts_of_volumes = [
            _count_voxels(partial(HEADER_READER_BY_FORMAT[format_name], source.path))
        ]
    else:
        voxel_counts_of_volumes = []
    grid_bytes = BYTES_PER_VOXEL * sum(
        voxel_counts.stored_count for voxel_counts in voxel_counts_of_volumes
    )
    straight_bytes = sum(voxel_counts.straight_bytes for voxel_counts in voxel_counts_of_volumes)
    if format_name == "NIfTI":
        return grid_bytes + straight_bytes
    bytes_per_file_byte = BYTES_PER_PLAIN_BYTE
    if source.is_packed:
        bytes_per_file_byte = BYTES_PER_PACKED_BYTE
    return max(grid_bytes, container.stat().st_size * bytes_per_file_byte) + straight_bytes


def _find_series_at(container: Path, series_id: str) -> Sequence[Series]:
    """The series of an address, or if it has no digits, or none is there, all of the container."""
    if series_id:
        series = find_series(container, series_id)
        if series is not None:
            return (series,)
    return survey(container).series


def _series_header(series: Series) -> ShapeAndAffine:
    """The shape (columns, rows, images) and the affine of a series as if it were evenly spaced."""
    first_frame = series.frames[0]
    positions = locate_images("", series.frames)
    image_count = len(positions.depths_mm)
    slice_distance_mm = np.ptp(positions.depths_mm) / max(1, image_count - 1) or 1.0
    row_mm, column_mm = positions.spacing_mm
    vox_to_lps = np.eye(4)
    vox_to_lps[:3, :3] = positions.axes.T * [column_mm, row_mm, slice_distance_mm]
    return (first_frame.columns, first_frame.rows, image_count), LPS_TO_RAS @ vox_to_lps


class VoxelCounts(NamedTuple):
    """The voxels of a volume.

    stored_count    as they are stored
    straight_count  of its grid along the scanner axes
    """

    stored_count: int
    straight_count: int

    @property
    def straight_bytes(self) -> int:
        """Memory for a grid along the scanner axes that is larger than the volume."""
        return BYTES_PER_STRAIGHT_VOXEL * max(
            0, self.straight_count - UNCOUNTED_GROWTH * self.stored_count
        )


def _count_voxels(read_header: Callable[[], ShapeAndAffine]) -> VoxelCounts:
    """The voxels that a header states; none for one that the reader will refuse."""
    try:
        axis_lengths, vox_to_ras = read_header()
        return VoxelCounts(
            math.prod(axis_lengths[:3]), count_straight_voxels(vox_to_ras, axis_lengths[:3])
        )
    except Exception:  # for invalid numbers the libraries may raise any exception
        return VoxelCounts(0, 0)
