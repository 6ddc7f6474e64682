"""The risk-coverage curve and its area, against a loop over volumes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.risk import rank_volumes
from fovnet.maths.intervals import wilson_interval
from fovnet.regions import DEFAULT


def looped(confidence, wrong, total):
    """Mean over the volumes of the risk among those at least as sure."""
    risks = [wrong[confidence >= one].sum() / total[confidence >= one].sum() for one in confidence]
    return float(np.mean(risks))


def volumes(seed, size=12):
    rng = np.random.default_rng(seed)
    total = rng.integers(5, 50, size)
    return rng.integers(0, 6, size) / 6, rng.binomial(total, 0.2), total


@given(seed=integers(0, 999))
def test_the_area_is_the_loops_with_ties_and_under_resampling(seed):
    confidence, wrong, total = volumes(seed)
    found = rank_volumes(confidence, wrong, total)
    assert found.area(np.ones((1, 12)))[0] == pytest.approx(looped(confidence, wrong, total))
    weights = np.random.default_rng(seed).multinomial(12, np.full(12, 1 / 12), size=3)
    for row, area in zip(weights, found.area(weights.astype(float)), strict=True):
        often = np.repeat(np.arange(12), row)
        assert area == pytest.approx(looped(confidence[often], wrong[often], total[often]))


@given(seed=integers(0, 999))
def test_the_order_of_the_volumes_changes_nothing(seed):
    confidence, wrong, total = volumes(seed)
    turned = np.random.default_rng(seed).permutation(12)
    for one, other in zip(
        rank_volumes(confidence, wrong, total).curve(),
        rank_volumes(confidence[turned], wrong[turned], total[turned]).curve(),
        strict=True,
    ):
        assert one == pytest.approx(other)


def test_the_curve_ends_at_all_volumes_and_the_overall_risk():
    confidence, wrong, total = volumes(3)
    sure, coverage, risk = rank_volumes(confidence, wrong, total).curve()
    assert (coverage[-1], risk[-1]) == pytest.approx((1.0, wrong.sum() / total.sum()))
    assert (np.diff(sure) < 0).all() and (np.diff(coverage) > 0).all()


def test_confidence_that_knows_leaves_less_than_confidence_that_does_not():
    wrong = np.array([0, 0, 0, 0, 1, 1])
    knowing, blind, boasting = (
        rank_volumes(np.array(sure), wrong, np.ones(6))
        for sure in ([6, 5, 4, 3, 2, 1], [1] * 6, [1, 2, 3, 4, 5, 6])
    )
    areas = [float(one.area(np.ones((1, 6)))[0]) for one in (knowing, blind, boasting)]
    assert areas == pytest.approx(
        [(1 / 5 + 2 / 6) / 6, 2 / 6, (1 + 1 + 2 / 3 + 2 / 4 + 2 / 5 + 2 / 6) / 6]
    )


def test_the_area_is_the_mean_of_the_curve_over_volumes_of_different_confidence(planted):
    """The surer half is right, the others are wrong in one slice of ten more each."""
    cases = [
        planted.case(
            ["chest"] * 10,
            ["chest"] * (10 - wrong) + ["head"] * wrong,
            volume_id=f"v{wrong}",
            confidence=np.full(10, sure),
        )
        for wrong, sure in enumerate((0.9, 0.8, 0.7, 0.6, 0.5, 0.4))
    ]
    evaluation = evaluate(cases, DEFAULT, bootstrap=50, seed=1)
    slices, sets = (
        evaluation.everything.find(name, "decided").value
        for name in ("risk_coverage_slices", "risk_coverage_sets")
    )
    assert slices == pytest.approx(np.mean([0, 1 / 20, 3 / 30, 6 / 40, 10 / 50, 15 / 60]))
    assert slices == pytest.approx(evaluation.risk.slice_error.mean())
    assert (
        sets
        == pytest.approx(np.mean([0, 1 / 2, 2 / 3, 3 / 4, 4 / 5, 5 / 6]))
        == pytest.approx(evaluation.risk.wrong_sets.mean())
    )


@pytest.mark.parametrize(("predicted", "wrong"), [("chest", 0.0), ("head", 1.0)])
def test_where_all_volumes_are_alike_the_area_has_an_interval_as_shares_have(
    planted, predicted, wrong
):
    cases = [
        planted.case(["chest"] * 10, [predicted] * 10, volume_id=f"v{number}")
        for number in range(12)
    ]
    everything = evaluate(cases, DEFAULT, bootstrap=50, seed=1).everything
    for name in ("risk_coverage_slices", "risk_coverage_sets"):
        found = everything.find(name, "decided")
        assert found.value == wrong and (found.low, found.high) == pytest.approx(
            wilson_interval(12 * wrong, 12)
        )


@given(seed=integers(0, 999))
@settings(max_examples=50)
def test_no_end_of_an_interval_is_a_probability_above_one(seed):
    rng = np.random.default_rng(seed)
    subjects, stated = rng.integers(0, 6, 8), rng.beta(0.5, 0.4, 8)
    found = Resampling([str(one) for one in subjects], repeats=100, seed=1).measure_mean(
        "set_probability", stated, np.ones(8), most=1.0
    )
    assert found.low is None or 0.0 <= found.low <= found.high <= 1.0
