"""Phantoms of quality control: slabs with grids, bars and discs, vials in a rack, balls in a ball,
bundles of straws.

After the phantom of the American College of Radiology (a cylinder of 19 cm with a resolution
insert, wedges, a grid and discs of low contrast) and the system phantom of NIST and ISMRM (a ball
of 20 cm with layers of small balls of known T1, T2 and proton density; Stupic et al. (2021), Magn
Reson Med 86:1194).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from fovnet.phantom.bodiless.thing import (
    AIR,
    FIFTH_FILLING,
    FILLING,
    ORIGIN,
    SECOND_FILLING,
    SIXTH_FILLING,
    THIRD_FILLING,
    WALL,
    column,
    on_circle,
    paint_vessel,
)
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Solid
from fovnet.phantom.geometry.tissue_structure import Box


def paint_slab_phantom(rng: np.random.Generator) -> Iterator[Paint]:
    """A cylinder of slabs: uniform, with a grid, with bars and holes, with discs, with two wedges,
    in any order."""
    width_mm = rng.uniform(120, 230)
    height_mm = rng.uniform(90, 240)
    yield from paint_vessel(column(width_mm, height_mm), FILLING, 4.0)
    slab_painters = (_paint_grid, _paint_bars, _paint_discs, _paint_wedges)
    slab_edges = np.linspace(-height_mm / 2, height_mm / 2, int(rng.integers(4, 8))).tolist()
    for bottom_z, top_z in pairwise(slab_edges):
        margin_mm = 0.15 * (top_z - bottom_z)
        painter_index = int(rng.integers(len(slab_painters) + 1))
        if painter_index < len(slab_painters):  # else the slab is uniform
            paint_slab = slab_painters[painter_index]
            yield from paint_slab(width_mm, bottom_z + margin_mm, top_z - margin_mm, rng)


def _paint_grid(
    width_mm: float, bottom_z: float, top_z: float, rng: np.random.Generator
) -> Iterator[Paint]:
    """Crossed plates of 2 mm, 10 to 20 mm apart, in a square."""
    step_mm = rng.uniform(10, 20)
    reach = 0.33 * width_mm
    for position in np.arange(-reach, reach + 0.1, step_mm).tolist():
        low_face = position - 1.0
        high_face = position + 1.0
        yield Paint(Box((low_face, -reach, bottom_z), (high_face, reach, top_z)), WALL)
        yield Paint(Box((-reach, low_face, bottom_z), (reach, high_face, top_z)), WALL)


def _paint_bars(
    width_mm: float, bottom_z: float, top_z: float, rng: np.random.Generator
) -> Iterator[Paint]:
    """A dark block with rows of bright holes of three sizes, and in half of the slabs a row of dark
    bars beside it."""
    reach = 0.3 * width_mm
    height_mm = top_z - bottom_z
    middle_z = (bottom_z + top_z) / 2
    block = Box((-reach, -0.35 * reach, bottom_z), (reach, 0.35 * reach, top_z))
    yield Paint(block, WALL)
    hole_places = (-1.5, -0.5, 0.5, 1.5)  # in steps of two diameters
    for size_index, hole_mm in enumerate((1.0, 2.0, 4.0)):
        group_x = (size_index - 1) * 0.6 * reach
        for place_x, place_y in product(hole_places, hole_places):
            x = group_x + place_x * 2 * hole_mm
            y = place_y * 2 * hole_mm
            yield Paint(column(hole_mm, height_mm, centre=(x, y, middle_z)), FILLING)
    if rng.random() < 0.5:
        for bar_x in np.arange(-0.8 * reach, 0.8 * reach, 6.0).tolist():
            bar = Box((bar_x, 0.5 * reach, bottom_z), (bar_x + 3.0, 0.8 * reach, top_z))
            yield Paint(bar, WALL)


def _paint_discs(
    width_mm: float, bottom_z: float, top_z: float, rng: np.random.Generator
) -> Iterator[Paint]:
    """Spokes of discs that become smaller clockwise, little brighter or darker than what is around."""
    height_mm = top_z - bottom_z
    middle_z = (bottom_z + top_z) / 2
    for spoke_index, radius_share in product(range(10), (0.3, 0.5, 0.72)):
        spoke_angle = 2 * np.pi * spoke_index / 10
        y, x = on_circle(0.5 * width_mm * radius_share, spoke_angle)
        disc_mm = 12.0 - spoke_index
        yield Paint(column(disc_mm, height_mm, centre=(x, y, middle_z)), SECOND_FILLING)


def _paint_wedges(
    width_mm: float, bottom_z: float, top_z: float, rng: np.random.Generator
) -> Iterator[Paint]:
    """Two plates crossed at a flat angle, for the thickness of slices."""
    slope_per_mm = (top_z - bottom_z) / (0.6 * width_mm)
    wedge_block = Box(
        (-0.3 * width_mm, -0.12 * width_mm, bottom_z), (0.3 * width_mm, 0.12 * width_mm, top_z)
    )
    middle_z = (bottom_z + top_z) / 2
    yield Paint(wedge_block, WALL)
    for sign in (1.0, -1.0):
        upper_normal = (sign * slope_per_mm, 0.0, 1.0)
        lower_normal = (-sign * slope_per_mm, 0.0, -1.0)
        plate = (
            wedge_block
            & HalfSpace(upper_normal, middle_z + 2.0)
            & HalfSpace(lower_normal, 2.0 - middle_z)
        )
        yield Paint(plate & HalfSpace((0.0, sign, 0.0), 0.0), FILLING)


def paint_vials(rng: np.random.Generator) -> Iterator[Paint]:
    """Vials in rings or rows, each with a filling of its own, in water, oil or air."""
    width_mm = rng.uniform(100, 240)
    height_mm = rng.uniform(50, 180)
    bath = column(width_mm, height_mm)
    if rng.random() >= 0.6:
        bath = column(width_mm, height_mm, depth_mm=0.8 * width_mm, squareness=0.95)
    bath_label = FILLING
    if rng.random() >= 0.65:
        bath_label = AIR
    yield from paint_vessel(bath, bath_label, 3.0)
    vial_mm = rng.uniform(10, 32)
    for x, y in _draw_vial_places(width_mm, 1.45 * vial_mm, rng):
        vial_label = int(rng.integers(SECOND_FILLING, SIXTH_FILLING + 1))
        vial = column(vial_mm, 0.85 * height_mm, centre=(x, y, 0.0))
        yield Paint(vial, WALL)
        yield Paint(vial.shrink(1.2), vial_label)


def _draw_vial_places(
    width_mm: float, step_mm: float, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """x and y of points in two rings, or in rows, within a circle, about `step_mm` apart."""
    reach_mm = width_mm / 2 - 0.55 * step_mm
    if rng.random() < 0.5:
        outer_count = max(3, int(2 * np.pi * reach_mm / step_mm))
        inner_count = max(1, int(np.pi * reach_mm / step_mm))
        outer_angles = np.arange(outer_count) * step_mm / reach_mm
        inner_angles = np.arange(inner_count) * 2 * step_mm / reach_mm
        outer_ring = [on_circle(reach_mm, angle) for angle in outer_angles]
        inner_ring = [on_circle(0.5 * reach_mm, angle) for angle in inner_angles]
        return outer_ring + inner_ring
    positions = np.arange(-reach_mm, reach_mm + 0.1, step_mm).tolist()
    return [(x, y) for x in positions for y in positions if x * x + y * y < 0.7 * reach_mm**2]


def paint_balls(rng: np.random.Generator) -> Iterator[Paint]:
    """A ball or a column with small balls in layers, each layer of its own fillings."""
    half_width_mm = rng.uniform(60, 120)
    ball_radius_mm = rng.uniform(6, 13)
    content: Solid = column(2 * half_width_mm, 1.6 * half_width_mm)
    if rng.random() < 0.6:
        content = Ellipsoid(ORIGIN, (half_width_mm,) * 3)
    yield from paint_vessel(content, FILLING, 3.0)
    for layer_share in np.linspace(-0.55, 0.55, int(rng.integers(2, 6))).tolist():
        ring_radius_mm = 0.72 * half_width_mm * float(np.sqrt(1 - layer_share * layer_share))
        ball_count = max(4, int(2 * np.pi * ring_radius_mm / (3.2 * ball_radius_mm)))
        for angle in np.arange(ball_count) * 3.2 * ball_radius_mm / ring_radius_mm:
            centre = (*on_circle(ring_radius_mm, angle), layer_share * half_width_mm)
            small_ball = Ellipsoid(centre, (ball_radius_mm,) * 3)
            yield Paint(small_ball, int(rng.integers(SECOND_FILLING, SIXTH_FILLING + 1)))


def paint_lattice(rng: np.random.Generator) -> Iterator[Paint]:
    """A box or a column with small balls or rods at the points of a lattice, for the gradients'
    geometry."""
    width_mm = rng.uniform(140, 300)
    step_mm = rng.uniform(18, 38)
    height_mm = width_mm * rng.uniform(0.5, 1.1)
    content = column(width_mm, height_mm, squareness=float(rng.choice([0.0, 0.95])))
    # bright things in air, or dark ones in a bath
    bath_label = AIR
    thing_label = FILLING
    if rng.random() < 0.5:
        bath_label = FILLING
        thing_label = WALL
    yield from paint_vessel(content, bath_label, 4.0)
    low_corner, high_corner = content.box
    radius_mm = step_mm * rng.uniform(0.12, 0.32)
    has_rods = rng.random() < 0.4
    x_positions, y_positions, z_positions = (
        np.arange(axis_low + step_mm, axis_high - step_mm / 2, step_mm).tolist()
        for axis_low, axis_high in zip(low_corner, high_corner, strict=True)
    )
    rod_mm = 0.9 * float(high_corner[2] - low_corner[2])
    for x, y in product(x_positions, y_positions):
        if has_rods:
            rod = column(2 * radius_mm, rod_mm, centre=(x, y, 0.0))
            yield Paint(rod & content, thing_label)
            continue
        for z in z_positions:
            small_ball = Ellipsoid((x, y, z), (radius_mm,) * 3)
            yield Paint(small_ball & content, thing_label)


def paint_inserts(rng: np.random.Generator) -> Iterator[Paint]:
    """A vessel of gel with two to nine lumps and rods of other materials."""
    width_mm = rng.uniform(90, 240)
    height_mm = rng.uniform(90, 260)
    content = column(width_mm, height_mm, squareness=float(rng.choice([0.0, 0.0, 0.9])))
    yield from paint_vessel(content, FILLING, 3.0)
    for _ in range(rng.integers(2, 10)):
        x, y, z = (rng.uniform(-0.33, 0.33, 3) * (width_mm, width_mm, height_mm)).tolist()
        half_x, half_y, half_z = (rng.uniform(0.04, 0.14, 3) * width_mm).tolist()
        insert: Solid = column(2 * half_x, 0.9 * height_mm, centre=(x, y, 0.0))
        if rng.random() < 0.6:
            insert = Ellipsoid((x, y, z), (half_x, half_y, half_z))
        yield Paint(insert & content, int(rng.integers(WALL, FIFTH_FILLING + 1)))


def paint_straws(rng: np.random.Generator) -> Iterator[Paint]:
    """A bundle of tubes, honeycombed, as for imitating fibres."""
    width_mm = rng.uniform(70, 170)
    height_mm = rng.uniform(80, 260)
    straw_mm = rng.uniform(7, 18)
    radius_mm = width_mm / 2
    yield Paint(column(width_mm, height_mm), THIRD_FILLING)
    for row_index, y in enumerate(np.arange(-radius_mm, radius_mm, 0.87 * straw_mm).tolist()):
        first_x = -radius_mm + (row_index % 2) * straw_mm / 2
        for x in np.arange(first_x, radius_mm, straw_mm).tolist():
            if x * x + y * y < (radius_mm - straw_mm / 2) ** 2:
                straw = column(straw_mm, height_mm, centre=(x, y, 0.0))
                yield Paint(straw, WALL)
                yield Paint(straw.shrink(0.9), FILLING)


def paint_stairs(rng: np.random.Generator) -> Iterator[Paint]:
    """Steps of a stair in a box: plates of plastic that become wider, for the thickness of slices."""
    width_mm = rng.uniform(100, 220)
    height_mm = rng.uniform(80, 200)
    step_count = int(rng.integers(4, 10))
    yield from paint_vessel(column(width_mm, height_mm, squareness=0.98), FILLING, 3.0)
    plate_mm = 0.75 * 0.8 * height_mm / step_count
    for step_index in range(step_count):
        bottom_z = -height_mm / 2 + (0.1 + 0.8 * step_index / step_count) * height_mm
        end_x = width_mm * (-0.4 + 0.8 * (step_index + 1) / step_count)
        low_corner = (-0.4 * width_mm, -0.35 * width_mm, bottom_z)
        plate = Box(low_corner, (end_x, 0.35 * width_mm, bottom_z + plate_mm))
        label = WALL
        if rng.random() >= 0.7:
            label = SECOND_FILLING
        yield Paint(plate, label)
