"""Balanced accuracy of slice probabilities, and its resamples over subjects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.slices import balanced_accuracy, true_rows
from fovnet.regions import DEFAULT, Vocabulary


def balanced_resampled(
    each: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str],
    vocabulary: Vocabulary = DEFAULT, *, counts: NDArray[np.float64], repeats: int = 1000, seed: int = 0,
) -> NDArray[np.float64]:
    """Balanced accuracy (1 + repeats, m) of m networks' probabilities (m, s, k): of all subjects, then of
    resamples of them shared by all networks.

    It is the mean recall over the classes that are true somewhere, each slice predicted as its most probable
    class.
    counts  (s,) weights of the slices
    """
    # (n, m, k, k)
    confusions = np.stack([_confusions(p, truth, subject_ids, vocabulary, counts) for p in each], axis=1)
    drawn = Resampling(sorted(set(subject_ids)), repeats=repeats, seed=seed).weights
    weights = np.concatenate([np.ones((1, len(confusions))), drawn])
    return balanced_accuracy(np.tensordot(weights, confusions, axes=1))


def _confusions(
    probabilities: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary,
    counts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Confusion matrices (n, k, k) of the subjects in sorted order, slices weighted by `counts`."""
    predicted = probabilities.argmax(axis=1).astype(np.int64)
    rows, k = true_rows(truth, predicted, vocabulary), len(vocabulary.classes)
    subjects = sorted(set(subject_ids))
    subject = np.searchsorted(subjects, list(subject_ids))
    found = np.zeros((len(subjects), k, k))
    np.add.at(found, (subject, rows, predicted), counts)
    return found
