"""Cross-sections of limbs: non-elliptic outlines, and the muscles that fill them without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from fovnet.phantom.geometry.solids import Bools, Floats, Solid, Stack

FARTHEST = 1.4  # limit of the shape: far out the cubic term would let it reappear
STEP_MM = 2.0  # along z, within which a muscle's position is constant


@dataclass(frozen=True)
class Outline(Stack):
    """A stack of rounded, asymmetric cross-sections: r² + t r³ cos(3 (θ - θ₀)) ≤ 1 in units of four
    reaches.

    table  rows (z, centre x, centre y, reach towards +x, towards -x, to the front, to the back)
    three  t cos 3θ₀ and t sin 3θ₀, of size 0.22 at most: three corners 120° apart, as in a tibia's triangle
    """

    three: tuple[float, float] = (0.0, 0.0)

    @property
    def box(self) -> NDArray[np.float64]:
        cx, cy, right, left, front, back = self.profile.T.astype(float)
        corner_reach = 1 + 0.8 * float(np.hypot(*self.three))
        low = (cx - corner_reach * left).min(), (cy - corner_reach * back).min(), self.table[0][0]
        return np.array(
            [
                low,
                (
                    (cx + corner_reach * right).max(),
                    (cy + corner_reach * front).max(),
                    self.table[-1][0],
                ),
            ]
        )

    def within(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """x and y in units of the reaches: (0, 0) in the middle, about 1 from it on the surface."""
        cx, cy, *reaches = self.at(z)
        right, left, front, back = (1 / np.maximum(reach, np.float32(0.1)) for reach in reaches)
        u = np.asarray(x - cx, dtype=np.float32)
        v = np.asarray(y - cy, dtype=np.float32)
        u *= np.where(u > 0, right, left)
        v *= np.where(v > 0, front, back)
        return u, v

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        u, v = self.within(x, y, z)
        uu = u * u
        vv = v * v
        level = uu + vv
        is_inside = level <= FARTHEST**2
        cos, sin = (np.float32(value) for value in self.three)
        if cos or sin:  # in place, as a leg is painted over millions of voxels
            u *= cos
            v *= sin
            vv *= 3
            u *= uu - vv
            uu *= 3
            vv /= 3
            uu -= vv
            v *= uu
            level += u
            level += v
            is_inside &= level <= 1.0
        else:
            is_inside = level <= 1.0
        return is_inside & self.beside(z)

    def mirror(self) -> Outline:
        rows = tuple((z, -x, y, left, right, *deep) for z, x, y, right, left, *deep in self.table)
        cos, sin = self.three
        return Outline(rows, (-cos, sin))


Oval = tuple[float, float, float, float]
"""Centre and half widths of a muscle in its compartment, in the units of `Outline.within`; +x is
towards the outer side."""


@dataclass(frozen=True)
class Planes(Solid):
    """The planes of fat, `thick_mm` thick, between muscles that fill an outline.

    Every point belongs to the muscle with the nearest oval, in units of the oval's half widths; a muscle may
    have several ovals, with no plane between them.  So small muscles are rounded, large ones fill the rest,
    and a muscle ends where its ovals shrink to nothing.
    heights  (h,) mm, ascending         muscles  for each muscle, for each oval of it, an `Oval` at every
        height
    """

    outline: Outline
    side: int
    heights: tuple[float, ...]
    muscles: tuple[tuple[tuple[Oval, ...], ...], ...]
    thick_mm: float
    sparse = True

    @property
    def box(self) -> NDArray[np.float64]:
        box = self.outline.box
        box[:, 2] = self.heights[0], self.heights[-1]
        return box

    @cached_property
    def ovals(self) -> list[list[NDArray[np.float32]]]:
        """For every oval of every muscle (5, n): 1/a, -x/a, 1/b, -y/b and (a b)^½ every STEP_MM."""
        z = np.arange(self.heights[0], self.heights[-1] + STEP_MM, STEP_MM)
        return [
            [_coefficients(self.heights, oval, z) for oval in muscle] for muscle in self.muscles
        ]

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        u, v = self.outline.within(x, y, z)
        u = self.side * u
        # Slightly waved: straight planes would look artificial.
        u, v = (
            u + np.float32(0.03) * np.sin(9 * v + z / 40),
            v + np.float32(0.03) * np.sin(8 * u - z / 50),
        )
        low = self.heights[0]
        high = self.heights[-1]
        row = np.clip(np.rint((z - low) / STEP_MM), 0, self.ovals[0][0].shape[1] - 1).astype(
            np.intp
        )
        shape = np.broadcast_shapes(u.shape, row.shape)
        best = np.full(shape, 1e9, dtype=np.float32)
        second = np.full(shape, 1e9, dtype=np.float32)
        size = np.ones(shape, dtype=np.float32)
        other = np.ones(shape, dtype=np.float32)
        for muscle in self.ovals:
            distance, muscle_size = _nearest(muscle, u, v, row)
            first = distance < best
            nearer = first | (distance < second)
            other = np.where(first, size, np.where(nearer, muscle_size, other))
            second = np.where(first, best, np.where(nearer, distance, second))
            best = np.where(first, distance, best)
            size = np.where(first, muscle_size, size)
        reach = self.outline.profile[:, 2:].mean(axis=1)[self.outline.row(z)]
        thick = np.float32(self.thick_mm) / np.maximum(reach, np.float32(1.0))
        # Across the plane the two distances change by 1 / size each, in opposite directions.
        on_border = (np.sqrt(second) - np.sqrt(best)) <= thick * (1 / size + 1 / other) / 2
        return np.asarray(on_border & ((z >= low) & (z <= high)))


def _coefficients(
    heights: Sequence[float], oval: tuple[Oval, ...], z: NDArray[np.float64]
) -> NDArray[np.float32]:
    x, y, a, b = PchipInterpolator(heights, np.asarray(oval))(z).T
    return np.asarray([1 / a, -x / a, 1 / b, -y / b, np.sqrt(a * b)], dtype=np.float32)


def _nearest(
    muscle: list[NDArray[np.float32]], u: Floats, v: Floats, row: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Squared distance to the nearest oval of a muscle, in its half widths, and that oval's size."""
    nearest_distance = np.full(u.shape, np.inf, np.float32)
    nearest_size = np.ones(1, np.float32)
    for per_u, less_u, per_v, less_v, size in muscle:
        distance = np.square(u * per_u[row] + less_u[row]) + np.square(v * per_v[row] + less_v[row])
        nearest_size = np.where(distance < nearest_distance, size[row], nearest_size)
        nearest_distance = np.minimum(nearest_distance, distance)
    return nearest_distance, nearest_size
