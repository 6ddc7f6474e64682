"""Balanced accuracy of slices and its change from one network to another: scikit-learn is the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from fovnet.evaluate.balanced import balanced, balanced_change, balanced_resampled
from fovnet.maths.intervals import cluster_weights
from fovnet.regions import DEFAULT

K = len(DEFAULT.classes)


def guesses(truth: np.ndarray, right: float, seed: int) -> np.ndarray:
    """Probabilities (s, k) whose largest is the true class with a chance of `right`."""
    rng = np.random.default_rng(seed)
    predicted = np.where(rng.random(len(truth)) < right, truth, rng.integers(0, K, len(truth)))
    return 0.01 + 0.9 * np.eye(K)[predicted]


@pytest.fixture
def people() -> tuple[np.ndarray, list[str]]:
    """True classes (600,) and the persons of 600 slices."""
    rng = np.random.default_rng(3)
    return rng.integers(0, K, 600), [f"sub-{number}" for number in np.repeat(np.arange(30), 20)]


def test_the_change_is_the_difference_of_two_balanced_accuracies(people: tuple[np.ndarray, list[str]]) -> None:
    truth, subject_ids = people
    flags, (worse, better) = np.eye(K, dtype=bool)[truth], (guesses(truth, right, seed) for right, seed in ((0.5, 1), (0.8, 2)))
    scores = [balanced_accuracy_score(truth, p.argmax(axis=1)) for p in (worse, better)]
    assert [balanced(p, flags, subject_ids).value for p in (worse, better)] == pytest.approx(scores)
    value, low, high = balanced_change(worse, better, flags, subject_ids)
    assert value == pytest.approx(scores[1] - scores[0])
    assert 0 < low < value < high < 1


def test_slices_may_count_more_or_less(people: tuple[np.ndarray, list[str]]) -> None:
    truth, subject_ids = people
    counts = 1.0 / np.random.default_rng(5).integers(1, 100, len(truth))
    flags, (worse, better) = np.eye(K, dtype=bool)[truth], (guesses(truth, right, seed) for right, seed in ((0.5, 1), (0.8, 2)))
    scores = [balanced_accuracy_score(truth, p.argmax(axis=1), sample_weight=counts) for p in (worse, better)]
    assert [balanced(p, flags, subject_ids, counts=counts).value for p in (worse, better)] == pytest.approx(scores)
    assert balanced_change(worse, better, flags, subject_ids, counts=counts)[0] == pytest.approx(scores[1] - scores[0])
    assert scores[0] != pytest.approx(balanced_accuracy_score(truth, worse.argmax(axis=1)), abs=1e-3)


def test_networks_are_resampled_together(people: tuple[np.ndarray, list[str]]) -> None:
    """In each resample every network has the accuracy that scikit-learn finds where slices count as often as their person was drawn."""
    truth, subject_ids = people
    counts = 1.0 / np.random.default_rng(5).integers(1, 100, len(truth))
    flags, each = np.eye(K, dtype=bool)[truth], np.stack([guesses(truth, right, seed) for right, seed in ((0.5, 1), (0.8, 2))])
    found = balanced_resampled(each, flags, subject_ids, counts=counts, repeats=20, seed=6)
    drawn = cluster_weights(30, 20, 6)
    numbers = [sorted(set(subject_ids)).index(subject_id) for subject_id in subject_ids]
    for row, weights in zip(found, [np.ones(30), *drawn], strict=True):
        counted = counts * weights[numbers]
        assert row == pytest.approx([balanced_accuracy_score(truth, p.argmax(axis=1), sample_weight=counted) for p in each])


def test_what_both_get_wrong_alike_makes_the_change_no_less_certain(people: tuple[np.ndarray, list[str]]) -> None:
    """Half of the persons are beyond both networks: the interval of either is wide, that of the change is not."""
    truth, subject_ids = people
    hard = np.isin(subject_ids, [f"sub-{number}" for number in range(15)])
    flags, sides = np.eye(K, dtype=bool)[truth], []
    for right, seed in ((0.9, 1), (0.95, 2)):
        probabilities = guesses(truth, right, seed)
        probabilities[hard] = np.roll(np.eye(K)[truth[hard]], 1, axis=1)
        sides.append(probabilities)
    alone = balanced(sides[0], flags, subject_ids)
    _, low, high = balanced_change(sides[0], sides[1], flags, subject_ids)
    assert alone.low is not None and alone.high is not None
    assert high - low < 0.6 * (alone.high - alone.low)


def test_one_person_has_no_interval(people: tuple[np.ndarray, list[str]]) -> None:
    truth, _ = people
    flags, probabilities = np.eye(K, dtype=bool)[truth], guesses(truth, 0.5, 1)
    value, low, high = balanced_change(probabilities, probabilities, flags, ["one"] * len(truth))
    assert value == 0 and np.isnan([low, high]).all()
