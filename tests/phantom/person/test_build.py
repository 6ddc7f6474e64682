"""Where muscle is: a wall of the abdomen as thick as specified, about the same cavity; lean trunks that are
flat on the back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.anatomy import back
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.build import WALL_MM_BY_HEIGHT, Build, draw_build
from fovnet.phantom.person.fat_distribution import Figure
from fovnet.phantom.person.morph import Morph
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

PLAIN = replace(
    sample_person((4, 2), frozenset({"fat in places", "varied bodies", "deformation", "builds"})),
    sex="male",
    arm_posture="raised",
    fat_mm=10.0,
    belly_mm=0.0,
    muscle_factor=1.0,
    table_mm=float("inf"),
)
WALL_AT_MM = 1090.0
COARSE = frozenset({"lesions", "tissue structure", "joints and organs"})


def flank(person: Person) -> NDArray[np.integer]:
    """Labels at every mm from the middle of the trunk to the right, at the middle of the flank."""
    grid = np.eye(4)
    grid[:3, 3] = 0.0, 25.0, person.morph.height_mm(WALL_AT_MM)
    return np.asarray(label_volume(person, Grid((260, 1, 1), grid), COARSE).labels[:, 0, 0])


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.3, 1.6])
def test_the_wall_of_the_abdomen_is_as_thick_as_specified_about_the_same_cavity(
    factor: float,
) -> None:
    straight = replace(PLAIN, morph=replace(PLAIN.morph, waves=()))
    wide = straight.morph.trunk_factors[0]
    plain, built = (
        np.flatnonzero(flank(replace(straight, build=build)) == label_of("muscle"))
        for build in (Build(), Build(wall_factor=factor))
    )
    outer = [at[at > 100] for at in (plain, built)]
    thick = dict(WALL_MM_BY_HEIGHT)[WALL_AT_MM] * wide
    assert outer[1].min() == pytest.approx(outer[0].min(), abs=1.5), "the cavity is the same"
    assert len(outer[1]) - len(outer[0]) == pytest.approx((factor - 1) * thick, abs=1.5)


def test_a_wider_waist_widens_cavity_and_trunk_and_nothing_at_the_hips() -> None:
    assert (
        Build(waist_width_mm=8.0).extra_width_mm(1110.0) == 8.0
        and Build(waist_width_mm=8.0).extra_width_mm(985.0)
        == Build(waist_width_mm=8.0).extra_width_mm(1270.0)
        == 0.0
    )
    narrow, broad = (
        np.flatnonzero(flank(replace(PLAIN, build=Build(waist_width_mm=mm)))).max()
        for mm in (-8.0, 8.0)
    )
    assert broad - narrow == pytest.approx(16 * 0.85, abs=4)


def test_psoas_grows_with_the_square_of_its_thickness() -> None:
    x, y = np.meshgrid(np.arange(0.0, 100.0, 0.5), np.arange(-80.0, 81.0, 0.5), indexing="ij")
    z = np.full((1, 1, 1), 1100.0)
    thin, thick = (
        back.psoas_solid(replace(PLAIN, build=Build(loin_factor=loin)))
        .contains(x[..., None], y[..., None], z)
        .sum()
        for loin in (0.7, 1.4)
    )
    assert thick / thin == pytest.approx(4.0, rel=0.05)


def test_builds_differ_as_people_do_and_no_landmark_moves() -> None:
    """Of a thousand: walls of 12 to 42 mm where 26 mm are the average, most within a third of it; and what is
    left alone is as it was."""
    drawn = [draw_build(np.random.default_rng([7, number])) for number in range(1000)]
    walls = np.array([build.wall_factor for build in drawn]) * WALL_MM_BY_HEIGHT[1][1]
    assert (
        11 < walls.min() < 14
        and 38 < walls.max() < 43
        and 0.6 < np.mean(np.abs(walls / 26 - 1) < 1 / 3) < 0.85
    )
    assert (
        0.95 < np.exp(np.mean(np.log([build.loin_factor for build in drawn]))) < 1.05
        and np.ptp([build.waist_width_mm for build in drawn]) == 20
    )
    people = [
        (sample_person((6, number)), sample_person((6, number), frozenset({"builds"})))
        for number in range(30)
    ]
    assert all(
        landmarks(one) == landmarks(other) and other.build == Build() != one.build
        for one, other in people
    )
    assert sample_person((6, 3)) == sample_person((6, 3))


def test_lean_trunks_on_their_backs_are_from_round_to_twice_as_wide_as_deep_and_fat_ones_as_before() -> (
    None
):
    def ratio(morph: Morph) -> float:
        return morph.trunk_factors[0] / morph.trunk_factors[1]

    people = [
        (sample_person((6, number)), sample_person((6, number), frozenset({"builds"})))
        for number in range(150)
    ]
    changed = np.array([ratio(one.morph) / ratio(other.morph) for one, other in people])
    heavy = np.array(
        [
            one.is_prone or one.fat_mm + max(one.belly_mm, 0.0) >= 45 or one.figure == Figure()
            for one, _ in people
        ]
    )
    assert (
        np.all(changed[heavy] == 1.0)
        and np.any(changed[~heavy] > 1.1)
        and np.any(changed[~heavy] < 0.95)
    )
    assert max(ratio(one.morph) for one, _ in people) < 1.75
