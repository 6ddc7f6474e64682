"""What slices weigh, what targets keep, and how far layers go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, lists
from scipy.special import log_softmax, softmax

from fovnet.acts.adaptation import (
    MOST_PROBABILITY_KEPT,
    interpolate_layers,
    soft_targets,
    weigh_slices,
)


@given(sizes=lists(integers(1, 30), min_size=1, max_size=12), seed=integers(0, 99))
def test_every_volume_weighs_the_same_however_many_slices_it_has(
    sizes: list[int], seed: int
) -> None:
    volume = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 7, sizes))
    weights = weigh_slices(volume)
    for one in np.unique(volume):
        assert weights[volume == one].sum() == pytest.approx(1 / len(sizes))


@given(seed=integers(0, 999))
def test_a_region_without_an_example_is_neither_pushed_nor_pulled(seed: int) -> None:
    """The gradient of the loss in its score, by difference quotients, is none at the scores as they were."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=7)
    shown = np.arange(7) < 4
    scores[~shown] -= 6.0  # together below MOST_PROBABILITY_KEPT
    before = softmax(scores)[None]
    target = soft_targets(np.eye(7)[[2]], before, shown)[0]

    def loss(at: np.ndarray) -> float:
        return float(-(target * log_softmax(at)).sum())

    for column in np.flatnonzero(~shown):
        step = 1e-4 * (np.arange(7) == column)
        assert (loss(scores + step) - loss(scores - step)) / 2e-4 == pytest.approx(0.0, abs=1e-6)


@given(seed=integers(0, 999), examples=integers(0, 6))
def test_targets_stay_probabilities_and_the_label_keeps_most(seed: int, examples: int) -> None:
    rng = np.random.default_rng(seed)
    before = rng.dirichlet(np.ones(7) * 0.3, 5)
    labels = np.eye(7)[rng.integers(0, examples + 1, 5)]
    targets = soft_targets(labels, before, np.arange(7) <= examples)
    assert targets.sum(axis=1) == pytest.approx(1.0) and (targets >= 0).all()
    assert ((targets * labels).sum(axis=1) >= 1 - MOST_PROBABILITY_KEPT - 1e-9).all()


@given(share=floats(0, 1))
def test_scores_of_a_mean_of_layers_are_the_mean_of_their_scores(share: float) -> None:
    """Why a share of one layer is no less than a share of what it says."""
    rng = np.random.default_rng(1)
    old, new = ((rng.normal(size=(3, 4)), rng.normal(size=3)) for _ in range(2))
    x = rng.normal(size=4)
    said = [weight @ x + bias for weight, bias in (old, new, interpolate_layers(old, new, share))]
    assert said[2] == pytest.approx((1 - share) * said[0] + share * said[1])
