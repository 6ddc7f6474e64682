"""Inner structure of the shoulder: scapula with the four muscles of the rotator cuff, deltoid,
axilla, and the humerus in its socket.

In mm of the right shoulder as written, x before scaling to a woman's narrower shoulders.  The
scapula is rotated 40° forwards from the frontal plane.  Sizes: biacromial breadth 40 cm in men and
36 in women (Gordon et al. (1989), ANSUR); humeral head 24 mm in radius, socket 36 x 26 mm (Iannotti
et al. (1992), J Bone Joint Surg Am 74:491); scapula 155 mm high and 105 wide.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from fovnet.phantom.anatomy import limbs
from fovnet.phantom.anatomy.layers import (
    LYMPH_NODE,
    NERVE,
    Layer,
    Paints,
    growth_plate_tissue,
    paint,
    paint_all,
    paint_bone,
    paint_detail,
    paint_fat_and_skin,
    paint_fat_plane,
    place_paints,
    place_solid,
    shift_sideways,
)
from fovnet.phantom.anatomy.trunk import flatten_on_table, place_girdle_points
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Point, Solid, Tube, tube
from fovnet.phantom.geometry.tissue_structure import Walls
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

HEAD_CENTRE: Point = (172.0, -12.0, 1402.0)
"""Middle of the humeral head."""
HEAD_RADIUS_MM = 24.0
SCAPULA_CENTRE: Point = (110.0, -69.0, 1366.0)
SCAPULA_TURN_DEG = 40.0
FAT_SLEEVE_MM = 1.8  # of fat around a muscle, before additions for age and weight

FLAT_BELLIES: tuple[tuple[Point, Point], ...] = (
    ((2.0, 13.0, -2.0), (50.0, 10.5, 60.0)),  # subscapularis
    ((4.0, -12.5, -14.0), (49.0, 11.0, 47.0)),  # infraspinatus
)
"""The two flat muscles on the faces of the scapula, mm: how far their middle is along it (laterally),
in front of it and above its middle; half sizes along, across and up."""

ROUND_BELLIES: tuple[tuple[tuple[Point, ...], tuple[float, ...]], ...] = (
    # supraspinatus
    (((76, -88, 1424), (108, -62, 1428), (136, -40, 1430), (156, -24, 1431)), (6, 11, 10, 4)),
    # subscapularis, towards its tendon
    (((112, -40, 1404), (140, -10, 1402), (160, 12, 1400)), (13, 10, 4)),
    # infraspinatus, towards its tendon
    (((128, -62, 1396), (156, -42, 1406), (176, -36, 1408)), (13, 10, 4)),
    # teres minor
    (((104, -92, 1330), (140, -62, 1366), (172, -40, 1384)), (7, 9, 6)),
    # teres major with latissimus dorsi
    (((94, -92, 1302), (134, -56, 1326), (164, -12, 1342)), (10, 13, 6)),
    # pectoralis minor
    (((153, 22, 1412), (124, 52, 1376), (96, 74, 1340)), (4, 9, 8)),
    # coracobrachialis, short head of biceps brachii
    (((156, 20, 1408), (170, 14, 1370), (180, 6, 1310)), (4, 8, 9)),
)
"""Other muscles of the right shoulder: points and radii, mm."""

SHOULDER_TENDONS: tuple[tuple[tuple[Point, ...], float], ...] = (
    # supraspinatus, over the head
    (((150, -26, 1431), (166, -16, 1431.5), (182, -12, 1426), (192, -12, 1414)), 3.0),
    # subscapularis, before it
    (((148, 4, 1402), (164, 14, 1402), (178, 13, 1400)), 3.0),
    # infraspinatus, behind it
    (((160, -40, 1408), (176, -36, 1410), (190, -26, 1410)), 3.0),
    # long head of biceps brachii, over it and in its groove
    (((156, -20, 1428), (176, 0, 1427), (189, 9, 1410), (190, 10, 1370)), 2.2),
)
"""Tendons of the rotator cuff and of biceps on the right: points and radius, mm."""


def paint_shoulders(person: Person) -> Paints:
    """Both shoulders, over a trunk and arms that were painted before with the joint at
    HEAD_CENTRE."""
    for side in (1, -1):
        yield from place_paints(_paint_shoulder_surface(person), side)
        yield from place_paints(_paint_axilla(person, side), side)
        yield from _paint_rotator_cuff(person, side)
        yield from _paint_upper_arm_fat(person, side)
        yield from place_paints(paint_scapula_and_clavicle(person), side)
        yield from place_paints(_paint_shoulder_joint(person, side), side)


def _shoulder_ellipsoid(
    person: Person,
    centre: Point,
    semi_axes: Point,
    turn_deg: Point = (0.0, 0.0, 0.0),
    squareness: float = 0.0,
) -> Ellipsoid:
    """An ellipsoid whose centre is a written point of the right shoulder, moved as the person's
    is."""
    width_factor = limbs.shoulder_width_factor(person)
    (placed_centre,) = place_girdle_points(person, (centre,), width_factor)
    return Ellipsoid(placed_centre, semi_axes, turn_deg, squareness)


def _shoulder_tube(
    person: Person, points: tuple[Point, ...], radii: ArrayLike, step_mm: float | None = None
) -> Tube:
    """A tube through written points of the right shoulder, moved as the person's are."""
    placed_points = place_girdle_points(person, points, limbs.shoulder_width_factor(person))
    return tube(placed_points, radii, step_mm=step_mm)


def _scapular_ellipsoid(
    person: Person, position: Point, semi_axes: Point, lean_deg: float = 0.0
) -> Ellipsoid:
    """An ellipsoid rotated as the right scapula is; its position (3,) mm counts from the scapula's
    middle: laterally along it, in front of it and above it."""
    along_mm, ahead_mm, up_mm = position
    turn_rad = np.deg2rad(SCAPULA_TURN_DEG)
    offset_x = along_mm * np.cos(turn_rad) - ahead_mm * np.sin(turn_rad)
    offset_y = along_mm * np.sin(turn_rad) + ahead_mm * np.cos(turn_rad)
    scapula_x, scapula_y, scapula_z = SCAPULA_CENTRE
    centre = (scapula_x + float(offset_x), scapula_y + float(offset_y), scapula_z + up_mm)
    return _shoulder_ellipsoid(person, centre, semi_axes, (0.0, lean_deg, SCAPULA_TURN_DEG))


def shoulder_solid(person: Person) -> Solid:
    """The part of the right shoulder outside the muscular trunk: deltoid, scapula with its muscles,
    anterior axillary fold, slope of trapezius."""
    muscularity = 0.5 + 0.5 * person.muscle_factor
    deltoid = _shoulder_ellipsoid(
        person, (150, -14, 1398), (64, 48 * muscularity, 49.0), squareness=0.1
    )
    scapular_region = _scapular_ellipsoid(
        person, (8.0, -2.0, -10.0), (64.0, 31.0 * muscularity, 78.0), -18.0
    )
    anterior_axillary_fold = _shoulder_ellipsoid(
        person, (140, 14, 1368), (62, 37 * muscularity, 62), (0, 0, -24)
    )
    trapezius_slope = _shoulder_ellipsoid(person, (92, -42, 1412), (78, 34, 36), (0, 14, 14))
    return deltoid | scapular_region | anterior_axillary_fold | trapezius_slope


def _paint_shoulder_surface(person: Person) -> Paints:
    """Skin, fat and muscle of the right shoulder, flattened by the table."""
    muscle = shoulder_solid(person)
    fat_mm = 0.45 * person.fat_mm * person.figure.arm_factor
    skin_and_fat_mm = 3.5 + 0.2 * person.fat_mm  # between the muscle and the table
    yield from paint_fat_and_skin(muscle, fat_mm, partial(flatten_on_table, person))
    yield paint(flatten_on_table(person, muscle, skin_and_fat_mm), "muscle", Layer.MUSCLE)


def _paint_axilla(person: Person, side: int) -> Paints:
    """The right axilla: fat between the pectoral muscles, scapula and ribs, with lymph nodes,
    vessels and nerves; fat and nodes are drawn for the side that is given."""
    rng = person.side_generator(Stream.LEFT_AXILLA, side)
    width_mm = 6.0 + 0.3 * min(person.fat_mm, 30.0) + rng.uniform(0, 5)
    axillary_fat = _shoulder_ellipsoid(
        person, (146, -2, 1366), (width_mm + 8, 22 + 0.3 * width_mm, 46), (0, -14, 24)
    )
    apex_fat = _shoulder_ellipsoid(
        person, (122, 14, 1404), (24, 7 + 0.35 * width_mm, 17), (0, 0, -24)
    )
    yield from paint_all(
        (axillary_fat, apex_fat),
        "fat",
        Layer.SEAM,
        replaced_tissues=("muscle", "intermuscular fat"),
    )
    node_count = rng.integers(1, 5)
    for _ in range(node_count):
        offset_x, offset_y, offset_z = (rng.uniform(-1, 1, 3) * (0.6 * width_mm, 14, 26)).tolist()
        node_centre = (144 + offset_x, -2 + offset_y, 1362 + offset_z)
        node = _shoulder_ellipsoid(person, node_centre, (3.0, 3.5, rng.uniform(4, 7)))
        yield paint(node, LYMPH_NODE, Layer.VESSEL, replaced_tissues="fat")
    yield from _paint_axillary_vessels(person)


def _paint_axillary_vessels(person: Person) -> Paints:
    """The right axillary artery and the brachial plexus beside it, in fat, from behind the clavicle
    to the arm."""
    artery_points = (
        (30, -2, 1436),
        (78, 10, 1432),
        (122, 12, 1412),
        (150, 2, 1380),
        (164, -8, 1340),
    )
    muscle_tissues = ("muscle", "intermuscular fat")
    fat_sleeve = _shoulder_tube(person, artery_points, (6.0, 8.0, 11.0, 11.0, 9.0))
    artery = _shoulder_tube(person, artery_points, (4.2, 4.2, 3.8, 3.6, 3.0))
    yield paint(fat_sleeve, "fat", Layer.SEAM, replaced_tissues=muscle_tissues)
    yield paint(artery, "arterial blood", Layer.VESSEL)
    for offset_y, offset_z in ((-7.0, 3.0), (-2.0, 7.0), (6.0, 3.0)):
        cord_points = tuple((x + 1.0, y + offset_y, z + offset_z) for x, y, z in artery_points)
        plexus_cord = _shoulder_tube(person, cord_points, 1.8)
        yield paint(plexus_cord, NERVE, Layer.VESSEL, replaced_tissues=("fat", *muscle_tissues))


def _paint_rotator_cuff(person: Person, side: int) -> Paints:
    """The rotator cuff of one side (1 right, -1 left) and the muscles beside it, each in a sleeve of
    fat, which is thicker where muscles are atrophied; the tendons."""
    sleeve_mm = FAT_SLEEVE_MM + 6 * person.marbled_share + 3.0 * max(0.0, 1 - person.muscle_factor)
    muscularity = 1 + 0.8 * (person.muscle_factor - 1)
    rng = person.generator(Stream.ROTATOR_CUFF)
    muscle_tissues = ("muscle", "intermuscular fat", "fat")
    right_muscles: list[Ellipsoid | Tube] = []
    for position, (half_length_mm, half_thickness_mm, half_height_mm) in FLAT_BELLIES:
        semi_axes = (half_length_mm, half_thickness_mm * muscularity, half_height_mm)
        right_muscles.append(_scapular_ellipsoid(person, position, semi_axes))
    for points, radii_mm in ROUND_BELLIES:
        thick_radii_mm = [radius_mm * muscularity for radius_mm in radii_mm]
        right_muscles.append(_shoulder_tube(person, points, thick_radii_mm))
    muscles = [place_solid(muscle, side) for muscle in right_muscles]
    fat_crescents = (shift_sideways(muscle, sleeve_mm, rng) for muscle in muscles)
    yield from map(paint_fat_plane, fat_crescents)
    yield from paint_all(muscles, "muscle", Layer.SEAM, replaced_tissues=muscle_tissues)
    right_tendons = (
        _shoulder_tube(person, points, radius_mm) for points, radius_mm in SHOULDER_TENDONS
    )
    tendons = paint_all(
        right_tendons, "tendon", Layer.MARROW, replaced_tissues=(*muscle_tissues, "cartilage")
    )
    yield from place_paints(tendons, side)


def _paint_upper_arm_fat(person: Person, side: int) -> Paints:
    """The fat plane under the deltoid of one side (1 right, -1 left), and the fat between the muscles
    of the upper arm."""
    arm_joints = limbs.draw_arm_joints(person, side, with_small_parts=True)
    shoulder = np.array(arm_joints.shoulder)
    arm_vector = np.array(arm_joints.elbow) - shoulder
    right_head = _shoulder_ellipsoid(person, HEAD_CENTRE, (HEAD_RADIUS_MM,) * 3)
    head_centre = np.array(right_head.centre) * (side, 1, 1)
    space_about_humerus = tube(
        [head_centre + arm_share * arm_vector for arm_share in (0, 0.14, 0.3, 0.46)],
        [HEAD_RADIUS_MM + 10.0, 31.0, 25.0, 12.0],
    )
    thickness_mm = 0.9 + 4 * person.marbled_share + 0.02 * person.fat_mm
    lateral_half = HalfSpace((-float(side), 0.0, 0.0), -(abs(float(head_centre[0])) - 4.0))
    subdeltoid_fat = (
        space_about_humerus.shrink(-thickness_mm) - space_about_humerus
    ) & lateral_half
    muscle_lines = []
    # biceps brachii, brachialis, the three heads of triceps brachii
    for x, y in ((0, 22), (9, 9), (17, -12), (-9, -14), (2, -27)):
        line_ends = [
            tuple((shoulder + arm_share * arm_vector + (side * x, y, 0.0)).tolist())
            for arm_share in (0.3, 0.95)
        ]
        ascending_ends = sorted(line_ends, key=lambda point: point[2])
        muscle_lines.append(tuple(ascending_ends))
    muscle_septa = Walls(tuple(muscle_lines), thickness_mm=0.8 * thickness_mm, reach_mm=30.0)
    yield from map(paint_fat_plane, (subdeltoid_fat, muscle_septa))


def paint_scapula_and_clavicle(person: Person) -> Paints:
    """The right scapula: a thin plate with thick borders, its spine rising to the acromion, and the
    coracoid process; the right clavicle that meets them."""
    shoulder_tube = partial(_shoulder_tube, person)
    spine_points = ((76, -100, 1412), (112, -80, 1424), (146, -60, 1436), (170, -44, 1440))
    spine_base_points = ((82, -93, 1411), (114, -68, 1416), (140, -46, 1418))
    spine_planes = (
        shoulder_tube(_points_between(spine_points, spine_base_points, share), 2.4)
        for share in (0.35, 0.7)
    )
    lateral_border = shoulder_tube(
        ((147, -39, 1392), (128, -56, 1352), (100, -82, 1304)), (7, 5.5, 4)
    )
    spine_of_scapula = shoulder_tube(spine_points, (3.5, 4.0, 4.5, 6.5))
    acromion = _shoulder_ellipsoid(
        person, (177, -26, 1439), (14, 23, 5.2), (0, -8, -14), squareness=0.3
    )
    coracoid_process = shoulder_tube(
        ((146, -22, 1420), (146, 2, 1426), (155, 20, 1414)), (8, 6.5, 5)
    )
    clavicle = shoulder_tube(
        ((16, 62, 1418), (64, 58, 1428), (118, 26, 1436), (163, -9, 1440)), (9, 6, 5.5, 6.5), 25
    )
    for solid, cortex_mm in (
        (_scapular_blade(person), 1.5),
        (lateral_border, 1.7),
        (spine_of_scapula, 1.6),
        *((plane, 1.2) for plane in spine_planes),
        (acromion, 1.5),
        (coracoid_process, 1.6),
        (clavicle, 1.7),
    ):
        yield from paint_bone(solid, cortex_mm=cortex_mm)


def _scapular_blade(person: Person) -> Solid:
    """The plate of the right scapula, which ends at the lateral border."""
    plate = _scapular_ellipsoid(person, (-4.0, 0.0, 0.0), (50.0, 3.0, 70.0))
    normal_x = 0.88
    normal_z = -0.476
    border_x, _, border_z = _shoulder_ellipsoid(person, (146, 0, 1380), (1, 1, 1)).centre
    offset_mm = float(np.dot((normal_x, normal_z), (border_x, border_z)))
    return plate & HalfSpace((normal_x, 0.0, normal_z), offset_mm)


def _points_between(
    first_points: tuple[Point, ...], second_points: tuple[Point, ...], share: float
) -> tuple[Point, ...]:
    """The points (3,) a share of the way from each of the first points to that of the second ones;
    the shorter tuple decides how many."""
    return tuple(
        tuple(
            start_coordinate + share * (end_coordinate - start_coordinate)
            for start_coordinate, end_coordinate in zip(first_point, second_point, strict=True)
        )
        for first_point, second_point in zip(first_points, second_points, strict=False)
    )


def _paint_shoulder_joint(person: Person, side: int) -> Paints:
    """The right shoulder joint: glenoid cavity with its labrum, humeral head with two tubercles and
    the scar of the growth plate, joint fluid; fluid and marrow are drawn for the side that is
    given."""
    rng = person.side_generator(Stream.LEFT_SHOULDER_JOINT, side)
    ellipsoid = partial(_shoulder_ellipsoid, person)
    fluid_mm = rng.uniform(0.3, 1.2) + 0.015 * max(person.age - 50, 0)
    has_red_marrow = rng.random() < 0.9 - 0.008 * person.age
    humeral_head = ellipsoid(HEAD_CENTRE, (HEAD_RADIUS_MM,) * 3)
    joint_space = ellipsoid(HEAD_CENTRE, (HEAD_RADIUS_MM + 4.2,) * 3)
    turn_deg = (0.0, 0.0, SCAPULA_TURN_DEG - 5.0)
    glenoid = ellipsoid((149, -28, 1402), (11.5, 14, 19), turn_deg, squareness=0.3) - joint_space
    scapular_neck = (
        _shoulder_tube(person, ((128, -50, 1398), (143, -34, 1401)), (8.0, 11.5)) - joint_space
    )
    labrum = ellipsoid((153, -26, 1402), (5.0, 17, 22), turn_deg) - joint_space.shrink(2.0)
    away_direction = (0.74, 0.5, -0.45)  # away from the glenoid, where the head has no cartilage
    articular_side = HalfSpace(
        away_direction, float(np.dot(away_direction, humeral_head.centre)) + 4.0
    )
    fluid_film = joint_space.shrink(2.0 - 0.5 * fluid_mm) & articular_side
    axillary_recess = ellipsoid((166, -10, 1376), (12, 14, 3 + 3 * fluid_mm))
    yield paint(fluid_film, "joint fluid", Layer.CONTENT)
    yield paint(axillary_recess, "joint fluid", Layer.CONTENT)
    yield paint(labrum, "tendon", Layer.BONE)
    yield from paint_bone(glenoid, cortex_mm=1.6)
    yield from paint_bone(scapular_neck, cortex_mm=1.6)
    yield paint(humeral_head.shrink(-2.0) & articular_side, "cartilage", Layer.BONE)
    greater_tubercle = ellipsoid(_humeral_point(person, (14, -3, -3)), (11.5, 16, 18))
    lesser_tubercle = ellipsoid(_humeral_point(person, (7, 21, -6)), (8, 7, 13))
    metaphysis = ellipsoid(_humeral_point(person, (5, 1, -18)), (18, 17, 22))
    for solid in (humeral_head, greater_tubercle, lesser_tubercle, metaphysis):
        yield from paint_bone(solid, cortex_mm=1.6, marrow="yellow marrow")
    if has_red_marrow:
        yield paint(
            metaphysis.shrink(4.0),
            "mixed marrow",
            Layer.MARROW,
            replaced_tissues="yellow marrow",
        )
    upper_ellipsoid, lower_ellipsoid = (
        ellipsoid(_humeral_point(person, offset), (19, 18, 6), (0, 30, 0))
        for offset in ((4, 0, -11), (4.6, 0, -12.2))
    )
    yield paint_detail(
        upper_ellipsoid - lower_ellipsoid,
        growth_plate_tissue(person),
        replaced_tissues=("yellow marrow", "mixed marrow"),
    )


def _humeral_point(person: Person, from_head: Point) -> Point:
    """The written position (3,) mm of a point of the right proximal humerus, given by its offset from
    the middle of the head for a hanging arm: a raised arm rotates it."""
    offset_x, offset_y, offset_z = from_head
    if person.arm_posture == "raised":
        offset_x = -0.3 * offset_x
        offset_z = -offset_z
    head_x, head_y, head_z = HEAD_CENTRE
    return head_x + offset_x, head_y + offset_y, head_z + offset_z
