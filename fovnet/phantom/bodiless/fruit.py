"""Fruit, as is scanned to try a sequence: citrus, melons, apples, pineapples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fovnet.phantom.bodiless.thing import ORIGIN, on_circle
from fovnet.phantom.geometry.lobed import draw_lobed
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Solid, tube

RIND, FLESH, FIBRE, CORE, SEED = range(1, 6)


def paint_citrus(rng: np.random.Generator) -> Iterator[Paint]:
    """An orange, a lemon or a grapefruit: segments between walls that meet in the axis, with seeds;
    one to four of them."""
    radius_mm = rng.uniform(28, 62)
    elongation = rng.uniform(0.85, 1.5)
    fruit_count = int(rng.choice([1, 1, 1, 2, 3, 4]))
    for fruit_index in range(fruit_count):
        centre_x = 2.15 * radius_mm * (fruit_index - (fruit_count - 1) / 2)
        yield from _paint_citrus_fruit(centre_x, radius_mm, elongation, rng)


def _paint_citrus_fruit(
    centre_x: float, radius_mm: float, elongation: float, rng: np.random.Generator
) -> Iterator[Paint]:
    """One citrus fruit about x = `centre_x`: rind, flesh, the walls of its segments and seeds."""
    rind_mm = rng.uniform(2.5, 7)
    segment_count = int(rng.integers(8, 14))
    first_angle = rng.uniform(0, 6.3)
    fruit = Ellipsoid((centre_x, 0.0, 0.0), (radius_mm, radius_mm, radius_mm * elongation))
    flesh = fruit.shrink(rind_mm)
    wall_half_length_mm = 0.5 * (radius_mm - rind_mm)
    half_height_mm = flesh.half_axes_mm[2]
    wall_half_axes_mm = (wall_half_length_mm, 0.9, half_height_mm)
    yield Paint(fruit, RIND)
    yield Paint(fruit.shrink(0.4 * rind_mm), FIBRE)
    yield Paint(flesh, FLESH)
    for angle in (first_angle + np.arange(segment_count) * 2 * np.pi / segment_count).tolist():
        wall_x, wall_y = on_circle(wall_half_length_mm, angle)
        turn_deg = (0.0, 0.0, float(np.rad2deg(angle)))
        wall_centre = (centre_x + wall_x, wall_y, 0.0)
        wall = Ellipsoid(wall_centre, wall_half_axes_mm, turn_deg, squareness=0.5)
        yield Paint(wall & flesh, FIBRE)
        if rng.random() < 0.5:
            seed_x, seed_y = on_circle(0.35 * radius_mm, angle + np.pi / segment_count)
            yield Paint(Ellipsoid((centre_x + seed_x, seed_y, 0.0), (3.0, 3.0, 6.0)), SEED)
    core_line = [(centre_x, 0.0, -half_height_mm), (centre_x, 0.0, half_height_mm)]
    yield Paint(tube(core_line, 0.12 * radius_mm), CORE)


def paint_melon(rng: np.random.Generator) -> Iterator[Paint]:
    """A melon: a thick rind, flesh, and a cavity of fibres and seeds."""
    radius_mm = rng.uniform(55, 115)
    elongation = rng.uniform(0.9, 1.6)
    fruit = Ellipsoid(ORIGIN, (radius_mm, radius_mm, radius_mm * elongation))
    cavity = Ellipsoid(ORIGIN, (0.4 * radius_mm, 0.4 * radius_mm, 0.5 * radius_mm * elongation))
    yield Paint(fruit, RIND)
    yield Paint(fruit.shrink(0.1 * radius_mm), FLESH)
    yield Paint(draw_lobed(cavity, rng), CORE)
    for _ in range(rng.integers(10, 45)):
        seed_direction = rng.normal(size=3)
        distances_mm = rng.uniform(0.6, 1.0) * radius_mm * np.array([0.33, 0.33, 0.42 * elongation])
        x, y, z = (seed_direction / np.linalg.norm(seed_direction) * distances_mm).tolist()
        angle_x, angle_y, angle_z = rng.uniform(0, 180, 3).tolist()
        yield Paint(Ellipsoid((x, y, z), (2.0, 3.0, 6.0), (angle_x, angle_y, angle_z)), SEED)


def paint_apple(rng: np.random.Generator) -> Iterator[Paint]:
    """An apple or a pear: flesh under a thin skin, five chambers of seeds, a hollow at the stem."""
    radius_mm = rng.uniform(30, 50)
    elongation = rng.uniform(0.8, 1.15)
    fruit: Solid = Ellipsoid(ORIGIN, (radius_mm, radius_mm, radius_mm * elongation), squareness=0.2)
    if rng.random() < 0.4:
        neck = Ellipsoid(
            (0.0, 0.0, radius_mm), (0.55 * radius_mm, 0.55 * radius_mm, 0.9 * radius_mm)
        )
        fruit = fruit | neck
    top_centre = (0.0, 0.0, radius_mm * elongation)
    stem_hollow = Ellipsoid(top_centre, (0.35 * radius_mm, 0.35 * radius_mm, 0.3 * radius_mm))
    yield Paint(fruit - stem_hollow, RIND)
    yield Paint(fruit.shrink(1.2) - stem_hollow, FLESH)
    for angle in (np.arange(5) * 2 * np.pi / 5).tolist():
        x, y = on_circle(0.2 * radius_mm, angle)
        turn_deg = (0.0, 0.0, float(np.rad2deg(angle)))
        half_axes = (0.16 * radius_mm, 0.09 * radius_mm, 0.25 * radius_mm)
        chamber = Ellipsoid((x, y, 0.0), half_axes, turn_deg)
        yield Paint(chamber.shrink(-1.5), FIBRE)
        yield Paint(chamber, CORE)
        yield Paint(Ellipsoid((x, y, 0.0), (2.0, 2.0, 4.0)), SEED)


def paint_pineapple(rng: np.random.Generator) -> Iterator[Paint]:
    """A pineapple: a fibrous core, flesh with eyes in spirals near the rind, a crown of leaves."""
    radius_mm = rng.uniform(45, 70)
    elongation = rng.uniform(1.3, 1.9)
    half_height_mm = radius_mm * elongation
    fruit = Ellipsoid(ORIGIN, (radius_mm, radius_mm, half_height_mm), squareness=0.35)
    yield Paint(fruit, RIND)
    yield Paint(fruit.shrink(5.0), FLESH)
    for eye_index in range(rng.integers(70, 140)):
        relative_height = -0.85 + 1.7 * (eye_index + 0.5) / 140
        reach_mm = 0.78 * radius_mm * float(np.sqrt(max(0.05, 1 - relative_height**4)))
        centre = (*on_circle(reach_mm, 2.4 * eye_index), relative_height * half_height_mm)
        yield Paint(Ellipsoid(centre, (5.0, 5.0, 4.0)), FIBRE)
    core_line = [(0, 0, -0.9 * half_height_mm), (0, 0, 0.9 * half_height_mm)]
    yield Paint(tube(core_line, 0.2 * radius_mm), CORE)
    for angle in (np.arange(12) * 2.4).tolist():
        tip_shift = (
            np.array([np.cos(angle), np.sin(angle), 0.0]) * radius_mm * rng.uniform(0.3, 1.0)
        )
        tip_height = rng.uniform(1.3, 1.7)
        leaf_line = np.array([(0, 0, 0.95), (0, 0, 1.25), (0, 0, tip_height)]) * half_height_mm
        leaf_line[1:] += np.outer((0.5, 1.0), tip_shift)
        yield Paint(tube(leaf_line, [5.0, 4.0, 1.0]), RIND)
