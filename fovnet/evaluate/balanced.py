"""One figure for what a network says of slices: accuracy in which every region counts alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.slices import balanced_accuracy, true_rows
from fovnet.maths.intervals import difference_interval
from fovnet.regions import DEFAULT, Vocabulary


def balanced(
    probabilities: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
    *, counts: NDArray[np.float64] | None = None, repeats: int = 1000, seed: int = 0,
) -> Measure:
    """Mean recall over the classes that are true somewhere, of slices (s, k) said to be what is most probable; interval over subjects.

    counts  (s,) how much each slice counts, all alike if None: the denominator is their number all the same
    """
    draws = Resampling(sorted(set(subject_ids)), repeats=repeats, seed=seed)
    matrices = _confusions(probabilities, truth, subject_ids, vocabulary, counts)
    return draws.statistic("balanced_accuracy", matrices, balanced_accuracy, len(probabilities), stage="raw")


def balanced_change(
    before: NDArray[Any], after: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
    *, counts: NDArray[np.float64] | None = None, repeats: int = 1000, seed: int = 0,
) -> tuple[float, float, float]:
    """By how much `balanced` grew from one network's probabilities (s, k) to another's of the same slices, and the interval's two ends.

    Subjects are resampled for both at once: a body that is hard is hard for both.  The ends are NaN where there are fewer than two.
    """
    people = sorted(set(subject_ids))
    both = np.stack([_confusions(said, truth, subject_ids, vocabulary, counts) for said in (before, after)], axis=1)
    value = float(_growth(both.sum(axis=0)[None])[0])
    if len(people) < 2:
        return value, float("nan"), float("nan")
    draws = Resampling(people, repeats=repeats, seed=seed)
    return value, *difference_interval(both, _growth, draws.weights)


def balanced_resampled(
    each: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
    *, counts: NDArray[np.float64], repeats: int = 1000, seed: int = 0,
) -> NDArray[np.float64]:
    """`balanced` (1 + repeats, m) of m networks' probabilities (m, s, k): of all subjects, then of subjects drawn again, for all alike."""
    confusions = np.stack([_confusions(said, truth, subject_ids, vocabulary, counts) for said in each], axis=1)     # (n, m, k, k)
    drawn = Resampling(sorted(set(subject_ids)), repeats=repeats, seed=seed).weights
    weights = np.concatenate([np.ones((1, len(confusions))), drawn])
    return balanced_accuracy(np.tensordot(weights, confusions, axes=1))


def _growth(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B,) of the confusions (B, 2, k, k), the second's balanced accuracy less the first's."""
    return np.asarray(balanced_accuracy(sums[:, 1]) - balanced_accuracy(sums[:, 0]))


def _confusions(
    probabilities: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary,
    counts: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """(n, k, k) of every subject, in sorted order; each slice as often as it counts."""
    said = probabilities.argmax(axis=1).astype(np.int64)
    rows, k = true_rows(truth, said, vocabulary), len(vocabulary.classes)
    people = sorted(set(subject_ids))
    owner = np.searchsorted(people, list(subject_ids))
    found = np.zeros((len(people), k, k))
    np.add.at(found, (owner, rows, said), 1.0 if counts is None else counts)
    return found
