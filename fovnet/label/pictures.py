"""The pictures of volumes for the page: all axial cuts on one sheet, and single slices as they were
acquired.

Cuts are those the networks see, so that a volume of any size is a sheet of a megabyte at most.
Volumes are read ahead by one thread of its own; sheets are kept, the least lately used given up
first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
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
from fovnet.volume.intensity import window
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import SliceStack, slice_volume
from fovnet.volume.sources.source import read, source_of
from fovnet.volume.volume import Volume

CUTS_PER_LINE = 16  # cuts side by side on a sheet
QUALITY = 85
NO_SLICES = LabelGrid(0, 0.0, 0.0)
MOST_BYTES = 200_000_000
"""Of sheets that are kept: several hundred volumes."""


@dataclass(frozen=True)
class VolumeSheet:
    """A volume for the page.

    sheet     JPEG of its cuts, CUTS_PER_LINE side by side, from the feet on
    cut_of    (n,) the cut of each slice
    side_mm   of a cut, which is square
    notes     what was done while reading
    fault     why it cannot be shown, in a sentence; all else is empty then
    checksum  SHA-256 of what was read
    """

    sheet: bytes = b""
    cuts: int = 0
    cut_of: tuple[int, ...] = ()
    side_mm: float = 0.0
    grid: LabelGrid = NO_SLICES
    notes: tuple[str, ...] = ()
    fault: str = ""
    checksum: str = ""


class FullVolume(NamedTuple):
    """A volume in its original resolution: grey (i, j, k) as `Volume.voxels`, the plane of each
    slice that labels count (n,), and how many times as wide as high an axial slice is."""

    grey: NDArray[np.uint8]
    plane_of: NDArray[np.int64]
    wide_to_high: float


class PictureStore:
    """The pictures of some volumes, by their index."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._lock = Lock()
        self._reader = ThreadPoolExecutor(1)
        self._originals = ThreadPoolExecutor(1)
        self._begun: OrderedDict[int, Future[VolumeSheet]] = OrderedDict()
        self._whole: tuple[int, FullVolume] | None = None

    def of(self, index: int) -> VolumeSheet:
        """The volume of that index, waited for if it is not read yet."""
        return self.ahead(index).result()

    def ahead(self, index: int) -> Future[VolumeSheet]:
        """The same, begun if it was not, and not waited for."""
        with self._lock:
            if index not in self._begun:
                self._begun[index] = self._reader.submit(_reading_task(self._paths[index]))
                self._give_up()
            self._begun.move_to_end(index)
            return self._begun[index]

    def only_ahead(self, indices: Sequence[int]) -> None:
        """Reads these ahead, in this order, and no longer others that are not begun."""
        with self._lock:
            for index in [index for index in self._begun if index not in indices]:
                if self._begun[index].cancel():
                    del self._begun[index]
        for index in indices:
            self.ahead(index)

    def slice(self, index: int, slice_index: int) -> tuple[bytes, float]:
        """JPEG of one slice as acquired, counted as labels count, and how many times as wide as
        high it is; windowed as the volume is.

        Raises VolumeError as reading does, and "volume-changed" where the file is another than that
        of the cuts.
        """
        volume = self._originals.submit(self._read_whole, index).result()
        plane = volume.grey[::-1, ::-1, volume.plane_of[slice_index]].T
        return jpeg(plane, 92), volume.wide_to_high

    def close(self) -> None:
        """Stops reading."""
        for executor in (self._reader, self._originals):
            executor.shutdown(wait=False, cancel_futures=True)

    def _read_whole(self, index: int) -> FullVolume:
        if self._whole is None or self._whole[0] != index:
            self._whole = None  # two at once might not fit
            source = source_of(self._paths[index])
            if source.checksum != self.of(index).checksum:
                raise VolumeError(
                    "volume-changed",
                    f"{source.path}: another file now than when its cuts were read; start `fovnet "
                    "label` again",
                )
            self._whole = index, _full_volume(to_ras(read(source)))
        return self._whole[1]

    def _give_up(self) -> None:
        """Forgets the least lately used sheets beyond MOST_BYTES; within the lock."""
        size_of_sheet = {
            index: len(future.result().sheet)
            for index, future in self._begun.items()
            if future.done() and not future.cancelled()
        }
        bytes_over = sum(size_of_sheet.values()) - MOST_BYTES
        for index, size in size_of_sheet.items():
            if bytes_over <= 0:
                break
            bytes_over -= size
            del self._begun[index]


def _full_volume(volume: Volume) -> FullVolume:
    black, white = window(volume.voxels)
    with np.errstate(over="ignore"):  # a voxel 1e35 times the window is white
        grey = np.clip((volume.voxels - black) * np.float32(255 / (white - black)), 0, 255).astype(
            np.uint8
        )
    planes = np.arange(grey.shape[2])
    counted_z_mm = volume.counted_z_mm
    if counted_z_mm is not None:
        planes = np.abs(counted_z_mm[:, None] - volume.slice_heights_mm()).argmin(axis=1)
    width_mm, height_mm = (volume.spacing_mm[:2] * grey.shape[:2]).tolist()
    return FullVolume(grey, planes, width_mm / height_mm)


def _reading_task(path: Path) -> Callable[[], VolumeSheet]:
    def read_sheet() -> VolumeSheet:
        try:
            return _sheet_of(slice_volume(source_of(path)))
        except FovnetError as fault:
            return VolumeSheet(fault=str(fault))
        except Exception as fault:
            return VolumeSheet(fault=str(internal(path, fault)))

    return read_sheet


def _sheet_of(stack: SliceStack) -> VolumeSheet:
    slices = stack.counted_slices or int(stack.covers[-1, 1]) + 1
    if stack.counted is None:
        cut_of = np.repeat(np.arange(len(stack.covers)), np.diff(stack.covers, axis=1)[:, 0] + 1)
    else:
        cut_of = np.abs(np.arange(slices)[:, None] - stack.counted).argmin(axis=1)
    edges_mm = stack.edges_mm
    return VolumeSheet(
        jpeg(contact_sheet(stack.pixels, CUTS_PER_LINE), QUALITY),
        len(stack.pixels),
        tuple(cut_of.tolist()),
        stack.side_mm,
        grid_between(float(edges_mm[0]), float(edges_mm[-1]), slices),
        stack.notes,
        checksum=stack.checksum,
    )
