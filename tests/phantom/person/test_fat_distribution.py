"""Where fat lies: on belly or back, in rolls, on thighs; and nothing of the body lies outside its skin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fovnet.phantom.acquisition.fitting import trace_contour
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.anatomy.limbs import LEG_OUTLINE
from fovnet.phantom.anatomy.trunk import muscular_trunk, trunk_under_skin
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.fat_distribution import EVEN_LEG, EVEN_LEVELS, Figure
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

PLAIN = replace(
    sample_person((4, 2), frozenset({"fat in places", "varied bodies"})),
    arm_posture="raised",
    fat_mm=14.0,
)
FAR = (2.0,) * len(EVEN_LEVELS)
NEAR = (0.4,) * len(EVEN_LEVELS)


def slice_at(person: Person, anatomy_z_mm: float) -> NDArray[np.integer]:
    """Labels of 3 mm at a height, (i, j)."""
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    affine[:3, 3] = -300, -210, person.morph.height_mm(anatomy_z_mm)
    return label_volume(person, Grid((200, 140, 1), affine)).labels[:, :, 0]


def layer_mm(column: NDArray[np.integer]) -> float:
    """How thick the fat is that a straight line meets first, from outside."""
    fat = column[(column > 0) & (column != label_of("skin"))] == label_of("fat")
    return 3.0 * float(np.argmin(fat))


def test_fat_is_thick_in_front_of_some_and_behind_others() -> None:
    figures = (
        Figure(front_factors=FAR, back_factors=NEAR),
        Figure(front_factors=NEAR, back_factors=FAR),
    )
    in_front, behind = (slice_at(replace(PLAIN, figure=figure), 1120.0)[112] for figure in figures)
    assert (
        layer_mm(in_front[::-1]) > layer_mm(in_front) + 6
        and layer_mm(behind) > layer_mm(behind[::-1]) + 6
    )


def test_fat_thighs_are_not_fat_calves() -> None:
    figure = Figure(thigh_factors=(2.0,) * 4, calf_factors=EVEN_LEG)
    thigh, calf = (
        [
            (slice_at(replace(PLAIN, figure=of), z) == label_of("fat")).sum()
            for of in (Figure(), figure)
        ]
        for z in (700.0, 320.0)
    )
    assert thigh[1] > 1.4 * thigh[0] and calf[1] == calf[0]
    along = np.array(
        [figure.leg_factors(z) for z in np.arange(LEG_OUTLINE[0][0], LEG_OUTLINE[-1][0])]
    )
    assert np.abs(np.diff(along, axis=0)).max() < 0.02 and along[0, 0] == 1 and along[-1, 0] == 2


def test_rolls_above_the_hips_stand_out_as_far_as_specified() -> None:
    plain, rolled = (
        trace_contour(replace(PLAIN, figure=figure))
        for figure in (Figure(), Figure(hip_roll_mm=25.0))
    )
    more = (rolled.high_xy_mm - plain.high_xy_mm)[:, 0]
    assert (
        12 <= more.max() <= 31
        and abs(plain.heights_mm[more.argmax()] - PLAIN.morph.height_mm(1080.0)) < 45
    )
    assert not more[plain.heights_mm > PLAIN.morph.height_mm(1180.0)].any()


@pytest.mark.parametrize("number", range(1, 9))
def test_muscles_of_the_trunk_lie_under_the_fat_of_any_figure(number: int) -> None:
    person = sample_person((6, number))
    x, y, z = (
        np.random.default_rng(0)
        .uniform((-220, -150, 850), (220, 180, 1460), (40_000, 3))
        .astype(np.float32)
        .T
    )
    muscle = muscular_trunk(person).contains(x, y, z)
    assert (
        muscle.sum() > 1000 and np.mean(trunk_under_skin(person).contains(x, y, z)[muscle]) > 0.9995
    )


def test_three_people_of_four_have_a_figure_of_their_own_and_no_landmark_moves() -> None:
    people = [
        (sample_person((6, number)), sample_person((6, number), frozenset({"fat in places"})))
        for number in range(60)
    ]
    alone = [one == other for one, other in people]
    assert 6 <= sum(alone) <= 27 and all(other.figure == Figure() for _, other in people)
    assert all(landmarks(one) == landmarks(other) for one, other in people)
    ratios = [
        one.morph.trunk_factors[0]
        / one.morph.trunk_factors[1]
        / (other.morph.trunk_factors[0] / other.morph.trunk_factors[1])
        for one, other in people
    ]
    assert min(ratios) < 0.9 and max(ratios) > 1.12
    assert (
        min(one.figure.outer_squareness for one, _ in people) < 0.15
        and max(one.figure.outer_squareness for one, _ in people) > 0.6
    )
