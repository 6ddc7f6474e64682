"""Inside the chest: lungs, airways, heart with its chambers, great vessels."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.belly import LIVER_DOME_MM
from fovnet.phantom.anatomy.layers import (
    Layer,
    LoftRow,
    Paints,
    factor_of_children,
    factor_of_women,
    on_both_sides,
    paint,
    paint_all,
    paint_fat_plane,
)
from fovnet.phantom.anatomy.trunk import TRUNK_OUTLINE, muscular_trunk, place_girdle_points, spine_y
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Point, Tube, tube
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

LUNG_APEX_MM = 1455.0
"""Top of the higher (right) lung in the written anatomy of a plain person."""

LUNG_OUTLINE = (
    (320.0, 74.0, 0.0, 58.0, 76.0, 74.0),
    (240.0, 71.0, 0.0, 62.0, 82.0, 78.0),
    (180.0, 70.0, 0.0, 64.0, 84.0, 80.0),
    (120.0, 67.0, 0.0, 62.0, 78.0, 80.0),
    (75.0, 61.0, -4.0, 55.0, 60.0, 74.0),
    (42.0, 53.0, -14.0, 44.0, 38.0, 56.0),
    (20.0, 47.0, -22.0, 33.0, 24.0, 38.0),
    (8.0, 45.0, -26.0, 22.0, 15.0, 25.0),
    (2.0, 44.0, -28.0, 11.0, 8.0, 13.0),
    (0.0, 44.0, -28.0, 6.0, 4.0, 6.0),
)
"""The right lung: mm below its apex, middle x and y, half width, reach to the front and to the
back."""


def lung_apex_height_mm(person: Person) -> float:
    """Top of this person's higher lung, in the written anatomy."""
    return LUNG_APEX_MM + person.borders.lung_apex_rise_mm


def lung_solid(person: Person, side: int) -> Loft:
    """The lung of one side (1 right, -1 left), from well below the diaphragm, which is painted over
    it, to its apex."""
    apex_z = lung_apex_height_mm(person)
    if side < 0:
        apex_z -= 4.0
    width_factor = factor_of_women(person, 0.93)
    muscularity = 1 + 0.35 * (person.muscle_factor - 1)
    rows = []
    for below_apex_mm, middle_x, middle_y, half_width_mm, front_mm, back_mm in LUNG_OUTLINE:
        row = LoftRow(
            apex_z - below_apex_mm,
            centre_x=side * middle_x * width_factor,
            centre_y=middle_y,
            half_width_mm=half_width_mm * width_factor * muscularity,
            front_mm=front_mm * muscularity,
            back_mm=back_mm,
        )
        rows.append(row)
    return Loft(tuple(rows), squareness=0.2)


def paint_lungs(person: Person) -> Paints:
    """Both lungs with their branching vessels, trachea and main bronchi with their air."""
    rng = person.generator(Stream.LUNG_VESSELS)
    yield from paint_all((lung_solid(person, side) for side in (1, -1)), "lung", Layer.CAVITY)
    for side in (1, -1):
        hilum = np.array([side * 24.0, -22.0, 1368.0])
        for _ in range(13):
            branch_mm = rng.normal([side * 1.0, 0.0, -0.3], [0.45, 0.8, 0.8])
            branch_mm *= rng.uniform(50, 85) / np.linalg.norm(branch_mm)
            bend_point = hilum + 0.5 * branch_mm + rng.normal(0, 8, 3)
            vessel = tube(
                [hilum, bend_point, hilum + branch_mm],
                [rng.uniform(3.5, 5.5), 2.4, 1.2],
                step_mm=20,
            )
            yield paint(vessel, "venous blood", Layer.ORGAN, replaced_tissues="lung")
    trachea = tube(
        [(0, 22, 1512), (0, 14, 1470), (0, -2, 1425), (0, -16, 1384)], [8.5, 8.5, 8.5, 8.0]
    )
    yield paint(trachea.shrink(-2), "cartilage", Layer.ORGAN)
    yield paint(trachea, "gas", Layer.CONTENT)
    for side, end_z in ((1, 1352), (-1, 1356)):
        bronchus = tube(
            [(0, -16, 1386), (side * 20, -22, 1370), (side * 40, -26, end_z)], [7.0, 6.0, 3.5]
        )
        yield paint(bronchus.shrink(-1.5), "bowel wall", Layer.ORGAN)
        yield paint(bronchus, "gas", Layer.CONTENT)


MEDIASTINUM = Loft(  # rows as LoftRow
    (
        (1180, 0, -30, 22, 26, 52),
        (1240, -4, -26, 22, 36, 50),
        (1275, -6, -10, 24, 84, 66),
        (1330, -4, -10, 20, 86, 66),
        (1385, 0, -8, 22, 58, 66),
        (1430, 0, -8, 24, 40, 50),
        (1470, 0, -4, 24, 30, 36),
    ),
    squareness=0.1,
)


def paint_mediastinum(person: Person) -> Paints:
    """Fat between the lungs, the middle of the diaphragm, oesophagus, the heart with four chambers."""
    yield paint(MEDIASTINUM, "visceral fat", Layer.CAVITY)
    yield from _paint_diaphragm_under_heart(person)
    oesophagus = tube(
        [
            (-3, -2, 1510),
            (-4, -10, 1440),
            (-6, spine_y(1350) + 26, 1350),
            (-14, spine_y(1260) + 30, 1262),
        ],
        6.5,
        step_mm=30,
    )
    yield paint(oesophagus, "muscle", Layer.ORGAN)
    yield paint(oesophagus.shrink(4.0), "mucosa", Layer.CONTENT)
    yield from _paint_heart(person)


def _paint_diaphragm_under_heart(person: Person) -> Paints:
    """The middle of the diaphragm, on which the heart lies, and the left lobe of the liver just
    below, between the two domes."""
    low_corner, _ = plain_left_ventricle(person).box
    lowest_of_heart_z = float(low_corner[2])
    # no part of the liver is drawn above its dome
    top_z = min(lowest_of_heart_z + 7.0, LIVER_DOME_MM - 6.0 - person.diaphragm_drop_mm)
    central_tendon = Ellipsoid((-16.0, 26.0, top_z - 46.0), (66.0, 62.0, 46.0))
    replaced_tissues = ("visceral fat", "lung", "muscle")
    yield paint(central_tendon, "muscle", Layer.CAVITY, replaced_tissues=replaced_tissues)
    yield paint(central_tendon.shrink(3.0), "liver", Layer.ORGAN, replaced_tissues=replaced_tissues)


def paint_pectoral_fat_plane(person: Person) -> Paints:
    """Fat between the pectoral muscles and the ribs: a band that follows the chest on either side
    of the sternum."""
    trunk = muscular_trunk(person)
    muscle_mm = 8.5 * person.muscle_factor
    band = trunk.shrink(muscle_mm) - trunk.shrink(muscle_mm + 0.9 + 0.03 * person.fat_mm)
    for low_x, high_x in ((20.0, 130.0), (-130.0, -20.0)):
        box = Box((low_x, 20.0, 1270.0), (high_x, 125.0, 1410.0))
        yield paint_fat_plane(box & band)


def paint_intercostal_muscles(person: Person) -> Paints:
    """The intercostal muscles, flush with the inner side of the ribs, so that the lung does not
    surround ribs.

    Ribs are 10 mm thick and lie 13 mm under the surface of the muscles, 18 mm behind, along
    ellipses, while the chest is closer to a box.
    """
    chest_rows = []
    inner_rows = []
    for row, written_row in zip(muscular_trunk(person).table, TRUNK_OUTLINE, strict=True):
        if not 1160.0 < written_row.z < 1400.0:
            continue
        z, middle_x, middle_y, half_width_mm, front_mm, back_mm = row
        inner_row = LoftRow(
            z,
            middle_x,
            middle_y,
            half_width_mm=min(half_width_mm, 150.0) - 17.5,
            front_mm=front_mm - 17.5,
            back_mm=back_mm - 22.5,
        )
        chest_rows.append(row)
        inner_rows.append(inner_row)
    chest = Loft(tuple(chest_rows), squareness=person.figure.squareness)
    inner_chest = Loft(tuple(inner_rows))
    yield paint(chest - inner_chest, "muscle", Layer.CONTENT, replaced_tissues="lung")


HEART_TURN_DEG = (0.0, -28.0, -38.0)
"""Rotations of the ventricles: their first axis runs from the apex (left, front, below) to the base,
the second towards the right ventricle."""


def heart_chamber(
    person: Person, offset_mm: Point, half_axes_mm: Point, is_turned: bool = True
) -> Ellipsoid:
    """An ellipsoid at an offset (3,) from the heart's middle, moved with the breath and scaled to
    this person's heart; with `is_turned` along the axes of the ventricles."""
    size_factor = float(np.clip(person.generator(Stream.HEART_SIZE).normal(1.08, 0.08), 0.9, 1.32))
    size_factor *= factor_of_children(person, 0.88)
    offset_x, offset_y, offset_z = (size_factor * length_mm for length_mm in offset_mm)
    return Ellipsoid(
        (offset_x - 24.0, offset_y + 26.0, offset_z + 1306.0 - 0.4 * person.diaphragm_drop_mm),
        tuple(size_factor * length_mm for length_mm in half_axes_mm),
        HEART_TURN_DEG if is_turned else (0.0, 0.0, 0.0),
    )


def plain_left_ventricle(person: Person) -> Ellipsoid:
    """The left ventricle with its wall."""
    return heart_chamber(person, (-22, 0, -6), (45, 32, 33))


def plain_right_cavity(person: Person) -> Ellipsoid:
    """The cavity of the right ventricle, which becomes a crescent as the left one is painted over
    it."""
    return heart_chamber(person, (11, 22, -7), (43, 24, 35))


def _paint_heart(person: Person) -> Paints:
    """A plain heart with four chambers: its apex points to the left, to the front, and down."""
    pericardium = heart_chamber(person, (0, 0, 0), (64, 44, 42))
    left_ventricle = plain_left_ventricle(person)
    right_cavity = plain_right_cavity(person)
    left_atrium = heart_chamber(person, (22, -28, 12), (32, 20, 26), is_turned=False)
    right_atrium = heart_chamber(person, (46, 6, 2), (25, 28, 34), is_turned=False)
    yield paint(pericardium.shrink(-1.5), "visceral fat", Layer.ORGAN)
    yield paint(right_cavity.shrink(-6.0 - 0.08 * person.fat_mm), "visceral fat", Layer.ORGAN)
    yield paint(right_cavity.shrink(-3.5), "myocardium", Layer.CONTENT)
    yield paint(left_atrium.shrink(-2.5), "myocardium", Layer.CONTENT)
    yield paint(right_atrium.shrink(-2.5), "myocardium", Layer.CONTENT)
    yield paint(right_cavity, "venous blood", Layer.VESSEL)
    yield paint(left_ventricle, "myocardium", Layer.VESSEL)
    yield paint(left_ventricle.shrink(10.0), "arterial blood", Layer.VESSEL)
    yield paint(left_atrium, "arterial blood", Layer.VESSEL)
    yield paint(right_atrium, "venous blood", Layer.VESSEL)


def paint_great_vessels(person: Person) -> Paints:
    """Aorta to its bifurcation, both venae cavae, the pulmonary trunk and arteries, and the vessels
    of both sides."""
    yield paint(_aorta_solid(person), "arterial blood", Layer.VESSEL)
    inferior_points = [(18.0, spine_y(z) + 32, z) for z in (1052.0, 1100.0, 1150.0, 1200.0)]
    inferior_vena_cava = tube(
        [*inferior_points, (22, 2, 1262), (22, 14, 1300)], [10, 10.5, 11, 12, 12.5, 13]
    )
    superior_vena_cava = tube([(20, 14, 1320), (22, 10, 1370), (20, 12, 1425)], 9.5)
    pulmonary_trunk = tube([(-16, 34, 1335), (-20, 20, 1365), (-16, -4, 1374)], 13.0)
    right_pulmonary_artery, left_pulmonary_artery = (
        tube([(-14, -6, 1374), (side * 24, -14, 1372), (side * 40, -20, 1368)], [10, 9, 7])
        for side in (1, -1)
    )
    venous_vessels = (
        inferior_vena_cava,
        superior_vena_cava,
        pulmonary_trunk,
        right_pulmonary_artery,
        left_pulmonary_artery,
    )
    yield from paint_all(venous_vessels, "venous blood", Layer.VESSEL)
    yield from _paint_lateral_great_vessels(person)


def _aorta_solid(person: Person) -> Tube:
    """The aorta from its root over the arch to the bifurcation; wider with age."""
    width_factor = 1.0 + 0.004 * (person.age - 50)
    heights = (1390.0, 1330.0, 1270.0, 1210.0, 1150.0, 1100.0, 1058.0)
    descending_x = np.interp(heights, [1180, 1270], [-8.0, -24.0])
    ahead_of_spine_mm = np.interp(heights, [1180, 1270], [33.0, 18.0])
    descending_y = [spine_y(z) for z in heights] + ahead_of_spine_mm
    descending_points = np.stack([descending_x, descending_y, heights], axis=1)
    ascending_and_arch_points = [
        (-4, 8, 1325),
        (6, 20, 1362),
        (4, 16, 1398),
        (-6, 0, 1412),
        (-14, -14, 1408),
    ]
    radii_mm = [
        *[15.0 * width_factor] * 3,
        *[13.0 * width_factor] * 5,
        *[10.5 * width_factor] * 4,
    ]
    return tube([*ascending_and_arch_points, *descending_points], radii_mm, step_mm=18)


@on_both_sides
def _paint_lateral_great_vessels(person: Person) -> Paints:
    """The right carotid artery, internal jugular and subclavian vein, iliac artery and vein."""
    carotid_artery = tube(
        [(8, 8, 1412), (18, 8, 1450), (26, 8, 1500), (27, 2, 1545), (24, -8, 1595)],
        [5.5, 4.0, 3.6, 3.4, 2.8],
    )
    jugular_vein = tube(
        [(18, 14, 1422), (32, 10, 1460), (36, 4, 1520), (32, -8, 1590)], [7.5, 6.5, 5.5, 4.5]
    )
    subclavian_points = place_girdle_points(
        person, ((10, 8, 1420), (70, 12, 1432), (120, 6, 1415), (150, 0, 1385))
    )
    yield paint(carotid_artery, "arterial blood", Layer.VESSEL)
    subclavian_vein = tube(subclavian_points, 5.5)
    yield from paint_all((jugular_vein, subclavian_vein), "venous blood", Layer.VESSEL)
    iliac_artery = tube(
        [(4, 4, 1056), (30, -8, 1020), (54, 8, 980), (72, 46, 935), (80, 60, 895), (84, 50, 840)],
        [7.0, 6.0, 5.0, 4.8, 4.8, 4.2],
    )
    iliac_vein = tube(
        [
            (10, 0, 1050),
            (30, -18, 1015),
            (56, -4, 975),
            (64, 42, 932),
            (70, 54, 895),
            (76, 42, 840),
        ],
        [8.5, 7.0, 6.0, 5.5, 5.5, 4.8],
    )
    yield paint(iliac_artery, "arterial blood", Layer.VESSEL)
    yield paint(iliac_vein, "venous blood", Layer.VESSEL)
