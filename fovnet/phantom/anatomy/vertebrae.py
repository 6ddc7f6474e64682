"""Inner structure of the spine: nucleus and annulus of every disc, nerve roots in their fat, ligaments, and
the muscles of the back."""

from __future__ import annotations

from functools import partial

import numpy as np

from fovnet.phantom.anatomy import trunk
from fovnet.phantom.anatomy.back import bulge_mm
from fovnet.phantom.anatomy.layers import Layer, Paints, both_sides, detail, paint, seam
from fovnet.phantom.anatomy.trunk import canal_depth, canal_y, column_lean, column_y
from fovnet.phantom.geometry.solids import Ellipsoid, tube
from fovnet.phantom.person.traits import Person


def parts(person: Person) -> Paints:
    """What an image of the spine shows beside bodies, canal and cord; discs degenerate with age."""
    rng = person.generator(65)
    for kind, z, step, wide, deep in trunk.vertebrae():
        yield from _disc(person, rng, z - step / 2, step, (wide, deep))
        yield from _level(z, step, kind, (wide, deep))
    yield from _within_the_sac(rng)
    yield from _back(person)


def _disc(
    person: Person, rng: np.random.Generator, z: float, step: float, size: tuple[float, float]
) -> Paints:
    """A bright nucleus in a dark annulus; degenerated in one of three at age fifty: dark, beside fatty
    marrow, half of these bulging backwards."""
    (wide, deep), y = size, column_y(z)
    turned = partial(Ellipsoid, turn_deg=(-column_lean(z), 0.0, 0.0))
    worn = rng.random() < 0.008 * (person.age - 8)
    rim = turned((0.0, y, z), (wide + 0.8, deep + 0.8, 0.13 * step + 0.6), square=0.8)
    core = turned((0.0, y - 0.12 * deep, z), (0.62 * wide, 0.55 * deep, 0.11 * step), square=0.5)
    yield paint(
        rim - core, "tendon" if rng.random() < 0.5 else "cartilage", Layer.MARROW, over="disc"
    )
    yield detail(core, "disc" if worn else "disc nucleus", over="disc")
    if not worn:
        return
    if rng.random() < 0.5:
        centre = (rng.normal(0, 4), y - deep - 1.0, z)
        bulge = Ellipsoid(centre, (0.5 * wide, rng.uniform(2, 5), 0.15 * step))
        yield detail(bulge, "disc", over=("fat", "cerebrospinal fluid", "muscle"))
    for up in (0.27 * step, -0.27 * step):  # fatty marrow beside a degenerated disc
        band = turned((0.0, y, z + up), (0.8 * wide, 0.8 * deep, 0.13 * step))
        yield detail(band, "yellow marrow", over="red marrow")


def _level(z: float, step: float, kind: str, size: tuple[float, float]) -> Paints:
    """At one vertebra: the basivertebral vein, roots in the fat of their foramina, facet joints, ligamentum
    flavum, epidural fat."""
    deep, y = size[1], column_y(z)
    vein = tube([(0, y - deep, z), (0, y - 0.3 * deep, z)], [1.8, 0.8])
    yield detail(vein, "venous blood", over="red marrow")
    yield from _foramen(z, step, kind, size)
    if z < 1455:
        depth, low = canal_depth(z), z - 0.42 * step
        behind = Ellipsoid((0.0, y - depth - 10.0, low), (5.0, 3.5, 0.25 * step))
        yield detail(behind, "fat", over=("muscle", "cortical bone", "tendon"))
        between = Ellipsoid((0.0, y - depth - 26.0, low), (2.2, 12.0, 0.2 * step))
        yield seam(between)


@both_sides
def _foramen(z: float, step: float, kind: str, size: tuple[float, float]) -> Paints:
    (wide, deep), y, depth, low = size, column_y(z), canal_depth(z), z - 0.42 * step
    inside = ("muscle", "intermuscular fat", "cortical bone", "red marrow")
    hole = Ellipsoid((0.8 * wide + 4.0, y - deep - 2.0, low), (6.0, 4.5, 0.2 * step + 2.0))
    yield detail(hole, "fat", over=inside)
    way = [
        (5, y - depth, z - 0.2 * step),
        (0.8 * wide + 4, y - deep - 2, low),
        (wide + 20, y - deep + 4, low - 14),
    ]
    yield detail(tube(way, [1.2, 2.4, 2.0]), "spinal cord", over=("fat", *inside[:2]))
    if kind == "lumbar":
        joint = Ellipsoid((17.0, y - deep - 17.0, low), (1.4, 7.0, 8.0), (0.0, 0.0, -35.0))
        yield detail(joint, "cartilage", over=inside)
    flavum = tube([(7.5, y - depth - 5, low), (1.5, y - depth - 11, low)], 2.0)
    yield detail(flavum, "tendon", over=("muscle", "fat", "cortical bone", "red marrow"))


def _within_the_sac(rng: np.random.Generator) -> Paints:
    """Separate roots of the cauda equina in the back of the sac, and the grey matter of the cord."""
    heights = np.arange(985.0, 1160.0, 15.0)
    wide = np.interp(heights, [985, 1060, 1150], [2.0, 5.5, 4.0])
    for aside, at in rng.uniform(-1, 1, (11, 2)):
        behind = -2.5 + 2.5 * at
        line = [(aside * w, canal_y(z) + behind, z) for z, w in zip(heights, wide, strict=True)]
        yield detail(tube(line, 0.8), "spinal cord", over="cerebrospinal fluid")
    yield from _grey_matter()


@both_sides
def _grey_matter() -> Paints:
    line = [(1.6, canal_y(z), z) for z in np.arange(1580.0, 1175.0, -20.0)]
    yield detail(tube(line, 1.1), "grey matter", over="spinal cord")


@both_sides
def _back(person: Person) -> Paints:
    """Three columns of muscle on each side of the spinous processes, each in a sleeve of fat that is thicker
    in old and obese people."""
    sleeve, over = 0.8 + 8 * person.marbling, ("muscle", "intermuscular fat")
    for x, back, heights, radii in (
        (13.0, 36.0, (985, 1060, 1150, 1250, 1400, 1500), (13, 14, 11, 8, 7, 8)),
        (33.0, 42.0, (1000, 1060, 1150, 1250, 1400, 1480), (14, 19, 18, 14, 10, 9)),
        (58.0, 38.0, (1050, 1080, 1150, 1250, 1330, 1400), (6, 14, 15, 10, 8, 5)),
    ):
        line, around = [], []
        for z, r in zip(heights, radii, strict=True):
            more = bulge_mm(person, z)
            y = column_y(z) - (back if z > 1020 else back + 6) - 0.5 * more
            line.append((x if z < 1300 else 0.8 * x, y, z))
            around.append(r * person.brawn + 0.35 * more)
        belly = tube(line, around, step_mm=30)
        yield paint(belly.shrunk(-sleeve), "intermuscular fat", Layer.SEAM, over)
        yield paint(belly, "muscle", Layer.SEAM, over)
