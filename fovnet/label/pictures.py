"""The pictures of volumes for the page: all axial cuts on one sheet, and single slices as they were
acquired.

Cuts are those the networks see, so that a volume of any size is a sheet of a megabyte at most.
Volumes are read ahead by one thread of its own; sheets are kept, the least lately used given up
first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.drawing.raster import contact_sheet, jpeg
from fovnet.errors import FovnetError, VolumeError
from fovnet.label.law import LabelGrid, grid_between
from fovnet.unforeseen import internal
from fovnet.volume.intensity import estimate_window
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import SliceStack, slice_volume
from fovnet.volume.sources.source import read, source_of
from fovnet.volume.volume import Volume

CUTS_PER_LINE = 16  # cuts side by side on a sheet
JPEG_QUALITY = 85
NO_SLICES = LabelGrid(0, 0.0, 0.0)
MOST_SHEET_BYTES = 200_000_000
"""Of sheets that are kept: several hundred volumes."""


@dataclass(frozen=True)
class VolumeSheet:
    """A volume for the page.

    jpeg_bytes    JPEG of its cuts, CUTS_PER_LINE side by side, from the feet on
    cut_count     how many cuts are on it
    cut_of_slice  (n,) the index of the cut that shows each slice
    cut_side_mm   of a cut, which is square
    grid          the slices that labels count
    notes         what was done while reading, in sentences
    fault         why it cannot be shown, in a sentence; all else is empty then
    checksum      SHA-256 of what was read
    """

    jpeg_bytes: bytes = b""
    cut_count: int = 0
    cut_of_slice: tuple[int, ...] = ()
    cut_side_mm: float = 0.0
    grid: LabelGrid = NO_SLICES
    notes: tuple[str, ...] = ()
    fault: str = ""
    checksum: str = ""


class FullVolume(NamedTuple):
    """A volume in its original resolution.

    grey_voxels        (i, j, k) uint8, with the axes of `Volume.voxels`
    plane_of_slice     (n,) the plane k that each slice lies in, as labels count slices
    width_over_height  of an axial slice, both in mm
    """

    grey_voxels: NDArray[np.uint8]
    plane_of_slice: NDArray[np.int64]
    width_over_height: float


class PictureStore:
    """The pictures of some volumes, by their index."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._lock = Lock()
        self._sheet_reader = ThreadPoolExecutor(1)
        self._original_reader = ThreadPoolExecutor(1)
        self._sheet_future_by_index: OrderedDict[int, Future[VolumeSheet]] = OrderedDict()
        self._kept_index: int | None = None
        self._kept_volume: FullVolume | None = None

    def sheet_of(self, index: int) -> VolumeSheet:
        """The volume of that index, waited for if it is not read yet."""
        return self.read_ahead(index).result()

    def read_ahead(self, index: int) -> Future[VolumeSheet]:
        """The sheet of that index as a future, begun if it was not, and not waited for."""
        with self._lock:
            if index not in self._sheet_future_by_index:
                self._sheet_future_by_index[index] = self._sheet_reader.submit(
                    _read_sheet, self._paths[index]
                )
                self._forget_least_used_sheets()
            self._sheet_future_by_index.move_to_end(index)
            return self._sheet_future_by_index[index]

    def read_ahead_only(self, indices: Sequence[int]) -> None:
        """Reads these ahead, in this order, and no longer others that are not begun."""
        with self._lock:
            for index in [index for index in self._sheet_future_by_index if index not in indices]:
                if self._sheet_future_by_index[index].cancel():
                    del self._sheet_future_by_index[index]
        for index in indices:
            self.read_ahead(index)

    def slice_picture(self, index: int, slice_index: int) -> tuple[bytes, float]:
        """JPEG of one slice as acquired, counted as labels count, and how many times as wide as
        high it is; windowed as the volume is.

        Raises VolumeError as reading does, and "volume-changed" where the file is another than that
        of the cuts.
        """
        full_volume = self._original_reader.submit(self._full_volume_of_index, index).result()
        slice_grey = full_volume.grey_voxels[::-1, ::-1, full_volume.plane_of_slice[slice_index]].T
        return jpeg(slice_grey, 92), full_volume.width_over_height

    def close(self) -> None:
        """Stops reading."""
        for executor in (self._sheet_reader, self._original_reader):
            executor.shutdown(wait=False, cancel_futures=True)

    def _full_volume_of_index(self, index: int) -> FullVolume:
        """The volume of an index in its original resolution; the one last asked for is kept."""
        if self._kept_volume is None or self._kept_index != index:
            self._kept_volume = None  # two at once might not fit
            source = source_of(self._paths[index])
            if source.checksum != self.sheet_of(index).checksum:
                raise VolumeError(
                    "volume-changed",
                    f"{source.path}: another file now than when its cuts were read; start `fovnet "
                    "label` again",
                )
            self._kept_volume = _full_volume(to_ras(read(source)))
            self._kept_index = index
        return self._kept_volume

    def _forget_least_used_sheets(self) -> None:
        """Forgets the least lately used sheets beyond MOST_SHEET_BYTES; within the lock."""
        sheet_bytes_by_index = {
            index: len(future.result().jpeg_bytes)
            for index, future in self._sheet_future_by_index.items()
            if future.done() and not future.cancelled()
        }
        bytes_over = sum(sheet_bytes_by_index.values()) - MOST_SHEET_BYTES
        for index, sheet_bytes in sheet_bytes_by_index.items():
            if bytes_over <= 0:
                break
            bytes_over -= sheet_bytes
            del self._sheet_future_by_index[index]


def _full_volume(volume: Volume) -> FullVolume:
    """The volume windowed to 8 bits, with the plane that each counted slice lies in."""
    black_value, white_value = estimate_window(volume.voxels)
    with np.errstate(over="ignore"):  # a voxel 1e35 times the window is white
        grey_voxels = np.clip(
            (volume.voxels - black_value) * np.float32(255 / (white_value - black_value)), 0, 255
        ).astype(np.uint8)
    plane_of_slice = np.arange(grey_voxels.shape[2])
    counted_z_mm = volume.label_slice_z_mm
    if counted_z_mm is not None:
        plane_of_slice = np.abs(counted_z_mm[:, None] - volume.slice_heights_mm()).argmin(axis=1)
    width_mm, height_mm = (volume.spacing_mm[:2] * grey_voxels.shape[:2]).tolist()
    return FullVolume(grey_voxels, plane_of_slice, width_mm / height_mm)


def _read_sheet(path: Path) -> VolumeSheet:
    """The sheet of the volume at a path; it has a fault where the volume cannot be read."""
    try:
        return _sheet_of_stack(slice_volume(source_of(path)))
    except FovnetError as refusal:
        return VolumeSheet(fault=str(refusal))
    except Exception as refusal:
        return VolumeSheet(fault=str(internal(path, refusal)))


def _sheet_of_stack(stack: SliceStack) -> VolumeSheet:
    """The sheet of a volume that is cut into slices."""
    slice_count = stack.label_slice_count or int(stack.slice_ranges[-1, 1]) + 1
    if stack.label_slices is None:
        cut_of_slice = np.repeat(
            np.arange(len(stack.slice_ranges)), np.diff(stack.slice_ranges, axis=1)[:, 0] + 1
        )
    else:
        cut_of_slice = np.abs(np.arange(slice_count)[:, None] - stack.label_slices).argmin(axis=1)
    edges_mm = stack.edges_mm
    return VolumeSheet(
        jpeg_bytes=jpeg(contact_sheet(stack.pixels, CUTS_PER_LINE), JPEG_QUALITY),
        cut_count=len(stack.pixels),
        cut_of_slice=tuple(cut_of_slice.tolist()),
        cut_side_mm=stack.side_mm,
        grid=grid_between(float(edges_mm[0]), float(edges_mm[-1]), slice_count),
        notes=stack.notes,
        checksum=stack.checksum,
    )
