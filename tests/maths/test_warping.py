"""The warp of the scores: order kept, giants tamed."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis.extra.numpy import arrays
from hypothesis.strategies import floats, integers
from scipy.special import ndtri
from scipy.stats import rankdata

from fovnet.maths.warping import (
    RANK_LIMIT,
    TARGETS,
    keep_scores,
    limit_worse_half,
    rank_all,
    rank_worse_half,
)

SCORES = arrays(
    np.float64, integers(1, 30), elements=floats(-1e6, 1e6).map(lambda value: round(value, 3))
)


@given(SCORES)
@example(np.full(3, 1.754))  # their mean is 1.7539999999999998
def test_the_order_is_kept_and_ties_stay_ties(y):
    warped = rank_worse_half(y).values
    order = np.argsort(y, kind="stable")
    assert (np.diff(warped[order]) >= -1e-9).all()
    assert np.isfinite(warped).all() and abs(warped.mean()) < 1e-6
    assert all(warped[i] == warped[j] for i in range(len(y)) for j in range(i) if y[i] == y[j])


def test_a_giant_among_the_bad_changes_nothing():
    y = np.array([0.2, 0.25, 0.3, 0.4, 0.9])
    np.testing.assert_array_equal(
        rank_worse_half(y).values, rank_worse_half(np.where(y == 0.9, 1e300, y)).values
    )


def test_the_better_half_keeps_its_distances():
    warped = rank_worse_half(np.array([0.0, 1.0, 3.0, 50.0, 70.0])).values
    assert np.isclose((warped[2] - warped[1]) / (warped[1] - warped[0]), 2.0)


def distances_above_middle(target, middle):
    """The distances of the values from the middle one, in units of the best one's."""
    return (target.values - target.values[middle]) / (target.values[middle] - target.values[0])


def test_a_limited_loss_lies_as_far_as_it_is_or_as_its_rank_times_the_limit():
    y = np.array([0.0, 0.5, 1.0, 1.01, 1.02, 1e30, 1e300])
    limited = distances_above_middle(limit_worse_half(y), 3)
    ranked = distances_above_middle(rank_worse_half(y), 3)
    kept = distances_above_middle(keep_scores(y[:5]), 3)
    np.testing.assert_allclose(limited[:5], kept)
    np.testing.assert_allclose(limited[5:], RANK_LIMIT * ranked[5:])


@pytest.mark.parametrize("name", TARGETS)
@given(SCORES)
def test_every_target_keeps_the_order_and_leads_back_to_the_scores(name, y):
    target = TARGETS[name](y)
    order = np.argsort(y, kind="stable")
    assert np.isfinite(target.values).all() and (np.diff(target.values[order]) >= -1e-9).all()
    np.testing.assert_allclose(
        target.score_of(target.values), y, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(y).max())
    )


def test_below_the_best_a_score_goes_on_in_the_units_of_the_better_half():
    y = np.array([1.0, 2.0, 3.0, 80.0, 90.0])
    for warp in (rank_worse_half, keep_scores):
        target = warp(y)
        assert target.score_of(target.values.min() - 0.5) == pytest.approx(1.0 - 0.5 * target.unit)
    values = rank_worse_half(y).values
    assert rank_worse_half(y).unit == pytest.approx(1.0 / (values[1] - values[0]))


@given(SCORES)
def test_ranks_are_those_of_scipy(y):
    expected = ndtri((rankdata(y) - 0.5) / len(y))
    np.testing.assert_allclose(
        rank_all(y).values * expected.std(), expected - expected.mean(), atol=1e-9
    )


@pytest.mark.parametrize("warp", [rank_worse_half, keep_scores])
@pytest.mark.parametrize("power", [-1000, -40, 40, 900])
def test_losses_of_any_size_are_believed_alike(warp, power):
    """Sums and squares of 1e300 are no numbers, those of 1e-300 are nothing; a power of two changes no bit of
    what is believed."""
    y = np.random.default_rng(1).gamma(2.0, size=30) + 0.1
    target, large = warp(y), warp(np.ldexp(y, power))
    np.testing.assert_array_equal(large.values, target.values)
    assert large.unit == np.ldexp(target.unit, power)


@pytest.mark.parametrize("warp", [rank_worse_half, keep_scores])
def test_the_largest_losses_there_are_have_values(warp):
    target = warp(np.array([-1.7e308, 1e307, 1.2e308, 1.7e308]))
    assert np.isfinite(target.values).all() and np.isfinite(target.unit)


@pytest.mark.parametrize("name", ["half-ranked", "raw"])
def test_a_score_below_the_best_has_the_value_that_leads_back_to_it(name):
    scores = np.array([0.9, 0.5, 0.7, 2.0, 1e30])
    target = TARGETS[name](scores if name == "half-ranked" else scores[:4])
    below = target.value_below_best(0.2)
    assert below < target.values.min() and target.score_of(below) == pytest.approx(0.2)
    assert target.value_below_best(0.5) == target.value_below_best(0.8) == target.values.min()
    assert np.isfinite(target.value_below_best(-1.7e308))
    assert TARGETS["ranked"](scores).value_below_best(0.2) == -np.inf


def test_ranks_know_no_units_and_never_leave_what_was_seen():
    target = rank_all(np.array([3.0, 1.0, 2.0]))
    assert target.unit is None and target.score_of(np.array([-9.0, 9.0])).tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    "scores",
    [[0.05] * 6, [0.05] * 5 + [0.0501], [0.05] * 4 + [0.3, 0.4]],
    ids=["all", "all but one", "four of six"],
)
def test_scores_whose_better_half_is_one_value_know_no_units(scores):
    """Else an expected regret of 0.4 would be reported for losses of 0.05."""
    target = rank_worse_half(np.array(scores))
    assert target.unit is None and not target.is_within_reach(float(target.values.min()) - 1.0)
    assert target.score_of(target.values.min() - 1.0) == 0.05


def test_raw_scores_survive_giants():
    target = keep_scores(np.array([1e300, 0.0, -1e300]))
    np.testing.assert_allclose(target.values, np.sqrt(1.5) * np.array([1.0, 0.0, -1.0]))


@pytest.mark.parametrize("name", TARGETS)
def test_above_the_worst_score_seen_none_is_known(name):
    target = TARGETS[name](np.array([3.0, 1.0, 2.0, 5.0]))
    worst = float(target.values.max())
    assert target.is_within_reach(worst) and not target.is_within_reach(worst + 0.1)
