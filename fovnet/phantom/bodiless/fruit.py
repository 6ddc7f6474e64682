"""Fruit, as is scanned to try a sequence: citrus, melons, apples, pineapples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fovnet.phantom.bodiless.thing import MIDDLE, on_circle
from fovnet.phantom.geometry.lobed import draw_lobed
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Solid, tube

RIND, FLESH, FIBRE, CORE, SEED = range(1, 6)


def citrus(rng: np.random.Generator) -> Iterator[Paint]:
    """An orange, a lemon or a grapefruit: segments between walls that meet in the axis, with seeds;
    one to four of them."""
    radius = rng.uniform(28, 62)
    elongation = rng.uniform(0.85, 1.5)
    count = int(rng.choice([1, 1, 1, 2, 3, 4]))
    for number in range(count):
        yield from _citrus(2.15 * radius * (number - (count - 1) / 2), radius, elongation, rng)


def _citrus(
    x: float, radius: float, elongation: float, rng: np.random.Generator
) -> Iterator[Paint]:
    rind = rng.uniform(2.5, 7)
    segments = int(rng.integers(8, 14))
    first_angle = rng.uniform(0, 6.3)
    fruit = Ellipsoid((x, 0.0, 0.0), (radius, radius, radius * elongation))
    flesh = fruit.shrunk(rind)
    reach = 0.5 * (radius - rind)
    top = flesh.semi[2]
    yield Paint(fruit, RIND)
    yield Paint(fruit.shrunk(0.4 * rind), FIBRE)
    yield Paint(flesh, FLESH)
    for angle in (first_angle + np.arange(segments) * 2 * np.pi / segments).tolist():
        right, ahead = on_circle(reach, angle)
        turn_deg = (0.0, 0.0, float(np.rad2deg(angle)))
        wall = Ellipsoid((x + right, ahead, 0.0), (reach, 0.9, top), turn_deg, square=0.5)
        yield Paint(wall & flesh, FIBRE)
        if rng.random() < 0.5:
            right, ahead = on_circle(0.35 * radius, angle + np.pi / segments)
            yield Paint(Ellipsoid((x + right, ahead, 0.0), (3.0, 3.0, 6.0)), SEED)
    yield Paint(tube([(x, 0.0, -top), (x, 0.0, top)], 0.12 * radius), CORE)


def melon(rng: np.random.Generator) -> Iterator[Paint]:
    """A melon: a thick rind, flesh, and a cavity of fibres and seeds."""
    radius = rng.uniform(55, 115)
    elongation = rng.uniform(0.9, 1.6)
    fruit = Ellipsoid(MIDDLE, (radius, radius, radius * elongation))
    cavity = Ellipsoid(MIDDLE, (0.4 * radius, 0.4 * radius, 0.5 * radius * elongation))
    yield Paint(fruit, RIND)
    yield Paint(fruit.shrunk(0.1 * radius), FLESH)
    yield Paint(draw_lobed(cavity, rng), CORE)
    for _ in range(rng.integers(10, 45)):
        direction = rng.normal(size=3)
        reach = rng.uniform(0.6, 1.0) * radius * np.array([0.33, 0.33, 0.42 * elongation])
        x, y, z = (direction / np.linalg.norm(direction) * reach).tolist()
        a, b, c = rng.uniform(0, 180, 3).tolist()
        yield Paint(Ellipsoid((x, y, z), (2.0, 3.0, 6.0), (a, b, c)), SEED)


def apple(rng: np.random.Generator) -> Iterator[Paint]:
    """An apple or a pear: flesh under a thin skin, five chambers of seeds, a hollow at the stem."""
    radius = rng.uniform(30, 50)
    tallness = rng.uniform(0.8, 1.15)
    fruit: Solid = Ellipsoid(MIDDLE, (radius, radius, radius * tallness), square=0.2)
    if rng.random() < 0.4:
        neck = Ellipsoid((0.0, 0.0, radius), (0.55 * radius, 0.55 * radius, 0.9 * radius))
        fruit = fruit | neck
    top = (0.0, 0.0, radius * tallness)
    dent = Ellipsoid(top, (0.35 * radius, 0.35 * radius, 0.3 * radius))
    yield Paint(fruit - dent, RIND)
    yield Paint(fruit.shrunk(1.2) - dent, FLESH)
    for angle in (np.arange(5) * 2 * np.pi / 5).tolist():
        x, y = on_circle(0.2 * radius, angle)
        turn_deg = (0.0, 0.0, float(np.rad2deg(angle)))
        semi = (0.16 * radius, 0.09 * radius, 0.25 * radius)
        chamber = Ellipsoid((x, y, 0.0), semi, turn_deg)
        yield Paint(chamber.shrunk(-1.5), FIBRE)
        yield Paint(chamber, CORE)
        yield Paint(Ellipsoid((x, y, 0.0), (2.0, 2.0, 4.0)), SEED)


def pineapple(rng: np.random.Generator) -> Iterator[Paint]:
    """A pineapple: a fibrous core, flesh with eyes in spirals near the rind, a crown of leaves."""
    radius = rng.uniform(45, 70)
    tallness = rng.uniform(1.3, 1.9)
    half_height = radius * tallness
    fruit = Ellipsoid(MIDDLE, (radius, radius, half_height), square=0.35)
    yield Paint(fruit, RIND)
    yield Paint(fruit.shrunk(5.0), FLESH)
    for number in range(rng.integers(70, 140)):
        height = -0.85 + 1.7 * (number + 0.5) / 140
        reach = 0.78 * radius * float(np.sqrt(max(0.05, 1 - height**4)))
        centre = (*on_circle(reach, 2.4 * number), height * half_height)
        yield Paint(Ellipsoid(centre, (5.0, 5.0, 4.0)), FIBRE)
    axis = [(0, 0, -0.9 * half_height), (0, 0, 0.9 * half_height)]
    yield Paint(tube(axis, 0.2 * radius), CORE)
    for angle in (np.arange(12) * 2.4).tolist():
        bend = np.array([np.cos(angle), np.sin(angle), 0.0]) * radius * rng.uniform(0.3, 1.0)
        tip = rng.uniform(1.3, 1.7)
        leaf = np.array([(0, 0, 0.95), (0, 0, 1.25), (0, 0, tip)]) * half_height
        leaf[1:] += np.outer((0.5, 1.0), bend)
        yield Paint(tube(leaf, [5.0, 4.0, 1.0]), RIND)
