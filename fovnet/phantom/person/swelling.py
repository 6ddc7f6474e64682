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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.solids import Floats, Point

CORE_SHARE = 0.35
"""s: width of the mass as painted in the anatomy, as a share of its width in the body."""
REACH_RADII = 4.0  # R from the axis beyond which nothing moves

# of people, those with one in a leg, the reason for a tenth of the collection's scans of legs
SWELLING_SHARE = 1 / 6


class SwellingPlace(NamedTuple):
    """A part of the leg with a mass.

    share            of the masses
    middle_mm        (3,) in the right leg, as written
    most_offset_mm   (3,) largest offset from it
    radius_range_mm  least and most
    """

    share: float
    middle_mm: Point
    most_offset_mm: Point
    radius_range_mm: tuple[float, float]


THIGH = SwellingPlace(0.55, (97.0, 0.0, 690.0), (45.0, 45.0, 140.0), (15.0, 75.0))
GROIN_AND_BUTTOCK = SwellingPlace(0.2, (100.0, -20.0, 860.0), (35.0, 55.0, 40.0), (15.0, 60.0))
BEHIND_THE_KNEE = SwellingPlace(0.08, (97.0, -32.0, 480.0), (20.0, 12.0, 60.0), (12.0, 35.0))
CALF = SwellingPlace(0.17, (97.0, -25.0, 300.0), (30.0, 30.0, 110.0), (12.0, 45.0))
SWELLING_PLACES = (THIGH, GROIN_AND_BUTTOCK, BEHIND_THE_KNEE, CALF)
"""Where masses lie.

Source of the sizes: Pisters et al. (1996), J Clin Oncol 14:1679 (sarcomas of limbs: below 5, 5 to
10, above 10 cm all common)."""
LENGTH_OVER_WIDTH_RANGE = (1.0, 3.5)  # least and largest length over width


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
        squared_r_inwards = r * r - np.float32(1 - CORE_SHARE**2) * mass_radius * mass_radius
        outside_shift = r - np.sqrt(np.maximum(squared_r_inwards, 0))
        reach = REACH_RADII * mass_radius
        taper = np.clip((reach - r) / np.maximum((REACH_RADII - 1) * mass_radius, 1e-3), 0, 1)
        inside_shift = np.float32(1 - CORE_SHARE) * r
        inward_share = np.where(r <= mass_radius, inside_shift, outside_shift * taper) / r
        return (
            np.asarray(x - dx * inward_share, dtype=np.float32),
            np.asarray(y - dy * inward_share, dtype=np.float32),
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
    rng: np.random.Generator, leg_offset_mm: Callable[[float], float]
) -> Swelling | None:
    """A mass in one leg, in one of six people; `leg_offset_mm` gives a leg's lateral offset from the
    written anatomy, by height in mm."""
    if rng.random() > SWELLING_SHARE:
        return None
    shares = [swelling_place.share for swelling_place in SWELLING_PLACES]
    swelling_place = SWELLING_PLACES[rng.choice(len(SWELLING_PLACES), p=shares)]
    side = int(rng.choice([-1, 1]))
    offsets_mm = np.asarray(swelling_place.most_offset_mm) * rng.uniform(-1, 1, 3)
    x, y, z = (np.asarray(swelling_place.middle_mm) + offsets_mm).tolist()
    radius_mm = float(np.exp(rng.uniform(*np.log(swelling_place.radius_range_mm))))
    half_length_mm = radius_mm * rng.uniform(*LENGTH_OVER_WIDTH_RANGE)
    return Swelling((side * (x + leg_offset_mm(z)), y, z), radius_mm, half_length_mm)
