"""Bottles, canisters, balls and rings, alone or several side by side, with or without something in them."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.bodiless.fillings import vessel_table
from fovnet.phantom.bodiless.thing import AIR, MAIN, SECOND, SIXTH, WALL, Thing, filled, upright
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Side, Solid

WALL_MM = (1.0, 6.0)


def cylinder(rng: np.random.Generator) -> Thing:
    """A cylinder of 6 to 26 cm, from a disc to a long tube."""
    wide = float(rng.uniform(60, 260))
    return _vessel(upright(wide, wide * float(np.exp(rng.uniform(-0.9, 1.0)))), rng)


def ball(rng: np.random.Generator) -> Thing:
    """A sphere of 6 to 28 cm."""
    half = float(rng.uniform(30, 140))
    return _vessel(Ellipsoid((0.0, 0.0, 0.0), (half, half, half)), rng)


def canister(rng: np.random.Generator) -> Thing:
    """A box with round or sharp edges."""
    wide, deep, high = rng.uniform((60, 50, 60), (300, 220, 350)).tolist()
    return _vessel(upright(wide, high, deep_mm=deep, square=float(rng.uniform(0.6, 1.0))), rng)


def oval_vessel(rng: np.random.Generator) -> Thing:
    """An oval column as wide as a trunk, as is put into body coils."""
    wide = float(rng.uniform(180, 400))
    deep, square = wide * float(rng.uniform(0.5, 0.85)), float(rng.uniform(0, 0.4))
    return _vessel(upright(wide, float(rng.uniform(100, 400)), deep_mm=deep, square=square), rng)


def bottle(rng: np.random.Generator) -> Thing:
    """A bottle with shoulder, neck and a dark cap."""
    return _joined(_bottle(rng, MAIN, (0.0, 0.0, 0.0), float(rng.uniform(60, 130))), rng)


def bottles(rng: np.random.Generator) -> Thing:
    """Two to eight vessels side by side, of one filling or each of its own; two alike may stand like legs."""
    many, alike, step = int(rng.integers(2, 9)), rng.random() < 0.5, float(rng.uniform(55, 130))
    paints: list[Paint] = []
    across = many if many < 4 or (many < 6 and rng.random() < 0.4) else (many + 1) // 2
    for at in range(many):
        x, y = (at % across - (across - 1) / 2) * step, (at // across) * step - (many > across) * step / 2
        z = 0.0 if alike else float(rng.uniform(-40, 40))
        wide = step * (0.92 if alike else float(rng.uniform(0.35, 0.95)))
        label = MAIN if alike else int(rng.integers(MAIN, SIXTH + 1))
        high = wide * (2.2 if alike else float(rng.uniform(0.6, 3.0)))
        solid: Solid = upright(wide, high, at=(x, y, z))
        paints += (
            _bottle(rng, label, (x, y, z), wide)
            if rng.random() < 0.3
            else [filled(solid.shrunk(-2.0), WALL), filled(solid, label)]
        )
    return Thing(tuple(paints), vessel_table(rng))


def loading_ring(rng: np.random.Generator) -> Thing:
    """A ring that loads a coil, around nothing or around a bottle."""
    wide, high = float(rng.uniform(140, 320)), float(rng.uniform(60, 300))
    inner = wide - 2 * float(rng.uniform(12, 45))
    hole = upright(inner, high + 4)
    paints = [filled(upright(wide, high), MAIN), filled(hole, AIR)]
    if rng.random() < 0.6:
        paints.append(filled(upright(inner * float(rng.uniform(0.4, 0.9)), high), SECOND))
    return Thing(tuple(paints), vessel_table(rng))


def prism(rng: np.random.Generator) -> Thing:
    """A column with three to six flat sides."""
    sides, radius, high = int(rng.integers(3, 7)), float(rng.uniform(35, 130)), float(rng.uniform(80, 350))
    solid: Solid = upright(2.4 * radius, high)
    for angle in np.arange(sides) * 2 * np.pi / sides:
        solid = solid & Side((float(np.cos(angle)), float(np.sin(angle)), 0.0), radius)
    return _vessel(solid, rng)


def beaker(rng: np.random.Generator) -> Thing:
    """A cone cut off, wider above or below."""
    wide = float(rng.uniform(60, 220))
    return _vessel(upright(wide, float(rng.uniform(60, 300)), top=float(rng.uniform(0.25, 0.8))), rng)


def nested(rng: np.random.Generator) -> Thing:
    """Two to four vessels, one in another, as for measuring diffusion or perfusion."""
    wide, high = float(rng.uniform(100, 260)), float(rng.uniform(80, 300))
    round_, paints = rng.random() < 0.4, []
    for at in range(int(rng.integers(2, 5))):
        solid: Solid = Ellipsoid((0.0, 0.0, 0.0), (wide / 2,) * 3) if round_ else upright(wide, high)
        paints += [filled(solid.shrunk(-2.0), WALL), filled(solid, MAIN + at)]
        wide, high = wide * float(rng.uniform(0.55, 0.85)), high * float(rng.uniform(0.7, 0.95))
    return Thing(tuple(paints), vessel_table(rng))


def _vessel(inner: Solid, rng: np.random.Generator) -> Thing:
    """The vessel about that content: its wall, mostly a bubble of air above the water line, in one of three a
    second liquid."""
    paints = [filled(inner.shrunk(-float(rng.uniform(*WALL_MM))), WALL), filled(inner, MAIN)]
    low, high = inner.box[0], inner.box[1]
    if rng.random() < 0.35:
        level = float(high[1] - rng.uniform(0.02, 0.25) * (high[1] - low[1]))
        paints.append(filled(inner & Side((0.0, -1.0, 0.0), -level), AIR))
    if rng.random() < 0.2:
        level = float(high[2] - rng.uniform(0.1, 0.8) * (high[2] - low[2]))
        paints.append(filled(inner & Side((0.0, 0.0, -1.0), -level), SECOND))
    return _joined(paints, rng)


def _joined(paints: list[Paint], rng: np.random.Generator) -> Thing:
    return Thing(tuple(paints), vessel_table(rng))


def _bottle(
    rng: np.random.Generator, label: int, at: tuple[float, float, float], wide_mm: float
) -> list[Paint]:
    """A bottle that narrows to a neck, and its cap, which gives no signal."""
    (x, y, z), half = at, wide_mm / 2
    high, neck = wide_mm * float(rng.uniform(1.6, 3.2)), half * float(rng.uniform(0.25, 0.5))
    rows = (
        (z - high / 2, half), (z + 0.2 * high, half), (z + 0.36 * high, 1.1 * neck), (z + high / 2, neck),
    )
    inner = Loft(tuple((up, x, y, a, a, a) for up, a in rows))
    cap = upright(2.4 * neck, 0.06 * high, at=(x, y, z + 0.52 * high))
    return [filled(inner.shrunk(-2.0), WALL), filled(inner, label), filled(cap, WALL)]
