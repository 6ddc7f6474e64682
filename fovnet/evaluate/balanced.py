"""One figure for what a network says of slices: accuracy in which every region counts alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.slices import balanced_accuracy, confusion, true_rows
from fovnet.regions import DEFAULT, Vocabulary


def balanced(
    probabilities: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
    *, repeats: int = 1000, seed: int = 0,
) -> Measure:  # fmt: skip
    """Mean recall over the classes that are true somewhere, of slices (s, k) said to be what is most probable; interval over subjects."""
    said = probabilities.argmax(axis=1).astype(np.int64)
    rows, k = true_rows(truth, said, vocabulary), len(vocabulary.classes)
    people = sorted(set(subject_ids))
    owner = np.searchsorted(people, list(subject_ids))
    matrices = np.stack([confusion(rows[owner == number], said[owner == number], k) for number in range(len(people))])
    draws = Resampling(people, repeats=repeats, seed=seed)
    return draws.statistic("balanced_accuracy", matrices, balanced_accuracy, len(said), stage="raw")
