"""Reading the voxels after a header: as a whole if they fit into memory, else slab by slab, resized to 128 × 128 axial planes.

The pixels of a slice are linear in the voxels, so they can be summed over slabs along any axis: the result is that of `cut` on the whole
volume, except for rounding of the sums.  Number and positions of the planes along the feet-head axis are kept, and the window is taken
from the same lattice of voxels, so later steps need no distinction.  The exception is a volume so oblique that it is resampled: that is
done from planes of at most 128 pixels per side.

    slab     (i, j, k) float32, some steps along the axis that is slowest in the file, all of the two others
    across   the two stored axes of an axial plane; the third is the feet-head axis
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import (
    A_GLANCE,
    LARGEST,
    darkest,
    finite_enough,
    refuse_air,
    refuse_constant,
    refuse_extent,
    refuse_labels,
    times,
    usable,
)
from fovnet.volume.filled import CT_AIR
from fovnet.volume.grid import Grid, Limits, first_usable, frames, intensities
from fovnet.volume.intensity import SAMPLE_VOXELS, lattice, lattice_steps, window_of
from fovnet.volume.orient import closest_axes
from fovnet.volume.resizing import SIDE, resize_weights
from fovnet.volume.unpacking import numbers
from fovnet.volume.volume import Volume

Floats = NDArray[np.float32]

SLAB_VOXELS = 2**23             # 32 MiB as float32; about 200 MiB with stored values, checks and products
LEAST_STEPS = 2                 # the test for label maps compares neighbours along every axis
MOST_ACROSS = 2**25             # voxels in one step along the slowest axis: two steps are 0.5 GiB as float64, and half as much as float32
MOST_PLANES = 2**13             # 512 MiB of planes; the tallest body at 0.25 mm has as many


def read_grid(
    path: Path, stream: BinaryIO, grid: Grid, vox_to_ras: NDArray[np.float64], limits: Limits, notes: tuple[str, ...] = ()
) -> Volume:
    """The first usable frame in a stream at the first voxel; `notes` are put before its own.

    A frame above `limits.whole_voxels` is never held as a whole: it becomes a Volume of planes of at most 128 × 128 with `window` set and a
    note.  Raises VolumeError as `first_usable`; "volume-too-large" if even the planes, or one step of the file, would not fit.
    """
    if math.prod(grid.sizes[: grid.together]) <= limits.whole_voxels:
        whole = ((partial(usable, str(path), frame), partial(lattice, frame, A_GLANCE)) for frame in frames(path, stream, grid))
        (voxels, more), chosen = first_usable(whole, math.prod(grid.sizes) // math.prod(grid.shape))
        return Volume(voxels, vox_to_ras, str(path), (*notes, *chosen, *more))
    layout, interleaved = Layout.of(path, grid, vox_to_ras), math.prod(grid.sizes[: grid.together]) // math.prod(grid.shape)
    count = math.prod(grid.sizes[grid.together :])
    summed = (Sums.of(path, stream, grid, layout) for _ in range(count))
    volume, chosen = first_usable(((partial(_made, sums, interleaved), partial(np.concatenate, sums.sample)) for sums in summed), count)
    beside = (f"the first of {interleaved} frames that are stored voxel by voxel side by side",) if interleaved > 1 else ()
    return replace(volume, notes=(*notes, *chosen, *beside, *volume.notes))


def _made(sums: Sums, interleaved: int) -> Volume:
    """The volume of `sums`.  Raises VolumeError as `Sums.volume`; for interleaved frames it adds that the others were not read."""
    try:
        return sums.volume()
    except VolumeError as fault:
        if interleaved == 1:
            raise
        message = f"{fault.sentence} It is the first of {interleaved} frames stored side by side; the others were not looked at."
        raise VolumeError(fault.code, message) from fault


def slabs(path: Path, stream: BinaryIO, grid: Grid) -> Iterator[tuple[int, Floats]]:
    """(first index along the slowest axis, slab) for the slabs of the next frame; of interleaved frames, of the first of them."""
    *fast, slow = grid.sizes[: grid.together]
    step = max(LEAST_STEPS, SLAB_VOXELS // math.prod(fast))
    for begin in range(0, slow, step):
        count = min(step, slow - begin)
        stored = numbers(path, stream, math.prod(fast) * count, grid.dtype).reshape((*fast, count), order="F")
        spatial_first = np.moveaxis(stored, grid.spatial, (0, 1, 2))
        yield begin, intensities(spatial_first[(slice(None), slice(None), slice(None)) + (0,) * (spatial_first.ndim - 3)], grid)
        del stored, spatial_first               # else they are in memory together with the next slab: 64 MiB of float64


@dataclass(frozen=True)
class Layout:
    """The orientation of a grid, and the resizing weights for its slabs.

    order      the spatial axes, slowest in the file first         across, height   the two axes of an axial plane, and the third
    weights    by axis of `across`, (128, voxels)                 flipped  (3,) whether an axis runs against its RAS direction
    steps      (3,) of the lattice that the window is taken from  affine   (4, 4) of the planes
    """

    shape: tuple[int, int, int]
    order: tuple[int, int, int]
    across: tuple[int, int]
    height: int
    weights: dict[int, Floats]
    flipped: tuple[bool, ...]
    steps: tuple[int, ...]
    affine: NDArray[np.float64]

    @classmethod
    def of(cls, path: Path, grid: Grid, vox_to_ras: NDArray[np.float64]) -> Layout:
        """The layout of a grid.  Raises VolumeError "volume-too-large", "volume-geometry", or "volume-shape" if a plane would be a line."""
        shape = grid.shape
        orientation = closest_axes(vox_to_ras)
        to, flipped = orientation[:, 0].astype(int), tuple((orientation[:, 1] < 0).tolist())
        height = int(np.flatnonzero(to == 2)[0])
        first, second = (axis for axis in range(3) if axis != height)
        _refuse(path, grid, shape[height], min(shape[first], shape[second]))
        spacing_mm = np.linalg.norm(vox_to_ras[:3, :3], axis=0)
        refuse_extent(str(path), shape, spacing_mm, height)
        side_mm = float(max(spacing_mm[first] * shape[first], spacing_mm[second] * shape[second]))
        weights = {axis: resize_weights(shape[axis], float(spacing_mm[axis]), side_mm) for axis in (first, second)}
        affine = vox_to_ras.copy()
        for axis in (first, second):                        # the same centre, and pixels of side / 128
            affine[:3, axis] *= side_mm / SIDE / spacing_mm[axis]
            affine[:3, 3] += vox_to_ras[:3, axis] * (shape[axis] - 1) / 2 - affine[:3, axis] * (SIDE - 1) / 2
        in_body = lattice_steps([shape[int(np.flatnonzero(to == axis)[0])] for axis in range(3)], SAMPLE_VOXELS)
        steps = tuple(in_body[axis] for axis in to)
        first_slow = tuple(np.argsort(grid.spatial)[::-1].tolist())
        return cls(shape, first_slow, (first, second), height, weights, flipped, steps, affine)

    @property
    def slow(self) -> int:
        """The axis along which the slabs are read."""
        return self.order[0]

    def outside(self) -> Floats:
        """The share of each pixel that lies in the padding, as an array of length 1 along `height`."""
        first, second = (self.weights[axis].sum(axis=1) for axis in self.across)
        return np.expand_dims((1.0 - np.outer(first, second)).astype(np.float32), self.height)

    def pictured(self, planes: Floats) -> tuple[Floats, NDArray[np.float64]]:
        """(the planes without the rows and columns that are all padding, their affine).

        `cut` pads them to a square again; if an oblique volume is resampled before, padding would extend it above and below the body.
        """
        affine, inside = self.affine.copy(), [slice(None)] * 3
        for axis in self.across:
            shown = np.flatnonzero(self.weights[axis].any(axis=1))
            inside[axis] = slice(int(shown[0]), int(shown[-1]) + 1)
            affine[:3, 3] += affine[:3, axis] * shown[0]
        return planes[tuple(inside)], affine

    def sampled(self, axis: int, begin: int, count: int) -> NDArray[np.int64]:
        """Which of `count` indices from `begin` on are on the lattice, which starts at the first index in RAS order."""
        at = np.arange(begin, begin + count)
        return np.flatnonzero((self.shape[axis] - 1 - at if self.flipped[axis] else at) % self.steps[axis] == 0)


@dataclass
class Sums:
    """The sums and statistics accumulated over the slabs of one frame."""

    path: Path
    layout: Layout
    planes: Floats = field(init=False)      # axes in the order of the file, so that sums access memory in order
    holes: Floats | None = None             # the share of each pixel that comes from NaN, infinities and values beyond 1e20
    low: float = np.inf
    high: float = -np.inf
    bad: int = 0
    air: int = 0
    sample: list[Floats] = field(default_factory=list)
    middle: Floats | None = None

    def __post_init__(self) -> None:
        size = [self.layout.shape[axis] if axis == self.layout.height else SIDE for axis in self.layout.order]
        self.planes = np.zeros(size, dtype=np.float32)

    @classmethod
    def of(cls, path: Path, stream: BinaryIO, grid: Grid, layout: Layout) -> Sums:
        """The sums over the next frame in a stream."""
        sums = cls(path, layout)
        for begin, slab in slabs(path, stream, grid):
            sums.add(begin, slab)
        return sums

    def add(self, begin: int, slab: Floats) -> None:
        """Adds a slab that begins at this index along the slowest axis."""
        layout, ends = self.layout, begin + slab.shape[self.layout.slow]
        finite = np.abs(slab) <= LARGEST
        if not finite.all():
            slab = np.where(finite, slab, np.float32(0))
            self.holes = np.zeros_like(self.planes) if self.holes is None else self.holes
            self._into(self.holes, begin, (~finite).astype(np.float32))
            self.bad += finite.size - int(np.count_nonzero(finite))
        if finite.any():
            self.low = min(self.low, float(np.min(slab, where=finite, initial=np.inf)))
            self.high = max(self.high, float(np.max(slab, where=finite, initial=-np.inf)))
        self.air += int(np.count_nonzero((slab <= CT_AIR) & finite))
        self._into(self.planes, begin, slab)
        on = np.ix_(*(layout.sampled(axis, begin if axis == layout.slow else 0, slab.shape[axis]) for axis in range(3)))
        self.sample.append(np.where(finite[on], slab[on], np.float32(np.nan)).ravel())
        if begin <= layout.shape[layout.slow] // 2 < ends:
            self.middle = slab

    def _into(self, planes: Floats, begin: int, slab: Floats) -> None:
        """Adds the resized slab to `planes`."""
        layout = self.layout
        here = slice(begin, begin + slab.shape[layout.slow])
        part = slab.transpose(layout.order)
        for place in (2, 1, 0):                             # the slow axis last, when the block is smaller
            axis = layout.order[place]
            if axis != layout.height:
                part = _multiplied(part, place, layout.weights[axis][:, here] if place == 0 else layout.weights[axis])
        if layout.slow == layout.height:
            planes[here] += part
        else:
            planes += part

    def volume(self) -> Volume:
        """The volume of planes of at most 128 × 128.  Raises VolumeError as for a volume read as a whole if it is not an MR volume."""
        layout, source, size = self.layout, str(self.path), math.prod(self.layout.shape)
        notes = finite_enough(source, self.bad, size)
        refuse_constant(source, self.low, self.high)
        sample = np.concatenate(self.sample)
        dark = darkest(sample, self.low)
        refuse_air(source, (self.air + (self.bad if dark <= CT_AIR else 0)) / size, sample)
        assert self.middle is not None
        refuse_labels(Volume(self.middle, layout.affine, source))
        window = window_of(np.where(np.isfinite(sample), sample, dark), lambda: (self.low, self.high))
        if self.holes is not None:
            self.planes += self.holes * dark
        planes = self.planes.transpose(np.argsort(layout.order))
        planes += np.float32(window[0]) * layout.outside()
        note = f"{times(layout.shape)} voxels: read slab by slab, each plane brought to {SIDE} × {SIDE} pixels on the way"
        inside, affine = layout.pictured(planes)
        return Volume(inside, affine, source, (note, *notes), window=window)


def _multiplied(part: Floats, place: int, weights: Floats) -> Floats:
    """A block (a, b, c) whose axis at `place` is multiplied by weights (128, n), without copying a block contiguous in this order."""
    if place == 2:
        return np.asarray(part @ weights.T)
    if place == 1:
        return np.asarray(weights @ part)
    return np.asarray((weights @ part.reshape(len(part), -1)).reshape(len(weights), *part.shape[1:]))


def _refuse(path: Path, grid: Grid, planes: int, narrowest: int) -> None:
    *fast, _ = grid.sizes[: grid.together]
    if math.prod(fast) > MOST_ACROSS or planes > MOST_PLANES:
        seen = f"{planes:,} planes (limit {MOST_PLANES:,}) of {times(fast)} voxels that have to be read at once (limit {MOST_ACROSS:,})"
        raise VolumeError("volume-too-large", f"{path}: {times(grid.shape)} voxels, {seen}. Check the header, or resample the volume.")
    if narrowest < 2:
        raise VolumeError("volume-shape", f"{path}: {times(grid.shape)} voxels: an axial cut is a line. Give the whole series.")
