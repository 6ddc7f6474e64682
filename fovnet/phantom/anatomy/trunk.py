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
    LoftRow,
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
from fovnet.phantom.person.streams import Stream
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

# heights, and y of the middle of the vertebral column there: cervical and lumbar lordosis, thoracic
# kyphosis, concavity of the sacrum
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
    """y of the middle of the vertebral bodies at a height, mm of the written anatomy."""
    return float(np.interp(z, SPINE_Z, SPINE_Y))


def muscular_trunk(person: Person) -> Loft:
    """The trunk under its fat, from the perineum into the head."""
    written_heights = [row.z for row in TRUNK_OUTLINE]
    written_fronts_mm = [row.front_mm for row in TRUNK_OUTLINE]
    muscularity = 1 + 0.35 * (person.muscle_factor - 1)
    rows = []
    for written_row in TRUNK_OUTLINE:
        z = written_row.z
        # the shoulders' slope and nape are higher in people who lie, the front of the chest is not
        raised_z = z + person.borders.side_rise_mm(z)
        usual_front_mm = float(np.interp(raised_z, written_heights, written_fronts_mm))
        belly_mm = person.belly_mm * float(np.exp(-(((z - 1095) / 85) ** 2)))
        wall_mm = person.build.extra_wall_mm(z)
        half_width_mm = (
            written_row.half_width_mm * _trunk_width_factor(person, z) * muscularity
            + 0.35 * belly_mm
            + person.build.extra_width_mm(z)
            + wall_mm
        )
        row = LoftRow(
            raised_z,
            0.0,
            0.0,
            half_width_mm=half_width_mm,
            front_mm=usual_front_mm * muscularity + belly_mm + 0.5 * wall_mm,
            back_mm=written_row.back_mm * muscularity,
        )
        rows.append(row)
    return Loft(
        tuple(rows),
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
    if z > 1330:
        return 0.93
    return 0.97


def trunk_under_skin(person: Person, skin_mm: float = 0.0) -> Loft:
    """The trunk with its fat, and with `skin_mm` of skin on it."""
    figure = person.figure
    rows = []
    for muscle_row, written_row in zip(muscular_trunk(person).table, TRUNK_OUTLINE, strict=True):
        raised_z, middle_x, middle_y, muscle_half_width_mm, muscle_front_mm, muscle_back_mm = (
            muscle_row
        )
        z = written_row.z
        fat_mm = person.fat_mm
        if z < 1000:
            fat_mm *= factor_of_women(person, 1.35)
        side_factor, front_factor, back_factor = figure.trunk_factors(z)
        trunk_share = float(np.interp(z, (870, 985, 1220, 1340), (0, 1, 1, 0)))
        shift_mm = figure.asymmetry_mm * trunk_share
        sunk_mm = figure.sag_mm * trunk_share
        side_fat_mm = fat_mm * written_row.side_fat_factor * side_factor
        front_fat_mm = fat_mm * written_row.front_fat_factor * front_factor
        back_fat_mm = fat_mm * written_row.back_fat_factor * back_factor
        row = LoftRow(
            raised_z,
            centre_x=middle_x + shift_mm,
            centre_y=middle_y - sunk_mm,
            half_width_mm=muscle_half_width_mm + side_fat_mm + skin_mm,
            front_mm=muscle_front_mm + front_fat_mm + sunk_mm + skin_mm,
            back_mm=muscle_back_mm + back_fat_mm - sunk_mm + skin_mm,
        )
        rows.append(row)
    return Loft(
        tuple(rows),
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
    """The right buttock, and the right erector spinae with its fat plane."""
    sex_factor = 1.7 if person.is_female else 1.2
    fat_mm = person.fat_mm * sex_factor * person.figure.buttock_factor
    half_depth_mm = 44.0 * person.muscle_factor * person.build.hip_factor
    gluteus_maximus = Ellipsoid(
        (68.0, -84.0, 900.0), (66.0, half_depth_mm, 72.0), (0.0, 18.0, -25.0)
    )
    skin_and_fat_mm = 5.0 + 0.3 * person.fat_mm  # between the muscle and the table
    flat_gluteus = flatten_on_table(person, gluteus_maximus, skin_and_fat_mm)
    yield from paint_fat_and_skin(gluteus_maximus, fat_mm, partial(flatten_on_table, person))
    yield paint_fat_plane(gluteus_maximus.shrink(-3.0))
    yield paint(flat_gluteus, "muscle", Layer.SEAM)
    radius_mm = 19 * person.muscle_factor * person.build.back_factor
    erector_points = []
    for z in (985.0, 1060.0, 1150.0, 1250.0, 1350.0, 1430.0):
        y = spine_y(z) - 38 if z > 1010 else -84.0
        erector_points.append((30.0, y, z))
    erector_radii = [radius_mm * share for share in (0.7, 1.15, 1.15, 0.95, 0.8, 0.6)]
    erector_spinae = tube(erector_points, erector_radii, step_mm=40)
    yield paint_fat_plane(erector_spinae.shrink(-1.6))
    yield paint(erector_spinae, "muscle", Layer.SEAM)


def flatten_on_table(person: Person, solid: Solid, above_mm: float = 0.0) -> Solid:
    """The part of the solid at least `above_mm` above the table that the person lies on; all of it
    if the person is not flattened.

    Beside the area of contact the outline rises at 35°: compressed tissue has no sharp edge.
    """
    if person.table_mm == float("inf"):
        return solid
    slope_rad = np.deg2rad(35.0)
    contact_half_width_mm = 90.0 + person.fat_mm
    normal_x = float(np.sin(slope_rad))
    normal_y = float(np.cos(slope_rad))
    offset_mm = contact_half_width_mm * normal_x + person.table_mm * normal_y - above_mm
    above_table = HalfSpace((0.0, -1.0, 0.0), person.table_mm - above_mm)
    above_right_slope = HalfSpace((normal_x, -normal_y, 0.0), offset_mm)
    above_left_slope = HalfSpace((-normal_x, -normal_y, 0.0), offset_mm)
    return solid & above_table & above_right_slope & above_left_slope


VERTEBRA_GROUPS = (
    ("cervical", 1568.0, 19.0, 6, 11.5, 9.0),  # C2 to C7
    ("thoracic", 1452.0, 23.4, 12, 14.5, 13.5),  # T1 to T12
    ("lumbar", 1166.0, 33.0, 5, 22.0, 16.5),  # L1 to L5
)
"""Kind, height of the uppermost vertebra, distance to the next, count, and half width and half depth
of the uppermost body."""

GROWTH_BY_KIND = {"cervical": 0.02, "thoracic": 0.035, "lumbar": 0.02}
"""By how much each vertebral body is larger than the uppermost one of its kind for every step
down."""


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
    """The written vertebrae from C2 to L5, from above; each body is larger than the one above it."""
    for kind, top_z, step_mm, count, half_width_mm, half_depth_mm in VERTEBRA_GROUPS:
        for level_index in range(count):
            size_factor = 1.0 + GROWTH_BY_KIND[kind] * level_index
            yield Vertebra(
                kind,
                top_z - step_mm * level_index,
                step_mm,
                half_width_mm * size_factor,
                half_depth_mm * size_factor,
            )


def spine_lean_deg(z: float) -> float:
    """How far the vertebral column leans at a height, degrees: above 0 where it rises to the front."""
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
"""By kind of vertebra, mm: how far spinous processes slant down and reach back, and how far
transverse ones reach to the side."""


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
    drop_mm, spinous_mm, transverse_mm = PROCESS_LENGTHS_MM[kind]
    process_radius_mm = 0.11 * step_mm + 2.0
    yield paint(disc, "disc", Layer.BONE)
    yield from paint_bone(vertebral_body, cortex_mm=1.2)
    spinous_process = tube(
        [(0, back_y - 18, z), (0, back_y - 18 - spinous_mm * 0.7, z - drop_mm)],
        [process_radius_mm, process_radius_mm * 0.9],
    )
    yield from paint_bone(spinous_process, cortex_mm=1.2)
    yield from _paint_vertebral_arch(
        (half_width_mm * 0.75, back_y, z), process_radius_mm, transverse_mm
    )


@on_both_sides
def _paint_vertebral_arch(
    pedicle_root: Point, process_radius_mm: float, transverse_mm: float
) -> Paints:
    """The right pedicle, from its root (3,) at the vertebral body, and lamina; the right transverse
    process, which ends `transverse_mm` from the midline."""
    root_x, back_y, z = pedicle_root
    pedicle_and_lamina = tube(
        [(root_x, back_y, z), (13, back_y - 12, z - 3), (0, back_y - 19, z - 2)],
        process_radius_mm * 0.85,
    )
    transverse_process = tube(
        [(13, back_y - 8, z), (transverse_mm, back_y - 10, z + 2)], process_radius_mm * 0.7
    )
    yield from paint_bone(pedicle_and_lamina, cortex_mm=1.2)
    yield from paint_bone(transverse_process, cortex_mm=1.2)


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
        yield from paint_bone(segment, cortex_mm=1.4)
    coccyx = tube([(0, -64, 908), (0, -52, 890), (0, -42, 880)], [5.0, 4.0, 2.5])
    yield from paint_bone(coccyx, cortex_mm=1.0)


def _paint_spinal_canal(person: Person) -> Paints:
    """The vertebral canal: the dural sac to S2 in fat, the spinal cord to L1, then the roots of the
    cauda equina."""
    heights = [1600.0, *np.arange(1580, 960, -20.0).tolist()]
    canal_points = [(0.0, spinal_canal_y(z), z) for z in heights]
    dural_sac = tube(canal_points, [_dural_sac_radius_mm(z) for z in heights])
    cord_end_z = person.generator(Stream.SPINAL_CORD_END).uniform(1140, 1175)
    cord_points = [(x, y, z) for x, y, z in canal_points if z > cord_end_z]
    cord_radii = [5.6 if z > 1440 else 4.2 for _, _, z in cord_points]
    root_points = [(0.0, y - 4.0, z) for _, y, z in canal_points if 990 < z <= cord_end_z]
    spinal_cord = tube(cord_points, cord_radii)
    cauda_equina = tube(root_points, 2.6)
    yield paint_detail(
        dural_sac.shrink(-2.2), "fat", replaced_tissues=("muscle", "cortical bone", "red marrow")
    )
    yield paint_detail(dural_sac, "cerebrospinal fluid")
    yield paint_detail(spinal_cord, "spinal cord")
    yield paint_detail(cauda_equina, "spinal cord")


def _dural_sac_radius_mm(z: float) -> float:
    """The radius of the dural sac at a height, mm: widest in the neck, ending in the sacrum."""
    if z > 1440:
        return 9.0
    if z > 1180:
        return 7.5
    if z > 1000:
        return 8.5
    return 5.0


def spinal_canal_depth_mm(z: float) -> float:
    """Distance of the middle of the vertebral canal behind that of the vertebral bodies, mm."""
    heights = (960, 1005, 1040, 1170, 1200, 1450, 1500, 1560, 1600)
    return float(np.interp(z, heights, (14, 24, 28, 25, 23, 21, 18, 14, 4)))


def spinal_canal_y(z: float) -> float:
    """y of the middle of the vertebral canal at a height, mm."""
    return spine_y(z) - spinal_canal_depth_mm(z)


def paint_thoracic_cage(person: Person, with_small_parts: bool = False) -> Paints:
    """Twelve pairs of ribs, costal cartilage, sternum, clavicles and scapulae.

    With `with_small_parts` clavicles and scapulae are left to `shoulder`, and the sternum
    lies directly under the fat: it is covered by 2.5 mm of fascia and no muscle, and if drawn
    deeper would overlap some right ventricles.
    """
    yield from _paint_ribs_and_shoulder_girdle(person, with_small_parts)
    _, _, _, front_mm, _ = muscular_trunk(person).columns_below(1360.0)
    front_y = float(front_mm)
    if with_small_parts:
        front_y += 5.0
    manubrium = Ellipsoid(
        (0.0, front_y - 34, 1396.0), (25.0, 7.0, 25.0), (-22.0, 0.0, 0.0), squareness=0.5
    )
    body_of_sternum = Ellipsoid(
        (0.0, front_y - 14, 1325.0), (17.0, 6.5, 52.0), (-13.0, 0.0, 0.0), squareness=0.5
    )
    yield from paint_bone(manubrium, cortex_mm=1.6)
    yield from paint_bone(body_of_sternum, cortex_mm=1.6)


@on_both_sides
def _paint_ribs_and_shoulder_girdle(person: Person, with_small_parts: bool) -> Paints:
    """The twelve right ribs; without `with_small_parts` also the right clavicle and scapula."""
    trunk = muscular_trunk(person)
    for rib_index in range(12):
        yield from _paint_rib(
            trunk, rib_index, person.organ_heights.rib_descent_share * RIBS_MM[rib_index]
        )
    if not with_small_parts:
        yield from _paint_clavicle(person)
        yield from _paint_scapula(person)


RIB_END_ANGLES = (0.55, 0.78, 0.88, 0.92, 0.94, 0.95, 0.94, 0.86, 0.78, 0.7, 0.45, 0.3)
RIB_FALLS_MM = (25, 40, 55, 68, 80, 88, 92, 90, 82, 75, 45, 30)
RIB_WIDTH_FACTORS = (0.56, 0.7, 0.8, 0.88, 0.93, 0.97, 1, 1, 1, 1, 1, 1)
"""Of each rib, first to twelfth: where it ends round the trunk (0 behind, 1 in front), how far it
would fall from behind to the front, and its width relative to the trunk's."""


def _paint_rib(trunk: Loft, rib_index: int, lowering_mm: float) -> Paints:
    """One right rib (index 0 is the first): from its vertebra backwards and laterally, along the
    wall 13 mm under the muscle's surface, down to the cartilage; it falls by `lowering_mm` more."""
    head_z = 1452 - 23.4 * rib_index
    fall_mm = RIB_FALLS_MM[rib_index] + lowering_mm
    rib_points = [(14.0, spine_y(head_z) - 8, head_z)]
    for angle_rad in np.linspace(0.06, RIB_END_ANGLES[rib_index], 11) * np.pi:
        z = head_z - fall_mm * (angle_rad / np.pi) ** 1.1
        _, _, wall_half_width_mm, wall_front_mm, wall_back_mm = trunk.columns_below(z)
        half_width_mm = (min(wall_half_width_mm, 150) - 13) * RIB_WIDTH_FACTORS[rib_index]
        half_depth_mm = wall_front_mm - 13
        if angle_rad < np.pi / 2:
            half_depth_mm = wall_back_mm - 18
        y = -half_depth_mm * np.cos(angle_rad)
        if rib_index < 2 and y > 0:
            y *= 0.75
        rib_points.append((half_width_mm * np.sin(angle_rad), y, z))
    is_floating = rib_index >= 10
    bony_point_count = len(rib_points) if is_floating else 10
    yield from paint_bone(tube(rib_points[:bony_point_count], 5.0), cortex_mm=1.5)
    if not is_floating:
        costal_cartilage = tube(rib_points[bony_point_count - 1 :], 4.5)
        yield paint(costal_cartilage, "cartilage", Layer.BONE)


def _paint_clavicle(person: Person) -> Paints:
    """The right clavicle, an S from the sternum to the shoulder."""
    points = place_girdle_points(
        person, ((16, 62, 1418), (62, 58, 1428), (110, 20, 1432), (152, -18, 1432))
    )
    return paint_bone(tube(points, [8, 6, 6, 7], step_mm=25), cortex_mm=1.6)


def place_girdle_points(
    person: Person, points: tuple[Point, ...], width_factor: float = 1.0
) -> list[Point]:
    """Points (3,) mm of the right shoulder girdle as written, moved up as this person's girdle is,
    and to `width_factor` times their distance from the midline."""
    return [(x * width_factor, y, z + person.borders.girdle_rise_mm(x)) for x, y, z in points]


def _paint_scapula(person: Person) -> Paints:
    """The right scapula: its plate, its spine and the glenoid cavity."""
    plate_centre, glenoid_centre = place_girdle_points(
        person, ((98.0, -80.0, 1362.0), (138.0, -26.0, 1402.0))
    )
    spine_of_scapula = tube(
        place_girdle_points(person, ((70, -92, 1392), (118, -70, 1418), (158, -22, 1436))),
        [5, 6, 8],
    )
    yield from paint_bone(
        Ellipsoid(plate_centre, (48.0, 5.0, 66.0), (8.0, -14.0, 26.0), squareness=0.2),
        cortex_mm=1.6,
    )
    yield from paint_bone(spine_of_scapula, cortex_mm=2.0)
    yield from paint_bone(Ellipsoid(glenoid_centre, (10.0, 14.0, 18.0)), cortex_mm=1.8)


ILIAC_CREST_MM = 1060.0
ISCHIUM_MM = 830.0
PELVIS_MARROW = "mixed marrow"  # of the adult pelvis


def paint_pelvis(person: Person, with_small_parts: bool = False) -> Paints:
    """Iliac wings up to the crest (bent blades if `with_small_parts`), hip sockets, pubis, and
    ischia that end below at ISCHIUM_MM."""
    yield from _paint_hip_bone(person, with_small_parts)
    pubic_symphysis = Ellipsoid((0.0, 50.0, 892.0), (4.0, 13.0, 19.0))
    yield paint(pubic_symphysis, "cartilage", Layer.MARROW)


@on_both_sides
def _paint_hip_bone(person: Person, with_small_parts: bool) -> Paints:
    """The right hip bone: wing and body of the ilium, acetabulum, ischium and both rami of the
    pubis."""
    width_factor = factor_of_women(person, 1.06)
    if with_small_parts:
        yield from wings.paint_iliac_wing(person, muscular_trunk(person), PELVIS_MARROW)
    else:
        yield from _paint_iliac_wing(person, width_factor)
    acetabular_bone = Ellipsoid((84 * width_factor, -4, 937), (31.0, 33.0, 36.0))
    joint_space = Ellipsoid((88 * width_factor + 4, -2, 930), (30.0, 28.0, 28.0))
    ilium_points = (
        (66 * width_factor, -50, 1010),
        (74 * width_factor, -30, 980),
        (84 * width_factor, -12, 950),
    )
    ischium_points = (
        (84 * width_factor, -26, 920),
        (72 * width_factor, -44, 880),
        (60 * width_factor, -46, ISCHIUM_MM + 17),
    )
    inferior_ramus_points = (
        (58 * width_factor, -40, 848),
        (34 * width_factor, 18, 862),
        (13, 46, 884),
    )
    superior_ramus_points = (
        (80 * width_factor, 18, 934),
        (48 * width_factor, 44, 922),
        (13, 54, 900),
    )
    body_of_ilium = tube(ilium_points, [13, 13, 16])
    ischium = tube(ischium_points, [18, 15, 17])
    inferior_pubic_ramus = tube(inferior_ramus_points, [9, 7, 9], step_mm=25)
    superior_pubic_ramus = tube(superior_ramus_points, [13, 8, 11], step_mm=25)
    yield from paint_bone(acetabular_bone - joint_space, cortex_mm=2.0, marrow=PELVIS_MARROW)
    yield from paint_bone(body_of_ilium, cortex_mm=2.0, marrow=PELVIS_MARROW)
    yield from paint_bone(ischium, cortex_mm=2.0, marrow=PELVIS_MARROW)
    yield from paint_bone(inferior_pubic_ramus, cortex_mm=1.8, marrow=PELVIS_MARROW)
    yield from paint_bone(superior_pubic_ramus, cortex_mm=1.8, marrow=PELVIS_MARROW)


def _paint_iliac_wing(person: Person, width_factor: float) -> Paints:
    """The plain right iliac wing: a thin plate from the sacroiliac joint to the anterior superior
    iliac spine, its thick rim along the top, and the muscles on its two faces.

    The rim, the crest, is 12 to 19 mm thick, thickest behind the anterior spine, at the tubercle.
    """
    half_axes = (8.5, 74.0, 70.0)
    turn_deg = (-12.0, 20.0, 38.0)
    _, high_corner = Ellipsoid((0.0, 0.0, 0.0), half_axes, turn_deg).box
    crest_z = ILIAC_CREST_MM + person.borders.iliac_crest_rise_mm
    plate = Ellipsoid((98.0 * width_factor, -10.0, crest_z - high_corner[2]), half_axes, turn_deg)
    # in the plane of the plate, from the front over the top
    angles_rad = np.deg2rad(np.linspace(20.0, 160.0, 11))
    rim_radii = np.interp(angles_rad, np.deg2rad([20.0, 65.0, 110.0, 160.0]), [7.0, 9.5, 7.0, 6.0])
    _, front_axis, up_axis = plate.axes.T
    rim_points = (
        np.asarray(plate.centre)
        + np.cos(angles_rad)[:, None] * 70.0 * front_axis
        + np.sin(angles_rad)[:, None] * 66.0 * up_axis
    )
    rim_points[:, 2] += crest_z - (rim_points[:, 2] + rim_radii).max()
    is_before_joint = rim_points[:, 1] > -62.0
    crest = tube(rim_points[is_before_joint], rim_radii[is_before_joint])
    yield from _paint_iliac_muscles(person, plate)
    in_front_of_plate = HalfSpace((0.0, -1.0, 0.0), -66.0)
    yield from paint_bone(plate - in_front_of_plate, cortex_mm=2.0, marrow=PELVIS_MARROW)
    yield from paint_bone(crest, cortex_mm=1.8, marrow=PELVIS_MARROW)


def _paint_iliac_muscles(person: Person, plate: Ellipsoid) -> Paints:
    """Iliacus on the inner face of the plain right iliac wing, and the fat between the three gluteal
    muscles on its outer face."""
    lateral_axis = plate.axes[:, 0] * np.sign(plate.axes[0, 0])

    def parallel_layer(outward_mm: float, half_axes_mm: Point) -> Ellipsoid:
        """An ellipsoid turned as the plate is, at that distance outside its middle."""
        centre = np.add(plate.centre, outward_mm * lateral_axis)
        return Ellipsoid(tuple(centre.tolist()), half_axes_mm, plate.turn_deg)

    half_thickness_mm = 1.2 + 0.05 * person.fat_mm
    iliacus = parallel_layer(-11.0, (11.0 * person.muscle_factor, 62.0, 58.0))
    inner_fat_plane = parallel_layer(18.0, (half_thickness_mm, 62.0, 56.0))
    outer_fat_plane = parallel_layer(31.0, (half_thickness_mm, 56.0, 50.0))
    yield paint(iliacus, "muscle", Layer.CAVITY)
    yield from map(paint_fat_plane, (inner_fat_plane, outer_fat_plane))
