"""The area under the receiver operating characteristic, for clustered observations.

    s  observations    n  clusters    B  resamples    W  (B, n) how often each cluster is drawn

The area is the share of pairs (positive, negative) in which the positive has the higher score, ties
counting half (Mann & Whitney, *Ann. Math. Stat.* 18 (1947) 50-60). For resampling, pairs are
counted once, by the clusters of both; every resample's area is then two small products, without
another pass over the slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.ranks import mean_ranks

Floats = NDArray[np.float64]
MOST_SCORE_LEVELS = 1024
"""Most distinct scores when pairs are counted by cluster. More are put into so many bins of equal
size, and are ties within a bin: for 130,000 slices the area changes by less than 1e-4, and 500
clusters take 20 ms instead of seconds."""


def roc_area(scores: Floats, is_positive: NDArray[np.bool_]) -> float:
    """The exact area under the curve of scores (s,); NaN without a positive or without a
    negative."""
    positive_count = int(is_positive.sum())
    negative_count = int((~is_positive).sum())
    if not positive_count or not negative_count:
        return float("nan")
    return float(
        (mean_ranks(scores)[is_positive].sum() - positive_count * (positive_count + 1) / 2)
        / (positive_count * negative_count)
    )


@dataclass(frozen=True)
class Pairs:
    """What the clusters contribute: wins (n, n) of the positives of one over the negatives of
    another, and how many of each (n,)."""

    wins: Floats
    positives: Floats
    negatives: Floats

    def area(self, weights: Floats) -> Floats:
        """The area (B,) for each row of weights (B, n); NaN if a resample has no positive or no
        negative."""
        return self.area_and_error(weights)[0][:, 0]

    def area_and_error(self, weights: Floats) -> tuple[Floats, Floats]:
        """The area and its linearised standard error, both (B, 1).

        The influence of a cluster is that of its own pairs with all others, minus the number
        expected from the area: DeLong's placements summed by cluster (Obuchowski, *Biometrics* 53
        (1997) 567-578).
        """
        won_pairs = weights @ self.wins
        positives = (weights @ self.positives)[:, None]
        negatives = (weights @ self.negatives)[:, None]
        pairs = np.where(positives * negatives > 0, positives * negatives, np.nan)
        area = (won_pairs * weights).sum(axis=1, keepdims=True) / pairs
        expected_pairs = area * (self.positives * negatives + self.negatives * positives)
        influence = (won_pairs + weights @ self.wins.T - expected_pairs) / pairs
        return area, np.sqrt((influence**2 * weights).sum(axis=1, keepdims=True))


def count_pairs(
    scores: Floats,
    is_positive: NDArray[np.bool_],
    cluster_of_observation: NDArray[np.int64],
    cluster_count: int,
) -> Pairs:
    """The pairs of a positive and a negative observation (s,), counted by the clusters of both,
    which are numbered from 0."""
    levels, level_index = np.unique(scores, return_inverse=True)
    if len(levels) > MOST_SCORE_LEVELS:
        level_index = ((mean_ranks(scores) - 1) * MOST_SCORE_LEVELS / len(scores)).astype(np.int64)
    level_count = min(len(levels), MOST_SCORE_LEVELS)
    cell_of_observation = cluster_of_observation * level_count + level_index
    positive_counts, negative_counts = (
        np.bincount(cell_of_observation[is_class], minlength=cluster_count * level_count).reshape(
            cluster_count, level_count
        )
        for is_class in (is_positive, ~is_positive)
    )
    # negatives below, and half of those tied
    negatives_reached = np.cumsum(negative_counts, axis=1) - negative_counts / 2
    return Pairs(
        positive_counts.astype(np.float64) @ negatives_reached.T,
        positive_counts.sum(axis=1).astype(np.float64),
        negative_counts.sum(axis=1).astype(np.float64),
    )
