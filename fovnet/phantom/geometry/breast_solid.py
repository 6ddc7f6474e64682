"""The shape of breasts: a cone or half an ellipsoid on the chest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.solids import Bools, Floats, Point, Solid

BEHIND_MM = 55.0
"""How far a breast extends behind its base, rounded: into the chest, whatever its curvature."""

FLARED_SHARE = 0.4
"""Share of the length over which the base of a hanging breast is wider or narrower than the rest."""


@dataclass(frozen=True)
class BreastSolid(Solid):
    """A cone or half an ellipsoid around the y axis, in front of a base: r² ≤ (1 - t^taper)^tip, t the
    share of the length; powers 2, 1 are half an ellipsoid, 1, 2 a cone.

    base          (3,) middle of the base, mm
    half_size_mm  half width and half height of the base
    length_mm     from base to nipple
    lean_mm       (2,) by which the nipple is to the right of and above the base's middle; the shape
                  bends there with t²
    taper_power   of t
    tip_power     of the whole
    base_flare    added to r² at the base, falling to 0 at t = FLARED_SHARE: above 0 a broad base on
                  the chest, below 0 a pear on a narrow one
    """

    base: Point
    half_size_mm: tuple[float, float]
    length_mm: float
    lean_mm: tuple[float, float] = (0.0, 0.0)
    taper_power: float = 2.0
    tip_power: float = 1.0
    base_flare: float = 0.0

    @property
    def nipple(self) -> Point:
        """The position of the nipple, mm."""
        return self.point_at_shares(1.0)

    @property
    def reach_mm(self) -> tuple[float, float]:
        """Largest half width and half height, mm."""
        flare_factor = (1 + max(self.base_flare, 0.0)) ** 0.5
        return self.half_size_mm[0] * flare_factor, self.half_size_mm[1] * flare_factor

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose the breast and its root in the chest."""
        x, y, z = self.base
        reach_x, reach_z = self.reach_mm
        lean_x, lean_z = self.lean_mm
        low_x = x - reach_x + min(lean_x, 0)
        high_x = x + reach_x + max(lean_x, 0)
        low_z = z - reach_z + min(lean_z, 0)
        high_z = z + reach_z + max(lean_z, 0)
        return np.array([[low_x, y - BEHIND_MM, low_z], [high_x, y + self.length_mm, high_z]])

    def to_shares(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """(u, t, w) of points x, y, z in mm: their shares of the half width, of the length and of the
        half height, with the lean removed."""
        base_x, base_y, base_z = (np.float32(coordinate) for coordinate in self.base)
        lean_x, lean_z = (np.float32(shift_mm) for shift_mm in self.lean_mm)
        half_width, half_height = self.half_size_mm
        t = (y - base_y) * np.float32(1 / self.length_mm)
        lean_share = np.square(np.clip(t, 0, 1))
        u = (x - base_x - lean_x * lean_share) * np.float32(1 / half_width)
        w = (z - base_z - lean_z * lean_share) * np.float32(1 / half_height)
        return u, t, w

    def point_at_shares(self, t: float, u: float = 0.0, w: float = 0.0) -> Point:
        """The point (x, y, z) mm at shares of the length, the half width and the half height."""
        lean_share = min(max(t, 0.0), 1.0) ** 2
        x = self.base[0] + self.lean_mm[0] * lean_share + u * self.half_size_mm[0]
        return (
            x,
            self.base[1] + t * self.length_mm,
            self.base[2] + self.lean_mm[1] * lean_share + w * self.half_size_mm[1],
        )

    def point_around_axis(self, t: float, r: float, turn: float) -> Point:
        """The point at a share t of the length and r of the radius, in that direction round the
        axis, rad."""
        return self.point_at_shares(t, r * float(np.cos(turn)), r * float(np.sin(turn)))

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points under the surface of the breast."""
        u, t, w = self.to_shares(x, y, z)
        tapered = 1 - np.clip(t, 0, 1) ** np.float32(self.taper_power)
        squared_radius = tapered ** np.float32(self.tip_power)
        flare_share = np.clip(1 - t / np.float32(FLARED_SHARE), 0, 1)
        squared_radius += np.float32(self.base_flare) * np.square(flare_share)
        # behind the base it is rounded
        squared_depth = np.square(np.minimum(t, 0) * np.float32(self.length_mm / BEHIND_MM))
        squared_radius -= squared_depth * np.float32(1 + self.base_flare)
        return (u * u + w * w <= squared_radius) & (t <= 1)

    def shrink(self, mm: float) -> BreastSolid:
        half_width, half_height = (max(0.5, half_size - mm) for half_size in self.half_size_mm)
        return replace(
            self, half_size_mm=(half_width, half_height), length_mm=max(0.5, self.length_mm - mm)
        )
