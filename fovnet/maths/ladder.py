"""The best path up a ladder of ordered rungs, and the posterior over all paths, for rungs of unknown height.

    fits    (s, n)  log-evidence of each slice for each of n rungs
    beside  (s,)    log-evidence of each slice for none of them
    toll            cost, in log-evidence, of every step from one rung to the next, so that a border needs
                    evidence

Paths, edges and the recursion are those of `chain_recursion.py`.  The log-weight of a run is the evidence of
its slices and nothing else, so that all runs which end at an edge are one running sum: O(s·n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths import chain_recursion
from fovnet.maths.chain_recursion import Crossings, Edges, Evidence, Floats, Rungs


@dataclass(frozen=True)
class Plain:
    """Runs weighted by the evidence of their slices, whatever their height and kind."""

    sums: Floats

    def ahead(self, r: int, first: Floats, inner: Floats, add: np.ufunc) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        sums = self.sums[:, r]
        begun = add.accumulate(add(first, inner)[:-1] - sums[:-1])
        ended = np.concatenate([[-np.inf], sums[1:] + begun])
        return ended, ended

    def back(self, r: int, last: Floats, onward: Floats, add: np.ufunc) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        sums = self.sums[:, r]
        ending = add.accumulate((add(last, onward)[1:] + sums[1:])[::-1])[::-1]
        begun = np.concatenate([ending - sums[:-1], [-np.inf]])
        return begun, begun

    def onto(self, r: int, e: int, first: Floats, inner: Floats, onward: bool) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        worth = self.sums[e, r] - self.sums[:e, r]
        return first[:e] + worth, inner[:e] + worth

    def kinds(self, r: int, b: Edges, e: Edges) -> tuple[Floats, Floats]:
        """See `chain_recursion.Weighed`."""
        worth = self.sums[e, r] - self.sums[b, r]
        return worth, worth


def best_path(
    fits: Floats, beside: Floats, toll: float = 0.0, between: Rungs | None = None
) -> tuple[NDArray[np.int64], float]:
    """States (s,) of the path with the largest sum of log-evidence minus its tolls, and that sum; equals
    trying every path.

    between  only paths with this first and last rung (counted from 0), of which there are none with fewer
             slices than rungs
    """
    evidence = Evidence.of(fits, beside, toll)
    return chain_recursion.best(Plain(evidence.sums), evidence, between)


def crossings(fits: Floats, beside: Floats, toll: float = 0.0) -> Crossings:
    """Where paths begin, step up and end, every path weighted by the exponential of its sum of log-evidence
    minus its tolls."""
    evidence = Evidence.of(fits, beside, toll)
    return chain_recursion.crossings(Plain(evidence.sums), evidence, np.logaddexp)


def presence(fits: Floats, beside: Floats, seen_mm: Floats, least_mm: float, toll: float = 0.0) -> Floats:
    """Probability (n,) of each rung along least_mm or more, over all paths; `seen_mm` (s + 1, n) as in
    `chain_recursion.presence`."""
    evidence = Evidence.of(fits, beside, toll)
    runs = Plain(evidence.sums)
    crossed = chain_recursion.crossings(runs, evidence, np.logaddexp)
    return chain_recursion.presence(runs, evidence, crossed, seen_mm, least_mm)


def posterior(fits: Floats, beside: Floats, toll: float = 0.0) -> Floats:
    """Probability (s, n + 1) of each rung, and last of no rung, at each slice, over all paths."""
    return crossings(fits, beside, toll).posterior()


def log_weight(fits: Floats, beside: Floats, between: Rungs | None = None, toll: float = 0.0) -> float:
    """Log-weight of all paths, or of those with this first and last rung (counted from 0)."""
    evidence = Evidence.of(fits, beside, toll)
    return chain_recursion.ahead(Plain(evidence.sums), evidence, np.logaddexp, between).total
