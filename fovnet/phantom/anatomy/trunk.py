"""The outline of the trunk, its muscles, and the skeleton from the skull base to the pelvis.

Lengths in mm of the written anatomy: x to the right, y to the front with 0 in the middle of the
trunk, z from the soles.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from fovnet.phantom.anatomy import breast, wings
from fovnet.phantom.anatomy.layers import (
    SKIN_MM,
    Layer,
    Paints,
    factor_of_women,
    on_both_sides,
    paint,
    paint_bone,
    paint_detail,
    paint_fat_and_skin,
    paint_fat_plane,
)
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Loft, Point, Solid, tube
from fovnet.phantom.person.organ_heights import RIBS_MM
from fovnet.phantom.person.traits import Person


class TrunkRow(NamedTuple):
    """One cross-section of the muscular trunk of a plain man, in mm from the middle of the trunk,
    and factors on the fat at the waist."""

    z: float
    half_width_mm: float
    front_mm: float
    back_mm: float
    side_fat_factor: float
    front_fat_factor: float
    back_fat_factor: float


TRUNK_OUTLINE = tuple(
    TrunkRow(*row)
    for row in (
        (812.0, 20.0, 20.0, 40.0, 0.3, 0.3, 0.3),
        (826.0, 70.0, 45.0, 62.0, 0.6, 0.6, 0.8),
        (845.0, 128.0, 68.0, 82.0, 1.0, 0.9, 1.2),
        (870.0, 160.0, 84.0, 96.0, 1.2, 1.0, 1.5),
        (900.0, 170.0, 90.0, 102.0, 1.3, 1.0, 1.6),
        (940.0, 168.0, 92.0, 104.0, 1.3, 1.1, 1.6),
        (985.0, 158.0, 91.0, 98.0, 1.25, 1.2, 1.4),
        (1030.0, 148.0, 91.0, 90.0, 1.2, 1.2, 1.2),
        (1075.0, 139.0, 91.0, 86.0, 1.1, 1.15, 1.0),
        (1120.0, 137.0, 94.0, 86.0, 1.0, 1.0, 0.8),
        (1170.0, 142.0, 99.0, 88.0, 0.8, 0.9, 0.7),
        (1220.0, 149.0, 104.0, 91.0, 0.7, 0.8, 0.6),
        (1280.0, 156.0, 106.0, 95.0, 0.6, 0.7, 0.6),
        (1340.0, 162.0, 100.0, 98.0, 0.6, 0.7, 0.6),
        (1385.0, 172.0, 86.0, 96.0, 0.5, 0.6, 0.6),
        (1412.0, 172.0, 70.0, 90.0, 0.45, 0.5, 0.55),
        (1432.0, 148.0, 56.0, 82.0, 0.4, 0.45, 0.5),
        (1450.0, 108.0, 47.0, 75.0, 0.4, 0.4, 0.5),
        (1468.0, 76.0, 45.0, 69.0, 0.35, 0.4, 0.45),
        (1490.0, 60.0, 46.0, 66.0, 0.3, 0.35, 0.4),
        (1520.0, 56.0, 48.0, 68.0, 0.25, 0.35, 0.35),
        (1560.0, 57.0, 40.0, 74.0, 0.2, 0.3, 0.3),
        (1600.0, 56.0, 30.0, 78.0, 0.15, 0.2, 0.2),
    )
)
"""The trunk from the perineum up into the head."""

# z, y of the middle of the spinal column: cervical and lumbar lordosis, thoracic kyphosis,
# concavity of the sacrum.
# fmt: off
SPINE_Z = np.array([
    905.0, 925.0, 950.0, 980.0, 1005.0, 1035.0, 1090.0, 1140.0,
    1180.0, 1250.0, 1320.0, 1390.0, 1455.0, 1500.0, 1540.0, 1590.0,
])
SPINE_Y = np.array([
    -62.0, -74.0, -82.0, -72.0, -46.0, -32.0, -24.0, -30.0,
    -40.0, -50.0, -54.0, -46.0, -32.0, -22.0, -20.0, -28.0,
])
# fmt: on


def spine_y(z: float) -> float:
    """y of the middle of the vertebral bodies at a height."""
    return float(np.interp(z, SPINE_Z, SPINE_Y))


def muscular_trunk(person: Person) -> Loft:
    """The trunk under its fat, from the perineum into the head."""
    heights = [row[0] for row in TRUNK_OUTLINE]
    fronts = [row[2] for row in TRUNK_OUTLINE]
    brawn_factor = 1 + 0.35 * (person.muscle_factor - 1)
    outline_rows = []
    for z, half_width_mm, _, back_mm, *_ in TRUNK_OUTLINE:
        # the shoulders' slope and nape are higher in people who lie, the front of the chest is not
        raised_z = z + person.borders.side_rise_mm(z)
        front_mm = float(np.interp(raised_z, heights, fronts))
        belly_mm = person.belly_mm * float(np.exp(-(((z - 1095) / 85) ** 2)))
        wall_mm = person.build.added_wall_mm(z)
        side_mm = (
            half_width_mm * _trunk_width_factor(person, z) * brawn_factor
            + 0.35 * belly_mm
            + person.build.added_width_mm(z)
            + wall_mm
        )
        front_mm = front_mm * brawn_factor + belly_mm + 0.5 * wall_mm
        outline_rows.append((raised_z, 0.0, 0.0, side_mm, front_mm, back_mm * brawn_factor))
    return Loft(
        tuple(outline_rows),
        squareness=person.figure.squareness,
        squareness_change=person.figure.neck_squareness_change,
    )


def _trunk_width_factor(person: Person, z: float) -> float:
    """The width of the trunk at a height relative to a man's: women have broader hips, narrower
    shoulders."""
    if not person.is_female:
        return 1.0
    if z < 1030:
        return 1.03
    return 0.93 if z > 1330 else 0.97


def trunk_under_skin(person: Person, skin_mm: float = 0.0) -> Loft:
    """The trunk with its fat, and with `skin_mm` of skin on it."""
    hip_factor = factor_of_women(person, 1.35)
    figure = person.figure
    outline_rows = []
    for muscle_row, outline_row in zip(muscular_trunk(person).table, TRUNK_OUTLINE, strict=True):
        raised_z, x, y, side_mm, front_mm, back_mm = muscle_row
        z, _, _, _, side_share, front_share, back_share = outline_row
        fat_mm = person.fat_mm * (hip_factor if z < 1000 else 1.0)
        side_factor, front_factor, back_factor = figure.trunk_factors(z)
        trunk_share = float(np.interp(z, (870, 985, 1220, 1340), (0, 1, 1, 0)))
        shift_mm = figure.asymmetry_mm * trunk_share
        sunk_mm = figure.sag_mm * trunk_share
        reaches_mm = (
            side_mm + fat_mm * side_share * side_factor,
            front_mm + fat_mm * front_share * front_factor + sunk_mm,
            back_mm + fat_mm * back_share * back_factor - sunk_mm,
        )
        outline_rows.append(
            (raised_z, x + shift_mm, y - sunk_mm, *(reach_mm + skin_mm for reach_mm in reaches_mm))
        )
    return Loft(
        tuple(outline_rows),
        squareness=figure.outer_squareness,
        squareness_change=figure.neck_squareness_change,
    )


def paint_trunk_wall(person: Person) -> Paints:
    """Skin, fat and muscle of the trunk, with buttocks and breasts."""
    muscle = muscular_trunk(person)
    yield paint(flatten_on_table(person, trunk_under_skin(person, SKIN_MM)), "skin", Layer.SKIN)
    yield paint(flatten_on_table(person, trunk_under_skin(person), SKIN_MM), "fat", Layer.FAT)
    yield paint(muscle, "muscle", Layer.MUSCLE)
    yield from _paint_buttock_and_erector(person)
    if person.is_female:
        yield from breast.paint_breast_contour(person, muscle)


@on_both_sides
def _paint_buttock_and_erector(person: Person) -> Paints:
    """A buttock, and the erector of the spine with its fat plane."""
    fat_mm = person.fat_mm * (1.7 if person.is_female else 1.2) * person.figure.buttock_factor
    thickness_mm = 44.0 * person.muscle_factor * person.build.hip_factor
    gluteus = Ellipsoid((68.0, -84.0, 900.0), (66.0, thickness_mm, 72.0), (0.0, 18.0, -25.0))
    pressed_mm = 5.0 + 0.3 * person.fat_mm  # mm of skin and fat between muscle and table
    yield from paint_fat_and_skin(gluteus, fat_mm, partial(flatten_on_table, person))
    yield paint_fat_plane(gluteus.shrink(-3.0))
    yield paint(flatten_on_table(person, gluteus, pressed_mm), "muscle", Layer.SEAM)
    thickness_mm = 19 * person.muscle_factor * person.build.back_factor
    heights = (985.0, 1060.0, 1150.0, 1250.0, 1350.0, 1430.0)
    erector_points = [(30.0, spine_y(z) - 38 if z > 1010 else -84.0, z) for z in heights]
    erector = tube(
        erector_points,
        [thickness_mm * share for share in (0.7, 1.15, 1.15, 0.95, 0.8, 0.6)],
        step_mm=40,
    )
    yield paint_fat_plane(erector.shrink(-1.6))
    yield paint(erector, "muscle", Layer.SEAM)


def flatten_on_table(person: Person, solid: Solid, above_mm: float = 0.0) -> Solid:
    """The part of the solid at least `above_mm` above the table that the person lies on; all of it
    if the person is not flattened.

    Beside the area of contact the outline rises at 35°: compressed tissue has no sharp edge.
    """
    if person.table_mm == float("inf"):
        return solid
    slope = np.deg2rad(35.0)
    contact_half_width_mm = 90.0 + person.fat_mm
    normal_x = float(np.sin(slope))
    normal_y = float(np.cos(slope))
    offset_mm = contact_half_width_mm * normal_x + person.table_mm * normal_y - above_mm
    flattened = solid & HalfSpace((0.0, -1.0, 0.0), person.table_mm - above_mm)
    return (
        flattened
        & HalfSpace((normal_x, -normal_y, 0.0), offset_mm)
        & HalfSpace((-normal_x, -normal_y, 0.0), offset_mm)
    )


VERTEBRA_GROUPS = (
    # first level at z, step down, count, half width, half depth
    ("cervical", 1568.0, 19.0, 6, 11.5, 9.0),  # C2 to C7
    ("thoracic", 1452.0, 23.4, 12, 14.5, 13.5),  # T1 to T12
    ("lumbar", 1166.0, 33.0, 5, 22.0, 16.5),  # L1 to L5
)


class Vertebra(NamedTuple):
    """A vertebra of the written anatomy.

    kind            "cervical", "thoracic" or "lumbar"
    z               height of the middle of its body
    step_mm         from there to the middle of the next
    half_width_mm   of its body
    half_depth_mm   of its body
    """

    kind: str
    z: float
    step_mm: float
    half_width_mm: float
    half_depth_mm: float


def vertebrae() -> Iterator[Vertebra]:
    """Those from C2 to L5; they grow downwards."""
    for kind, top_z, step_mm, count, half_width_mm, half_depth_mm in VERTEBRA_GROUPS:
        for level_index in range(count):
            growth = 1.0 + (0.035 if kind == "thoracic" else 0.02) * level_index
            z = top_z - step_mm * level_index
            yield Vertebra(kind, z, step_mm, half_width_mm * growth, half_depth_mm * growth)


def spine_lean_deg(z: float) -> float:
    """How far the column leans backwards at a height, degrees."""
    return float(np.rad2deg(np.arctan2(spine_y(z + 10) - spine_y(z - 10), 20)))


def paint_spine(person: Person) -> Paints:
    """Vertebrae C2 to L5 with discs, sacrum, coccyx, canal, cord and nerve roots."""
    for vertebra in vertebrae():
        yield from _paint_vertebra(vertebra)
    yield from _paint_sacrum()
    yield from _paint_spinal_canal(person)


PROCESS_LENGTHS_MM = {
    "cervical": (4.0, 20.0, 20.0),
    "thoracic": (20.0, 25.0, 30.0),
    "lumbar": (4.0, 30.0, 38.0),
}
"""How far spinous processes slant down and reach back, and how far transverse ones reach to the
side."""


def _paint_vertebra(vertebra: Vertebra) -> Paints:
    """The body of a vertebra with its processes, and the disc below it."""
    kind, z, step_mm, half_width_mm, half_depth_mm = vertebra
    y = spine_y(z)
    turn_deg = (-spine_lean_deg(z), 0.0, 0.0)
    vertebral_body = Ellipsoid(
        (0.0, y, z), (half_width_mm, half_depth_mm, 0.39 * step_mm + 1.2), turn_deg, squareness=0.85
    )
    disc_z = z - step_mm / 2
    disc = Ellipsoid(
        (0.0, spine_y(disc_z), disc_z),
        (half_width_mm + 0.5, half_depth_mm + 0.5, 0.15 * step_mm + 0.8),
        turn_deg,
        squareness=0.8,
    )
    back_y = y - half_depth_mm
    drop_mm, length_mm, transverse_mm = PROCESS_LENGTHS_MM[kind]
    radius_mm = 0.11 * step_mm + 2.0
    yield paint(disc, "disc", Layer.BONE)
    yield from paint_bone(vertebral_body, 1.2)
    spinous = tube(
        [(0, back_y - 18, z), (0, back_y - 18 - length_mm * 0.7, z - drop_mm)],
        [radius_mm, radius_mm * 0.9],
    )
    yield from paint_bone(spinous, 1.2)
    yield from _paint_vertebral_arch(z, half_width_mm * 0.75, back_y, radius_mm, transverse_mm)


@on_both_sides
def _paint_vertebral_arch(
    z: float, half_width_mm: float, back_y: float, radius_mm: float, transverse_mm: float
) -> Paints:
    """Pedicle, lamina and transverse process."""
    yield from paint_bone(
        tube(
            [(half_width_mm, back_y, z), (13, back_y - 12, z - 3), (0, back_y - 19, z - 2)],
            radius_mm * 0.85,
        ),
        1.2,
    )
    yield from paint_bone(
        tube([(13, back_y - 8, z), (transverse_mm, back_y - 10, z + 2)], radius_mm * 0.7), 1.2
    )


def _paint_sacrum() -> Paints:
    """The five segments of the sacrum, and the coccyx."""
    segments = ((1002.0, 46, 17), (978.0, 42, 15), (955.0, 33, 12), (935.0, 24, 9), (918.0, 15, 7))
    for segment_index, (z, half_width_mm, half_depth_mm) in enumerate(segments):
        segment = Ellipsoid(
            (0.0, spine_y(z), z),
            (half_width_mm, half_depth_mm, 15.0),
            (-28.0 + 14 * segment_index, 0.0, 0.0),
            squareness=0.5,
        )
        yield from paint_bone(segment, 1.4)
    yield from paint_bone(tube([(0, -64, 908), (0, -52, 890), (0, -42, 880)], [5.0, 4.0, 2.5]), 1.0)


def _paint_spinal_canal(person: Person) -> Paints:
    """Dural sac to S2, cord to L1, then the roots of the cauda equina."""
    canal_points = [
        (0.0, spinal_canal_y(z), z) for z in [1600.0, *np.arange(1580, 960, -20.0).tolist()]
    ]
    dural_sac = tube(canal_points, [_dural_sac_radius_mm(z) for *_, z in canal_points])
    cord_end_z = person.generator(12).uniform(1140, 1175)
    cord_points = [point for point in canal_points if point[2] > cord_end_z]
    root_points = [(0.0, y - 4.0, z) for _, y, z in canal_points if 990 < z <= cord_end_z]
    yield paint_detail(
        dural_sac.shrink(-2.2), "fat", replaced_tissues=("muscle", "cortical bone", "red marrow")
    )
    yield paint_detail(dural_sac, "cerebrospinal fluid")
    yield paint_detail(
        tube(cord_points, [5.6 if z > 1440 else 4.2 for *_, z in cord_points]), "spinal cord"
    )
    yield paint_detail(tube(root_points, 2.6), "spinal cord")


def _dural_sac_radius_mm(z: float) -> float:
    """The radius of the dural sac: widest in the neck, ending in the sacrum."""
    if z > 1440:
        return 9.0
    if z > 1180:
        return 7.5
    return 8.5 if z > 1000 else 5.0


def spinal_canal_depth_mm(z: float) -> float:
    """Distance of the middle of the canal behind the middle of the vertebral bodies, mm."""
    heights = (960, 1005, 1040, 1170, 1200, 1450, 1500, 1560, 1600)
    return float(np.interp(z, heights, (14, 24, 28, 25, 23, 21, 18, 14, 4)))


def spinal_canal_y(z: float) -> float:
    """y of the middle of the canal at a height."""
    return spine_y(z) - spinal_canal_depth_mm(z)


def paint_thoracic_cage(person: Person, with_small_parts: bool = False) -> Paints:
    """Twelve pairs of ribs, costal cartilage, sternum, clavicles and shoulder blades.

    With `with_small_parts` clavicles and shoulder blades are left to `shoulder`, and the sternum
    lies directly under the fat: it is covered by 2.5 mm of fascia and no muscle, and if drawn
    deeper would overlap some right ventricles.
    """
    yield from _paint_ribs_and_shoulder_girdle(person, with_small_parts)
    front_y = float(muscular_trunk(person).columns_below(1360.0)[3]) + (
        5.0 if with_small_parts else 0.0
    )
    manubrium = Ellipsoid(
        (0.0, front_y - 34, 1396.0), (25.0, 7.0, 25.0), (-22.0, 0.0, 0.0), squareness=0.5
    )
    body_of_sternum = Ellipsoid(
        (0.0, front_y - 14, 1325.0), (17.0, 6.5, 52.0), (-13.0, 0.0, 0.0), squareness=0.5
    )
    yield from paint_bone(manubrium, 1.6)
    yield from paint_bone(body_of_sternum, 1.6)


@on_both_sides
def _paint_ribs_and_shoulder_girdle(person: Person, with_small_parts: bool) -> Paints:
    """Twelve ribs of one side; without `with_small_parts` also clavicle and shoulder blade."""
    trunk = muscular_trunk(person)
    for rib_number in range(12):
        yield from _paint_rib(
            trunk, rib_number, person.organ_heights.rib_descent_share * RIBS_MM[rib_number]
        )
    if not with_small_parts:
        yield from _paint_clavicle(person)
        yield from _paint_scapula(person)


def _paint_rib(trunk: Loft, rib_number: int, lowering_mm: float) -> Paints:
    """One rib: from its vertebra backwards and laterally, along the wall 13 mm under the muscle's
    surface, down to the cartilage."""
    head_z = 1452 - 23.4 * rib_number
    end_angle_share = (0.55, 0.78, 0.88, 0.92, 0.94, 0.95, 0.94, 0.86, 0.78, 0.7, 0.45, 0.3)[
        rib_number
    ]
    fall_mm = (25, 40, 55, 68, 80, 88, 92, 90, 82, 75, 45, 30)[rib_number] + lowering_mm
    width_factor = (0.56, 0.7, 0.8, 0.88, 0.93, 0.97, 1, 1, 1, 1, 1, 1)[rib_number]
    rib_points = [(14.0, spine_y(head_z) - 8, head_z)]
    for angle in np.linspace(0.06, end_angle_share, 11) * np.pi:
        z = head_z - fall_mm * (angle / np.pi) ** 1.1
        _, _, wall_half_width_mm, wall_front_mm, wall_back_mm = trunk.columns_below(z)
        half_width_mm = (min(wall_half_width_mm, 150) - 13) * width_factor
        depth_mm = wall_back_mm - 18 if angle < np.pi / 2 else wall_front_mm - 13
        y = -depth_mm * np.cos(angle)
        if rib_number < 2 and y > 0:
            y *= 0.75
        rib_points.append((half_width_mm * np.sin(angle), y, z))
    bony_point_count = 10 if rib_number < 10 else 12
    yield from paint_bone(tube(rib_points[:bony_point_count], 5.0), 1.5)
    if rib_number < 10:
        yield paint(tube(rib_points[bony_point_count - 1 :], 4.5), "cartilage", Layer.BONE)


def _paint_clavicle(person: Person) -> Paints:
    """The right clavicle, an S from the sternum to the shoulder."""
    points = ((16, 62, 1418), (62, 58, 1428), (110, 20, 1432), (152, -18, 1432))
    return paint_bone(tube(place_girdle_points(person, points), [8, 6, 6, 7], step_mm=25), 1.6)


def place_girdle_points(
    person: Person, points: tuple[Point, ...], width_factor: float = 1.0
) -> list[Point]:
    """Points of the right shoulder girdle as written, as high as this person's, and `width_factor`
    times as far beside the middle."""
    return [(x * width_factor, y, z + person.borders.girdle_rise_mm(x)) for x, y, z in points]


def _paint_scapula(person: Person) -> Paints:
    """The right shoulder blade: its plate, its spine and the socket of the shoulder."""
    blade_middle, glenoid = place_girdle_points(
        person, ((98.0, -80.0, 1362.0), (138.0, -26.0, 1402.0))
    )
    spine_of_scapula = tube(
        place_girdle_points(person, ((70, -92, 1392), (118, -70, 1418), (158, -22, 1436))),
        [5, 6, 8],
    )
    yield from paint_bone(
        Ellipsoid(blade_middle, (48.0, 5.0, 66.0), (8.0, -14.0, 26.0), squareness=0.2), 1.6
    )
    yield from paint_bone(spine_of_scapula, 2.0)
    yield from paint_bone(Ellipsoid(glenoid, (10.0, 14.0, 18.0)), 1.8)


ILIAC_CREST_MM = 1060.0
ISCHIUM_MM = 830.0
PELVIS_MARROW = "mixed marrow"  # of the adult pelvis


def paint_pelvis(person: Person, with_small_parts: bool = False) -> Paints:
    """Iliac wings up to the crest (bent blades if `with_small_parts`), hip sockets, pubis, and
    ischia that end below at ISCHIUM_MM."""
    yield from _paint_hip_bone(person, with_small_parts)
    yield paint(Ellipsoid((0.0, 50.0, 892.0), (4.0, 13.0, 19.0)), "cartilage", Layer.MARROW)


@on_both_sides
def _paint_hip_bone(person: Person, with_small_parts: bool) -> Paints:
    """The right hip bone: wing, socket, ischium and the two branches of the pubis."""
    width_factor = factor_of_women(person, 1.06)
    if with_small_parts:
        yield from wings.paint_iliac_wing(person, muscular_trunk(person), PELVIS_MARROW)
    else:
        yield from _paint_iliac_wing(person, width_factor)
    acetabulum = Ellipsoid((84 * width_factor, -4, 937), (31.0, 33.0, 36.0))
    yield from paint_bone(
        acetabulum - Ellipsoid((88 * width_factor + 4, -2, 930), (30.0, 28.0, 28.0)),
        2.0,
        PELVIS_MARROW,
    )
    bar_points = (
        (66 * width_factor, -50, 1010),
        (74 * width_factor, -30, 980),
        (84 * width_factor, -12, 950),
    )
    yield from paint_bone(tube(bar_points, [13, 13, 16]), 2.0, PELVIS_MARROW)
    ischium_points = (
        (84 * width_factor, -26, 920),
        (72 * width_factor, -44, 880),
        (60 * width_factor, -46, ISCHIUM_MM + 17),
    )
    yield from paint_bone(tube(ischium_points, [18, 15, 17]), 2.0, PELVIS_MARROW)
    for ramus_points, ramus_radii in (
        (((58 * width_factor, -40, 848), (34 * width_factor, 18, 862), (13, 46, 884)), [9, 7, 9]),
        (((80 * width_factor, 18, 934), (48 * width_factor, 44, 922), (13, 54, 900)), [13, 8, 11]),
    ):
        yield from paint_bone(tube(ramus_points, ramus_radii, step_mm=25), 1.8, PELVIS_MARROW)


def _paint_iliac_wing(person: Person, width_factor: float) -> Paints:
    """A thin concave plate from the sacroiliac joint to the anterior spine, its thick rim along the
    top, and the muscles on its two faces.

    The rim, the crest, is 12 to 19 mm thick, thickest behind the anterior spine, at the tubercle.
    """
    semi_axes = (8.5, 74.0, 70.0)
    turn_deg = (-12.0, 20.0, 38.0)
    top_mm = Ellipsoid((0.0, 0.0, 0.0), semi_axes, turn_deg).box[1, 2]
    crest_z = ILIAC_CREST_MM + person.borders.iliac_crest_rise_mm
    plate = Ellipsoid((98.0 * width_factor, -10.0, crest_z - top_mm), semi_axes, turn_deg)
    # in the plane of the plate, from the front over the top
    rim_angles = np.deg2rad(np.linspace(20.0, 160.0, 11))
    rim_radii = np.interp(rim_angles, np.deg2rad([20.0, 65.0, 110.0, 160.0]), [7.0, 9.5, 7.0, 6.0])
    front_offsets_mm = np.cos(rim_angles)[:, None] * 70.0
    up_offsets_mm = np.sin(rim_angles)[:, None] * 66.0
    rim_points = (
        np.asarray(plate.centre)
        + front_offsets_mm * plate.axes[:, 1]
        + up_offsets_mm * plate.axes[:, 2]
    )
    rim_points[:, 2] += crest_z - (rim_points[:, 2] + rim_radii).max()
    is_behind_joint = rim_points[:, 1] > -62.0
    yield from _paint_iliac_muscles(person, plate)
    yield from paint_bone(plate - HalfSpace((0.0, -1.0, 0.0), -66.0), 2.0, PELVIS_MARROW)
    yield from paint_bone(
        tube(rim_points[is_behind_joint], rim_radii[is_behind_joint]), 1.8, PELVIS_MARROW
    )


def _paint_iliac_muscles(person: Person, plate: Ellipsoid) -> Paints:
    """Iliacus on the inner face, and the fat between the three gluteal muscles on the outer
    face."""
    lateral_axis = plate.axes[:, 0] * np.sign(plate.axes[0, 0])

    def layer_at(distance_mm: float, semi_axes: Point) -> Ellipsoid:
        return Ellipsoid(
            tuple(np.add(plate.centre, distance_mm * lateral_axis).tolist()),
            semi_axes,
            plate.turn_deg,
        )

    thickness_mm = 1.2 + 0.05 * person.fat_mm
    yield paint(layer_at(-11.0, (11.0 * person.muscle_factor, 62.0, 58.0)), "muscle", Layer.CAVITY)
    fat_planes = (
        layer_at(18.0, (thickness_mm, 62.0, 56.0)),
        layer_at(31.0, (thickness_mm, 56.0, 50.0)),
    )
    yield from map(paint_fat_plane, fat_planes)
