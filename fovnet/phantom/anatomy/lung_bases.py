"""The lowest parts of the lungs: the crescent between chest wall and diaphragm that reaches down
behind liver and spleen.

The costodiaphragmatic recess ends at the tenth rib at the side and at the twelfth beside the spine,
5 to 10 cm below the dome; in breath-hold the lung fills the upper half to three quarters of it
(Moore, Dalley & Agur (2014), Clinically Oriented Anatomy, chapter 1).
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.belly import abdominal_cavity_solid, written_liver_dome_mm
from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.geometry.solids import Loft
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import Person

BELOW_DOME_MM = 20.0
"""The recess is drawn below this level; above it the dome itself leaves space for the lung."""


def paint_lung_recesses(person: Person) -> Paints:
    """The lung in the recess of both sides and the 3 mm of diaphragm that separate it from liver
    and spleen."""
    chest_wall = _chest_wall_solid(person)
    diaphragm_space = _diaphragm_solid(person, chest_wall)
    lowest_z = chest_wall.table[0][0]
    replaced_tissues = (
        "liver",
        "spleen",
        "visceral fat",
        "muscle",
        "bowel wall",
        "stomach content",
    )
    # no lung remains below
    yield paint(
        Box((-150.0, -100.0, 1130.0), (150.0, 110.0, lowest_z)),
        "muscle",
        Layer.CAVITY,
        replaced_tissues="lung",
    )
    yield paint(
        chest_wall - diaphragm_space.shrink(3.0),
        "muscle",
        Layer.CONTENT,
        replaced_tissues=replaced_tissues,
    )
    yield paint(
        chest_wall - diaphragm_space, "lung", Layer.CONTENT, replaced_tissues=replaced_tissues
    )


def draw_recess(person: Person) -> tuple[float, float]:
    """How far below the dome the lung reaches behind, and its thickness there 2 cm below the dome,
    mm."""
    rng = person.generator(39)
    depth_mm = float(np.clip(rng.normal(95, 18) + 0.8 * person.breath_drop_mm, 55, 140))
    return depth_mm, rng.uniform(16, 32)


def _chest_wall_solid(person: Person) -> Loft:
    """The inner face of the chest from the end of the recess to 2 cm below the dome."""
    top_z = written_liver_dome_mm(person) - BELOW_DOME_MM
    depth_mm = draw_recess(person)[0]
    cavity = abdominal_cavity_solid(person)
    heights = np.linspace(written_liver_dome_mm(person) - depth_mm, top_z, 9)
    return Loft(
        tuple(np.column_stack([heights, *cavity.columns_at(heights)]).tolist()),
        squareness=cavity.squareness,
    )


def _diaphragm_solid(person: Person, chest_wall: Loft) -> Loft:
    """The space within the diaphragm: from below upwards it recedes from the chest wall first
    behind, then at the sides, last in front."""
    _, thickness_mm = draw_recess(person)
    low_z = chest_wall.table[0][0]
    high_z = chest_wall.table[-1][0]
    space_rows = []
    for z, centre_x, centre_y, half_width_mm, front_mm, back_mm in chest_wall.table:
        height_share = (z - low_z) / (high_z - low_z)
        side_share, front_share = (
            float(np.clip((height_share - end_share) / (1 - end_share), 0, 1))
            for end_share in (0.25, 0.6)
        )
        space_rows.append(
            (
                z,
                centre_x,
                centre_y,
                half_width_mm - thickness_mm * side_share**1.2,
                front_mm - 0.7 * thickness_mm * front_share,
                back_mm - thickness_mm * height_share**0.6,
            )
        )
    return Loft(tuple(space_rows), squareness=chest_wall.squareness)
