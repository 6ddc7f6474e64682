"""Inner structure of the spine: nucleus and annulus of every disc, nerve roots in their fat, ligaments, and
the muscles of the back."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.back import bulge_mm
from fovnet.phantom.anatomy.layers import Layer, paint
from fovnet.phantom.anatomy.trunk import VERTEBRAE, canal_depth, column_y
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, mirrored, tube
from fovnet.phantom.person.traits import Person


def parts(person: Person) -> list[Paint]:
    """What an image of the spine shows beside bodies, canal and cord; discs degenerate with age."""
    made: list[Paint] = []
    rng = person.generator(65)
    for kind, top, step, count, wide, deep in VERTEBRAE:
        for level in range(count):
            grow = 1.0 + (0.035 * level if kind == "thoracic" else 0.02 * level)
            z = top - step * level
            made += _disc(person, rng, z - step / 2, step, (wide * grow, deep * grow))
            made += _level(z, step, kind, (wide * grow, deep * grow))
    return made + _within_the_sac(rng) + _back(person)


def _disc(
    person: Person, rng: np.random.Generator, z: float, step: float, size: tuple[float, float]
) -> list[Paint]:
    """A bright nucleus in a dark annulus; degenerated in one of three at age fifty: dark, beside fatty
    marrow, half of these bulging backwards."""
    (wide, deep), y = size, column_y(z)
    lean = float(np.rad2deg(np.arctan2(column_y(z + 10) - column_y(z - 10), 20)))
    worn = rng.random() < 0.008 * (person.age - 8)
    rim = Ellipsoid((0.0, y, z), (wide + 0.8, deep + 0.8, 0.13 * step + 0.6), (-lean, 0.0, 0.0), square=0.8)
    core = Ellipsoid(
        (0.0, y - 0.12 * deep, z), (0.62 * wide, 0.55 * deep, 0.11 * step), (-lean, 0.0, 0.0), square=0.5
    )
    made = [paint(rim - core, "tendon" if rng.random() < 0.5 else "cartilage", Layer.MARROW, over=("disc",))]
    made.append(paint(core, "disc" if worn else "disc nucleus", Layer.DETAIL, over=("disc",)))
    if worn and rng.random() < 0.5:
        bulge = Ellipsoid(
            (float(rng.normal(0, 4)), y - deep - 1.0, z), (0.5 * wide, float(rng.uniform(2, 5)), 0.15 * step)
        )
        made.append(paint(bulge, "disc", Layer.DETAIL, over=("fat", "cerebrospinal fluid", "muscle")))
    for up in (0.27 * step, -0.27 * step) if worn else ():  # fatty marrow beside a degenerated disc
        band = Ellipsoid((0.0, y, z + up), (0.8 * wide, 0.8 * deep, 0.13 * step), (-lean, 0.0, 0.0))
        made.append(paint(band, "yellow marrow", Layer.DETAIL, over=("red marrow",)))
    return made


def _level(z: float, step: float, kind: str, size: tuple[float, float]) -> list[Paint]:
    """At one vertebra: the basivertebral vein, roots in the fat of their foramina, facet joints, ligamentum
    flavum, epidural fat."""
    (wide, deep), y = size, column_y(z)
    depth = canal_depth(z)
    made = [
        paint(
            tube([(0, y - deep, z), (0, y - 0.3 * deep, z)], [1.8, 0.8]), "venous blood", Layer.DETAIL,
            over=("red marrow",),
        )
    ]
    low = z - 0.42 * step
    for side in (1, -1):
        hole = Ellipsoid((side * (0.8 * wide + 4.0), y - deep - 2.0, low), (6.0, 4.5, 0.2 * step + 2.0))
        inside = ("muscle", "intermuscular fat", "cortical bone", "red marrow")
        made.append(paint(hole, "fat", Layer.DETAIL, over=inside))
        way = (
            (5, y - depth, z - 0.2 * step), (0.8 * wide + 4, y - deep - 2, low),
            (wide + 20, y - deep + 4, low - 14),
        )
        root = tube([mirrored(p, side) for p in way], [1.2, 2.4, 2.0])
        made.append(paint(root, "spinal cord", Layer.DETAIL, over=("fat", *inside[:2])))
        if kind == "lumbar":
            joint = Ellipsoid((side * 17.0, y - deep - 17.0, low), (1.4, 7.0, 8.0), (0.0, 0.0, -35.0 * side))
            made.append(
                paint(
                    joint, "cartilage", Layer.DETAIL,
                    over=("cortical bone", "red marrow", "muscle", "intermuscular fat"),
                )
            )
        flavum = tube(
            [mirrored(p, side) for p in ((7.5, y - depth - 5, low), (1.5, y - depth - 11, low))], 2.0
        )
        made.append(
            paint(flavum, "tendon", Layer.DETAIL, over=("muscle", "fat", "cortical bone", "red marrow"))
        )
    if z < 1455:
        behind = Ellipsoid((0.0, y - depth - 10.0, low), (5.0, 3.5, 0.25 * step))
        made.append(paint(behind, "fat", Layer.DETAIL, over=("muscle", "cortical bone", "tendon")))
        between = Ellipsoid((0.0, y - depth - 26.0, low), (2.2, 12.0, 0.2 * step))
        made.append(paint(between, "intermuscular fat", Layer.SEAM, over=("muscle",)))
    return made


def _within_the_sac(rng: np.random.Generator) -> list[Paint]:
    """Separate roots of the cauda equina in the back of the sac, and the grey matter of the cord."""
    made: list[Paint] = []
    heights = np.arange(985.0, 1160.0, 15.0)
    wide = np.interp(heights, [985, 1060, 1150], [2.0, 5.5, 4.0])
    for at in rng.uniform(-1, 1, (11, 2)):
        behind = -2.5 + 2.5 * float(at[1])
        line = [
            (float(at[0] * w), column_y(z) - canal_depth(z) + behind, float(z))
            for z, w in zip(heights, wide, strict=True)
        ]
        made.append(paint(tube(line, 0.8), "spinal cord", Layer.DETAIL, over=("cerebrospinal fluid",)))
    for side in (1, -1):
        line = [
            (side * 1.6, column_y(z) - canal_depth(z), float(z)) for z in np.arange(1580.0, 1175.0, -20.0)
        ]
        made.append(paint(tube(line, 1.1), "grey matter", Layer.DETAIL, over=("spinal cord",)))
    return made


def _back(person: Person) -> list[Paint]:
    """Three columns of muscle on each side of the spinous processes, each in a sleeve of fat that is thicker
    in old and obese people."""
    sleeve = 0.8 + 8 * person.marbling
    made: list[Paint] = []
    for side in (1, -1):
        for x, back, heights, radii in (
            (13.0, 36.0, (985, 1060, 1150, 1250, 1400, 1500), (13, 14, 11, 8, 7, 8)),
            (33.0, 42.0, (1000, 1060, 1150, 1250, 1400, 1480), (14, 19, 18, 14, 10, 9)),
            (58.0, 38.0, (1050, 1080, 1150, 1250, 1330, 1400), (6, 14, 15, 10, 8, 5)),
        ):
            out = [bulge_mm(person, z) for z in heights]
            line = [
                (
                    side * (x if z < 1300 else 0.8 * x),
                    column_y(z) - (back if z > 1020 else back + 6) - 0.5 * more, float(z),
                )
                for z, more in zip(heights, out, strict=True)
            ]
            belly = tube(
                line, [r * person.brawn + 0.35 * more for r, more in zip(radii, out, strict=True)], step_mm=30
            )
            made.append(
                paint(
                    belly.shrunk(-sleeve), "intermuscular fat", Layer.SEAM,
                    over=("muscle", "intermuscular fat"),
                )
            )
            made.append(paint(belly, "muscle", Layer.SEAM, over=("muscle", "intermuscular fat")))
    return made
