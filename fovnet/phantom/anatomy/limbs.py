"""Arms and hands, legs and feet.  Lengths in mm of the written anatomy; z = 0 at the soles."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from fovnet.phantom.anatomy.layers import (
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
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.tissues import TISSUES

# z, centre x (before abduction), centre y, half width, front, back of the right leg's muscle; share
# of the waist's fat
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
    """Skin, fat and muscle, with more fat inside and behind; where the legs touch, there is skin
    between them."""
    muscle_outline = leg_outline(person)
    fat_rows = []
    hip_factor = factor_of_women(person, 1.25)
    unevenness = np.exp(person.generator(780).normal(0, 0.15, 4))
    for (*_, fat_share), (z, centre_x, centre_y, *reaches) in zip(
        LEG_OUTLINE, muscle_outline.table, strict=True
    ):
        # outer, inner, front, back
        fat_mm = (
            person.fat_mm
            * fat_share
            * hip_factor
            * unevenness
            * (0.9, 1.25, 0.75, 1.15)
            * person.figure.leg_factors(z)
        )
        fat_rows.append((z, centre_x, centre_y, *(reaches + np.maximum(fat_mm, 2.0)).tolist()))
    fat_outline = replace(muscle_outline, table=tuple(fat_rows))
    medial_normal = (-1.0, 0.0, 0.0)
    muscle = flatten_leg(
        person, muscle_outline & HalfSpace(medial_normal, -4.0), 3.5 + 0.3 * person.fat_mm
    )
    yield paint(flatten_leg(person, fat_outline.shrink(-SKIN_MM)), "skin", Layer.SKIN)
    yield paint(
        flatten_leg(person, fat_outline & HalfSpace(medial_normal, -1.6), SKIN_MM), "fat", Layer.FAT
    )
    yield paint(muscle, "muscle", Layer.MUSCLE)


def flatten_leg(person: Person, solid: Solid, above_mm: float = 0.0) -> Solid:
    """The part of a leg at least `above_mm` above its support: table or cushion flatten 4 to 22 mm
    of thigh and calf."""
    if person.table_mm == float("inf"):
        return solid
    behind_mm = 86.0 + 0.7 * person.fat_mm - person.generator(785).uniform(4.0, 22.0)
    return solid & HalfSpace((0.0, -1.0, 0.0), behind_mm - above_mm)


def leg_outline(person: Person) -> Outline:
    """The muscle of the right leg, an asymmetric outline that differs between people."""
    brawn_factor = 1 + 0.6 * (person.muscle_factor - 1)
    rng = person.generator(781)
    outer_factor, front_factor = rng.normal((1.05, 1.03), (0.03, 0.04)).tolist()
    corner_size = rng.uniform(0.02, 0.11)
    corner_angle = rng.normal(0.9, 0.5)
    outline_rows = []
    for z, centre_x, centre_y, half_width_mm, ahead_mm, behind_mm, _ in LEG_OUTLINE:
        widths_mm = (
            brawn_factor * half_width_mm * outer_factor,
            brawn_factor * half_width_mm * (2 - outer_factor),
        )
        depths_mm = (
            brawn_factor * ahead_mm * front_factor,
            brawn_factor * behind_mm * (2 - front_factor),
        )
        outline_rows.append(
            (z, centre_x + person.leg_offset_mm(z), centre_y, *widths_mm, *depths_mm)
        )
    # A corner at the angle t lies at the minimum of the cubic term: cos 3 (θ - t) = -1.
    cubic_terms = (
        -corner_size * float(np.cos(3 * corner_angle)),
        -corner_size * float(np.sin(3 * corner_angle)),
    )
    return Outline(tuple(outline_rows), cubic_terms)


def _paint_leg_vessels(person: Person) -> Paints:
    """Femoral vessels, continuing as popliteal and calf vessels, and the sciatic nerve; all in
    fat."""
    written_points = (
        (84, 50, 840),
        (80, 34, 760),
        (80, 10, 660),
        (90, -28, 560),
        (98, -38, 480),
        (98, -22, 380),
        (94, -18, 250),
        (84, -24, 100),
    )
    artery_points = place_leg_points(person, written_points)
    vein_points = [(x + 9, y - 4, z) for x, y, z in artery_points]
    fat_sleeve = tube(
        [(x + 4, y - 2, z) for x, y, z in artery_points],
        [11.0, 9.0, 9.0, 11.0, 12.0, 6.0, 4.0, 3.5],
    )
    nerve_points = place_leg_points(
        person, ((114, -48, 850), (112, -34, 760), (108, -32, 690), (106, -42, 600))
    )
    nerve_sleeve = tube([(x - 2, y - 1, z) for x, y, z in nerve_points], [8.0, 5.5, 5.5, 9.0])
    artery_radii = (4.5, 4.2, 4.0, 3.8, 3.5, 2.6, 2.0, 1.8)
    vein_radii = (5.0, 4.8, 4.6, 4.2, 4.0, 3.0, 2.5, 2.2)
    yield from map(paint_fat_plane, (fat_sleeve, nerve_sleeve))
    muscle_tissues = ("muscle", "intermuscular fat")
    yield paint(
        tube(nerve_points, [4.0, 3.5, 3.5, 3.2]),
        "spinal cord",
        Layer.VESSEL,
        replaced_tissues=muscle_tissues,
    )
    yield paint(tube(artery_points, artery_radii), "arterial blood", Layer.VESSEL)
    yield paint(tube(vein_points, vein_radii), "venous blood", Layer.VESSEL)


def place_leg_points(person: Person, points: tuple[Point, ...]) -> list[Point]:
    """Points of the right leg as written, with the leg's lateral offset."""
    return [(x + person.leg_offset_mm(z), y, z) for x, y, z in points]


def leg_ellipsoid(
    person: Person,
    centre: Point,
    semi_axes: Point,
    turn_deg: Point = (0.0, 0.0, 0.0),
    square: float = 0.0,
) -> Ellipsoid:
    """An ellipsoid at a point of the right leg."""
    return Ellipsoid(place_leg_points(person, (centre,))[0], semi_axes, turn_deg, square)


def leg_tube(person: Person, points: tuple[Point, ...], radii: ArrayLike) -> Tube:
    """A tube through points of the right leg."""
    return tube(place_leg_points(person, points), radii)


def _paint_femur(person: Person) -> Paints:
    """Femoral head in its socket, neck at about 125° to the shaft, trochanters, shaft, condyles; or
    a metal hip."""
    head_centre = _hip_joint_centre(person)
    tube_through = partial(leg_tube, person)
    shaft_points = (
        (131, -12, 895),
        (124, -4, 850),
        (117, 11, 740),
        (107, 8, 620),
        (100, -2, 555),
        (98, -6, 515),
    )
    yield paint(Ellipsoid(head_centre, (27.0, 27.0, 27.0)), "cartilage", Layer.BONE)
    for solid, cortex_mm in (
        (Ellipsoid(head_centre, (24.0, 24.0, 24.0)), 1.8),
        (tube_through((head_centre, (114, -8, 912), (132, -12, 892)), [17, 15, 19]), 2.5),
        (tube_through(((138, -18, 915), (138, -18, 890)), [12, 15]), 2.0),
        (tube_through(((112, -24, 868), (120, -10, 860)), 9.0), 2.0),
        (tube_through(shaft_points, [19, 15.5, 13.5, 14, 19, 31]), 5.5),
        # metaphyses have a thin cortex around much marrow
        (leg_ellipsoid(person, (98, -4, 520), (30, 24, 42)), 1.6),
    ):
        yield from paint_bone(solid, cortex_mm, "yellow marrow")


def _paint_metal_hip(person: Person) -> Paints:
    """Cup, head and stem of a prosthesis, and 12 mm of signal void around them (spin echoes show
    less of it, gradient echoes more)."""
    stem_points = (_hip_joint_centre(person), (112, -8, 912), (128, -8, 880), (120, 0, 770))
    void = leg_tube(person, stem_points, [25.0, 11.0, 9.0, 6.0]).shrink(-12.0)
    replaced_tissues = tuple(
        tissue.name for tissue in TISSUES if tissue.name not in ("air", "skin", "fat")
    )
    yield paint_detail(void, "metal", replaced_tissues=replaced_tissues)


def _hip_joint_centre(person: Person) -> Point:
    """The middle of the right femoral head, in the written anatomy."""
    return 88.0 * factor_of_women(person, 1.06), -2.0, 932.0


def _paint_knee(person: Person) -> Paints:
    """The right knee: condyles, menisci, plateau, patella, its tendons and a cruciate ligament."""
    yield paint(leg_ellipsoid(person, (98, 28, 474), (22.0, 13.0, 20.0)), "fat", Layer.SEAM)
    for offset_x in (-21, 21):
        condyle = leg_ellipsoid(person, (98 + offset_x, -8, 499), (20.0, 31.0, 22.0))
        yield paint(condyle.shrink(-2.8), "cartilage", Layer.BONE)
        yield from paint_bone(condyle, 1.5, "yellow marrow")
        yield paint(
            leg_ellipsoid(person, (98 + 1.2 * offset_x, -6, 474), (17.0, 24.0, 4.0)),
            "tendon",
            Layer.BONE,
        )
    plateau = leg_ellipsoid(person, (98, -8, 452), (39.0, 27.0, 18.0), square=0.5)
    yield paint(plateau.shrink(-2.2), "cartilage", Layer.BONE)
    yield from paint_bone(plateau, 1.6, "yellow marrow")
    yield from paint_bone(
        leg_ellipsoid(person, (98, 40, 512), (22.0, 10.0, 22.0), square=0.3), 1.6, "yellow marrow"
    )
    yield paint(leg_tube(person, ((98, 44, 494), (98, 36, 440)), 5.0), "tendon", Layer.BONE)
    yield paint(leg_tube(person, ((98, 40, 530), (98, 36, 590)), [6.0, 4.0]), "tendon", Layer.BONE)
    yield paint_detail(leg_tube(person, ((92, -22, 502), (102, 4, 470)), 4.5), "tendon")


def _paint_lower_leg_bones(person: Person) -> Paints:
    """The right tibia and fibula."""
    # Sharp in front, flat at the medial side, which only skin and fat cover.
    tibia_rows = (
        (82, 90, -6, 20),
        (110, 88, -2, 14.5),
        (200, 88, 9, 11.5),
        (320, 92, 15, 13.5),
        (400, 96, 7, 19),
        (440, 98, -4, 30),
    )
    tibia_table = tuple(
        (
            z,
            x + person.leg_offset_mm(z),
            y,
            0.95 * radius_mm,
            0.95 * radius_mm,
            1.1 * radius_mm,
            0.95 * radius_mm,
        )
        for z, x, y, radius_mm in tibia_rows
    )
    fibula_points = (
        (132, -24, 438),
        (128, -20, 400),
        (122, -14, 250),
        (116, -14, 120),
        (116, -14, 66),
    )
    yield from paint_bone(Outline(tibia_table, (0.0, 0.2)), 4.2, "yellow marrow")
    yield from paint_bone(leg_ellipsoid(person, (98, -5, 436), (33, 23, 26)), 1.6, "yellow marrow")
    yield from paint_bone(
        leg_tube(person, fibula_points, [11, 6.5, 6, 7, 11]), 2.4, "yellow marrow"
    )


def _paint_foot(person: Person) -> Paints:
    """Heel, talus, midfoot, metatarsals and toes; in a supine person the forefoot points forwards
    and down."""
    sole_points = (
        (92, -42, 28),
        (92, -20, 44),
        (96, 30, 42),
        (104, 85, 28),
        (108, 130, 19),
        (108, 148, 15),
    )
    foot = leg_tube(person, sole_points, [28, 32, 30, 25, 17, 13])
    yield from paint_skin_fat_muscle(foot, 2.0, 6.0)
    yield from paint_bone(
        leg_tube(person, ((92, -46, 30), (94, 0, 38)), [18, 15]), 1.8, "yellow marrow"
    )
    yield from paint_bone(
        leg_ellipsoid(person, (92, -2, 62), (20.0, 26.0, 15.0)), 1.6, "yellow marrow"
    )
    yield from paint_bone(
        leg_ellipsoid(person, (98, 38, 46), (26.0, 20.0, 13.0), square=0.4), 1.6, "yellow marrow"
    )
    for ray_index in range(5):
        ray_x = 86 + 10.5 * ray_index
        ray_points = (
            (ray_x, 56, 40 - 3 * ray_index),
            (ray_x + 2, 100, 26 - 2 * ray_index),
            (ray_x + 2, 116, 20),
        )
        yield from paint_bone(leg_tube(person, ray_points, [5.5, 4.5, 5.5]), 1.4, "yellow marrow")
    achilles = leg_tube(person, ((92, -38, 180), (92, -46, 100), (92, -52, 50)), [3.0, 4.5, 5.0])
    yield paint(achilles, "tendon", Layer.BONE)


def paint_arms(person: Person, with_small_parts: bool = False) -> Paints:
    """Both arms in the person's posture, with humerus, forearm bones and hand; `with_small_parts`
    as in `shoulder`, with broader shoulders."""
    for side in (1, -1):
        joints = draw_arm_joints(person, side, with_small_parts)
        shoulder, elbow, wrist, palm, finger_tips = joints
        brawn = person.muscle_factor
        fat_mm = 0.45 * person.fat_mm * person.figure.arm_factor
        upper_arm_points = [
            shoulder,
            _point_between(shoulder, elbow, 0.35),
            _point_between(shoulder, elbow, 0.8),
            elbow,
        ]
        forearm_points = [elbow, _point_between(elbow, wrist, 0.3), wrist]
        yield from paint_limb(
            tube(upper_arm_points, [46 * brawn, 42 * brawn, 36 * brawn, 36 * brawn], step_mm=60),
            fat_mm,
        )
        yield from paint_limb(
            tube(forearm_points, [36 * brawn, 37 * brawn, 23.0], step_mm=60), 0.6 * fat_mm
        )
        hand = tube([wrist, palm, finger_tips], [22.0, 21.0, 9.0]) | tube(
            [_point_towards(palm, wrist, 12), _point_towards(palm, finger_tips, 30)], [21.0, 16.0]
        )
        yield from paint_skin_fat_muscle(hand, 2.0, 4.5)
        yield from _paint_arm_bones(side, joints)


def shoulder_width_factor(person: Person) -> float:
    """Shoulder width relative to a man's."""
    return factor_of_women(person, 0.95)


def draw_arm_joints(person: Person, side: int, with_small_parts: bool) -> list[Point]:
    """The points (3,) of shoulder, elbow, wrist, palm and finger tips, in this order, mm of the
    written anatomy."""
    rng = person.generator(41 + side)
    lateral_mm = (
        max(person.fat_mm * 1.1 - 8, 0.0) + max(0.35 * person.belly_mm, 0.0) + rng.uniform(0, 14)
    )
    wall_mm = max(person.build.added_wall_mm(1105.0), 0.0)
    lateral_mm += person.figure.added_width_mm(person.fat_mm) + wall_mm
    raise_mm = person.borders.shoulder_rise_mm
    drawn_y = rng.uniform(-18, 10)
    other_joints: tuple[Point, ...] = (
        (206 + lateral_mm, -8 + drawn_y, 1105 + raise_mm),
        (224 + lateral_mm, 8 + drawn_y, 862 + raise_mm),
        (226 + lateral_mm, 12 + drawn_y, 790 + raise_mm),
        (222 + lateral_mm, 20 + drawn_y, 695 + raise_mm),
    )
    if person.arm_posture == "raised":
        lean_mm = rng.uniform(-20, 25)
        other_joints = (
            (225 + lean_mm, 10 + drawn_y, 1655 + raise_mm),
            (165 + lean_mm, 30 + drawn_y, 1880 + raise_mm),
            (140 + lean_mm, 34 + drawn_y, 1950 + raise_mm),
            (120 + lean_mm, 36 + drawn_y, 2040 + raise_mm),
        )
    if person.arm_posture == "folded":
        front_y = (
            128
            + person.fat_mm
            + person.belly_mm
            + person.figure.added_depth_mm(person.fat_mm)
            + 0.5 * wall_mm
        )
        other_joints = (
            (206 + lateral_mm, 0, 1105 + raise_mm),
            (98, front_y, 1082 + drawn_y),
            (58, front_y + 4, 1088 + drawn_y),
            (10, front_y + 2, 1098 + drawn_y),
        )
    shoulder = (
        (184.0 if with_small_parts else 168.0) * shoulder_width_factor(person),
        -12.0,
        1398.0 + raise_mm,
    )
    return [mirror_point(point, side) for point in (shoulder, *other_joints)]


def _paint_arm_bones(side: int, joints: list[Point]) -> Paints:
    """Humerus, radius, ulna and four rays of the hand, between the joints of `arm_joints`."""
    shoulder, elbow, wrist, palm, finger_tips = np.array(joints)
    head_centre = tuple(np.add(shoulder, (-12 * side, 0, 4)).tolist())
    across_mm = np.cross(wrist - elbow, [0.0, 1.0, 0.0])
    across_mm *= 12 / np.linalg.norm(across_mm)
    yield paint(Ellipsoid(head_centre, (26.0, 26.0, 26.0)), "cartilage", Layer.BONE)
    yield from paint_bone(Ellipsoid(head_centre, (23.5, 23.5, 23.5)), 1.8, "yellow marrow")
    humerus = tube(
        [
            head_centre,
            shoulder + 0.22 * (elbow - shoulder),
            shoulder + 0.8 * (elbow - shoulder),
            elbow,
        ],
        [17, 11, 11, 20],
    )
    yield from paint_bone(humerus, 3.4, "yellow marrow")
    radius = tube(
        [elbow + across_mm, (elbow + wrist) / 2 + across_mm, wrist + across_mm * 0.8], [11, 7.0, 11]
    )
    ulna = tube(
        [elbow - across_mm, (elbow + wrist) / 2 - across_mm, wrist - across_mm * 0.8], [12, 6.5, 8]
    )
    yield from paint_bone(radius, 2.4, "yellow marrow")
    yield from paint_bone(ulna, 2.4, "yellow marrow")
    for ray_offset in np.linspace(-1.1, 1.1, 4):
        finger_points = [
            wrist + across_mm * 0.6 * ray_offset,
            palm + across_mm * ray_offset,
            finger_tips + across_mm * 0.5 * ray_offset,
        ]
        yield from paint_bone(tube(finger_points, [6, 4.5, 3.0]), 1.3, "yellow marrow")


def _point_between(start: Point, end: Point, share: float) -> Point:
    """The point a `share` of the way from start to end."""
    return tuple(
        (1 - share) * start_coordinate + share * end_coordinate
        for start_coordinate, end_coordinate in zip(start, end, strict=True)
    )


def _point_towards(start: Point, end: Point, mm: float) -> Point:
    """The point `mm` from start towards end."""
    return _point_between(start, end, mm / float(np.linalg.norm(np.subtract(end, start))))
