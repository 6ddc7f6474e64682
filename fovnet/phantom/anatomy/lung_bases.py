"""The lowest parts of the lungs: the crescent between chest wall and diaphragm that reaches down behind liver
and spleen.

The costodiaphragmatic recess ends at the tenth rib at the side and at the twelfth beside the spine, 5 to 10
cm below the dome; in breath-hold the lung fills the upper half to three quarters of it (Moore, Dalley & Agur
(2014), Clinically Oriented Anatomy, chapter 1).
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.belly import cavity, dome_mm
from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.geometry.solids import Loft
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import Person

BELOW_DOME_MM = 20.0
"""The recess is drawn below this level; above it the dome itself leaves space for the lung."""


def parts(person: Person) -> Paints:
    """The lung in the recess of both sides and the 3 mm of diaphragm that separate it from liver and
    spleen."""
    wall = _wall(person)
    inner, low = _inner(person, wall), wall.table[0][0]
    within = ("liver", "spleen", "visceral fat", "muscle", "bowel wall", "stomach content")
    # no lung remains below
    yield paint(Box((-150.0, -100.0, 1130.0), (150.0, 110.0, low)), "muscle", Layer.CAVITY, "lung")
    yield paint(wall - inner.shrunk(3.0), "muscle", Layer.CONTENT, within)
    yield paint(wall - inner, "lung", Layer.CONTENT, within)


def reach_mm(person: Person) -> tuple[float, float]:
    """How far below the dome the lung reaches behind, and its thickness there 2 cm below the dome, mm."""
    rng = person.generator(39)
    deep = float(np.clip(rng.normal(95, 18) + 0.8 * person.breath_mm, 55, 140))
    return deep, rng.uniform(16, 32)


def _wall(person: Person) -> Loft:
    """The inner face of the chest from the end of the recess to 2 cm below the dome."""
    top, deep = dome_mm(person) - BELOW_DOME_MM, reach_mm(person)[0]
    room = cavity(person)
    heights = np.linspace(dome_mm(person) - deep, top, 9)
    return Loft(tuple(np.column_stack([heights, *room.at(heights)]).tolist()), square=room.square)


def _inner(person: Person, wall: Loft) -> Loft:
    """The space within the diaphragm: from below upwards it recedes from the chest wall first behind, then at
    the sides, last in front."""
    _, thick = reach_mm(person)
    low, high = wall.table[0][0], wall.table[-1][0]
    rows = []
    for z, cx, cy, a, front, back in wall.table:
        up = (z - low) / (high - low)
        side, ahead = (float(np.clip((up - ends) / (1 - ends), 0, 1)) for ends in (0.25, 0.6))
        rows.append(
            (z, cx, cy, a - thick * side**1.2, front - 0.7 * thick * ahead, back - thick * up**0.6)
        )
    return Loft(tuple(rows), square=wall.square)
