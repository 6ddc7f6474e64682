"""The climb of `ladder.py` where it is known how high each rung usually is.

    fits      (s, n)   log-evidence of each slice for each rung          beside  (s,)  for standing on none of them
    edges_mm  (s + 1,) ascending: slice t reaches from edges_mm[t] to edges_mm[t + 1]
    heights   (n,)     usual height of each rung, a normal distribution, or None where nobody knows
    toll               log-evidence that every step from one rung to the next costs
    run (b, e)         slices b..e-1 on one rung, between edges b and e

A run with a rung below and a rung above it is seen whole: a height l is worth -(l - mean)²/2sd².  The first and the last run of a
climb may go on outside the picture: they are worth log P(height > l), and so cannot be far longer than whole ones.  A rung of
unknown height is worth nothing, so that without known heights this is `ladder`, at O(s²·n) instead of O(s·n).

Source: explicit-duration hidden Markov models, Yu (2010), *Hidden semi-Markov models*, Artificial Intelligence 174:215.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

Floats = NDArray[np.float64]
Edges = NDArray[np.int64]
LEAST_MM = 1e-3
"""No rung's height is known more exactly than this."""


@dataclass(frozen=True)
class Height:
    """How high a rung usually is: mean and standard deviation in mm."""

    mean_mm: float
    sd_mm: float

    def whole(self, mm: Floats) -> Floats:
        """Log-evidence of heights seen whole; 0 at the mean."""
        return np.asarray(-0.5 * ((mm - self.mean_mm) / max(self.sd_mm, LEAST_MM)) ** 2)

    def cut(self, mm: Floats) -> Floats:
        """Log-evidence of heights that may go on outside the picture; 0 for short ones."""
        return np.asarray(log_ndtr((self.mean_mm - mm) / max(self.sd_mm, LEAST_MM)))


def best_path(
    fits: Floats, beside: Floats, edges_mm: Floats, heights: Sequence[Height | None], toll: float = 0.0
) -> tuple[NDArray[np.int64], float]:
    """States (s,) of the best path (0 below, 1..n the rungs, n + 1 above) and its worth; equals trying every path."""
    climb = _Climb.of(fits, beside, edges_mm, heights)
    best, last = float(climb.below[-1]), None
    arrived = [np.full(len(edges_mm), -np.inf)]                     # of rung r at edge b: the best of all that ends there with rung r - 1
    for r in range(len(heights)):
        ending = np.maximum(climb.below, arrived[r])[:, None] + climb.cut(r) + climb.above
        b, e = np.unravel_index(int(ending.argmax()), ending.shape)
        if ending[b, e] > best:
            best, last = float(ending[b, e]), (r, int(b), int(e))
        going_on = np.maximum(climb.below[:, None] + climb.cut(r), arrived[r][:, None] + climb.whole(r))
        arrived.append(going_on.max(axis=0) - toll)
    return _traced(climb, arrived, last), best


def _traced(climb: _Climb, arrived: Sequence[Floats], last: tuple[int, int, int] | None) -> NDArray[np.int64]:
    """The states of the path whose last run is `last` (rung, b, e), run by run backwards."""
    states = np.zeros(climb.slices, dtype=np.int64)
    if last is None:
        return states
    r, b, e = last
    states[e:] = len(climb.heights) + 1
    entered = arrived[r][b] > climb.below[b]
    while True:
        states[b:e] = r + 1
        if not entered:
            return states
        r, e = r - 1, b
        first = climb.below[:e] + climb.cut(r, e)
        inner = arrived[r][:e] + climb.whole(r, e)
        b = int(np.maximum(first, inner).argmax())
        entered = inner[b] > first[b]


def posterior(fits: Floats, beside: Floats, edges_mm: Floats, heights: Sequence[Height | None], toll: float = 0.0) -> Floats:
    """Probability (s, n + 1) of each rung, and last of standing beside the ladder, at each slice, all paths considered."""
    climb = _Climb.of(fits, beside, edges_mm, heights)
    n, never = len(heights), np.full(len(edges_mm), -np.inf)
    arrived, left = [never], [never]                                # left: of rung r at edge e, the sum of all that begins there with r + 1
    for r in range(n - 1):
        going_on = np.logaddexp(climb.below[:, None] + climb.cut(r), arrived[r][:, None] + climb.whole(r))
        arrived.append(np.logaddexp.reduce(going_on, axis=0) - toll)
        r = n - 1 - r
        coming = np.logaddexp(climb.cut(r) + climb.above, climb.whole(r) + left[0])
        left.insert(0, np.logaddexp.reduce(coming, axis=1) - toll)
    runs, worths = [], [float(climb.below[-1])]                     # a path has one last run, or none at all
    for r in range(n):
        cut, whole = climb.cut(r), climb.whole(r)
        last = np.logaddexp(climb.below, arrived[r])[:, None] + climb.above + cut
        worths.append(float(np.logaddexp.reduce(last, axis=None)))
        runs.append(np.logaddexp.reduce([last, climb.below[:, None] + left[r] + cut, arrived[r][:, None] + left[r] + whole], axis=0))
    total = np.logaddexp.reduce(worths)
    shares = np.clip(np.column_stack([_held(np.exp(run - total)) for run in runs]), 0.0, 1.0)
    return np.column_stack([shares, np.clip(1.0 - shares.sum(axis=1), 0.0, 1.0)])


def _held(weights: Floats) -> Floats:
    """(s,) sum of the weights (b, e) of all runs that hold each slice."""
    begun, ended = weights.sum(axis=1), weights.sum(axis=0)
    return np.asarray(np.cumsum(begun - ended)[:-1])


@dataclass(frozen=True)
class _Climb:
    """What stands at the edges: log-evidence of all slices below (s + 1,) and above (s + 1,) for standing beside, `sums` (s + 1, n)."""

    below: Floats
    above: Floats
    sums: Floats
    edges_mm: Floats
    heights: Sequence[Height | None]

    @classmethod
    def of(cls, fits: Floats, beside: Floats, edges_mm: Floats, heights: Sequence[Height | None]) -> _Climb:
        below = np.concatenate([[0.0], np.cumsum(beside)])
        sums = np.vstack([np.zeros(fits.shape[1]), np.cumsum(fits, axis=0)])
        return cls(below, below[-1] - below, sums, np.asarray(edges_mm, dtype=float), heights)

    @property
    def slices(self) -> int:
        return len(self.below) - 1

    def cut(self, r: int, e: int | None = None) -> Floats:
        """Worth (b, e) of every run of rung r that may go on outside the picture; with e given, (e,) of those that end there."""
        height = self.heights[r]
        return self._evidence(r, e) + (height.cut(self._mm(e)) if height else 0.0)

    def whole(self, r: int, e: int | None = None) -> Floats:
        """Worth (b, e) of every run of rung r between two others; with e given, (e,) of those that end there."""
        height = self.heights[r]
        return self._evidence(r, e) + (height.whole(self._mm(e)) if height else 0.0)

    def _evidence(self, r: int, e: int | None) -> Floats:
        sums = self.sums[:, r]
        if e is not None:
            return np.asarray(sums[e] - sums[:e])
        edges = np.arange(len(sums))
        return np.where(edges[:, None] < edges, sums - sums[:, None], -np.inf)

    def _mm(self, e: int | None) -> Floats:
        if e is not None:
            return np.asarray(self.edges_mm[e] - self.edges_mm[:e])
        return np.asarray(self.edges_mm - self.edges_mm[:, None])
