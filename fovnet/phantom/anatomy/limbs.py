"""Arms and hands, legs and feet.  Lengths in mm of the written anatomy; z = 0 at the soles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, bone, limb, paint
from fovnet.phantom.anatomy.leg_muscles import planes
from fovnet.phantom.geometry.bundles import Outline
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Side, Solid, mirrored, tube
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


def legs(person: Person) -> list[Paint]:
    """Both legs with their bones, muscles, knees and feet."""
    made: list[Paint] = []
    for side in (1, -1):
        made += (
            _flesh(person, side)
            + _thigh_bone(person, side)
            + _knee(person, side)
            + _shin(person, side)
            + _foot(person, side)
        )
    return made


def _flesh(person: Person, side: int) -> list[Paint]:
    """Skin, fat and muscle, with more fat inside and behind; where the legs touch, there is skin between
    them."""
    muscle = outline(person, side)
    fat = []
    hips = 1.25 if person.female else 1.0
    uneven = np.exp(person.generator(780).normal(0, 0.15, 4))
    for (*_, share), (z, cx, cy, *reaches) in zip(LEG, muscle.table, strict=True):
        # outer, inner, front, back
        under = person.fat_mm * share * hips * uneven * (0.9, 1.25, 0.75, 1.15) * person.figure.leg(z)
        under = np.maximum(under, 2.0)
        both = [
            reach + float(mm)
            for reach, mm in zip(reaches, under if side > 0 else under[[1, 0, 2, 3]], strict=True)
        ]
        fat.append((z, cx, cy, *both))
    layer = replace(muscle, table=tuple(fat))
    middle = (-float(side), 0.0, 0.0)
    made = [
        paint(pressed(person, layer.shrunk(-1.8)), "skin", Layer.SKIN),
        paint(pressed(person, layer & Side(middle, -1.6), 1.8), "fat", Layer.FAT),
        paint(
            pressed(person, muscle & Side(middle, -4.0), 3.5 + 0.3 * person.fat_mm), "muscle", Layer.MUSCLE
        ),
    ]
    return made + planes(person, muscle, side) + _vessels(person, side)


def pressed(person: Person, solid: Solid, above_mm: float = 0.0) -> Solid:
    """The part of a leg at least `above_mm` above its support: table or cushion flatten 4 to 22 mm of thigh
    and calf."""
    if person.table_mm == float("inf"):
        return solid
    behind = 86.0 + 0.7 * person.fat_mm - float(person.generator(785).uniform(4.0, 22.0))
    return solid & Side((0.0, -1.0, 0.0), behind - above_mm)


def outline(person: Person, side: int) -> Outline:
    """The muscle of a leg, an asymmetric outline that differs between people."""
    stout, rng = 1 + 0.6 * (person.brawn - 1), person.generator(781)
    outer, front = rng.normal((1.05, 1.03), (0.03, 0.04)).tolist()
    corner, towards = float(rng.uniform(0.02, 0.11)), float(rng.normal(0.9, 0.5))
    rows = []
    for z, cx, cy, a, ahead, behind, _ in LEG:
        wide = (stout * a * outer, stout * a * (2 - outer))
        rows.append(
            (
                z, side * (cx + person.turned_out_mm(z)), cy, *wide[::side], stout * ahead * front,
                stout * behind * (2 - front),
            )
        )
    # A corner at the angle t lies at the minimum of the cubic term: cos 3 (θ - t) = -1.
    return Outline(
        tuple(rows), (-side * corner * float(np.cos(3 * towards)), -corner * float(np.sin(3 * towards)))
    )


def _vessels(person: Person, side: int) -> list[Paint]:
    """Femoral vessels, continuing as popliteal and calf vessels, and the sciatic nerve; all in fat."""
    path = (
        (84, 50, 840), (80, 34, 760), (80, 10, 660), (90, -28, 560), (98, -38, 480), (98, -22, 380),
        (94, -18, 250), (84, -24, 100),
    )
    line = [(side * (x + person.turned_out_mm(z)), y, z) for x, y, z in path]
    beside = [(x + 9 * side, y - 4, z) for x, y, z in line]
    sleeve = tube([(x + 4 * side, y - 2, z) for x, y, z in line], [11.0, 9.0, 9.0, 11.0, 12.0, 6.0, 4.0, 3.5])
    sciatic = ((114, -48, 850), (112, -34, 760), (108, -32, 690), (106, -42, 600))
    nerve = [(side * (x + person.turned_out_mm(z)), y, z) for x, y, z in sciatic]
    around = tube([(x - 2 * side, y - 1, z) for x, y, z in nerve], [8.0, 5.5, 5.5, 9.0])
    made = [paint(fat, "intermuscular fat", Layer.SEAM, over=("muscle",)) for fat in (sleeve, around)]
    made.append(
        paint(
            tube(nerve, [4.0, 3.5, 3.5, 3.2]), "spinal cord", Layer.VESSEL,
            over=("muscle", "intermuscular fat"),
        )
    )
    made.append(paint(tube(line, [4.5, 4.2, 4.0, 3.8, 3.5, 2.6, 2.0, 1.8]), "arterial blood", Layer.VESSEL))
    return [
        *made,
        paint(tube(beside, [5.0, 4.8, 4.6, 4.2, 4.0, 3.0, 2.5, 2.2]), "venous blood", Layer.VESSEL),
    ]


def placed(
    person: Person, side: int, points: tuple[tuple[float, float, float], ...]
) -> list[tuple[float, float, float]]:
    """Points of the right leg as written, moved to the given side and with the leg's lateral offset."""
    return [mirrored((x + person.turned_out_mm(z), y, z), side) for x, y, z in points]


def _thigh_bone(person: Person, side: int) -> list[Paint]:
    """Femoral head in its socket, neck at about 125° to the shaft, trochanters, shaft, condyles; or a metal
    hip."""
    wide = 1.06 if person.female else 1.0
    head = (88.0 * wide, -2.0, 932.0)
    new = (
        _metal_hip(person, side, head) if ("right hip" if side > 0 else "left hip") in person.missing else []
    )
    neck = tube(placed(person, side, (head, (114, -8, 912), (132, -12, 892))), [17, 15, 19])
    shaft = tube(
        placed(
            person, side,
            ((131, -12, 895), (124, -4, 850), (117, 11, 740), (107, 8, 620), (100, -2, 555), (98, -6, 515)),
        ),
        [19, 15.5, 13.5, 14, 19, 31],
    )
    made = [paint(Ellipsoid(mirrored(head, side), (27.0, 27.0, 27.0)), "cartilage", Layer.BONE)]
    made += bone(Ellipsoid(mirrored(head, side), (24.0, 24.0, 24.0)), 1.8, "yellow marrow")
    made += bone(neck, 2.5, "yellow marrow") + bone(
        tube(placed(person, side, ((138, -18, 915), (138, -18, 890))), [12, 15]), 2.0, "yellow marrow"
    )
    made += bone(tube(placed(person, side, ((112, -24, 868), (120, -10, 860))), 9.0), 2.0, "yellow marrow")
    return new + made + bone(shaft, 5.5, "yellow marrow") + _flare(person, side, (98, -4, 520), (30, 24, 42))


def _metal_hip(person: Person, side: int, head: tuple[float, float, float]) -> list[Paint]:
    """Cup, head and stem of a prosthesis, and 12 mm of signal void around them (spin echoes show less of it,
    gradient echoes more)."""
    stem = tube(
        placed(person, side, (head, (112, -8, 912), (128, -8, 880), (120, 0, 770))), [25.0, 11.0, 9.0, 6.0]
    )
    return [
        paint(
            stem.shrunk(-12.0), "metal", Layer.DETAIL,
            over=tuple(t.name for t in TISSUES if t.name not in ("air", "skin", "fat")),
        )
    ]


def _flare(
    person: Person, side: int, at: tuple[float, float, float], semi: tuple[float, float, float]
) -> list[Paint]:
    """The metaphysis of a long bone: thin cortex around much marrow."""
    return bone(Ellipsoid(placed(person, side, (at,))[0], semi), 1.6, "yellow marrow")


def _knee(person: Person, side: int) -> list[Paint]:
    made: list[Paint] = []
    for inner in (-21, 21):
        condyle = Ellipsoid(placed(person, side, ((98 + inner, -8, 499),))[0], (20.0, 31.0, 22.0))
        made += [paint(condyle.shrunk(-2.8), "cartilage", Layer.BONE), *bone(condyle, 1.5, "yellow marrow")]
        made.append(
            paint(
                Ellipsoid(placed(person, side, ((98 + 1.2 * inner, -6, 474),))[0], (17.0, 24.0, 4.0)),
                "tendon", Layer.BONE,
            )
        )
    plateau = Ellipsoid(placed(person, side, ((98, -8, 452),))[0], (39.0, 27.0, 18.0), square=0.5)
    made += [paint(plateau.shrunk(-2.2), "cartilage", Layer.BONE), *bone(plateau, 1.6, "yellow marrow")]
    made += bone(
        Ellipsoid(placed(person, side, ((98, 40, 512),))[0], (22.0, 10.0, 22.0), square=0.3), 1.6,
        "yellow marrow",
    )
    made.append(paint(tube(placed(person, side, ((98, 44, 494), (98, 36, 440))), 5.0), "tendon", Layer.BONE))
    made.append(
        paint(tube(placed(person, side, ((98, 40, 530), (98, 36, 590))), [6.0, 4.0]), "tendon", Layer.BONE)
    )
    made.append(
        paint(tube(placed(person, side, ((92, -22, 502), (102, 4, 470))), 4.5), "tendon", Layer.DETAIL)
    )
    pad = Ellipsoid(placed(person, side, ((98, 28, 474),))[0], (22.0, 13.0, 20.0))
    return [paint(pad, "fat", Layer.SEAM), *made]


def _shin(person: Person, side: int) -> list[Paint]:
    # Sharp in front, flat at the medial side, which only skin and fat cover.
    rows = (
        (82, 90, -6, 20), (110, 88, -2, 14.5), (200, 88, 9, 11.5), (320, 92, 15, 13.5), (400, 96, 7, 19),
        (440, 98, -4, 30),
    )
    table = tuple(
        (z, side * (x + person.turned_out_mm(z)), y, 0.95 * r, 0.95 * r, 1.1 * r, 0.95 * r)
        for z, x, y, r in rows
    )
    tibia = Outline(table, (0.0, 0.2))
    fibula = tube(
        placed(
            person, side, ((132, -24, 438), (128, -20, 400), (122, -14, 250), (116, -14, 120), (116, -14, 66))
        ),
        [11, 6.5, 6, 7, 11],
    )
    return (
        bone(tibia, 4.2, "yellow marrow")
        + _flare(person, side, (98, -5, 436), (33, 23, 26))
        + bone(fibula, 2.4, "yellow marrow")
    )


def _foot(person: Person, side: int) -> list[Paint]:
    """Heel, talus, midfoot, metatarsals and toes; in a supine person the forefoot points forwards and
    down."""
    heel = tube(
        placed(
            person, side,
            ((92, -42, 28), (92, -20, 44), (96, 30, 42), (104, 85, 28), (108, 130, 19), (108, 148, 15)),
        ),
        [28, 32, 30, 25, 17, 13],
    )
    made = [
        paint(heel, "skin", Layer.SKIN), paint(heel.shrunk(2.0), "fat", Layer.FAT),
        paint(heel.shrunk(6.0), "muscle", Layer.MUSCLE),
    ]
    made += bone(tube(placed(person, side, ((92, -46, 30), (94, 0, 38))), [18, 15]), 1.8, "yellow marrow")
    made += bone(
        Ellipsoid(placed(person, side, ((92, -2, 62),))[0], (20.0, 26.0, 15.0)), 1.6, "yellow marrow"
    )
    made += bone(
        Ellipsoid(placed(person, side, ((98, 38, 46),))[0], (26.0, 20.0, 13.0), square=0.4), 1.6,
        "yellow marrow",
    )
    for ray in range(5):
        x = 86 + 10.5 * ray
        made += bone(
            tube(
                placed(person, side, ((x, 56, 40 - 3 * ray), (x + 2, 100, 26 - 2 * ray), (x + 2, 116, 20))),
                [5.5, 4.5, 5.5],
            ),
            1.4,
            "yellow marrow",
        )
    achilles = tube(placed(person, side, ((92, -38, 180), (92, -46, 100), (92, -52, 50))), [3.0, 4.5, 5.0])
    return [*made, paint(achilles, "tendon", Layer.BONE)]


def arms(person: Person, fine: bool = False) -> list[Paint]:
    """Both arms in the person's posture, with humerus, forearm bones and hand; `fine` as in `shoulder`, with
    broader shoulders."""
    made: list[Paint] = []
    for side in (1, -1):
        shoulder, elbow, wrist, palm, tips = (
            mirrored(point, side) for point in _arm_joints(person, side, fine)
        )
        thick, fat = person.brawn, 0.45 * person.fat_mm * person.figure.arms
        made += limb(
            tube(
                [shoulder, _between(shoulder, elbow, 0.35), _between(shoulder, elbow, 0.8), elbow],
                [46 * thick, 42 * thick, 36 * thick, 36 * thick],
                step_mm=60,
            ),
            fat,
        )
        made += limb(
            tube([elbow, _between(elbow, wrist, 0.3), wrist], [36 * thick, 37 * thick, 23.0], step_mm=60),
            0.6 * fat,
        )
        hand = tube([wrist, palm, tips], [22.0, 21.0, 9.0]) | tube(
            [_nudged(palm, wrist, 12), _nudged(palm, tips, 30)], [21.0, 16.0]
        )
        made += [
            paint(hand, "skin", Layer.SKIN),
            paint(hand.shrunk(2.0), "fat", Layer.FAT),
            paint(hand.shrunk(4.5), "muscle", Layer.MUSCLE),
        ]
        made += _arm_bones(side, shoulder, elbow, wrist, palm, tips)
    return made


def broad(person: Person) -> float:
    """Shoulder width relative to a man's."""
    return 0.95 if person.female else 1.0


def upper_arm(
    person: Person, side: int, fine: bool
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """The ends of an upper arm: shoulder and elbow."""
    shoulder, elbow = _arm_joints(person, side, fine)[:2]
    return mirrored(shoulder, side), mirrored(elbow, side)


def _arm_joints(person: Person, side: int, fine: bool) -> tuple[tuple[float, float, float], ...]:
    """Shoulder, elbow, wrist, palm and finger tips in coordinates of the right arm; the caller mirrors them
    for the left."""
    rng = person.generator(41 + side)
    out = max(person.fat_mm * 1.1 - 8, 0.0) + max(0.35 * person.belly_mm, 0.0) + float(rng.uniform(0, 14))
    wall = max(person.build.wall_mm(1105.0), 0.0)
    out += person.figure.wider_mm(person.fat_mm) + wall
    up = person.borders.shoulders_mm
    shoulder = ((184.0 if fine else 168.0) * broad(person), -12.0, 1398.0 + up)
    y = float(rng.uniform(-18, 10))
    if person.arms == "raised":
        lean = float(rng.uniform(-20, 25))
        return (
            shoulder, (225 + lean, 10 + y, 1655 + up), (165 + lean, 30 + y, 1880 + up),
            (140 + lean, 34 + y, 1950 + up), (120 + lean, 36 + y, 2040 + up),
        )
    if person.arms == "folded":
        front = 128 + person.fat_mm + person.belly_mm + person.figure.deeper_mm(person.fat_mm) + 0.5 * wall
        return (
            shoulder, (206 + out, 0, 1105 + up), (98, front, 1082 + y), (58, front + 4, 1088 + y),
            (10, front + 2, 1098 + y),
        )
    return (
        shoulder, (206 + out, -8 + y, 1105 + up), (224 + out, 8 + y, 862 + up), (226 + out, 12 + y, 790 + up),
        (222 + out, 20 + y, 695 + up),
    )


def _arm_bones(
    side: int,
    shoulder: tuple[float, ...],
    elbow: tuple[float, ...],
    wrist: tuple[float, ...],
    palm: tuple[float, ...],
    tips: tuple[float, ...],
) -> list[Paint]:
    s, e, w = np.array(shoulder), np.array(elbow), np.array(wrist)
    head = (float(s[0] - 12 * side), float(s[1]), float(s[2] + 4))
    made = [
        paint(Ellipsoid(head, (26.0, 26.0, 26.0)), "cartilage", Layer.BONE),
        *bone(Ellipsoid(head, (23.5, 23.5, 23.5)), 1.8, "yellow marrow"),
    ]
    made += bone(
        tube([head, s + 0.22 * (e - s), s + 0.8 * (e - s), e], [17, 11, 11, 20]), 3.4, "yellow marrow"
    )
    across = np.cross(w - e, [0.0, 1.0, 0.0])
    across *= 12 / np.linalg.norm(across)
    made += bone(
        tube([e + across, (e + w) / 2 + across, w + across * 0.8], [11, 7.0, 11]), 2.4, "yellow marrow"
    )
    made += bone(
        tube([e - across, (e + w) / 2 - across, w - across * 0.8], [12, 6.5, 8]), 2.4, "yellow marrow"
    )
    for ray in np.linspace(-1.1, 1.1, 4):
        made += bone(
            tube(
                [w + across * 0.6 * ray, np.array(palm) + across * ray, np.array(tips) + across * 0.5 * ray],
                [6, 4.5, 3.0],
            ),
            1.3,
            "yellow marrow",
        )
    return made


def _between(a: tuple[float, ...], b: tuple[float, ...], t: float) -> tuple[float, float, float]:
    """The point a share t of the way from a to b."""
    x, y, z = ((1 - t) * p + t * q for p, q in zip(a, b, strict=True))
    return x, y, z


def _nudged(a: tuple[float, ...], b: tuple[float, ...], mm: float) -> tuple[float, float, float]:
    """The point `mm` from a towards b."""
    return _between(a, b, mm / float(np.linalg.norm(np.subtract(b, a))))
