"""The area under the receiver operating characteristic, of observations that travel in clusters.

    s  observations    n  clusters    B  resamples    W  (B, n) how often each cluster is drawn

The area is the share of pairs (positive, negative) in which the positive has the higher score, ties counting half (Mann & Whitney, *Ann.
Math. Stat.* 18 (1947) 50-60). Pairs are counted once, by the clusters of both; every resample's area is then two small products, and
no slice is touched again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
BLOCK = 2048
"""Different scores taken at a time: with 500 clusters 8 MB."""


@dataclass(frozen=True)
class Pairs:
    """What the clusters contribute: wins (n, n) of the positives of one over the negatives of another, and how many of each (n,)."""

    wins: Floats
    positives: Floats
    negatives: Floats

    def area(self, weights: Floats) -> Floats:
        """The area (B,) under each row of weights (B, n); NaN where a resample has no positive or no negative."""
        won = ((weights @ self.wins) * weights).sum(axis=1)
        pairs = (weights @ self.positives) * (weights @ self.negatives)
        return np.asarray(np.divide(won, pairs, out=np.full(len(weights), np.nan), where=pairs > 0))

    def measured(self, weights: Floats) -> tuple[Floats, Floats]:
        """The area and its linearised standard error, both (B, 1).

        A cluster moves the area by its own pairs with all others, less what the area leads one to expect of so many pairs: DeLong's
        placements summed by cluster (Obuchowski, *Biometrics* 53 (1997) 567-578).
        """
        area = self.area(weights)[:, None]
        positives, negatives = (weights @ self.positives)[:, None], (weights @ self.negatives)[:, None]
        own = weights @ self.wins + weights @ self.wins.T
        expected = area * (self.positives * negatives + self.negatives * positives)
        pairs = positives * negatives
        influence = np.divide(own - expected, pairs, out=np.full(own.shape, np.nan), where=pairs > 0)
        return area, np.sqrt((influence**2 * weights).sum(axis=1, keepdims=True))


def pairs_of(scores: Floats, positive: NDArray[np.bool_], cluster: NDArray[np.int64], clusters: int) -> Pairs:
    """The pairs of observations (s,) by their clusters, numbered from 0."""
    levels, rank = np.unique(scores, return_inverse=True)
    order = np.argsort(rank, kind="stable")
    rank, positive, cluster = rank[order], positive[order], cluster[order]
    count: Callable[[NDArray[np.bool_]], Floats] = lambda those: np.bincount(cluster[those], minlength=clusters).astype(np.float64)  # noqa: E731
    wins, below = np.zeros((clusters, clusters)), np.zeros(clusters)
    for start in range(0, len(levels), BLOCK):
        rows = slice(*np.searchsorted(rank, [start, start + BLOCK]))
        at, high, whose = rank[rows] - start, positive[rows], cluster[rows]
        size = min(BLOCK, len(levels) - start)
        lost = csr_matrix((np.ones(int((~high).sum())), (at[~high], whose[~high])), shape=(size, clusters)).toarray()
        reached = below + np.cumsum(lost, axis=0)
        won = csr_matrix((np.ones(int(high.sum())), (whose[high], at[high])), shape=(clusters, size))
        wins += won @ (reached - lost / 2)                         # those below, and half of those level with it
        below = reached[-1]
    return Pairs(wins, count(positive), count(~positive))
