"""Kidneys with natural variation: in length and height, a few ptotic, a few atrophic, one pair in
eighty a horseshoe kidney.

Sizes: Emamian et al. (1993), AJR 160:83: 11 cm long, 9 to 13 in nine of ten, the left a little
longer; the lower pole is at L3, 1 to 5 cm above the iliac crest.  Horseshoe kidneys occur in one of
400 people; here more often, as they change the image much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, Paints, paint, paint_all
from fovnet.phantom.anatomy.trunk import ILIAC_CREST_MM, spine_y
from fovnet.phantom.geometry.solids import Ellipsoid, tube
from fovnet.phantom.person.traits import Person

PTOTIC_SHARE = 0.08
ATROPHIC_SHARE = 0.05
HORSESHOE_SHARE = 0.0125
"""Shares of kidneys that are 2 to 7 cm too low, of those that are half to three quarters as long,
and of pairs that are fused."""

KIDNEY_TISSUES = ("kidney cortex", "kidney medulla")

LOWEST_MM = ILIAC_CREST_MM + 12.0
"""Lowest middle of a kidney."""

BELOW_DOME_MM = 25.0  # least distance of an upper pole from the top of the liver
# highest middle of a fused kidney: the inferior mesenteric artery holds its isthmus down
HIGHEST_HORSESHOE_MM = 1122.0


@dataclass(frozen=True)
class Kidney:
    """One kidney.

    z            height of its middle
    x            distance from the trunk's middle, mm
    size         1: 11 cm long
    sinus_width  1: usual
    """

    z: float
    x: float
    size: float
    sinus_width: float


def draw_kidneys(person: Person, dome_z: float) -> tuple[Kidney, Kidney, bool]:
    """The right and the left kidney of a person whose liver dome is at `dome_z` mm, and whether
    they are one horseshoe."""
    rng = person.generator(921)
    lowering_mm = rng.normal(6, 11)
    length_factor = float(np.exp(rng.normal(0, 0.07)))
    is_horseshoe = rng.random() < HORSESHOE_SHARE
    belly_mm = max(person.belly_mm, 0.0)
    sinus_width = 0.75 + 0.005 * person.age + 0.008 * belly_mm
    drawn_kidneys = []
    for side in (1, -1):
        side_lowering_mm = rng.normal(0, 6)
        is_ptotic = rng.random() < PTOTIC_SHARE
        is_atrophic = rng.random() < ATROPHIC_SHARE
        severity = rng.uniform()
        lateral_mm = rng.normal(0, 4)
        size_factor = (
            length_factor
            * float(np.exp(rng.normal(0, 0.05)))
            * (0.5 + 0.25 * severity if is_atrophic else 1.0)
        )
        middle_z = dome_z - (134 if side > 0 else 122) + 0.4 * person.diaphragm_drop_mm
        middle_z = (
            middle_z - lowering_mm - side_lowering_mm - (20 + 50 * severity if is_ptotic else 0.0)
        )
        lateral_x = 70.0 + float(np.clip(lateral_mm, -8, 8)) + 0.15 * belly_mm
        if is_horseshoe:
            lateral_x = 60.0
        middle_z = min(
            middle_z + person.organ_heights.kidney_rise_mm,
            max(middle_z, dome_z - BELOW_DOME_MM - 55.0 * size_factor),
        )
        if is_horseshoe:
            middle_z = min(middle_z, HIGHEST_HORSESHOE_MM)
        middle_z = max(middle_z, LOWEST_MM)
        drawn_kidneys.append(
            Kidney(
                middle_z,
                lateral_x,
                float(np.clip(size_factor, 0.5, 1.2)),
                sinus_width * rng.uniform(0.7, 1.3),
            )
        )
    return drawn_kidneys[0], drawn_kidneys[1], is_horseshoe


def paint_kidneys(person: Person, dome_z: float, fat_mm: float) -> Paints:
    """The kidneys that the person has, in their fat; the isthmus of a horseshoe crosses in front of
    the aorta."""
    right_kidney, left_kidney, is_horseshoe = draw_kidneys(person, dome_z)
    for side, organ_name, kidney in (
        (1, "right kidney", right_kidney),
        (-1, "left kidney", left_kidney),
    ):
        if organ_name not in person.missing_parts:
            yield from _paint_kidney(side, kidney, fat_mm, is_horseshoe)
    if is_horseshoe and not {"right kidney", "left kidney"} & person.missing_parts:
        isthmus_ends = [
            (side * 50.0, spine_y(kidney.z) + 16.0, kidney.z - 36.0 * kidney.size)
            for side, kidney in ((1, right_kidney), (-1, left_kidney))
        ]
        isthmus_z = min(right_kidney.z, left_kidney.z) - 42.0
        isthmus = tube(
            [isthmus_ends[0], (0.0, spine_y(isthmus_z) + 52.0, isthmus_z), isthmus_ends[1]],
            [15.0, 10.0, 15.0],
            step_mm=12,
        )
        yield paint(isthmus, "kidney cortex", Layer.CONTENT)


def _paint_kidney(side: int, kidney: Kidney, fat_mm: float, is_horseshoe: bool) -> Paints:
    """One kidney: fat, most of it behind and below; pyramids around the fatty sinus, which opens
    medially."""
    capsule_fat_mm = min(8.0, fat_mm)
    size_factor = kidney.size
    middle_z = kidney.z
    middle_y = spine_y(middle_z) + 2 + 0.35 * (fat_mm - capsule_fat_mm)
    lean_deg = 12.0 if is_horseshoe else -12.0  # lower poles diverge, those of a horseshoe converge
    turn_deg = (-12.0, lean_deg * side, 28.0 * side)
    capsule = Ellipsoid(
        (side * kidney.x, middle_y, middle_z),
        (29 * size_factor, 25 * size_factor, 55 * size_factor),
        turn_deg,
    )
    fat_behind = replace(
        capsule, centre=(side * (kidney.x - 2), middle_y - 0.45 * fat_mm, middle_z - 0.35 * fat_mm)
    )
    yield paint(capsule.shrink(-capsule_fat_mm), "visceral fat", Layer.CAVITY)
    yield paint(
        fat_behind.shrink(-0.7 * fat_mm),
        "visceral fat",
        Layer.ORGAN,
        replaced_tissues=("liver", "spleen"),
    )
    yield paint(capsule, "kidney cortex", Layer.CONTENT)
    yield from _paint_pyramids(side, size_factor, capsule)
    medial_vector_mm = -side * 6.0 * size_factor * capsule.axes[:, 0]
    sinus_centre = np.asarray(capsule.centre) + medial_vector_mm
    sinus = Ellipsoid(
        tuple(sinus_centre.tolist()),
        (
            10 * size_factor * kidney.sinus_width,
            8 * size_factor * kidney.sinus_width,
            27 * size_factor,
        ),
        turn_deg,
    )
    hilum_lip = tube(
        [sinus_centre, sinus_centre + 4.5 * medial_vector_mm],
        [7.0 * size_factor * kidney.sinus_width, 9.0 * size_factor * kidney.sinus_width],
    )
    yield from paint_all(
        (sinus, hilum_lip), "visceral fat", Layer.VESSEL, replaced_tissues=KIDNEY_TISSUES
    )
    yield paint(sinus.shrink(7.0 * size_factor * kidney.sinus_width), "urine", Layer.VESSEL)
    # it leaves the aorta above the bifurcation however low the kidney is
    origin_z = max(middle_z, 1130.0)
    vessel_points = [
        (side * 12, spine_y(origin_z) + 32, origin_z + 8),
        (side * 36, middle_y + 18, middle_z + 4),
        tuple(sinus_centre),
    ]
    yield paint(tube(vessel_points, [4.0, 4.0, 2.0]), "venous blood", Layer.CONTENT)
    vessel_points = [
        tuple(sinus_centre + 3 * medial_vector_mm),
        (side * 46, middle_y + 14, middle_z - 50),
        (side * 40, middle_y + 26, middle_z - 75),
    ]
    yield paint(
        tube(vessel_points, [4.0, 2.5, 2.0]),
        "urine",
        Layer.CONTENT,
        replaced_tissues="visceral fat",
    )


def _paint_pyramids(side: int, size_factor: float, capsule: Ellipsoid) -> Paints:
    """Twelve pyramids of medulla, four rows of three around the sinus."""
    for height_share in (-0.6, -0.2, 0.2, 0.6):
        for lateral_share, front_share in ((0.62, 0.0), (0.1, 0.62), (0.1, -0.62)):
            narrowing = (1 - height_share * height_share) ** 0.5
            offset_x = side * lateral_share * narrowing * 29
            offset_mm = (
                np.array([offset_x, front_share * narrowing * 25, height_share * 55]) * size_factor
            )
            pyramid_centre = np.asarray(capsule.centre) + capsule.axes @ offset_mm
            pyramid = Ellipsoid(
                tuple(pyramid_centre.tolist()),
                (5.5 * size_factor, 5.0 * size_factor, 7.0 * size_factor),
            )
            yield paint(pyramid, "kidney medulla", Layer.CONTENT, replaced_tissues=KIDNEY_TISSUES)
