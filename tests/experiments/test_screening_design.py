"""Screening designs: what they must not mistake for a main effect, and their errors, against least
squares."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from scipy.stats import t as student

from screening_design import FREE, effect_error, folded_design, main_effects

FACTORS, SEEDS = integers(1, 60), integers(0, 2**31)


@given(factors=FACTORS)
def test_no_two_factors_are_had_by_the_same_runs(factors: int) -> None:
    X = folded_design(factors)
    assert set(np.unique(X)) == {-1, 1} and (len(X) * np.eye(factors) == X.T @ X).all()
    assert (X.sum(axis=0) == 0).all() and (X[::2] == -X[1::2]).all()
    # all factors, and none
    assert (X[0] == 1).all() and (X[1] == -1).all()
    assert len(X) // 2 - factors >= FREE


def test_half_as_many_pairs_would_leave_too_few_to_tell_the_error() -> None:
    assert [len(folded_design(factors)) for factors in (1, 4, 5, 12, 13, 25, 28, 29)] == [
        16,
        16,
        32,
        32,
        64,
        64,
        64,
        128,
    ]


@given(factors=integers(2, 12), seed=SEEDS)
def test_neither_pairs_nor_what_two_factors_do_together_is_mistaken_for_a_main_effect(
    factors: int, seed: int
) -> None:
    rng, X = np.random.default_rng(seed), folded_design(factors)
    true = rng.normal(size=factors)
    of_pairs = np.repeat(rng.normal(size=len(X) // 2), 2)
    together = sum(rng.normal() * X[:, j] * X[:, k] for j, k in combinations(range(factors), 2))
    y = X @ true / 2 + of_pairs + together
    # having it, less not having it
    assert main_effects(X, y) == pytest.approx(true)
    assert effect_error(X, y) == (pytest.approx(0, abs=1e-9), len(X) // 2 - factors)


@given(factors=integers(1, 9), seed=SEEDS)
def test_effects_and_their_error_are_those_of_least_squares_with_a_level_for_each_pair(
    factors: int, seed: int
) -> None:
    rng, X = np.random.default_rng(seed), folded_design(factors)
    y, pairs = rng.normal(size=len(X)), np.kron(np.eye(len(X) // 2), np.ones((2, 1)))
    terms = np.hstack([X / 2, pairs])
    coefficients, rest, *_ = np.linalg.lstsq(terms, y, rcond=None)
    free = len(X) - terms.shape[1]
    error = np.sqrt(np.linalg.inv(terms.T @ terms)[0, 0] * rest[0] / free)  # s² (X'X)⁻¹
    assert main_effects(X, y) == pytest.approx(coefficients[:factors])
    assert effect_error(X, y) == (pytest.approx(error), free)


def test_effects_of_many_outcomes_at_once_are_those_of_each() -> None:
    X, y = folded_design(5), np.random.default_rng(2).normal(size=(3, 7, 32))
    assert main_effects(X, y)[1, 4] == pytest.approx(
        [y[1, 4][X[:, j] > 0].mean() - y[1, 4][X[:, j] < 0].mean() for j in range(5)]
    )


def test_95_of_100_intervals_hold_the_true_effect() -> None:
    rng, X, true = np.random.default_rng(1), folded_design(12), 0.7
    holds = []
    for _ in range(400):
        y = true * X[:, 3] / 2 + np.repeat(rng.normal(0, 5, 16), 2) + rng.normal(size=32)
        error, free = effect_error(X, y)
        holds.append(abs(main_effects(X, y)[3] - true) < student.ppf(0.975, free) * error)
    # three standard errors of 400
    assert np.mean(holds) == pytest.approx(0.95, abs=0.03)
