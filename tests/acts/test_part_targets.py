"""Labels of a region, where the networks' classes are its parts: its sum is learned, and nothing of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax

from fovnet.acts.part_targets import divide_labels, find_group_starts
from fovnet.maths.softmax_regression import Layer, refit, scores
from fovnet.regions import DEFAULT, NINE, Vocabulary

LEGS = slice(0, 4)
FEATURES = 20


def truth_of(labels: list[tuple[str, ...]], vocabulary: Vocabulary = NINE) -> NDArray[np.bool_]:
    """A row for each label: its class, or all parts of its region; several where it names several."""
    return np.array(
        [[bool({*of_class} & {*row}) for of_class in vocabulary.labels_by_class] for row in labels]
    )


@given(seed=integers(0, 999))
def test_a_divided_label_has_the_gradient_of_the_logarithm_of_the_sum(seed: int) -> None:
    """By difference quotients, at the scores as they were; beyond them the losses differ by a divergence."""
    rng = np.random.default_rng(seed)
    scores_before, later_scores = rng.normal(size=(2, len(NINE.classes)))
    before = softmax(scores_before)
    target = divide_labels(truth_of([("legs",)]), before[None], NINE)[0]

    def loss_of_sum(at: NDArray[np.float64]) -> float:
        return float(logsumexp(at) - logsumexp(at[LEGS]))

    def cross_entropy(at: NDArray[np.float64]) -> float:
        return float(-(target * log_softmax(at)).sum())

    for step in 1e-4 * np.eye(len(NINE.classes)):
        expected, slope = (
            (loss(scores_before + step) - loss(scores_before - step)) / 2e-4
            for loss in (loss_of_sum, cross_entropy)
        )
        assert slope == pytest.approx(expected, abs=1e-6)
    shares = before[LEGS] / before[LEGS].sum()
    divergence = (shares * (np.log(shares) - log_softmax(later_scores[LEGS]))).sum()
    entropy = -(shares * np.log(shares)).sum()
    assert cross_entropy(later_scores) == pytest.approx(
        loss_of_sum(later_scores) + divergence + entropy
    )


def test_a_spine_beside_the_legs_has_half_and_the_parts_divide_the_rest() -> None:
    before = np.random.default_rng(1).dirichlet(np.ones(len(NINE.classes)), 3)
    truth = truth_of([("legs", "spine"), ("knee",), ("pelvis",)])
    targets = divide_labels(truth, before, NINE)
    np.testing.assert_allclose(np.add.reduceat(targets, NINE.whole_starts, axis=1)[0, [0, 5]], 0.5)
    np.testing.assert_allclose(targets[0, LEGS], before[0, LEGS] / before[0, LEGS].sum() / 2)
    assert np.array_equal(targets[1:], truth[1:])


def test_labels_of_regions_without_parts_are_divided_evenly_to_the_last_bit() -> None:
    truth = truth_of([("legs",), ("spine", "chest"), ("none",)], DEFAULT)
    before = np.random.default_rng(2).dirichlet(np.ones(len(DEFAULT.classes)), 3)
    targets = divide_labels(truth, before, DEFAULT)
    assert np.array_equal(targets, truth / truth.sum(axis=1, keepdims=True))
    assert find_group_starts(truth, DEFAULT) == [*range(len(DEFAULT.classes))]


def test_parts_change_in_step_unless_one_is_named() -> None:
    assert find_group_starts(truth_of([("legs",), ("head",)]), NINE) == [*NINE.whole_starts]
    named = find_group_starts(truth_of([("legs",), ("neck",), ("pelvis",)]), NINE)
    assert [NINE.classes[start] for start in named] == [
        name for name in NINE.classes if name not in ("lower leg", "knee", "thigh")
    ]


def learned(labels: tuple[str, ...], rows: int = 200) -> tuple[Layer, Layer, NDArray[np.float64]]:
    """A drawn layer, the one fitted to rows of these labels beside others, and features not learned from."""
    rng = np.random.default_rng(5)
    features = np.maximum(rng.normal(size=(2 * rows, FEATURES)), 0.0)
    features[:rows] += rng.random(FEATURES)
    layer = (rng.normal(size=(len(NINE.classes), FEATURES)), rng.normal(size=len(NINE.classes)))
    before = softmax(scores(features, layer), axis=1)
    truth = truth_of([(label,) for label in rng.choice(labels, rows)])
    new_layer = refit(
        features,
        np.concatenate([divide_labels(truth, before[:rows], NINE), before[rows:]]),
        np.full(2 * rows, 0.5 / rows),
        layer,
        ridge=1e-3,
        group_starts=find_group_starts(truth, NINE),
    )
    return layer, new_layer, np.maximum(rng.normal(size=(500, FEATURES)), 0.0)


def test_what_five_words_teach_leaves_every_share_of_a_part_as_it_was() -> None:
    layer, new_layer, others = learned(("legs", "pelvis", "head"))
    old, new = (softmax(scores(others, which), axis=1) for which in (layer, new_layer))
    for parts in (LEGS, slice(7, 9)):
        old_sum, new_sum = (of[:, parts].sum(axis=1, keepdims=True) for of in (old, new))
        np.testing.assert_allclose(new[:, parts] / new_sum, old[:, parts] / old_sum, atol=1e-9)
        assert np.abs(new_sum - old_sum).mean() > 0.05


def test_a_word_for_a_part_teaches_that_part() -> None:
    layer, new_layer, others = learned(("legs", "knee", "pelvis"))
    old, new = (softmax(scores(others, which), axis=1) for which in (layer, new_layer))
    knee_shares = [of[:, 2] / of[:, LEGS].sum(axis=1) for of in (old, new)]
    assert knee_shares[1].mean() > knee_shares[0].mean() + 0.03
    skull_shares = [of[:, 8] / of[:, 7:9].sum(axis=1) for of in (old, new)]
    np.testing.assert_allclose(*skull_shares, atol=1e-9)
