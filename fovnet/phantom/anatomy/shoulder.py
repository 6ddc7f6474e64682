"""Inner structure of the shoulder: scapula with the four muscles of the rotator cuff, deltoid, axilla, and
the humerus in its socket.

In mm of the right shoulder as written, x before scaling to a woman's narrower shoulders.  The scapula is
rotated 40° forwards from the frontal plane.  Sizes: biacromial breadth 40 cm in men and 36 in women (Gordon
et al. (1989), ANSUR); humeral head 24 mm in radius, socket 36 x 26 mm (Iannotti et al. (1992), J Bone Joint
Surg Am 74:491); scapula 155 mm high and 105 wide.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from fovnet.phantom.anatomy import limbs
from fovnet.phantom.anatomy.layers import (
    Layer,
    Paints,
    beside,
    bone,
    covered,
    detail,
    on_side,
    paint,
    paints,
    seam,
)
from fovnet.phantom.anatomy.trunk import girdle, on_table
from fovnet.phantom.geometry.solids import Ellipsoid, Point, Side, Solid, Tube, tube
from fovnet.phantom.geometry.tissue_structure import Walls
from fovnet.phantom.person.traits import Person

HEAD: Point = (172.0, -12.0, 1402.0)
"""Middle of the humeral head."""
HEAD_MM = 24.0
BLADE: Point = (110.0, -69.0, 1366.0)
BLADE_DEG = 40.0
SLEEVE_MM = 1.8  # of fat around a muscle, before additions for age and weight

SHEETS: tuple[tuple[Point, Point], ...] = (
    # position along the scapula (outwards), in front of it, above its middle; half sizes along, across, up
    ((2.0, 13.0, -2.0), (50.0, 10.5, 60.0)),  # subscapularis
    ((4.0, -12.5, -14.0), (49.0, 11.0, 47.0)),  # infraspinatus
)
"""The two flat muscles on the faces of the scapula."""

BELLIES: tuple[tuple[tuple[Point, ...], tuple[float, ...]], ...] = (
    # supraspinatus
    (((76, -88, 1424), (108, -62, 1428), (136, -40, 1430), (156, -24, 1431)), (6, 11, 10, 4)),
    # subscapularis, towards its tendon
    (((112, -40, 1404), (140, -10, 1402), (160, 12, 1400)), (13, 10, 4)),
    # infraspinatus, towards its tendon
    (((128, -62, 1396), (156, -42, 1406), (176, -36, 1408)), (13, 10, 4)),
    # teres minor
    (((104, -92, 1330), (140, -62, 1366), (172, -40, 1384)), (7, 9, 6)),
    # teres major with latissimus
    (((94, -92, 1302), (134, -56, 1326), (164, -12, 1342)), (10, 13, 6)),
    # pectoralis minor
    (((153, 22, 1412), (124, 52, 1376), (96, 74, 1340)), (4, 9, 8)),
    # coracobrachialis, short head of biceps
    (((156, 20, 1408), (170, 14, 1370), (180, 6, 1310)), (4, 8, 9)),
)
"""Bellies of the shoulder: points and radii."""

TENDONS: tuple[tuple[tuple[Point, ...], float], ...] = (
    # supraspinatus, over the head
    (((150, -26, 1431), (166, -16, 1431.5), (182, -12, 1426), (192, -12, 1414)), 3.0),
    # subscapularis, before it
    (((148, 4, 1402), (164, 14, 1402), (178, 13, 1400)), 3.0),
    # infraspinatus, behind it
    (((160, -40, 1408), (176, -36, 1410), (190, -26, 1410)), 3.0),
    # long head of biceps, over it and in its groove
    (((156, -20, 1428), (176, 0, 1427), (189, 9, 1410), (190, 10, 1370)), 2.2),
)
"""Tendons of the cuff and of biceps: points, radius."""


def parts(person: Person) -> Paints:
    """Both shoulders, over a trunk and arms that were painted before with the joint at HEAD."""
    for side in (1, -1):
        yield from on_side(_outside(person), side)
        yield from on_side(_armpit(person, side), side)
        yield from _muscles(person, side)
        yield from _arm(person, side)
        yield from on_side(blade(person), side)
        yield from on_side(_joint(person, side), side)


def _oval(
    person: Person, at: Point, semi: Point, turn: Point = (0.0, 0.0, 0.0), square: float = 0.0
) -> Ellipsoid:
    return Ellipsoid(girdle(person, (at,), limbs.broad(person))[0], semi, turn, square)


def _line(
    person: Person, points: tuple[Point, ...], radii: ArrayLike, step_mm: float | None = None
) -> Tube:
    return tube(girdle(person, points, limbs.broad(person)), radii, step_mm=step_mm)


def _by_the_blade(person: Person, at: Point, semi: Point, lean_deg: float = 0.0) -> Ellipsoid:
    """An ellipsoid rotated as the scapula is, at `at` mm along it, in front of it and above its middle."""
    (along, ahead, up), turn = at, np.deg2rad(BLADE_DEG)
    x, y = along * np.cos(turn) - ahead * np.sin(turn), along * np.sin(turn) + ahead * np.cos(turn)
    middle = (BLADE[0] + float(x), BLADE[1] + float(y), BLADE[2] + up)
    return _oval(person, middle, semi, (0.0, lean_deg, BLADE_DEG))


def mound(person: Person) -> Solid:
    """The part of the right shoulder outside the muscular trunk: deltoid, scapula with its muscles, pectoral
    fold, slope of trapezius."""
    stout = 0.5 + 0.5 * person.brawn
    cap = _oval(person, (150, -14, 1398), (64, 48 * stout, 49.0), square=0.1)
    behind = _by_the_blade(person, (8.0, -2.0, -10.0), (64.0, 31.0 * stout, 78.0), -18.0)
    fold = _oval(person, (140, 14, 1368), (62, 37 * stout, 62), (0, 0, -24))
    slope = _oval(person, (92, -42, 1412), (78, 34, 36), (0, 14, 14))
    return cap | behind | fold | slope


def _outside(person: Person) -> Paints:
    whole = mound(person)
    yield from covered(whole, 0.45 * person.fat_mm * person.figure.arms, partial(on_table, person))
    yield paint(on_table(person, whole, 3.5 + 0.2 * person.fat_mm), "muscle", Layer.MUSCLE)


def _armpit(person: Person, side: int) -> Paints:
    """Fat between pectorals, scapula and ribs, with lymph nodes, vessels and nerves."""
    rng = person.generator(940 + (side > 0))
    wide = 6.0 + 0.3 * min(person.fat_mm, 30.0) + rng.uniform(0, 5)
    pit = _oval(person, (146, -2, 1366), (wide + 8, 22 + 0.3 * wide, 46), (0, -14, 24))
    high = _oval(person, (122, 14, 1404), (24, 7 + 0.35 * wide, 17), (0, 0, -24))
    yield from paints((pit, high), "fat", Layer.SEAM, over=("muscle", "intermuscular fat"))
    for _ in range(rng.integers(1, 5)):
        dx, dy, dz = (rng.uniform(-1, 1, 3) * (0.6 * wide, 14, 26)).tolist()
        node = _oval(person, (144 + dx, -2 + dy, 1362 + dz), (3.0, 3.5, rng.uniform(4, 7)))
        yield paint(node, "spleen", Layer.VESSEL, over="fat")
    yield from _cords(person)


def _cords(person: Person) -> Paints:
    """Axillary artery and the brachial plexus beside it, from behind the clavicle to the arm."""
    way = ((30, -2, 1436), (78, 10, 1432), (122, 12, 1412), (150, 2, 1380), (164, -8, 1340))
    around = ("muscle", "intermuscular fat")
    yield paint(_line(person, way, (6.0, 8.0, 11.0, 11.0, 9.0)), "fat", Layer.SEAM, over=around)
    yield paint(_line(person, way, (4.2, 4.2, 3.8, 3.6, 3.0)), "arterial blood", Layer.VESSEL)
    for dy, dz in ((-7.0, 3.0), (-2.0, 7.0), (6.0, 3.0)):
        nerve = _line(person, tuple((x + 1.0, y + dy, z + dz) for x, y, z in way), 1.8)
        yield paint(nerve, "spinal cord", Layer.VESSEL, over=("fat", *around))


def _muscles(person: Person, side: int) -> Paints:
    """The cuff on both faces of the scapula and its neighbours, each in a sleeve of fat; they atrophy with
    age and disuse."""
    sleeve = SLEEVE_MM + 6 * person.marbling + 3.0 * max(0.0, 1 - person.brawn)
    stout, rng = 1 + 0.8 * (person.brawn - 1), person.generator(944)
    inside = ("muscle", "intermuscular fat", "fat")
    right: list[Ellipsoid | Tube] = [
        *(_by_the_blade(person, at, (a, b * stout, c)) for at, (a, b, c) in SHEETS),
        *(_line(person, points, [radius * stout for radius in radii]) for points, radii in BELLIES),
    ]
    bellies = right if side > 0 else [belly.mirror() for belly in right]
    sleeves = (beside(belly, sleeve, rng) for belly in bellies)
    yield from map(seam, sleeves)
    yield from paints(bellies, "muscle", Layer.SEAM, over=inside)
    cords = (_line(person, *cord) for cord in TENDONS)
    yield from on_side(paints(cords, "tendon", Layer.MARROW, over=(*inside, "cartilage")), side)


def _arm(person: Person, side: int) -> Paints:
    """The fat plane under the deltoid, and the fat between the muscles of the upper arm."""
    shoulder, elbow = np.array(limbs.arm_joints(person, side, True)[:2])
    head = np.array(_oval(person, HEAD, (HEAD_MM,) * 3).centre) * (side, 1, 1)
    down = elbow - shoulder
    within = tube(
        [head + share * down for share in (0, 0.14, 0.3, 0.46)], [HEAD_MM + 10.0, 31.0, 25.0, 12.0]
    )
    thick = 0.9 + 4 * person.marbling + 0.02 * person.fat_mm
    outer = Side((-float(side), 0.0, 0.0), -(abs(float(head[0])) - 4.0))
    plane = (within.shrunk(-thick) - within) & outer
    lines = []
    # biceps, brachialis, the three heads of triceps
    for x, y in ((0, 22), (9, 9), (17, -12), (-9, -14), (2, -27)):
        ends = [
            tuple((shoulder + share * down + (side * x, y, 0.0)).tolist()) for share in (0.3, 0.95)
        ]
        lines.append(tuple(sorted(ends, key=lambda point: point[2])))
    walls = Walls(tuple(lines), 0.8 * thick, 30.0)
    yield from map(seam, (plane, walls))


def blade(person: Person) -> Paints:
    """Scapula: a thin plate with thick borders, its spine rising to the acromion, and the coracoid; the
    clavicle that meets them."""
    plate = _by_the_blade(person, (-4.0, 0.0, 0.0), (50.0, 3.0, 70.0))
    outwards, down = 0.88, -0.476  # the lateral border ends the bone
    x, _, z = _oval(person, (146, 0, 1380), (1, 1, 1)).centre
    wing = plate & Side((outwards, 0.0, down), float(np.dot((outwards, down), (x, z))))
    ridge = ((76, -100, 1412), (112, -80, 1424), (146, -60, 1436), (170, -44, 1440))
    base = ((82, -93, 1411), (114, -68, 1416), (140, -46, 1418))
    collar = ((16, 62, 1418), (64, 58, 1428), (118, 26, 1436), (163, -9, 1440))
    for solid, cortex_mm in (
        (wing, 1.5),
        (_line(person, ((147, -39, 1392), (128, -56, 1352), (100, -82, 1304)), (7, 5.5, 4)), 1.7),
        (_line(person, ridge, (3.5, 4.0, 4.5, 6.5)), 1.6),
        *((_line(person, _between(ridge, base, share), 2.4), 1.2) for share in (0.35, 0.7)),
        (_oval(person, (177, -26, 1439), (14, 23, 5.2), (0, -8, -14), square=0.3), 1.5),
        (_line(person, ((146, -22, 1420), (146, 2, 1426), (155, 20, 1414)), (8, 6.5, 5)), 1.6),
        (_line(person, collar, (9, 6, 5.5, 6.5), 25), 1.7),
    ):
        yield from bone(solid, cortex_mm)


def _between(
    first: tuple[Point, ...], second: tuple[Point, ...], share: float
) -> tuple[Point, ...]:
    """The points a share of the way from each point of the first to that of the second."""
    return tuple(
        tuple(a + share * (b - a) for a, b in zip(one, other, strict=True))
        for one, other in zip(first, second, strict=False)
    )


def _joint(person: Person, side: int) -> Paints:
    """Socket with its labrum, humeral head with two tuberosities and the scar of the growth plate, joint
    fluid, of the right side with the traits of the given one."""
    rng, oval = person.generator(942 + (side > 0)), partial(_oval, person)
    fluid = rng.uniform(0.3, 1.2) + 0.015 * max(person.age - 50, 0)
    red = rng.random() < 0.9 - 0.008 * person.age
    head, around = oval(HEAD, (HEAD_MM,) * 3), oval(HEAD, (HEAD_MM + 4.2,) * 3)
    turn = (0.0, 0.0, BLADE_DEG - 5.0)
    socket = oval((149, -28, 1402), (11.5, 14, 19), turn, square=0.3) - around
    neck = _line(person, ((128, -50, 1398), (143, -34, 1401)), (8.0, 11.5)) - around
    lip = oval((153, -26, 1402), (5.0, 17, 22), turn) - around.shrunk(2.0)
    away = (0.74, 0.5, -0.45)  # away from the socket, where the head has no cartilage
    facing = Side(away, float(np.dot(away, head.centre)) + 4.0)
    yield paint(around.shrunk(2.0 - 0.5 * fluid) & facing, "joint fluid", Layer.CONTENT)
    yield paint(oval((166, -10, 1376), (12, 14, 3 + 3 * fluid)), "joint fluid", Layer.CONTENT)
    yield paint(lip, "tendon", Layer.BONE)
    yield from bone(socket, 1.6)
    yield from bone(neck, 1.6)
    yield paint(head.shrunk(-2.0) & facing, "cartilage", Layer.BONE)
    greater = oval(_turned(person, (14, -3, -3)), (11.5, 16, 18))
    lesser = oval(_turned(person, (7, 21, -6)), (8, 7, 13))
    metaphysis = oval(_turned(person, (5, 1, -18)), (18, 17, 22))
    for solid in (head, greater, lesser, metaphysis):
        yield from bone(solid, 1.6, "yellow marrow")
    if red:
        yield paint(metaphysis.shrunk(4.0), "mixed marrow", Layer.MARROW, over="yellow marrow")
    above, below = (
        oval(_turned(person, at), (19, 18, 6), (0, 30, 0)) for at in ((4, 0, -11), (4.6, 0, -12.2))
    )
    growing = "red marrow" if person.age > 20 else "cartilage"
    yield detail(above - below, growing, over=("yellow marrow", "mixed marrow"))


def _turned(person: Person, from_head: Point) -> Point:
    """Position of a point of the proximal humerus, given in mm from the middle of its head for a hanging arm:
    a raised arm rotates it."""
    dx, dy, dz = from_head
    if person.arms == "raised":
        dx, dz = -0.3 * dx, -dz
    return HEAD[0] + dx, HEAD[1] + dy, HEAD[2] + dz
