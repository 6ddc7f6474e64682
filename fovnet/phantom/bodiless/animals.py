"""Small animals and a human hand, of the tissues of the simulated body.

Rodents of 6 to 26 cm from nose to rump, rabbits of 30 to 45, lying along z, nose upwards, belly in
front.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from fovnet.phantom.bodiless.thing import Point, log_uniform
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Solid, Tube, tube
from fovnet.phantom.scanner.tissues import label_of

ORGANS: tuple[tuple[str, Point, Point], ...] = (
    # tissue, centre and half axes as shares of the length from nose to rump
    ("lung", (0.05, 0.01, 0.12), (0.05, 0.07, 0.09)),
    ("lung", (-0.05, 0.01, 0.12), (0.05, 0.07, 0.09)),
    ("myocardium", (-0.01, 0.05, 0.10), (0.04, 0.04, 0.05)),
    ("arterial blood", (-0.01, 0.05, 0.10), (0.02, 0.02, 0.03)),
    ("liver", (0.02, 0.03, 0.00), (0.10, 0.08, 0.05)),
    ("stomach content", (-0.06, 0.03, -0.05), (0.05, 0.05, 0.04)),
    ("kidney cortex", (0.06, -0.04, -0.09), (0.03, 0.03, 0.05)),
    ("kidney cortex", (-0.06, -0.04, -0.12), (0.03, 0.03, 0.05)),
    ("spleen", (-0.09, 0.00, -0.08), (0.012, 0.03, 0.05)),
    ("urine", (0.0, 0.06, -0.30), (0.03, 0.03, 0.03)),
)


FINGERS = ((33.0, 70.0), (12.0, 80.0), (-9.0, 74.0), (-29.0, 58.0), (46.0, 62.0))
"""Distance from the middle of the palm and length of each, mm; last the thumb."""


def rodent(rng: np.random.Generator) -> Iterator[Paint]:
    """A mouse, a rat or a guinea pig, its legs to the sides, with a tail or none."""
    return _animal(log_uniform(60, 260, rng), 1.0, rng)


def rabbit(rng: np.random.Generator) -> Iterator[Paint]:
    """A rabbit: large, with long ears and strong hind legs."""
    length = rng.uniform(300, 450)
    for side in (1.0, -1.0):
        way = [(side * 0.03, -0.03, 0.46), (side * 0.06, -0.08, 0.56), (side * 0.07, -0.13, 0.68)]
        yield from _skin_fat_and_muscle(_tube(length, way, [0.02, 0.025, 0.012]), 1.0)
    yield from _animal(length, 0.2, rng)


def _animal(length: float, tail: float, rng: np.random.Generator) -> Iterator[Paint]:
    """An animal of that length with a tail of that share of it."""
    stout = rng.uniform(0.8, 1.25)
    fat = length * rng.uniform(0.003, 0.02)
    rows = (
        (-0.48, 0.02, 0.03),
        (-0.42, 0.09, 0.10),
        (-0.25, 0.14, 0.13),
        (-0.08, 0.14, 0.12),
        (0.08, 0.11, 0.11),
        (0.22, 0.08, 0.09),
        (0.32, 0.085, 0.08),
        (0.42, 0.06, 0.055),
        (0.50, 0.02, 0.02),
    )
    size = length * stout
    trunk = Loft(tuple((z * length, 0.0, 0.0, a * size, b * size, b * size) for z, a, b in rows))
    yield from _limbs(length, tail, rng)
    yield from _skin_fat_and_muscle(trunk, fat)
    room = trunk.shrunk(0.025 * length)
    yield _organ(_lump(length, (0.0, 0.01, -0.18), (0.11, 0.1, 0.2)) & room, "visceral fat")
    for tissue, centre, semi in ORGANS:
        moved = np.array(centre) * length * stout + rng.normal(0, 0.006 * length, 3)
        organ = _lump(1.0, moved, np.array(semi) * length * rng.uniform(0.8, 1.15, 3))
        yield _organ(organ & room, tissue)
    for _ in range(rng.integers(8, 22)):
        loop = _lump(
            length, rng.uniform((-0.08, -0.01, -0.32), (0.08, 0.08, -0.10)), (0.025, 0.02, 0.02)
        )
        yield _organ(loop & room, str(rng.choice(["bowel wall", "bowel fluid", "stool"])))
    brain = _lump(length, (0.0, -0.02, 0.34), (0.05, 0.038, 0.065))
    yield _organ(brain.shrunk(-0.008 * length), "cortical bone")
    yield _organ(brain, "grey matter")
    spine = [(0.0, -0.065, z) for z in (-0.42, -0.2, 0.0, 0.2, 0.29)]
    yield _organ(_tube(length, spine, 0.018), "red marrow")
    yield _organ(_tube(length, spine, 0.006), "spinal cord")


def _limbs(length: float, tail: float, rng: np.random.Generator) -> Iterator[Paint]:
    """Four legs with a bone in each, and the tail."""
    for side in (1.0, -1.0):
        for z, thick, down in ((-0.34, 0.045, -0.12), (0.14, 0.03, 0.1)):
            knee = (side * rng.uniform(0.13, 0.2), rng.uniform(-0.05, 0.1), z + 0.4 * down)
            foot = (side * rng.uniform(0.14, 0.26), rng.uniform(0.02, 0.16), z + down)
            line = [(side * 0.07, 0.0, z), knee, foot]
            yield from _skin_fat_and_muscle(
                _tube(length, line, np.array([1.3, 1.0, 0.4]) * thick), 0.004 * length
            )
            yield _organ(_tube(length, line, 0.2 * thick), "cortical bone")
    if tail:
        bend = rng.uniform(-0.2, 0.2)
        line = [(0, -0.04, -0.46), (bend, -0.04, -0.46 - 0.5 * tail), (0, 0, -0.46 - tail)]
        yield from _skin_fat_and_muscle(_tube(length, line, [0.02, 0.014, 0.006]), 0.002 * length)


def hand(rng: np.random.Generator) -> Iterator[Paint]:
    """A hand with its wrist: five fingers spread or closed, straight or bent, in any rotation."""
    finger_spread = rng.uniform(0, 1)
    bend_deg = rng.uniform(0, 35)
    size = rng.uniform(0.8, 1.15)
    arm = _tube(size, [(0, 0, -40), (0, 0, -90), (0, 0, -150)], [26, 27, 31])
    yield from _skin_fat_and_muscle(arm & _lump(size, (0, 0, -95), (31, 20, 75), 0.3), 2.0)
    yield from _skin_fat_and_muscle(_lump(size, (0, 0, 0), (42, 14, 50), 0.5), 2.0)
    for x in (11.0, -11.0):
        yield from _bone(_tube(size, [(x, 0, -150), (x, 0, -90), (1.2 * x, 0, -62)], [6, 6, 9]))
    for index in range(8):
        yield from _bone(
            _lump(size, ((index % 4 - 1.5) * 12.0, 0, -52 + 11 * (index // 4)), (6, 6, 6))
        )
    for index, (x, finger_mm) in enumerate(FINGERS):
        bend = float(np.deg2rad(bend_deg) * rng.uniform(0.6, 1.4))
        yield from _finger(x, finger_mm, index == len(FINGERS) - 1, finger_spread, bend, size)


def _finger(
    x: float, finger_mm: float, is_thumb: bool, spread: float, bend: float, size: float
) -> Iterator[Paint]:
    """A finger beside `x` with its metacarpal and three phalanges, each bent forwards against the
    one before."""
    lean = np.deg2rad(50.0 if is_thumb else 0.5 * spread * x)
    knuckle = np.array([x * (0.6 if is_thumb else 1.0), 0.0, -25.0 if is_thumb else 44.0])
    angle = 0.0
    joints = [knuckle]
    for share in (0.45, 0.32, 0.23):
        step = np.array([np.sin(lean) * np.cos(angle), np.sin(angle), np.cos(lean) * np.cos(angle)])
        joints.append(joints[-1] + share * finger_mm * step)
        angle += bend
    line = np.array(joints) * size
    yield from _skin_fat_and_muscle(tube(line, np.array([11.0, 10.0, 9.0, 7.0]) * size), 1.6)
    for first, second in pairwise(line):
        gap = 0.12 * (second - first)
        yield from _bone(tube([first + gap, second - gap], 4.6 * size))
    root = np.array([0.35 * x, 0.0, -38.0]) * size
    yield from _bone(tube([root, line[0]], 4.6 * size))


def _lump(size: float, middle: ArrayLike, semi: ArrayLike, square: float = 0.0) -> Ellipsoid:
    """An ellipsoid written for an animal of size 1."""
    (x, y, z), (a, b, c) = ((np.asarray(values) * size).tolist() for values in (middle, semi))
    return Ellipsoid((x, y, z), (a, b, c), square=square)


def _tube(size: float, points: ArrayLike, radii: ArrayLike) -> Tube:
    """A tube written for an animal of size 1."""
    return tube(np.multiply(points, size), np.multiply(radii, size))


def _skin_fat_and_muscle(solid: Solid, fat_mm: float) -> list[Paint]:
    """Muscle under fat and skin."""
    skin = max(0.8, 0.3 * fat_mm)
    return [
        _organ(solid.shrunk(-fat_mm - skin), "skin"),
        _organ(solid.shrunk(-fat_mm), "fat"),
        _organ(solid, "muscle"),
    ]


def _bone(solid: Solid) -> list[Paint]:
    """Cortex about fatty marrow."""
    return [_organ(solid, "cortical bone", 8), _organ(solid.shrunk(1.3), "yellow marrow", 9)]


def _organ(solid: Solid, tissue: str, layer: int = 0) -> Paint:
    return Paint(solid, label_of(tissue), layer)
