"""Inside the chest: lungs, airways, heart with its chambers, great vessels."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, paint
from fovnet.phantom.anatomy.trunk import OUTLINE, column_y, muscular_trunk
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, mirrored, tube
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import Person

APEX_MM = 1455.0
"""Top of the higher (right) lung in the written anatomy of a plain person."""

# z below the apex, centre x, centre y, half width, front, back of the right lung
LUNG = (
    (320.0, 74.0, 0.0, 58.0, 76.0, 74.0),
    (240.0, 71.0, 0.0, 62.0, 82.0, 78.0),
    (180.0, 70.0, 0.0, 64.0, 84.0, 80.0),
    (120.0, 67.0, 0.0, 62.0, 78.0, 80.0),
    (75.0, 61.0, -4.0, 55.0, 60.0, 74.0),
    (42.0, 53.0, -14.0, 44.0, 38.0, 56.0),
    (20.0, 47.0, -22.0, 33.0, 24.0, 38.0),
    (8.0, 45.0, -26.0, 22.0, 15.0, 25.0),
    (2.0, 44.0, -28.0, 11.0, 8.0, 13.0),
    (0.0, 44.0, -28.0, 6.0, 4.0, 6.0),
)


def apex_mm(person: Person) -> float:
    """Top of this person's higher lung, in the written anatomy."""
    return APEX_MM + person.borders.apex_mm


def lung(person: Person, side: int) -> Loft:
    """One lung, from well below the diaphragm (which is painted over it) to its apex."""
    top = apex_mm(person) - (0.0 if side > 0 else 4.0)
    narrow = 0.93 if person.female else 1.0
    stout = 1 + 0.35 * (person.brawn - 1)
    rows = [
        (top - below, side * cx * narrow, cy, a * narrow * stout, front * stout, back)
        for below, cx, cy, a, front, back in LUNG
    ]
    return Loft(tuple(rows), square=0.2)


def lungs(person: Person) -> list[Paint]:
    """Both lungs with their branching vessels, and the air in trachea and bronchi."""
    rng = person.generator(21)
    made = [paint(lung(person, side), "lung", Layer.CAVITY) for side in (1, -1)]
    for side in (1, -1):
        root = np.array([side * 24.0, -22.0, 1368.0])
        for _ in range(13):
            out = rng.normal([side * 1.0, 0.0, -0.3], [0.45, 0.8, 0.8])
            out *= rng.uniform(50, 85) / np.linalg.norm(out)
            bend = root + 0.5 * out + rng.normal(0, 8, 3)
            branch = tube([root, bend, root + out], [rng.uniform(3.5, 5.5), 2.4, 1.2], step_mm=20)
            made.append(paint(branch, "venous blood", Layer.ORGAN, over=("lung",)))
    return made + _airways()


def _airways() -> list[Paint]:
    trachea = tube([(0, 22, 1512), (0, 14, 1470), (0, -2, 1425), (0, -16, 1384)], [8.5, 8.5, 8.5, 8.0])
    made = [paint(trachea.shrunk(-2), "cartilage", Layer.ORGAN), paint(trachea, "gas", Layer.CONTENT)]
    for side, low in ((1, 1352), (-1, 1356)):
        bronchus = tube([(0, -16, 1386), (side * 20, -22, 1370), (side * 40, -26, low)], [7.0, 6.0, 3.5])
        made += [
            paint(bronchus.shrunk(-1.5), "bowel wall", Layer.ORGAN),
            paint(bronchus, "gas", Layer.CONTENT),
        ]
    return made


def mediastinum(person: Person) -> list[Paint]:
    """Fat between the lungs, the heart with four chambers, oesophagus."""
    space = Loft(
        (
            (1180, 0, -30, 22, 26, 52),
            (1240, -4, -26, 22, 36, 50),
            (1275, -6, -10, 24, 84, 66),
            (1330, -4, -10, 20, 86, 66),
            (1385, 0, -8, 22, 58, 66),
            (1430, 0, -8, 24, 40, 50),
            (1470, 0, -4, 24, 30, 36),
        ),
        square=0.1,
    )
    made = [paint(space, "visceral fat", Layer.CAVITY), *_under_the_heart(person)]
    gullet = tube(
        [(-3, -2, 1510), (-4, -10, 1440), (-6, column_y(1350) + 26, 1350), (-14, column_y(1260) + 30, 1262)],
        6.5, step_mm=30,
    )
    made += [paint(gullet, "muscle", Layer.ORGAN), paint(gullet.shrunk(4.0), "mucosa", Layer.CONTENT)]
    return made + _heart(person)


def _under_the_heart(person: Person) -> list[Paint]:
    """The middle of the diaphragm, on which the heart lies, and the left lobe of the liver just below,
    between the two domes."""
    left = ventricles(person)[0]
    top = min(float(left.box[0, 2]) + 7.0, LIVER_TOP_MM - 6.0 - person.lowered_mm)
    saddle = Ellipsoid((-16.0, 26.0, top - 46.0), (66.0, 62.0, 46.0))
    where = ("visceral fat", "lung", "muscle")
    return [
        paint(saddle, "muscle", Layer.CAVITY, where),
        paint(saddle.shrunk(3.0), "liver", Layer.ORGAN, where),
    ]


LIVER_TOP_MM = 1270.0
"""Top of the liver at `lowered_mm` 0, as in `belly`; no part of the liver may be drawn above."""


def pectorals(person: Person) -> list[Paint]:
    """Fat between the pectoral muscles and the ribs: a band that follows the chest on either side of the
    sternum."""
    trunk, thick = muscular_trunk(person), 8.5 * person.brawn
    seam = trunk.shrunk(thick) - trunk.shrunk(thick + 0.9 + 0.03 * person.fat_mm)
    sides = (
        Box((20.0, 20.0, 1270.0), (130.0, 125.0, 1410.0)),
        Box((-130.0, 20.0, 1270.0), (-20.0, 125.0, 1410.0)),
    )
    return [paint(side & seam, "intermuscular fat", Layer.SEAM, over=("muscle",)) for side in sides]


def between_ribs(person: Person) -> list[Paint]:
    """The intercostal muscles, flush with the inner side of the ribs, so that the lung does not surround
    ribs.

    Ribs are 10 mm thick and lie 13 mm under the surface of the muscles, 18 mm behind, along ellipses, while
    the chest is closer to a box.
    """
    rows = zip(muscular_trunk(person).table, OUTLINE, strict=True)
    table = [row for row, (written, *_) in rows if 1160.0 < written < 1400.0]
    inner = Loft(tuple((*row[:3], min(row[3], 150.0) - 17.5, row[4] - 17.5, row[5] - 22.5) for row in table))
    return [
        paint(
            Loft(tuple(table), square=person.figure.square) - inner, "muscle", Layer.CONTENT, over=("lung",)
        )
    ]


HEART_TURN_DEG = (0.0, -28.0, -38.0)
"""The ventricles' axes: the first from the apex (left, front, below) to the base, the second towards the
right ventricle."""


def chamber(
    person: Person, offset_mm: tuple[float, float, float], semi_mm: tuple[float, float, float],
    turned: bool = True,
) -> Ellipsoid:
    """An ellipsoid about the heart's middle, moved with the breath and scaled to this person's heart."""
    grow = float(np.clip(person.generator(22).normal(1.08, 0.08), 0.9, 1.32)) * (
        1.0 if person.age > 15 else 0.88
    )
    dx, dy, dz = (grow * mm for mm in offset_mm)
    a, b, c = (grow * mm for mm in semi_mm)
    return Ellipsoid(
        (dx - 24.0, dy + 26.0, dz + 1306.0 - 0.4 * person.lowered_mm), (a, b, c),
        HEART_TURN_DEG if turned else (0.0, 0.0, 0.0),
    )


def ventricles(person: Person) -> tuple[Ellipsoid, Ellipsoid]:
    """The left ventricle with its wall, and the cavity of the right one, which becomes a crescent as the left
    is painted later."""
    return chamber(person, (-22, 0, -6), (45, 32, 33)), chamber(person, (11, 22, -7), (43, 24, 35))


def _heart(person: Person) -> list[Paint]:
    """The heart: apex to the left, to the front, and down."""
    sac = chamber(person, (0, 0, 0), (64, 44, 42))
    left, right = ventricles(person)
    atria = (
        chamber(person, (22, -28, 12), (32, 20, 26), turned=False),
        chamber(person, (46, 6, 2), (25, 28, 34), turned=False),
    )
    made = [paint(sac.shrunk(-1.5), "visceral fat", Layer.ORGAN)]
    made += [paint(right.shrunk(-6.0 - 0.08 * person.fat_mm), "visceral fat", Layer.ORGAN)]
    made.append(paint(right.shrunk(-3.5), "myocardium", Layer.CONTENT))
    made += [paint(atrium.shrunk(-2.5), "myocardium", Layer.CONTENT) for atrium in atria]
    made += [paint(right, "venous blood", Layer.VESSEL), paint(left, "myocardium", Layer.VESSEL)]
    made += [paint(left.shrunk(10.0), "arterial blood", Layer.VESSEL)]
    made += [paint(atria[0], "arterial blood", Layer.VESSEL), paint(atria[1], "venous blood", Layer.VESSEL)]
    return made


def great_vessels(person: Person) -> list[Paint]:
    """Aorta to its bifurcation and the iliac arteries, both venae cavae, the pulmonary trunk, and the vessels
    of the neck."""
    wide = 1.0 + 0.004 * (person.age - 50)
    back = [
        (
            float(np.interp(z, [1180, 1270], [-8.0, -24.0])),
            column_y(z) + float(np.interp(z, [1180, 1270], [33.0, 18.0])), z,
        )
        for z in (1390.0, 1330.0, 1270.0, 1210.0, 1150.0, 1100.0, 1058.0)
    ]
    arch = [(-4, 8, 1325), (6, 20, 1362), (4, 16, 1398), (-6, 0, 1412), (-14, -14, 1408), *back]
    made = [
        paint(
            tube(arch, [15.0 * wide] * 3 + [13.0 * wide] * 5 + [10.5 * wide] * 4, step_mm=18),
            "arterial blood", Layer.VESSEL,
        )
    ]
    lower = [(18.0, column_y(z) + 32, z) for z in (1052.0, 1100.0, 1150.0, 1200.0)]
    made.append(
        paint(
            tube([*lower, (22, 2, 1262), (22, 14, 1300)], [10, 10.5, 11, 12, 12.5, 13]), "venous blood",
            Layer.VESSEL,
        )
    )
    made.append(
        paint(tube([(20, 14, 1320), (22, 10, 1370), (20, 12, 1425)], 9.5), "venous blood", Layer.VESSEL)
    )
    made.append(
        paint(tube([(-16, 34, 1335), (-20, 20, 1365), (-16, -4, 1374)], 13.0), "venous blood", Layer.VESSEL)
    )
    made += [
        paint(
            tube([(-14, -6, 1374), (side * 24, -14, 1372), (side * 40, -20, 1368)], [10, 9, 7]),
            "venous blood", Layer.VESSEL,
        )
        for side in (1, -1)
    ]
    for side in (1, -1):
        neck = [
            mirrored(p, side)
            for p in ((8, 8, 1412), (18, 8, 1450), (26, 8, 1500), (27, 2, 1545), (24, -8, 1595))
        ]
        made.append(paint(tube(neck, [5.5, 4.0, 3.6, 3.4, 2.8]), "arterial blood", Layer.VESSEL))
        vein = [mirrored(p, side) for p in ((18, 14, 1422), (32, 10, 1460), (36, 4, 1520), (32, -8, 1590))]
        made.append(paint(tube(vein, [7.5, 6.5, 5.5, 4.5]), "venous blood", Layer.VESSEL))
        made.append(
            paint(
                tube(
                    [
                        mirrored((x, y, z + person.borders.girdle_mm(x)), side)
                        for x, y, z in ((10, 8, 1420), (70, 12, 1432), (120, 6, 1415), (150, 0, 1385))
                    ],
                    5.5,
                ),
                "venous blood",
                Layer.VESSEL,
            )
        )
        made += _iliacs(side)
    return made


def _iliacs(side: int) -> list[Paint]:
    artery = [
        mirrored(p, side)
        for p in ((4, 4, 1056), (30, -8, 1020), (54, 8, 980), (72, 46, 935), (80, 60, 895), (84, 50, 840))
    ]
    vein = [
        mirrored(p, side)
        for p in ((10, 0, 1050), (30, -18, 1015), (56, -4, 975), (64, 42, 932), (70, 54, 895), (76, 42, 840))
    ]
    made = [paint(tube(artery, [7.0, 6.0, 5.0, 4.8, 4.8, 4.2]), "arterial blood", Layer.VESSEL)]
    return [*made, paint(tube(vein, [8.5, 7.0, 6.0, 5.5, 5.5, 4.8]), "venous blood", Layer.VESSEL)]
