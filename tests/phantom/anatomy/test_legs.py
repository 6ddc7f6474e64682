"""Legs in cross-section: what the muscles fill, where fat and bone lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.anatomy import limbs
from fovnet.phantom.anatomy.body import label_volume, landmarks, paint_body
from fovnet.phantom.anatomy.leg_muscles import THIGH_MUSCLES, paint_leg_fat_planes
from fovnet.phantom.geometry.bundles import Outline
from fovnet.phantom.geometry.raster import Grid, cut_into_pieces, rasterise
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.tissues import label_of

PLAIN = frozenset(["varied bodies", "lesions"])


def section(number: int, share: float, without: frozenset[str] = PLAIN) -> NDArray[np.integer]:
    """(i, j) labels of 2 mm of the right leg, at a share of the way from the soles to the ischium."""
    person = sample_person((5, number), without)
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    affine[:3, 3] = 4, -160, share * landmarks(person).ischium
    return label_volume(person, Grid((120, 160, 1), affine), without).labels[:, :, 0]


@pytest.mark.parametrize("number", range(1, 7))
def test_a_thigh_is_muscle_within_fat_and_its_femur_stands_outside_the_middle(number: int) -> None:
    """Muscle and the fat between take most of a lean thigh and a third of a fat one; fat between muscles is a
    small part of both."""
    labels = section(number, 0.8)
    muscle, between = (
        int((labels == label_of(name)).sum()) for name in ("muscle", "intermuscular fat")
    )
    assert 0.25 < muscle / (labels > 0).sum() < 0.9
    assert 0.02 < between / (muscle + between) < 0.3
    femur, flesh = (
        np.argwhere(labels == label_of(name)).mean(axis=0) for name in ("yellow marrow", "muscle")
    )
    assert femur[0] > flesh[0] + 3  # 6 mm further out


def test_each_muscle_of_a_leg_is_a_little_elsewhere_on_either_side_for_itself() -> None:
    """All moved alike would be a leg moved within its fat."""
    person = sample_person((5, 1))
    outline = Outline(
        ((500.0, 0.0, 0.0, 60.0, 60.0, 60.0, 60.0), (900.0, 0.0, 0.0, 60.0, 60.0, 60.0, 60.0))
    )
    thighs = [next(paint_leg_fat_planes(person, outline, side)).solid for side in (-1, 1)]
    # of each the first oval's middle, lowest height
    left, right = (np.array([muscle[0][0][:2] for muscle in of.muscle_ovals]) for of in thighs)  # type: ignore[attr-defined]
    assert len(np.unique(np.round(right - left, 9), axis=0)) == len(THIGH_MUSCLES)
    assert 0.015 < np.std(right - left) < 0.085


BENT = [
    person
    for number in range(1, 41)
    if (person := sample_person((5, number))).morph.knee_lift_mm > 60
]


def test_bent_knees_stand_ahead_while_hips_heels_and_every_height_stay() -> None:
    bent = BENT[0]
    straight = replace(bent, morph=replace(bent.morph, knee_lift_mm=0.0))
    assert landmarks(bent) == landmarks(straight)
    marks, ahead = landmarks(bent), []
    for height in (marks.sole + 30, marks.knee, marks.iliac_crest - 100):
        affine = np.diag([4.0, 4.0, 4.0, 1.0])
        affine[:3, 3] = -260, -200, height
        both = [
            label_volume(person, Grid((130, 110, 1), affine)).labels > 0
            for person in (bent, straight)
        ]
        ahead.append(4.0 * float(np.subtract(*(np.argwhere(body)[:, 1].mean() for body in both))))
    assert ahead[0] == ahead[2] == 0.0
    assert ahead[1] == pytest.approx(bent.morph.knee_lift_mm * bent.morph.trunk_factors[1], abs=4)
    assert (
        5 < len(BENT) < 30
        and sample_person((5, 1), frozenset(["varied bodies"])).morph.knee_lift_mm == 0.0
    )


def test_a_leg_is_pressed_flat_where_someone_lies_on_it_and_round_in_plain_bodies() -> None:
    """Of a leg that is pressed the lowest centimetre is wide; a circle of 16 cm is 78 mm wide 1 cm above its
    lowest point."""

    def underside(without: frozenset[str]) -> float:
        widths = []
        for number in range(1, 6):
            body = section(number, 0.95, without) > 0
            low = int(np.argwhere(body)[:, 1].min())
            widths.append(2.0 * float(body[:, low + 1].sum()))
        return float(np.mean(widths))

    plain = frozenset(["varied bodies", "deformation", "lesions"])
    assert underside(plain - {"varied bodies"}) > 1.3 * underside(plain)


def test_menisci_are_rings_that_the_middle_of_each_condyle_looks_through() -> None:
    """Over the middle of a condyle there is cartilage; 20 mm behind it the wedge, which is dark."""
    person = sample_person((5, 2), frozenset(["varied bodies", "deformation", "lesions"]))
    for x in (75.0, 121.0):
        for y, dark in ((-8.0, False), (-25.0, True)):
            ((at, *_),) = limbs.place_leg_points(person, ((x, y, 472.0),))
            affine = np.diag([1.0, 1.0, 0.5, 1.0])
            affine[:3, 3] = at, y, 470.5
            labels = rasterise(cut_into_pieces(paint_body(person)), Grid((1, 1, 6), affine)).ravel()
            assert bool((labels == label_of("tendon")).any()) == dark
