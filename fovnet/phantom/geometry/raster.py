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
        i, j, k = np.ogrid[tuple(map(slice, self.shape))]
        axis_coordinates = []
        for affine_row in self.vox_to_ras[:3]:
            slope_index_pairs = zip(affine_row[:3].tolist(), (i, j, k), strict=True)
            axis_terms = [slope * index for slope, index in slope_index_pairs if abs(slope) > 1e-9]
            axis_coordinates.append(
                np.asarray(
                    sum(axis_terms, start=np.full((1, 1, 1), affine_row[3])), dtype=np.float32
                )
            )
        return axis_coordinates[0], axis_coordinates[1], axis_coordinates[2]

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


def pieces_of(paints: Iterable[Paint]) -> Pieces:
    """The paints by ascending layer, in the order given within one, each cut into the parts of its
    solid."""
    ordered_paints = sorted(paints, key=lambda paint: paint.layer)
    part_paint_pairs = tuple(
        (part, paint) for paint in ordered_paints for part in paint.solid.parts()
    )
    return Pieces(
        part_paint_pairs, np.array([part.box for part, _ in part_paint_pairs]).reshape(-1, 2, 3)
    )


def rasterise(anatomy: Pieces, grid: Grid, shape: PointMapping | None = None) -> NDArray[np.uint8]:
    """Labels (i, j, k) of the solids on the grid: a voxel has the label of the last solid that
    holds its centre, else 0."""
    shape = shape or UnchangedPoints()
    labels = np.zeros(grid.shape, dtype=np.uint8)
    coordinates = shape.to_anatomy(*grid.coordinates())
    is_empty = np.any(anatomy.boxes_mm[:, 0] > anatomy.boxes_mm[:, 1], axis=1)  # disjoint solids
    windows = grid.find_windows(shape.enclose(anatomy.boxes_mm))
    for piece_index in np.flatnonzero(
        ~is_empty & np.all(windows[:, 0] <= windows[:, 1], axis=1)
    ).tolist():
        part, paint = anatomy.parts_and_paints[piece_index]
        i, j, k = (
            slice(first_index, last_index + 1)
            for first_index, last_index in windows[piece_index].T.tolist()
        )
        label_block = labels[i, j, k]
        block_points = [
            _cut_to_window(axis_coordinates, (i, j, k)) for axis_coordinates in coordinates
        ]
        if part.is_costly and paint.paintable_labels:
            _paint_allowed_voxels(
                _may_cover(label_block, paint.paintable_labels),
                part,
                paint.label,
                label_block,
                block_points,
            )
            continue
        is_inside = part.contains(*block_points)
        if paint.paintable_labels:
            is_inside = is_inside & _may_cover(label_block, paint.paintable_labels)
        np.copyto(label_block, paint.label, where=is_inside)
    return labels


def _paint_allowed_voxels(
    is_allowed: NDArray[np.bool_],
    part: Solid,
    label: int,
    label_block: NDArray[np.uint8],
    block_points: list[Floats],
) -> None:
    """Paint a solid whose test is expensive on the allowed voxels of a block, testing no others."""
    if is_allowed.any():
        is_inside = part.contains(
            *(
                np.broadcast_to(axis_coordinates, label_block.shape)[is_allowed]
                for axis_coordinates in block_points
            )
        )
        label_block[is_allowed] = np.where(is_inside, np.uint8(label), label_block[is_allowed])


def _may_cover(
    label_block: NDArray[np.uint8], covered_labels: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Whether a voxel has one of the labels that may be covered; for a few labels comparing is
    faster than a table."""
    if len(covered_labels) > 6:
        may_cover_by_label = np.zeros(256, dtype=bool)
        may_cover_by_label[list(covered_labels)] = True
        return may_cover_by_label[label_block]
    may_cover = np.zeros(label_block.shape, dtype=bool)
    for label in covered_labels:
        may_cover |= label_block == label
    return may_cover


def _cut_to_window(values: Floats, window: tuple[slice, slice, slice]) -> Floats:
    """The part of a broadcastable array in the window; axes of length 1 stay."""
    i, j, k = (
        axis_window if axis_size > 1 else slice(None)
        for axis_window, axis_size in zip(window, values.shape, strict=True)
    )
    return values[i, j, k]
