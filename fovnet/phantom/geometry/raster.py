"""From solids to labels on any grid.

Every solid is painted within its own bounding box only, so that the cost depends on what is shown,
a knee at 1 mm or a whole body at 3 mm, and there is no master volume.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.solids import FAR, Floats, Solid


@dataclass(frozen=True)
class Grid:
    """The position of the voxels: `shape` (i, j, k) and `vox_to_ras` (4, 4), voxel index to
    millimetres, RAS+."""

    shape: tuple[int, int, int]
    vox_to_ras: NDArray[np.float64]

    @property
    def spacing_mm(self) -> NDArray[np.float64]:
        """(3,) size of a voxel along each axis."""
        return np.asarray(np.linalg.norm(self.vox_to_ras[:3, :3], axis=0))

    @property
    def middle_mm(self) -> NDArray[np.float64]:
        """(3,) the point in the middle of all voxels."""
        return self.vox_to_ras[:3, :3] @ ((np.asarray(self.shape) - 1) / 2) + self.vox_to_ras[:3, 3]

    def coordinates(self) -> tuple[Floats, Floats, Floats]:
        """x, y, z of the voxel centres in mm, float32, broadcastable to `shape`: size 1 along axes
        they do not depend on."""
        i, j, k = np.ogrid[tuple(map(slice, self.shape))]
        rows = []
        for row in self.vox_to_ras[:3]:
            pairs = zip(row[:3].tolist(), (i, j, k), strict=True)
            terms = [slope * index for slope, index in pairs if abs(slope) > 1e-9]
            rows.append(np.asarray(sum(terms, start=np.full((1, 1, 1), row[3])), dtype=np.float32))
        return rows[0], rows[1], rows[2]

    def windows(self, boxes: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n, 2, 3) first and last index along each axis of the voxels whose centres may lie in the
        boxes (n, 2, 3) mm.

        A box that meets no voxel has a first index above its last.
        """
        back = np.linalg.inv(self.vox_to_ras)
        boxes = boxes.clip(-FAR, FAR)
        middle = boxes.mean(axis=1)
        half = (boxes[:, 1] - boxes[:, 0]) / 2
        index = middle @ back[:3, :3].T + back[:3, 3]
        reach = half @ np.abs(back[:3, :3]).T
        low = np.maximum(np.ceil(index - reach - 1e-6), 0)
        high = np.minimum(np.floor(index + reach + 1e-6), np.array(self.shape) - 1)
        return np.stack([low, high], axis=1).astype(np.int64)

    def finer(self, factors: Sequence[int]) -> Grid:
        """The grid with each voxel cut into `factors` (3,) equal parts along its axes; it covers
        the same space."""
        cut = np.asarray(factors)
        affine = self.vox_to_ras.copy()
        affine[:3, :3] = self.vox_to_ras[:3, :3] / cut
        affine[:3, 3] = self.vox_to_ras[:3, 3] + self.vox_to_ras[:3, :3] @ ((1 / cut - 1) / 2)
        i, j, k = (np.asarray(self.shape) * cut).tolist()
        return Grid((i, j, k), affine)


@dataclass(frozen=True)
class Paint:
    """A solid filled with a tissue label.  Layers are painted in ascending order; `over` restricts
    it to voxels with these labels."""

    solid: Solid
    label: int
    layer: int = 0
    over: tuple[int, ...] = ()


class Shape(Protocol):
    """The mapping from the millimetres of one person to those of the written anatomy, and back for
    boxes."""

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """The points of the anatomy at x, y, z (mm) of the person."""
        ...

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) of the person that enclose boxes (n, 2, 3) of the anatomy."""
        ...


class AsWritten:
    """The identity: an anatomy used as it is written."""

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """The points themselves."""
        return x, y, z

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The boxes themselves."""
        return boxes


@dataclass(frozen=True)
class Pieces:
    """An anatomy ready for painting: its smallest solids in painting order, each with its paint,
    and their boxes (n, 2, 3) in mm."""

    pairs: tuple[tuple[Solid, Paint], ...]
    boxes: NDArray[np.float64]


def pieces_of(paints: Iterable[Paint]) -> Pieces:
    """The paints by ascending layer, in the order given within one, each cut into the parts of its
    solid."""
    ordered = sorted(paints, key=lambda paint: paint.layer)
    pairs = tuple((part, paint) for paint in ordered for part in paint.solid.parts())
    return Pieces(pairs, np.array([part.box for part, _ in pairs]).reshape(-1, 2, 3))


def rasterise(anatomy: Pieces, grid: Grid, shape: Shape | None = None) -> NDArray[np.uint8]:
    """Labels (i, j, k) of the solids on the grid: a voxel has the label of the last solid that
    holds its centre, else 0."""
    shape = shape or AsWritten()
    labels = np.zeros(grid.shape, dtype=np.uint8)
    coordinates = shape.to_anatomy(*grid.coordinates())
    empty = np.any(anatomy.boxes[:, 0] > anatomy.boxes[:, 1], axis=1)  # disjoint solids
    windows = grid.windows(shape.enclose(anatomy.boxes))
    for index in np.flatnonzero(~empty & np.all(windows[:, 0] <= windows[:, 1], axis=1)).tolist():
        part, paint = anatomy.pairs[index]
        i, j, k = (slice(first, last + 1) for first, last in windows[index].T.tolist())
        block = labels[i, j, k]
        points = [_cut(values, (i, j, k)) for values in coordinates]
        if part.sparse and paint.over:
            _paint_where(_may_cover(block, paint.over), part, paint.label, block, points)
            continue
        inside = part.inside(*points)
        if paint.over:
            inside = inside & _may_cover(block, paint.over)
        np.copyto(block, paint.label, where=inside)
    return labels


def _paint_where(
    allowed: NDArray[np.bool_],
    part: Solid,
    label: int,
    block: NDArray[np.uint8],
    points: list[Floats],
) -> None:
    """Paint a solid whose test is expensive on the allowed voxels of a block, testing no others."""
    if allowed.any():
        inside = part.inside(*(np.broadcast_to(values, block.shape)[allowed] for values in points))
        block[allowed] = np.where(inside, np.uint8(label), block[allowed])


def _may_cover(block: NDArray[np.uint8], over: tuple[int, ...]) -> NDArray[np.bool_]:
    """Whether a voxel has one of the labels that may be covered; for a few labels comparing is
    faster than a table."""
    if len(over) > 6:
        allowed = np.zeros(256, dtype=bool)
        allowed[list(over)] = True
        return allowed[block]
    may = np.zeros(block.shape, dtype=bool)
    for label in over:
        may |= block == label
    return may


def _cut(values: Floats, window: tuple[slice, slice, slice]) -> Floats:
    """The part of a broadcastable array in the window; axes of length 1 stay."""
    i, j, k = (
        span if size > 1 else slice(None) for span, size in zip(window, values.shape, strict=True)
    )
    return values[i, j, k]
