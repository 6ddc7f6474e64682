"""Phantoms of quality control: slabs with grids, bars and discs, vials in a rack, balls in a ball, bundles of
straws.

After the phantom of the American College of Radiology (a cylinder of 19 cm with a resolution insert, wedges,
a grid and discs of low contrast) and the system phantom of NIST and ISMRM (a ball of 20 cm with layers of
small balls of known T1, T2 and proton density; Stupic et al. (2021), Magn Reson Med 86:1194).
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.bodiless.fillings import vessel_table
from fovnet.phantom.bodiless.thing import AIR, FIFTH, MAIN, SECOND, SIXTH, THIRD, WALL, Thing, filled, upright
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Side, Solid
from fovnet.phantom.geometry.tissue_structure import Box


def layered(rng: np.random.Generator) -> Thing:
    """A cylinder of slabs: uniform, with a grid, with bars and holes, with discs, with two wedges, in any
    order."""
    wide, high = float(rng.uniform(120, 230)), float(rng.uniform(90, 240))
    inner = upright(wide, high)
    paints = [filled(inner.shrunk(-4.0), WALL), filled(inner, MAIN)]
    makers = (_grid, _bars, _discs, _wedges)
    edges = np.linspace(-high / 2, high / 2, int(rng.integers(4, 8)))
    for low, top in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        at = int(rng.integers(len(makers) + 1))
        if at < len(makers):
            paints += makers[at](wide, low + 0.15 * (top - low), top - 0.15 * (top - low), rng)
    return Thing(tuple(paints), vessel_table(rng))


def _grid(wide: float, low: float, top: float, rng: np.random.Generator) -> list[Paint]:
    """Crossed plates 10 to 20 mm apart in a square."""
    step, half = float(rng.uniform(10, 20)), 0.33 * wide
    made = []
    for at in np.arange(-half, half + 0.1, step).tolist():
        made.append(filled(Box((at - 1.0, -half, low), (at + 1.0, half, top)), WALL))
        made.append(filled(Box((-half, at - 1.0, low), (half, at + 1.0, top)), WALL))
    return made


def _bars(wide: float, low: float, top: float, rng: np.random.Generator) -> list[Paint]:
    """A dark block with rows of bright holes of three sizes."""
    half, made = 0.3 * wide, []
    made.append(filled(Box((-half, -0.35 * half, low), (half, 0.35 * half, top)), WALL))
    for at, size in enumerate((1.0, 2.0, 4.0)):
        x0 = (at - 1) * 0.6 * half
        made += [
            filled(upright(size, top - low, at=(x0 + i * 2 * size, j * 2 * size, (low + top) / 2)), MAIN)
            for i in (-1.5, -0.5, 0.5, 1.5) for j in (-1.5, -0.5, 0.5, 1.5)
        ]
    if rng.random() < 0.5:
        for at in np.arange(-0.8 * half, 0.8 * half, 6.0).tolist():
            made.append(filled(Box((at, 0.5 * half, low), (at + 3.0, 0.8 * half, top)), WALL))
    return made


def _discs(wide: float, low: float, top: float, rng: np.random.Generator) -> list[Paint]:
    """Spokes of discs that become smaller clockwise, little brighter or darker than what is around."""
    made = []
    for at in range(10):
        angle = 2 * np.pi * at / 10
        for share in (0.3, 0.5, 0.72):
            x, y = (0.5 * wide * share * f for f in (float(np.sin(angle)), float(np.cos(angle))))
            made.append(filled(upright(12.0 - at, top - low, at=(x, y, (low + top) / 2)), SECOND))
    return made


def _wedges(wide: float, low: float, top: float, rng: np.random.Generator) -> list[Paint]:
    """Two plates crossed at a flat angle, for the thickness of slices."""
    slope = (top - low) / (0.6 * wide)
    block = Box((-0.3 * wide, -0.12 * wide, low), (0.3 * wide, 0.12 * wide, top))
    middle, made = (low + top) / 2, [filled(block, WALL)]
    for sign in (1.0, -1.0):
        above, below = (sign * slope, 0.0, 1.0), (-sign * slope, 0.0, -1.0)
        plate = block & Side(above, middle + 2.0) & Side(below, 2.0 - middle)
        made.append(filled(plate & Side((0.0, sign, 0.0), 0.0), MAIN))
    return made


def vials(rng: np.random.Generator) -> Thing:
    """Vials in rings or rows, each with a filling of its own, in water, oil or air."""
    wide, high = float(rng.uniform(100, 240)), float(rng.uniform(50, 180))
    bath: Solid = (
        upright(wide, high) if rng.random() < 0.6 else upright(wide, high, deep_mm=0.8 * wide, square=0.95)
    )
    paints = [filled(bath.shrunk(-3.0), WALL), filled(bath, MAIN if rng.random() < 0.65 else AIR)]
    size = float(rng.uniform(10, 32))
    for x, y in _places(wide, 1.45 * size, rng):
        label = int(rng.integers(SECOND, SIXTH + 1))
        vial = upright(size, 0.85 * high, at=(x, y, 0.0))
        paints += [filled(vial, WALL), filled(vial.shrunk(1.2), label)]
    return Thing(tuple(paints), vessel_table(rng))


def _places(wide: float, step: float, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Points in rings or rows within a circle."""
    reach = wide / 2 - 0.55 * step
    if rng.random() < 0.5:
        around = np.arange(max(3, int(2 * np.pi * reach / step))) * step / reach
        inner = np.arange(max(1, int(np.pi * reach / step))) * 2 * step / reach
        ring = [(reach * np.cos(a), reach * np.sin(a)) for a in around]
        ring += [(0.5 * reach * np.cos(a), 0.5 * reach * np.sin(a)) for a in inner]
        return [(float(x), float(y)) for x, y in ring]
    rows = np.arange(-reach, reach + 0.1, step).tolist()
    return [(x, y) for x in rows for y in rows if x * x + y * y < 0.7 * reach**2]


def balls(rng: np.random.Generator) -> Thing:
    """A ball or a column with small balls in layers, each layer of its own fillings."""
    half, size = float(rng.uniform(60, 120)), float(rng.uniform(6, 13))
    column = upright(2 * half, 1.6 * half)
    inner: Solid = Ellipsoid((0.0, 0.0, 0.0), (half, half, half)) if rng.random() < 0.6 else column
    paints = [filled(inner.shrunk(-3.0), WALL), filled(inner, MAIN)]
    for z in np.linspace(-0.55, 0.55, int(rng.integers(2, 6))).tolist():
        reach = 0.72 * half * float(np.sqrt(1 - z * z))
        for angle in np.arange(max(4, int(2 * np.pi * reach / (3.2 * size)))) * 3.2 * size / reach:
            centre = (reach * float(np.cos(angle)), reach * float(np.sin(angle)), z * half)
            paints.append(filled(Ellipsoid(centre, (size,) * 3), int(rng.integers(SECOND, SIXTH + 1))))
    return Thing(tuple(paints), vessel_table(rng))


def lattice(rng: np.random.Generator) -> Thing:
    """A box or a column with small balls or rods at the points of a lattice, for the gradients' geometry."""
    wide, step = float(rng.uniform(140, 300)), float(rng.uniform(18, 38))
    inner = upright(wide, wide * float(rng.uniform(0.5, 1.1)), square=float(rng.choice([0.0, 0.95])))
    dark = rng.random() < 0.5
    paints = [filled(inner.shrunk(-4.0), WALL), filled(inner, MAIN if dark else AIR)]
    low, high = inner.box
    size, rods = step * float(rng.uniform(0.12, 0.32)), rng.random() < 0.4
    along = [np.arange(a + step, b - step / 2, step).tolist() for a, b in zip(low, high, strict=True)]
    label = WALL if dark else MAIN
    for x in along[0]:
        for y in along[1]:
            if rods:
                rod = upright(2 * size, 0.9 * float(high[2] - low[2]), at=(x, y, 0.0))
                paints.append(filled(rod & inner, label))
                continue
            paints += [filled(Ellipsoid((x, y, z), (size,) * 3) & inner, label) for z in along[2]]
    return Thing(tuple(paints), vessel_table(rng))


def inserts(rng: np.random.Generator) -> Thing:
    """A vessel of gel with two to nine lumps and rods of other materials."""
    wide, high = float(rng.uniform(90, 240)), float(rng.uniform(90, 260))
    inner = upright(wide, high, square=float(rng.choice([0.0, 0.0, 0.9])))
    paints = [filled(inner.shrunk(-3.0), WALL), filled(inner, MAIN)]
    for _ in range(int(rng.integers(2, 10))):
        x, y, z = (rng.uniform(-0.33, 0.33, 3) * (wide, wide, high)).tolist()
        a, b, c = (rng.uniform(0.04, 0.14, 3) * wide).tolist()
        rod = upright(2 * a, 0.9 * high, at=(x, y, 0.0))
        lump: Solid = Ellipsoid((x, y, z), (a, b, c)) if rng.random() < 0.6 else rod
        paints.append(filled(lump & inner, int(rng.integers(WALL, FIFTH + 1))))
    return Thing(tuple(paints), vessel_table(rng))


def straws(rng: np.random.Generator) -> Thing:
    """A bundle of tubes, honeycombed, as for imitating fibres."""
    wide, high, size = float(rng.uniform(70, 170)), float(rng.uniform(80, 260)), float(rng.uniform(7, 18))
    paints = [filled(upright(wide, high), THIRD)]
    rows = np.arange(-wide / 2, wide / 2, 0.87 * size).tolist()
    for at, y in enumerate(rows):
        for x in np.arange(-wide / 2 + (at % 2) * size / 2, wide / 2, size).tolist():
            if x * x + y * y < (wide / 2 - size / 2) ** 2:
                tube = upright(size, high, at=(x, y, 0.0))
                paints += [filled(tube, WALL), filled(tube.shrunk(0.9), MAIN)]
    return Thing(tuple(paints), vessel_table(rng))


def stairs(rng: np.random.Generator) -> Thing:
    """Steps of a stair in a box: plates of plastic that become wider, for the thickness of slices."""
    wide, high, many = float(rng.uniform(100, 220)), float(rng.uniform(80, 200)), int(rng.integers(4, 10))
    inner = upright(wide, high, square=0.98)
    paints = [filled(inner.shrunk(-3.0), WALL), filled(inner, MAIN)]
    for at in range(many):
        low = -high / 2 + (0.1 + 0.8 * at / many) * high
        reach = wide * (-0.4 + 0.8 * (at + 1) / many)
        step = Box((-0.4 * wide, -0.35 * wide, low), (reach, 0.35 * wide, low + 0.75 * 0.8 * high / many))
        paints.append(filled(step, WALL if rng.random() < 0.7 else SECOND))
    return Thing(tuple(paints), vessel_table(rng))
