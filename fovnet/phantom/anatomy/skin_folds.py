"""Rolls of skin and fat on the trunk: above the hips, beside the loins, at the lower belly, below the
shoulder blades.

Lengths in mm of the written anatomy, as in `trunk`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from fovnet.phantom.anatomy.layers import Paints, covered
from fovnet.phantom.anatomy.trunk import on_table, under_skin
from fovnet.phantom.geometry.solids import Ellipsoid
from fovnet.phantom.person.traits import Person


def rolls(person: Person) -> Paints:
    """The rolls of this person's figure, paired ones on both sides with thicknesses that differ by up to a
    fifth."""
    for roll in _rolls(person, person.generator(961)):
        yield from covered(roll, 0.0, partial(on_table, person))


def _rolls(person: Person, rng: np.random.Generator) -> Iterator[Ellipsoid]:
    of = person.figure
    # Protrusion; least and most of: distance behind the middle, height, half axes laterally, to the front and
    # up.
    for out_mm, low, high in (
        (of.handles_mm, (0, 1062, 38, 45, 26), (50, 1100, 60, 80, 48)),
        (of.hang_mm, (10, 1060, 55, 45, 80), (55, 1120, 80, 75, 150)),
        (of.under_blades_mm, (25, 1210, 40, 40, 18), (60, 1290, 60, 65, 40)),
    ):
        behind, z, *semi = rng.uniform(low, high).tolist()
        for side in (1, -1):
            out = out_mm * rng.uniform(0.8, 1.0)
            if out:
                x = side * (_reach_mm(person, z, behind, side) + out - semi[0])
                yield Ellipsoid(
                    (x, -behind, z), tuple(semi), (0.0, 0.0, side * rng.uniform(-15, 25))
                )
    z, wide, deep, tall = rng.uniform((965, 95, 40, 34), (1010, 150, 60, 60)).tolist()
    if of.apron_mm:
        _, cy, _, front, _ = under_skin(person).below(z).tolist()
        yield Ellipsoid((0.0, cy + front + of.apron_mm - deep, z), (wide, deep, tall))


def _reach_mm(person: Person, z: float, behind_mm: float, side: int) -> float:
    """Lateral extent of the fat to that side at a height and `behind_mm` behind the middle, for an elliptical
    outline."""
    cx, cy, a, _, back = under_skin(person).below(z).tolist()
    return float(side * cx + a * np.sqrt(max(1 - ((cy + behind_mm) / back) ** 2, 0.2)))
