"""Ranks, ties by their mean: those of scipy.stats.rankdata, whose import takes 0.4 s and 40 MB."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_ranks(scores: Floats) -> Floats:
    """1 for the lowest of scores (n,) to n for the highest; ties share their mean rank."""
    _, group_of_score, count_by_group = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count_by_group) - 0.5 * (count_by_group - 1.0))[group_of_score])


def mean_ranks_by_row(scores: Floats) -> Floats:
    """The ranks (M, m) of scores (M, m), each within its row."""
    return np.stack([mean_ranks(row_scores) for row_scores in scores])
