"""The distribution of a person's fat, and how round or square the trunk's cross-section is.

A plain person's fat is determined by one number, the fat at the waist; a figure says where there is
more and where less.  Abdominal fat is mostly behind and at the sides in some people and in front in
others; between buttocks and thighs and the belly it is distributed as in the gynoid and the android
type of Vague (1956), Am J Clin Nutr 4:20.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from fovnet.phantom.geometry.solids import Point
from fovnet.phantom.person.borders import clip_normal

LEVELS_MM = (820.0, 900.0, 985.0, 1090.0, 1220.0, 1385.0, 1500.0)
"""Heights in the written anatomy at which the fat of the trunk is drawn: perineum, hips, lower
belly, waist, ribs, shoulders, neck."""

MOST_WIDER_MM = 60.0  # limit of the total increase in width: a wider trunk does not fit a scanner
PLAIN_SQUARENESS = 0.28  # of a trunk: an eighth more at the corners than an ellipse
# heights between which a round or square trunk changes to the neck, which is plain
NECK_RANGE_MM = (1395.0, 1465.0)

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
    squareness: float = PLAIN_SQUARENESS
    outer_squareness: float = PLAIN_SQUARENESS
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
        """The change from the trunk's cross-section to the neck's, as `Loft.squareness_change`; () if
        they are equal."""
        if self.squareness == self.outer_squareness == PLAIN_SQUARENESS:
            return ()
        return (*NECK_RANGE_MM, PLAIN_SQUARENESS)

    def extra_width_mm(self, fat_mm: float) -> float:
        """How much farther the trunk and hips extend to either side than in a plain person with that
        much fat at the waist; not below 0, and not above MOST_WIDER_MM."""
        # share of the fat at the waist that is at the side of each of the lower levels
        side_shares = (0.6, 1.3, 1.25, 1.05, 0.7)
        most_added_share = max(
            share * (factor - 1)
            for share, factor in zip(side_shares, self.side_factors, strict=False)
        )
        added_fat_mm = max(fat_mm * most_added_share, 0.0)
        roll_mm = max(self.hip_roll_mm, self.loin_roll_mm)
        return min(added_fat_mm + abs(self.asymmetry_mm) + roll_mm, MOST_WIDER_MM)

    def extra_depth_mm(self, fat_mm: float) -> float:
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

WOMEN_KIND_SHARES = (0.2, 0.12, 0.3, 0.22, 0.16)  # in the order of FACTORS_BY_KIND
MEN_KIND_SHARES = (0.2, 0.3, 0.08, 0.24, 0.18)
LARGEST_ADDITION_MM = 30.0  # largest addition of a factor at the waist


def draw_figure(
    fat_mm: float, belly_mm: float, rng: np.random.Generator, *, is_female: bool, is_prone: bool
) -> Figure | None:
    """A figure for a person of that sex, fat at the waist and belly; None for one person in four,
    who is plain."""
    if rng.random() > FIGURE_SHARE:
        return None
    regions = _draw_region_factors(rng, is_female=is_female)
    # a rounder trunk would not contain the lungs and the iliac wings
    squareness = rng.uniform(0.15, 0.65)
    rolls = _draw_rolls(fat_mm, belly_mm, rng, is_prone=is_prone)
    draw_factors = partial(_draw_factors, rng, fat_mm)
    side_factors = draw_factors(regions.mean_side_factors)
    front_most_mm = min(LARGEST_ADDITION_MM, 500 / fat_mm)
    front_factors = draw_factors(regions.mean_front_factors, most_mm=front_most_mm)
    back_factors = draw_factors(regions.mean_back_factors)
    thigh_factors = draw_factors([regions.thigh] * 4, spread=0.25)
    calf_factor = np.sqrt(regions.thigh) * rng.lognormal(0, 0.3)
    figure = Figure(
        side_factors=side_factors,
        front_factors=front_factors,
        back_factors=back_factors,
        thigh_factors=thigh_factors,
        calf_factors=draw_factors([calf_factor] * 4),
        buttock_factor=draw_factors([regions.buttock])[0],
        arm_factor=draw_factors([(1 + regions.chest) / 2], spread=0.3)[0],
        squareness=squareness,
        outer_squareness=_draw_outer_squareness(squareness, fat_mm, rng),
        asymmetry_mm=clip_normal(rng, 0, 0.12, -0.3, 0.3) * min(fat_mm, 25.0) * 0.8,
        hip_roll_mm=rolls.hips_mm,
        loin_roll_mm=rolls.loins_mm,
        apron_mm=rolls.apron_mm,
        blade_roll_mm=rolls.blades_mm,
    )
    if is_prone:
        return figure
    return replace(figure, sag_mm=rng.uniform(0.0, 1.2) * min(fat_mm, 28.0))


class RegionFactors(NamedTuple):
    """Factors of a person's fat in parts of the body, before each place varies at random."""

    belly: float
    flank: float
    back: float
    hip: float
    buttock: float
    thigh: float
    chest: float

    @property
    def mean_side_factors(self) -> list[float]:
        """Of the fat at the sides of the trunk, at LEVELS_MM."""
        return [
            (1 + self.hip) / 2,
            self.hip,
            (self.hip + self.flank) / 2,
            self.flank,
            (self.flank + self.chest) / 2,
            self.chest,
            self.chest,
        ]

    @property
    def mean_front_factors(self) -> list[float]:
        """Of the fat in front of the trunk, at LEVELS_MM; limited at the chest, as the base of the
        breast lies under this fat."""
        return [
            1.0,
            (1 + self.belly) / 2,
            self.belly,
            self.belly,
            (self.belly + self.chest) / 2,
            float(np.clip(self.chest, 0.6, 1.4)),
            self.chest,
        ]

    @property
    def mean_back_factors(self) -> list[float]:
        """Of the fat behind the trunk, at LEVELS_MM."""
        return [
            (1 + self.buttock) / 2,
            self.buttock,
            (self.buttock + self.back) / 2,
            self.back,
            self.back,
            (self.back + self.chest) / 2,
            self.chest,
        ]


def _draw_region_factors(rng: np.random.Generator, *, is_female: bool) -> RegionFactors:
    """The factors of one of FACTORS_BY_KIND, more or less developed, and that of the chest."""
    kind_shares = MEN_KIND_SHARES
    if is_female:
        kind_shares = WOMEN_KIND_SHARES
    kind_factors = list(FACTORS_BY_KIND.values())[rng.choice(len(FACTORS_BY_KIND), p=kind_shares)]
    developed_factors = np.asarray(kind_factors) ** rng.uniform(0.4, 1.3)
    chest_factor = rng.lognormal(0, 0.25)
    belly, flank, back, hip, buttock, thigh = developed_factors.tolist()
    return RegionFactors(belly, flank, back, hip, buttock, thigh, chest_factor)


def _draw_factors(
    rng: np.random.Generator,
    fat_mm: float,
    mean_factors: list[float],
    spread: float = 0.2,
    most_mm: float = LARGEST_ADDITION_MM,
) -> Factors:
    """The factors, each varied at random, so that at the waist, where there are `fat_mm` of fat, at
    least 2.5 mm would be left and at most `most_mm` added."""
    random_factors = mean_factors * rng.lognormal(0, spread, len(mean_factors))
    least_factor = max(0.2, 2.5 / fat_mm)
    most_factor = min(2.6, 1 + most_mm / fat_mm)
    return tuple(np.clip(random_factors, least_factor, most_factor).tolist())


def _draw_outer_squareness(squareness: float, fat_mm: float, rng: np.random.Generator) -> float:
    """The squareness of a trunk's cross-section with its fat; with much fat it differs more from
    that under the fat."""
    added_squareness = rng.uniform(-0.15, 0.35) * min(fat_mm / 15, 1.0)
    return float(np.clip(squareness + added_squareness, 0.0, 0.9))


class Rolls(NamedTuple):
    """Protrusion in mm of rolls above the hips, beside the loins, at the lower belly and below the
    shoulder blades; 0 where there is none."""

    hips_mm: float
    loins_mm: float
    apron_mm: float
    blades_mm: float


def _draw_rolls(
    fat_mm: float, belly_mm: float, rng: np.random.Generator, *, is_prone: bool
) -> Rolls:
    """The rolls of a person with that much fat at the waist and that belly."""
    roll_dice = rng.uniform((0, 0, 0, 0), (1, 1, 1, 1))
    sizes = rng.uniform((5, 0.25, 0.3, 5), (13, 1.0, 1.0, 14))
    sizes[roll_dice >= _roll_shares(fat_mm, belly_mm)] = 0.0
    hip_size, loin_size, apron_size, blade_size = sizes.tolist()
    if is_prone:
        loin_size = 0.0
    fat_factor = min(fat_mm / 20, 1.6)
    return Rolls(
        hips_mm=hip_size * fat_factor,
        loins_mm=loin_size * min(fat_mm, 40.0),
        apron_mm=apron_size * min(fat_mm, 35.0),
        blades_mm=blade_size * fat_factor,
    )


def _roll_shares(fat_mm: float, belly_mm: float) -> tuple[float, float, float, float]:
    """Probability of rolls above the hips, beside the loins, at the lower belly and below the
    shoulder blades."""
    fat_share = float(np.clip((fat_mm - 5) / 10, 0, 1))
    much_fat_share = float(np.clip((fat_mm - 10) / 14, 0, 1))
    apron_share = 0.0
    if belly_mm > 0:
        apron_share = 0.7 * much_fat_share
    return 0.6 * fat_share, 0.75 * much_fat_share, apron_share, 0.35 * much_fat_share
