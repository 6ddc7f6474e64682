"""Solids that give a tissue inner structure: thin winding sheets, and the walls between
neighbouring bundles.

They fill a region and are meant to replace one tissue; only voxels of that tissue are
tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.solids import Bools, Filling, Floats, Loft, Point, Solid

Line = tuple[Point, ...]


@dataclass(frozen=True)
class Box(Solid):
    """The region between two corners (3,), mm."""

    low_corner: Point
    high_corner: Point

    @property
    def box(self) -> NDArray[np.float64]:
        return np.array([self.low_corner, self.high_corner])

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points between the two corners."""
        is_within_x, is_within_y, is_within_z = (
            (values >= low) & (values <= high)
            for values, low, high in zip((x, y, z), self.low_corner, self.high_corner, strict=True)
        )
        return is_within_x & is_within_y & is_within_z


@dataclass(frozen=True)
class Sheets(Filling):
    """Thin sheets that wind through a region: |g| ≤ `level_width`, for the gyroid g of three
    wavelengths, its symmetry broken.

    g = sin X cos Y + sin Y cos Z + sin Z cos X (Schoen 1970, NASA TN D-5541).

    wavelengths_mm  (3,) along x, y, z: long along z for a muscle
    level_width     0.1 fills about 7 % of the space
    phases          (3,) of the waves, radians
    """

    wavelengths_mm: Point
    level_width: float
    phases: Point

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points of the sheets within the region."""
        angle_x, angle_y, angle_z = (
            np.float32(2 * np.pi / length) * np.asarray(values, dtype=np.float32)
            + np.float32(phase)
            for values, length, phase in zip(
                (x, y, z), self.wavelengths_mm, self.phases, strict=True
            )
        )
        angle_x, angle_y, angle_z = (
            angle_x + np.sin(np.float32(0.61) * angle_y + angle_z),
            angle_y + np.sin(np.float32(0.47) * angle_x),
            angle_z + np.float32(0.4) * angle_x,
        )
        sin_x = np.sin(angle_x)
        sin_y = np.sin(angle_y)
        sin_z = np.sin(angle_z)
        cos_x, cos_y, cos_z = (
            np.sin(angle + np.float32(np.pi / 2)) for angle in (angle_x, angle_y, angle_z)
        )
        return np.asarray(
            (np.abs(sin_x * cos_y + sin_y * cos_z + sin_z * cos_x) <= self.level_width)
            & self.region.contains(x, y, z)
        )


@dataclass(frozen=True)
class Shells(Filling):
    """Layers `thickness_mm` thick at `depths_mm` under the surface of a loft, within a box."""

    surface: Loft
    depths_mm: tuple[float, ...]
    thickness_mm: float

    @cached_property
    def faces(self) -> list[tuple[Loft, Loft]]:
        """The outer and the inner face of every layer."""
        return [
            (self.surface.shrink(mm), self.surface.shrink(mm + self.thickness_mm))
            for mm in self.depths_mm
        ]

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points of the layers within the region."""
        is_in_layers = [
            outer.contains(x, y, z) & ~inner.contains(x, y, z) for outer, inner in self.faces
        ]
        return np.asarray(np.logical_or.reduce(is_in_layers) & self.region.contains(x, y, z))


@dataclass(frozen=True)
class Walls(Solid):
    """The walls, `thickness_mm` thick, between bundles: every point belongs to the bundle whose line is
    nearest at its height.

    Lines are given by points (x, y, z) in ascending z and sampled every 2 mm along z; the walls lie
    between the first and the last height (a Voronoi diagram at every height, its edges bent by 3
    mm), no farther than `reach_mm` from a line.
    """

    bundle_lines: tuple[Line, ...]
    thickness_mm: float
    reach_mm: float = 60.0
    is_costly = True

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose all lines and `reach_mm` around them."""
        points = np.concatenate([np.asarray(line) for line in self.bundle_lines])
        reach_xy = np.array([self.reach_mm, self.reach_mm, 0.0])
        return np.stack([points.min(axis=0) - reach_xy, points.max(axis=0) + reach_xy])

    @cached_property
    def line_positions(self) -> NDArray[np.float32]:
        """(n, 2, heights) x and y of every line, every 2 mm from the lowest height."""
        lowest_mm, highest_mm = self.box[:, 2]
        z = np.arange(lowest_mm, highest_mm + 2.0, 2.0)
        sampled_lines = [
            [np.interp(z, *np.asarray(line)[:, (2, axis)].T) for axis in (0, 1)]
            for line in self.bundle_lines
        ]
        return np.asarray(sampled_lines, dtype=np.float32)

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) half way between the two nearest lines."""
        lowest_mm, highest_mm = self.box[:, 2]
        row_index = np.clip(
            np.rint((z - lowest_mm) / 2.0), 0, self.line_positions.shape[2] - 1
        ).astype(np.intp)
        # Straight walls would look artificial: waved by 3 mm along each axis.
        x, y = (
            x + 3 * np.sin(y / np.float32(9) + z / np.float32(70)),
            y + 3 * np.sin(x / np.float32(11) - z / np.float32(50)),
        )
        nearest_mm = np.full(
            np.broadcast_shapes(x.shape, y.shape, z.shape), np.inf, dtype=np.float32
        )
        second_mm = nearest_mm.copy()
        for line_x, line_y in self.line_positions:
            squared_distance = np.square(x - line_x[row_index]) + np.square(y - line_y[row_index])
            np.minimum(second_mm, np.maximum(nearest_mm, squared_distance), out=second_mm)
            np.minimum(nearest_mm, squared_distance, out=nearest_mm)
        np.sqrt(nearest_mm, out=nearest_mm)
        np.sqrt(second_mm, out=second_mm)
        # Near the line joining two centres, the two distances differ by twice the distance from the middle.
        return np.asarray(
            (second_mm - nearest_mm <= self.thickness_mm)
            & (nearest_mm <= self.reach_mm)
            & (z >= lowest_mm)
            & (z <= highest_mm)
        )
