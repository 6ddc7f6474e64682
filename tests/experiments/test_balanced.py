"""Balanced accuracy of slices: scikit-learn is the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from balanced import resampled_accuracies
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


def test_networks_are_resampled_together(people: tuple[np.ndarray, list[str]]) -> None:
    """In each resample every network has the accuracy that scikit-learn finds where slices count as often as
    their person was drawn."""
    truth, subject_ids = people
    counts = 1.0 / np.random.default_rng(5).integers(1, 100, len(truth))
    flags, each = (
        np.eye(K, dtype=bool)[truth],
        np.stack([guesses(truth, right, seed) for right, seed in ((0.5, 1), (0.8, 2))]),
    )
    accuracies = resampled_accuracies(each, flags, subject_ids, counts=counts, repeats=20, seed=6)
    drawn = cluster_weights(30, 20, 6)
    numbers = [sorted(set(subject_ids)).index(subject_id) for subject_id in subject_ids]
    for row, weights in zip(accuracies, [np.ones(30), *drawn], strict=True):
        counted = counts * weights[numbers]
        assert row == pytest.approx(
            [balanced_accuracy_score(truth, p.argmax(axis=1), sample_weight=counted) for p in each]
        )
