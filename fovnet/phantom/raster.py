"""From solids to labels on any grid.

Every solid is painted within its own bounding box only, so that a knee at 1 mm and a whole body at 3 mm both cost what they
show, and there is no master volume.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.solids import FAR, Floats, Solid


@dataclass(frozen=True)
class Grid:
    """Where the voxels are: `shape` (i, j, k) and `vox_to_ras` (4, 4), voxel index to millimetres, RAS+."""

    shape: tuple[int, int, int]
    vox_to_ras: NDArray[np.float64]

    def coordinates(self) -> tuple[Floats, Floats, Floats]:
        """x, y, z of the voxel centres in mm, float32, broadcastable to `shape`: no axis is filled that does not matter."""
        i, j, k = (np.arange(size).reshape([-1 if axis == at else 1 for at in range(3)]) for axis, size in enumerate(self.shape))
        rows = []
        for row in self.vox_to_ras[:3]:
            terms = [float(slope) * index for slope, index in zip(row[:3], (i, j, k), strict=True) if abs(slope) > 1e-9]
            rows.append(np.asarray(sum(terms, start=np.full((1, 1, 1), row[3])), dtype=np.float32))
        return rows[0], rows[1], rows[2]

    def window(self, box: NDArray[np.float64]) -> tuple[slice, slice, slice] | None:
        """Index ranges of the voxels whose centres may lie in a (2, 3) box in mm; None where there are none."""
        corners = np.array(list(product(*box.clip(-FAR, FAR).T)))
        back = np.linalg.inv(self.vox_to_ras)
        index = corners @ back[:3, :3].T + back[:3, 3]
        low = np.maximum(np.ceil(index.min(axis=0) - 1e-6), 0).astype(int)
        high = np.minimum(np.floor(index.max(axis=0) + 1e-6), np.array(self.shape) - 1).astype(int)
        if np.any(low > high):
            return None
        a, b, c = (slice(int(first), int(last) + 1) for first, last in zip(low, high, strict=True))
        return a, b, c

    def finer(self, factors: Sequence[int]) -> Grid:
        """The grid with each voxel cut into `factors` (3,) equal parts along its axes; it covers the same space."""
        cut = np.asarray(factors)
        affine = self.vox_to_ras.copy()
        affine[:3, :3] = self.vox_to_ras[:3, :3] / cut
        affine[:3, 3] = self.vox_to_ras[:3, 3] + self.vox_to_ras[:3, :3] @ ((1 / cut - 1) / 2)
        i, j, k = (np.asarray(self.shape) * cut).tolist()
        return Grid((i, j, k), affine)


@dataclass(frozen=True)
class Paint:
    """A solid filled with a tissue label.  Layers are painted in ascending order; `over` names the only labels it may cover."""

    solid: Solid
    label: int
    layer: int = 0
    over: tuple[int, ...] = ()


class Shape(Protocol):
    """From the millimetres of one person to those of the anatomy the solids are written in, and back for boxes."""

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Where in the anatomy the points x, y, z (mm) of the person are."""
        ...

    def enclose(self, box: NDArray[np.float64]) -> NDArray[np.float64]:
        """A (2, 3) box of the person that encloses a (2, 3) box of the anatomy."""
        ...


class AsWritten:
    """The shape of an anatomy that is used as it is written."""

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """The points themselves."""
        return x, y, z

    def enclose(self, box: NDArray[np.float64]) -> NDArray[np.float64]:
        """The box itself."""
        return box


def rasterise(paints: Iterable[Paint], grid: Grid, shape: Shape | None = None) -> NDArray[np.uint8]:
    """Labels (i, j, k) of the solids on the grid: a voxel has the label of the last solid that holds its centre, else 0."""
    shape = shape or AsWritten()
    labels = np.zeros(grid.shape, dtype=np.uint8)
    coordinates = shape.to_anatomy(*grid.coordinates())
    for paint in sorted(paints, key=lambda paint: paint.layer):
        for part in paint.solid.parts():
            box = part.box
            if np.any(box[0] > box[1]) or (window := grid.window(shape.enclose(box))) is None:
                continue
            x, y, z = (_cut(values, window) for values in coordinates)
            inside = np.broadcast_to(part.inside(x, y, z), labels[window].shape)
            if paint.over:
                inside = inside & np.isin(labels[window], paint.over)
            labels[window][inside] = paint.label
    return labels


def _cut(values: Floats, window: tuple[slice, slice, slice]) -> Floats:
    """The part of a broadcastable array that falls in the window; axes of length 1 stay."""
    i, j, k = (every if size > 1 else slice(None) for every, size in zip(window, values.shape, strict=True))
    return values[i, j, k]
