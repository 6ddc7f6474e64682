"""Phantoms of quality control: slabs with grids, bars and discs, vials in a rack, balls in a ball, bundles of
straws.

After the phantom of the American College of Radiology (a cylinder of 19 cm with a resolution insert, wedges,
a grid and discs of low contrast) and the system phantom of NIST and ISMRM (a ball of 20 cm with layers of
small balls of known T1, T2 and proton density; Stupic et al. (2021), Magn Reson Med 86:1194).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from fovnet.phantom.bodiless.thing import (
    AIR,
    FIFTH,
    MAIN,
    MIDDLE,
    SECOND,
    SIXTH,
    THIRD,
    WALL,
    on_circle,
    upright,
    walled,
)
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Side, Solid
from fovnet.phantom.geometry.tissue_structure import Box


def layered(rng: np.random.Generator) -> Iterator[Paint]:
    """A cylinder of slabs: uniform, with a grid, with bars and holes, with discs, with two wedges, in any
    order."""
    wide, high = rng.uniform(120, 230), rng.uniform(90, 240)
    yield from walled(upright(wide, high), MAIN, 4.0)
    makers = (_grid, _bars, _discs, _wedges)
    edges = np.linspace(-high / 2, high / 2, int(rng.integers(4, 8)))
    for low, top in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        at = int(rng.integers(len(makers) + 1))
        if at < len(makers):
            yield from makers[at](wide, low + 0.15 * (top - low), top - 0.15 * (top - low), rng)


def _grid(wide: float, low: float, top: float, rng: np.random.Generator) -> Iterator[Paint]:
    """Crossed plates 10 to 20 mm apart in a square."""
    step, half = rng.uniform(10, 20), 0.33 * wide
    for at in np.arange(-half, half + 0.1, step).tolist():
        yield Paint(Box((at - 1.0, -half, low), (at + 1.0, half, top)), WALL)
        yield Paint(Box((-half, at - 1.0, low), (half, at + 1.0, top)), WALL)


def _bars(wide: float, low: float, top: float, rng: np.random.Generator) -> Iterator[Paint]:
    """A dark block with rows of bright holes of three sizes."""
    half, places = 0.3 * wide, (-1.5, -0.5, 0.5, 1.5)
    yield Paint(Box((-half, -0.35 * half, low), (half, 0.35 * half, top)), WALL)
    for at, size in enumerate((1.0, 2.0, 4.0)):
        x0 = (at - 1) * 0.6 * half
        for i, j in product(places, places):
            hole = upright(size, top - low, at=(x0 + i * 2 * size, j * 2 * size, (low + top) / 2))
            yield Paint(hole, MAIN)
    if rng.random() < 0.5:
        for x in np.arange(-0.8 * half, 0.8 * half, 6.0).tolist():
            yield Paint(Box((x, 0.5 * half, low), (x + 3.0, 0.8 * half, top)), WALL)


def _discs(wide: float, low: float, top: float, rng: np.random.Generator) -> Iterator[Paint]:
    """Spokes of discs that become smaller clockwise, little brighter or darker than what is around."""
    for at, share in product(range(10), (0.3, 0.5, 0.72)):
        y, x = on_circle(0.5 * wide * share, 2 * np.pi * at / 10)
        yield Paint(upright(12.0 - at, top - low, at=(x, y, (low + top) / 2)), SECOND)


def _wedges(wide: float, low: float, top: float, rng: np.random.Generator) -> Iterator[Paint]:
    """Two plates crossed at a flat angle, for the thickness of slices."""
    slope = (top - low) / (0.6 * wide)
    block = Box((-0.3 * wide, -0.12 * wide, low), (0.3 * wide, 0.12 * wide, top))
    middle = (low + top) / 2
    yield Paint(block, WALL)
    for sign in (1.0, -1.0):
        above, below = (sign * slope, 0.0, 1.0), (-sign * slope, 0.0, -1.0)
        plate = block & Side(above, middle + 2.0) & Side(below, 2.0 - middle)
        yield Paint(plate & Side((0.0, sign, 0.0), 0.0), MAIN)


def vials(rng: np.random.Generator) -> Iterator[Paint]:
    """Vials in rings or rows, each with a filling of its own, in water, oil or air."""
    wide, high = rng.uniform(100, 240), rng.uniform(50, 180)
    round_ = rng.random() < 0.6
    bath = upright(wide, high) if round_ else upright(wide, high, deep_mm=0.8 * wide, square=0.95)
    yield from walled(bath, MAIN if rng.random() < 0.65 else AIR, 3.0)
    size = rng.uniform(10, 32)
    for x, y in _places(wide, 1.45 * size, rng):
        label = int(rng.integers(SECOND, SIXTH + 1))
        vial = upright(size, 0.85 * high, at=(x, y, 0.0))
        yield Paint(vial, WALL)
        yield Paint(vial.shrunk(1.2), label)


def _places(wide: float, step: float, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Points in rings or rows within a circle."""
    reach = wide / 2 - 0.55 * step
    if rng.random() < 0.5:
        around = np.arange(max(3, int(2 * np.pi * reach / step))) * step / reach
        inner = np.arange(max(1, int(np.pi * reach / step))) * 2 * step / reach
        return [on_circle(reach, a) for a in around] + [on_circle(0.5 * reach, a) for a in inner]
    rows = np.arange(-reach, reach + 0.1, step).tolist()
    return [(x, y) for x in rows for y in rows if x * x + y * y < 0.7 * reach**2]


def balls(rng: np.random.Generator) -> Iterator[Paint]:
    """A ball or a column with small balls in layers, each layer of its own fillings."""
    half, size = rng.uniform(60, 120), rng.uniform(6, 13)
    round_ = rng.random() < 0.6
    inner: Solid = Ellipsoid(MIDDLE, (half,) * 3) if round_ else upright(2 * half, 1.6 * half)
    yield from walled(inner, MAIN, 3.0)
    for z in np.linspace(-0.55, 0.55, int(rng.integers(2, 6))).tolist():
        reach = 0.72 * half * float(np.sqrt(1 - z * z))
        for angle in np.arange(max(4, int(2 * np.pi * reach / (3.2 * size)))) * 3.2 * size / reach:
            small = Ellipsoid((*on_circle(reach, angle), z * half), (size,) * 3)
            yield Paint(small, int(rng.integers(SECOND, SIXTH + 1)))


def lattice(rng: np.random.Generator) -> Iterator[Paint]:
    """A box or a column with small balls or rods at the points of a lattice, for the gradients' geometry."""
    wide, step = rng.uniform(140, 300), rng.uniform(18, 38)
    inner = upright(wide, wide * rng.uniform(0.5, 1.1), square=float(rng.choice([0.0, 0.95])))
    dark = rng.random() < 0.5
    yield from walled(inner, MAIN if dark else AIR, 4.0)
    low, high = inner.box
    size, rods = step * rng.uniform(0.12, 0.32), rng.random() < 0.4
    along = [
        np.arange(a + step, b - step / 2, step).tolist() for a, b in zip(low, high, strict=True)
    ]
    label = WALL if dark else MAIN
    for x, y in product(*along[:2]):
        if rods:
            yield Paint(
                upright(2 * size, 0.9 * float(high[2] - low[2]), at=(x, y, 0.0)) & inner, label
            )
            continue
        for z in along[2]:
            yield Paint(Ellipsoid((x, y, z), (size,) * 3) & inner, label)


def inserts(rng: np.random.Generator) -> Iterator[Paint]:
    """A vessel of gel with two to nine lumps and rods of other materials."""
    wide, high = rng.uniform(90, 240), rng.uniform(90, 260)
    inner = upright(wide, high, square=float(rng.choice([0.0, 0.0, 0.9])))
    yield from walled(inner, MAIN, 3.0)
    for _ in range(rng.integers(2, 10)):
        x, y, z = (rng.uniform(-0.33, 0.33, 3) * (wide, wide, high)).tolist()
        a, b, c = (rng.uniform(0.04, 0.14, 3) * wide).tolist()
        rod = upright(2 * a, 0.9 * high, at=(x, y, 0.0))
        lump: Solid = Ellipsoid((x, y, z), (a, b, c)) if rng.random() < 0.6 else rod
        yield Paint(lump & inner, int(rng.integers(WALL, FIFTH + 1)))


def straws(rng: np.random.Generator) -> Iterator[Paint]:
    """A bundle of tubes, honeycombed, as for imitating fibres."""
    wide, high, size = rng.uniform(70, 170), rng.uniform(80, 260), rng.uniform(7, 18)
    yield Paint(upright(wide, high), THIRD)
    for at, y in enumerate(np.arange(-wide / 2, wide / 2, 0.87 * size).tolist()):
        for x in np.arange(-wide / 2 + (at % 2) * size / 2, wide / 2, size).tolist():
            if x * x + y * y < (wide / 2 - size / 2) ** 2:
                tube = upright(size, high, at=(x, y, 0.0))
                yield Paint(tube, WALL)
                yield Paint(tube.shrunk(0.9), MAIN)


def stairs(rng: np.random.Generator) -> Iterator[Paint]:
    """Steps of a stair in a box: plates of plastic that become wider, for the thickness of slices."""
    wide, high, many = rng.uniform(100, 220), rng.uniform(80, 200), int(rng.integers(4, 10))
    yield from walled(upright(wide, high, square=0.98), MAIN, 3.0)
    for at in range(many):
        low = -high / 2 + (0.1 + 0.8 * at / many) * high
        reach = wide * (-0.4 + 0.8 * (at + 1) / many)
        step = Box(
            (-0.4 * wide, -0.35 * wide, low), (reach, 0.35 * wide, low + 0.75 * 0.8 * high / many)
        )
        yield Paint(step, WALL if rng.random() < 0.7 else SECOND)
