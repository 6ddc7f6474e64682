"""Variation in height of kidneys, liver, transverse colon and the lowest ribs between iliac crest
and dome, which do not move.

Without this, kidneys are 24 mm too low on average, with little variation, and the lowest ribs end
12 cm above the crest instead of 1 to 9.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fovnet.phantom.person.borders import clip_normal

KIDNEY_RISE_MM = 24.0
KIDNEY_RISE_SD_MM = 17.0
KIDNEY_RISE_RANGE_MM = (-12.0, 62.0)
"""Mean, standard deviation and limits of the upward shift of both kidneys of a person."""

LIVER_MM = 146.0
LIVER_SD_MM = 20.0
LIVER_RANGE_MM = (105.0, 200.0)
"""The same for the height of the right lobe, from the liver's dome to the tip."""

RIBS_MM = (0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 35.0, 70.0, 100.0, 125.0, 170.0, 190.0)
"""For each rib, first to twelfth: added descent if it reached the front; it ends before that.  The
tenth then reaches L3."""


@dataclass(frozen=True)
class OrganHeights:
    """In mm of the written anatomy; a plain person has `OrganHeights()`.

    kidney_rise_mm     upward shift of both kidneys
    liver_height_mm    from the liver's dome to the tip of the right lobe; None: as `belly` draws it
    colon_sag_mm       added sag of the middle of the transverse colon
    rib_descent_share  share of RIBS_MM by which the lower ribs descend further
    """

    kidney_rise_mm: float = 0.0
    liver_height_mm: float | None = None
    colon_sag_mm: float = 0.0
    rib_descent_share: float = 0.0


def draw_organ_heights(rng: np.random.Generator) -> OrganHeights:
    """Most lower poles 1 to 8 cm above the crest, right lobes of 11 to 20 cm, transverse colons
    sagging by up to 6 cm more, low ribs.

    The right kidney ends at the upper edge of L3, about 4 cm above the crest, the left one 1 cm
    higher, and the lowest points of the tenth ribs are at the height of L3 (Moore, Dalley & Agur
    (2014), Clinically Oriented Anatomy, chapter 2).  Right lobes are 14.0 ± 1.7 cm high beside the
    dome by ultrasound (Kratzer et al. (2003), J Ultrasound Med 22:1155), somewhat more from its
    very top.
    """
    kidneys_mm = clip_normal(rng, KIDNEY_RISE_MM, KIDNEY_RISE_SD_MM, *KIDNEY_RISE_RANGE_MM)
    liver_mm = clip_normal(rng, LIVER_MM, LIVER_SD_MM, *LIVER_RANGE_MM)
    return OrganHeights(
        kidney_rise_mm=kidneys_mm,
        liver_height_mm=liver_mm,
        colon_sag_mm=60.0 * rng.beta(1.0, 2.0),
        rib_descent_share=clip_normal(rng, 0.9, 0.3, 0.2, 1.3),
    )
