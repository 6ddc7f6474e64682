"""Planted miscalibrations are found, to two per cent, and two references agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from fovnet.decision.calibrating import AS_SAID, best_beta, best_temperature, recalibrated
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
    assert best_temperature([temper(honest, 1 / planted)], [truth]) == pytest.approx(planted, rel=0.02)


def test_the_temperature_of_two_classes_is_the_slope_of_a_logistic_regression() -> None:
    """scikit-learn's, on the logit alone, without penalty and intercept."""
    rng = np.random.default_rng(1)
    p = rng.beta(0.7, 0.7, 5000).clip(1e-3, 1 - 1e-3)
    yes = rng.random(5000) < p**1.4 / (p**1.4 + (1 - p) ** 1.4)
    slope = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(logit(p)[:, None], yes).coef_[0, 0]
    found = best_temperature([np.column_stack([p, 1 - p])], [np.column_stack([yes, ~yes])])
    assert 1 / found == pytest.approx(slope, rel=1e-3)


def test_a_planted_beta_calibration_is_found_and_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    said = rng.beta(4, 1.5, 60_000).clip(1e-3, 1 - 1e-3)
    planted = (0.6, 1.4, -0.3)
    right = rng.random(len(said)) < recalibrated(said, planted)
    found = best_beta(said, right)
    np.testing.assert_allclose(found, planted, atol=0.06)
    sides = np.column_stack([np.log(said), -np.log1p(-said)])
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(sides, right)
    np.testing.assert_allclose(found, [*reference.coef_[0], reference.intercept_[0]], atol=2e-3)


@given(floats(0.01, 3), floats(0.01, 3), floats(-2, 2))
def test_the_order_of_confidences_stays(a: float, b: float, c: float) -> None:
    p = np.linspace(1e-3, 1 - 1e-3, 50)
    assert (np.diff(recalibrated(p, (a, b, c))) >= 0).all()


def test_what_was_right_without_exception_is_left_as_it_was_said() -> None:
    p = np.linspace(0, 1, 101)
    assert best_beta(p, np.ones(101, dtype=bool)) == AS_SAID
    assert recalibrated(p, AS_SAID) is p
