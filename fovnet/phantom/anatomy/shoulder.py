"""Inner structure of the shoulder: scapula with the four muscles of the rotator cuff, deltoid, axilla, and
the humerus in its socket.

In mm of the right shoulder as written, x before scaling to a woman's narrower shoulders.  The scapula is
rotated 40° forwards from the frontal plane.  Sizes: biacromial breadth 40 cm in men and 36 in women (Gordon
et al. (1989), ANSUR); humeral head 24 mm in radius, socket 36 x 26 mm (Iannotti et al. (1992), J Bone Joint
Surg Am 74:491); scapula 155 mm high and 105 wide.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy import limbs
from fovnet.phantom.anatomy.layers import Layer, beside, bone, paint
from fovnet.phantom.anatomy.trunk import on_table
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Side, Solid, Tube, mirrored, tube
from fovnet.phantom.geometry.tissue_structure import Line, Walls
from fovnet.phantom.person.traits import Person

Point = tuple[float, float, float]

HEAD: Point = (172.0, -12.0, 1402.0)
"""Middle of the humeral head."""
HEAD_MM = 24.0
BLADE: Point = (110.0, -69.0, 1366.0)
BLADE_DEG = 40.0
SLEEVE_MM = 1.8     # of fat around a muscle, before additions for age and weight

SHEETS: tuple[tuple[Point, Point], ...] = (
    # position along the scapula (outwards), in front of it, above its middle; half sizes along, across, up
    ((2.0, 13.0, -2.0), (50.0, 10.5, 60.0)),        # subscapularis
    ((4.0, -12.5, -14.0), (49.0, 11.0, 47.0)),      # infraspinatus
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


def parts(person: Person) -> list[Paint]:
    """Both shoulders, over a trunk and arms that were painted before with the joint at HEAD."""
    made: list[Paint] = []
    for side in (1, -1):
        made += _outside(person, side) + _armpit(person, side) + _muscles(person, side) + _arm(person, side)
        made += blade(person, side) + _joint(person, side)
    return made


def _place(person: Person, side: int, points: tuple[Point, ...]) -> list[Point]:
    raised = person.borders.girdle_mm
    return [mirrored((x * limbs.broad(person), y, z + raised(x)), side) for x, y, z in points]


def _oval(
    person: Person, side: int, at: Point, semi: Point, turn: Point = (0.0, 0.0, 0.0), square: float = 0.0
) -> Ellipsoid:
    a, b, c = turn
    return Ellipsoid(_place(person, side, (at,))[0], semi, (a, side * b, side * c), square)


def _line(person: Person, side: int, points: tuple[Point, ...], radii: float | tuple[float, ...]) -> Tube:
    return tube(_place(person, side, points), radii)


def _by_the_blade(person: Person, side: int, at: Point, semi: Point, lean_deg: float = 0.0) -> Ellipsoid:
    """An ellipsoid rotated as the scapula is, at `at` mm along it, in front of it and above its middle."""
    (along, ahead, up), turn = at, np.deg2rad(BLADE_DEG)
    x, y = along * np.cos(turn) - ahead * np.sin(turn), along * np.sin(turn) + ahead * np.cos(turn)
    return _oval(
        person, side, (BLADE[0] + float(x), BLADE[1] + float(y), BLADE[2] + up), semi,
        (0.0, lean_deg, BLADE_DEG),
    )


def mound(person: Person, side: int) -> Solid:
    """The part of the shoulder outside the muscular trunk: deltoid, scapula with its muscles, pectoral fold,
    slope of trapezius."""
    stout = 0.5 + 0.5 * person.brawn
    cap = _oval(person, side, (150, -14, 1398), (64, 48 * stout, 49.0), square=0.1)
    behind = _by_the_blade(person, side, (8.0, -2.0, -10.0), (64.0, 31.0 * stout, 78.0), -18.0)
    fold = _oval(person, side, (140, 14, 1368), (62, 37 * stout, 62), (0, 0, -24))
    slope = _oval(person, side, (92, -42, 1412), (78, 34, 36), (0, 14, 14))
    return cap | behind | fold | slope


def _outside(person: Person, side: int) -> list[Paint]:
    whole, fat = mound(person, side), 0.45 * person.fat_mm * person.figure.arms
    return [
        paint(on_table(person, whole.shrunk(-fat - 1.8)), "skin", Layer.SKIN),
        paint(on_table(person, whole.shrunk(-fat), 1.8), "fat", Layer.FAT),
        paint(on_table(person, whole, 3.5 + 0.2 * person.fat_mm), "muscle", Layer.MUSCLE),
    ]


def _armpit(person: Person, side: int) -> list[Paint]:
    """Fat between pectorals, scapula and ribs, with lymph nodes, vessels and nerves."""
    rng = person.generator(940 + (side > 0))
    wide = 6.0 + 0.3 * min(person.fat_mm, 30.0) + float(rng.uniform(0, 5))
    pit = _oval(person, side, (146, -2, 1366), (wide + 8, 22 + 0.3 * wide, 46), (0, -14, 24))
    high = _oval(person, side, (122, 14, 1404), (24, 7 + 0.35 * wide, 17), (0, 0, -24))
    made = [paint(solid, "fat", Layer.SEAM, over=("muscle", "intermuscular fat")) for solid in (pit, high)]
    for _ in range(int(rng.integers(1, 5))):
        dx, dy, dz = rng.uniform(-1, 1, 3) * (0.6 * wide, 14, 26)
        node = _oval(person, side, (144 + dx, -2 + dy, 1362 + dz), (3.0, 3.5, float(rng.uniform(4, 7))))
        made.append(paint(node, "spleen", Layer.VESSEL, over=("fat",)))
    return made + _cords(person, side)


def _cords(person: Person, side: int) -> list[Paint]:
    """Axillary artery and the brachial plexus beside it, from behind the clavicle to the arm."""
    way: tuple[Point, ...] = (
        (30, -2, 1436), (78, 10, 1432), (122, 12, 1412), (150, 2, 1380), (164, -8, 1340),
    )
    sleeve = paint(
        _line(person, side, way, (6.0, 8.0, 11.0, 11.0, 9.0)), "fat", Layer.SEAM,
        over=("muscle", "intermuscular fat"),
    )
    made = [
        sleeve,
        paint(_line(person, side, way, (4.2, 4.2, 3.8, 3.6, 3.0)), "arterial blood", Layer.VESSEL),
    ]
    for dy, dz in ((-7.0, 3.0), (-2.0, 7.0), (6.0, 3.0)):
        nerve = tuple((x + 1.0, y + dy, z + dz) for x, y, z in way)
        made.append(
            paint(
                _line(person, side, nerve, 1.8), "spinal cord", Layer.VESSEL,
                over=("fat", "muscle", "intermuscular fat"),
            )
        )
    return made


def _muscles(person: Person, side: int) -> list[Paint]:
    """The cuff on both faces of the scapula and its neighbours, each in a sleeve of fat; they atrophy with
    age and disuse."""
    sleeve = SLEEVE_MM + 6 * person.marbling + 3.0 * max(0.0, 1 - person.brawn)
    stout = 1 + 0.8 * (person.brawn - 1)
    inside, made = ("muscle", "intermuscular fat", "fat"), []
    bellies: list[Ellipsoid | Tube] = [
        _by_the_blade(person, side, at, (a, b * stout, c)) for at, (a, b, c) in SHEETS
    ]
    bellies += [
        _line(person, side, points, tuple(radius * stout for radius in radii)) for points, radii in BELLIES
    ]
    rng = person.generator(944)
    made += [
        paint(beside(belly, sleeve, rng), "intermuscular fat", Layer.SEAM, over=inside[:1])
        for belly in bellies
    ]
    made += [paint(belly, "muscle", Layer.SEAM, over=inside) for belly in bellies]
    return made + [
        paint(_line(person, side, *cord), "tendon", Layer.MARROW, over=(*inside, "cartilage"))
        for cord in TENDONS
    ]


def _arm(person: Person, side: int) -> list[Paint]:
    """The fat plane under the deltoid, and the fat between the muscles of the upper arm."""
    shoulder, elbow = limbs.upper_arm(person, side, True)
    head = np.array(_place(person, side, (HEAD,))[0])
    down = elbow - np.array(shoulder)
    within = tube(
        [head, head + 0.14 * down, head + 0.3 * down, head + 0.46 * down], [HEAD_MM + 10.0, 31.0, 25.0, 12.0]
    )
    thick = 0.9 + 4 * person.marbling + 0.02 * person.fat_mm
    outer = Side((-float(side), 0.0, 0.0), -(abs(float(head[0])) - 4.0))
    plane = (within.shrunk(-thick) - within) & outer
    lines: list[Line] = []
    # biceps, brachialis, the three heads of triceps
    for x, y in ((0, 22), (9, 9), (17, -12), (-9, -14), (2, -27)):
        ends = [
            tuple((np.array(shoulder) + share * down + (side * x, y, 0.0)).tolist()) for share in (0.3, 0.95)
        ]
        lines.append(tuple(sorted(ends, key=lambda point: float(point[2]))))
    walls = Walls(tuple(lines), 0.8 * thick, 30.0)
    return [paint(solid, "intermuscular fat", Layer.SEAM, over=("muscle",)) for solid in (plane, walls)]


def blade(person: Person, side: int) -> list[Paint]:
    """Scapula: a thin plate with thick borders, its spine rising to the acromion, and the coracoid; the
    clavicle that meets them."""
    plate = _by_the_blade(person, side, (-4.0, 0.0, 0.0), (50.0, 3.0, 70.0))
    slope = np.array([0.88, -0.476])          # outwards and down: the lateral border ends the bone
    x, _, z = _place(person, side, ((146, 0, 1380),))[0]
    wing = plate & Side((side * float(slope[0]), 0.0, float(slope[1])), float(slope @ (abs(x), z)))
    made = bone(wing, 1.5)
    made += bone(
        _line(person, side, ((147, -39, 1392), (128, -56, 1352), (100, -82, 1304)), (7, 5.5, 4)), 1.7
    )
    ridge: tuple[Point, ...] = ((76, -100, 1412), (112, -80, 1424), (146, -60, 1436), (170, -44, 1440))
    base: tuple[Point, ...] = ((82, -93, 1411), (114, -68, 1416), (140, -46, 1418))
    made += bone(_line(person, side, ridge, (3.5, 4.0, 4.5, 6.5)), 1.6)
    made += [
        made_of
        for share in (0.35, 0.7)
        for made_of in bone(_line(person, side, _between(ridge, base, share), 2.4), 1.2)
    ]
    made += bone(_oval(person, side, (177, -26, 1439), (14, 23, 5.2), (0, -8, -14), square=0.3), 1.5)
    made += bone(_line(person, side, ((146, -22, 1420), (146, 2, 1426), (155, 20, 1414)), (8, 6.5, 5)), 1.6)
    collar: tuple[Point, ...] = ((16, 62, 1418), (64, 58, 1428), (118, 26, 1436), (163, -9, 1440))
    return made + bone(tube(_place(person, side, collar), (9, 6, 5.5, 6.5), step_mm=25), 1.7)


def _between(first: tuple[Point, ...], second: tuple[Point, ...], share: float) -> tuple[Point, ...]:
    """The points a share of the way from each point of the first to that of the second."""
    pairs = zip(first, second, strict=False)
    return tuple(
        (a + share * (d - a), b + share * (e - b), c + share * (f - c)) for (a, b, c), (d, e, f) in pairs
    )


def _joint(person: Person, side: int) -> list[Paint]:
    """Socket with its labrum, humeral head with two tuberosities and the scar of the growth plate, joint
    fluid."""
    rng = person.generator(942 + (side > 0))
    fluid = float(rng.uniform(0.3, 1.2)) + 0.015 * max(person.age - 50, 0)
    red = rng.random() < 0.9 - 0.008 * person.age
    head, around = _oval(person, side, HEAD, (HEAD_MM,) * 3), _oval(person, side, HEAD, (HEAD_MM + 4.2,) * 3)
    turn = (0.0, 0.0, BLADE_DEG - 5.0)
    socket = _oval(person, side, (149, -28, 1402), (11.5, 14, 19), turn, square=0.3) - around
    neck = _line(person, side, ((128, -50, 1398), (143, -34, 1401)), (8.0, 11.5)) - around
    lip = _oval(person, side, (153, -26, 1402), (5.0, 17, 22), turn) - around.shrunk(2.0)
    away = (0.74 * side, 0.5, -0.45)                   # away from the socket, where the head has no cartilage
    facing = Side(away, float(np.dot(away, head.centre)) + 4.0)
    made = [paint(around.shrunk(2.0 - 0.5 * fluid) & facing, "joint fluid", Layer.CONTENT)]
    made += [
        paint(_oval(person, side, (166, -10, 1376), (12, 14, 3 + 3 * fluid)), "joint fluid", Layer.CONTENT)
    ]
    made += [paint(lip, "tendon", Layer.BONE), *bone(socket, 1.6), *bone(neck, 1.6)]
    made += [paint(head.shrunk(-2.0) & facing, "cartilage", Layer.BONE)]
    greater = _oval(person, side, _turned(person, (14, -3, -3)), (11.5, 16, 18))
    lesser = _oval(person, side, _turned(person, (7, 21, -6)), (8, 7, 13))
    metaphysis = _oval(person, side, _turned(person, (5, 1, -18)), (18, 17, 22))
    bones = (head, greater, lesser, metaphysis)
    made += [paint(solid, "cortical bone", Layer.BONE) for solid in bones]
    made += [paint(solid.shrunk(1.6), "yellow marrow", Layer.MARROW) for solid in bones]
    if red:
        made.append(paint(metaphysis.shrunk(4.0), "mixed marrow", Layer.MARROW, over=("yellow marrow",)))
    lines = [
        _oval(person, side, _turned(person, at), (19, 18, 6), (0, 30, 0))
        for at in ((4, 0, -11), (4.6, 0, -12.2))
    ]
    scar = lines[0] - lines[1]
    growing = "red marrow" if person.age > 20 else "cartilage"
    return [*made, paint(scar, growing, Layer.DETAIL, over=("yellow marrow", "mixed marrow"))]


def _turned(person: Person, from_head: Point) -> Point:
    """Position of a point of the proximal humerus, given in mm from the middle of its head for a hanging arm:
    a raised arm rotates it."""
    dx, dy, dz = from_head
    if person.arms == "raised":
        dx, dz = -0.3 * dx, -dz
    return HEAD[0] + dx, HEAD[1] + dy, HEAD[2] + dz
