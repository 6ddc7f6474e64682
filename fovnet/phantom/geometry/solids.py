"""Solids: closed shapes with a bounding box and a test of which points are inside.

    x, y, z   coordinates in mm, three arrays that broadcast against each other (a grid aligned with the body
              has z (1, 1, k))
    box       (2, 3) lowest and highest corner in mm, never smaller than the shape

An anatomy is a list of solids painted one over the other, so a solid needs no surface, mesh or
distance, only `contains`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

Floats = NDArray[np.floating]
Bools = NDArray[np.bool_]

Point = tuple[float, ...]
"""(3,) x, y, z in mm; also three sizes or angles along these axes."""

FAR_MM = 1e4  # mm: farther than any body
EVERYWHERE = np.array([[-FAR_MM] * 3, [FAR_MM] * 3])


class Solid(ABC):
    """A shape; `&` is the intersection, `-` the difference, `|` the union."""

    @property
    def is_costly(self) -> bool:
        """Whether testing a point is so expensive that only voxels that may be painted should be
        tested."""
        return False

    @property
    @abstractmethod
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose the shape."""

    @abstractmethod
    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True at the points that belong to the shape; the broadcast shape of x, y, z."""

    def shrink(self, mm: float) -> Solid:
        """The shape with its surface moved inwards by about `mm` (outwards when negative); not
        every solid can."""
        # not abstract: most shapes of one use are never shrunk
        raise NotImplementedError(f"{type(self).__name__} has no surface that could be moved")

    def mirror(self) -> Solid:
        """The shape on the other side of the body; not every solid can."""
        # nor are those mirrored that are drawn for each side
        raise NotImplementedError(f"{type(self).__name__} is not written for one side of the body")

    def parts(self) -> Iterator[Solid]:
        """Pieces whose union is the shape, each with a smaller box; painting goes piece by piece."""
        yield self

    def __and__(self, other: Solid) -> Solid:
        return Intersection(self, other)

    def __sub__(self, other: Solid) -> Solid:
        return Intersection(self, Complement(other))

    def __or__(self, other: Solid) -> Solid:
        return Union((self, other))


@dataclass(frozen=True)
class Filling(Solid):
    """A solid that fills a part of the solid `region`; testing a point is expensive."""

    region: Solid
    is_costly = True

    @property
    def box(self) -> NDArray[np.float64]:
        return self.region.box

    def mirror(self) -> Self:
        return replace(self, region=self.region.mirror())


@dataclass(frozen=True)
class Ellipsoid(Solid):
    """|u|² + |v|² + |w|² ≤ 1 along its own axes, in units of its half axes.

    centre        (3,) mm
    half_axes_mm  (3,)
    turn_deg      rotations about x, y, z in this order, about fixed axes
    squareness    0 for an ellipsoid, towards 1 for a box: a superellipsoid of power 4
    """

    centre: Point
    half_axes_mm: Point
    turn_deg: Point = (0.0, 0.0, 0.0)
    squareness: float = 0.0

    @cached_property
    def axes(self) -> NDArray[np.float64]:
        """(3, 3) unit axes of the ellipsoid, one a column."""
        return np.asarray(Rotation.from_euler("xyz", self.turn_deg, degrees=True).as_matrix())

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose the turned ellipsoid."""
        centre = np.asarray(self.centre)
        scaled_axes = self.axes * np.asarray(self.half_axes_mm)
        # Along a world axis an ellipsoid extends to the root of the squares, a box to the sum, a
        # superellipsoid in between.
        half_extent = np.linalg.norm(scaled_axes, axis=1)
        if self.squareness > 0 and any(self.turn_deg):
            half_extent = np.abs(scaled_axes).sum(axis=1)
        return np.stack([centre - half_extent, centre + half_extent])

    def level(self, x: Floats, y: Floats, z: Floats) -> Floats:
        """Squared distance from the centre in units of the surface: 0 at the centre, 1 on the
        surface."""
        dx = x - self.centre[0]
        dy = y - self.centre[1]
        dz = z - self.centre[2]
        if any(self.turn_deg):
            scaled_axes = (self.axes / self.half_axes_mm).astype(np.float32)
            u, v, w = (
                dx * axis_x + dy * axis_y + dz * axis_z for axis_x, axis_y, axis_z in scaled_axes.T
            )
        else:
            u, v, w = (
                offset_mm * np.float32(1 / half_axis)
                for offset_mm, half_axis in zip((dx, dy, dz), self.half_axes_mm, strict=True)
            )
        u_squared = u * u
        v_squared = v * v
        w_squared = w * w
        ellipsoid_level = u_squared + v_squared + w_squared
        if self.squareness == 0.0:
            return np.asarray(ellipsoid_level)
        box_level = u_squared * u_squared + v_squared * v_squared + w_squared * w_squared
        square_share = np.float32(self.squareness)
        return np.asarray((1 - square_share) * ellipsoid_level + square_share * box_level)

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return self.level(x, y, z) <= 1.0

    def shrink(self, mm: float) -> Ellipsoid:
        return replace(
            self, half_axes_mm=tuple(max(0.05, half_axis - mm) for half_axis in self.half_axes_mm)
        )

    def mirror(self) -> Ellipsoid:
        turn_x, turn_y, turn_z = self.turn_deg
        return replace(
            self, centre=mirror_point(self.centre, -1), turn_deg=(turn_x, -turn_y, -turn_z)
        )


@dataclass(frozen=True)
class Segment(Solid):
    """A tapered capsule: the union of spheres along a straight line from `start` to `end` (3,), mm,
    whose radius changes evenly."""

    start: Point
    end: Point
    start_radius_mm: float
    end_radius_mm: float

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose the spheres at both ends."""
        # plain floats: thousands of these, and numpy takes 20 us each
        r0 = self.start_radius_mm
        r1 = self.end_radius_mm
        axis_ends = list(zip(self.start, self.end, strict=True))
        low_corner = [min(start - r0, end - r1) for start, end in axis_ends]
        high_corner = [max(start + r0, end + r1) for start, end in axis_ends]
        return np.array([low_corner, high_corner])

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points no farther from the axis than its radius
        there."""
        axis_vector = np.subtract(self.end, self.start)
        squared_length = float(axis_vector @ axis_vector)
        dx = x - self.start[0]
        dy = y - self.start[1]
        dz = z - self.start[2]
        if squared_length < 1e-6:
            return dx * dx + dy * dy + dz * dz <= max(self.start_radius_mm, self.end_radius_mm) ** 2
        share_per_mm_x, share_per_mm_y, share_per_mm_z = (axis_vector / squared_length).astype(
            np.float32
        )
        axis_share = dx * share_per_mm_x + dy * share_per_mm_y + dz * share_per_mm_z
        np.clip(axis_share, 0.0, 1.0, out=axis_share)
        axis_x, axis_y, axis_z = axis_vector.astype(np.float32)
        squared_distance = np.square(dx - axis_share * axis_x)
        squared_distance += np.square(dy - axis_share * axis_y)
        squared_distance += np.square(dz - axis_share * axis_z)
        # the radius there, in place
        squared_radius = axis_share
        squared_radius *= np.float32(self.end_radius_mm - self.start_radius_mm)
        squared_radius += np.float32(self.start_radius_mm)
        squared_radius *= squared_radius
        return np.asarray(squared_distance <= squared_radius)

    def shrink(self, mm: float) -> Segment:
        return replace(
            self,
            start_radius_mm=max(0.05, self.start_radius_mm - mm),
            end_radius_mm=max(0.05, self.end_radius_mm - mm),
        )


@dataclass(frozen=True)
class Tube(Solid):
    """A line through `points` (n, 3) mm with `radii` (n,) mm, as a chain of tapered capsules: a
    vessel, a rib, an arm."""

    points: tuple[Point, ...]
    radii: tuple[float, ...]

    @property
    def box(self) -> NDArray[np.float64]:
        return Union(tuple(self.parts())).box

    def parts(self) -> Iterator[Solid]:
        for (start, r0), (end, r1) in pairwise(zip(self.points, self.radii, strict=True)):
            yield Segment(start, end, r0, r1)

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return Union(tuple(self.parts())).contains(x, y, z)

    def shrink(self, mm: float) -> Tube:
        return replace(self, radii=tuple(max(0.05, radius - mm) for radius in self.radii))

    def mirror(self) -> Tube:
        return replace(self, points=tuple(mirror_point(point, -1) for point in self.points))


@dataclass(frozen=True)
class Stack(Solid):
    """Cross-sections along z, monotone cubics between the rows of `table`: (z, numbers), mm, z
    ascending.

    z is resolved to 1 mm inside, the two ends are exact.
    """

    table: tuple[tuple[float, ...], ...]

    @cached_property
    def profile(self) -> NDArray[np.float32]:
        """(n, q) the columns after z at every mm from the lowest."""
        table_rows = np.asarray(self.table)
        z = table_rows[0, 0] + np.arange(int(np.ceil(table_rows[-1, 0] - table_rows[0, 0])) + 1)
        interpolated = PchipInterpolator(table_rows[:, 0], table_rows[:, 1:])(
            np.minimum(z, table_rows[-1, 0])
        )
        return np.asarray(interpolated, dtype=np.float32)

    def nearest_row(self, z: Floats) -> NDArray[np.intp]:
        """Which row of the profile is nearest to these heights."""
        row_indices: Floats = np.rint(z - self.table[0][0])
        return row_indices.clip(0, len(self.profile) - 1).astype(np.intp)

    def columns_at(self, z: Floats) -> list[Floats]:
        """The columns at these heights."""
        row_index = self.nearest_row(z)
        return [column[row_index] for column in self.profile.T]

    def columns_below(self, z: float) -> NDArray[np.float32]:
        """(q,) the columns at the last row up to a height."""
        lower_row: NDArray[np.float32] = self.profile[
            int(np.clip(z - self.table[0][0], 0, len(self.profile) - 1))
        ]
        return lower_row

    def is_between_ends(self, z: Floats) -> Bools:
        """Whether these heights are between the two ends."""
        return (z >= self.table[0][0]) & (z <= self.table[-1][0])

    def shrink(self, mm: float) -> Self:
        rows = tuple((*row[:3], *(max(0.0, reach - mm) for reach in row[3:])) for row in self.table)
        return replace(self, table=rows)


@dataclass(frozen=True)
class Loft(Stack):
    """A stack of rounded cross-sections.

    table              rows (z, centre x, centre y, half width, reach to the front, reach to the back)
    squareness         0 for ellipses, towards 1 for rounded rectangles
    squareness_change  (low, high, other): heights in mm between which `squareness` changes to
                       `other`; () if it is constant
    """

    squareness: float = 0.0
    squareness_change: Point = ()

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose all cross-sections."""
        centre_x, centre_y, half_width, reach_front, reach_back = self.profile.T.astype(float)
        low_x = (centre_x - half_width).min()
        high_x = (centre_x + half_width).max()
        low_y = (centre_y - reach_back).min()
        high_y = (centre_y + reach_front).max()
        return np.array([[low_x, low_y, self.table[0][0]], [high_x, high_y, self.table[-1][0]]])

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points within the cross-section at their
        height."""
        centre_x, centre_y, half_width, reach_front, reach_back = self.columns_at(z)
        # operations on the two largest arrays are in place: the trunk is painted over millions of voxels
        u = x * (1 / np.maximum(half_width, 1e-3)) - centre_x / np.maximum(half_width, 1e-3)
        v = y - centre_y
        front_share = v * (1 / np.maximum(reach_front, 1e-3))
        v *= -1 / np.maximum(reach_back, 1e-3)
        np.maximum(v, front_share, out=v)
        u_squared = np.multiply(u, u, out=u)
        v_squared = np.multiply(v, v, out=v)
        level = u_squared + v_squared
        if self.squareness or self.squareness_change:
            box_level = np.multiply(u_squared, u_squared, out=u)
            v_fourth = np.multiply(v_squared, v_squared, out=v)
            box_level += v_fourth
            squareness = self._squareness_at(z)
            level *= 1 - squareness
            level += squareness * box_level
        return (level <= 1.0) & (self.is_between_ends(z) & (half_width > 0.5))

    def _squareness_at(self, z: Floats) -> Floats | np.float32:
        """The squareness of the cross-sections at these heights."""
        if not self.squareness_change:
            return np.float32(self.squareness)
        low_z, high_z, other_squareness = self.squareness_change
        return np.interp(z, (low_z, high_z), (self.squareness, other_squareness)).astype(np.float32)

    def mirror(self) -> Loft:
        return replace(self, table=tuple((z, -x, *reaches) for z, x, *reaches in self.table))


@dataclass(frozen=True)
class HalfSpace(Solid):
    """The half-space n · p ≤ offset: points up to `offset_mm` in the direction of `normal` (3,)."""

    normal: Point
    offset_mm: float

    @property
    def box(self) -> NDArray[np.float64]:
        return EVERYWHERE

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) on the side opposite to the normal."""
        # most have one
        slope_terms = [
            np.float32(normal_component) * axis_coordinates
            for normal_component, axis_coordinates in zip(self.normal, (x, y, z), strict=True)
            if normal_component
        ]
        return sum(slope_terms[1:], start=slope_terms[0]) <= self.offset_mm

    def shrink(self, mm: float) -> HalfSpace:
        return replace(self, offset_mm=self.offset_mm - mm * float(np.linalg.norm(self.normal)))

    def mirror(self) -> HalfSpace:
        return replace(self, normal=mirror_point(self.normal, -1))


@dataclass(frozen=True)
class Intersection(Solid):
    """The intersection of two solids; its box is the overlap of the two boxes."""

    first: Solid
    second: Solid

    @property
    def is_costly(self) -> bool:
        return self.first.is_costly

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose what both solids share."""
        first_box = self.first.box
        second_box = self.second.box
        return np.stack(
            [np.maximum(first_box[0], second_box[0]), np.minimum(first_box[1], second_box[1])]
        )

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return self.first.contains(x, y, z) & self.second.contains(x, y, z)

    def parts(self) -> Iterator[Solid]:
        for part in self.first.parts():
            yield Intersection(part, self.second)

    def shrink(self, mm: float) -> Solid:
        return Intersection(self.first.shrink(mm), self.second)

    def mirror(self) -> Solid:
        return Intersection(self.first.mirror(), self.second.mirror())


@dataclass(frozen=True)
class Complement(Solid):
    """Everything but a solid."""

    solid: Solid

    @property
    def box(self) -> NDArray[np.float64]:
        return EVERYWHERE

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return ~self.solid.contains(x, y, z)

    def mirror(self) -> Solid:
        return Complement(self.solid.mirror())


@dataclass(frozen=True)
class Union(Solid):
    """The union of the solids."""

    solids: tuple[Solid, ...]

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose all its solids."""
        boxes = np.stack([solid.box for solid in self.solids])
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        return reduce(np.bitwise_or, (solid.contains(x, y, z) for solid in self.solids))

    def parts(self) -> Iterator[Solid]:
        for solid in self.solids:
            yield from solid.parts()

    def shrink(self, mm: float) -> Solid:
        return Union(tuple(solid.shrink(mm) for solid in self.solids))

    def mirror(self) -> Solid:
        return Union(tuple(solid.mirror() for solid in self.solids))


def tube(points: ArrayLike, radii: ArrayLike, *, step_mm: float | None = None) -> Tube:
    """A `Tube` through points (n, 3) with radii (n,) or one radius; with `step_mm` interpolated by
    a spline at that spacing."""
    line = np.asarray(points, dtype=float)
    line_radii = np.broadcast_to(np.asarray(radii, dtype=float), len(line))
    if step_mm is not None and len(line) > 2:
        segment_lengths = np.linalg.norm(np.diff(line, axis=0), axis=1)
        path_mm = np.concatenate([[0.0], np.cumsum(segment_lengths)])  # along the line
        sample_count = max(2, int(np.ceil(path_mm[-1] / step_mm)) + 1)
        sampled_mm = np.linspace(0.0, path_mm[-1], sample_count)
        line = PchipInterpolator(path_mm, line)(sampled_mm)
        line_radii = PchipInterpolator(path_mm, line_radii)(sampled_mm)
    return Tube(tuple(map(tuple, line.tolist())), tuple(line_radii.tolist()))


def mirror_point(point: Point, side: int) -> Point:
    """A point of the right side, or with `side` = -1 its mirror image on the left."""
    x, y, z = point
    return side * x, y, z
