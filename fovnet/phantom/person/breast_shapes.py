"""Shapes of breasts: of any size, hanging as cones, half spheres, columns, drops or low mounds, in
a coil or compressed between plates.

Source of the sizes: 50 to 1500 ml, most of 200 to 800, as McGhee & Steele (2011), J Sci Med Sport
14:26, measured in 104 women.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.breast_solid import BEHIND_MM, FLARED_SHARE, BreastSolid
from fovnet.phantom.geometry.solids import Bools, Floats, Point
from fovnet.phantom.person.streams import Stream
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
WIDEST_CHEST_MM = 160.0

HANGING_HEIGHT_MM = 1345.0  # height of the middle, prone
LYING_HEIGHT_MM = 1308.0  # height of the middle, supine
NO_PLATE = 9.0  # share of the half width that stands for no plate
OUTLINE_STEPS = 256  # samples of the outline along the length: every 0.7 mm of the longest

VOLUME_LATTICE = (36, 32, 36)  # points along x, y and z at which a volume is measured


class HangingKind(NamedTuple):
    """A shape of hanging breasts, and its share of them; powers and bulge as in `BreastShape`."""

    name: str
    share: float
    taper_power: float
    tip_power: float
    length_over_half_width: float
    bulge: float


HANGING_KINDS = (
    HangingKind("cone", 0.2, 1.05, 1.5, 1.05, 0.0),
    HangingKind("half sphere", 0.27, 2.0, 0.95, 0.95, 0.0),
    HangingKind("column", 0.18, 5.0, 0.9, 1.5, 0.0),
    HangingKind("drop", 0.17, 2.2, 0.8, 1.4, 0.5),
    HangingKind("mound", 0.18, 2.0, 1.0, 0.6, 0.0),
)
"""Shapes of hanging breasts."""


@dataclass(frozen=True)
class BreastShape(BreastSolid):
    """A breast with an outline of its own.

    squareness    towards 1 for cross-sections that are rounded rectangles
    bulge         relative increase of r² at two thirds of the length
    ring_depth    relative decrease of r² near the base, by a coil's opening
    twist         mm of shear to the right at the top of the nipple's end
    plate_shares  of half width and half height, that limit the shape: flat parallel sides
    dent_depth    relative change of r² by waves of the skin
    dent_phase    of these waves, radians
    """

    squareness: float = 0.0
    bulge: float = 0.0
    ring_depth: float = 0.0
    twist: float = 0.0
    plate_shares: tuple[float, float] = (NO_PLATE, NO_PLATE)
    dent_depth: float = 0.0
    dent_phase: float = 0.0

    @cached_property
    def squared_radii(self) -> NDArray[np.float32]:
        """(OUTLINE_STEPS + 1,) r² along the length, in units of the half width."""
        t = np.linspace(0, 1, OUTLINE_STEPS + 1)
        flare_share = np.clip(1 - t / FLARED_SHARE, 0, 1)
        bulge_share = np.exp(-np.square((t - 0.66) / 0.28))
        ring_share = np.exp(-np.square((t - 0.16) / 0.11))
        squared_radius = (1 - t**self.taper_power) ** self.tip_power
        squared_radius = squared_radius + self.base_flare * np.square(flare_share)
        squared_radius *= (1 + self.bulge * bulge_share) * (1 - self.ring_depth * ring_share)
        return squared_radius.astype(np.float32)

    def radius_share(self, t: float) -> float:
        """Share of the half width at a share of the length."""
        radius_share: float = (
            float(self.squared_radii[int(np.clip(t, 0, 1) * OUTLINE_STEPS)]) ** 0.5
        )
        return radius_share

    @property
    def reach_mm(self) -> tuple[float, float]:
        """Largest half width and half height, mm."""
        largest_radius = float(self.squared_radii.max() * (1 + self.dent_depth)) ** 0.5
        reach_x, reach_z = (
            half_size * min(largest_radius, plate_share + 1)
            for half_size, plate_share in zip(self.half_size_mm, self.plate_shares, strict=True)
        )
        return reach_x + abs(self.twist) * largest_radius, reach_z

    def to_shares(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        u, t, w = super().to_shares(x, y, z)
        return (
            u - np.float32(self.twist / self.half_size_mm[0]) * w * np.square(np.clip(t, 0, 1)),
            t,
            w,
        )

    def point_at_shares(self, t: float, u: float = 0.0, w: float = 0.0) -> Point:
        return super().point_at_shares(
            t, u + self.twist / self.half_size_mm[0] * w * min(max(t, 0.0), 1.0) ** 2, w
        )

    def level(self, u: Floats, t: Floats, w: Floats) -> Floats:
        """Level at shares u of the half width, t of the length and w of the half height: below 1 inside
        the skin, about the square of the share of the radius."""
        row_index = np.clip(np.rint(t * OUTLINE_STEPS), 0, OUTLINE_STEPS).astype(np.intp)
        # behind the base it is rounded
        depth_behind = np.minimum(t, 0) * np.float32(self.length_mm / BEHIND_MM)
        squared_radius = self.squared_radii[row_index] * (1 - np.square(depth_behind))
        dent_wave = np.sin(3 * u + 5 * t + np.float32(self.dent_phase))
        dent_factor = 1 + np.float32(self.dent_depth) * dent_wave * np.sin(4 * w - 3 * t)
        squared_radius = np.maximum(squared_radius * dent_factor, 1e-6)
        level_x = u * u / squared_radius
        level_z = w * w / squared_radius
        ellipse_level = level_x + level_z
        box_level = level_x * level_x + level_z * level_z
        return np.asarray((1 - self.squareness) * ellipse_level + self.squareness * box_level)

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points under the skin and between the plates."""
        u, t, w = self.to_shares(x, y, z)
        is_inside = (self.level(u, t, w) <= 1) & (t <= 1) & (t >= -BEHIND_MM / self.length_mm)
        for share, plate_share in zip((u, w), self.plate_shares, strict=True):
            if plate_share < NO_PLATE:
                # the base at the chest is not compressed
                base_share = 3 * np.square(np.clip(np.float32(0.4) - t, 0, 1))
                is_inside &= np.abs(share) <= np.float32(plate_share) + base_share
        return is_inside

    def shrink(self, mm: float) -> BreastShape:
        """The breast with its surface `mm` farther inwards, and its plates too."""
        half_width, half_height = self.half_size_mm
        width_plate, height_plate = self.plate_shares
        return replace(
            self,
            half_size_mm=(max(0.5, half_width - mm), max(0.5, half_height - mm)),
            length_mm=max(0.5, self.length_mm - mm),
            plate_shares=(
                _shrink_plate(width_plate, half_width, mm),
                _shrink_plate(height_plate, half_height, mm),
            ),
        )

    def measure_ml(self) -> float:
        """The volume in front of the base, from a lattice of 40 000 points."""
        low_corner, high_corner = self.box
        low_corner[1] = self.base[1]
        box_mm3 = np.prod(high_corner - low_corner)
        x, y, z = (
            np.linspace(axis_low, axis_high, point_count, endpoint=False)
            + (axis_high - axis_low) / (2 * point_count)
            for axis_low, axis_high, point_count in zip(
                low_corner, high_corner, VOLUME_LATTICE, strict=True
            )
        )
        points = np.meshgrid(x, y, z, indexing="ij", sparse=True)
        is_inside = self.contains(*(coordinates.astype(np.float32) for coordinates in points))
        return float(is_inside.mean() * box_mm3 / 1000)


@dataclass(frozen=True)
class Bust:
    """What both breasts of a woman have in common; each varies about it.

    volume_ml      in front of the chest, one breast
    gland_share    of that volume, 0 to 1
    skin_mm        its thickness
    fat_behind_mm  between gland and pectoral muscle
    """

    volume_ml: float
    gland_share: float
    skin_mm: float
    fat_behind_mm: float


def _shrink_plate(plate_share: float, half_size_mm: float, mm: float) -> float:
    """The share of the half size at which a plate lies that is moved `mm` inwards with the skin."""
    if plate_share >= NO_PLATE:
        return plate_share
    return max(0.05, (plate_share * half_size_mm - mm) / max(0.5, half_size_mm - mm))


def has_shaped_breasts(person: Person) -> bool:
    """Whether this person's breasts are individually shaped: a woman of at least GROWN_YEARS,
    `has_own_breasts` and without implants."""
    return (
        person.is_female
        and person.has_own_breasts
        and person.age >= GROWN_YEARS
        and "natural breasts" not in person.missing_parts
    )


def draw_bust(person: Person) -> Bust:
    """The breasts of a woman with breasts of her own shape: larger with more body fat, with less
    gland in large breasts and with age."""
    rng = person.generator(Stream.BUST)
    usual_ml = rng.lognormal(np.log(430), 0.7) * np.exp(0.02 * (person.fat_mm - 15))
    volume_ml = float(np.clip(usual_ml, LEAST_ML, MOST_ML))
    gland_share = rng.beta(0.8, 1.5)
    skin_mm = rng.uniform(1.5, 3.0)
    fat_behind_mm = rng.uniform(2.0, 15.0)
    gland_loss = 0.003 * (person.age - 45) + 0.08 * np.log(volume_ml / 430)
    kept_share = float(np.clip(gland_share - gland_loss, 0.01, 0.8))
    return Bust(volume_ml, kept_share, skin_mm, fat_behind_mm)


def draw_volume_ml(person: Person, side: int) -> float:
    """Volume of one breast, by side: 1 right, -1 left.  Most women's differ by a tenth, some by
    half."""
    rng = person.side_generator(Stream.LEFT_BREAST_VOLUME, side)
    log_sd = 0.35
    if rng.random() < 0.85:
        log_sd = 0.08
    volume_factor = np.exp(rng.normal(0, log_sd))
    return float(np.clip(draw_bust(person).volume_ml * volume_factor, LEAST_ML, MOST_ML))


@lru_cache(maxsize=8)
def breast_shape(person: Person, side: int) -> BreastShape:
    """One breast of a woman with breasts of her own shape, under its skin and of her volume for that
    side: 1 right, -1 left."""
    common_shape = _common_shape(person)
    rng = person.side_generator(Stream.LEFT_BREAST_SHAPE, side)
    _, y, z = common_shape.base
    half_width, half_height = common_shape.half_size_mm
    length_factor, height_factor, outward_factor, lean_factor = (
        1 + 0.07 * rng.normal(size=4)
    ).tolist()
    varied_shape = replace(
        common_shape,
        half_size_mm=(half_width, half_height * height_factor),
        length_mm=common_shape.length_mm * length_factor,
        dent_phase=rng.uniform(0, 6.3),
    )
    shape = scale_breast(varied_shape, draw_volume_ml(person, side))
    half_width_mm, half_height_mm = shape.half_size_mm
    middle_mm = person.generator(Stream.BREAST_POSITION).uniform(78, 96)
    foot_mm = half_width_mm * float(shape.squared_radii.max()) ** 0.5
    if person.is_prone:
        middle_mm = min(middle_mm, WIDEST_CHEST_MM + 0.6 * person.fat_mm - foot_mm)
    else:
        middle_mm = max(middle_mm, foot_mm - 10.0)
    lean_x, lean_z = common_shape.lean_mm
    lean_x_mm = side * lean_x * outward_factor * half_width_mm
    twist_mm = side * shape.twist * half_width_mm
    if common_shape.plate_shares[0] != NO_PLATE:
        # a breast between plates leans to neither side
        lean_x_mm = 0.0
        twist_mm = 0.0
    return replace(
        shape,
        base=(side * middle_mm, y, z),
        lean_mm=(lean_x_mm, lean_z * lean_factor * half_height_mm),
        twist=twist_mm,
    )


def _common_shape(person: Person) -> BreastShape:
    """What both breasts of a woman have in common, before scaling: the right one, leans and twist in
    shares of its half width."""
    if person.is_prone:
        return _hanging_shape(person)
    return _lying_shape(person)


def scale_breast(shape: BreastShape, volume_ml: float) -> BreastShape:
    """The shape scaled to that volume; dimensions that would exceed their limits stay at them."""
    half_width, half_height = shape.half_size_mm
    length_mm = shape.length_mm
    largest_radius = float(shape.squared_radii.max()) ** 0.5
    widest_mm = WIDEST_MM / largest_radius
    tallest_mm = TALLEST_MM / largest_radius
    filled_share = shape.measure_ml() * 1000 / (half_width * half_height * length_mm)
    product_mm3 = volume_ml * 1000 / filled_share  # of the three dimensions
    size_factor = (product_mm3 / (half_width * half_height * length_mm)) ** (1 / 3)
    half_width = min(half_width * size_factor, widest_mm)
    half_height = min(half_height * size_factor, tallest_mm)
    length_mm = min(product_mm3 / (half_width * half_height), LONGEST_MM)
    half_width = min(product_mm3 / (half_height * length_mm), widest_mm)
    half_height = min(product_mm3 / (half_width * length_mm), tallest_mm)
    return replace(shape, half_size_mm=(half_width, half_height), length_mm=length_mm)


def _hanging_shape(person: Person) -> BreastShape:
    """A breast that hangs into a coil, before scaling: right side, leans and twist in shares of its
    half width.

    One in four is narrowed by the opening of its coil, one in four compressed between lateral
    plates, as for a biopsy, one in twenty between cranial and caudal ones.
    """
    rng = person.generator(Stream.HANGING_SHAPE)
    kind_shares = [kind.share for kind in HANGING_KINDS]
    kind = HANGING_KINDS[rng.choice(len(HANGING_KINDS), p=kind_shares)]
    ring_dice, plate_dice, dent_dice = rng.random(3)
    usual_values = (kind.taper_power, kind.tip_power, kind.length_over_half_width)
    taper_power, tip_power, slenderness = (
        np.exp(rng.normal(0, (0.15, 0.12, 0.16))) * usual_values
    ).tolist()
    base_flare, height_ratio, squareness, dent_depth = rng.uniform(
        (0.0, 0.85, 0.0, 0.0), (0.9, 1.25, 0.5, 0.22)
    ).tolist()
    if kind.name == "drop":
        base_flare = 0.2 - 0.4 * base_flare
    ring_depth = 0.0
    if ring_dice < 0.25:
        ring_depth = rng.uniform(0.15, 0.5)
    plate_share = rng.uniform(0.35, 0.75)
    plate_shares = (NO_PLATE, NO_PLATE)
    if plate_dice < 0.25:
        plate_shares = (plate_share, NO_PLATE)
    elif plate_dice < 0.3:
        plate_shares = (NO_PLATE, plate_share)
    lean_out, lean_down, twist_share = rng.normal(0, (0.16, 0.15, 0.3)).tolist()
    # small breasts hang less
    slenderness *= float(np.clip((draw_bust(person).volume_ml / 430) ** 0.2, 0.7, 1.2))
    bulge = kind.bulge * rng.uniform(0.5, 1.5)
    if dent_dice >= 0.6:
        dent_depth = 0.0
    return BreastShape(
        base=(0.0, 84 + 0.5 * person.fat_mm, HANGING_HEIGHT_MM),
        half_size_mm=(100.0, 100.0 * height_ratio),
        length_mm=100.0 * slenderness,
        lean_mm=(lean_out, lean_down - 0.05),
        taper_power=taper_power,
        tip_power=tip_power,
        base_flare=base_flare,
        squareness=squareness,
        bulge=bulge,
        ring_depth=ring_depth,
        twist=twist_share,
        plate_shares=plate_shares,
        dent_depth=dent_depth,
    )


def _lying_shape(person: Person) -> BreastShape:
    """The breast of a supine woman, before scaling: broad and low, displaced laterally; firmer in
    young women and small breasts."""
    rng = person.generator(Stream.LYING_SHAPE)
    bust_ml = draw_bust(person).volume_ml
    firmness = 1.3 - 0.012 * person.age - 0.0005 * bust_ml + rng.normal(0, 0.15)
    firmness = float(np.clip(firmness, 0.0, 1.0))
    height_ratio, lean_out, lean_down, dent_depth, tip_power = rng.uniform(
        (0.85, 0.1, -0.35, 0.0, 0.8), (1.15, 0.5, 0.05, 0.2, 1.15)
    ).tolist()
    return BreastShape(
        base=(0.0, 84 + 0.5 * person.fat_mm, LYING_HEIGHT_MM),
        half_size_mm=(100.0, 100.0 * height_ratio),
        length_mm=100.0 * (0.35 + 0.4 * firmness),
        lean_mm=(lean_out * (1.2 - firmness), lean_down * (1.2 - firmness)),
        taper_power=2.0,
        tip_power=tip_power,
        base_flare=0.2,
        squareness=rng.uniform(0, 0.4),
        dent_depth=dent_depth,
    )
