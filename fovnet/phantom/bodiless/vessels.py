"""Bottles, canisters, balls and rings, alone or several side by side, with or without something in
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

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
    paint_vessel,
)
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Loft, Solid

WALL_RANGE_MM = (1.0, 6.0)


def paint_cylinder(rng: np.random.Generator) -> Iterable[Paint]:
    """A cylinder of 6 to 26 cm, from a disc to a long tube."""
    width_mm = rng.uniform(60, 260)
    return _fill_vessel(column(width_mm, width_mm * float(np.exp(rng.uniform(-0.9, 1.0)))), rng)


def paint_ball(rng: np.random.Generator) -> Iterable[Paint]:
    """A sphere of 6 to 28 cm."""
    return _fill_vessel(Ellipsoid(ORIGIN, (rng.uniform(30, 140),) * 3), rng)


def paint_canister(rng: np.random.Generator) -> Iterable[Paint]:
    """A box with round or sharp edges."""
    width_mm, depth_mm, height_mm = rng.uniform((60, 50, 60), (300, 220, 350)).tolist()
    squareness = rng.uniform(0.6, 1.0)
    return _fill_vessel(column(width_mm, height_mm, depth_mm=depth_mm, squareness=squareness), rng)


def paint_oval_vessel(rng: np.random.Generator) -> Iterable[Paint]:
    """An oval column as wide as a trunk, as is put into body coils."""
    width_mm = rng.uniform(180, 400)
    depth_mm = width_mm * rng.uniform(0.5, 0.85)
    squareness = rng.uniform(0, 0.4)
    height_mm = rng.uniform(100, 400)
    return _fill_vessel(column(width_mm, height_mm, depth_mm=depth_mm, squareness=squareness), rng)


def paint_bottle(rng: np.random.Generator) -> Iterable[Paint]:
    """A bottle with shoulder, neck and a dark cap."""
    return _paint_bottle_of_width(rng, FILLING, ORIGIN, rng.uniform(60, 130))


def paint_bottles(rng: np.random.Generator) -> Iterator[Paint]:
    """Two to eight vessels side by side, of one filling or each of its own; two alike may stand
    like legs."""
    vessel_count = int(rng.integers(2, 9))
    are_alike = rng.random() < 0.5
    spacing_mm = rng.uniform(55, 130)
    row_count = 2
    row_length = (vessel_count + 1) // 2
    if vessel_count < 4 or (vessel_count < 6 and rng.random() < 0.4):
        row_count = 1
        row_length = vessel_count
    for vessel_index in range(vessel_count):
        row_index, place_in_row = divmod(vessel_index, row_length)
        x = (place_in_row - (row_length - 1) / 2) * spacing_mm
        y = row_index * spacing_mm - (row_count - 1) * spacing_mm / 2
        vessel = BottleSize(z=0.0, width_mm=0.92 * spacing_mm, label=FILLING, height_ratio=2.2)
        if not are_alike:
            vessel = _draw_bottle_size(spacing_mm, rng)
        if rng.random() < 0.3:
            yield from _paint_bottle_of_width(rng, vessel.label, (x, y, vessel.z), vessel.width_mm)
        else:
            height_mm = vessel.width_mm * vessel.height_ratio
            content = column(vessel.width_mm, height_mm, centre=(x, y, vessel.z))
            yield from paint_vessel(content, vessel.label)


class BottleSize(NamedTuple):
    """What one of several vessels differs by: the height of its middle in mm, its width, the label
    of its filling, and its height over its width."""

    z: float
    width_mm: float
    label: int
    height_ratio: float


def _draw_bottle_size(spacing_mm: float, rng: np.random.Generator) -> BottleSize:
    """A vessel unlike the others, for vessels that far apart."""
    z = rng.uniform(-40, 40)
    width_mm = spacing_mm * rng.uniform(0.35, 0.95)
    label = int(rng.integers(FILLING, SIXTH_FILLING + 1))
    return BottleSize(z, width_mm, label, rng.uniform(0.6, 3.0))


def paint_loading_ring(rng: np.random.Generator) -> Iterator[Paint]:
    """A ring that loads a coil, around nothing or around a bottle."""
    outer_mm = rng.uniform(140, 320)
    height_mm = rng.uniform(60, 300)
    inner_mm = outer_mm - 2 * rng.uniform(12, 45)
    yield Paint(column(outer_mm, height_mm), FILLING)
    yield Paint(column(inner_mm, height_mm + 4), AIR)
    if rng.random() < 0.6:
        yield Paint(column(inner_mm * rng.uniform(0.4, 0.9), height_mm), SECOND_FILLING)


def paint_prism(rng: np.random.Generator) -> Iterable[Paint]:
    """A column with three to six flat sides."""
    side_count = int(rng.integers(3, 7))
    radius_mm = rng.uniform(35, 130)
    height_mm = rng.uniform(80, 350)
    content: Solid = column(2.4 * radius_mm, height_mm)
    for angle in np.arange(side_count) * 2 * np.pi / side_count:
        side_normal = (*on_circle(1.0, angle), 0.0)
        content = content & HalfSpace(side_normal, radius_mm)
    return _fill_vessel(content, rng)


def paint_beaker(rng: np.random.Generator) -> Iterable[Paint]:
    """A cone cut off, wider above or below."""
    width_mm = rng.uniform(60, 220)
    height_mm = rng.uniform(60, 300)
    return _fill_vessel(column(width_mm, height_mm, top_width_share=rng.uniform(0.25, 0.8)), rng)


def paint_nested_vessels(rng: np.random.Generator) -> Iterator[Paint]:
    """Two to four vessels, one in another, as for measuring diffusion or perfusion."""
    width_mm = rng.uniform(100, 260)
    height_mm = rng.uniform(80, 300)
    is_round = rng.random() < 0.4
    for nesting_depth in range(rng.integers(2, 5)):
        content: Solid = column(width_mm, height_mm)
        if is_round:
            content = Ellipsoid(ORIGIN, (width_mm / 2,) * 3)
        yield from paint_vessel(content, FILLING + nesting_depth)
        width_mm = width_mm * rng.uniform(0.55, 0.85)
        height_mm = height_mm * rng.uniform(0.7, 0.95)


def _fill_vessel(content: Solid, rng: np.random.Generator) -> Iterator[Paint]:
    """The vessel about that content: its wall, mostly a bubble of air above the water line, in one
    of three a second liquid."""
    yield from paint_vessel(content, FILLING, rng.uniform(*WALL_RANGE_MM))
    (_, back_y, bottom_z), (_, front_y, top_z) = content.box.tolist()
    if rng.random() < 0.35:
        water_line_y = front_y - rng.uniform(0.02, 0.25) * (front_y - back_y)
        yield Paint(content & HalfSpace((0.0, -1.0, 0.0), -water_line_y), AIR)
    if rng.random() < 0.2:
        surface_z = top_z - rng.uniform(0.1, 0.8) * (top_z - bottom_z)
        yield Paint(content & HalfSpace((0.0, 0.0, -1.0), -surface_z), SECOND_FILLING)


def _paint_bottle_of_width(
    rng: np.random.Generator, label: int, centre: Point, width_mm: float
) -> list[Paint]:
    """A bottle that narrows to a neck, and its cap, which gives no signal."""
    x, y, z = centre
    half_width_mm = width_mm / 2
    height_mm = width_mm * rng.uniform(1.6, 3.2)
    neck_radius_mm = half_width_mm * rng.uniform(0.25, 0.5)
    # (z, radius)
    outline = (
        (z - height_mm / 2, half_width_mm),
        (z + 0.2 * height_mm, half_width_mm),
        (z + 0.36 * height_mm, 1.1 * neck_radius_mm),
        (z + height_mm / 2, neck_radius_mm),
    )
    content = Loft(
        tuple((level_z, x, y, radius_mm, radius_mm, radius_mm) for level_z, radius_mm in outline)
    )
    cap_centre = (x, y, z + 0.52 * height_mm)
    cap = column(2.4 * neck_radius_mm, 0.06 * height_mm, centre=cap_centre)
    return [*paint_vessel(content, label), Paint(cap, WALL)]
