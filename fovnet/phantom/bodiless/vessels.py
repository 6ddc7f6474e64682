"""Bottles, canisters, balls and rings, alone or several side by side, with or without something in
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from fovnet.phantom.bodiless.thing import (
    AIR,
    FILLING,
    ORIGIN,
    SECOND_FILLING,
    SIXTH_FILLING,
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
    width_mm = rng.uniform(60, 260)
    return _fill_vessel(column(width_mm, width_mm * float(np.exp(rng.uniform(-0.9, 1.0)))), rng)


def ball(rng: np.random.Generator) -> Iterable[Paint]:
    """A sphere of 6 to 28 cm."""
    return _fill_vessel(Ellipsoid(ORIGIN, (rng.uniform(30, 140),) * 3), rng)


def canister(rng: np.random.Generator) -> Iterable[Paint]:
    """A box with round or sharp edges."""
    width_mm, depth_mm, height_mm = rng.uniform((60, 50, 60), (300, 220, 350)).tolist()
    return _fill_vessel(
        column(width_mm, height_mm, depth_mm=depth_mm, square=rng.uniform(0.6, 1.0)), rng
    )


def oval_vessel(rng: np.random.Generator) -> Iterable[Paint]:
    """An oval column as wide as a trunk, as is put into body coils."""
    width_mm = rng.uniform(180, 400)
    depth_mm = width_mm * rng.uniform(0.5, 0.85)
    squareness = rng.uniform(0, 0.4)
    return _fill_vessel(
        column(width_mm, rng.uniform(100, 400), depth_mm=depth_mm, square=squareness), rng
    )


def bottle(rng: np.random.Generator) -> Iterable[Paint]:
    """A bottle with shoulder, neck and a dark cap."""
    return _bottle_paints(rng, FILLING, ORIGIN, rng.uniform(60, 130))


def bottles(rng: np.random.Generator) -> Iterator[Paint]:
    """Two to eight vessels side by side, of one filling or each of its own; two alike may stand
    like legs."""
    vessel_count = int(rng.integers(2, 9))
    are_alike = rng.random() < 0.5
    spacing_mm = rng.uniform(55, 130)
    row_length = (
        vessel_count
        if vessel_count < 4 or (vessel_count < 6 and rng.random() < 0.4)
        else (vessel_count + 1) // 2
    )
    for vessel_index in range(vessel_count):
        vessel_x = (vessel_index % row_length - (row_length - 1) / 2) * spacing_mm
        vessel_y = (vessel_index // row_length) * spacing_mm - (
            vessel_count > row_length
        ) * spacing_mm / 2
        vessel_z = 0.0 if are_alike else rng.uniform(-40, 40)
        width_mm = spacing_mm * (0.92 if are_alike else rng.uniform(0.35, 0.95))
        label = FILLING if are_alike else int(rng.integers(FILLING, SIXTH_FILLING + 1))
        height_mm = width_mm * (2.2 if are_alike else rng.uniform(0.6, 3.0))
        if rng.random() < 0.3:
            yield from _bottle_paints(rng, label, (vessel_x, vessel_y, vessel_z), width_mm)
        else:
            yield from vessel_paints(
                column(width_mm, height_mm, centre=(vessel_x, vessel_y, vessel_z)), label
            )


def loading_ring(rng: np.random.Generator) -> Iterator[Paint]:
    """A ring that loads a coil, around nothing or around a bottle."""
    outer_mm = rng.uniform(140, 320)
    height_mm = rng.uniform(60, 300)
    inner_mm = outer_mm - 2 * rng.uniform(12, 45)
    yield Paint(column(outer_mm, height_mm), FILLING)
    yield Paint(column(inner_mm, height_mm + 4), AIR)
    if rng.random() < 0.6:
        yield Paint(column(inner_mm * rng.uniform(0.4, 0.9), height_mm), SECOND_FILLING)


def prism(rng: np.random.Generator) -> Iterable[Paint]:
    """A column with three to six flat sides."""
    side_count = int(rng.integers(3, 7))
    radius_mm = rng.uniform(35, 130)
    height_mm = rng.uniform(80, 350)
    prism_solid: Solid = column(2.4 * radius_mm, height_mm)
    for angle in np.arange(side_count) * 2 * np.pi / side_count:
        prism_solid = prism_solid & Side((*on_circle(1.0, angle), 0.0), radius_mm)
    return _fill_vessel(prism_solid, rng)


def beaker(rng: np.random.Generator) -> Iterable[Paint]:
    """A cone cut off, wider above or below."""
    width_mm = rng.uniform(60, 220)
    return _fill_vessel(column(width_mm, rng.uniform(60, 300), top=rng.uniform(0.25, 0.8)), rng)


def nested_vessels(rng: np.random.Generator) -> Iterator[Paint]:
    """Two to four vessels, one in another, as for measuring diffusion or perfusion."""
    width_mm = rng.uniform(100, 260)
    height_mm = rng.uniform(80, 300)
    is_round = rng.random() < 0.4
    for nesting_depth in range(rng.integers(2, 5)):
        vessel_solid: Solid = (
            Ellipsoid(ORIGIN, (width_mm / 2,) * 3) if is_round else column(width_mm, height_mm)
        )
        yield from vessel_paints(vessel_solid, FILLING + nesting_depth)
        width_mm = width_mm * rng.uniform(0.55, 0.85)
        height_mm = height_mm * rng.uniform(0.7, 0.95)


def _fill_vessel(content: Solid, rng: np.random.Generator) -> Iterator[Paint]:
    """The vessel about that content: its wall, mostly a bubble of air above the water line, in one
    of three a second liquid."""
    yield from vessel_paints(content, FILLING, rng.uniform(*WALL_MM))
    low_corner, high_corner = content.box.tolist()
    if rng.random() < 0.35:
        level_mm = high_corner[1] - rng.uniform(0.02, 0.25) * (high_corner[1] - low_corner[1])
        yield Paint(content & Side((0.0, -1.0, 0.0), -level_mm), AIR)
    if rng.random() < 0.2:
        level_mm = high_corner[2] - rng.uniform(0.1, 0.8) * (high_corner[2] - low_corner[2])
        yield Paint(content & Side((0.0, 0.0, -1.0), -level_mm), SECOND_FILLING)


def _bottle_paints(
    rng: np.random.Generator, label: int, centre: Point, width_mm: float
) -> list[Paint]:
    """A bottle that narrows to a neck, and its cap, which gives no signal."""
    (x, y, z) = centre
    half_width_mm = width_mm / 2
    height_mm = width_mm * rng.uniform(1.6, 3.2)
    neck_mm = half_width_mm * rng.uniform(0.25, 0.5)
    outline = (
        (z - height_mm / 2, half_width_mm),
        (z + 0.2 * height_mm, half_width_mm),
        (z + 0.36 * height_mm, 1.1 * neck_mm),
        (z + height_mm / 2, neck_mm),
    )
    content = Loft(
        tuple((level_mm, x, y, radius_mm, radius_mm, radius_mm) for level_mm, radius_mm in outline)
    )
    cap = column(2.4 * neck_mm, 0.06 * height_mm, centre=(x, y, z + 0.52 * height_mm))
    return [*vessel_paints(content, label), Paint(cap, WALL)]
