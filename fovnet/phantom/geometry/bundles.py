"""Cross-sections of limbs: non-elliptic outlines, and the muscles that fill them without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from fovnet.phantom.geometry.solids import Bools, Floats, Solid, Stack

FARTHEST_LEVEL = 1.4  # limit of the shape: far out the cubic term would let it reappear
STEP_MM = 2.0  # along z, within which a muscle's position is constant


@dataclass(frozen=True)
class Outline(Stack):
    """A stack of rounded, asymmetric cross-sections: r² + t r³ cos(3 (θ - θ₀)) ≤ 1 in units of four
    reaches.

    table         rows (z, centre x, centre y, reach towards +x, towards -x, to the front, to the back)
    corner_terms  t cos 3θ₀ and t sin 3θ₀, of size 0.22 at most: three corners 120° apart, as in a
                  tibia's triangle
    """

    corner_terms: tuple[float, float] = (0.0, 0.0)

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose all cross-sections, corners included."""
        centre_x, centre_y, reach_right, reach_left, reach_front, reach_back = (
            self.profile.T.astype(float)
        )
        corner_factor = 1 + 0.8 * float(np.hypot(*self.corner_terms))
        low_x = (centre_x - corner_factor * reach_left).min()
        high_x = (centre_x + corner_factor * reach_right).max()
        low_y = (centre_y - corner_factor * reach_back).min()
        high_y = (centre_y + corner_factor * reach_front).max()
        return np.array([[low_x, low_y, self.table[0][0]], [high_x, high_y, self.table[-1][0]]])

    def relative_position(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """x and y in units of the reaches: (0, 0) in the middle, about 1 from it on the surface."""
        centre_x, centre_y, *reaches = self.columns_at(z)
        right_scale, left_scale, front_scale, back_scale = (
            1 / np.maximum(side_reach, np.float32(0.1)) for side_reach in reaches
        )
        u = np.asarray(x - centre_x, dtype=np.float32)
        v = np.asarray(y - centre_y, dtype=np.float32)
        u *= np.where(u > 0, right_scale, left_scale)
        v *= np.where(v > 0, front_scale, back_scale)
        return u, v

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points within the cross-section at their
        height: r² + t r³ cos(3 (θ - θ₀)) ≤ 1, the last term as a polynomial in u = r cos θ and v = r
        sin θ."""
        u, v = self.relative_position(x, y, z)
        u_squared = u * u
        v_squared = v * v
        level = u_squared + v_squared
        cos_term, sin_term = (np.float32(coefficient) for coefficient in self.corner_terms)
        if not (cos_term or sin_term):
            return (level <= 1.0) & self.is_between_ends(z)
        is_inside = level <= FARTHEST_LEVEL**2
        # in place, as a leg is painted over millions of voxels: u becomes t cos 3θ₀ (u³ - 3 u v²), v
        # becomes t sin 3θ₀ (3 u² v - v³)
        u *= cos_term
        v *= sin_term
        v_squared *= 3
        u *= u_squared - v_squared
        u_squared *= 3
        v_squared /= 3
        u_squared -= v_squared
        v *= u_squared
        level += u
        level += v
        is_inside &= level <= 1.0
        return is_inside & self.is_between_ends(z)

    def mirror(self) -> Outline:
        """The outline on the other side, reaches and corner exchanged."""
        rows = tuple(
            (z, -x, y, left_reach, right_reach, *depth_reaches)
            for z, x, y, right_reach, left_reach, *depth_reaches in self.table
        )
        cos_term, sin_term = self.corner_terms
        return Outline(rows, (-cos_term, sin_term))


Oval = tuple[float, float, float, float]
"""Centre and half widths of a muscle in its compartment, in the units of `Outline.relative_position`; +x is
towards the outer side."""


@dataclass(frozen=True)
class FatPlanes(Solid):
    """The planes of fat, `thickness_mm` thick, between muscles that fill an outline.

    Every point belongs to the muscle with the nearest oval, in units of the oval's half widths; a
    muscle may have several ovals, with no plane between them.  So small muscles are rounded, large
    ones fill the rest, and a muscle ends where its ovals shrink to nothing.

    side          1 for the right, -1 for the left
    heights_mm    (h,) ascending
    muscle_ovals  for each muscle, for each oval of it, an `Oval` at every height
    """

    outline: Outline
    side: int
    heights_mm: tuple[float, ...]
    muscle_ovals: tuple[tuple[tuple[Oval, ...], ...], ...]
    thickness_mm: float
    is_costly = True

    @property
    def box(self) -> NDArray[np.float64]:
        box = self.outline.box
        box[:, 2] = self.heights_mm[0], self.heights_mm[-1]
        return box

    @cached_property
    def oval_coefficients(self) -> list[list[NDArray[np.float32]]]:
        """For every oval of every muscle (5, n): 1/a, -x/a, 1/b, -y/b and (a b)^½ every STEP_MM."""
        z = np.arange(self.heights_mm[0], self.heights_mm[-1] + STEP_MM, STEP_MM)
        return [
            [_oval_coefficients(self.heights_mm, oval, z) for oval in muscle]
            for muscle in self.muscle_ovals
        ]

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) half way between the two nearest muscles."""
        u, v = self.outline.relative_position(x, y, z)
        u = self.side * u
        # slightly waved: straight planes would look artificial
        u, v = (
            u + np.float32(0.03) * np.sin(9 * v + z / 40),
            v + np.float32(0.03) * np.sin(8 * u - z / 50),
        )
        lowest_mm = self.heights_mm[0]
        highest_mm = self.heights_mm[-1]
        last_row = self.oval_coefficients[0][0].shape[1] - 1
        row_index = np.clip(np.rint((z - lowest_mm) / STEP_MM), 0, last_row).astype(np.intp)
        shape = np.broadcast_shapes(u.shape, row_index.shape)
        nearest_squared = np.full(shape, 1e9, dtype=np.float32)
        second_squared = np.full(shape, 1e9, dtype=np.float32)
        nearest_size = np.ones(shape, dtype=np.float32)
        second_size = np.ones(shape, dtype=np.float32)
        for ovals_of_muscle in self.oval_coefficients:
            squared, size = _nearest_oval(ovals_of_muscle, u, v, row_index)
            # the muscle takes the second place, then the first, whose holder becomes the second
            is_second = squared < second_squared
            second_squared = np.where(is_second, squared, second_squared)
            second_size = np.where(is_second, size, second_size)
            is_nearest = squared < nearest_squared
            second_squared = np.where(is_nearest, nearest_squared, second_squared)
            second_size = np.where(is_nearest, nearest_size, second_size)
            nearest_squared = np.where(is_nearest, squared, nearest_squared)
            nearest_size = np.where(is_nearest, size, nearest_size)
        mean_reach = self.outline.profile[:, 2:].mean(axis=1)[self.outline.nearest_row(z)]
        relative_thickness = np.float32(self.thickness_mm) / np.maximum(mean_reach, np.float32(1.0))
        # across the plane the two distances change by 1 / size each, in opposite directions
        distance_change = relative_thickness * (1 / nearest_size + 1 / second_size) / 2
        is_on_border = np.sqrt(second_squared) - np.sqrt(nearest_squared) <= distance_change
        return np.asarray(is_on_border & ((z >= lowest_mm) & (z <= highest_mm)))


def _oval_coefficients(
    heights_mm: Sequence[float], oval: tuple[Oval, ...], z: NDArray[np.float64]
) -> NDArray[np.float32]:
    """(5, n) 1/a, -x/a, 1/b, -y/b and (a b)^½ of an oval at heights z (n,): its centre x, y and half
    widths a, b, interpolated between the ovals at `heights_mm`."""
    x, y, a, b = PchipInterpolator(heights_mm, np.asarray(oval))(z).T
    return np.asarray([1 / a, -x / a, 1 / b, -y / b, np.sqrt(a * b)], dtype=np.float32)


def _nearest_oval(
    ovals: list[NDArray[np.float32]], u: Floats, v: Floats, row_index: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Squared distance of points u, v to the nearest oval of a muscle, in its half widths, and that
    oval's size; each of `ovals` holds `_oval_coefficients`, of which a point's are those of its
    `row_index`."""
    nearest_squared = np.full(u.shape, np.inf, np.float32)
    nearest_size = np.ones(1, np.float32)
    for scale_u, offset_u, scale_v, offset_v, size in ovals:
        distance_u = u * scale_u[row_index] + offset_u[row_index]
        distance_v = v * scale_v[row_index] + offset_v[row_index]
        squared = np.square(distance_u) + np.square(distance_v)
        nearest_size = np.where(squared < nearest_squared, size[row_index], nearest_size)
        nearest_squared = np.minimum(nearest_squared, squared)
    return nearest_squared, nearest_size
