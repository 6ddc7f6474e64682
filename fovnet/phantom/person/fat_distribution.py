"""The distribution of a person's fat, and how round or square the trunk's cross-section is.

A plain person's fat is determined by one number, the fat at the waist; a figure says where there is
more and where less.  Abdominal fat is mostly behind and at the sides in some people and in front in
others; between buttocks and thighs and the belly it is distributed as in the gynoid and the android
type of Vague (1956), Am J Clin Nutr 4:20.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from fovnet.phantom.geometry.solids import Point
from fovnet.phantom.person.borders import clip_normal

LEVELS_MM = (820.0, 900.0, 985.0, 1090.0, 1220.0, 1385.0, 1500.0)
"""Heights in the written anatomy at which the fat of the trunk is drawn: perineum, hips, lower
belly, waist, ribs, shoulders, neck."""

MOST_WIDER_MM = 60.0  # limit of the total increase in width: a wider trunk does not fit a scanner
PLAIN_SQUARE = 0.28  # of a trunk: an eighth more at the corners than an ellipse
# heights between which a round or square trunk changes to the neck, which is plain
NECK_MM = (1395.0, 1465.0)

Factors = tuple[float, ...]
EVEN_LEVELS: Factors = (1.0,) * len(LEVELS_MM)
EVEN_LEG: Factors = (1.0,) * 4


@dataclass(frozen=True)
class Figure:
    """How a person's fat differs from a plain person's, for whom all arguments have their defaults.

    side_factors       of the fat at the sides of the trunk, at LEVELS_MM
    front_factors      of the fat in front of the trunk, at LEVELS_MM
    back_factors       of the fat behind the trunk, at LEVELS_MM
    thigh_factors      of the fat of the thighs: outer, inner, front, back
    calf_factors       of the fat of the calves, in the same order
    buttock_factor     of the fat of the buttocks
    arm_factor         of the fat of the arms
    squareness         of the trunk's cross-section under its fat: 0 an ellipse, 1 a box with round
                       corners
    outer_squareness   of the trunk's cross-section with its fat
    asymmetry_mm       thickness of the fat on the right minus the mean of both sides
    sag_mm             how far behind that of its muscles the trunk is widest: in supine people fat
                       sinks to the sides
    hip_roll_mm        protrusion of rolls above the hips
    loin_roll_mm       protrusion of rolls beside the loins
    apron_mm           protrusion of a roll at the lower belly
    blade_roll_mm      protrusion of rolls below the shoulder blades
    """

    side_factors: Factors = EVEN_LEVELS
    front_factors: Factors = EVEN_LEVELS
    back_factors: Factors = EVEN_LEVELS
    thigh_factors: Factors = EVEN_LEG
    calf_factors: Factors = EVEN_LEG
    buttock_factor: float = 1.0
    arm_factor: float = 1.0
    squareness: float = PLAIN_SQUARE
    outer_squareness: float = PLAIN_SQUARE
    asymmetry_mm: float = 0.0
    sag_mm: float = 0.0
    hip_roll_mm: float = 0.0
    loin_roll_mm: float = 0.0
    apron_mm: float = 0.0
    blade_roll_mm: float = 0.0

    @cached_property
    def _along(self) -> PchipInterpolator:
        return PchipInterpolator(
            LEVELS_MM, np.stack([self.side_factors, self.front_factors, self.back_factors], axis=1)
        )

    def trunk_factors(self, z: float) -> Point:
        """The factors at the sides, in front and behind at a height of the written anatomy,
        interpolated along the trunk."""
        return tuple(self._along(np.clip(z, LEVELS_MM[0], LEVELS_MM[-1])).tolist())

    def leg_factors(self, z: float) -> NDArray[np.float64]:
        """(4,) factors at the outer and inner side of a leg, in front and behind; calf changes to
        thigh over the 10 cm around the knee."""
        thigh_share = float(np.clip((z - 430.0) / 100.0, 0, 1))
        calves = np.asarray(self.calf_factors)
        return np.asarray(calves + thigh_share * (np.asarray(self.thigh_factors) - calves))

    @property
    def neck_squareness_change(self) -> Point:
        """The change from the trunk's cross-section to the neck's, as `Loft.gives_way`; () if they
        are equal."""
        return (
            ()
            if self.squareness == self.outer_squareness == PLAIN_SQUARE
            else (*NECK_MM, PLAIN_SQUARE)
        )

    def added_width_mm(self, fat_mm: float) -> float:
        """How much farther the trunk and hips extend to either side than in a plain person with
        that much fat; not below 0."""
        share_factor_pairs = zip((0.6, 1.3, 1.25, 1.05, 0.7), self.side_factors, strict=False)
        added_fat_mm = max(
            fat_mm * max(width_share * (factor - 1) for width_share, factor in share_factor_pairs),
            0.0,
        )
        return min(
            added_fat_mm + abs(self.asymmetry_mm) + max(self.hip_roll_mm, self.loin_roll_mm),
            MOST_WIDER_MM,
        )

    def added_depth_mm(self, fat_mm: float) -> float:
        """How much farther the belly extends to the front than in a plain person; not below 0."""
        return max(1.2 * fat_mm * (max(self.front_factors[2:5]) - 1), 0.0) + 0.5 * self.apron_mm


FIGURE_SHARE = 0.75
"""Share of people whose figure is not plain."""

FACTORS_BY_KIND: dict[str, tuple[float, float, float, float, float, float]] = {
    # belly, flanks, back, hips, buttocks, thighs
    "even": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    "apple": (1.8, 1.35, 1.2, 0.7, 0.6, 0.5),
    "pear": (0.6, 0.75, 0.8, 1.6, 1.5, 1.7),
    "behind": (0.35, 1.35, 2.0, 1.2, 1.2, 0.9),
    "in front": (2.0, 0.6, 0.45, 0.8, 0.7, 0.9),
}
"""Factors on the fat of a figure of that kind, fully developed."""

LARGEST_ADDITION_MM = 30.0  # largest addition of a factor at the waist


def draw_figure(
    female: bool, fat_mm: float, belly_mm: float, prone: bool, rng: np.random.Generator
) -> Figure | None:
    """A figure for a person of that sex, fat at the waist and belly; None for one person in four,
    who is plain."""
    if rng.random() > FIGURE_SHARE:
        return None
    kind_odds = (0.2, 0.12, 0.3, 0.22, 0.16) if female else (0.2, 0.3, 0.08, 0.24, 0.18)
    kind_factors = list(FACTORS_BY_KIND.values())[
        int(rng.choice(len(FACTORS_BY_KIND), p=kind_odds))
    ]
    belly_factor, flank_factor, back_factor, hip_factor, buttock_factor, thigh_factor = np.asarray(
        kind_factors
    ) ** rng.uniform(0.4, 1.3)
    chest_factor = rng.lognormal(0, 0.25)
    # limited, as the base of the breast lies under this fat
    front_chest_factor = float(np.clip(chest_factor, 0.6, 1.4))

    def draw_factors(
        *factors: float, spread: float = 0.2, most_mm: float = LARGEST_ADDITION_MM
    ) -> Factors:
        random_factors = factors * rng.lognormal(0, spread, len(factors))
        most = min(2.6, 1 + most_mm / fat_mm)
        return tuple(np.clip(random_factors, max(0.2, 2.5 / fat_mm), most).tolist())

    # a rounder trunk would not contain the lungs and the iliac wings
    squareness = rng.uniform(0.15, 0.65)
    roll_draws = (
        rng.uniform((0, 0, 0, 0), (1, 1, 1, 1)),
        rng.uniform((5, 0.25, 0.3, 5), (13, 1.0, 1.0, 14)),
    )
    roll_size = min(fat_mm / 20, 1.6)
    roll_shares = _roll_shares(fat_mm, belly_mm)
    handles_size, hang_size, apron_size, blades_size = (
        float(drawn_size) if roll_dice < roll_share else 0.0
        for roll_dice, drawn_size, roll_share in zip(*roll_draws, roll_shares, strict=True)
    )
    return Figure(
        side_factors=draw_factors(
            (1 + hip_factor) / 2,
            hip_factor,
            (hip_factor + flank_factor) / 2,
            flank_factor,
            (flank_factor + chest_factor) / 2,
            chest_factor,
            chest_factor,
        ),
        front_factors=draw_factors(
            1.0,
            (1 + belly_factor) / 2,
            belly_factor,
            belly_factor,
            (belly_factor + chest_factor) / 2,
            front_chest_factor,
            chest_factor,
            most_mm=min(LARGEST_ADDITION_MM, 500 / fat_mm),
        ),
        back_factors=draw_factors(
            (1 + buttock_factor) / 2,
            buttock_factor,
            (buttock_factor + back_factor) / 2,
            back_factor,
            back_factor,
            (back_factor + chest_factor) / 2,
            chest_factor,
        ),
        thigh_factors=draw_factors(*[thigh_factor] * 4, spread=0.25),
        calf_factors=draw_factors(*[np.sqrt(thigh_factor) * rng.lognormal(0, 0.3)] * 4, spread=0.2),
        buttock_factor=draw_factors(buttock_factor)[0],
        arm_factor=draw_factors((1 + chest_factor) / 2, spread=0.3)[0],
        squareness=squareness,
        outer_squareness=float(
            np.clip(squareness + rng.uniform(-0.15, 0.35) * min(fat_mm / 15, 1.0), 0.0, 0.9)
        ),
        asymmetry_mm=clip_normal(rng, 0, 0.12, -0.3, 0.3) * min(fat_mm, 25.0) * 0.8,
        sag_mm=0.0 if prone else rng.uniform(0.0, 1.2) * min(fat_mm, 28.0),
        hip_roll_mm=handles_size * roll_size,
        loin_roll_mm=0.0 if prone else hang_size * min(fat_mm, 40.0),
        apron_mm=apron_size * min(fat_mm, 35.0),
        blade_roll_mm=blades_size * roll_size,
    )


def _roll_shares(fat_mm: float, belly_mm: float) -> tuple[float, float, float, float]:
    """Probability of rolls above the hips, beside the loins, at the lower belly and below the
    shoulder blades."""
    fat_share = float(np.clip((fat_mm - 5) / 10, 0, 1))
    much_fat_share = float(np.clip((fat_mm - 10) / 14, 0, 1))
    return (
        0.6 * fat_share,
        0.75 * much_fat_share,
        0.7 * much_fat_share if belly_mm > 0 else 0.0,
        0.35 * much_fat_share,
    )
