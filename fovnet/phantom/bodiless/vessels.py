"""Bottles, canisters, balls and rings, alone or several side by side, with or without something in them."""

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
    on_circle,
    upright,
    walled,
)
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Side, Solid

WALL_MM = (1.0, 6.0)


def cylinder(rng: np.random.Generator) -> Iterable[Paint]:
    """A cylinder of 6 to 26 cm, from a disc to a long tube."""
    wide = rng.uniform(60, 260)
    return _vessel(upright(wide, wide * float(np.exp(rng.uniform(-0.9, 1.0)))), rng)


def ball(rng: np.random.Generator) -> Iterable[Paint]:
    """A sphere of 6 to 28 cm."""
    return _vessel(Ellipsoid(MIDDLE, (rng.uniform(30, 140),) * 3), rng)


def canister(rng: np.random.Generator) -> Iterable[Paint]:
    """A box with round or sharp edges."""
    wide, deep, high = rng.uniform((60, 50, 60), (300, 220, 350)).tolist()
    return _vessel(upright(wide, high, deep_mm=deep, square=rng.uniform(0.6, 1.0)), rng)


def oval_vessel(rng: np.random.Generator) -> Iterable[Paint]:
    """An oval column as wide as a trunk, as is put into body coils."""
    wide = rng.uniform(180, 400)
    deep, square = wide * rng.uniform(0.5, 0.85), rng.uniform(0, 0.4)
    return _vessel(upright(wide, rng.uniform(100, 400), deep_mm=deep, square=square), rng)


def bottle(rng: np.random.Generator) -> Iterable[Paint]:
    """A bottle with shoulder, neck and a dark cap."""
    return _bottle(rng, MAIN, MIDDLE, rng.uniform(60, 130))


def bottles(rng: np.random.Generator) -> Iterator[Paint]:
    """Two to eight vessels side by side, of one filling or each of its own; two alike may stand like legs."""
    many, alike, step = int(rng.integers(2, 9)), rng.random() < 0.5, rng.uniform(55, 130)
    across = many if many < 4 or (many < 6 and rng.random() < 0.4) else (many + 1) // 2
    for at in range(many):
        x, y = (
            (at % across - (across - 1) / 2) * step,
            (at // across) * step - (many > across) * step / 2,
        )
        z = 0.0 if alike else rng.uniform(-40, 40)
        wide = step * (0.92 if alike else rng.uniform(0.35, 0.95))
        label = MAIN if alike else int(rng.integers(MAIN, SIXTH + 1))
        high = wide * (2.2 if alike else rng.uniform(0.6, 3.0))
        if rng.random() < 0.3:
            yield from _bottle(rng, label, (x, y, z), wide)
        else:
            yield from walled(upright(wide, high, at=(x, y, z)), label)


def loading_ring(rng: np.random.Generator) -> Iterator[Paint]:
    """A ring that loads a coil, around nothing or around a bottle."""
    wide, high = rng.uniform(140, 320), rng.uniform(60, 300)
    inner = wide - 2 * rng.uniform(12, 45)
    yield Paint(upright(wide, high), MAIN)
    yield Paint(upright(inner, high + 4), AIR)
    if rng.random() < 0.6:
        yield Paint(upright(inner * rng.uniform(0.4, 0.9), high), SECOND)


def prism(rng: np.random.Generator) -> Iterable[Paint]:
    """A column with three to six flat sides."""
    sides, radius, high = int(rng.integers(3, 7)), rng.uniform(35, 130), rng.uniform(80, 350)
    solid: Solid = upright(2.4 * radius, high)
    for angle in np.arange(sides) * 2 * np.pi / sides:
        solid = solid & Side((*on_circle(1.0, angle), 0.0), radius)
    return _vessel(solid, rng)


def beaker(rng: np.random.Generator) -> Iterable[Paint]:
    """A cone cut off, wider above or below."""
    wide = rng.uniform(60, 220)
    return _vessel(upright(wide, rng.uniform(60, 300), top=rng.uniform(0.25, 0.8)), rng)


def nested(rng: np.random.Generator) -> Iterator[Paint]:
    """Two to four vessels, one in another, as for measuring diffusion or perfusion."""
    wide, high = rng.uniform(100, 260), rng.uniform(80, 300)
    round_ = rng.random() < 0.4
    for at in range(rng.integers(2, 5)):
        solid: Solid = Ellipsoid(MIDDLE, (wide / 2,) * 3) if round_ else upright(wide, high)
        yield from walled(solid, MAIN + at)
        wide, high = wide * rng.uniform(0.55, 0.85), high * rng.uniform(0.7, 0.95)


def _vessel(inner: Solid, rng: np.random.Generator) -> Iterator[Paint]:
    """The vessel about that content: its wall, mostly a bubble of air above the water line, in one of three a
    second liquid."""
    yield from walled(inner, MAIN, rng.uniform(*WALL_MM))
    low, high = inner.box.tolist()
    if rng.random() < 0.35:
        level = high[1] - rng.uniform(0.02, 0.25) * (high[1] - low[1])
        yield Paint(inner & Side((0.0, -1.0, 0.0), -level), AIR)
    if rng.random() < 0.2:
        level = high[2] - rng.uniform(0.1, 0.8) * (high[2] - low[2])
        yield Paint(inner & Side((0.0, 0.0, -1.0), -level), SECOND)


def _bottle(rng: np.random.Generator, label: int, at: Point, wide_mm: float) -> list[Paint]:
    """A bottle that narrows to a neck, and its cap, which gives no signal."""
    (x, y, z), half = at, wide_mm / 2
    high, neck = wide_mm * rng.uniform(1.6, 3.2), half * rng.uniform(0.25, 0.5)
    rows = (
        (z - high / 2, half),
        (z + 0.2 * high, half),
        (z + 0.36 * high, 1.1 * neck),
        (z + high / 2, neck),
    )
    inner = Loft(tuple((up, x, y, a, a, a) for up, a in rows))
    cap = upright(2.4 * neck, 0.06 * high, at=(x, y, z + 0.52 * high))
    return [*walled(inner, label), Paint(cap, WALL)]
