"""Kidneys, livers and the lowest ribs lie as high above the iliac crest as in people, and no landmark moves
for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.anatomy import belly, kidneys, trunk
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.organ_heights import OrganHeights, draw_organ_heights
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

HEIGHTS = frozenset({"organs high and low"})
PAIRS = tuple(
    (sample_person((6, number)), sample_person((6, number), HEIGHTS)) for number in range(200)
)


def lowest_rib_mm(person: Person) -> float:
    """How far above the crest the lowest rib ends, in mm of the written anatomy."""
    return float(
        min(paint.solid.box[0, 2] for paint in trunk.paint_thoracic_cage(person))
        - trunk.ILIAC_CREST_MM
    )


def poles_mm(person: Person) -> list[float]:
    """How far above the crest the lower pole of the right and of the left kidney is, in mm of the written
    anatomy."""
    return [
        kidney.middle_z
        - 55 * kidney.size_factor
        - trunk.ILIAC_CREST_MM
        - person.borders.iliac_crest_rise_mm
        for kidney in kidneys.draw_kidneys(person, belly.liver_dome_height_mm(person))[:2]
    ]


def test_lower_poles_are_4_cm_above_the_crest_and_the_right_one_lower() -> None:
    """At the upper edge of L3, 1083 to 1116 mm of the written anatomy; 1 to 8 cm in four of five, and a
    shrunken one ends higher."""
    right, left = np.array([poles_mm(person) for person, _ in PAIRS]).T
    assert 28 < np.median(right) < np.median(left) - 3 < 57
    assert 0.75 < np.mean((right > 10) & (right < 80)) < 1 and right.max() < 110
    assert np.median(right) - np.median([poles_mm(plain)[0] for _, plain in PAIRS]) > 15


def test_no_kidney_rises_above_the_liver() -> None:
    for person, _ in PAIRS:
        top = belly.liver_dome_height_mm(person)
        assert all(
            kidney.middle_z + 55 * kidney.size_factor < top
            for kidney in kidneys.draw_kidneys(person, top)[:2]
        )


def test_the_lowest_ribs_end_1_to_9_cm_above_the_crest() -> None:
    """The subcostal plane is at L3; the space between rib and crest is two to four fingers wide, less in the
    old, more in the young."""
    gaps = np.array([lowest_rib_mm(person) for person, _ in PAIRS[:60]])
    assert gaps.min() > 0 and gaps.max() < 100 and 25 < np.median(gaps) < 60
    assert min(lowest_rib_mm(plain) for _, plain in PAIRS[:5]) > 100


def test_right_lobes_are_11_to_20_cm_high_and_most_14_to_15() -> None:
    """Kratzer et al. (2003), J Ultrasound Med 22:1155: 14.0 ± 1.7 cm."""
    drawn = [
        draw_organ_heights(np.random.default_rng([7, number])).liver_height_mm or 0.0
        for number in range(500)
    ]
    assert (
        min(drawn) > 100
        and max(drawn) <= 200
        and 140 < np.median(drawn) < 152
        and 15 < np.std(drawn) < 23
    )


def test_a_short_liver_ends_at_the_given_height() -> None:
    """The lowest liver of a written person, to the voxel of 4 mm and the slope of the lobe's underside."""
    person = replace(
        sample_person(
            (5, 1), frozenset({"varied bodies", "deformation", "cross-sections", "lesions"})
        ),
        breath_drop_mm=0.0,
    )
    ends = []
    for liver_mm in (115.0, 145.0, 175.0):
        of = replace(person, organ_heights=OrganHeights(liver_height_mm=liver_mm))
        grid = np.diag([4.0, 4.0, 4.0, 1.0])
        grid[:3, 3] = (-160.0, -120.0, person.morph.height_mm(1020.0))
        liver = label_volume(
            of, Grid((81, 61, 65), grid), frozenset({"lesions", "tissue structure"})
        ).labels == label_of("liver")
        ends.append(4.0 * float(np.flatnonzero(liver.sum(axis=(0, 1)) > 4)[0]))
    assert 20 <= ends[0] - ends[1] <= 40 and 20 <= ends[1] - ends[2] <= 40


def test_no_landmark_moves_and_without_it_everybody_is_as_written() -> None:
    assert all(
        landmarks(one) == landmarks(other)
        and other.organ_heights == OrganHeights() != one.organ_heights
        for one, other in PAIRS
    )
    assert sample_person((6, 3)) == PAIRS[3][0]
