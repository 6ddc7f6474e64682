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
from fovnet.phantom.person.traits import Person


def paint_skin_rolls(person: Person) -> Paints:
    """The rolls of this person's figure, paired ones on both sides with thicknesses that differ by
    up to a fifth."""
    for roll in _draw_roll_ellipsoids(person, person.generator(961)):
        yield from paint_fat_and_skin(roll, 0.0, partial(flatten_on_table, person))


def _draw_roll_ellipsoids(person: Person, rng: np.random.Generator) -> Iterator[Ellipsoid]:
    """The ellipsoids that protrude from the trunk as rolls, under their skin."""
    figure = person.figure
    # Protrusion; least and most of: distance behind the middle, height, half axes laterally, to the
    # front and up.
    for protrusion_mm, least_values, most_values in (
        (figure.hip_roll_mm, (0, 1062, 38, 45, 26), (50, 1100, 60, 80, 48)),
        (figure.loin_roll_mm, (10, 1060, 55, 45, 80), (55, 1120, 80, 75, 150)),
        (figure.blade_roll_mm, (25, 1210, 40, 40, 18), (60, 1290, 60, 65, 40)),
    ):
        behind_mm, z, *semi_axes = rng.uniform(least_values, most_values).tolist()
        for side in (1, -1):
            protruding_mm = protrusion_mm * rng.uniform(0.8, 1.0)
            if protruding_mm:
                x = side * (
                    _lateral_extent_mm(person, z, behind_mm, side) + protruding_mm - semi_axes[0]
                )
                yield Ellipsoid(
                    (x, -behind_mm, z), tuple(semi_axes), (0.0, 0.0, side * rng.uniform(-15, 25))
                )
    z, half_width_mm, half_depth_mm, half_height_mm = rng.uniform(
        (965, 95, 40, 34), (1010, 150, 60, 60)
    ).tolist()
    if figure.apron_mm:
        _, centre_y, _, front_mm, _ = trunk_under_skin(person).columns_below(z).tolist()
        yield Ellipsoid(
            (0.0, centre_y + front_mm + figure.apron_mm - half_depth_mm, z),
            (half_width_mm, half_depth_mm, half_height_mm),
        )


def _lateral_extent_mm(person: Person, z: float, behind_mm: float, side: int) -> float:
    """Lateral extent of the fat to that side at a height and `behind_mm` behind the middle, for an
    elliptical outline."""
    centre_x, centre_y, half_width_mm, _, back_mm = (
        trunk_under_skin(person).columns_below(z).tolist()
    )
    return float(
        side * centre_x
        + half_width_mm * np.sqrt(max(1 - ((centre_y + behind_mm) / back_mm) ** 2, 0.2))
    )
