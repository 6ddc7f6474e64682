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
    bone,
    detail,
    limb,
    on_side,
    paint,
    seam,
    skinned,
)
from fovnet.phantom.anatomy.leg_muscles import planes
from fovnet.phantom.geometry.bundles import Outline
from fovnet.phantom.geometry.solids import Ellipsoid, Point, Side, Solid, Tube, mirrored, tube
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.tissues import TISSUES

# z, centre x (before abduction), centre y, half width, front, back of the right leg's muscle; share of the
# waist's fat
LEG = (
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


def legs(person: Person) -> Paints:
    """Both legs with their bones, muscles, knees and feet."""
    for side, hip in ((1, "right hip"), (-1, "left hip")):
        yield from on_side(_flesh(person), side)
        yield from planes(person, outline(person), side)
        yield from on_side(_vessels(person), side)
        if hip in person.missing:
            yield from on_side(_metal_hip(person), side)
        for part in (_thigh_bone, _knee, _shin, _foot):
            yield from on_side(part(person), side)


def _flesh(person: Person) -> Paints:
    """Skin, fat and muscle, with more fat inside and behind; where the legs touch, there is skin between
    them."""
    muscle = outline(person)
    fat = []
    hips = 1.25 if person.female else 1.0
    uneven = np.exp(person.generator(780).normal(0, 0.15, 4))
    for (*_, share), (z, cx, cy, *reaches) in zip(LEG, muscle.table, strict=True):
        # outer, inner, front, back
        under = (
            person.fat_mm * share * hips * uneven * (0.9, 1.25, 0.75, 1.15) * person.figure.leg(z)
        )
        fat.append((z, cx, cy, *(reaches + np.maximum(under, 2.0)).tolist()))
    layer, middle = replace(muscle, table=tuple(fat)), (-1.0, 0.0, 0.0)
    flesh = pressed(person, muscle & Side(middle, -4.0), 3.5 + 0.3 * person.fat_mm)
    yield paint(pressed(person, layer.shrunk(-SKIN_MM)), "skin", Layer.SKIN)
    yield paint(pressed(person, layer & Side(middle, -1.6), SKIN_MM), "fat", Layer.FAT)
    yield paint(flesh, "muscle", Layer.MUSCLE)


def pressed(person: Person, solid: Solid, above_mm: float = 0.0) -> Solid:
    """The part of a leg at least `above_mm` above its support: table or cushion flatten 4 to 22 mm of thigh
    and calf."""
    if person.table_mm == float("inf"):
        return solid
    behind = 86.0 + 0.7 * person.fat_mm - person.generator(785).uniform(4.0, 22.0)
    return solid & Side((0.0, -1.0, 0.0), behind - above_mm)


def outline(person: Person) -> Outline:
    """The muscle of the right leg, an asymmetric outline that differs between people."""
    stout, rng = 1 + 0.6 * (person.brawn - 1), person.generator(781)
    outer, front = rng.normal((1.05, 1.03), (0.03, 0.04)).tolist()
    corner, towards = rng.uniform(0.02, 0.11), rng.normal(0.9, 0.5)
    rows = []
    for z, cx, cy, a, ahead, behind, _ in LEG:
        wide = (stout * a * outer, stout * a * (2 - outer))
        deep = (stout * ahead * front, stout * behind * (2 - front))
        rows.append((z, cx + person.turned_out_mm(z), cy, *wide, *deep))
    # A corner at the angle t lies at the minimum of the cubic term: cos 3 (θ - t) = -1.
    three = (-corner * float(np.cos(3 * towards)), -corner * float(np.sin(3 * towards)))
    return Outline(tuple(rows), three)


def _vessels(person: Person) -> Paints:
    """Femoral vessels, continuing as popliteal and calf vessels, and the sciatic nerve; all in fat."""
    path = (
        (84, 50, 840),
        (80, 34, 760),
        (80, 10, 660),
        (90, -28, 560),
        (98, -38, 480),
        (98, -22, 380),
        (94, -18, 250),
        (84, -24, 100),
    )
    line = placed(person, path)
    beside = [(x + 9, y - 4, z) for x, y, z in line]
    sleeve = tube(
        [(x + 4, y - 2, z) for x, y, z in line], [11.0, 9.0, 9.0, 11.0, 12.0, 6.0, 4.0, 3.5]
    )
    nerve = placed(person, ((114, -48, 850), (112, -34, 760), (108, -32, 690), (106, -42, 600)))
    around = tube([(x - 2, y - 1, z) for x, y, z in nerve], [8.0, 5.5, 5.5, 9.0])
    artery, vein = (
        (4.5, 4.2, 4.0, 3.8, 3.5, 2.6, 2.0, 1.8),
        (5.0, 4.8, 4.6, 4.2, 4.0, 3.0, 2.5, 2.2),
    )
    yield from map(seam, (sleeve, around))
    within = ("muscle", "intermuscular fat")
    yield paint(tube(nerve, [4.0, 3.5, 3.5, 3.2]), "spinal cord", Layer.VESSEL, over=within)
    yield paint(tube(line, artery), "arterial blood", Layer.VESSEL)
    yield paint(tube(beside, vein), "venous blood", Layer.VESSEL)


def placed(person: Person, points: tuple[Point, ...]) -> list[Point]:
    """Points of the right leg as written, with the leg's lateral offset."""
    return [(x + person.turned_out_mm(z), y, z) for x, y, z in points]


def oval(
    person: Person, at: Point, semi: Point, turn: Point = (0.0, 0.0, 0.0), square: float = 0.0
) -> Ellipsoid:
    """An ellipsoid at a point of the right leg."""
    return Ellipsoid(placed(person, (at,))[0], semi, turn, square)


def line(person: Person, points: tuple[Point, ...], radii: ArrayLike) -> Tube:
    """A tube through points of the right leg."""
    return tube(placed(person, points), radii)


def _thigh_bone(person: Person) -> Paints:
    """Femoral head in its socket, neck at about 125° to the shaft, trochanters, shaft, condyles; or a metal
    hip."""
    head, through = _hip_joint(person), partial(line, person)
    shaft = (
        (131, -12, 895),
        (124, -4, 850),
        (117, 11, 740),
        (107, 8, 620),
        (100, -2, 555),
        (98, -6, 515),
    )
    yield paint(Ellipsoid(head, (27.0, 27.0, 27.0)), "cartilage", Layer.BONE)
    for solid, cortex_mm in (
        (Ellipsoid(head, (24.0, 24.0, 24.0)), 1.8),
        (through((head, (114, -8, 912), (132, -12, 892)), [17, 15, 19]), 2.5),
        (through(((138, -18, 915), (138, -18, 890)), [12, 15]), 2.0),
        (through(((112, -24, 868), (120, -10, 860)), 9.0), 2.0),
        (through(shaft, [19, 15.5, 13.5, 14, 19, 31]), 5.5),
        # metaphyses have a thin cortex around much marrow
        (oval(person, (98, -4, 520), (30, 24, 42)), 1.6),
    ):
        yield from bone(solid, cortex_mm, "yellow marrow")


def _metal_hip(person: Person) -> Paints:
    """Cup, head and stem of a prosthesis, and 12 mm of signal void around them (spin echoes show less of it,
    gradient echoes more)."""
    way = (_hip_joint(person), (112, -8, 912), (128, -8, 880), (120, 0, 770))
    hip = line(person, way, [25.0, 11.0, 9.0, 6.0]).shrunk(-12.0)
    within = tuple(tissue.name for tissue in TISSUES if tissue.name not in ("air", "skin", "fat"))
    yield detail(hip, "metal", within)


def _hip_joint(person: Person) -> Point:
    """The middle of the right femoral head, in the written anatomy."""
    return 88.0 * (1.06 if person.female else 1.0), -2.0, 932.0


def _knee(person: Person) -> Paints:
    yield paint(oval(person, (98, 28, 474), (22.0, 13.0, 20.0)), "fat", Layer.SEAM)
    for inner in (-21, 21):
        condyle = oval(person, (98 + inner, -8, 499), (20.0, 31.0, 22.0))
        yield paint(condyle.shrunk(-2.8), "cartilage", Layer.BONE)
        yield from bone(condyle, 1.5, "yellow marrow")
        yield paint(
            oval(person, (98 + 1.2 * inner, -6, 474), (17.0, 24.0, 4.0)), "tendon", Layer.BONE
        )
    plateau = oval(person, (98, -8, 452), (39.0, 27.0, 18.0), square=0.5)
    yield paint(plateau.shrunk(-2.2), "cartilage", Layer.BONE)
    yield from bone(plateau, 1.6, "yellow marrow")
    yield from bone(
        oval(person, (98, 40, 512), (22.0, 10.0, 22.0), square=0.3), 1.6, "yellow marrow"
    )
    yield paint(line(person, ((98, 44, 494), (98, 36, 440)), 5.0), "tendon", Layer.BONE)
    yield paint(line(person, ((98, 40, 530), (98, 36, 590)), [6.0, 4.0]), "tendon", Layer.BONE)
    yield detail(line(person, ((92, -22, 502), (102, 4, 470)), 4.5), "tendon")


def _shin(person: Person) -> Paints:
    # Sharp in front, flat at the medial side, which only skin and fat cover.
    rows = (
        (82, 90, -6, 20),
        (110, 88, -2, 14.5),
        (200, 88, 9, 11.5),
        (320, 92, 15, 13.5),
        (400, 96, 7, 19),
        (440, 98, -4, 30),
    )
    table = tuple(
        (z, x + person.turned_out_mm(z), y, 0.95 * r, 0.95 * r, 1.1 * r, 0.95 * r)
        for z, x, y, r in rows
    )
    fibula = ((132, -24, 438), (128, -20, 400), (122, -14, 250), (116, -14, 120), (116, -14, 66))
    yield from bone(Outline(table, (0.0, 0.2)), 4.2, "yellow marrow")
    yield from bone(oval(person, (98, -5, 436), (33, 23, 26)), 1.6, "yellow marrow")
    yield from bone(line(person, fibula, [11, 6.5, 6, 7, 11]), 2.4, "yellow marrow")


def _foot(person: Person) -> Paints:
    """Heel, talus, midfoot, metatarsals and toes; in a supine person the forefoot points forwards and
    down."""
    sole = (
        (92, -42, 28),
        (92, -20, 44),
        (96, 30, 42),
        (104, 85, 28),
        (108, 130, 19),
        (108, 148, 15),
    )
    heel = line(person, sole, [28, 32, 30, 25, 17, 13])
    yield from skinned(heel, 2.0, 6.0)
    yield from bone(line(person, ((92, -46, 30), (94, 0, 38)), [18, 15]), 1.8, "yellow marrow")
    yield from bone(oval(person, (92, -2, 62), (20.0, 26.0, 15.0)), 1.6, "yellow marrow")
    yield from bone(
        oval(person, (98, 38, 46), (26.0, 20.0, 13.0), square=0.4), 1.6, "yellow marrow"
    )
    for ray in range(5):
        x = 86 + 10.5 * ray
        way = ((x, 56, 40 - 3 * ray), (x + 2, 100, 26 - 2 * ray), (x + 2, 116, 20))
        yield from bone(line(person, way, [5.5, 4.5, 5.5]), 1.4, "yellow marrow")
    achilles = line(person, ((92, -38, 180), (92, -46, 100), (92, -52, 50)), [3.0, 4.5, 5.0])
    yield paint(achilles, "tendon", Layer.BONE)


def arms(person: Person, fine: bool = False) -> Paints:
    """Both arms in the person's posture, with humerus, forearm bones and hand; `fine` as in `shoulder`, with
    broader shoulders."""
    for side in (1, -1):
        joints = arm_joints(person, side, fine)
        shoulder, elbow, wrist, palm, tips = joints
        thick, fat = person.brawn, 0.45 * person.fat_mm * person.figure.arms
        upper = [shoulder, _between(shoulder, elbow, 0.35), _between(shoulder, elbow, 0.8), elbow]
        lower = [elbow, _between(elbow, wrist, 0.3), wrist]
        yield from limb(
            tube(upper, [46 * thick, 42 * thick, 36 * thick, 36 * thick], step_mm=60), fat
        )
        yield from limb(tube(lower, [36 * thick, 37 * thick, 23.0], step_mm=60), 0.6 * fat)
        hand = tube([wrist, palm, tips], [22.0, 21.0, 9.0]) | tube(
            [_nudged(palm, wrist, 12), _nudged(palm, tips, 30)], [21.0, 16.0]
        )
        yield from skinned(hand, 2.0, 4.5)
        yield from _arm_bones(side, joints)


def broad(person: Person) -> float:
    """Shoulder width relative to a man's."""
    return 0.95 if person.female else 1.0


def arm_joints(person: Person, side: int, fine: bool) -> list[Point]:
    """Shoulder, elbow, wrist, palm and finger tips."""
    rng = person.generator(41 + side)
    out = max(person.fat_mm * 1.1 - 8, 0.0) + max(0.35 * person.belly_mm, 0.0) + rng.uniform(0, 14)
    wall = max(person.build.wall_mm(1105.0), 0.0)
    out += person.figure.wider_mm(person.fat_mm) + wall
    up = person.borders.shoulders_mm
    y = rng.uniform(-18, 10)
    rest: tuple[Point, ...] = (
        (206 + out, -8 + y, 1105 + up),
        (224 + out, 8 + y, 862 + up),
        (226 + out, 12 + y, 790 + up),
        (222 + out, 20 + y, 695 + up),
    )
    if person.arms == "raised":
        lean = rng.uniform(-20, 25)
        rest = (
            (225 + lean, 10 + y, 1655 + up),
            (165 + lean, 30 + y, 1880 + up),
            (140 + lean, 34 + y, 1950 + up),
            (120 + lean, 36 + y, 2040 + up),
        )
    if person.arms == "folded":
        front = (
            128
            + person.fat_mm
            + person.belly_mm
            + person.figure.deeper_mm(person.fat_mm)
            + 0.5 * wall
        )
        rest = (
            (206 + out, 0, 1105 + up),
            (98, front, 1082 + y),
            (58, front + 4, 1088 + y),
            (10, front + 2, 1098 + y),
        )
    shoulder = ((184.0 if fine else 168.0) * broad(person), -12.0, 1398.0 + up)
    return [mirrored(point, side) for point in (shoulder, *rest)]


def _arm_bones(side: int, joints: list[Point]) -> Paints:
    s, e, w, palm, tips = np.array(joints)
    head = tuple(np.add(s, (-12 * side, 0, 4)).tolist())
    across = np.cross(w - e, [0.0, 1.0, 0.0])
    across *= 12 / np.linalg.norm(across)
    yield paint(Ellipsoid(head, (26.0, 26.0, 26.0)), "cartilage", Layer.BONE)
    yield from bone(Ellipsoid(head, (23.5, 23.5, 23.5)), 1.8, "yellow marrow")
    humerus = tube([head, s + 0.22 * (e - s), s + 0.8 * (e - s), e], [17, 11, 11, 20])
    yield from bone(humerus, 3.4, "yellow marrow")
    radius = tube([e + across, (e + w) / 2 + across, w + across * 0.8], [11, 7.0, 11])
    ulna = tube([e - across, (e + w) / 2 - across, w - across * 0.8], [12, 6.5, 8])
    yield from bone(radius, 2.4, "yellow marrow")
    yield from bone(ulna, 2.4, "yellow marrow")
    for ray in np.linspace(-1.1, 1.1, 4):
        way = [w + across * 0.6 * ray, palm + across * ray, tips + across * 0.5 * ray]
        yield from bone(tube(way, [6, 4.5, 3.0]), 1.3, "yellow marrow")


def _between(a: Point, b: Point, t: float) -> Point:
    """The point a share t of the way from a to b."""
    return tuple((1 - t) * p + t * q for p, q in zip(a, b, strict=True))


def _nudged(a: Point, b: Point, mm: float) -> Point:
    """The point `mm` from a towards b."""
    return _between(a, b, mm / float(np.linalg.norm(np.subtract(b, a))))
