"""The outline of the trunk, its muscles, and the skeleton from the skull base to the pelvis.

Lengths in mm of the written anatomy: x to the right, y to the front with 0 in the middle of the trunk, z from
the soles.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from fovnet.phantom.anatomy import breast, wings
from fovnet.phantom.anatomy.layers import (
    SKIN_MM,
    Layer,
    Paints,
    bone,
    both_sides,
    covered,
    detail,
    paint,
    seam,
)
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Point, Side, Solid, tube
from fovnet.phantom.person.organ_heights import RIBS_MM
from fovnet.phantom.person.traits import Person

# z, half width, front, back of the muscular trunk of a man; then factors on the fat at the waist for sides,
# front, back.
OUTLINE = (
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

# z, y of the middle of the spinal column: cervical and lumbar lordosis, thoracic kyphosis, concavity of the
# sacrum.
COLUMN_Z = np.array(
    [
        905.0,
        925.0,
        950.0,
        980.0,
        1005.0,
        1035.0,
        1090.0,
        1140.0,
        1180.0,
        1250.0,
        1320.0,
        1390.0,
        1455.0,
        1500.0,
        1540.0,
        1590.0,
    ]
)
COLUMN_Y = np.array(
    [
        -62.0,
        -74.0,
        -82.0,
        -72.0,
        -46.0,
        -32.0,
        -24.0,
        -30.0,
        -40.0,
        -50.0,
        -54.0,
        -46.0,
        -32.0,
        -22.0,
        -20.0,
        -28.0,
    ]
)


def column_y(z: float) -> float:
    """y of the middle of the vertebral bodies at a height."""
    return float(np.interp(z, COLUMN_Z, COLUMN_Y))


def muscular_trunk(person: Person) -> Loft:
    """The trunk under its fat, from the perineum into the head."""
    hips, shoulders = (1.03, 0.93) if person.female else (1.0, 1.0)
    rows, (heights, fronts) = [], zip(*((row[0], row[2]) for row in OUTLINE), strict=True)
    for z, a, _, back, *_ in OUTLINE:
        # the shoulders' slope and nape are higher in people who lie, the front of the chest is not
        high = z + person.borders.outline_mm(z)
        front = float(np.interp(high, heights, fronts))
        wide = hips if z < 1030 else shoulders if z > 1330 else 0.97 if person.female else 1.0
        stout = 1 + 0.35 * (person.brawn - 1)
        belly = person.belly_mm * float(np.exp(-(((z - 1095) / 85) ** 2)))
        more = person.build.wall_mm(z)
        beside = a * wide * stout + 0.35 * belly + person.build.waist(z) + more
        rows.append((high, 0.0, 0.0, beside, front * stout + belly + 0.5 * more, back * stout))
    return Loft(tuple(rows), square=person.figure.square, gives_way=person.figure.neck)


def under_skin(person: Person, skin_mm: float = 0.0) -> Loft:
    """The trunk with its fat, and with `skin_mm` of skin on it."""
    hips, figure = 1.35 if person.female else 1.0, person.figure
    rows = []
    for row, (z, _, _, _, sides, front, back) in zip(
        muscular_trunk(person).table, OUTLINE, strict=True
    ):
        fat = person.fat_mm * (hips if z < 1000 else 1.0)
        beside, ahead, behind = figure.trunk(z)
        share = float(np.interp(z, (870, 985, 1220, 1340), (0, 1, 1, 0)))
        right, sunk = figure.uneven_mm * share, figure.sunk_mm * share
        reaches = (
            row[3] + fat * sides * beside,
            row[4] + fat * front * ahead + sunk,
            row[5] + fat * back * behind - sunk,
        )
        rows.append(
            (row[0], row[1] + right, row[2] - sunk, *(reach + skin_mm for reach in reaches))
        )
    return Loft(tuple(rows), square=figure.outside, gives_way=figure.neck)


def wall(person: Person) -> Paints:
    """Skin, fat and muscle of the trunk, with buttocks and breasts."""
    muscle = muscular_trunk(person)
    yield paint(on_table(person, under_skin(person, SKIN_MM)), "skin", Layer.SKIN)
    yield paint(on_table(person, under_skin(person), SKIN_MM), "fat", Layer.FAT)
    yield paint(muscle, "muscle", Layer.MUSCLE)
    yield from _behind(person)
    if person.female:
        yield from breast.outside(person, muscle)


@both_sides
def _behind(person: Person) -> Paints:
    """A buttock, and the erector of the spine with its fat plane."""
    fat = person.fat_mm * (1.7 if person.female else 1.2) * person.figure.buttocks
    thick = 44.0 * person.brawn * person.build.hips
    gluteus = Ellipsoid((68.0, -84.0, 900.0), (66.0, thick, 72.0), (0.0, 18.0, -25.0))
    pressed = 5.0 + 0.3 * person.fat_mm  # mm of skin and fat between muscle and table
    yield from covered(gluteus, fat, partial(on_table, person))
    yield seam(gluteus.shrunk(-3.0))
    yield paint(on_table(person, gluteus, pressed), "muscle", Layer.SEAM)
    thick = 19 * person.brawn * person.build.back
    heights = (985.0, 1060.0, 1150.0, 1250.0, 1350.0, 1430.0)
    back = [(30.0, column_y(z) - 38 if z > 1010 else -84.0, z) for z in heights]
    erector = tube(back, [thick * r for r in (0.7, 1.15, 1.15, 0.95, 0.8, 0.6)], step_mm=40)
    yield seam(erector.shrunk(-1.6))
    yield paint(erector, "muscle", Layer.SEAM)


def on_table(person: Person, solid: Solid, above_mm: float = 0.0) -> Solid:
    """The part of the solid at least `above_mm` above the table that the person lies on; all of it if the
    person is not flattened.

    Beside the area of contact the outline rises at 35°: compressed tissue has no sharp edge.
    """
    if person.table_mm == float("inf"):
        return solid
    rise, touching = np.deg2rad(35.0), 90.0 + person.fat_mm
    across, up = float(np.sin(rise)), float(np.cos(rise))
    beside = touching * across + person.table_mm * up - above_mm
    flat = solid & Side((0.0, -1.0, 0.0), person.table_mm - above_mm)
    return flat & Side((across, -up, 0.0), beside) & Side((-across, -up, 0.0), beside)


# --- skeleton
# ----------------------------------------------------------------------------------------------------------

VERTEBRAE = (
    # first level at z, step down, count, half width, half depth
    ("cervical", 1568.0, 19.0, 6, 11.5, 9.0),  # C2 to C7
    ("thoracic", 1452.0, 23.4, 12, 14.5, 13.5),  # T1 to T12
    ("lumbar", 1166.0, 33.0, 5, 22.0, 16.5),  # L1 to L5
)


def vertebrae() -> Iterator[tuple[str, float, float, float, float]]:
    """Kind, z, step to the next, half width and half depth of each, from C2 to L5; they grow downwards."""
    for kind, top, step, count, wide, deep in VERTEBRAE:
        for level in range(count):
            grow = 1.0 + (0.035 if kind == "thoracic" else 0.02) * level
            yield kind, top - step * level, step, wide * grow, deep * grow


def column_lean(z: float) -> float:
    """How far the column leans backwards at a height, degrees."""
    return float(np.rad2deg(np.arctan2(column_y(z + 10) - column_y(z - 10), 20)))


def spine(person: Person) -> Paints:
    """Vertebrae C2 to L5 with discs, sacrum, coccyx, canal, cord and nerve roots."""
    for vertebra in vertebrae():
        yield from _vertebra(*vertebra)
    yield from _sacrum()
    yield from _canal(person)


PROCESSES_MM = {
    "cervical": (4.0, 20.0, 20.0),
    "thoracic": (20.0, 25.0, 30.0),
    "lumbar": (4.0, 30.0, 38.0),
}
"""How far spinous processes slant down and reach back, and how far transverse ones reach to the side."""


def _vertebra(kind: str, z: float, step: float, wide: float, deep: float) -> Paints:
    y, lean = column_y(z), (-column_lean(z), 0.0, 0.0)
    body = Ellipsoid((0.0, y, z), (wide, deep, 0.39 * step + 1.2), lean, square=0.85)
    gap = z - step / 2
    disc = Ellipsoid(
        (0.0, column_y(gap), gap), (wide + 0.5, deep + 0.5, 0.15 * step + 0.8), lean, square=0.8
    )
    back, (drop, long_, out), thin = y - deep, PROCESSES_MM[kind], 0.11 * step + 2.0
    yield paint(disc, "disc", Layer.BONE)
    yield from bone(body, 1.2)
    spinous = tube([(0, back - 18, z), (0, back - 18 - long_ * 0.7, z - drop)], [thin, thin * 0.9])
    yield from bone(spinous, 1.2)
    yield from _arch(z, wide * 0.75, back, thin, out)


@both_sides
def _arch(z: float, wide: float, back: float, thin: float, out: float) -> Paints:
    """Pedicle, lamina and transverse process."""
    yield from bone(
        tube([(wide, back, z), (13, back - 12, z - 3), (0, back - 19, z - 2)], thin * 0.85), 1.2
    )
    yield from bone(tube([(13, back - 8, z), (out, back - 10, z + 2)], thin * 0.7), 1.2)


def _sacrum() -> Paints:
    pieces = ((1002.0, 46, 17), (978.0, 42, 15), (955.0, 33, 12), (935.0, 24, 9), (918.0, 15, 7))
    for at, (z, wide, deep) in enumerate(pieces):
        piece = Ellipsoid(
            (0.0, column_y(z), z), (wide, deep, 15.0), (-28.0 + 14 * at, 0.0, 0.0), square=0.5
        )
        yield from bone(piece, 1.4)
    yield from bone(tube([(0, -64, 908), (0, -52, 890), (0, -42, 880)], [5.0, 4.0, 2.5]), 1.0)


def _canal(person: Person) -> Paints:
    """Dural sac to S2, cord to L1, then the roots of the cauda equina."""
    line = [(0.0, canal_y(z), z) for z in [1600.0, *np.arange(1580, 960, -20.0).tolist()]]
    sac = tube(
        line, [9.0 if z > 1440 else 7.5 if z > 1180 else 8.5 if z > 1000 else 5.0 for *_, z in line]
    )
    cord_end = person.generator(12).uniform(1140, 1175)
    cord = [point for point in line if point[2] > cord_end]
    roots = [(0.0, y - 4.0, z) for _, y, z in line if 990 < z <= cord_end]
    yield detail(sac.shrunk(-2.2), "fat", over=("muscle", "cortical bone", "red marrow"))
    yield detail(sac, "cerebrospinal fluid")
    yield detail(tube(cord, [5.6 if z > 1440 else 4.2 for *_, z in cord]), "spinal cord")
    yield detail(tube(roots, 2.6), "spinal cord")


def canal_depth(z: float) -> float:
    """Distance of the middle of the canal behind the middle of the vertebral bodies, mm."""
    heights = (960, 1005, 1040, 1170, 1200, 1450, 1500, 1560, 1600)
    return float(np.interp(z, heights, (14, 24, 28, 25, 23, 21, 18, 14, 4)))


def canal_y(z: float) -> float:
    """y of the middle of the canal at a height."""
    return column_y(z) - canal_depth(z)


def ribs(person: Person, fine: bool = False) -> Paints:
    """Twelve pairs of ribs, costal cartilage, sternum, clavicles and shoulder blades.

    With `fine` clavicles and shoulder blades are left to `shoulder`, and the sternum lies directly under the
    fat: it is covered by 2.5 mm of fascia and no muscle, and if drawn deeper would overlap some right
    ventricles.
    """
    yield from _beside_the_sternum(person, fine)
    front = float(muscular_trunk(person).below(1360.0)[3]) + (5.0 if fine else 0.0)
    manubrium = Ellipsoid(
        (0.0, front - 34, 1396.0), (25.0, 7.0, 25.0), (-22.0, 0.0, 0.0), square=0.5
    )
    body = Ellipsoid((0.0, front - 14, 1325.0), (17.0, 6.5, 52.0), (-13.0, 0.0, 0.0), square=0.5)
    yield from bone(manubrium, 1.6)
    yield from bone(body, 1.6)


@both_sides
def _beside_the_sternum(person: Person, fine: bool) -> Paints:
    trunk = muscular_trunk(person)
    for number in range(12):
        yield from _rib(trunk, number, person.organs.ribs * RIBS_MM[number])
    if not fine:
        yield from _collar_bone(person)
        yield from _shoulder_blade(person)


def _rib(trunk: Loft, number: int, lower_mm: float) -> Paints:
    """One rib: from its vertebra backwards and laterally, along the wall 13 mm under the muscle's surface,
    down to the cartilage."""
    start = 1452 - 23.4 * number
    reach = (0.55, 0.78, 0.88, 0.92, 0.94, 0.95, 0.94, 0.86, 0.78, 0.7, 0.45, 0.3)[number]
    fall = (25, 40, 55, 68, 80, 88, 92, 90, 82, 75, 45, 30)[number] + lower_mm
    narrow = (0.56, 0.7, 0.8, 0.88, 0.93, 0.97, 1, 1, 1, 1, 1, 1)[number]
    points = [(14.0, column_y(start) - 8, start)]
    for angle in np.linspace(0.06, reach, 11) * np.pi:
        z = start - fall * (angle / np.pi) ** 1.1
        row = trunk.below(z)
        a, front, back = (min(row[2], 150) - 13) * narrow, row[3] - 13, row[4] - 18
        y = -(back if angle < np.pi / 2 else front) * np.cos(angle)
        points.append((a * np.sin(angle), y * (0.75 if number < 2 and y > 0 else 1.0), z))
    bony = 10 if number < 10 else 12
    yield from bone(tube(points[:bony], 5.0), 1.5)
    if number < 10:
        yield paint(tube(points[bony - 1 :], 4.5), "cartilage", Layer.BONE)


def _collar_bone(person: Person) -> Paints:
    way = ((16, 62, 1418), (62, 58, 1428), (110, 20, 1432), (152, -18, 1432))
    return bone(tube(girdle(person, way), [8, 6, 6, 7], step_mm=25), 1.6)


def girdle(person: Person, points: tuple[Point, ...], wide: float = 1.0) -> list[Point]:
    """Points of the right shoulder girdle as written, as high as this person's, and `wide` times as far
    beside the middle."""
    return [(x * wide, y, z + person.borders.girdle_mm(x)) for x, y, z in points]


def _shoulder_blade(person: Person) -> Paints:
    middle, joint = girdle(person, ((98.0, -80.0, 1362.0), (138.0, -26.0, 1402.0)))
    rim = tube(girdle(person, ((70, -92, 1392), (118, -70, 1418), (158, -22, 1436))), [5, 6, 8])
    yield from bone(Ellipsoid(middle, (48.0, 5.0, 66.0), (8.0, -14.0, 26.0), square=0.2), 1.6)
    yield from bone(rim, 2.0)
    yield from bone(Ellipsoid(joint, (10.0, 14.0, 18.0)), 1.8)


CREST_MM, ISCHIUM_MM = 1060.0, 830.0
MARROW = "mixed marrow"  # of the adult pelvis


def pelvis(person: Person, fine: bool = False) -> Paints:
    """Iliac wings up to the crest (bent blades if `fine`), hip sockets, pubis, and ischia that end below at
    ISCHIUM_MM."""
    yield from _hip_bone(person, fine)
    yield paint(Ellipsoid((0.0, 50.0, 892.0), (4.0, 13.0, 19.0)), "cartilage", Layer.MARROW)


@both_sides
def _hip_bone(person: Person, fine: bool) -> Paints:
    wide = 1.06 if person.female else 1.0
    yield from (
        wings.wing(person, muscular_trunk(person), MARROW) if fine else _iliac_wing(person, wide)
    )
    socket = Ellipsoid((84 * wide, -4, 937), (31.0, 33.0, 36.0))
    yield from bone(socket - Ellipsoid((88 * wide + 4, -2, 930), (30.0, 28.0, 28.0)), 2.0, MARROW)
    neck = tube(
        [(66 * wide, -50, 1010), (74 * wide, -30, 980), (84 * wide, -12, 950)], [13, 13, 16]
    )
    yield from bone(neck, 2.0, MARROW)
    ischium = ((84 * wide, -26, 920), (72 * wide, -44, 880), (60 * wide, -46, ISCHIUM_MM + 17))
    yield from bone(tube(ischium, [18, 15, 17]), 2.0, MARROW)
    for way, radii in (
        (((58 * wide, -40, 848), (34 * wide, 18, 862), (13, 46, 884)), [9, 7, 9]),
        (((80 * wide, 18, 934), (48 * wide, 44, 922), (13, 54, 900)), [13, 8, 11]),
    ):
        yield from bone(tube(way, radii, step_mm=25), 1.8, MARROW)


def _iliac_wing(person: Person, wide: float) -> Paints:
    """A thin concave plate from the sacroiliac joint to the anterior spine, its thick rim along the top, and
    the muscles on its two faces.

    The rim, the crest, is 12 to 19 mm thick, thickest behind the anterior spine, at the tubercle.
    """
    semi, turn = (8.5, 74.0, 70.0), (-12.0, 20.0, 38.0)
    top = Ellipsoid((0.0, 0.0, 0.0), semi, turn).box[1, 2]
    crest = CREST_MM + person.borders.crest_mm
    plate = Ellipsoid((98.0 * wide, -10.0, crest - top), semi, turn)
    # in the plane of the plate, from the front over the top
    around = np.deg2rad(np.linspace(20.0, 160.0, 11))
    radii = np.interp(around, np.deg2rad([20.0, 65.0, 110.0, 160.0]), [7.0, 9.5, 7.0, 6.0])
    along, up = np.cos(around)[:, None] * 70.0, np.sin(around)[:, None] * 66.0
    points = np.asarray(plate.centre) + along * plate.axes[:, 1] + up * plate.axes[:, 2]
    points[:, 2] += crest - (points[:, 2] + radii).max()
    joint = points[:, 1] > -62.0
    yield from _on_the_wing(person, plate)
    yield from bone(plate - Side((0.0, -1.0, 0.0), -66.0), 2.0, MARROW)
    yield from bone(tube(points[joint], radii[joint]), 1.8, MARROW)


def _on_the_wing(person: Person, plate: Ellipsoid) -> Paints:
    """Iliacus on the inner face, and the fat between the three gluteal muscles on the outer face."""
    outwards = plate.axes[:, 0] * np.sign(plate.axes[0, 0])

    def at(mm: float, semi: Point) -> Ellipsoid:
        return Ellipsoid(tuple(np.add(plate.centre, mm * outwards).tolist()), semi, plate.turn_deg)

    thick = 1.2 + 0.05 * person.fat_mm
    yield paint(at(-11.0, (11.0 * person.brawn, 62.0, 58.0)), "muscle", Layer.CAVITY)
    seams = at(18.0, (thick, 62.0, 56.0)), at(31.0, (thick, 56.0, 50.0))
    yield from map(seam, seams)
