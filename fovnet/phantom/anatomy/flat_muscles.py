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
from fovnet.phantom.anatomy.layers import Layer, LoftRow, Paints, factor_of_children, paint_all
from fovnet.phantom.anatomy.trunk import muscular_trunk
from fovnet.phantom.geometry.solids import Loft
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

ANTERIOR_GAP_HEIGHTS_MM = (930.0, 965.0, 1010.0, 1060.0, 1110.0, 1160.0, 1210.0, 1245.0)
POSTERIOR_GAP_HEIGHTS_MM = (1062.0, 1074.0, 1110.0, 1150.0, 1185.0)
"""Heights of the written anatomy between which the wall is open in front and behind; at the ends it
is closed."""
WALL_TISSUES = ("muscle", "intermuscular fat")


@dataclass(frozen=True)
class WallGaps:
    """Where the abdominal wall is a sheet without muscle, in mm of the written anatomy.

    rectus_edge_share  outer edge of rectus abdominis, as a share of half the trunk's width
    lateral_gap_mm     from there to the flat muscles
    linea_alba_mm      width of the linea alba
    sheet_mm           thickness of the sheets
    posterior_end_y    y at which the flat muscles end behind: 0 in the middle of the trunk, about
                       -60 where they reach the loin's
    """

    rectus_edge_share: float
    lateral_gap_mm: float
    linea_alba_mm: float
    sheet_mm: float
    posterior_end_y: float


def draw_wall_gaps(person: Person) -> WallGaps:
    """The gaps of a person: the same at every call.

    Between rectus abdominis and the flat muscles 5 to 45 mm; a linea alba of 2 to 30 mm, wider in
    old and obese people (Beer et al. (2009), Clin Anat 22:706: 7 ± 5 to 13 ± 7 mm in nulliparous
    women).  Behind, flat muscles end anywhere from near the middle of the trunk to the muscle of
    the loin.
    """
    rng = person.generator(Stream.ABDOMINAL_WALL_GAPS)
    width_factor = 1.0
    if person.age > 50 or person.belly_mm > 15:
        width_factor = 1.6
    lateral_gap_mm = rng.uniform(5, 45) * factor_of_children(person, 0.5)
    linea_alba_mm = float(np.clip(width_factor * rng.lognormal(np.log(8), 0.5), 2, 30))
    return WallGaps(
        rectus_edge_share=rng.uniform(0.38, 0.58),
        lateral_gap_mm=lateral_gap_mm,
        linea_alba_mm=linea_alba_mm,
        sheet_mm=rng.uniform(1.0, 4.0),
        posterior_end_y=rng.uniform(-70, -5),
    )


def paint_wall_gaps(person: Person) -> Paints:
    """Fat where the abdominal wall has no muscle: outside the sheets in front, through the wall
    behind; nothing for a person with a closed wall."""
    if not person.has_open_wall:
        return
    gaps = draw_wall_gaps(person)
    trunk = muscular_trunk(person)
    space_behind_sheets = abdominal_cavity_solid(person).shrink(-gaps.sheet_mm)
    linea_alba = _midline_gap_solid(gaps.linea_alba_mm / 2)
    lateral_gap = _lateral_gap_solid(trunk, gaps.rectus_edge_share, gaps.lateral_gap_mm / 2)
    posterior_gap = _posterior_gap_solid(trunk, gaps.posterior_end_y)
    front_gaps = (linea_alba, lateral_gap, lateral_gap.mirror())
    yield from paint_all(
        (gap - space_behind_sheets for gap in front_gaps),
        "fat",
        Layer.MUSCLE,
        replaced_tissues=WALL_TISSUES,
    )
    yield from paint_all(
        (posterior_gap, posterior_gap.mirror()),
        "fat",
        Layer.CAVITY,
        replaced_tissues=WALL_TISSUES,
    )


def _posterior_gap_solid(trunk: Loft, muscle_end_y: float) -> Loft:
    """The gap in the right flank behind the flat muscles, which end at `muscle_end_y`, beside the
    muscle of the loin; above the iliac crest it begins where the crest's muscles end."""
    back_y = -90.0
    middle_y = -140.0
    rows = []
    for z, depth_share in zip(POSTERIOR_GAP_HEIGHTS_MM, (0.0, 0.6, 1.0, 1.0, 0.5), strict=True):
        medial_x = 0.68 * _half_width_mm(trunk, z)
        half_width_mm = 34.0 if depth_share else 0.0
        front_y = back_y + depth_share * (muscle_end_y - back_y)
        row = LoftRow(z, medial_x + 34.0, middle_y, half_width_mm, front_y - middle_y, 20.0)
        rows.append(row)
    return Loft(tuple(rows), squareness=1.0)


def _half_width_mm(trunk: Loft, z: float) -> float:
    """Half of the width of the trunk at a height, mm."""
    _, _, half_width_mm, _, _ = trunk.columns_below(z)
    return float(half_width_mm)


def _midline_gap_solid(half_gap_mm: float) -> Loft:
    """A slit through the front of the wall in the midline, of that half width between its ends."""
    return _slit_solid([0.0] * len(ANTERIOR_GAP_HEIGHTS_MM), _slit_half_widths_mm(half_gap_mm))


def _slit_half_widths_mm(half_gap_mm: float) -> list[float]:
    """Half widths of a slit at ANTERIOR_GAP_HEIGHTS_MM: it is closed at both ends."""
    return [0.0, *[half_gap_mm] * (len(ANTERIOR_GAP_HEIGHTS_MM) - 2), 0.0]


def _lateral_gap_solid(trunk: Loft, width_share: float, half_gap_mm: float) -> Loft:
    """A slit through the front of the wall, of that half width between its ends, that begins at a
    share of half the trunk's width to the right."""
    half_widths_mm = _slit_half_widths_mm(half_gap_mm)
    middles_x = [
        width_share * _half_width_mm(trunk, z) + half_width_mm
        for z, half_width_mm in zip(ANTERIOR_GAP_HEIGHTS_MM, half_widths_mm, strict=True)
    ]
    return _slit_solid(middles_x, half_widths_mm)


def _slit_solid(middles_x: list[float], half_widths_mm: list[float]) -> Loft:
    """A slit from the middle of the trunk to beyond its front, with those middles and half widths
    at ANTERIOR_GAP_HEIGHTS_MM."""
    rows = [
        LoftRow(z, middle_x, 90.0, half_width_mm, 110.0, 110.0)
        for z, middle_x, half_width_mm in zip(
            ANTERIOR_GAP_HEIGHTS_MM, middles_x, half_widths_mm, strict=True
        )
    ]
    return Loft(tuple(rows), squareness=1.0)
