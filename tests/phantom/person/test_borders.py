"""Borders of the regions against bones and skin, as they were measured in people who lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.borders import Borders
from fovnet.phantom.person.traits import Person, sample_person

FEATURE = frozenset({"borders as measured"})
PEOPLE = tuple(sample_person((7, number), frozenset({"raised arms"})) for number in range(1, 201))
LYING = tuple(
    person for person in PEOPLE[:40] if person.arm_posture != "raised" and person.age > 18
)[:10]
HIP_MM, L4_MM, T1_MM, COLLAR_BONE_MM = 932.0, 1067.0, 1452.0, 1431.0
"""Heights as written: a femoral head, two vertebrae, the upper edge of the medial third of a clavicle."""


def scaled_mm(person: Person, of: float, above: float) -> float:
    """Difference of two heights of a person, scaled to a stature of 1750 mm."""
    return (of - above) * 1750.0 / landmarks(person).vertex


def outline_top_mm(person: Person, beside_mm: float) -> float:
    """Mean over both sides of how far above the apex of the lung the shoulder's skin is that far beside the
    middle."""
    bottom, tops = landmarks(person).lung_apex - 90.0, []
    for x in (-beside_mm, beside_mm):
        affine = np.diag([1.0, 8.0, 2.0, 1.0])
        affine[:3, 3] = x * person.morph.trunk_factors[0], -110.0, bottom
        body = label_volume(person, Grid((1, 21, 100), affine)).labels > 0
        tops.append(2.0 * float(np.flatnonzero(body.any(axis=(0, 1))).max()) - 90.0)
    return float(np.mean(tops))


def test_the_slope_of_trapezius_is_2_to_4_cm_above_the_apices_of_those_who_lie() -> None:
    """Half way from the neck to the acromion; in someone who stands it is at their height."""
    upright = tuple(replace(person, borders=Borders()) for person in LYING)
    lying, standing = (
        np.array([outline_top_mm(person, 95.0) for person in people]) for people in (LYING, upright)
    )
    assert 18 < np.median(lying) < 42 and np.mean(lying > 8) >= 0.9
    assert 12 < np.median(lying - standing) < 36


def test_the_apex_is_1_to_4_cm_above_the_clavicle_and_at_the_first_thoracic_vertebra() -> None:
    """Ten authors: 1 to 3.8 cm above the medial third of the clavicle; between the discs above and below T1
    (Bergman, Afifi & Jew, Atlas of Human Anatomy in Cross Section)."""
    above = np.array([_apex(person) for person in PEOPLE])
    assert 20 < above[:, 0].mean() < 28 and above[:, 0].min() > 8 and above[:, 0].max() < 40
    assert np.abs(above[:, 1]).max() < 17 and above[:, 1].std() > 4


def _apex(person: Person) -> tuple[float, float]:
    apex, height = landmarks(person).lung_apex, person.morph.height_mm
    return scaled_mm(person, apex, height(COLLAR_BONE_MM)), scaled_mm(person, apex, height(T1_MM))


def test_the_ischium_is_7_to_10_cm_below_the_hip_joint_and_lower_in_men() -> None:
    """103 ± 8 mm from the far rim of the acetabulum in men, 101 in women, less its radius of 26 (Qaiser et
    al.); the ischium is 88 and 78 mm long (Washburn (1948), Am J Phys Anthropol 6:199)."""
    down = np.array([scaled_mm(p, p.morph.height_mm(HIP_MM), landmarks(p).ischium) for p in PEOPLE])
    female = np.array([person.is_female for person in PEOPLE])
    assert 82 < down[~female].mean() < 87 and 77 < down[female].mean() < 83
    assert down.min() > 60 and down.max() < 105


def test_the_hip_bone_is_20_to_23_cm_high() -> None:
    """From crest to ischium; those who stand are written 23 cm, as high as the tallest hip bones."""
    high = np.array([scaled_mm(p, landmarks(p).iliac_crest, landmarks(p).ischium) for p in PEOPLE])
    assert 200 < np.median(high) < 218 and np.mean((high > 180) & (high < 240)) > 0.95


def test_the_crest_is_at_l4_or_the_disc_below_in_four_of_five() -> None:
    """A vertebra with its disc is 33 mm high: L4 from 1083 to 1050, the disc about 1050 (Render (1996),
    Anaesthesia 51:1070)."""
    above = np.array(
        [scaled_mm(p, landmarks(p).iliac_crest, p.morph.height_mm(L4_MM)) for p in PEOPLE]
    )
    assert (
        np.mean((above < 16.5) & (above > -22)) > 0.8 and above.min() > -33 and above.max() < 16.5
    )


def test_what_is_above_the_loin_and_below_the_knee_does_not_move_with_the_ischium() -> None:
    for number in range(1, 6):
        lying, plain = sample_person((7, number)).morph, sample_person((7, number), FEATURE).morph
        for z in (0.0, 80.0, 300.0, 480.0, 932.0, 1060.0, 1200.0, 1750.0):
            assert lying.height_mm(z) == pytest.approx(plain.height_mm(z), abs=0.3)
        assert _rising(lying.height_mm(float(z)) for z in range(400, 1150, 10))


def _rising(heights: Iterable[float]) -> bool:
    return bool(np.all(np.diff(np.array(list(heights))) > 3.0))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_without_it_a_person_keeps_every_voxel(number: int) -> None:
    """The shift has random numbers of its own: nothing else of the person is drawn otherwise."""
    person = sample_person((7, number))
    plain = sample_person((7, number), FEATURE)
    assert (
        replace(person, borders=Borders(), morph=replace(person.morph, ischium_rise_mm=0.0))
        == plain
    )
