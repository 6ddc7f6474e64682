"""Rolls of skin and fat on the trunk: above the hips, beside the loins, at the lower belly, below
the shoulder blades.

Lengths in mm of the written anatomy, as in `trunk`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from fovnet.phantom.anatomy.layers import Paints, paint_fat_and_skin
from fovnet.phantom.anatomy.trunk import flatten_on_table, trunk_under_skin
from fovnet.phantom.geometry.solids import Ellipsoid
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person


def paint_skin_rolls(person: Person) -> Paints:
    """The rolls of this person's figure, paired ones on both sides with thicknesses that differ by
    up to a fifth."""
    for roll in _draw_roll_ellipsoids(person, person.generator(Stream.SKIN_ROLLS)):
        yield from paint_fat_and_skin(roll, 0.0, partial(flatten_on_table, person))


def _draw_roll_ellipsoids(person: Person, rng: np.random.Generator) -> Iterator[Ellipsoid]:
    """The rolls without their skin: ellipsoids that protrude from the trunk; a figure without a roll
    has none of it."""
    figure = person.figure
    # above the hips, beside the loins and below the shoulder blades: protrusion; then the least and
    # the largest distance behind the middle, height, and half axes laterally, to the front and up
    for protrusion_mm, least_values, most_values in (
        (figure.hip_roll_mm, (0, 1062, 38, 45, 26), (50, 1100, 60, 80, 48)),
        (figure.loin_roll_mm, (10, 1060, 55, 45, 80), (55, 1120, 80, 75, 150)),
        (figure.blade_roll_mm, (25, 1210, 40, 40, 18), (60, 1290, 60, 65, 40)),
    ):
        behind_mm, z, half_width_mm, half_depth_mm, half_height_mm = rng.uniform(
            least_values, most_values
        ).tolist()
        for side in (1, -1):
            protruding_mm = protrusion_mm * rng.uniform(0.8, 1.0)
            if not protruding_mm:
                continue
            trunk_mm = _lateral_extent_mm(person, z, behind_mm, side)
            x = side * (trunk_mm + protruding_mm - half_width_mm)
            turn_deg = (0.0, 0.0, side * rng.uniform(-15, 25))
            semi_axes = (half_width_mm, half_depth_mm, half_height_mm)
            yield Ellipsoid((x, -behind_mm, z), semi_axes, turn_deg)
    z, half_width_mm, half_depth_mm, half_height_mm = rng.uniform(
        (965, 95, 40, 34), (1010, 150, 60, 60)
    ).tolist()
    if figure.apron_mm:
        _, centre_y, _, front_mm, _ = trunk_under_skin(person).columns_below(z).tolist()
        y = centre_y + front_mm + figure.apron_mm - half_depth_mm
        yield Ellipsoid((0.0, y, z), (half_width_mm, half_depth_mm, half_height_mm))


def _lateral_extent_mm(person: Person, z: float, behind_mm: float, side: int) -> float:
    """How far the trunk under its skin extends to one side (1 right, -1 left) at a height and
    `behind_mm` behind its middle, mm, as if its outline were an ellipse."""
    centre_x, centre_y, half_width_mm, _, back_mm = (
        trunk_under_skin(person).columns_below(z).tolist()
    )
    back_share = (centre_y + behind_mm) / back_mm
    return float(side * centre_x + half_width_mm * np.sqrt(max(1 - back_share**2, 0.2)))
