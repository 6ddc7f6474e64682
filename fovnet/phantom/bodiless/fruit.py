"""Fruit, as is scanned to try a sequence: citrus, melons, apples, pineapples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fovnet.phantom.bodiless.thing import MIDDLE, on_circle
from fovnet.phantom.geometry.lobed import lobed
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Solid, tube

RIND, FLESH, FIBRE, CORE, SEED = 1, 2, 3, 4, 5


def citrus(rng: np.random.Generator) -> Iterator[Paint]:
    """An orange, a lemon or a grapefruit: segments between walls that meet in the axis, with seeds; one to
    four of them."""
    half, long_ = rng.uniform(28, 62), rng.uniform(0.85, 1.5)
    many = int(rng.choice([1, 1, 1, 2, 3, 4]))
    for at in range(many):
        yield from _citrus(2.15 * half * (at - (many - 1) / 2), half, long_, rng)


def _citrus(x: float, half: float, long_: float, rng: np.random.Generator) -> Iterator[Paint]:
    rind, count, turn = rng.uniform(2.5, 7), int(rng.integers(8, 14)), rng.uniform(0, 6.3)
    whole = Ellipsoid((x, 0.0, 0.0), (half, half, half * long_))
    flesh, reach = whole.shrunk(rind), 0.5 * (half - rind)
    top = flesh.semi[2]
    yield Paint(whole, RIND)
    yield Paint(whole.shrunk(0.4 * rind), FIBRE)
    yield Paint(flesh, FLESH)
    for angle in (turn + np.arange(count) * 2 * np.pi / count).tolist():
        right, ahead = on_circle(reach, angle)
        turned = (0.0, 0.0, float(np.rad2deg(angle)))
        yield Paint(
            Ellipsoid((x + right, ahead, 0.0), (reach, 0.9, top), turned, square=0.5) & flesh, FIBRE
        )
        if rng.random() < 0.5:
            right, ahead = on_circle(0.35 * half, angle + np.pi / count)
            yield Paint(Ellipsoid((x + right, ahead, 0.0), (3.0, 3.0, 6.0)), SEED)
    yield Paint(tube([(x, 0.0, -top), (x, 0.0, top)], 0.12 * half), CORE)


def melon(rng: np.random.Generator) -> Iterator[Paint]:
    """A melon: a thick rind, flesh, and a cavity of fibres and seeds."""
    half, long_ = rng.uniform(55, 115), rng.uniform(0.9, 1.6)
    whole = Ellipsoid(MIDDLE, (half, half, half * long_))
    yield Paint(whole, RIND)
    yield Paint(whole.shrunk(0.1 * half), FLESH)
    yield Paint(lobed(Ellipsoid(MIDDLE, (0.4 * half, 0.4 * half, 0.5 * half * long_)), rng), CORE)
    for _ in range(rng.integers(10, 45)):
        way = rng.normal(size=3)
        far = rng.uniform(0.6, 1.0) * half * np.array([0.33, 0.33, 0.42 * long_])
        x, y, z = (way / np.linalg.norm(way) * far).tolist()
        a, b, c = rng.uniform(0, 180, 3).tolist()
        yield Paint(Ellipsoid((x, y, z), (2.0, 3.0, 6.0), (a, b, c)), SEED)


def apple(rng: np.random.Generator) -> Iterator[Paint]:
    """An apple or a pear: flesh under a thin skin, five chambers of seeds, a hollow at the stem."""
    half, tall = rng.uniform(30, 50), rng.uniform(0.8, 1.15)
    whole: Solid = Ellipsoid(MIDDLE, (half, half, half * tall), square=0.2)
    if rng.random() < 0.4:
        whole = whole | Ellipsoid((0.0, 0.0, half), (0.55 * half, 0.55 * half, 0.9 * half))
    dent = Ellipsoid((0.0, 0.0, half * tall), (0.35 * half, 0.35 * half, 0.3 * half))
    yield Paint(whole - dent, RIND)
    yield Paint(whole.shrunk(1.2) - dent, FLESH)
    for angle in (np.arange(5) * 2 * np.pi / 5).tolist():
        x, y = on_circle(0.2 * half, angle)
        turn = (0.0, 0.0, float(np.rad2deg(angle)))
        chamber = Ellipsoid((x, y, 0.0), (0.16 * half, 0.09 * half, 0.25 * half), turn)
        yield Paint(chamber.shrunk(-1.5), FIBRE)
        yield Paint(chamber, CORE)
        yield Paint(Ellipsoid((x, y, 0.0), (2.0, 2.0, 4.0)), SEED)


def pineapple(rng: np.random.Generator) -> Iterator[Paint]:
    """A pineapple: a fibrous core, flesh with eyes in spirals near the rind, a crown of leaves."""
    half, tall = rng.uniform(45, 70), rng.uniform(1.3, 1.9)
    high = half * tall
    whole = Ellipsoid(MIDDLE, (half, half, high), square=0.35)
    yield Paint(whole, RIND)
    yield Paint(whole.shrunk(5.0), FLESH)
    for at in range(rng.integers(70, 140)):
        angle, up = 2.4 * at, -0.85 + 1.7 * (at + 0.5) / 140
        reach = 0.78 * half * float(np.sqrt(max(0.05, 1 - up**4)))
        yield Paint(Ellipsoid((*on_circle(reach, angle), up * high), (5.0, 5.0, 4.0)), FIBRE)
    yield Paint(tube([(0, 0, -0.9 * high), (0, 0, 0.9 * high)], 0.2 * half), CORE)
    for angle in (np.arange(12) * 2.4).tolist():
        way = np.array([np.cos(angle), np.sin(angle), 0.0]) * half * rng.uniform(0.3, 1.0)
        tip = rng.uniform(1.3, 1.7)
        leaf = np.array([(0, 0, 0.95), (0, 0, 1.25), (0, 0, tip)]) * high
        leaf[1:] += np.outer((0.5, 1.0), way)
        yield Paint(tube(leaf, [5.0, 4.0, 1.0]), RIND)
