"""The runs of a ladder whose rungs have no known height.

Paths, edges and the recursion are those of `chain_recursion.py`.  The log-weight of a run is the evidence of
its slices and nothing else, so that all runs which end at an edge are one running sum: O(s·n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fovnet.maths.chain_recursion import Edges, Floats


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

    def onto(
        self, r: int, e: int, first: Floats, inner: Floats, onward: bool
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        worth = self.sums[e, r] - self.sums[:e, r]
        return first[:e] + worth, inner[:e] + worth

    def kinds(self, r: int, b: Edges, e: Edges) -> tuple[Floats, Floats]:
        """See `chain_recursion.Weighed`."""
        worth = self.sums[e, r] - self.sums[b, r]
        return worth, worth
