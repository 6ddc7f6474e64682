"""The voxels of a format that stores plain numbers after a header: NIfTI, NRRD, MetaImage, GIPL, MGH, Analyze.

A reader converts its header into a Grid, which is checked here before memory is allocated; the voxels are then read frame by frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import LARGEST, times
from fovnet.volume.intensity import CLIP_PERCENTILE
from fovnet.volume.unpacking import DAMAGED, numbers

Made = TypeVar("Made")

MAX_VOXELS = 2**33             # 2048 × 2048 × 2048: more than any scanner makes; a file whose header claims them costs about a minute
UNUSABLE = 64                   # unusable frames after which the others are not tried
DIMMEST = 0.05                  # of the next frame's brightness: noise has 0.01 to 0.04, diffusion (b 1000) before its b 0 about 0.1
WHOLE_VOXELS = 2**27           # 512 × 512 × 512: measured 0.8 GB during reading, 2.3 GB if oblique and resampled

LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
MAX_AXES = 16                   # the limit of NRRD
LEFT_BYTES = 4096               # after the voxels; padding to a page adds fewer


@dataclass(frozen=True)
class Limits:
    """Limits of a frame's size in voxels: above `max_voxels` it is refused; above `whole_voxels` it is read slab by slab."""

    max_voxels: int = MAX_VOXELS
    whole_voxels: int = WHOLE_VOXELS


@dataclass(frozen=True)
class Grid:
    """Layout and scaling of the numbers after a header.

    sizes     length of every axis, the fastest in the file first
    dtype     of a stored number, with its byte order
    spatial   which of the axes are i, j, k; every other one counts frames
    slope, intercept   intensity = slope · stored + intercept
    """

    sizes: tuple[int, ...]
    dtype: np.dtype[Any]
    spatial: tuple[int, int, int] = (0, 1, 2)
    slope: float = 1.0
    intercept: float = 0.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of voxels of a frame along i, j, k."""
        i, j, k = (self.sizes[axis] for axis in self.spatial)
        return i, j, k

    @property
    def together(self) -> int:
        """How many of the first axes must be read at once for a whole frame: 3 if frames follow one another."""
        return max(self.spatial) + 1

    @property
    def bytes(self) -> int:
        """Bytes of all numbers, uncompressed."""
        return math.prod(self.sizes) * self.dtype.itemsize


def refuse_grid(path: Path, grid: Grid, max_voxels: int, stored_bytes: int | None) -> None:
    """Raises VolumeError for a header with no voxels, too many, more than the file contains, or an invalid grid or scaling.

    stored_bytes  bytes of voxels in the file, None if they are compressed
    """
    if len(grid.sizes) > MAX_AXES or min(grid.sizes) < 0:
        raise VolumeError("volume-corrupt", f"{path}: a grid of {times(grid.sizes)}; up to {MAX_AXES} positive sizes are possible. "
                                            "Export it again.")
    if 0 in grid.sizes:
        raise VolumeError("volume-shape", f"{path}: the grid is {times(grid.sizes)}, without a single voxel. Export it again.")
    if not (np.isfinite([grid.slope, grid.intercept]).all() and grid.slope):
        raise VolumeError("volume-corrupt", f"{path}: the header scales the voxels by {grid.slope:g} and "
                                            f"{grid.intercept:g}. Export it again.")
    if math.prod(grid.sizes[: grid.together]) > max_voxels:
        raise VolumeError("volume-too-large", f"{path}: a frame of {times(grid.sizes[: grid.together])} voxels; the limit is "
                                              f"{max_voxels:,}. Check the header, or resample the volume.")
    if stored_bytes is not None and stored_bytes < grid.bytes:
        raise VolumeError("volume-truncated", f"{path}: {times(grid.sizes)} voxels of {grid.dtype.itemsize} bytes are {grid.bytes:,} "
                                              f"bytes, the file has {max(0, stored_bytes):,}. Copy it again from its origin.")


def rest_notes(path: Path, grid: Grid, rest_bytes: int | None) -> tuple[str, ...]:
    """Notes on `rest_bytes` after the voxels of a file with one frame: empty, or that as many bytes as whole frames follow.

    Raises VolumeError "volume-corrupt" if the rest is at least as large as one more column, row or plane, and not of whole frames: the
    header then states too small a grid, and planes may be sheared.  Less than LEFT_BYTES, or an unknown number (None), is accepted.
    """
    frame_bytes = math.prod(grid.sizes[: grid.together]) * grid.dtype.itemsize
    if rest_bytes is None or rest_bytes < max(LEFT_BYTES, frame_bytes // max(grid.shape)):
        return ()
    if rest_bytes % frame_bytes:
        raise VolumeError("volume-corrupt", f"{path}: {rest_bytes:,} bytes follow the {grid.bytes:,} of {times(grid.sizes)} voxels, none "
                                            "are wanted: the header seems to name too small a grid. Export it again.")
    return (f"as many bytes follow as {rest_bytes // frame_bytes:,} more frames would take, which the header does not count",)


def stored_type(path: Path, kind: int, types: Mapping[int, str], refused: Mapping[int, tuple[str, str]]) -> np.dtype[Any]:
    """The dtype of a format's type code `kind`.  Raises VolumeError with the code and words of `refused`, or "volume-corrupt"."""
    if kind in refused:
        code, what = refused[kind]
        raise VolumeError(code, f"{path}: the voxels are {what} (type {kind}), not MR intensities. Give the MR volume itself.")
    if kind not in types:
        raise VolumeError("volume-corrupt", f"{path}: the header's type is {kind}; one of {', '.join(map(str, types))} wanted. "
                                            "Export it again.")
    return np.dtype(types[kind])


def frames(path: Path, stream: BinaryIO, grid: Grid) -> Iterator[NDArray[np.float32]]:
    """The frames (i, j, k) in the order of the file, as float32 intensities; each is read when it is requested."""
    block = grid.sizes[: grid.together]
    for _ in range(math.prod(grid.sizes[grid.together :])):
        stored = numbers(path, stream, math.prod(block), grid.dtype).reshape(block, order="F")
        spatial_first = np.moveaxis(stored, grid.spatial, (0, 1, 2))
        for index in np.ndindex(*spatial_first.shape[3:]):
            yield intensities(spatial_first[(..., *index)], grid)
        del stored, spatial_first               # else they are in memory together with the next frame


def first_usable(found: Iterator[tuple[Callable[[], Made], Callable[[], NDArray[np.float32]]]], count: int) -> tuple[Made, tuple[str, ...]]:
    """(frame, notes) of the first usable of `count` frames.  A frame with less than 5 % of the next one's brightness is taken for noise or
    nearly empty, and the next is used instead.

    found   for each frame a function that makes it, or raises VolumeError if it is unusable, and one that gives a sample (m,) of its voxels
    One more frame is read than is returned.  Raises the VolumeError of the first frame if none of the first UNUSABLE is usable: 260 KB of
    zeros may unpack to millions of frames.
    """
    kept: tuple[Made, float, str] | None = None
    first_fault: VolumeError | None = None
    for number in range(1, count + 1):
        try:
            make, sample = next(found)
        except (VolumeError, EOFError, *DAMAGED):
            if kept is None:
                raise
            break                               # damage after the chosen frame does not matter
        bright, note = brightness(sample()) if count > 1 else 0.0, f"frame {number} of {count}, the first usable one"
        if kept is not None:
            if kept[1] >= DIMMEST * bright:
                break
            note = f"frame {number} of {count}; the one before is {kept[1] / bright:.1%} as bright, perhaps noise or nearly empty"
        try:
            kept = make(), bright, note
        except VolumeError as fault:
            if kept is not None:
                break
            first_fault = first_fault or fault
            if number == UNUSABLE:
                break
    if kept is None:
        assert first_fault is not None      # no size is 0, so there was a frame
        raise first_fault
    return kept[0], (kept[2],) if count > 1 else ()


def brightness(sample: NDArray[np.float32]) -> float:
    """The 99.5th percentile of the absolute difference from the median, over the finite values of a sample (m,); 0 if there are none."""
    finite = sample[np.abs(sample) <= LARGEST]
    return float(np.percentile(np.abs(finite - np.median(finite)), CLIP_PERCENTILE)) if finite.size else 0.0


def intensities(stored: NDArray[Any], grid: Grid) -> NDArray[np.float32]:
    """Stored numbers (i, j, k) as float32 intensities."""
    with np.errstate(over="ignore", invalid="ignore"):      # a float64 beyond float32 becomes inf, which `usable` handles
        if grid.slope == 1.0 and grid.intercept == 0.0:
            return np.asarray(stored.astype(np.float32, copy=False))
        return np.asarray((stored * np.float64(grid.slope) + np.float64(grid.intercept)).astype(np.float32))
