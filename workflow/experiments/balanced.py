"""Balanced accuracy of slice probabilities, and its resamples over subjects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.slices import balanced_accuracy, confusion_rows
from fovnet.regions import DEFAULT


def resampled_accuracies(
    probabilities: NDArray[Any],
    truth: NDArray[np.bool_],
    subject_ids: Sequence[str],
    *,
    counts: NDArray[np.float64],
    repeats: int = 1000,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Balanced accuracy (1 + repeats, m) of m networks' probabilities (m, s, k): of all subjects,
    then of resamples of them shared by all networks.

    It is the mean recall over the classes that are true somewhere, each slice predicted as its most
    probable class.
    counts  (s,) weights of the slices
    """
    draws = Resampling(subject_ids, repeats=repeats, seed=seed)
    k = len(DEFAULT.classes)
    confusions = np.zeros((draws.subject_count, len(probabilities), k, k))
    for number, predicted in enumerate(probabilities.argmax(axis=2)):
        rows = confusion_rows(truth, predicted, DEFAULT)
        np.add.at(confusions[:, number], (draws.subject_index, rows, predicted), counts)
    weights = np.concatenate([np.ones((1, draws.subject_count)), draws.weights])
    return balanced_accuracy(np.tensordot(weights, confusions, axes=1))
