"""Bottles, canisters, balls and rings, alone or several side by side, with or without something in
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from fovnet.phantom.bodiless.thing import (
    AIR,
    MAIN,
    MIDDLE,
    SECOND,
    SIXTH,
    WALL,
    Point,
    column,
    on_circle,
    vessel_paints,
)
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Side, Solid

WALL_MM = (1.0, 6.0)


def cylinder(rng: np.random.Generator) -> Iterable[Paint]:
    """A cylinder of 6 to 26 cm, from a disc to a long tube."""
    width = rng.uniform(60, 260)
    return _vessel(column(width, width * float(np.exp(rng.uniform(-0.9, 1.0)))), rng)


def ball(rng: np.random.Generator) -> Iterable[Paint]:
    """A sphere of 6 to 28 cm."""
    return _vessel(Ellipsoid(MIDDLE, (rng.uniform(30, 140),) * 3), rng)


def canister(rng: np.random.Generator) -> Iterable[Paint]:
    """A box with round or sharp edges."""
    width, depth, height = rng.uniform((60, 50, 60), (300, 220, 350)).tolist()
    return _vessel(column(width, height, depth_mm=depth, square=rng.uniform(0.6, 1.0)), rng)


def oval_vessel(rng: np.random.Generator) -> Iterable[Paint]:
    """An oval column as wide as a trunk, as is put into body coils."""
    width = rng.uniform(180, 400)
    depth = width * rng.uniform(0.5, 0.85)
    square = rng.uniform(0, 0.4)
    return _vessel(column(width, rng.uniform(100, 400), depth_mm=depth, square=square), rng)


def bottle(rng: np.random.Generator) -> Iterable[Paint]:
    """A bottle with shoulder, neck and a dark cap."""
    return _bottle(rng, MAIN, MIDDLE, rng.uniform(60, 130))


def bottles(rng: np.random.Generator) -> Iterator[Paint]:
    """Two to eight vessels side by side, of one filling or each of its own; two alike may stand
    like legs."""
    count = int(rng.integers(2, 9))
    are_alike = rng.random() < 0.5
    step = rng.uniform(55, 130)
    per_row = count if count < 4 or (count < 6 and rng.random() < 0.4) else (count + 1) // 2
    for index in range(count):
        x = (index % per_row - (per_row - 1) / 2) * step
        y = (index // per_row) * step - (count > per_row) * step / 2
        z = 0.0 if are_alike else rng.uniform(-40, 40)
        width = step * (0.92 if are_alike else rng.uniform(0.35, 0.95))
        label = MAIN if are_alike else int(rng.integers(MAIN, SIXTH + 1))
        height = width * (2.2 if are_alike else rng.uniform(0.6, 3.0))
        if rng.random() < 0.3:
            yield from _bottle(rng, label, (x, y, z), width)
        else:
            yield from vessel_paints(column(width, height, centre=(x, y, z)), label)


def loading_ring(rng: np.random.Generator) -> Iterator[Paint]:
    """A ring that loads a coil, around nothing or around a bottle."""
    width = rng.uniform(140, 320)
    height = rng.uniform(60, 300)
    inner = width - 2 * rng.uniform(12, 45)
    yield Paint(column(width, height), MAIN)
    yield Paint(column(inner, height + 4), AIR)
    if rng.random() < 0.6:
        yield Paint(column(inner * rng.uniform(0.4, 0.9), height), SECOND)


def prism(rng: np.random.Generator) -> Iterable[Paint]:
    """A column with three to six flat sides."""
    sides = int(rng.integers(3, 7))
    radius = rng.uniform(35, 130)
    height = rng.uniform(80, 350)
    solid: Solid = column(2.4 * radius, height)
    for angle in np.arange(sides) * 2 * np.pi / sides:
        solid = solid & Side((*on_circle(1.0, angle), 0.0), radius)
    return _vessel(solid, rng)


def beaker(rng: np.random.Generator) -> Iterable[Paint]:
    """A cone cut off, wider above or below."""
    width = rng.uniform(60, 220)
    return _vessel(column(width, rng.uniform(60, 300), top=rng.uniform(0.25, 0.8)), rng)


def nested_vessels(rng: np.random.Generator) -> Iterator[Paint]:
    """Two to four vessels, one in another, as for measuring diffusion or perfusion."""
    width = rng.uniform(100, 260)
    height = rng.uniform(80, 300)
    is_round = rng.random() < 0.4
    for index in range(rng.integers(2, 5)):
        solid: Solid = Ellipsoid(MIDDLE, (width / 2,) * 3) if is_round else column(width, height)
        yield from vessel_paints(solid, MAIN + index)
        width = width * rng.uniform(0.55, 0.85)
        height = height * rng.uniform(0.7, 0.95)


def _vessel(inner: Solid, rng: np.random.Generator) -> Iterator[Paint]:
    """The vessel about that content: its wall, mostly a bubble of air above the water line, in one
    of three a second liquid."""
    yield from vessel_paints(inner, MAIN, rng.uniform(*WALL_MM))
    low, high = inner.box.tolist()
    if rng.random() < 0.35:
        level = high[1] - rng.uniform(0.02, 0.25) * (high[1] - low[1])
        yield Paint(inner & Side((0.0, -1.0, 0.0), -level), AIR)
    if rng.random() < 0.2:
        level = high[2] - rng.uniform(0.1, 0.8) * (high[2] - low[2])
        yield Paint(inner & Side((0.0, 0.0, -1.0), -level), SECOND)


def _bottle(rng: np.random.Generator, label: int, centre: Point, width_mm: float) -> list[Paint]:
    """A bottle that narrows to a neck, and its cap, which gives no signal."""
    (x, y, z) = centre
    half = width_mm / 2
    height = width_mm * rng.uniform(1.6, 3.2)
    neck = half * rng.uniform(0.25, 0.5)
    rows = (
        (z - height / 2, half),
        (z + 0.2 * height, half),
        (z + 0.36 * height, 1.1 * neck),
        (z + height / 2, neck),
    )
    inner = Loft(tuple((level, x, y, a, a, a) for level, a in rows))
    cap = column(2.4 * neck, 0.06 * height, centre=(x, y, z + 0.52 * height))
    return [*vessel_paints(inner, label), Paint(cap, WALL)]
