"""Shapes of breasts: of any size, hanging as cones, half spheres, columns, drops or low mounds, in
a coil or compressed between plates.

Source of the sizes: 50 to 1500 ml, most of 200 to 800, as McGhee & Steele (2011), J Sci Med Sport
14:26, measured in 104 women.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.dome import BEHIND_MM, FLARED, Dome
from fovnet.phantom.geometry.solids import Bools, Floats, Point
from fovnet.phantom.person.traits import Person

LEAST_ML = 50.0
MOST_ML = 1500.0
GROWN_YEARS = 14.0
WIDEST_MM = 90.0
TALLEST_MM = 92.0
LONGEST_MM = 175.0
"""Largest half width and half height, base included, and largest length: a side of the chest and a
coil have no room for more."""

# from the midline: there the chest of a lean woman curves away, and a wider base would protrude from it
BESIDE_MM = 160.0

HANGS_MM, LIES_MM = 1345.0, 1308.0  # height of the middle, prone and supine
NO_PLATE = 9.0  # share of the half width that stands for no plate
STEPS = 256  # samples of the outline along the length: every 0.7 mm of the longest

KINDS: tuple[tuple[str, float, float, float, float, float], ...] = (
    # name, share, power, point (as in Dome), length over half width, bulge
    ("cone", 0.2, 1.05, 1.5, 1.05, 0.0),
    ("half sphere", 0.27, 2.0, 0.95, 0.95, 0.0),
    ("column", 0.18, 5.0, 0.9, 1.5, 0.0),
    ("drop", 0.17, 2.2, 0.8, 1.4, 0.5),
    ("mound", 0.18, 2.0, 1.0, 0.6, 0.0),
)
"""Shapes of hanging breasts."""


@dataclass(frozen=True)
class BreastShape(Dome):
    """A dome with an outline of its own.

    square  towards 1 for cross-sections that are rounded rectangles     bulge   relative increase of r² at
        two thirds of the length
    ring    relative decrease of r² near the base, by a coil's opening   twist   mm of shear to the right at
        the top of the nipple's end
    plates  shares of half width and half height that limit the shape: flat parallel sides            dents,
        phase  waves of the skin
    """

    square: float = 0.0
    bulge: float = 0.0
    ring: float = 0.0
    twist: float = 0.0
    plates: tuple[float, float] = (NO_PLATE, NO_PLATE)
    dents: float = 0.0
    phase: float = 0.0

    @cached_property
    def squared(self) -> NDArray[np.float32]:
        """(STEPS + 1,) r² along the length, in units of the half width."""
        t = np.linspace(0, 1, STEPS + 1)
        edge = (1 - t**self.power) ** self.point + self.flare * np.square(
            np.clip(1 - t / FLARED, 0, 1)
        )
        edge *= (1 + self.bulge * np.exp(-np.square((t - 0.66) / 0.28))) * (
            1 - self.ring * np.exp(-np.square((t - 0.16) / 0.11))
        )
        return edge.astype(np.float32)

    def radius(self, t: float) -> float:
        """Share of the half width at a share of the length."""
        share: float = float(self.squared[int(np.clip(t, 0, 1) * STEPS)]) ** 0.5
        return share

    @property
    def reach(self) -> tuple[float, float]:
        most = float(self.squared.max() * (1 + self.dents)) ** 0.5
        a, c = (
            half * min(most, plate + 1) for half, plate in zip(self.half, self.plates, strict=True)
        )
        return a + abs(self.twist) * most, c

    def within(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        u, t, w = super().within(x, y, z)
        return u - np.float32(self.twist / self.half[0]) * w * np.square(np.clip(t, 0, 1)), t, w

    def within_mm(self, t: float, u: float = 0.0, w: float = 0.0) -> Point:
        return super().within_mm(
            t, u + self.twist / self.half[0] * w * min(max(t, 0.0), 1.0) ** 2, w
        )

    def level(self, u: Floats, t: Floats, w: Floats) -> Floats:
        """Level at shares of width, length and height: below 1 inside the skin, about the square of
        the share of the radius."""
        edge = self.squared[np.clip(np.rint(t * STEPS), 0, STEPS).astype(np.intp)]
        edge = edge * (1 - np.square(np.minimum(t, 0) * np.float32(self.length / BEHIND_MM)))
        across = np.sin(3 * u + 5 * t + np.float32(self.phase))
        edge = np.maximum(
            edge * (1 + np.float32(self.dents) * across * np.sin(4 * w - 3 * t)), 1e-6
        )
        across = u * u / edge
        up = w * w / edge
        return np.asarray(
            (1 - self.square) * (across + up) + self.square * (across * across + up * up)
        )

    def inside(self, x: Floats, y: Floats, z: Floats) -> Bools:
        u, t, w = self.within(x, y, z)
        held = (self.level(u, t, w) <= 1) & (t <= 1) & (t >= -BEHIND_MM / self.length)
        for share, plate in zip((u, w), self.plates, strict=True):
            if plate < NO_PLATE:  # the base at the chest is not compressed
                held &= np.abs(share) <= np.float32(plate) + 3 * np.square(
                    np.clip(np.float32(0.4) - t, 0, 1)
                )
        return held

    def shrunk(self, mm: float) -> BreastShape:
        plates = [
            max(0.05, (p * half - mm) / max(0.5, half - mm)) if p < NO_PLATE else p
            for p, half in zip(self.plates, self.half, strict=True)
        ]
        a, c = (max(0.5, half - mm) for half in self.half)
        return replace(
            self, half=(a, c), length=max(0.5, self.length - mm), plates=(plates[0], plates[1])
        )

    def millilitres(self) -> float:
        """The volume in front of the base, from a lattice of 40 000 points."""
        low, high = self.box
        low[1] = self.base[1]
        n = (36, 32, 36)
        x, y, z = (
            np.linspace(a, b, k, endpoint=False) + (b - a) / (2 * k)
            for a, b, k in zip(low, high, n, strict=True)
        )
        points = np.meshgrid(x, y, z, indexing="ij", sparse=True)
        return float(
            self.inside(*(p.astype(np.float32) for p in points)).mean() * np.prod(high - low) / 1000
        )


@dataclass(frozen=True)
class Bust:
    """What both breasts of a woman have in common; each varies about it.

    volume_ml   in front of the chest, one breast     gland_share  of that volume, 0 to 1
    skin_mm     its thickness                         behind_mm    fat between gland and pectoral muscle
    """

    volume_ml: float
    gland_share: float
    skin_mm: float
    behind_mm: float


def of_a_kind(person: Person) -> bool:
    """Whether this person's breasts are individually shaped: a woman of at least GROWN_YEARS with
    `own_breasts` and without implants."""
    return (
        person.female
        and person.own_breasts
        and person.age >= GROWN_YEARS
        and "natural breasts" not in person.missing
    )


def bust(person: Person) -> Bust:
    """The breasts of a woman with breasts `of_a_kind`: larger with more body fat, with less gland
    in large breasts and with age."""
    rng = person.generator(7301)
    volume = rng.lognormal(np.log(430), 0.7) * np.exp(0.02 * (person.fat_mm - 15))
    volume = float(np.clip(volume, LEAST_ML, MOST_ML))
    gland_share = rng.beta(0.8, 1.5)
    skin_mm = rng.uniform(1.5, 3.0)
    behind_mm = rng.uniform(2.0, 15.0)
    less = 0.003 * (person.age - 45) + 0.08 * np.log(volume / 430)
    return Bust(volume, float(np.clip(gland_share - less, 0.01, 0.8)), skin_mm, behind_mm)


def volume_ml(person: Person, side: int) -> float:
    """Volume of one breast: most women's differ by a tenth, some by half."""
    rng = person.generator(7302 + (side > 0))
    uneven = rng.normal(0, 0.08 if rng.random() < 0.85 else 0.35)
    return float(np.clip(bust(person).volume_ml * np.exp(uneven), LEAST_ML, MOST_ML))


@lru_cache(maxsize=8)
def breast_shape(person: Person, side: int) -> BreastShape:
    """One breast of a woman with breasts `of_a_kind`, under its skin and of her volume for that
    side."""
    plain = _hanging(person) if person.prone else _lying(person)
    rng = person.generator(7304 + (side > 0))
    (_, y, z) = plain.base
    (a, c) = plain.half
    (dx, dz) = plain.lean
    length_factor, height_factor, outward_factor, lean_factor = (
        1 + 0.07 * rng.normal(size=4)
    ).tolist()
    varied = replace(
        plain,
        half=(a, c * height_factor),
        length=plain.length * length_factor,
        phase=rng.uniform(0, 6.3),
    )
    sized = scale_breast(varied, volume_ml(person, side))
    # a breast between plates leans to neither side
    room = 1.0 if plain.plates[0] == NO_PLATE else 0.0
    tip = (side * dx * outward_factor * room * sized.half[0], dz * lean_factor * sized.half[1])
    beside_mm = person.generator(7306).uniform(78, 96)
    foot_mm = sized.half[0] * float(sized.squared.max()) ** 0.5
    beside_mm = (
        min(beside_mm, BESIDE_MM + 0.6 * person.fat_mm - foot_mm)
        if person.prone
        else max(beside_mm, foot_mm - 10.0)
    )
    return replace(
        sized,
        base=(side * beside_mm, y, z),
        lean=tip,
        twist=side * sized.twist * sized.half[0] * room,
    )


def scale_breast(shape: BreastShape, millilitres: float) -> BreastShape:
    """The shape scaled to that volume; dimensions that would exceed their limits stay at them."""
    (a, c) = shape.half
    length = shape.length
    radius_share = float(shape.squared.max()) ** 0.5
    widest_mm = WIDEST_MM / radius_share
    tallest_mm = TALLEST_MM / radius_share
    filled = shape.millilitres() * 1000 / (a * c * length)
    volume_mm3 = millilitres * 1000 / filled
    factor = (volume_mm3 / (a * c * length)) ** (1 / 3)
    a = min(a * factor, widest_mm)
    c = min(c * factor, tallest_mm)
    length = min(volume_mm3 / (a * c), LONGEST_MM)
    a = min(volume_mm3 / (c * length), widest_mm)
    return replace(shape, half=(a, min(volume_mm3 / (a * length), tallest_mm)), length=length)


def _hanging(person: Person) -> BreastShape:
    """A breast that hangs into a coil, before scaling: right side, leans and twist in shares of its
    half width.

    One in four is narrowed by the opening of its coil, one in four compressed between lateral
    plates, as for a biopsy, one in twenty between cranial and caudal ones.
    """
    rng = person.generator(7307)
    name, _, *shape, bulge = KINDS[rng.choice(len(KINDS), p=[kind[1] for kind in KINDS])]
    dice = rng.random(3)
    power, point, slender = (np.exp(rng.normal(0, (0.15, 0.12, 0.16))) * shape).tolist()
    flare, tall, square, dents = rng.uniform((0.0, 0.85, 0.0, 0.0), (0.9, 1.25, 0.5, 0.22)).tolist()
    ring = rng.uniform(0.15, 0.5) if dice[0] < 0.25 else 0.0
    press = rng.uniform(0.35, 0.75)
    plates = (press if dice[1] < 0.25 else NO_PLATE, press if 0.25 <= dice[1] < 0.3 else NO_PLATE)
    out, low, twist = rng.normal(0, (0.16, 0.15, 0.3)).tolist()
    # small breasts hang less
    slender *= float(np.clip((bust(person).volume_ml / 430) ** 0.2, 0.7, 1.2))
    return BreastShape(
        (0.0, 84 + 0.5 * person.fat_mm, HANGS_MM),
        (100.0, 100.0 * tall),
        100.0 * slender,
        (out, low - 0.05),
        power,
        point,
        flare if name != "drop" else 0.2 - 0.4 * flare,
        square,
        bulge * rng.uniform(0.5, 1.5),
        ring,
        twist,
        plates,
        dents if dice[2] < 0.6 else 0.0,
    )


def _lying(person: Person) -> BreastShape:
    """The breast of a supine woman, before scaling: broad and low, displaced laterally; firmer in
    young women and small breasts."""
    rng = person.generator(7308)
    firm = 1.3 - 0.012 * person.age - 0.0005 * bust(person).volume_ml + rng.normal(0, 0.15)
    firm = float(np.clip(firm, 0.0, 1.0))
    tall, out, low, dents, point = rng.uniform(
        (0.85, 0.1, -0.35, 0.0, 0.8), (1.15, 0.5, 0.05, 0.2, 1.15)
    ).tolist()
    return BreastShape(
        (0.0, 84 + 0.5 * person.fat_mm, LIES_MM),
        (100.0, 100.0 * tall),
        100.0 * (0.35 + 0.4 * firm),
        (out * (1.2 - firm), low * (1.2 - firm)),
        2.0,
        point,
        0.2,
        rng.uniform(0, 0.4),
        dents=dents,
    )
