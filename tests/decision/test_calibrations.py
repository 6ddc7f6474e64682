"""Planted miscalibrations are found, to two per cent, and two references agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from fovnet.decision.calibrations import (
    IDENTITY_BETA,
    IDENTITY_LINE,
    calibrate_by_beta,
    calibrate_by_line,
    fit_beta,
    fit_line,
    fit_temperature,
)
from fovnet.maths.smoothing import temper


def drawn(seed: int = 0, slices: int = 60_000) -> tuple[np.ndarray, np.ndarray]:
    """Honest probabilities (s, 7), and classes drawn from those very probabilities."""
    rng = np.random.default_rng(seed)
    honest = rng.dirichlet(np.full(7, 0.5), size=slices)
    classes = (honest.cumsum(axis=1) > rng.random((len(honest), 1))).argmax(axis=1)
    return honest, np.eye(7, dtype=bool)[classes]


@pytest.mark.parametrize("planted", [0.5, 1.0, 2.5])
def test_a_planted_overconfidence_is_found_to_two_per_cent(planted: float) -> None:
    """Probabilities ** planted, renormalised, are put right by that temperature."""
    honest, truth = drawn()
    assert fit_temperature([temper(honest, 1 / planted)], [truth]) == pytest.approx(
        planted, rel=0.02
    )


def test_the_temperature_of_two_classes_is_the_slope_of_a_logistic_regression() -> None:
    """scikit-learn's, on the logit alone, without penalty and intercept."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.7, 0.7, 5000).clip(1e-3, 1 - 1e-3)
    yes = rng.random(5000) < p**1.4 / (p**1.4 + (1 - p) ** 1.4)
    slope = (
        LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10)
        .fit(logit(p)[:, None], yes)
        .coef_[0, 0]
    )
    found = fit_temperature([np.column_stack([p, 1 - p])], [np.column_stack([yes, ~yes])])
    assert 1 / found == pytest.approx(slope, rel=1e-3)


def test_a_planted_beta_calibration_is_found_and_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    stated, share = (
        rng.beta(4, 1.5, 60_000).clip(1e-3, 1 - 1e-3),
        rng.beta(3, 2, 60_000).clip(1e-3, 1 - 1e-3),
    )
    planted = (0.6, 1.4, -0.3, 0.5, 0.8)
    right = rng.random(len(stated)) < calibrate_by_beta(stated, share, planted)
    found = fit_beta(stated, share, right)
    assert (
        np.abs(
            calibrate_by_beta(stated, share, found) - calibrate_by_beta(stated, share, planted)
        ).mean()
        < 0.005
    )
    sides = np.column_stack([np.log(stated), -np.log1p(-stated), np.log(share), -np.log1p(-share)])
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(sides, right)
    np.testing.assert_allclose(np.delete(found, 2), reference.coef_[0], atol=4e-3)
    assert found[2] == pytest.approx(reference.intercept_[0], abs=4e-3)


def test_what_tells_nothing_is_not_listened_to() -> None:
    """Shares drawn without regard to what is right get no weight, and the calibration is that of the
    confidences alone."""
    rng = np.random.default_rng(3)
    stated, share = rng.beta(4, 1.5, (2, 60_000)).clip(1e-3, 1 - 1e-3)
    right = rng.random(len(stated)) < stated
    assert fit_beta(stated, share, right) == pytest.approx((1.0, 1.0, 0.0, 0.0, 0.0), abs=0.08)


@given(floats(0, 3), floats(0, 3), floats(-2, 2), floats(0, 3), floats(0, 3), floats(0.01, 0.99))
def test_more_of_either_is_never_less(
    a: float, b: float, c: float, d: float, e: float, other: float
) -> None:
    p, beta = np.linspace(1e-3, 1 - 1e-3, 50), (a, b, c, d, e)
    for rising in (
        calibrate_by_beta(p, np.full(50, other), beta),
        calibrate_by_beta(np.full(50, other), p, beta),
    ):
        # the kernels of a matrix product round the rows of one call differently: by 2.2e-16 at 0.95
        assert (np.diff(rising) >= -1e-15).all()


def test_with_the_confidence_alone_it_is_the_beta_calibration_of_kull_and_others() -> None:
    p, share = np.random.default_rng(4).uniform(0.01, 0.99, (2, 30))
    published = 1 / (1 + 1 / (np.exp(-0.1) * p**0.7 / (1 - p) ** 1.2))  # eq. 6
    np.testing.assert_allclose(
        calibrate_by_beta(p, share, (0.7, 1.2, -0.1, 0.0, 0.0)), published, rtol=1e-12
    )


def test_what_was_right_without_exception_is_left_as_it_was_stated() -> None:
    p = np.linspace(0, 1, 101)
    assert fit_beta(p, p, np.ones(101, dtype=bool)) == IDENTITY_BETA
    assert calibrate_by_beta(p, p, IDENTITY_BETA) is p


def test_a_planted_line_is_found_and_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(5)
    stated = rng.beta(1.5, 1.5, 20_000).clip(1e-3, 1 - 1e-3)
    least = rng.beta(2.0, 1.0, 20_000).clip(1e-3, 1 - 1e-3)
    right = rng.random(len(stated)) < np.array(
        [calibrate_by_line(p, m, (0.5, 1.2, 0.8)) for p, m in zip(stated, least, strict=True)]
    )
    found = fit_line(stated, least, right)
    assert found == pytest.approx((0.5, 1.2, 0.8), abs=0.05)
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(
        np.column_stack([logit(stated), logit(least)]), right
    )
    assert found == pytest.approx(
        (reference.coef_[0, 0], reference.intercept_[0], reference.coef_[0, 1]), abs=2e-3
    )
    assert (
        fit_line(stated[:30], least[:30], np.ones(30, dtype=bool)) == IDENTITY_LINE
        and calibrate_by_line(0.3, 0.1, IDENTITY_LINE) == 0.3
    )


def test_a_line_that_weighs_the_set_alone_ignores_the_least_confident_span() -> None:
    for p in np.linspace(0.05, 0.95, 19):
        platt = 1 / (1 + np.exp(-(0.7 * np.log(p / (1 - p)) + 0.3)))  # eq. 1, of a logit
        assert (
            calibrate_by_line(float(p), 0.2, (0.7, 0.3, 0.0))
            == calibrate_by_line(float(p), 0.9, (0.7, 0.3, 0.0))
            == pytest.approx(platt, rel=1e-12)
        )
    assert all(calibrate_by_line(p, 0.1, IDENTITY_LINE) == p for p in (0.0, 1e-9, 0.3, 1.0))


@pytest.mark.parametrize("enough", [False, True])
@pytest.mark.parametrize("rare", [False, True])
def test_ten_that_were_right_and_ten_that_were_wrong_are_the_fewest_that_teach(
    rare: bool, enough: bool
) -> None:
    right = np.full(200, not rare)
    right[: 10 if enough else 9] = rare
    p, share = np.random.default_rng(6).uniform(0.05, 0.95, (2, 200))
    assert (
        (fit_line(p, share, right) != IDENTITY_LINE)
        == (fit_beta(p, share, right) != IDENTITY_BETA)
        == enough
    )


def test_a_slice_with_two_labels_counts_half_for_each() -> None:
    """The temperature is that of twice the slices with one label each: those with two once with either, the
    others twice."""
    rng = np.random.default_rng(7)
    p, first, second = (
        rng.dirichlet(np.full(4, 0.5), 400),
        *(np.eye(4, dtype=bool)[rng.integers(0, 4, 400)] for _ in range(2)),
    )
    assert fit_temperature([p], [first | second]) == pytest.approx(
        fit_temperature([p, p], [first, second]), rel=1e-4
    )
