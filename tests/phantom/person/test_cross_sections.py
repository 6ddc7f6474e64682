"""Trunks that are flat, round, lenses or boxes across, at each height by itself: the backs stay flat, and
heights where they were."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.cross_sections import (
    BACK_MM,
    FLANK_MM,
    LEVELS_MM,
    CrossSections,
    draw_cross_sections,
)
from fovnet.phantom.person.traits import Person, sample_person

SIMPLE = frozenset(
    {
        "fat in places",
        "varied bodies",
        "deformation",
        "builds",
        "cross-sections",
        "lesions",
        "tissue structure",
    }
)
PLAIN = replace(sample_person((4, 2), SIMPLE), arm_posture="raised", table_mm=float("inf"))
PLAIN = replace(PLAIN, morph=replace(PLAIN.morph, waves=(), trunk_factors=(1.0, 1.0)))
NEUTRAL, NONE = (1.0,) * len(LEVELS_MM), (0.0,) * len(LEVELS_MM)
WAIST = LEVELS_MM.index(1130.0)


def at_the_waist(value: float, neutral: float) -> tuple[float, ...]:
    """The value at the waist, neutral at all other levels."""
    return tuple(value if level == WAIST else neutral for level in range(len(LEVELS_MM)))


def reaches(person: Person, z_mm: float) -> tuple[float, float]:
    """How wide and how deep the trunk is at a height of the written anatomy, mm."""
    grid = np.eye(4)
    grid[:3, 3] = -250.0, -200.0, person.morph.height_mm(z_mm)
    seen = np.asarray(label_volume(person, Grid((501, 401, 1), grid), SIMPLE).labels[..., 0]) > 0
    return float(np.ptp(np.flatnonzero(seen.any(axis=1)))), float(
        np.ptp(np.flatnonzero(seen.any(axis=0)))
    )


def test_a_waist_is_as_much_wider_and_flatter_as_specified_and_the_hips_are_as_they_were() -> None:
    across = CrossSections(
        width_factors=at_the_waist(1.15, 1.0),
        depth_factors=at_the_waist(0.85, 1.0),
        lens_depths=NONE,
    )
    flat = replace(PLAIN, morph=replace(PLAIN.morph, cross_sections=across))
    (wide, deep), (wider, flatter) = reaches(PLAIN, 1130.0), reaches(flat, 1130.0)
    assert wider / wide == pytest.approx(1.15, abs=0.01) and flatter / deep == pytest.approx(
        0.85, abs=0.01
    )
    assert reaches(flat, 985.0) == pytest.approx(reaches(PLAIN, 985.0), abs=1.0)


@pytest.mark.parametrize("lens", [0.4, -0.25])
def test_a_lens_is_shallower_at_the_flanks_and_deeper_in_the_middle(lens: float) -> None:
    """At the flank the share is 1 / sqrt(2): 1 + 0.4 (0.35 - 0.707) = 0.857 of the depth, 1 + 0.4 * 0.35 =
    1.14 in the middle."""
    across = CrossSections(
        width_factors=NEUTRAL, depth_factors=NEUTRAL, lens_depths=at_the_waist(lens, 0.0)
    )
    x, y = np.array([0.0, FLANK_MM], np.float32), np.array([60.0, 60.0], np.float32)
    _, written = across.to_anatomy(x, y, np.full(2, 1130.0, np.float32))
    assert (60 - BACK_MM) / (written - BACK_MM) == pytest.approx(
        [1 + 0.35 * lens, 1 + (0.35 - np.sqrt(0.5)) * lens], abs=1e-4
    )


def test_the_back_stays_flat_and_head_and_legs_stay_as_they_are() -> None:
    across = CrossSections(
        width_factors=at_the_waist(1.2, 1.0),
        depth_factors=at_the_waist(1.3, 1.0),
        lens_depths=at_the_waist(0.4, 0.0),
    )
    z = np.linspace(0, 1800, 361).astype(np.float32)
    _, back = across.to_anatomy(np.full_like(z, 50.0), np.full_like(z, BACK_MM), z)
    assert np.all(back == BACK_MM)
    outside = (z <= LEVELS_MM[0]) | (z >= LEVELS_MM[-1])
    x, y = across.to_anatomy(np.full_like(z, 50.0), np.full_like(z, 70.0), z)
    assert (
        np.all(x[outside] == 50.0)
        and y[outside] == pytest.approx(70.0, abs=1e-4)
        and np.any(np.abs(y[~outside] - 70) > 20)
    )


def test_cross_sections_differ_from_height_to_height_and_move_no_landmark() -> None:
    """Of a thousand one in seven has none; by their width and depth waist and hips go together at 0.5
    squared, two levels apart."""
    drawn = [draw_cross_sections(np.random.default_rng([3, number])) for number in range(1000)]
    there = [one for one in drawn if one is not None]
    assert 0.82 < len(there) / 1000 < 0.88
    flatter = np.log(
        np.array([np.divide(one.width_factors, one.depth_factors)[1:-1] for one in there])
    )
    assert np.all(np.abs(flatter.std(axis=0) - 0.2) < 0.03) and np.all(
        np.abs(flatter.mean(axis=0) - 0.08) < 0.03
    )
    assert np.corrcoef(flatter.T)[1, 3] == pytest.approx(0.25, abs=0.08)
    people = [
        (sample_person((6, number)), sample_person((6, number), frozenset({"cross-sections"})))
        for number in range(30)
    ]
    assert all(
        landmarks(one) == landmarks(other) and other.morph.cross_sections is None
        for one, other in people
    )
    assert all(one.morph.cross_sections is None for one, _ in people if one.is_prone) and any(
        one.is_prone for one, _ in people
    )
    assert all(
        replace(one, morph=replace(one.morph, cross_sections=None)) == other
        for one, other in people
    )


def outline(person: Person, height_mm: float) -> NDArray[np.bool_]:
    """Where the trunk is at a height of the person, voxels of 4 mm."""
    grid = np.diag([4.0, 4.0, 4.0, 1.0])
    grid[:3, 3] = -320.0, -220.0, height_mm
    return np.asarray(label_volume(person, Grid((160, 120, 1), grid), SIMPLE).labels[..., 0]) > 0


def test_nothing_of_the_trunk_is_lost_where_it_is_bent() -> None:
    """The outline of a slice drawn alone is that of the same slice in a drawing of the whole trunk: boxes
    enclose what they should."""
    person = replace(PLAIN, morph=sample_person((6, 5)).morph)
    assert person.morph.cross_sections is not None
    low, step = person.morph.height_mm(900.0), 30.0
    grid = np.diag([4.0, 4.0, step, 1.0])
    grid[:3, 3] = -320.0, -220.0, low
    whole = np.asarray(label_volume(person, Grid((160, 120, 14), grid), SIMPLE).labels) > 0
    for at in (2, 6, 10):
        assert np.mean(whole[..., at] != outline(person, low + at * step)) < 0.001
