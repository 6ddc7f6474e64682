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

from fovnet.phantom.geometry.solids import FAR_MM, Floats, Solid


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
        x_row, y_row, z_row = self.vox_to_ras[:3]
        return self._coordinate(x_row), self._coordinate(y_row), self._coordinate(z_row)

    def _coordinate(self, affine_row: NDArray[np.float64]) -> Floats:
        """One coordinate of the voxel centres by its row (4,) of the affine."""
        indices = np.ogrid[tuple(map(slice, self.shape))]
        terms = [
            slope * index
            for slope, index in zip(affine_row[:3].tolist(), indices, strict=True)
            if abs(slope) > 1e-9
        ]
        origin = np.full((1, 1, 1), affine_row[3])
        return np.asarray(sum(terms, start=origin), dtype=np.float32)

    def find_windows(self, boxes: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n, 2, 3) first and last index along each axis of the voxels whose centres may lie in the
        boxes (n, 2, 3) mm.

        A box that meets no voxel has a first index above its last.
        """
        ras_to_vox = np.linalg.inv(self.vox_to_ras)
        boxes = boxes.clip(-FAR_MM, FAR_MM)
        centres_mm = boxes.mean(axis=1)
        half_sizes_mm = (boxes[:, 1] - boxes[:, 0]) / 2
        centre_indices = centres_mm @ ras_to_vox[:3, :3].T + ras_to_vox[:3, 3]
        index_reaches = half_sizes_mm @ np.abs(ras_to_vox[:3, :3]).T
        first_indices = np.maximum(np.ceil(centre_indices - index_reaches - 1e-6), 0)
        last_indices = np.minimum(
            np.floor(centre_indices + index_reaches + 1e-6), np.array(self.shape) - 1
        )
        return np.stack([first_indices, last_indices], axis=1).astype(np.int64)

    def split_voxels(self, factors: Sequence[int]) -> Grid:
        """The grid with each voxel cut into `factors` (3,) equal parts along its axes; it covers
        the same space."""
        part_counts = np.asarray(factors)
        affine = self.vox_to_ras.copy()
        affine[:3, :3] = self.vox_to_ras[:3, :3] / part_counts
        affine[:3, 3] = self.vox_to_ras[:3, 3] + self.vox_to_ras[:3, :3] @ (
            (1 / part_counts - 1) / 2
        )
        size_i, size_j, size_k = (np.asarray(self.shape) * part_counts).tolist()
        return Grid((size_i, size_j, size_k), affine)


@dataclass(frozen=True)
class Paint:
    """A solid filled with a tissue label.

    Layers are painted in ascending order; `paintable_labels` restricts the paint to voxels that have
    one of these labels, () to none.
    """

    solid: Solid
    label: int
    layer: int = 0
    paintable_labels: tuple[int, ...] = ()


class PointMapping(Protocol):
    """The mapping from the millimetres of one person to those of the written anatomy, and back for
    boxes."""

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """The points of the anatomy at x, y, z (mm) of the person."""
        ...

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) of the person that enclose boxes (n, 2, 3) of the anatomy."""
        ...


class UnchangedPoints:
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

    parts_and_paints: tuple[tuple[Solid, Paint], ...]
    boxes_mm: NDArray[np.float64]


def cut_into_pieces(paints: Iterable[Paint]) -> Pieces:
    """The paints by ascending layer, in the order given within one, each cut into the parts of its
    solid."""
    ordered_paints = sorted(paints, key=lambda paint: paint.layer)
    parts_and_paints = tuple(
        (part, paint) for paint in ordered_paints for part in paint.solid.parts()
    )
    boxes_mm = np.array([part.box for part, _ in parts_and_paints]).reshape(-1, 2, 3)
    return Pieces(parts_and_paints, boxes_mm)


def rasterise(
    anatomy: Pieces, grid: Grid, mapping: PointMapping | None = None
) -> NDArray[np.uint8]:
    """Labels (i, j, k) of the solids on the grid: a voxel has the label of the last solid that
    holds its centre, else 0.  The mapping is from the grid's millimetres to the anatomy's; without
    one they are the same."""
    mapping = mapping or UnchangedPoints()
    labels = np.zeros(grid.shape, dtype=np.uint8)
    coordinates = mapping.to_anatomy(*grid.coordinates())
    # the overlap of two disjoint solids has no box
    has_box = np.all(anatomy.boxes_mm[:, 0] <= anatomy.boxes_mm[:, 1], axis=1)
    windows = grid.find_windows(mapping.enclose(anatomy.boxes_mm))
    has_voxels = np.all(windows[:, 0] <= windows[:, 1], axis=1)
    for piece_index in np.flatnonzero(has_box & has_voxels).tolist():
        part, paint = anatomy.parts_and_paints[piece_index]
        i, j, k = (
            slice(first_index, last_index + 1)
            for first_index, last_index in windows[piece_index].T.tolist()
        )
        label_block = labels[i, j, k]
        block_points = [_cut_to_window(values, (i, j, k)) for values in coordinates]
        if not paint.paintable_labels:
            np.copyto(label_block, paint.label, where=part.contains(*block_points))
            continue
        is_paintable = _is_paintable(label_block, paint.paintable_labels)
        if part.is_costly:
            _paint_only_tested(label_block, block_points, is_paintable, part, paint.label)
        else:
            is_inside = part.contains(*block_points)
            np.copyto(label_block, paint.label, where=is_inside & is_paintable)
    return labels


def _paint_only_tested(
    label_block: NDArray[np.uint8],
    block_points: list[Floats],
    is_paintable: NDArray[np.bool_],
    part: Solid,
    label: int,
) -> None:
    """Paints a solid, whose test is expensive, on the paintable voxels of a block, and tests no
    others; `block_points` are x, y, z of its voxels, broadcastable."""
    if not is_paintable.any():
        return
    tested_points = [
        np.broadcast_to(values, label_block.shape)[is_paintable] for values in block_points
    ]
    is_inside = part.contains(*tested_points)
    label_block[is_paintable] = np.where(is_inside, np.uint8(label), label_block[is_paintable])


def _is_paintable(
    label_block: NDArray[np.uint8], paintable_labels: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Whether a voxel has one of the labels that may be painted over; for a few labels comparing is
    faster than a table."""
    if len(paintable_labels) > 6:
        is_paintable_by_label = np.zeros(256, dtype=bool)
        is_paintable_by_label[list(paintable_labels)] = True
        return is_paintable_by_label[label_block]
    is_paintable = np.zeros(label_block.shape, dtype=bool)
    for label in paintable_labels:
        is_paintable |= label_block == label
    return is_paintable


def _cut_to_window(values: Floats, window: tuple[slice, slice, slice]) -> Floats:
    """The part of a broadcastable array in the window; axes of length 1 stay."""
    kept: list[slice] = [slice(None), slice(None), slice(None)]
    for axis, axis_window in enumerate(window):
        if values.shape[axis] > 1:
            kept[axis] = axis_window
    return values[tuple(kept)]
