"""Arms and hands, legs and feet.  Lengths in mm of the written anatomy; z = 0 at the soles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fovnet.phantom.anatomy.layers import (
    NERVE,
    SKIN_MM,
    Layer,
    Paints,
    factor_of_women,
    paint,
    paint_bone,
    paint_detail,
    paint_fat_plane,
    paint_limb,
    paint_skin_fat_muscle,
    place_paints,
)
from fovnet.phantom.anatomy.leg_muscles import paint_leg_fat_planes
from fovnet.phantom.geometry.bundles import Outline
from fovnet.phantom.geometry.solids import (
    Ellipsoid,
    HalfSpace,
    Point,
    Solid,
    Tube,
    mirror_point,
    tube,
)
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.tissues import TISSUES

LEG_OUTLINE = (
    (52.0, 92.0, -6.0, 30.0, 34.0, 34.0, 0.10),
    (80.0, 92.0, -8.0, 28.0, 31.0, 33.0, 0.12),
    (110.0, 92.0, -10.0, 27.0, 29.0, 31.0, 0.15),
    (170.0, 93.0, -14.0, 32.0, 33.0, 35.0, 0.25),
    (240.0, 95.0, -18.0, 42.0, 40.0, 46.0, 0.35),
    (320.0, 97.0, -20.0, 52.0, 46.0, 60.0, 0.40),
    (375.0, 98.0, -16.0, 53.0, 48.0, 60.0, 0.40),
    (425.0, 98.0, -8.0, 50.0, 47.0, 50.0, 0.40),
    (470.0, 98.0, -2.0, 50.0, 48.0, 48.0, 0.35),
    (515.0, 98.0, 2.0, 50.0, 52.0, 50.0, 0.40),
    (570.0, 98.0, 2.0, 56.0, 56.0, 57.0, 0.70),
    (650.0, 97.0, 2.0, 67.0, 64.0, 67.0, 0.90),
    (740.0, 95.0, 1.0, 76.0, 72.0, 76.0, 1.10),
    (805.0, 94.0, 0.0, 82.0, 77.0, 82.0, 1.20),
    (850.0, 95.0, 0.0, 82.0, 78.0, 84.0, 1.20),
    (890.0, 98.0, 0.0, 66.0, 70.0, 72.0, 1.00),
    (925.0, 100.0, 0.0, 30.0, 40.0, 40.0, 0.50),
)
"""The muscle of the right leg: z, centre x (before abduction) and y, half width, reach to the front
and to the back, mm; then the fat there as a share of that at the waist."""

LATERAL_MEDIAL_FRONT_BACK_FAT = (0.9, 1.25, 0.75, 1.15)
"""How the fat of a leg is distributed: factors in these four directions."""


TALAR_DOME_MM = 77.0
TUBEROSITY_MM = 415.0
PATELLA_MM = 533.0
"""Heights as written of the top of the talus, the lower end of the tibial tuberosity (6 cm below the
joint), and the top of the patella."""


def paint_legs(person: Person) -> Paints:
    """Both legs with their bones, muscles, knees and feet."""
    for side, hip_name in ((1, "right hip"), (-1, "left hip")):
        yield from place_paints(_paint_leg_surface(person), side)
        yield from paint_leg_fat_planes(person, leg_outline(person), side)
        yield from place_paints(_paint_leg_vessels(person), side)
        if hip_name in person.missing_parts:
            yield from place_paints(_paint_metal_hip(person), side)
        for paint_part in (_paint_femur, _paint_knee, _paint_lower_leg_bones, _paint_foot):
            yield from place_paints(paint_part(person), side)


def _paint_leg_surface(person: Person) -> Paints:
    """Skin, fat and muscle of the right leg, with more fat medially and behind; where the legs
    touch, there is skin between them."""
    muscle_outline = leg_outline(person)
    hip_factor = factor_of_women(person, 1.25)
    random_factors = np.exp(person.generator(Stream.LEG_FAT).normal(0, 0.15, 4))
    fat_rows = []
    for (*_, fat_share), (z, centre_x, centre_y, *reaches_mm) in zip(
        LEG_OUTLINE, muscle_outline.table, strict=True
    ):
        fat_mm = (
            person.fat_mm
            * fat_share
            * hip_factor
            * random_factors
            * LATERAL_MEDIAL_FRONT_BACK_FAT
            * person.figure.leg_factors(z)
        )
        fat_reaches_mm = (reaches_mm + np.maximum(fat_mm, 2.0)).tolist()
        fat_rows.append((z, centre_x, centre_y, *fat_reaches_mm))
    fat_outline = replace(muscle_outline, table=tuple(fat_rows))
    lateral_of_fat_edge = HalfSpace((-1.0, 0.0, 0.0), -1.6)
    lateral_of_muscle_edge = HalfSpace((-1.0, 0.0, 0.0), -4.0)
    skin_and_fat_mm = 3.5 + 0.3 * person.fat_mm  # between the muscle and the table
    skin = flatten_leg(person, fat_outline.shrink(-SKIN_MM))
    fat = flatten_leg(person, fat_outline & lateral_of_fat_edge, SKIN_MM)
    muscle = flatten_leg(person, muscle_outline & lateral_of_muscle_edge, skin_and_fat_mm)
    yield paint(skin, "skin", Layer.SKIN)
    yield paint(fat, "fat", Layer.FAT)
    yield paint(muscle, "muscle", Layer.MUSCLE)


def flatten_leg(person: Person, solid: Solid, above_mm: float = 0.0) -> Solid:
    """The part of a leg at least `above_mm` above its support: table or cushion flatten 4 to 22 mm
    of thigh and calf; all of it in a person who is not flattened."""
    if person.table_mm == float("inf"):
        return solid
    support_behind_mm = (
        86.0 + 0.7 * person.fat_mm - person.generator(Stream.LEG_SUPPORT).uniform(4.0, 22.0)
    )
    return solid & HalfSpace((0.0, -1.0, 0.0), support_behind_mm - above_mm)


def leg_outline(person: Person) -> Outline:
    """The muscle of the right leg, an asymmetric outline that differs between people."""
    muscularity = 1 + 0.6 * (person.muscle_factor - 1)
    rng = person.generator(Stream.LEG_OUTLINE)
    lateral_factor, front_factor = rng.normal((1.05, 1.03), (0.03, 0.04)).tolist()
    corner_size = rng.uniform(0.02, 0.11)
    corner_angle_rad = rng.normal(0.9, 0.5)
    rows = []
    for z, centre_x, centre_y, half_width_mm, front_mm, back_mm, _ in LEG_OUTLINE:
        row = (
            z,
            centre_x + person.leg_offset_mm(z),
            centre_y,
            muscularity * half_width_mm * lateral_factor,
            muscularity * half_width_mm * (2 - lateral_factor),
            muscularity * front_mm * front_factor,
            muscularity * back_mm * (2 - front_factor),
        )
        rows.append(row)
    # A corner at the angle t lies at the minimum of the cubic term: cos 3 (θ - t) = -1.
    cubic_terms = (
        -corner_size * float(np.cos(3 * corner_angle_rad)),
        -corner_size * float(np.sin(3 * corner_angle_rad)),
    )
    return Outline(tuple(rows), cubic_terms)


def _paint_leg_vessels(person: Person) -> Paints:
    """The right femoral vessels, continuing as popliteal and posterior tibial ones, and the sciatic
    nerve; all in fat."""
    artery_points = place_leg_points(
        person,
        (
            (84, 50, 840),
            (80, 34, 760),
            (80, 10, 660),
            (90, -28, 560),
            (98, -38, 480),
            (98, -22, 380),
            (94, -18, 250),
            (84, -24, 100),
        ),
    )
    vein_points = [(x + 9, y - 4, z) for x, y, z in artery_points]
    between_vessels = [(x + 4, y - 2, z) for x, y, z in artery_points]
    nerve_points = place_leg_points(
        person, ((114, -48, 850), (112, -34, 760), (108, -32, 690), (106, -42, 600))
    )
    beside_nerve = [(x - 2, y - 1, z) for x, y, z in nerve_points]
    vessel_fat = tube(between_vessels, [11.0, 9.0, 9.0, 11.0, 12.0, 6.0, 4.0, 3.5])
    nerve_fat = tube(beside_nerve, [8.0, 5.5, 5.5, 9.0])
    artery = tube(artery_points, (4.5, 4.2, 4.0, 3.8, 3.5, 2.6, 2.0, 1.8))
    vein = tube(vein_points, (5.0, 4.8, 4.6, 4.2, 4.0, 3.0, 2.5, 2.2))
    sciatic_nerve = tube(nerve_points, [4.0, 3.5, 3.5, 3.2])
    muscle_tissues = ("muscle", "intermuscular fat")
    yield from map(paint_fat_plane, (vessel_fat, nerve_fat))
    yield paint(sciatic_nerve, NERVE, Layer.VESSEL, replaced_tissues=muscle_tissues)
    yield paint(artery, "arterial blood", Layer.VESSEL)
    yield paint(vein, "venous blood", Layer.VESSEL)


def place_leg_points(person: Person, points: tuple[Point, ...]) -> list[Point]:
    """Points (3,) mm of the right leg as written, moved laterally as the person's leg is."""
    return [(x + person.leg_offset_mm(z), y, z) for x, y, z in points]


def leg_ellipsoid(
    person: Person,
    centre: Point,
    semi_axes: Point,
    turn_deg: Point = (0.0, 0.0, 0.0),
    squareness: float = 0.0,
) -> Ellipsoid:
    """An ellipsoid whose centre is a written point of the right leg, moved as the person's leg is."""
    (placed_centre,) = place_leg_points(person, (centre,))
    return Ellipsoid(placed_centre, semi_axes, turn_deg, squareness)


def leg_tube(person: Person, points: tuple[Point, ...], radii: ArrayLike) -> Tube:
    """A tube through written points of the right leg, moved as the person's leg is."""
    return tube(place_leg_points(person, points), radii)


def _paint_femur(person: Person) -> Paints:
    """The right femur: head with its cartilage, neck at about 125° to the shaft, trochanters, shaft,
    lower metaphysis."""
    head_centre = _hip_joint_centre(person)
    shaft_points = (
        (131, -12, 895),
        (124, -4, 850),
        (117, 11, 740),
        (107, 8, 620),
        (100, -2, 555),
        (98, -6, 515),
    )
    leg_tube_of_person = partial(leg_tube, person)
    cartilage = Ellipsoid(head_centre, (27.0, 27.0, 27.0))
    head = Ellipsoid(head_centre, (24.0, 24.0, 24.0))
    neck = leg_tube_of_person((head_centre, (114, -8, 912), (132, -12, 892)), [17, 15, 19])
    greater_trochanter = leg_tube_of_person(((138, -18, 915), (138, -18, 890)), [12, 15])
    lesser_trochanter = leg_tube_of_person(((112, -24, 868), (120, -10, 860)), 9.0)
    shaft = leg_tube_of_person(shaft_points, [19, 15.5, 13.5, 14, 19, 31])
    lower_metaphysis = leg_ellipsoid(person, (98, -4, 520), (30, 24, 42))
    yield paint(cartilage, "cartilage", Layer.BONE)
    for solid, cortex_mm in (
        (head, 1.8),
        (neck, 2.5),
        (greater_trochanter, 2.0),
        (lesser_trochanter, 2.0),
        (shaft, 5.5),
        (lower_metaphysis, 1.6),  # a thin cortex around much marrow
    ):
        yield from paint_bone(solid, cortex_mm=cortex_mm, marrow="yellow marrow")


def _paint_metal_hip(person: Person) -> Paints:
    """The signal void of a prosthesis of the right hip: its head and stem, and 12 mm around them
    (spin echoes show less of it, gradient echoes more)."""
    prosthesis_points = (_hip_joint_centre(person), (112, -8, 912), (128, -8, 880), (120, 0, 770))
    prosthesis = leg_tube(person, prosthesis_points, [25.0, 11.0, 9.0, 6.0])
    replaced_tissues = tuple(
        tissue.name for tissue in TISSUES if tissue.name not in ("air", "skin", "fat")
    )
    yield paint_detail(prosthesis.shrink(-12.0), "metal", replaced_tissues=replaced_tissues)


def _hip_joint_centre(person: Person) -> Point:
    """The middle (3,) of the right femoral head, in the written anatomy."""
    return 88.0 * factor_of_women(person, 1.06), -2.0, 932.0


def _paint_knee(person: Person) -> Paints:
    """The right knee: fat pad, condyles, menisci, tibial plateau, patella, its tendons and a
    cruciate ligament."""
    ellipsoid = partial(leg_ellipsoid, person)
    infrapatellar_fat_pad = ellipsoid((98, 28, 474), (22.0, 13.0, 20.0))
    yield paint(infrapatellar_fat_pad, "fat", Layer.SEAM)
    for offset_x in (-21, 21):
        condyle = ellipsoid((98 + offset_x, -8, 499), (20.0, 31.0, 22.0))
        meniscus = ellipsoid((98 + 1.2 * offset_x, -6, 474), (17.0, 24.0, 4.0))
        yield paint(condyle.shrink(-2.8), "cartilage", Layer.BONE)
        yield from paint_bone(condyle, cortex_mm=1.5, marrow="yellow marrow")
        yield paint(meniscus, "tendon", Layer.BONE)
    plateau = ellipsoid((98, -8, 452), (39.0, 27.0, 18.0), squareness=0.5)
    patella = ellipsoid((98, 40, 512), (22.0, 10.0, 22.0), squareness=0.3)
    patellar_ligament = leg_tube(person, ((98, 44, 494), (98, 36, 440)), 5.0)
    quadriceps_tendon = leg_tube(person, ((98, 40, 530), (98, 36, 590)), [6.0, 4.0])
    cruciate_ligament = leg_tube(person, ((92, -22, 502), (102, 4, 470)), 4.5)
    yield paint(plateau.shrink(-2.2), "cartilage", Layer.BONE)
    yield from paint_bone(plateau, cortex_mm=1.6, marrow="yellow marrow")
    yield from paint_bone(patella, cortex_mm=1.6, marrow="yellow marrow")
    yield paint(patellar_ligament, "tendon", Layer.BONE)
    yield paint(quadriceps_tendon, "tendon", Layer.BONE)
    yield paint_detail(cruciate_ligament, "tendon")


def _paint_lower_leg_bones(person: Person) -> Paints:
    """The right tibia and fibula."""
    # the tibia is sharp in front, and flat at the medial side, which only skin and fat cover
    tibia_rows = []
    for z, x, y, radius_mm in (
        (82, 90, -6, 20),
        (110, 88, -2, 14.5),
        (200, 88, 9, 11.5),
        (320, 92, 15, 13.5),
        (400, 96, 7, 19),
        (440, 98, -4, 30),
    ):
        half_width_mm = 0.95 * radius_mm
        front_mm = 1.1 * radius_mm
        back_mm = 0.95 * radius_mm
        tibia_x = x + person.leg_offset_mm(z)
        tibia_rows.append((z, tibia_x, y, half_width_mm, half_width_mm, front_mm, back_mm))
    tibia = Outline(tuple(tibia_rows), (0.0, 0.2))
    tibial_metaphysis = leg_ellipsoid(person, (98, -5, 436), (33, 23, 26))
    fibula_points = (
        (132, -24, 438),
        (128, -20, 400),
        (122, -14, 250),
        (116, -14, 120),
        (116, -14, 66),
    )
    fibula = leg_tube(person, fibula_points, [11, 6.5, 6, 7, 11])
    yield from paint_bone(tibia, cortex_mm=4.2, marrow="yellow marrow")
    yield from paint_bone(tibial_metaphysis, cortex_mm=1.6, marrow="yellow marrow")
    yield from paint_bone(fibula, cortex_mm=2.4, marrow="yellow marrow")


def _paint_foot(person: Person) -> Paints:
    """The right foot: calcaneus, talus, tarsal bones, metatarsals and toes, calcaneal tendon; in a
    supine person the forefoot points forwards and down."""
    foot_points = (
        (92, -42, 28),
        (92, -20, 44),
        (96, 30, 42),
        (104, 85, 28),
        (108, 130, 19),
        (108, 148, 15),
    )
    skin = leg_tube(person, foot_points, [28, 32, 30, 25, 17, 13])
    calcaneus = leg_tube(person, ((92, -46, 30), (94, 0, 38)), [18, 15])
    talus = leg_ellipsoid(person, (92, -2, 62), (20.0, 26.0, 15.0))
    tarsal_bones = leg_ellipsoid(person, (98, 38, 46), (26.0, 20.0, 13.0), squareness=0.4)
    calcaneal_tendon = leg_tube(
        person, ((92, -38, 180), (92, -46, 100), (92, -52, 50)), [3.0, 4.5, 5.0]
    )
    yield from paint_skin_fat_muscle(skin, fat_depth_mm=2.0, muscle_depth_mm=6.0)
    yield from paint_bone(calcaneus, cortex_mm=1.8, marrow="yellow marrow")
    yield from paint_bone(talus, cortex_mm=1.6, marrow="yellow marrow")
    yield from paint_bone(tarsal_bones, cortex_mm=1.6, marrow="yellow marrow")
    for ray_index in range(5):
        ray_x = 86 + 10.5 * ray_index
        ray_points = (
            (ray_x, 56, 40 - 3 * ray_index),
            (ray_x + 2, 100, 26 - 2 * ray_index),
            (ray_x + 2, 116, 20),
        )
        metatarsal_and_toe = leg_tube(person, ray_points, [5.5, 4.5, 5.5])
        yield from paint_bone(metatarsal_and_toe, cortex_mm=1.4, marrow="yellow marrow")
    yield paint(calcaneal_tendon, "tendon", Layer.BONE)


class ArmJoints(NamedTuple):
    """Points (3,) of one arm, mm of the written anatomy."""

    shoulder: Point
    elbow: Point
    wrist: Point
    palm: Point
    finger_tips: Point


def paint_arms(person: Person, with_small_parts: bool = False) -> Paints:
    """Both arms in the person's posture, with humerus, bones of forearm and hand; with
    `with_small_parts` at broader shoulders, which `shoulder` paints."""
    muscle_factor = person.muscle_factor
    fat_mm = 0.45 * person.fat_mm * person.figure.arm_factor
    for side in (1, -1):
        joints = draw_arm_joints(person, side, with_small_parts)
        shoulder, elbow, wrist, palm, finger_tips = joints
        upper_arm_points = [
            shoulder,
            _point_between(shoulder, elbow, 0.35),
            _point_between(shoulder, elbow, 0.8),
            elbow,
        ]
        upper_arm_radii = [
            46 * muscle_factor,
            42 * muscle_factor,
            36 * muscle_factor,
            36 * muscle_factor,
        ]
        forearm_points = [elbow, _point_between(elbow, wrist, 0.3), wrist]
        forearm_radii = [36 * muscle_factor, 37 * muscle_factor, 23.0]
        upper_arm = tube(upper_arm_points, upper_arm_radii, step_mm=60)
        forearm = tube(forearm_points, forearm_radii, step_mm=60)
        fingers = tube([wrist, palm, finger_tips], [22.0, 21.0, 9.0])
        palm_ends = [_point_towards(palm, wrist, 12), _point_towards(palm, finger_tips, 30)]
        hand = fingers | tube(palm_ends, [21.0, 16.0])
        yield from paint_limb(upper_arm, fat_mm)
        yield from paint_limb(forearm, 0.6 * fat_mm)
        yield from paint_skin_fat_muscle(hand, fat_depth_mm=2.0, muscle_depth_mm=4.5)
        yield from _paint_arm_bones(side, joints)


def shoulder_width_factor(person: Person) -> float:
    """Shoulder width relative to a man's."""
    return factor_of_women(person, 0.95)


def draw_arm_joints(person: Person, side: int, with_small_parts: bool) -> ArmJoints:
    """The joints of the arm of one side (1 right, -1 left) in the person's posture: the same at
    every call."""
    stream = Stream.RIGHT_ARM if side > 0 else Stream.LEFT_ARM
    rng = person.generator(stream)
    lateral_mm = (
        max(person.fat_mm * 1.1 - 8, 0.0) + max(0.35 * person.belly_mm, 0.0) + rng.uniform(0, 14)
    )
    wall_mm = max(person.build.extra_wall_mm(1105.0), 0.0)
    lateral_mm += person.figure.extra_width_mm(person.fat_mm) + wall_mm
    raise_mm = person.borders.shoulder_rise_mm
    shift_y = rng.uniform(-18, 10)
    shoulder_x = 184.0 if with_small_parts else 168.0
    shoulder = (shoulder_x * shoulder_width_factor(person), -12.0, 1398.0 + raise_mm)
    if person.arm_posture == "raised":
        lean_mm = rng.uniform(-20, 25)
        right_joints = ArmJoints(
            shoulder,
            elbow=(225 + lean_mm, 10 + shift_y, 1655 + raise_mm),
            wrist=(165 + lean_mm, 30 + shift_y, 1880 + raise_mm),
            palm=(140 + lean_mm, 34 + shift_y, 1950 + raise_mm),
            finger_tips=(120 + lean_mm, 36 + shift_y, 2040 + raise_mm),
        )
    elif person.arm_posture == "folded":
        front_y = 128 + person.fat_mm + person.belly_mm
        front_y += person.figure.extra_depth_mm(person.fat_mm)
        front_y += 0.5 * wall_mm
        right_joints = ArmJoints(
            shoulder,
            elbow=(206 + lateral_mm, 0, 1105 + raise_mm),
            wrist=(98, front_y, 1082 + shift_y),
            palm=(58, front_y + 4, 1088 + shift_y),
            finger_tips=(10, front_y + 2, 1098 + shift_y),
        )
    else:  # beside the trunk
        right_joints = ArmJoints(
            shoulder,
            elbow=(206 + lateral_mm, -8 + shift_y, 1105 + raise_mm),
            wrist=(224 + lateral_mm, 8 + shift_y, 862 + raise_mm),
            palm=(226 + lateral_mm, 12 + shift_y, 790 + raise_mm),
            finger_tips=(222 + lateral_mm, 20 + shift_y, 695 + raise_mm),
        )
    return ArmJoints(*(mirror_point(point, side) for point in right_joints))


def _paint_arm_bones(side: int, joints: ArmJoints) -> Paints:
    """Humerus, radius, ulna and four rays of the hand of one side, between the joints of the arm."""
    shoulder, elbow, wrist, palm, finger_tips = np.array(joints)
    head_centre = tuple(np.add(shoulder, (-12 * side, 0, 4)).tolist())
    across_mm = np.cross(wrist - elbow, [0.0, 1.0, 0.0])
    across_mm *= 12 / np.linalg.norm(across_mm)  # from the middle of the forearm to the radius
    humeral_cartilage = Ellipsoid(head_centre, (26.0, 26.0, 26.0))
    humeral_head = Ellipsoid(head_centre, (23.5, 23.5, 23.5))
    humerus_points = [
        head_centre,
        shoulder + 0.22 * (elbow - shoulder),
        shoulder + 0.8 * (elbow - shoulder),
        elbow,
    ]
    radius_points = [elbow + across_mm, (elbow + wrist) / 2 + across_mm, wrist + across_mm * 0.8]
    ulna_points = [elbow - across_mm, (elbow + wrist) / 2 - across_mm, wrist - across_mm * 0.8]
    yield paint(humeral_cartilage, "cartilage", Layer.BONE)
    yield from paint_bone(humeral_head, cortex_mm=1.8, marrow="yellow marrow")
    yield from paint_bone(
        tube(humerus_points, [17, 11, 11, 20]), cortex_mm=3.4, marrow="yellow marrow"
    )
    yield from paint_bone(tube(radius_points, [11, 7.0, 11]), cortex_mm=2.4, marrow="yellow marrow")
    yield from paint_bone(tube(ulna_points, [12, 6.5, 8]), cortex_mm=2.4, marrow="yellow marrow")
    for ray_position in np.linspace(-1.1, 1.1, 4):
        ray_points = [
            wrist + across_mm * 0.6 * ray_position,
            palm + across_mm * ray_position,
            finger_tips + across_mm * 0.5 * ray_position,
        ]
        yield from paint_bone(
            tube(ray_points, [6, 4.5, 3.0]), cortex_mm=1.3, marrow="yellow marrow"
        )


def _point_between(start: Point, end: Point, share: float) -> Point:
    """The point a `share` of the way from start to end."""
    return tuple(
        (1 - share) * start_coordinate + share * end_coordinate
        for start_coordinate, end_coordinate in zip(start, end, strict=True)
    )


def _point_towards(start: Point, end: Point, mm: float) -> Point:
    """The point `mm` from start towards end."""
    return _point_between(start, end, mm / float(np.linalg.norm(np.subtract(end, start))))
