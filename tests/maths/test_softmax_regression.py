"""Refitted layers are scikit-learn's where those begin at zero; the ridge holds them where they began."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.linear_model import LogisticRegression

from fovnet.maths.softmax_regression import refit, scores


def problem(seed: int, s: int = 60, f: int = 4, k: int = 3) -> tuple[np.ndarray, ...]:
    """Features, labels, weights of rows, and a layer."""
    rng = np.random.default_rng(seed)
    features, labels = rng.normal(size=(s, f)) * [1, 10, 0.1, 3], rng.permutation(np.arange(s) % k)
    weights = rng.uniform(0.2, 1.0, s)
    return features, labels, weights / weights.sum(), rng.normal(size=(k, f)), rng.normal(size=k)


@given(seed=integers(0, 999), ridge=floats(1e-3, 1.0))
@settings(max_examples=25)
def test_from_zero_it_is_scikit_learns_logistic_regression(seed: int, ridge: float) -> None:
    features, labels, weights, weight, bias = problem(seed)
    spread = np.sqrt(weights @ features**2 - (weights @ features) ** 2)
    zero = (np.zeros_like(weight), np.zeros_like(bias))
    ours = refit(features, np.eye(3)[labels], weights, zero, ridge=ridge, steps=1000)
    theirs = LogisticRegression(C=1 / (2 * ridge), tol=1e-9, max_iter=10_000)
    theirs.fit(features / spread, labels, sample_weight=weights)
    assert softmax(scores(features, ours), axis=1) == pytest.approx(
        theirs.predict_proba(features / spread), abs=2e-4
    )


@given(seed=integers(0, 999))
def test_targets_that_the_layer_gives_already_change_nothing(seed: int) -> None:
    features, _, weights, *begun = problem(seed)
    layer = (begun[0], begun[1])
    kept = refit(features, softmax(scores(features, layer), axis=1), weights, layer, ridge=1e-4)
    assert kept[0] == pytest.approx(layer[0], abs=1e-6) and kept[1] == pytest.approx(
        layer[1], abs=1e-6
    )


@given(seed=integers(0, 999), row=integers(0, 59))
def test_a_row_of_no_weight_is_as_if_it_were_not_there(seed: int, row: int) -> None:
    features, labels, weights, *begun = problem(seed)
    weights = np.where(np.arange(60) == row, 0.0, weights)
    weights /= weights.sum()
    there = np.arange(60) != row
    targets, layer = np.eye(3)[labels], (begun[0], begun[1])
    full = refit(features, targets, weights, layer, ridge=1e-2)
    less = refit(features[there], targets[there], weights[there], layer, ridge=1e-2)
    assert full[0] == pytest.approx(less[0], abs=1e-3)


@given(seed=integers(0, 999), ridge=floats(1e-4, 1.0))
def test_the_minimum_is_below_the_beginning_and_a_stronger_ridge_stays_nearer(
    seed: int, ridge: float
) -> None:
    features, labels, weights, *begun = problem(seed)
    layer, targets = (begun[0], begun[1]), np.eye(3)[labels]

    def loss(weight: np.ndarray, bias: np.ndarray) -> float:
        return float(
            -weights @ (targets * log_softmax(scores(features, (weight, bias)), axis=1)).sum(axis=1)
        )

    near, far = (
        refit(features, targets, weights, layer, ridge=one, steps=1000)
        for one in (100 * ridge, ridge)
    )
    spread = features.std(axis=0)
    moved = [float((((one[0] - layer[0]) * spread) ** 2).sum()) for one in (near, far)]
    assert loss(*far) <= loss(*near) + 1e-6 <= loss(*layer) + 2e-6 and moved[0] <= moved[1] + 1e-6


def test_a_feature_that_never_varies_keeps_its_weights() -> None:
    features, labels, weights, *begun = problem(1)
    features[:, 2] = 5.0
    found = refit(features, np.eye(3)[labels], weights, (begun[0], begun[1]), ridge=1e-3)
    assert (found[0][:, 2] == begun[0][:, 2]).all() and not (found[0][:, 1] == begun[0][:, 1]).any()


GROUP_STARTS = (0, 1, 3)
"""Of five classes: one alone, and twice two."""


@given(seed=integers(0, 999))
def test_a_group_has_the_gradient_of_the_logarithm_of_its_sum(seed: int) -> None:
    """By difference quotients: in each score, and, summed over the group, in what all of it changes by."""
    score = np.random.default_rng(seed).normal(size=5)
    probabilities, group = softmax(score), np.array([0, 1, 1, 0, 0])
    group_sum = probabilities @ group

    def loss(at: np.ndarray) -> float:
        return float(logsumexp(at) - logsumexp(at[1:3]))

    expected = probabilities - group * probabilities / group_sum
    for direction, slope in [*zip(np.eye(5), expected, strict=True), (group, group_sum - 1)]:
        step = 1e-4 * direction
        assert (loss(score + step) - loss(score - step)) / 2e-4 == pytest.approx(slope, abs=1e-6)


@given(seed=integers(0, 999))
@settings(max_examples=25)
def test_the_sum_of_a_group_learns_and_the_shares_in_it_stay_wherever_one_looks(seed: int) -> None:
    features, labels, weights, *begun = problem(seed, k=5)
    layer = (begun[0], begun[1])
    targets = np.eye(3)[labels % 3]
    learned = refit(features, targets, weights, layer, ridge=1e-3, group_starts=GROUP_STARTS)
    elsewhere = 3 * np.random.default_rng(seed).normal(size=(200, features.shape[1]))
    before, after = (log_softmax(scores(elsewhere, of), axis=1) for of in (layer, learned))
    for parts in (slice(1, 3), slice(3, 5)):
        shares_before, shares = (log_softmax(of[:, parts], axis=1) for of in (before, after))
        assert shares == pytest.approx(shares_before, abs=1e-6)
    assert np.abs(np.exp(after[:, 0]) - np.exp(before[:, 0])).max() > 0.01


@given(seed=integers(0, 999))
@settings(max_examples=25)
def test_a_class_in_equal_copies_is_learned_as_the_class_was(seed: int) -> None:
    features, labels, weights, weight, bias = problem(seed)
    targets, copies = np.eye(3)[labels], np.array([1, 2, 2])
    widened = (np.repeat(weight, copies, axis=0), np.repeat(bias - np.log(copies), copies))
    plain = refit(features, targets, weights, (weight, bias), ridge=1e-3)
    learned = refit(features, targets, weights, widened, ridge=1e-3, group_starts=GROUP_STARTS)
    sums = np.add.reduceat(softmax(scores(features, learned), axis=1), GROUP_STARTS, axis=1)
    assert sums == pytest.approx(softmax(scores(features, plain), axis=1), abs=1e-3)
