"""The runs of a ladder whose rungs have no known height.

Paths, edges and the recursion are those of `chain_recursion.py`.  The log-weight of a run is the
evidence of its slices and nothing else, so that all runs which end at an edge are one running sum:
O(s·n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fovnet.maths.chain_recursion import Edges, Floats


@dataclass(frozen=True)
class PlainRuns:
    """Runs weighted by the evidence of their slices, whatever their height and kind."""

    sums: Floats

    def sum_to_ends(
        self, rung: int, first: Floats, inner: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        sums = self.sums[:, rung]
        begins = add.accumulate(add(first, inner)[:-1] - sums[:-1])
        ends = np.concatenate([[-np.inf], sums[1:] + begins])
        return ends, ends

    def sum_from_begins(
        self, rung: int, last: Floats, onward: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        sums = self.sums[:, rung]
        ends = add.accumulate((add(last, onward)[1:] + sums[1:])[::-1])[::-1]
        begins = np.concatenate([ends - sums[:-1], [-np.inf]])
        return begins, begins

    def runs_to(
        self, rung: int, e: int, first: Floats, inner: Floats, onward: bool
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        run_weights = self.sums[e, rung] - self.sums[:e, rung]
        return first[:e] + run_weights, inner[:e] + run_weights

    def weights(self, rung: int, b: Edges, e: Edges) -> tuple[Floats, Floats]:
        """See `chain_recursion.WeighedRuns`."""
        run_weights = self.sums[e, rung] - self.sums[b, rung]
        return run_weights, run_weights
