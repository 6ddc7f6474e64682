"""Phantoms of quality control: slabs with grids, bars and discs, vials in a rack, balls in a ball,
bundles of straws.

After the phantom of the American College of Radiology (a cylinder of 19 cm with a resolution
insert, wedges, a grid and discs of low contrast) and the system phantom of NIST and ISMRM (a ball
of 20 cm with layers of small balls of known T1, T2 and proton density; Stupic et al. (2021), Magn
Reson Med 86:1194).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

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
    vessel_paints,
)
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Side, Solid
from fovnet.phantom.geometry.tissue_structure import Box


def layered_phantom(rng: np.random.Generator) -> Iterator[Paint]:
    """A cylinder of slabs: uniform, with a grid, with bars and holes, with discs, with two wedges,
    in any order."""
    width_mm = rng.uniform(120, 230)
    height_mm = rng.uniform(90, 240)
    yield from vessel_paints(column(width_mm, height_mm), FILLING, 4.0)
    slab_painters = (_paint_grid, _paint_bars, _paint_discs, _paint_wedges)
    slab_edges = np.linspace(-height_mm / 2, height_mm / 2, int(rng.integers(4, 8)))
    for slab_bottom, slab_top in zip(
        slab_edges[:-1].tolist(), slab_edges[1:].tolist(), strict=True
    ):
        painter_index = int(rng.integers(len(slab_painters) + 1))
        if painter_index < len(slab_painters):
            yield from slab_painters[painter_index](
                width_mm,
                slab_bottom + 0.15 * (slab_top - slab_bottom),
                slab_top - 0.15 * (slab_top - slab_bottom),
                rng,
            )


def _paint_grid(
    width_mm: float, bottom_z: float, top_z: float, rng: np.random.Generator
) -> Iterator[Paint]:
    """Crossed plates 10 to 20 mm apart in a square."""
    plate_step_mm = rng.uniform(10, 20)
    half_side_mm = 0.33 * width_mm
    for offset_mm in np.arange(-half_side_mm, half_side_mm + 0.1, plate_step_mm).tolist():
        yield Paint(
            Box((offset_mm - 1.0, -half_side_mm, bottom_z), (offset_mm + 1.0, half_side_mm, top_z)),
            WALL,
        )
        yield Paint(
            Box((-half_side_mm, offset_mm - 1.0, bottom_z), (half_side_mm, offset_mm + 1.0, top_z)),
            WALL,
        )


def _paint_bars(
    width_mm: float, bottom_z: float, top_z: float, rng: np.random.Generator
) -> Iterator[Paint]:
    """A dark block with rows of bright holes of three sizes."""
    half_side_mm = 0.3 * width_mm
    hole_places = (-1.5, -0.5, 0.5, 1.5)
    yield Paint(
        Box(
            (-half_side_mm, -0.35 * half_side_mm, bottom_z),
            (half_side_mm, 0.35 * half_side_mm, top_z),
        ),
        WALL,
    )
    for size_index, hole_mm in enumerate((1.0, 2.0, 4.0)):
        block_x = (size_index - 1) * 0.6 * half_side_mm
        for column_place, row_place in product(hole_places, hole_places):
            hole = column(
                hole_mm,
                top_z - bottom_z,
                centre=(
                    block_x + column_place * 2 * hole_mm,
                    row_place * 2 * hole_mm,
                    (bottom_z + top_z) / 2,
                ),
            )
            yield Paint(hole, FILLING)
    if rng.random() < 0.5:
        for bar_x in np.arange(-0.8 * half_side_mm, 0.8 * half_side_mm, 6.0).tolist():
            yield Paint(
                Box(
                    (bar_x, 0.5 * half_side_mm, bottom_z), (bar_x + 3.0, 0.8 * half_side_mm, top_z)
                ),
                WALL,
            )


def _paint_discs(
    width_mm: float, bottom_z: float, top_z: float, rng: np.random.Generator
) -> Iterator[Paint]:
    """Spokes of discs that become smaller clockwise, little brighter or darker than what is around."""
    for spoke_index, radius_share in product(range(10), (0.3, 0.5, 0.72)):
        y, x = on_circle(0.5 * width_mm * radius_share, 2 * np.pi * spoke_index / 10)
        yield Paint(
            column(12.0 - spoke_index, top_z - bottom_z, centre=(x, y, (bottom_z + top_z) / 2)),
            SECOND_FILLING,
        )


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
            wedge_block & Side(upper_normal, middle_z + 2.0) & Side(lower_normal, 2.0 - middle_z)
        )
        yield Paint(plate & Side((0.0, sign, 0.0), 0.0), FILLING)


def vials(rng: np.random.Generator) -> Iterator[Paint]:
    """Vials in rings or rows, each with a filling of its own, in water, oil or air."""
    width_mm = rng.uniform(100, 240)
    height_mm = rng.uniform(50, 180)
    is_round = rng.random() < 0.6
    bath = (
        column(width_mm, height_mm)
        if is_round
        else column(width_mm, height_mm, depth_mm=0.8 * width_mm, square=0.95)
    )
    yield from vessel_paints(bath, FILLING if rng.random() < 0.65 else AIR, 3.0)
    vial_mm = rng.uniform(10, 32)
    for x, y in _vial_places(width_mm, 1.45 * vial_mm, rng):
        label = int(rng.integers(SECOND_FILLING, SIXTH_FILLING + 1))
        vial = column(vial_mm, 0.85 * height_mm, centre=(x, y, 0.0))
        yield Paint(vial, WALL)
        yield Paint(vial.shrunk(1.2), label)


def _vial_places(
    width_mm: float, step_mm: float, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """Points in rings or rows within a circle."""
    reach_mm = width_mm / 2 - 0.55 * step_mm
    if rng.random() < 0.5:
        outer_angles = np.arange(max(3, int(2 * np.pi * reach_mm / step_mm))) * step_mm / reach_mm
        inner_angles = np.arange(max(1, int(np.pi * reach_mm / step_mm))) * 2 * step_mm / reach_mm
        return [on_circle(reach_mm, angle) for angle in outer_angles] + [
            on_circle(0.5 * reach_mm, angle) for angle in inner_angles
        ]
    coordinates = np.arange(-reach_mm, reach_mm + 0.1, step_mm).tolist()
    return [(x, y) for x in coordinates for y in coordinates if x * x + y * y < 0.7 * reach_mm**2]


def balls(rng: np.random.Generator) -> Iterator[Paint]:
    """A ball or a column with small balls in layers, each layer of its own fillings."""
    half_width_mm = rng.uniform(60, 120)
    ball_radius_mm = rng.uniform(6, 13)
    is_round = rng.random() < 0.6
    vessel_content: Solid = (
        Ellipsoid(ORIGIN, (half_width_mm,) * 3)
        if is_round
        else column(2 * half_width_mm, 1.6 * half_width_mm)
    )
    yield from vessel_paints(vessel_content, FILLING, 3.0)
    for layer_share in np.linspace(-0.55, 0.55, int(rng.integers(2, 6))).tolist():
        ring_radius_mm = 0.72 * half_width_mm * float(np.sqrt(1 - layer_share * layer_share))
        for angle in (
            np.arange(max(4, int(2 * np.pi * ring_radius_mm / (3.2 * ball_radius_mm))))
            * 3.2
            * ball_radius_mm
            / ring_radius_mm
        ):
            small_ball = Ellipsoid(
                (*on_circle(ring_radius_mm, angle), layer_share * half_width_mm),
                (ball_radius_mm,) * 3,
            )
            yield Paint(small_ball, int(rng.integers(SECOND_FILLING, SIXTH_FILLING + 1)))


def lattice(rng: np.random.Generator) -> Iterator[Paint]:
    """A box or a column with small balls or rods at the points of a lattice, for the gradients'
    geometry."""
    width_mm = rng.uniform(140, 300)
    step_mm = rng.uniform(18, 38)
    content = column(
        width_mm, width_mm * rng.uniform(0.5, 1.1), square=float(rng.choice([0.0, 0.95]))
    )
    is_bath_bright = rng.random() < 0.5
    yield from vessel_paints(content, FILLING if is_bath_bright else AIR, 4.0)
    low_corner, high_corner = content.box
    radius_mm = step_mm * rng.uniform(0.12, 0.32)
    has_rods = rng.random() < 0.4
    axis_points = [
        np.arange(axis_low + step_mm, axis_high - step_mm / 2, step_mm).tolist()
        for axis_low, axis_high in zip(low_corner, high_corner, strict=True)
    ]
    label = WALL if is_bath_bright else FILLING
    for x, y in product(*axis_points[:2]):
        if has_rods:
            yield Paint(
                column(
                    2 * radius_mm, 0.9 * float(high_corner[2] - low_corner[2]), centre=(x, y, 0.0)
                )
                & content,
                label,
            )
            continue
        for z in axis_points[2]:
            yield Paint(Ellipsoid((x, y, z), (radius_mm,) * 3) & content, label)


def inserts(rng: np.random.Generator) -> Iterator[Paint]:
    """A vessel of gel with two to nine lumps and rods of other materials."""
    width_mm = rng.uniform(90, 240)
    height_mm = rng.uniform(90, 260)
    content = column(width_mm, height_mm, square=float(rng.choice([0.0, 0.0, 0.9])))
    yield from vessel_paints(content, FILLING, 3.0)
    for _ in range(rng.integers(2, 10)):
        x, y, z = (rng.uniform(-0.33, 0.33, 3) * (width_mm, width_mm, height_mm)).tolist()
        semi_x, semi_y, semi_z = (rng.uniform(0.04, 0.14, 3) * width_mm).tolist()
        rod = column(2 * semi_x, 0.9 * height_mm, centre=(x, y, 0.0))
        lump: Solid = Ellipsoid((x, y, z), (semi_x, semi_y, semi_z)) if rng.random() < 0.6 else rod
        yield Paint(lump & content, int(rng.integers(WALL, FIFTH_FILLING + 1)))


def straws(rng: np.random.Generator) -> Iterator[Paint]:
    """A bundle of tubes, honeycombed, as for imitating fibres."""
    width_mm = rng.uniform(70, 170)
    height_mm = rng.uniform(80, 260)
    straw_mm = rng.uniform(7, 18)
    yield Paint(column(width_mm, height_mm), THIRD_FILLING)
    for row_index, y in enumerate(np.arange(-width_mm / 2, width_mm / 2, 0.87 * straw_mm).tolist()):
        for x in np.arange(
            -width_mm / 2 + (row_index % 2) * straw_mm / 2, width_mm / 2, straw_mm
        ).tolist():
            if x * x + y * y < (width_mm / 2 - straw_mm / 2) ** 2:
                straw = column(straw_mm, height_mm, centre=(x, y, 0.0))
                yield Paint(straw, WALL)
                yield Paint(straw.shrunk(0.9), FILLING)


def stairs(rng: np.random.Generator) -> Iterator[Paint]:
    """Steps of a stair in a box: plates of plastic that become wider, for the thickness of slices."""
    width_mm = rng.uniform(100, 220)
    height_mm = rng.uniform(80, 200)
    step_count = int(rng.integers(4, 10))
    yield from vessel_paints(column(width_mm, height_mm, square=0.98), FILLING, 3.0)
    for step_index in range(step_count):
        step_bottom = -height_mm / 2 + (0.1 + 0.8 * step_index / step_count) * height_mm
        step_end = width_mm * (-0.4 + 0.8 * (step_index + 1) / step_count)
        step_box = Box(
            (-0.4 * width_mm, -0.35 * width_mm, step_bottom),
            (step_end, 0.35 * width_mm, step_bottom + 0.75 * 0.8 * height_mm / step_count),
        )
        yield Paint(step_box, WALL if rng.random() < 0.7 else SECOND_FILLING)
