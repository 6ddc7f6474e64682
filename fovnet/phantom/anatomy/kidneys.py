"""Kidneys with natural variation: in length and height, a few ptotic, a few atrophic, one pair in
eighty a horseshoe kidney.

Sizes: Emamian et al. (1993), AJR 160:83: 11 cm long, 9 to 13 in nine of ten, the left a little
longer; the lower pole is at L3, 1 to 5 cm above the iliac crest.  Horseshoe kidneys occur in one of
400 people; here more often, as they change the image much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import Layer, Paints, paint, paint_all
from fovnet.phantom.anatomy.trunk import ILIAC_CREST_MM, spine_y
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, tube
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

PTOTIC_SHARE = 0.08  # of kidneys: those 2 to 7 cm too low
ATROPHIC_SHARE = 0.05  # of kidneys: those half to three quarters as long
HORSESHOE_SHARE = 0.0125  # of pairs of kidneys: those that are fused

KIDNEY_TISSUES = ("kidney cortex", "kidney medulla")

HALF_LENGTH_MM = 55.0  # of a kidney of average size
LOWEST_MIDDLE_Z = ILIAC_CREST_MM + 12.0  # of a kidney
LEAST_BELOW_DOME_MM = 25.0  # of an upper pole below the top of the liver
# highest middle of a fused kidney: the inferior mesenteric artery holds its isthmus down
HIGHEST_HORSESHOE_Z = 1122.0


@dataclass(frozen=True)
class Kidney:
    """One kidney, in mm of the written anatomy.

    middle_z            height of its middle
    lateral_x           distance from the middle of the trunk
    size_factor         1: 11 cm long
    sinus_width_factor  1: usual
    """

    middle_z: float
    lateral_x: float
    size_factor: float
    sinus_width_factor: float


class KidneyPair(NamedTuple):
    """Both kidneys of a person, and whether they are one horseshoe kidney."""

    right: Kidney
    left: Kidney
    is_horseshoe: bool


def draw_kidneys(person: Person, dome_z: float) -> KidneyPair:
    """The kidneys of a person whose liver dome is at that height; also those that the person
    lacks."""
    rng = person.generator(Stream.KIDNEYS)
    lowering_mm = rng.normal(6, 11)
    length_factor = float(np.exp(rng.normal(0, 0.07)))
    is_horseshoe = rng.random() < HORSESHOE_SHARE
    belly_mm = max(person.belly_mm, 0.0)
    usual_sinus_width = 0.75 + 0.005 * person.age + 0.008 * belly_mm
    drawn_kidneys = []
    for below_dome_mm in (134, 122):  # right, left
        side_lowering_mm = rng.normal(0, 6)
        is_ptotic = rng.random() < PTOTIC_SHARE
        is_atrophic = rng.random() < ATROPHIC_SHARE
        severity = rng.uniform()
        lateral_shift_mm = rng.normal(0, 4)
        size_factor = length_factor * float(np.exp(rng.normal(0, 0.05)))
        if is_atrophic:
            size_factor *= 0.5 + 0.25 * severity
        ptosis_mm = 0.0
        if is_ptotic:
            ptosis_mm = 20 + 50 * severity
        usual_z = dome_z - below_dome_mm + 0.4 * person.diaphragm_drop_mm
        middle_z = usual_z - lowering_mm - side_lowering_mm - ptosis_mm
        highest_z = dome_z - LEAST_BELOW_DOME_MM - HALF_LENGTH_MM * size_factor
        middle_z = min(middle_z + person.organ_heights.kidney_rise_mm, max(middle_z, highest_z))
        lateral_x = 70.0 + float(np.clip(lateral_shift_mm, -8, 8)) + 0.15 * belly_mm
        if is_horseshoe:
            lateral_x = 60.0
            middle_z = min(middle_z, HIGHEST_HORSESHOE_Z)
        kidney = Kidney(
            middle_z=max(middle_z, LOWEST_MIDDLE_Z),
            lateral_x=lateral_x,
            size_factor=float(np.clip(size_factor, 0.5, 1.2)),
            sinus_width_factor=usual_sinus_width * rng.uniform(0.7, 1.3),
        )
        drawn_kidneys.append(kidney)
    right_kidney, left_kidney = drawn_kidneys
    return KidneyPair(right_kidney, left_kidney, is_horseshoe)


def paint_kidneys(person: Person, dome_z: float, fat_mm: float) -> Paints:
    """The kidneys that the person has, below a liver dome at that height and in fat of that
    thickness; the isthmus of a horseshoe kidney crosses in front of the aorta."""
    right_kidney, left_kidney, is_horseshoe = draw_kidneys(person, dome_z)
    has_right = "right kidney" not in person.missing_parts
    has_left = "left kidney" not in person.missing_parts
    if has_right:
        yield from _paint_kidney(1, right_kidney, fat_mm, is_horseshoe)
    if has_left:
        yield from _paint_kidney(-1, left_kidney, fat_mm, is_horseshoe)
    if is_horseshoe and has_right and has_left:
        yield _paint_isthmus(right_kidney, left_kidney)


def _paint_isthmus(right_kidney: Kidney, left_kidney: Kidney) -> Paint:
    """The isthmus between the lower poles of a horseshoe kidney."""
    right_end, left_end = (
        (
            side * 50.0,
            spine_y(kidney.middle_z) + 16.0,
            kidney.middle_z - 36.0 * kidney.size_factor,
        )
        for side, kidney in ((1, right_kidney), (-1, left_kidney))
    )
    middle_z = min(right_kidney.middle_z, left_kidney.middle_z) - 42.0
    middle = (0.0, spine_y(middle_z) + 52.0, middle_z)
    isthmus = tube([right_end, middle, left_end], [15.0, 10.0, 15.0], step_mm=12)
    return paint(isthmus, "kidney cortex", Layer.CONTENT)


def _paint_kidney(side: int, kidney: Kidney, fat_mm: float, is_horseshoe: bool) -> Paints:
    """The kidney of one side (1 right, -1 left): fat, most of it behind and below; cortex; pyramids
    around the fatty sinus, which opens medially; vein and ureter."""
    capsule_fat_mm = min(8.0, fat_mm)
    size_factor = kidney.size_factor
    middle_z = kidney.middle_z
    middle_y = spine_y(middle_z) + 2 + 0.35 * (fat_mm - capsule_fat_mm)
    # lower poles diverge, those of a horseshoe kidney converge
    lean_deg = 12.0 if is_horseshoe else -12.0
    turn_deg = (-12.0, lean_deg * side, 28.0 * side)
    cortex = Ellipsoid(
        (side * kidney.lateral_x, middle_y, middle_z),
        (29 * size_factor, 25 * size_factor, HALF_LENGTH_MM * size_factor),
        turn_deg,
    )
    fat_centre = (
        side * (kidney.lateral_x - 2),
        middle_y - 0.45 * fat_mm,
        middle_z - 0.35 * fat_mm,
    )
    fat_behind = replace(cortex, centre=fat_centre).shrink(-0.7 * fat_mm)
    yield paint(cortex.shrink(-capsule_fat_mm), "visceral fat", Layer.CAVITY)
    yield paint(fat_behind, "visceral fat", Layer.ORGAN, replaced_tissues=("liver", "spleen"))
    yield paint(cortex, "kidney cortex", Layer.CONTENT)
    yield from _paint_pyramids(side, size_factor, cortex)
    medial_vector_mm = -side * 6.0 * size_factor * cortex.axes[:, 0]
    sinus_centre = np.asarray(cortex.centre) + medial_vector_mm
    sinus = Ellipsoid(
        tuple(sinus_centre.tolist()),
        (
            10 * size_factor * kidney.sinus_width_factor,
            8 * size_factor * kidney.sinus_width_factor,
            27 * size_factor,
        ),
        turn_deg,
    )
    hilum = tube(
        [sinus_centre, sinus_centre + 4.5 * medial_vector_mm],
        [
            7.0 * size_factor * kidney.sinus_width_factor,
            9.0 * size_factor * kidney.sinus_width_factor,
        ],
    )
    renal_pelvis = sinus.shrink(7.0 * size_factor * kidney.sinus_width_factor)
    yield from paint_all(
        (sinus, hilum), "visceral fat", Layer.VESSEL, replaced_tissues=KIDNEY_TISSUES
    )
    yield paint(renal_pelvis, "urine", Layer.VESSEL)
    yield from _paint_renal_vein_and_ureter(side, cortex, sinus_centre, medial_vector_mm)


def _paint_renal_vein_and_ureter(
    side: int,
    cortex: Ellipsoid,
    sinus_centre: NDArray[np.float64],
    medial_vector_mm: NDArray[np.float64],
) -> Paints:
    """The renal vein and the ureter of one side, from the middle (3,) of the renal sinus, which opens
    along the medial vector (3,)."""
    _, middle_y, middle_z = cortex.centre
    # the vein meets the great vessels above the bifurcation however low the kidney is
    root_z = max(middle_z, 1130.0)
    vein_points = [
        (side * 12, spine_y(root_z) + 32, root_z + 8),
        (side * 36, middle_y + 18, middle_z + 4),
        tuple(sinus_centre),
    ]
    ureter_points = [
        tuple(sinus_centre + 3 * medial_vector_mm),
        (side * 46, middle_y + 14, middle_z - 50),
        (side * 40, middle_y + 26, middle_z - 75),
    ]
    renal_vein = tube(vein_points, [4.0, 4.0, 2.0])
    ureter = tube(ureter_points, [4.0, 2.5, 2.0])
    yield paint(renal_vein, "venous blood", Layer.CONTENT)
    yield paint(ureter, "urine", Layer.CONTENT, replaced_tissues="visceral fat")


def _paint_pyramids(side: int, size_factor: float, cortex: Ellipsoid) -> Paints:
    """Twelve pyramids of medulla in the kidney of one side, four rows of three around the sinus."""
    pyramid_axes = (5.5 * size_factor, 5.0 * size_factor, 7.0 * size_factor)
    for height_share in (-0.6, -0.2, 0.2, 0.6):
        radius_share = (1 - height_share * height_share) ** 0.5
        for lateral_share, front_share in ((0.62, 0.0), (0.1, 0.62), (0.1, -0.62)):
            offset_x = side * lateral_share * radius_share * 29
            offset_y = front_share * radius_share * 25
            offset_z = height_share * 55
            offset_mm = np.array([offset_x, offset_y, offset_z]) * size_factor
            centre = np.asarray(cortex.centre) + cortex.axes @ offset_mm
            pyramid = Ellipsoid(tuple(centre.tolist()), pyramid_axes)
            yield paint(pyramid, "kidney medulla", Layer.CONTENT, replaced_tissues=KIDNEY_TISSUES)
