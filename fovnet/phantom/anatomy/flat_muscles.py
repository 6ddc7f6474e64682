"""Gaps in the muscle of the abdominal wall: between rectus abdominis and the flat muscles, in the
midline, and behind at the loin.

On a slice between ribs and iliac crest the flat muscles (external and internal oblique, transverse)
are two crescents at the sides.  They become a sheet of 1 to 4 mm before they reach rectus
abdominis, whose outer edges are 5 to 9 cm from the middle, and end behind before they reach
quadratus lumborum (Moore, Dalley & Agur (2014), Clinically Oriented Anatomy, chapter 2).  Without
this, the wall is a closed ring of muscle above the crest and open only below it, at the iliac
wings, and networks learn that: they took crescents at the sides for iliac wings, in a real abdomen
and in one of another maker's segmentation, as overpainting them showed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fovnet.phantom.anatomy.belly import abdominal_cavity_solid
from fovnet.phantom.anatomy.layers import Layer, Paints, factor_of_children, paint_all
from fovnet.phantom.anatomy.trunk import muscular_trunk
from fovnet.phantom.geometry.solids import Loft
from fovnet.phantom.person.traits import Person

ANTERIOR_GAP_HEIGHTS_MM = (930.0, 965.0, 1010.0, 1060.0, 1110.0, 1160.0, 1210.0, 1245.0)
POSTERIOR_GAP_HEIGHTS_MM = (1062.0, 1074.0, 1110.0, 1150.0, 1185.0)
"""Heights of the written anatomy between which the wall is open in front and behind; at the ends it
is closed."""
WALL_TISSUES = ("muscle", "intermuscular fat")


@dataclass(frozen=True)
class WallGaps:
    """Where the wall is a sheet without muscle, in mm of the written anatomy.

    rectus_edge    outer edge of rectus abdominis, as a share of half the trunk's width
    between_mm     from there to the flat muscles
    linea_alba_mm  width of the linea alba
    sheet_mm       thickness of the sheets
    hind_y         y at which the flat muscles end behind: 0 in the middle of the trunk, about -60
                   where they reach the loin's
    """

    rectus_edge: float
    between_mm: float
    linea_alba_mm: float
    sheet_mm: float
    hind_y: float


def draw_wall_gaps(person: Person) -> WallGaps:
    """The gaps of a person: the same at every call.

    Between rectus abdominis and the flat muscles 5 to 45 mm; a linea alba of 2 to 30 mm, wider in
    old and obese people (Beer et al. (2009), Clin Anat 22:706: 7 ± 5 to 13 ± 7 mm in nulliparous
    women).  Behind, flat muscles end anywhere from near the middle of the trunk to the muscle of
    the loin.
    """
    rng = person.generator(973)
    width_factor = 1.6 if person.age > 50 or person.belly_mm > 15 else 1.0
    between_mm = rng.uniform(5, 45) * factor_of_children(person, 0.5)
    linea_alba_mm = float(np.clip(width_factor * rng.lognormal(np.log(8), 0.5), 2, 30))
    return WallGaps(
        rng.uniform(0.38, 0.58),
        between_mm,
        linea_alba_mm,
        rng.uniform(1.0, 4.0),
        rng.uniform(-70, -5),
    )


def paint_wall_gaps(person: Person) -> Paints:
    """Fat where the wall has no muscle: outside the sheets in front, through the wall behind; empty
    for a person with a closed wall."""
    if not person.has_open_wall:
        return
    gaps = draw_wall_gaps(person)
    trunk = muscular_trunk(person)
    inner_space = abdominal_cavity_solid(person).shrink(-gaps.sheet_mm)
    lateral_gap = _anterior_gap_solid(trunk, gaps.rectus_edge, gaps.between_mm / 2)
    hind_gap = _posterior_gap_solid(trunk, gaps.hind_y)
    front_gaps = (
        _anterior_gap_solid(trunk, 0.0, gaps.linea_alba_mm / 2),
        lateral_gap,
        lateral_gap.mirror(),
    )
    yield from paint_all(
        (gap - inner_space for gap in front_gaps),
        "fat",
        Layer.MUSCLE,
        replaced_tissues=WALL_TISSUES,
    )
    yield from paint_all(
        (hind_gap, hind_gap.mirror()), "fat", Layer.CAVITY, replaced_tissues=WALL_TISSUES
    )


def _posterior_gap_solid(trunk: Loft, hind_y: float) -> Loft:
    """The gap in the right flank behind, beside the muscle of the loin; above the crest it begins
    where the crest's muscles end."""
    gap_rows = []
    for z, depth_share in zip(POSTERIOR_GAP_HEIGHTS_MM, (0.0, 0.6, 1.0, 1.0, 0.5), strict=True):
        inner_x = 0.68 * _half_width_mm(trunk, z)
        end_y = -90.0 + depth_share * (hind_y + 90.0)
        gap_rows.append(
            (z, inner_x + 34.0, -140.0, 34.0 if depth_share else 0.0, end_y + 140.0, 20.0)
        )
    return Loft(tuple(gap_rows), squareness=1.0)


def _half_width_mm(trunk: Loft, z: float) -> float:
    """Half of the width of the trunk at a height, mm."""
    return float(trunk.columns_below(z)[2])


def _anterior_gap_solid(trunk: Loft, width_share: float, half_gap_mm: float) -> Loft:
    """A slit in the front: in the midline, or from a share of half the trunk's width to the
    right."""
    gap_rows = []
    for height_index, z in enumerate(ANTERIOR_GAP_HEIGHTS_MM):
        half_width_mm = (
            0.0 if height_index in (0, len(ANTERIOR_GAP_HEIGHTS_MM) - 1) else half_gap_mm
        )
        gap_rows.append(
            (
                z,
                width_share * _half_width_mm(trunk, z) + (half_width_mm if width_share else 0.0),
                90.0,
                half_width_mm,
                110.0,
                110.0,
            )
        )
    return Loft(tuple(gap_rows), squareness=1.0)
