"""Small animals and a human hand, of the tissues of the simulated body.

Rodents of 6 to 26 cm from nose to rump, rabbits of 30 to 45, lying along z, nose upwards, belly in front.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fovnet.phantom.bodiless.thing import Thing
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Solid, tube
from fovnet.phantom.scanner.tissues import TISSUES, label_of

Point = tuple[float, float, float]

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


def rodent(rng: np.random.Generator) -> Thing:
    """A mouse, a rat or a guinea pig, its legs to the sides, with a tail or none."""
    return _animal(float(np.exp(rng.uniform(np.log(60), np.log(260)))), 1.0, rng)


def rabbit(rng: np.random.Generator) -> Thing:
    """A rabbit: large, with long ears and strong hind legs."""
    length = float(rng.uniform(300, 450))
    made = _animal(length, 0.2, rng)
    ears: list[Paint] = []
    for side in (1.0, -1.0):
        way = [(side * 0.03, -0.03, 0.46), (side * 0.06, -0.08, 0.56), (side * 0.07, -0.13, 0.68)]
        ears += _covered(tube(np.array(way) * length, np.array([0.02, 0.025, 0.012]) * length), 1.0)
    return Thing((*ears, *made.paints), made.tissues)


def _animal(length: float, tail: float, rng: np.random.Generator) -> Thing:
    """An animal of that length with a tail of that share of it."""
    stout, fat = float(rng.uniform(0.8, 1.25)), length * float(rng.uniform(0.003, 0.02))
    rows = (
        (-0.48, 0.02, 0.03), (-0.42, 0.09, 0.10), (-0.25, 0.14, 0.13), (-0.08, 0.14, 0.12),
        (0.08, 0.11, 0.11), (0.22, 0.08, 0.09), (0.32, 0.085, 0.08), (0.42, 0.06, 0.055), (0.50, 0.02, 0.02),
    )
    grown = length * stout
    trunk = Loft(tuple((z * length, 0.0, 0.0, a * grown, b * grown, b * grown) for z, a, b in rows))
    paints = [*_limbs(length, tail, rng), *_covered(trunk, fat)]
    room = trunk.shrunk(0.025 * length)
    belly = Ellipsoid((0.0, 0.01 * length, -0.18 * length), (0.11 * length, 0.1 * length, 0.2 * length))
    paints.append(_organ(belly & room, "visceral fat"))
    for tissue, centre, semi in ORGANS:
        moved = np.array(centre) * length * stout + rng.normal(0, 0.006 * length, 3)
        x, y, z = moved.tolist()
        a, b, c = (np.array(semi) * length * rng.uniform(0.8, 1.15, 3)).tolist()
        paints.append(_organ(Ellipsoid((x, y, z), (a, b, c)) & room, tissue))
    for _ in range(int(rng.integers(8, 22))):
        x, y, z = (rng.uniform((-0.08, -0.01, -0.32), (0.08, 0.08, -0.10)) * length).tolist()
        loop = Ellipsoid((x, y, z), (0.025 * length, 0.02 * length, 0.02 * length))
        paints.append(_organ(loop & room, str(rng.choice(["bowel wall", "bowel fluid", "stool"]))))
    brain = Ellipsoid((0.0, -0.02 * length, 0.34 * length), (0.05 * length, 0.038 * length, 0.065 * length))
    spine = [(0.0, -0.065 * length, z * length) for z in (-0.42, -0.2, 0.0, 0.2, 0.29)]
    paints += [
        _organ(brain.shrunk(-0.008 * length), "cortical bone"), _organ(brain, "grey matter"),
        _organ(tube(spine, 0.018 * length), "red marrow"), _organ(tube(spine, 0.006 * length), "spinal cord"),
    ]
    return Thing(tuple(paints), TISSUES)


def _limbs(length: float, tail: float, rng: np.random.Generator) -> list[Paint]:
    """Four legs with a bone in each, and the tail."""
    made: list[Paint] = []
    for side in (1.0, -1.0):
        for z, thick, down in ((-0.34, 0.045, -0.12), (0.14, 0.03, 0.1)):
            knee = (side * rng.uniform(0.13, 0.2), rng.uniform(-0.05, 0.1), z + 0.4 * down)
            foot = (side * rng.uniform(0.14, 0.26), rng.uniform(0.02, 0.16), z + down)
            line = np.array([(side * 0.07, 0.0, z), knee, foot]) * length
            made += _covered(tube(line, np.array([1.3, 1.0, 0.4]) * thick * length), 0.004 * length)
            made.append(_organ(tube(line, 0.2 * thick * length), "cortical bone"))
    if tail:
        bend = float(rng.uniform(-0.2, 0.2))
        line = np.array([(0, -0.04, -0.46), (bend, -0.04, -0.46 - 0.5 * tail), (0, 0, -0.46 - tail)]) * length
        made += _covered(tube(line, np.array([0.02, 0.014, 0.006]) * length), 0.002 * length)
    return made


def hand(rng: np.random.Generator) -> Thing:
    """A hand with its wrist: five fingers spread or closed, straight or bent, in any rotation."""
    spread, bent, grown = float(rng.uniform(0, 1)), float(rng.uniform(0, 35)), float(rng.uniform(0.8, 1.15))
    palm = Ellipsoid((0.0, 0.0, 0.0), (42.0 * grown, 14.0 * grown, 50.0 * grown), square=0.5)
    arm = tube(np.array([(0, 0, -40), (0, 0, -90), (0, 0, -150)]) * grown, np.array([26, 27, 31]) * grown)
    wrist = Ellipsoid((0.0, 0.0, -95.0 * grown), (31.0 * grown, 20.0 * grown, 75.0 * grown), square=0.3)
    paints = [*_covered(arm & wrist, 2.0), *_covered(palm, 2.0)]
    for x in (11.0, -11.0):
        line = np.array([(x, 0, -150), (x, 0, -90), (1.2 * x, 0, -62)]) * grown
        paints += _bone(tube(line, np.array([6, 6, 9]) * grown))
    for at in range(8):
        centre = np.array(((at % 4 - 1.5) * 12.0, 0.0, -52.0 + 11.0 * (at // 4))) * grown
        paints += _bone(Ellipsoid((float(centre[0]), 0.0, float(centre[2])), (6.0 * grown,) * 3))
    for at, (x, long_) in enumerate(FINGERS):
        turn = float(np.deg2rad(bent) * rng.uniform(0.6, 1.4))
        paints += _finger(x, long_, at == len(FINGERS) - 1, spread, turn, grown)
    return Thing(tuple(paints), TISSUES)


def _finger(x: float, long_: float, thumb: bool, spread: float, bent: float, grown: float) -> list[Paint]:
    """A finger beside `x` with its metacarpal and three phalanges, each bent forwards against the one
    before."""
    lean = np.deg2rad(50.0 if thumb else 0.5 * spread * x)
    at, turned = np.array([x * (0.6 if thumb else 1.0), 0.0, -25.0 if thumb else 44.0]), 0.0
    joints = [at]
    for share in (0.45, 0.32, 0.23):
        step = np.array([np.sin(lean) * np.cos(turned), np.sin(turned), np.cos(lean) * np.cos(turned)])
        joints.append(joints[-1] + share * long_ * step)
        turned += float(bent)
    line = np.array(joints) * grown
    paints = _covered(tube(line, np.array([11.0, 10.0, 9.0, 7.0]) * grown), 1.6)
    for first, second in pairwise(line):
        gap = 0.12 * (second - first)
        paints += _bone(tube([first + gap, second - gap], 4.6 * grown))
    root = np.array([0.35 * x, 0.0, -38.0]) * grown
    return [*paints, *_bone(tube([root, line[0]], 4.6 * grown))]


def _covered(solid: Solid, fat_mm: float) -> list[Paint]:
    """Muscle under fat and skin."""
    skin = max(0.8, 0.3 * fat_mm)
    return [
        _organ(solid.shrunk(-fat_mm - skin), "skin"), _organ(solid.shrunk(-fat_mm), "fat"),
        _organ(solid, "muscle"),
    ]


def _bone(solid: Solid) -> list[Paint]:
    """Cortex about fatty marrow."""
    return [_organ(solid, "cortical bone", 8), _organ(solid.shrunk(1.3), "yellow marrow", 9)]


def _organ(solid: Solid, tissue: str, layer: int = 0) -> Paint:
    return Paint(solid, label_of(tissue), layer)
