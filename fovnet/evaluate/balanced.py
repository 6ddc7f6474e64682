"""Balanced accuracy of slice probabilities, with intervals over subjects."""

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
    """Mean recall over the classes that are true somewhere, each slice (s, k) predicted as its most probable class; interval over subjects.

    counts  (s,) weights of the slices, equal if None; the denominator is the number of slices in either case
    """
    draws = Resampling(sorted(set(subject_ids)), repeats=repeats, seed=seed)
    matrices = _confusions(probabilities, truth, subject_ids, vocabulary, counts)
    return draws.statistic("balanced_accuracy", matrices, balanced_accuracy, len(probabilities), stage="raw")


def balanced_change(
    before: NDArray[Any], after: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
    *, counts: NDArray[np.float64] | None = None, repeats: int = 1000, seed: int = 0,
) -> tuple[float, float, float]:
    """The increase of `balanced` from one network's probabilities (s, k) to another's of the same slices, and its interval's two ends.

    Subjects are resampled for both at once, as errors of both on a subject are correlated.  The ends are NaN for fewer than two subjects.
    """
    subjects = sorted(set(subject_ids))
    both = np.stack([_confusions(p, truth, subject_ids, vocabulary, counts) for p in (before, after)], axis=1)
    value = float(_growth(both.sum(axis=0)[None])[0])
    if len(subjects) < 2:
        return value, float("nan"), float("nan")
    draws = Resampling(subjects, repeats=repeats, seed=seed)
    return value, *difference_interval(both, _growth, draws.weights)


def balanced_resampled(
    each: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
    *, counts: NDArray[np.float64], repeats: int = 1000, seed: int = 0,
) -> NDArray[np.float64]:
    """`balanced` (1 + repeats, m) of m networks' probabilities (m, s, k): of all subjects, then of resamples shared by all networks."""
    confusions = np.stack([_confusions(p, truth, subject_ids, vocabulary, counts) for p in each], axis=1)           # (n, m, k, k)
    drawn = Resampling(sorted(set(subject_ids)), repeats=repeats, seed=seed).weights
    weights = np.concatenate([np.ones((1, len(confusions))), drawn])
    return balanced_accuracy(np.tensordot(weights, confusions, axes=1))


def _growth(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B,) second minus first balanced accuracy, from confusion matrices (B, 2, k, k)."""
    return np.asarray(balanced_accuracy(sums[:, 1]) - balanced_accuracy(sums[:, 0]))


def _confusions(
    probabilities: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary,
    counts: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Confusion matrices (n, k, k) of the subjects in sorted order, slices weighted by `counts`."""
    predicted = probabilities.argmax(axis=1).astype(np.int64)
    rows, k = true_rows(truth, predicted, vocabulary), len(vocabulary.classes)
    subjects = sorted(set(subject_ids))
    subject = np.searchsorted(subjects, list(subject_ids))
    found = np.zeros((len(subjects), k, k))
    np.add.at(found, (subject, rows, predicted), 1.0 if counts is None else counts)
    return found
