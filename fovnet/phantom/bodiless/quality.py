"""Phantoms of quality control: slabs with grids, bars and discs, vials in a rack, balls in a ball,
bundles of straws.

After the phantom of the American College of Radiology (a cylinder of 19 cm with a resolution
insert, wedges, a grid and discs of low contrast) and the system phantom of NIST and ISMRM (a ball
of 20 cm with layers of small balls of known T1, T2 and proton density; Stupic et al. (2021), Magn
Reson Med 86:1194).
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
    column,
    on_circle,
    vessel_paints,
)
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Side, Solid
from fovnet.phantom.geometry.tissue_structure import Box


def layered_phantom(rng: np.random.Generator) -> Iterator[Paint]:
    """A cylinder of slabs: uniform, with a grid, with bars and holes, with discs, with two wedges,
    in any order."""
    width = rng.uniform(120, 230)
    height = rng.uniform(90, 240)
    yield from vessel_paints(column(width, height), MAIN, 4.0)
    makers = (_grid, _bars, _discs, _wedges)
    edges = np.linspace(-height / 2, height / 2, int(rng.integers(4, 8)))
    for low, top in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        index = int(rng.integers(len(makers) + 1))
        if index < len(makers):
            yield from makers[index](width, low + 0.15 * (top - low), top - 0.15 * (top - low), rng)


def _grid(width: float, low: float, top: float, rng: np.random.Generator) -> Iterator[Paint]:
    """Crossed plates 10 to 20 mm apart in a square."""
    step = rng.uniform(10, 20)
    half = 0.33 * width
    for index in np.arange(-half, half + 0.1, step).tolist():
        yield Paint(Box((index - 1.0, -half, low), (index + 1.0, half, top)), WALL)
        yield Paint(Box((-half, index - 1.0, low), (half, index + 1.0, top)), WALL)


def _bars(width: float, low: float, top: float, rng: np.random.Generator) -> Iterator[Paint]:
    """A dark block with rows of bright holes of three sizes."""
    half = 0.3 * width
    places = (-1.5, -0.5, 0.5, 1.5)
    yield Paint(Box((-half, -0.35 * half, low), (half, 0.35 * half, top)), WALL)
    for index, size in enumerate((1.0, 2.0, 4.0)):
        x0 = (index - 1) * 0.6 * half
        for i, j in product(places, places):
            hole = column(
                size, top - low, centre=(x0 + i * 2 * size, j * 2 * size, (low + top) / 2)
            )
            yield Paint(hole, MAIN)
    if rng.random() < 0.5:
        for x in np.arange(-0.8 * half, 0.8 * half, 6.0).tolist():
            yield Paint(Box((x, 0.5 * half, low), (x + 3.0, 0.8 * half, top)), WALL)


def _discs(width: float, low: float, top: float, rng: np.random.Generator) -> Iterator[Paint]:
    """Spokes of discs that become smaller clockwise, little brighter or darker than what is around."""
    for index, share in product(range(10), (0.3, 0.5, 0.72)):
        y, x = on_circle(0.5 * width * share, 2 * np.pi * index / 10)
        yield Paint(column(12.0 - index, top - low, centre=(x, y, (low + top) / 2)), SECOND)


def _wedges(width: float, low: float, top: float, rng: np.random.Generator) -> Iterator[Paint]:
    """Two plates crossed at a flat angle, for the thickness of slices."""
    slope = (top - low) / (0.6 * width)
    block = Box((-0.3 * width, -0.12 * width, low), (0.3 * width, 0.12 * width, top))
    middle = (low + top) / 2
    yield Paint(block, WALL)
    for sign in (1.0, -1.0):
        upper = (sign * slope, 0.0, 1.0)
        lower = (-sign * slope, 0.0, -1.0)
        plate = block & Side(upper, middle + 2.0) & Side(lower, 2.0 - middle)
        yield Paint(plate & Side((0.0, sign, 0.0), 0.0), MAIN)


def vials(rng: np.random.Generator) -> Iterator[Paint]:
    """Vials in rings or rows, each with a filling of its own, in water, oil or air."""
    width = rng.uniform(100, 240)
    height = rng.uniform(50, 180)
    is_round = rng.random() < 0.6
    bath = (
        column(width, height)
        if is_round
        else column(width, height, depth_mm=0.8 * width, square=0.95)
    )
    yield from vessel_paints(bath, MAIN if rng.random() < 0.65 else AIR, 3.0)
    size = rng.uniform(10, 32)
    for x, y in _places(width, 1.45 * size, rng):
        label = int(rng.integers(SECOND, SIXTH + 1))
        vial = column(size, 0.85 * height, centre=(x, y, 0.0))
        yield Paint(vial, WALL)
        yield Paint(vial.shrunk(1.2), label)


def _places(width: float, step: float, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Points in rings or rows within a circle."""
    reach = width / 2 - 0.55 * step
    if rng.random() < 0.5:
        outer = np.arange(max(3, int(2 * np.pi * reach / step))) * step / reach
        inner = np.arange(max(1, int(np.pi * reach / step))) * 2 * step / reach
        return [on_circle(reach, a) for a in outer] + [on_circle(0.5 * reach, a) for a in inner]
    rows = np.arange(-reach, reach + 0.1, step).tolist()
    return [(x, y) for x in rows for y in rows if x * x + y * y < 0.7 * reach**2]


def balls(rng: np.random.Generator) -> Iterator[Paint]:
    """A ball or a column with small balls in layers, each layer of its own fillings."""
    half = rng.uniform(60, 120)
    size = rng.uniform(6, 13)
    is_round = rng.random() < 0.6
    inner: Solid = Ellipsoid(MIDDLE, (half,) * 3) if is_round else column(2 * half, 1.6 * half)
    yield from vessel_paints(inner, MAIN, 3.0)
    for z in np.linspace(-0.55, 0.55, int(rng.integers(2, 6))).tolist():
        reach = 0.72 * half * float(np.sqrt(1 - z * z))
        for angle in np.arange(max(4, int(2 * np.pi * reach / (3.2 * size)))) * 3.2 * size / reach:
            small = Ellipsoid((*on_circle(reach, angle), z * half), (size,) * 3)
            yield Paint(small, int(rng.integers(SECOND, SIXTH + 1)))


def lattice(rng: np.random.Generator) -> Iterator[Paint]:
    """A box or a column with small balls or rods at the points of a lattice, for the gradients'
    geometry."""
    width = rng.uniform(140, 300)
    step = rng.uniform(18, 38)
    inner = column(width, width * rng.uniform(0.5, 1.1), square=float(rng.choice([0.0, 0.95])))
    dark = rng.random() < 0.5
    yield from vessel_paints(inner, MAIN if dark else AIR, 4.0)
    low, high = inner.box
    size = step * rng.uniform(0.12, 0.32)
    rods = rng.random() < 0.4
    points = [
        np.arange(a + step, b - step / 2, step).tolist() for a, b in zip(low, high, strict=True)
    ]
    label = WALL if dark else MAIN
    for x, y in product(*points[:2]):
        if rods:
            yield Paint(
                column(2 * size, 0.9 * float(high[2] - low[2]), centre=(x, y, 0.0)) & inner, label
            )
            continue
        for z in points[2]:
            yield Paint(Ellipsoid((x, y, z), (size,) * 3) & inner, label)


def inserts(rng: np.random.Generator) -> Iterator[Paint]:
    """A vessel of gel with two to nine lumps and rods of other materials."""
    width = rng.uniform(90, 240)
    height = rng.uniform(90, 260)
    inner = column(width, height, square=float(rng.choice([0.0, 0.0, 0.9])))
    yield from vessel_paints(inner, MAIN, 3.0)
    for _ in range(rng.integers(2, 10)):
        x, y, z = (rng.uniform(-0.33, 0.33, 3) * (width, width, height)).tolist()
        a, b, c = (rng.uniform(0.04, 0.14, 3) * width).tolist()
        rod = column(2 * a, 0.9 * height, centre=(x, y, 0.0))
        lump: Solid = Ellipsoid((x, y, z), (a, b, c)) if rng.random() < 0.6 else rod
        yield Paint(lump & inner, int(rng.integers(WALL, FIFTH + 1)))


def straws(rng: np.random.Generator) -> Iterator[Paint]:
    """A bundle of tubes, honeycombed, as for imitating fibres."""
    width = rng.uniform(70, 170)
    height = rng.uniform(80, 260)
    size = rng.uniform(7, 18)
    yield Paint(column(width, height), THIRD)
    for index, y in enumerate(np.arange(-width / 2, width / 2, 0.87 * size).tolist()):
        for x in np.arange(-width / 2 + (index % 2) * size / 2, width / 2, size).tolist():
            if x * x + y * y < (width / 2 - size / 2) ** 2:
                tube = column(size, height, centre=(x, y, 0.0))
                yield Paint(tube, WALL)
                yield Paint(tube.shrunk(0.9), MAIN)


def stairs(rng: np.random.Generator) -> Iterator[Paint]:
    """Steps of a stair in a box: plates of plastic that become wider, for the thickness of slices."""
    width = rng.uniform(100, 220)
    height = rng.uniform(80, 200)
    steps = int(rng.integers(4, 10))
    yield from vessel_paints(column(width, height, square=0.98), MAIN, 3.0)
    for index in range(steps):
        low = -height / 2 + (0.1 + 0.8 * index / steps) * height
        reach = width * (-0.4 + 0.8 * (index + 1) / steps)
        step = Box(
            (-0.4 * width, -0.35 * width, low),
            (reach, 0.35 * width, low + 0.75 * 0.8 * height / steps),
        )
        yield Paint(step, WALL if rng.random() < 0.7 else SECOND)
