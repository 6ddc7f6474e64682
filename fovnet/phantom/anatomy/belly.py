"""The organs of abdomen and pelvis: liver, spleen, kidneys, pancreas, stomach, bowel, bladder, and
the sexual organs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fovnet.phantom.anatomy.back import paint_quadratus_lumborum, psoas_solid
from fovnet.phantom.anatomy.kidneys import paint_kidneys
from fovnet.phantom.anatomy.layers import (
    ERECTILE_TISSUE,
    Layer,
    LoftRow,
    Paints,
    on_both_sides,
    paint,
    paint_all,
)
from fovnet.phantom.anatomy.trunk import muscular_trunk, spine_y
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Loft, Solid, tube
from fovnet.phantom.person.fat_distribution import PLAIN_SQUARENESS
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

REPLACED_BY_BOWEL = ("visceral fat", "bowel wall", "bowel fluid", "stool")
"""Tissues that bowel may replace: it lies in the fat of the cavity and never in the wall around
it."""

LIVER_DOME_MM = 1270.0
"""Top of the liver in the written anatomy, at a `Person.diaphragm_drop_mm` of 0."""


def liver_dome_height_mm(person: Person) -> float:
    """Height of the top of this person's liver dome, in the written anatomy."""
    return LIVER_DOME_MM - person.diaphragm_drop_mm


def abdominal_cavity_solid(person: Person) -> Loft:
    """The space within the abdominal wall, from the pelvic floor to above the domes of the
    diaphragm."""
    pelvic_floor_row = LoftRow(852.0, 0.0, 0.0, half_width_mm=12.0, front_mm=10.0, back_mm=16.0)
    cavity_rows = [pelvic_floor_row]
    for z, _, _, half_width_mm, front_mm, back_mm in muscular_trunk(person).table:
        if not 860 < z < 1360:
            continue
        usual_side_wall_mm = float(
            np.interp(z, [870, 940, 1000, 1060, 1200, 1350], [104, 92, 66, 28, 15, 14])
        )
        added_wall_mm = person.build.extra_wall_mm(z)
        usual_front_wall_mm = 16 * person.build.front_factor
        if z < 920:
            usual_front_wall_mm = 30
        row = LoftRow(
            z,
            0.0,
            0.0,
            half_width_mm=half_width_mm - usual_side_wall_mm - added_wall_mm,
            front_mm=front_mm - (usual_front_wall_mm + 0.5 * added_wall_mm),
            back_mm=min(back_mm - 18, 74.0),
        )
        cavity_rows.append(row)
    squareness = 0.3 + 0.8 * (person.figure.squareness - PLAIN_SQUARENESS)
    return Loft(tuple(cavity_rows), squareness=squareness)


def _diaphragm_domes(person: Person) -> tuple[Ellipsoid, Ellipsoid]:
    """The right and the left dome of the diaphragm, the right one 3 mm above the liver."""
    right_top_z = liver_dome_height_mm(person) + 3.0
    left_top_z = right_top_z - 18
    right_dome = Ellipsoid((64.0, 6.0, right_top_z - 155), (92.0, 104.0, 155.0))
    left_dome = Ellipsoid((-66.0, 4.0, left_top_z - 140), (90.0, 100.0, 140.0))
    return right_dome, left_dome


def paint_cavity(person: Person, with_small_parts: bool = False) -> Paints:
    """The diaphragm, 3 mm thick, visceral fat below it, psoas and quadratus lumborum; the last is a
    tube, or with `with_small_parts` a sheet."""
    cavity = abdominal_cavity_solid(person)
    below_domes = HalfSpace((0.0, 0.0, 1.0), 1170.0)
    diaphragm_domes = _diaphragm_domes(person)
    diaphragm = (dome & cavity for dome in diaphragm_domes)
    fat_under_domes = (dome.shrink(3.0) & cavity for dome in diaphragm_domes)
    yield from paint_all(diaphragm, "muscle", Layer.CAVITY)
    yield from paint_all(fat_under_domes, "visceral fat", Layer.CAVITY)
    yield paint(cavity & below_domes, "visceral fat", Layer.CAVITY)
    yield from _paint_psoas_and_quadratus(person, with_small_parts)


@on_both_sides
def _paint_psoas_and_quadratus(person: Person, with_small_parts: bool) -> Paints:
    """The right psoas and quadratus lumborum."""
    if with_small_parts:
        yield from paint_quadratus_lumborum(person)
        yield paint(psoas_solid(person), "muscle", Layer.CAVITY)
        return
    quadratus_points = [(68, -64, 1048), (62, -66, 1110), (50, -68, 1175)]
    yield paint(
        tube(quadratus_points, [25 * person.muscle_factor, 22 * person.muscle_factor, 13.0]),
        "muscle",
        Layer.CAVITY,
    )
    psoas_points = [
        (34, -20, 1175),
        (42, -22, 1100),
        (54, -14, 1030),
        (72, 14, 970),
        (90, 40, 925),
        (104, 20, 880),
    ]
    psoas_radii = [
        radius_mm * person.muscle_factor * person.build.loin_factor
        for radius_mm in (10, 19, 22, 21, 17, 9)
    ]
    yield paint(tube(psoas_points, psoas_radii, step_mm=30), "muscle", Layer.CAVITY)


def plain_liver_solid(person: Person) -> Solid:
    """A plain liver: the right lobe under the right dome of the diaphragm, cut off below by a plane
    that rises to the left; the left lobe in front of the stomach."""
    rng = person.generator(Stream.PLAIN_LIVER)
    dome_z = liver_dome_height_mm(person)
    cavity = abdominal_cavity_solid(person).shrink(2.0)
    lower_edge_z = dome_z - rng.uniform(150, 185)
    right_dome, _ = _diaphragm_domes(person)
    right_lobe = (
        right_dome.shrink(3.0) & HalfSpace((-0.55, 0.12, -1.0), -lower_edge_z - 0.55 * 110) & cavity
    )
    left_axes = (72 * rng.uniform(0.8, 1.15), 36.0, 38.0)
    left_lobe = Ellipsoid((-14.0, 44.0, dome_z - 62), left_axes, (0.0, 14.0, 8.0)) & cavity
    left_of_right_lobe = HalfSpace((1.0, 0.0, 0.0), -24.0)
    return (right_lobe - left_of_right_lobe) | left_lobe


def paint_varied_liver(person: Person) -> Paints:
    """A liver with natural variation, which is painted first, fat in the fissure between its lobes,
    and in some Riedel's lobe.

    The right lobe is 11 to 20 cm from dome to tip, the left one ends at the middle or reaches the
    spleen (Wolf (1990), Clinical Methods, 3rd ed., chapter 94: 6 to 12 cm along the mid-clavicular
    line are normal, without the part under the lung).
    """
    rng = person.generator(Stream.VARIED_LIVER)
    dome_z = liver_dome_height_mm(person)
    cavity = abdominal_cavity_solid(person).shrink(2.0)
    lower_edge_z = dome_z - rng.uniform(118, 200)
    lower_edge_slope = rng.uniform(0.1, 0.5)
    medial_face_slope = rng.uniform(0.45, 0.75)
    if person.organ_heights.liver_height_mm is not None:
        lower_edge_z = dome_z - person.organ_heights.liver_height_mm
    right_dome, _ = _diaphragm_domes(person)
    right_lobe = (
        right_dome.shrink(3.0)
        & HalfSpace((-lower_edge_slope, 0.12, -1.0), -lower_edge_z - lower_edge_slope * 110)
        & cavity
    )
    # the liver ends in front of the spine and the crura of the diaphragm
    space_of_spine = HalfSpace((0.83, medial_face_slope, 0.0), rng.uniform(-4, 8))
    left_axes = (rng.uniform(38, 82), 30.0, 44.0)
    left_lobe = Ellipsoid((-18.0, 46.0, dome_z - 66), left_axes, (0.0, 14.0, -8.0)) & cavity
    hilum_axes = (rng.uniform(38, 52), 46.0, 60.0)
    hilum = Ellipsoid((8.0, -6.0, dome_z - 138), hilum_axes, (0.0, 12.0, 0.0))
    fissure_centre = (rng.uniform(-14, 6), 64.0, dome_z - 92)
    fissure_half_width_mm = rng.uniform(1.5, 5.0)
    fissure = Ellipsoid(fissure_centre, (fissure_half_width_mm, 36.0, 40.0), (0.0, 0.0, 18.0))
    liver = ((right_lobe - space_of_spine) | left_lobe) - hilum
    yield paint(liver, "liver", Layer.ORGAN)
    yield paint(fissure, "visceral fat", Layer.ORGAN, replaced_tissues="liver")
    if person.generator(Stream.RIEDEL_LOBE_PRESENCE).random() <= RIEDEL_SHARE:
        yield _paint_riedel_lobe(person)


RIEDEL_SHARE = 0.2
"""Share of livers with Riedel's lobe: 3 to 31 % by the definition, more in women.  Source: Kudo
(2000), Intern Med 39:87."""


def _paint_riedel_lobe(person: Person) -> Paint:
    """Riedel's lobe: a tongue of the right lobe along the flank, 2 to 4 cm thick, ending between 5
    cm above the crest and 2 cm below it."""
    rng = person.generator(Stream.RIEDEL_LOBE)
    end_z, half_thickness_mm, half_depth_mm = rng.uniform((1040, 12, 30), (1110, 22, 46)).tolist()
    # the lobe begins within the shortest right lobe, which is 118 mm high
    upper_z = liver_dome_height_mm(person) - 110.0
    lateral_x = 104.0 + 0.25 * max(person.belly_mm, 0.0)
    lobe = Ellipsoid(
        (lateral_x - half_thickness_mm, 14.0, upper_z),
        (half_thickness_mm + 8.0, half_depth_mm, upper_z - end_z),
        (0.0, 4.0, 0.0),
    )
    lower_half = lobe & HalfSpace((0.0, 0.0, 1.0), upper_z)  # the upper one lies in the right lobe
    cavity = abdominal_cavity_solid(person).shrink(2.0)
    return paint(lower_half & cavity, "liver", Layer.ORGAN)


def kidney_fat_mm(person: Person) -> float:
    """Thickness of the perirenal fat: a few mm in lean people and in most women, 2 to 4 cm in men
    with a large belly.

    Men have about twice as much as women: Eisner et al. (2010), Surg Radiol Anat 32:879.
    """
    share_of_belly = 0.25 if person.is_female else 0.5
    usual_mm = 6.0 + share_of_belly * max(person.belly_mm, 0.0)
    random_factor = np.exp(person.generator(Stream.KIDNEY_FAT).normal(0, 0.35))
    return float(np.clip(usual_mm * random_factor, 3.0, 36.0))


def paint_upper_organs(person: Person, with_small_parts: bool = False) -> Paints:
    """Liver with its veins and gall bladder, spleen, kidneys with their fat, pancreas, stomach."""
    rng = person.generator(Stream.UPPER_ORGANS)
    dome_z = liver_dome_height_mm(person)
    if with_small_parts:
        yield from paint_varied_liver(person)
    else:
        yield paint(plain_liver_solid(person), "liver", Layer.ORGAN)
    yield from _paint_liver_veins(dome_z)
    gall_bladder = Ellipsoid(
        (58.0, 52.0, dome_z - 142), (13.0, 14.0, 30.0 * rng.uniform(0.7, 1.2)), (25.0, 10.0, 0.0)
    )
    if "gall bladder" not in person.missing_parts:
        yield paint(gall_bladder, "bile", Layer.CONTENT)
    spleen_factor = rng.uniform(0.85, 1.2)
    spleen = Ellipsoid(
        (-104.0, -32.0, dome_z - 68),
        (21 * spleen_factor, 36 * spleen_factor, 48 * spleen_factor),
        (-14.0, 16.0, 24.0),
    )
    if "spleen" not in person.missing_parts:
        cavity = abdominal_cavity_solid(person).shrink(2.0)
        yield paint(spleen & cavity, "spleen", Layer.ORGAN)
    if with_small_parts:
        yield from paint_kidneys(person, dome_z, kidney_fat_mm(person))
    else:
        yield from _paint_plain_kidneys(person, dome_z, rng)
    pancreas_points = [
        (36, 12, 1142),
        (22, 20, 1160),
        (-10, 18, 1172),
        (-50, -4, 1182),
        (-80, -20, 1186),
    ]
    yield paint(tube(pancreas_points, [14, 11, 9, 9, 7], step_mm=15), "pancreas", Layer.ORGAN)
    yield from _paint_stomach(person, dome_z)


def _paint_liver_veins(dome_z: float) -> Paints:
    """Three hepatic veins and the portal vein, under a dome of the liver at that height."""
    for end_x, end_y in ((84, 30), (58, -34), (30, 40)):
        vein_points = [
            (24, -4, dome_z - 28),
            ((end_x + 24) / 2, end_y / 2, dome_z - 48),
            (end_x, end_y, dome_z - 78),
        ]
        hepatic_vein = tube(vein_points, [4.5, 4.0, 2.0])
        yield paint(hepatic_vein, "venous blood", Layer.CONTENT, replaced_tissues="liver")
    portal_points = [
        (4, 8, dome_z - 120),
        (28, 4, dome_z - 105),
        (52, 0, dome_z - 95),
        (90, -10, dome_z - 92),
    ]
    yield paint(tube(portal_points, [6.5, 6.5, 5.0, 2.5]), "venous blood", Layer.CONTENT)


def _paint_plain_kidneys(person: Person, dome_z: float, rng: np.random.Generator) -> Paints:
    """The plain kidneys that the person has, at that distance below the liver's dome."""
    for side, organ_name, below_dome_mm in ((1, "right kidney", 132), (-1, "left kidney", 118)):
        kidney_z = dome_z - below_dome_mm + 0.4 * person.diaphragm_drop_mm
        size_factor = rng.uniform(0.88, 1.1)
        if organ_name not in person.missing_parts:
            yield from _paint_plain_kidney(side, kidney_z, size_factor)


def _paint_plain_kidney(side: int, middle_z: float, size_factor: float) -> Paints:
    """The plain kidney of one side (1 right, -1 left) in 8 mm of fat, with eight pyramids, its
    pelvis and its vein."""
    middle_y = spine_y(middle_z) + 2
    turn_deg = (-12.0, -12.0 * side, 28.0 * side)
    kidney = Ellipsoid(
        (side * 74.0, middle_y, middle_z),
        (29 * size_factor, 25 * size_factor, 55 * size_factor),
        turn_deg,
    )
    yield paint(kidney.shrink(-8.0), "visceral fat", Layer.CAVITY)
    yield paint(kidney, "kidney cortex", Layer.CONTENT)
    for offset_z in (-26, -9, 9, 26):
        for offset_mm in (8, -6):  # to the side and to the front
            pyramid_x = side * (74.0 + offset_mm)
            pyramid_z = middle_z + offset_z * size_factor
            pyramid = Ellipsoid((pyramid_x, middle_y + offset_mm, pyramid_z), (6.5, 7.0, 7.0))
            yield paint(pyramid, "kidney medulla", Layer.VESSEL)
    renal_pelvis = Ellipsoid(
        (side * 62.0, middle_y + 6, middle_z),
        (13 * size_factor, 9 * size_factor, 24 * size_factor),
        turn_deg,
    )
    yield paint(renal_pelvis, "visceral fat", Layer.VESSEL)
    yield paint(renal_pelvis.shrink(5.5), "urine", Layer.VESSEL)
    vein_points = [
        (side * 12, spine_y(middle_z) + 32, middle_z + 8),
        (side * 40, middle_y + 20, middle_z + 4),
        (side * 62, middle_y + 8, middle_z),
    ]
    yield paint(tube(vein_points, 4.0), "venous blood", Layer.CONTENT)


def _paint_stomach(person: Person, dome_z: float) -> Paints:
    """The stomach with its wall and content, and the gas that rises in it."""
    rng = person.generator(Stream.STOMACH)
    fullness = rng.uniform(0.7, 1.15)
    stomach_points = [
        (-18, -8, dome_z - 34),
        (-62, -2, dome_z - 44),
        (-78, 14, dome_z - 80),
        (-62, 40, dome_z - 120),
        (-24, 50, dome_z - 142),
        (14, 42, dome_z - 136),
        (34, 26, dome_z - 126),
    ]
    stomach = tube(
        stomach_points,
        [14, 34 * fullness, 35 * fullness, 29 * fullness, 22 * fullness, 15, 11],
        step_mm=14,
    )
    yield paint(stomach, "bowel wall", Layer.ORGAN, replaced_tissues=(*REPLACED_BY_BOWEL, "liver"))
    yield paint(
        stomach.shrink(4.0), "stomach content", Layer.CONTENT, replaced_tissues="bowel wall"
    )
    # gas rises to the front of someone who lies supine
    front_half = HalfSpace((0.0, -1.0, 0.0), -rng.uniform(44, 62))
    gas = stomach.shrink(4.0) & front_half
    yield paint(gas, "gas", Layer.VESSEL, replaced_tissues="stomach content")


def paint_colon(person: Person) -> Paints:
    """The colon from caecum to rectum, with haustra, and stool, gas or fluid in each piece."""
    rng = person.generator(Stream.COLON)
    lateral_x = 108 + 0.2 * person.belly_mm
    sag_mm = rng.uniform(0, 40) + person.organ_heights.colon_sag_mm
    colon_points = [
        (lateral_x - 18, 22, 1012),
        (lateral_x, 8, 1060),
        (lateral_x, -2, 1112),
        (lateral_x - 14, 26, 1148),
        (50, 64, 1138 - sag_mm),
        (0, 74, 1130 - 1.3 * sag_mm),
        (-50, 66, 1146 - sag_mm),
        (-lateral_x + 14, 14, 1192),
        (-lateral_x, -14, 1150),
        (-lateral_x, -16, 1090),
        (-lateral_x + 8, 6, 1040),
        (-78, 30, 1008),
        (-40, 18, 985),
        (-6, -22, 992),
        (0, -44, 968),
        (0, -52, 930),
        (0, -46, 896),
        (0, -42, 868),
    ]
    colon_radii = np.interp(np.arange(18), [0, 3, 9, 12, 15, 17], [27, 22, 18, 15, 19, 8])
    colon_tube = tube(colon_points, colon_radii * rng.uniform(0.85, 1.2), step_mm=16)
    for piece_index, piece in enumerate(colon_tube.parts()):
        growth_mm = -2.5 * (1 + np.sin(2.1 * piece_index))  # haustra: every third piece bulges
        content_tissue = rng.choice(["stool", "gas", "bowel fluid"], p=[0.5, 0.36, 0.14])
        if content_tissue == "gas" and "bowel gas" in person.missing_parts:
            content_tissue = "stool"
        yield paint(
            piece.shrink(growth_mm), "bowel wall", Layer.ORGAN, replaced_tissues=REPLACED_BY_BOWEL
        )
        yield paint(
            piece.shrink(growth_mm + 2.6),
            content_tissue,
            Layer.CONTENT,
            replaced_tissues="bowel wall",
        )


def paint_small_bowel(person: Person, with_small_parts: bool = False) -> Paints:
    """Short loops of small bowel between the colon and the bladder, seventy in a plain person,
    mostly filled with fluid.

    With `with_small_parts` up to nine loops of ten are collapsed, showing mucosa, and mesenteric
    vessels run to them through the fat.
    """
    rng = person.generator(Stream.SMALL_BOWEL)
    collapse_rng = person.generator(Stream.BOWEL_COLLAPSE)
    collapsed_share = collapse_rng.uniform(0.0, 0.9)
    for _ in range(person.bowel_loop_count):
        middle_mm = rng.uniform((-88, 0, 948), (88, 66 + 0.8 * person.belly_mm, 1140))
        radius_mm = person.bowel_fullness * rng.uniform(11, 16)
        start, end = middle_mm + rng.normal(0, 26, (2, 3)) * [1.0, 0.6, 0.6]
        loop = tube([start, middle_mm, end], radius_mm, step_mm=16)
        content_tissue = rng.choice(["bowel fluid", "stool", "gas"], p=[0.7, 0.2, 0.1])
        if with_small_parts and collapse_rng.random() < collapsed_share:
            content_tissue = "mucosa"
        yield paint(loop, "bowel wall", Layer.ORGAN, replaced_tissues=REPLACED_BY_BOWEL)
        yield paint(loop.shrink(2.2), content_tissue, Layer.CONTENT, replaced_tissues="bowel wall")
    if with_small_parts:
        yield from _paint_mesentery(person)


def _paint_mesentery(person: Person) -> Paints:
    """The superior mesenteric vessels in front of the aorta, 6 to 10 mm wide, and branches into the
    fat between the loops."""
    rng = person.generator(Stream.MESENTERY)
    belly_mm = max(person.belly_mm, 0.0)
    root_points = [
        (2, 22, 1150),
        (4, 32 + 0.3 * belly_mm, 1105),
        (16, 34 + 0.4 * belly_mm, 1065),
        (36, 26 + 0.2 * belly_mm, 1030),
    ]
    for offset_x, radius_mm, blood_tissue in (
        (-7.0, 3.3, "arterial blood"),
        (5.0, 4.8, "venous blood"),
    ):
        main_vessel = tube(
            [(x + offset_x, y, z) for x, y, z in root_points],
            [radius_mm, radius_mm, 0.8 * radius_mm, 2.0],
            step_mm=25,
        )
        yield paint(main_vessel, blood_tissue, Layer.CONTENT, replaced_tissues="visceral fat")
    for root_position in np.linspace(0.3, 2.9, 10):  # in points of the root, from the first
        start = np.array(
            [np.interp(root_position, range(4), axis) for axis in zip(*root_points, strict=True)]
        )
        drawn_end = rng.uniform((-85.0, 10.0, -70.0), (85.0, 62.0 + 0.8 * belly_mm, -10.0))
        end_point = drawn_end + start * [0, 0, 1]  # its height is counted from the start
        bend_point = (start + end_point) / 2 + rng.normal(0, 8, 3)
        branch = tube([start, bend_point, end_point], [2.6, 2.0, 1.2])
        yield paint(branch, "venous blood", Layer.CONTENT, replaced_tissues="visceral fat")


class Bladder(NamedTuple):
    """The bladder of a person.

    solid      its outer surface
    fullness   1 on average
    later_rng  the generator after its draws; the plain sexual organs are drawn from it
    """

    solid: Ellipsoid
    fullness: float
    later_rng: np.random.Generator


def draw_bladder(person: Person) -> Bladder:
    """The bladder of a person: the same at every call."""
    rng = person.generator(Stream.BLADDER)
    fullness = rng.uniform(0.65, 1.25)
    offset_x = rng.normal(0, 4)
    solid = Ellipsoid(
        (offset_x, 26.0, 918.0 + 22 * fullness),
        (38 * fullness, 30 * fullness, 27 * fullness),
        squareness=0.2,
    )
    return Bladder(solid, fullness, rng)


def paint_pelvic_organs(person: Person) -> Paints:
    """Bladder, and prostate with seminal vesicles and testes, or uterus with ovaries and vagina."""
    bladder = draw_bladder(person)
    yield paint(bladder.solid, "muscle", Layer.ORGAN)
    yield paint(bladder.solid.shrink(3.0), "urine", Layer.CONTENT)
    floor_outside = Ellipsoid((0.0, -6.0, 868.0), (46.0, 48.0, 14.0)).shrink(-2)
    floor_inside = Ellipsoid((0.0, -6.0, 874.0), (40.0, 42.0, 12.0))
    yield paint(floor_outside - floor_inside, "muscle", Layer.ORGAN)
    yield from _paint_obturator_internus()
    if person.is_female:
        yield from _paint_uterus(bladder.later_rng)
    else:
        yield from _paint_male_organs(bladder.later_rng, person.age)


@on_both_sides
def _paint_obturator_internus() -> Paints:
    """The right obturator internus."""
    yield paint(
        Ellipsoid((58.0, 4.0, 905.0), (9.0, 34.0, 26.0), (0.0, 0.0, -16.0)), "muscle", Layer.ORGAN
    )


def _paint_uterus(rng: np.random.Generator) -> Paints:
    """Uterus with its endometrium, cervix and vagina, and the ovaries."""
    size_factor = rng.uniform(0.8, 1.15)
    lean_deg = rng.uniform(-8, 12)
    body_of_uterus = Ellipsoid(
        (lean_deg / 2, -8.0, 958.0),
        (27 * size_factor, 21 * size_factor, 33 * size_factor),
        (-38.0, lean_deg, 0.0),
    )
    endometrium = Ellipsoid(
        (lean_deg / 2, -8.0, 960.0),
        (11 * size_factor, 4.0, 20 * size_factor),
        (-38.0, lean_deg, 0.0),
    )
    cervix_and_vagina = tube([(0, -18, 936), (0, -22, 916), (0, -14, 872)], [13, 11, 9])
    yield paint(body_of_uterus, "myometrium", Layer.CONTENT)
    yield paint(endometrium, "endometrium", Layer.VESSEL)
    yield paint(cervix_and_vagina, "myometrium", Layer.CONTENT)
    yield from _paint_ovary()


@on_both_sides
def _paint_ovary() -> Paints:
    """The right ovary."""
    yield paint(Ellipsoid((46.0, -8.0, 962.0), (15.0, 10.0, 18.0)), "gonad", Layer.CONTENT)


def _paint_male_organs(rng: np.random.Generator, age: float) -> Paints:
    """Prostate, larger in old men, urethra, penis, testes and seminal vesicles."""
    size_factor = 1.0 + max(0.0, age - 45) * 0.008 + rng.normal(0, 0.04)
    prostate = Ellipsoid((0.0, 8.0, 888.0), (23 * size_factor, 17 * size_factor, 19 * size_factor))
    urethra = tube([(0, 14, 905), (0, 16, 870), (0, 40, 852), (0, 84, 868)], [3.0, 3.0, 8.0, 11.0])
    penis = tube([(0, 86, 872), (0, 112, 850), (4, 118, 812)], [13.0, 14.0, 12.0])
    yield paint(prostate, "prostate", Layer.VESSEL)
    anterior_stroma = Ellipsoid(
        (0.0, 13.0, 892.0), (12 * size_factor, 9 * size_factor, 12 * size_factor)
    )
    yield paint(anterior_stroma, "muscle", Layer.VESSEL)
    replaced_by_urethra = ("muscle", "visceral fat", "prostate", "fat")
    yield paint(urethra, ERECTILE_TISSUE, Layer.VESSEL, replaced_tissues=replaced_by_urethra)
    yield paint(penis.shrink(-2.5), "skin", Layer.SKIN)
    yield paint(penis, ERECTILE_TISSUE, Layer.SEAM)
    yield from _paint_testis_and_seminal_vesicle()


@on_both_sides
def _paint_testis_and_seminal_vesicle() -> Paints:
    """The right testis in its half of the scrotum, and the right seminal vesicle."""
    seminal_vesicle = tube([(6, -10, 912), (34, -16, 924)], [6, 5])
    half_scrotum = tube([(10, 80, 850), (17, 86, 808)], [16.0, 20.0])
    testis = Ellipsoid((18.0, 88.0, 806.0), (13.0, 15.0, 21.0))
    yield paint(seminal_vesicle, "gonad", Layer.CONTENT)
    yield paint(half_scrotum.shrink(-3.0), "skin", Layer.SKIN)
    yield paint(half_scrotum, "fat", Layer.FAT)
    yield paint(testis, "gonad", Layer.SEAM)
