"""The lowest parts of the lungs: the crescent between chest wall and diaphragm that reaches down
behind liver and spleen.

The costodiaphragmatic recess ends at the tenth rib at the side and at the twelfth beside the spine,
5 to 10 cm below the dome; in breath-hold the lung fills the upper half to three quarters of it
(Moore, Dalley & Agur (2014), Clinically Oriented Anatomy, chapter 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fovnet.phantom.anatomy.belly import abdominal_cavity_solid, liver_dome_height_mm
from fovnet.phantom.anatomy.layers import Layer, LoftRow, Paints, paint
from fovnet.phantom.geometry.solids import Loft
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

BELOW_DOME_MM = 20.0
"""The recess is drawn below this level, mm below the liver's dome; above it the dome itself leaves
space for the lung."""


class RecessSize(NamedTuple):
    """The lung in the costodiaphragmatic recess: how far below the liver's dome it reaches behind,
    and its thickness there at the upper end of the recess."""

    depth_mm: float
    thickness_mm: float


def paint_lung_recesses(person: Person) -> Paints:
    """The lung in the recess of both sides and the 3 mm of diaphragm that separate it from liver
    and spleen."""
    inner_chest = _inner_chest_solid(person)
    space_in_diaphragm = _space_in_diaphragm(person, inner_chest)
    lowest_z = inner_chest.table[0][0]
    replaced_tissues = (
        "liver",
        "spleen",
        "visceral fat",
        "muscle",
        "bowel wall",
        "stomach content",
    )
    below_recess = Box((-150.0, -100.0, 1130.0), (150.0, 110.0, lowest_z))
    recess_with_diaphragm = inner_chest - space_in_diaphragm.shrink(3.0)
    lung_in_recess = inner_chest - space_in_diaphragm
    yield paint(below_recess, "muscle", Layer.CAVITY, replaced_tissues="lung")
    yield paint(recess_with_diaphragm, "muscle", Layer.CONTENT, replaced_tissues=replaced_tissues)
    yield paint(lung_in_recess, "lung", Layer.CONTENT, replaced_tissues=replaced_tissues)


def draw_recess(person: Person) -> RecessSize:
    """The size of the recess in this person's breath: the same at every call."""
    rng = person.generator(Stream.LUNG_RECESS)
    depth_mm = float(np.clip(rng.normal(95, 18) + 0.8 * person.breath_drop_mm, 55, 140))
    return RecessSize(depth_mm, thickness_mm=rng.uniform(16, 32))


def _inner_chest_solid(person: Person) -> Loft:
    """The space within the chest wall, from the lower end of the recess to its upper one."""
    dome_z = liver_dome_height_mm(person)
    recess = draw_recess(person)
    cavity = abdominal_cavity_solid(person)
    heights = np.linspace(dome_z - recess.depth_mm, dome_z - BELOW_DOME_MM, 9)
    rows = np.column_stack([heights, *cavity.columns_at(heights)]).tolist()
    return Loft(tuple(rows), squareness=cavity.squareness)


def _space_in_diaphragm(person: Person, inner_chest: Loft) -> Loft:
    """The space within the diaphragm: from below upwards it recedes from the chest wall first
    behind, then at the sides, last in front."""
    thickness_mm = draw_recess(person).thickness_mm
    low_z, *_ = inner_chest.table[0]
    high_z, *_ = inner_chest.table[-1]
    rows = []
    for z, centre_x, centre_y, half_width_mm, front_mm, back_mm in inner_chest.table:
        height_share = (z - low_z) / (high_z - low_z)
        side_share, front_share = (
            float(np.clip((height_share - start_share) / (1 - start_share), 0, 1))
            for start_share in (0.25, 0.6)
        )
        row = LoftRow(
            z,
            centre_x,
            centre_y,
            half_width_mm=half_width_mm - thickness_mm * side_share**1.2,
            front_mm=front_mm - 0.7 * thickness_mm * front_share,
            back_mm=back_mm - thickness_mm * height_share**0.6,
        )
        rows.append(row)
    return Loft(tuple(rows), squareness=inner_chest.squareness)
