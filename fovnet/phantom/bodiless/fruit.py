"""Fruit, as is scanned to try a sequence: citrus, melons, apples, pineapples."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.bodiless.fillings import flesh_table
from fovnet.phantom.bodiless.thing import Thing, filled
from fovnet.phantom.geometry.lobed import lobed
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Solid, tube

RIND, FLESH, FIBRE, CORE, SEED = 1, 2, 3, 4, 5


def citrus(rng: np.random.Generator) -> Thing:
    """An orange, a lemon or a grapefruit: segments between walls that meet in the axis, with seeds; one to
    four of them."""
    half, long_ = float(rng.uniform(28, 62)), float(rng.uniform(0.85, 1.5))
    many = int(rng.choice([1, 1, 1, 2, 3, 4]))
    paints: list[Paint] = []
    for at in range(many):
        paints += _citrus((2.15 * half * (at - (many - 1) / 2), 0.0, 0.0), half, long_, rng)
    return Thing(tuple(paints), flesh_table(rng))


def _citrus(
    at: tuple[float, float, float], half: float, long_: float, rng: np.random.Generator
) -> list[Paint]:
    x, y, z = at
    rind, count, turn = float(rng.uniform(2.5, 7)), int(rng.integers(8, 14)), float(rng.uniform(0, 6.3))
    whole = Ellipsoid(at, (half, half, half * long_))
    flesh = whole.shrunk(rind)
    made = [filled(whole, RIND), filled(whole.shrunk(0.4 * rind), FIBRE), filled(flesh, FLESH)]
    for angle in (turn + np.arange(count) * 2 * np.pi / count).tolist():
        right, ahead = float(np.cos(angle)), float(np.sin(angle))
        reach = 0.5 * (half - rind)
        wall = Ellipsoid(
            (x + reach * right, y + reach * ahead, z), (reach, 0.9, flesh.semi[2]),
            (0.0, 0.0, float(np.rad2deg(angle))), square=0.5,
        )
        made.append(filled(wall & flesh, FIBRE))
        if rng.random() < 0.5:
            middle = angle + np.pi / count
            seed = (x + 0.35 * half * float(np.cos(middle)), y + 0.35 * half * float(np.sin(middle)), z)
            made.append(filled(Ellipsoid(seed, (3.0, 3.0, 6.0)), SEED))
    return [*made, filled(tube([(x, y, z - flesh.semi[2]), (x, y, z + flesh.semi[2])], 0.12 * half), CORE)]


def melon(rng: np.random.Generator) -> Thing:
    """A melon: a thick rind, flesh, and a cavity of fibres and seeds."""
    half, long_ = float(rng.uniform(55, 115)), float(rng.uniform(0.9, 1.6))
    whole = Ellipsoid((0.0, 0.0, 0.0), (half, half, half * long_))
    hollow = lobed(Ellipsoid((0.0, 0.0, 0.0), (0.4 * half, 0.4 * half, 0.5 * half * long_)), rng)
    paints = [filled(whole, RIND), filled(whole.shrunk(0.1 * half), FLESH), filled(hollow, CORE)]
    for _ in range(int(rng.integers(10, 45))):
        way = rng.normal(size=3)
        far = rng.uniform(0.6, 1.0) * half * np.array([0.33, 0.33, 0.42 * long_])
        x, y, z = (way / np.linalg.norm(way) * far).tolist()
        turn = rng.uniform(0, 180, 3).tolist()
        paints.append(filled(Ellipsoid((x, y, z), (2.0, 3.0, 6.0), (turn[0], turn[1], turn[2])), SEED))
    return Thing(tuple(paints), flesh_table(rng))


def apple(rng: np.random.Generator) -> Thing:
    """An apple or a pear: flesh under a thin skin, five chambers of seeds, a hollow at the stem."""
    half, tall = float(rng.uniform(30, 50)), float(rng.uniform(0.8, 1.15))
    whole: Solid = Ellipsoid((0.0, 0.0, 0.0), (half, half, half * tall), square=0.2)
    if rng.random() < 0.4:
        whole = whole | Ellipsoid((0.0, 0.0, half), (0.55 * half, 0.55 * half, 0.9 * half))
    dent = Ellipsoid((0.0, 0.0, half * tall), (0.35 * half, 0.35 * half, 0.3 * half))
    paints = [filled(whole - dent, RIND), filled(whole.shrunk(1.2) - dent, FLESH)]
    for angle in (np.arange(5) * 2 * np.pi / 5).tolist():
        x, y = 0.2 * half * float(np.cos(angle)), 0.2 * half * float(np.sin(angle))
        turn = (0.0, 0.0, float(np.rad2deg(angle)))
        chamber = Ellipsoid((x, y, 0.0), (0.16 * half, 0.09 * half, 0.25 * half), turn)
        paints += [filled(chamber.shrunk(-1.5), FIBRE), filled(chamber, CORE)]
        paints.append(filled(Ellipsoid((x, y, 0.0), (2.0, 2.0, 4.0)), SEED))
    return Thing(tuple(paints), flesh_table(rng))


def pineapple(rng: np.random.Generator) -> Thing:
    """A pineapple: a fibrous core, flesh with eyes in spirals near the rind, a crown of leaves."""
    half, tall = float(rng.uniform(45, 70)), float(rng.uniform(1.3, 1.9))
    high = half * tall
    whole = Ellipsoid((0.0, 0.0, 0.0), (half, half, high), square=0.35)
    paints = [filled(whole, RIND), filled(whole.shrunk(5.0), FLESH)]
    for at in range(int(rng.integers(70, 140))):
        angle, up = 2.4 * at, -0.85 + 1.7 * (at + 0.5) / 140
        reach = 0.78 * half * float(np.sqrt(max(0.05, 1 - up**4)))
        eye = (reach * float(np.cos(angle)), reach * float(np.sin(angle)), up * high)
        paints.append(filled(Ellipsoid(eye, (5.0, 5.0, 4.0)), FIBRE))
    paints.append(filled(tube([(0, 0, -0.9 * high), (0, 0, 0.9 * high)], 0.2 * half), CORE))
    for angle in (np.arange(12) * 2.4).tolist():
        way = np.array([np.cos(angle), np.sin(angle), 0.0]) * half * rng.uniform(0.3, 1.0)
        tip = float(rng.uniform(1.3, 1.7))
        leaf = np.array([(0, 0, 0.95), (0, 0, 1.25), (0, 0, tip)]) * high
        leaf[1:] += np.outer((0.5, 1.0), way)
        paints.append(filled(tube(leaf, [5.0, 4.0, 1.0]), RIND))
    return Thing(tuple(paints), flesh_table(rng))
