"""A mass that displaces tissue: within each axial plane what lay around its middle moves outwards,
with its area preserved.

    r   mm from the mass's axis, in the swollen body        ρ   mm from it in the original anatomy
    R   radius of the mass at that height: R0 √(1 - u²), u from -1 to 1 between its two ends

Inside, r ≤ R, the anatomy is stretched from its core: ρ = s r.  Outside, area is preserved, ρ² = r²
- (1 - s²) R², except for a taper that ends the displacement at 4 R, so that the other leg is not
moved.  Both maps increase with r and meet at R, so nothing folds over; heights do not change, nor
do the borders of regions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.solids import Floats, Point

CORE_SHARE = 0.35
"""S: width of the mass as painted in the anatomy, as a share of its width in the body."""
REACH_RADII = 4.0  # R from the axis beyond which nothing moves

# of people, those with one in a leg, the reason for a tenth of the collection's scans of legs
SWELLING_SHARE = 1 / 6
SWELLING_PLACES: tuple[tuple[float, Point, Point, Point], ...] = (
    (0.55, (97.0, 0.0, 690.0), (45.0, 45.0, 140.0), (15.0, 75.0)),  # thigh
    (0.2, (100.0, -20.0, 860.0), (35.0, 55.0, 40.0), (15.0, 60.0)),  # groin and buttock
    (0.08, (97.0, -32.0, 480.0), (20.0, 12.0, 60.0), (12.0, 35.0)),  # behind the knee
    (0.17, (97.0, -25.0, 300.0), (30.0, 30.0, 110.0), (12.0, 45.0)),  # calf
)
"""Share, middle in the right leg as written, largest offset from it, and the smallest and largest
radius in mm.

Source of the sizes: Pisters et al. (1996), J Clin Oncol 14:1679 (sarcomas of limbs: below 5, 5 to
10, above 10 cm all common)."""
LENGTH_OVER_WIDTH = (1.0, 3.5)  # least and largest length over width


@dataclass(frozen=True)
class Swelling:
    """The position of a mass, in mm of the written anatomy.

    middle_mm       (3,)
    radius_mm       the largest, at its middle
    half_length_mm  half its length along the body
    """

    middle_mm: Point
    radius_mm: float
    half_length_mm: float

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """x and y in the anatomy of points x, y, z (mm, broadcastable) of the swollen body;
        float32."""
        mass_radius = self.radius_at_height_mm(z)
        if not mass_radius.any():
            return x, y
        dx = x - np.float32(self.middle_mm[0])
        dy = y - np.float32(self.middle_mm[1])
        r = np.maximum(np.hypot(dx, dy), np.float32(1e-3))
        outside_shift = r - np.sqrt(
            np.maximum(r * r - np.float32(1 - CORE_SHARE**2) * mass_radius * mass_radius, 0)
        )
        taper = np.clip(
            (REACH_RADII * mass_radius - r) / np.maximum((REACH_RADII - 1) * mass_radius, 1e-3),
            0,
            1,
        )
        inward_share = (
            np.where(r <= mass_radius, np.float32(1 - CORE_SHARE) * r, outside_shift * taper) / r
        )
        return np.asarray(x - dx * inward_share, dtype=np.float32), np.asarray(
            y - dy * inward_share, dtype=np.float32
        )

    def radius_at_height_mm(self, z: Floats) -> Floats:
        """R in mm at heights of the anatomy; 0 above and below."""
        u = (np.asarray(z, dtype=np.float32) - np.float32(self.middle_mm[2])) / np.float32(
            self.half_length_mm
        )
        return np.asarray(
            np.float32(self.radius_mm) * np.sqrt(np.clip(1 - u * u, 0, None)), dtype=np.float32
        )

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) of the swollen body around boxes (n, 2, 3) of the anatomy: those near it,
        enlarged by the largest displacement."""
        reach_mm = np.array([REACH_RADII * self.radius_mm] * 2 + [self.half_length_mm])
        is_near = np.all(
            (boxes[:, 0] < self.middle_mm + reach_mm) & (boxes[:, 1] > self.middle_mm - reach_mm),
            axis=1,
        )
        largest_shift_mm = (
            is_near[:, None] * (1 - CORE_SHARE) * self.radius_mm * np.array([1.0, 1.0, 0.0])
        )
        return np.stack([boxes[:, 0] - largest_shift_mm, boxes[:, 1] + largest_shift_mm], axis=1)


def draw_swelling(
    rng: np.random.Generator, turned_out_mm: Callable[[float], float]
) -> Swelling | None:
    """A mass in one leg, in one of six people; `turned_out_mm` gives a leg's lateral offset from
    the written anatomy, by height in mm."""
    if rng.random() > SWELLING_SHARE:
        return None
    _, middle_mm, offsets_mm, radius_range_mm = SWELLING_PLACES[
        int(
            rng.choice(len(SWELLING_PLACES), p=[place_share for place_share, *_ in SWELLING_PLACES])
        )
    ]
    side = int(rng.choice([-1, 1]))
    x, y, z = (np.asarray(middle_mm) + np.asarray(offsets_mm) * rng.uniform(-1, 1, 3)).tolist()
    radius_mm = float(np.exp(rng.uniform(*np.log(radius_range_mm))))
    return Swelling(
        (side * (x + turned_out_mm(z)), y, z),
        radius_mm,
        radius_mm * rng.uniform(*LENGTH_OVER_WIDTH),
    )
