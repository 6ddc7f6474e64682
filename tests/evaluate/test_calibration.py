"""Expected calibration error against a loop over bins, and on data whose calibration is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers
from sklearn.calibration import calibration_curve

from fovnet.evaluate.calibration import (
    BIN_COUNT,
    LEAST_PROBABILITY,
    brier_total,
    expected_calibration_error,
    negative_log_likelihood,
    reliability_totals,
)


@given(seed=integers(0, 999), size=integers(1, 80))
def test_error_is_the_mean_gap_weighted_by_slices(seed, size):
    rng = np.random.default_rng(seed)
    sure, right = rng.random(size), rng.random(size) < 0.6
    expected = 0.0
    for low in np.arange(BIN_COUNT) / BIN_COUNT:
        here = (sure >= low) & (sure < low + 1 / BIN_COUNT - 1e-12)
        if here.any():
            expected += here.mean() * abs(right[here].mean() - sure[here].mean())
    assert expected_calibration_error(reliability_totals(sure, right)) == pytest.approx(expected)


def test_bins_are_scikit_learns_bins():
    rng = np.random.default_rng(2)
    sure = rng.random(500)
    right = rng.random(500) < sure
    totals = reliability_totals(sure, right)
    share, confidence = calibration_curve(right, sure, n_bins=BIN_COUNT)
    assert totals[:, 2] / totals[:, 0] == pytest.approx(share)
    assert totals[:, 1] / totals[:, 0] == pytest.approx(confidence)


def test_certainty_falls_into_the_last_bin_and_no_slices_have_no_error():
    assert reliability_totals(np.ones(3), np.ones(3, dtype=bool))[-1, 0] == 3
    assert np.isnan(expected_calibration_error(np.zeros((BIN_COUNT, 3))))


def test_honest_confidence_has_hardly_any_error_and_bragging_has_what_it_brags():
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 0.9, 200_000)
    honest = expected_calibration_error(reliability_totals(sure, rng.random(len(sure)) < sure))
    bragging = expected_calibration_error(
        reliability_totals(sure + 0.1, rng.random(len(sure)) < sure)
    )
    assert honest < 0.01 and bragging == pytest.approx(0.1, abs=0.01)


@given(share=floats(0.01, 0.99))
def test_a_slice_of_two_classes_is_best_given_half_of_each(share):
    """As training asks for: 2 (share - 1/2)² from the target, and the cross-entropy of a half and a half."""
    truth, probabilities = np.array([[True, True, False]]), np.array([[share, 1 - share, 0.0]])
    assert brier_total(probabilities, truth) == pytest.approx(2 * (share - 0.5) ** 2)
    assert negative_log_likelihood(probabilities, truth) == pytest.approx(
        -0.5 * np.log(share * (1 - share))
    )


def test_a_probability_that_answers_write_as_0_surprises_no_more_than_the_largest_that_they_do():
    """Five decimals are kept: all up to 0.000005 are written 0, and none above."""
    assert np.round(0.999 * LEAST_PROBABILITY, 5) == 0.0 < np.round(1.001 * LEAST_PROBABILITY, 5)
    truth = np.array([[True, False]])
    written, largest = (
        negative_log_likelihood(np.array([[p, 1 - p]]), truth) for p in (0.0, LEAST_PROBABILITY)
    )
    assert written == largest == pytest.approx(np.log(200_000))
