"""Breasts: cones and domes under their skin, hanging or lying, and the gland within, in strands
towards the nipple."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fovnet.phantom.anatomy import axilla, gland
from fovnet.phantom.anatomy.layers import Layer, Paints, paint, paint_fat_and_skin
from fovnet.phantom.anatomy.pectoral import draw_pectoral_front, paint_pectoral_muscles
from fovnet.phantom.geometry.breast_solid import BreastSolid
from fovnet.phantom.geometry.solids import Bools, Ellipsoid, Filling, Floats, Loft, Point, tube
from fovnet.phantom.person.breast_shapes import breast_shape, draw_bust, has_shaped_breasts
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

LONGEST_BREAST_MM = 160.0
"""Largest length, from chest wall to nipple, of a slender breast; a coil has no room for more."""

HANGING_Z = 1345.0
"""Height of the middle of a hanging breast, at the fourth rib: it is displaced cranially, and its
lower edge is above the liver's dome."""

LYING_Z = 1308.0
"""Height of the middle of the breast of someone who lies supine."""

BREAST_GROWTH_YEARS = 12.0
"""Before this age breasts are a quarter of the usual size."""


@dataclass(frozen=True)
class GlandStrands(Filling):
    """Sheets of gland within a dome: they converge at its nipple, and are thicker towards its middle
    until they merge.

    sheet_level    thickness of the sheets everywhere (0.1 fills about 7 %)
    central_level  added to it in the middle of the gland
    phases         (3,) of the sheets, radians
    fineness       factor by which they are finer than sheets 4 cm apart
    fraying        how far the sheets wind and fray, 0 for smooth ones
    """

    region: BreastSolid
    sheet_level: float
    central_level: float
    phases: Point
    fineness: float = 1.0
    fraying: float = 0.0

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points of the sheets within the region."""
        width_share, length_share, height_share = self.region.to_shares(x, y, z)
        angle_x, angle_y, angle_z = self._sheet_angles(width_share, length_share, height_share)
        gyroid = np.abs(
            np.sin(angle_x) * np.cos(angle_y)
            + np.sin(angle_y) * np.cos(angle_z)
            + np.sin(angle_z) * np.cos(angle_x)
        )
        squared_radius = width_share * width_share + height_share * height_share
        squared_offset = np.square(length_share - np.float32(0.5))
        centrality = np.clip(1 - 2.2 * squared_radius - 2.6 * squared_offset, 0, 1)
        if self.fraying:
            slow_wave = np.float32(self.fraying) * np.sin(np.float32(1.3) * angle_x)
            cross_wave = np.sin(np.float32(1.7) * angle_y + angle_z)
            centrality *= np.clip(1 + slow_wave * cross_wave, 0, 2)
        is_sheet = gyroid <= self.sheet_level + self.central_level * centrality
        return np.asarray(is_sheet & self.region.contains(x, y, z))

    def _sheet_angles(self, u: Floats, t: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
        """The angles of the sheets' waves, radians, at shares of the dome's half width (u), length
        (t) and half height (w); the waves are shorter towards the nipple."""
        convergence = np.float32(1) / np.maximum(np.float32(1.25) - t, np.float32(0.25))
        fineness = np.float32(self.fineness)
        phase_x, phase_y, phase_z = self.phases
        angle_x = fineness * 9 * u * convergence + phase_x + np.sin(5 * t + 3 * w + phase_y)
        angle_y = fineness * 9 * w * convergence + phase_y + np.sin(4 * t + 4 * u)
        angle_z = fineness * 8 * t + phase_z + np.sin(3 * u - 4 * w)
        if not self.fraying:
            return angle_x, angle_y, angle_z
        fraying = np.float32(self.fraying)
        frayed_x = angle_x + fraying * np.sin(np.float32(2.7) * (angle_y + 0.4))
        frayed_y = angle_y + fraying * np.sin(np.float32(2.9) * (angle_z + 0.7))
        frayed_z = angle_z + fraying * np.sin(np.float32(3.1) * angle_x)
        return frayed_x, frayed_y, frayed_z


def breast_dome(person: Person, side: int) -> BreastSolid:
    """The breast of one side (1 right, -1 left) under its skin: prone long and round or pointed,
    supine flat and displaced laterally."""
    if has_shaped_breasts(person):
        return breast_shape(person, side)
    rng = person.generator(Stream.BREASTS)
    usual_size = rng.lognormal(0.05, 0.3) + 0.012 * (person.fat_mm - 15)
    size_factor = float(np.clip(usual_size, 0.45, 2.3))
    taper_power, tip_power, sag_share = rng.uniform((1.5, 0.85, 0.0), (3.0, 1.35, 1.0)).tolist()
    size_factor = size_factor * person.side_generator(Stream.LEFT_BREAST_SIZE, side).uniform(
        0.93, 1.07
    )
    if person.age < BREAST_GROWTH_YEARS:
        size_factor = 0.25
    width_factor = size_factor**0.38
    base_x = side * 86.0
    base_y = 84 + 0.5 * person.fat_mm
    if person.is_prone:
        half_axes = (56 * width_factor, 60 * width_factor)
        lean_mm = (side * 4.0, -14.0 * sag_share)
        usual_dome = BreastSolid(
            base=(base_x, base_y, HANGING_Z),
            half_size_mm=half_axes,
            length_mm=42 + 56 * size_factor,
            lean_mm=lean_mm,
            taper_power=taper_power,
            tip_power=tip_power,
        )
        return _draw_hanging_dome(usual_dome, person.generator(Stream.HANGING_BREASTS))
    half_axes = (60 * width_factor, 60 * width_factor)
    lean_mm = (side * 14 * size_factor, -24.0 * sag_share * size_factor)
    return BreastSolid(
        base=(base_x, base_y, LYING_Z),
        half_size_mm=half_axes,
        length_mm=16 + 34 * size_factor,
        lean_mm=lean_mm,
        taper_power=2.0,
        tip_power=0.5 + 0.5 * tip_power,
    )


def _draw_hanging_dome(usual_dome: BreastSolid, rng: np.random.Generator) -> BreastSolid:
    """The shape of a breast hanging into a coil: three in ten a column with a round end, four in
    ten a dome as broad as its side of the chest, others pears and cones, half of these and of the
    columns flattened by plates.

    What it loses in width it gains in length, up to LONGEST_BREAST_MM, and in height.  Both breasts
    of a woman have the same parameters.
    """
    kind_dice, plates_dice = rng.random(2)
    slenderness, flattening, taper_power, flare = rng.uniform(
        (0.72, 0.62, 3.0, -0.25), (1.15, 0.9, 6.0, 0.5)
    ).tolist()
    if kind_dice > 0.6:
        return _draw_broad_dome(usual_dome, abs(flare), rng)
    if kind_dice < 0.3:  # a column
        usual_dome = replace(usual_dome, taper_power=taper_power, tip_power=1.0)
        slenderness = slenderness * 0.92
        flare = abs(flare) + 0.1
    if plates_dice >= 0.5:  # not flattened
        flattening = 1.0
    half_width_mm, half_height_mm = usual_dome.half_size_mm
    longer_mm = min(usual_dome.length_mm / slenderness**0.8, LONGEST_BREAST_MM)
    return replace(
        usual_dome,
        half_size_mm=(
            half_width_mm * (slenderness * flattening),
            half_height_mm * 1.12 / flattening**0.4,
        ),
        length_mm=max(usual_dome.length_mm, longer_mm),
        base_flare=flare,
    )


def _draw_broad_dome(
    usual_dome: BreastSolid, flare: float, rng: np.random.Generator
) -> BreastSolid:
    """A hanging breast 12 to 18 cm across and half to once as long as its radius: in axial slices a
    half moon, at whose ends skin meets chest."""
    width_factor, length_factor, tip_power = rng.uniform(
        (1.1, 0.55, 0.75), (1.4, 1.05, 1.1)
    ).tolist()
    usual_half_width_mm, usual_half_height_mm = usual_dome.half_size_mm
    half_width_mm = float(np.clip(usual_half_width_mm * width_factor, 55, 92))
    half_height_mm = float(np.clip(usual_half_height_mm * width_factor, 55, 88))
    return replace(
        usual_dome,
        half_size_mm=(half_width_mm, half_height_mm),
        length_mm=max(0.8 * usual_dome.length_mm, half_width_mm * length_factor),
        tip_power=tip_power,
        base_flare=flare,
    )


def paint_breast_contour(person: Person, muscle: Loft) -> Paints:
    """Skin and fat of both breasts, with a plain gland, or with all there is of individually shaped
    ones; `muscle` is the trunk under its fat."""
    if has_shaped_breasts(person):
        yield from _paint_individual_breasts(person, muscle)
        return
    for side in (1, -1):
        dome = breast_dome(person, side)
        yield from paint_fat_and_skin(dome, 0.0)
        yield paint(gland_ellipsoid(dome), "gland", Layer.SEAM, replaced_tissues="fat")


def _paint_individual_breasts(person: Person, muscle: Loft) -> Paints:
    """Skin, fat, gland, pectoral muscles and axillae of a woman with individually shaped breasts;
    `muscle` is the trunk under its fat."""
    for side in (1, -1):
        dome = breast_shape(person, side)
        yield paint(dome.shrink(-draw_bust(person).skin_mm), "skin", Layer.SKIN)
        yield paint(dome, "fat", Layer.FAT)
    pectoral_front = draw_pectoral_front(person, muscle)
    yield from paint_pectoral_muscles(pectoral_front)
    yield from axilla.paint_axillae(person)
    yield from gland.paint_glands(person, pectoral_front)


def gland_ellipsoid(dome: BreastSolid) -> Ellipsoid:
    """The region of the gland of a breast: in its middle, half as wide and high."""
    half_width_mm, half_height_mm = dome.half_size_mm
    semi_axes = (0.5 * half_width_mm, 0.36 * dome.length_mm, 0.5 * half_height_mm)
    return Ellipsoid(dome.point_at_shares(0.5), semi_axes)


def paint_breast_structure(person: Person, rng: np.random.Generator) -> Paints:
    """The inside of both breasts, from nearly all fat to nearly all gland: strands of gland, veins,
    the nipple with thickened skin around it, an implant if there is one."""
    if has_shaped_breasts(person):
        yield from _paint_individual_structure(person)
        return
    density = float(np.clip(rng.beta(1.4, 1.8) + 0.006 * (45 - person.age), 0.02, 1.0))
    fineness, fraying = (
        person.generator(Stream.BREAST_STRUCTURE).uniform((0.9, 0.0), (1.8, 1.1)).tolist()
    )
    # a fatty breast has few strands
    sheet_level = 0.07 + 0.12 * density
    if person.is_prone:
        sheet_level = 0.03 + 0.16 * density
    has_implants = "natural breasts" in person.missing_parts and person.age > 20
    for side in (1, -1):
        dome = breast_dome(person, side)
        strand_phases = tuple(rng.uniform(0, 2 * np.pi, 3).tolist())
        strands = GlandStrands(
            dome.shrink(3.0),
            sheet_level,
            central_level=0.2 + 1.9 * density,
            phases=strand_phases,
            fineness=fineness,
            fraying=fraying,
        )
        yield paint(gland_ellipsoid(dome), "fat", Layer.SEAM, replaced_tissues="gland")
        yield paint(strands, "gland", Layer.CAVITY, replaced_tissues="fat")
        yield from _paint_nipple(dome)
        yield from _paint_veins(dome, rng)
        if has_implants:
            yield from _paint_implant(dome)


def _paint_implant(dome: BreastSolid) -> Paints:
    """A silicone implant in its capsule, behind the gland."""
    half_width_mm, half_height_mm = dome.half_size_mm
    semi_axes = (0.72 * half_width_mm, 0.42 * dome.length_mm, 0.72 * half_height_mm)
    capsule = Ellipsoid(dome.point_at_shares(0.3), semi_axes)
    yield paint(capsule, "tendon", Layer.ORGAN, replaced_tissues=("fat", "gland"))
    yield paint(capsule.shrink(1.2), "silicone", Layer.ORGAN, replaced_tissues="tendon")


def _paint_individual_structure(person: Person) -> Paints:
    """Strands of gland, nipples and veins of a woman with individually shaped breasts."""
    for side in (1, -1):
        dome = breast_shape(person, side)
        yield from gland.paint_gland_strands(person, side)
        yield from _paint_nipple(dome)
        yield from _paint_veins(dome, person.side_generator(Stream.LEFT_BREAST_VEINS, side))


def _paint_nipple(dome: BreastSolid) -> Paints:
    """A nipple protruding by 6 mm; the skin around it is twice as thick, and ducts converge behind
    it."""
    x, y, z = dome.nipple
    areola = Ellipsoid((x, y, z), (17.0, 4.0, 17.0)) & dome
    ducts = tube([(x, y, z), dome.point_at_shares(0.72)], [3.0, 6.0]) & dome
    yield paint(Ellipsoid((x, y + 1.5, z), (5.0, 6.0, 5.0)), "skin", Layer.SKIN)
    yield paint(areola, "skin", Layer.CAVITY, replaced_tissues="fat")
    yield paint(ducts, "gland", Layer.CAVITY, replaced_tissues="fat")


def _paint_veins(dome: BreastSolid, rng: np.random.Generator) -> Paints:
    """Four vessels between skin and gland, from the base towards the nipple."""
    # share of the length, share of the radius, radians by which the vein has turned
    vein_course = ((-0.1, 0.8, 0.0), (0.25, 0.76, 0.3), (0.5, 0.6, 0.2), (0.75, 0.35, 0.5))
    base_angles = rng.uniform(0, 2 * np.pi) + np.arange(4) * 1.6
    for base_angle in base_angles.tolist():
        vein_points = [
            dome.point_around_axis(length_share, radius_share, base_angle + bend_angle)
            for length_share, radius_share, bend_angle in vein_course
        ]
        vein = tube(vein_points, [1.8, 1.6, 1.3, 0.9])
        yield paint(vein, "venous blood", Layer.CAVITY, replaced_tissues=("fat", "gland"))
