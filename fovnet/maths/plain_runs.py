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
        self, rung: int, first_weights: Floats, inner_weights: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        rung_sums = self.sums[:, rung]
        begin_weights = add.accumulate(add(first_weights, inner_weights)[:-1] - rung_sums[:-1])
        end_weights = np.concatenate([[-np.inf], rung_sums[1:] + begin_weights])
        return end_weights, end_weights

    def sum_from_begins(
        self, rung: int, last_weights: Floats, onward_weights: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        rung_sums = self.sums[:, rung]
        end_weights = add.accumulate((add(last_weights, onward_weights)[1:] + rung_sums[1:])[::-1])[
            ::-1
        ]
        begin_weights = np.concatenate([end_weights - rung_sums[:-1], [-np.inf]])
        return begin_weights, begin_weights

    def runs_to(
        self,
        rung: int,
        end_edge: int,
        first_weights: Floats,
        inner_weights: Floats,
        leads_onward: bool,
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        run_weights = self.sums[end_edge, rung] - self.sums[:end_edge, rung]
        return first_weights[:end_edge] + run_weights, inner_weights[:end_edge] + run_weights

    def weights(self, rung: int, begin_edges: Edges, end_edges: Edges) -> tuple[Floats, Floats]:
        """See `chain_recursion.WeighedRuns`."""
        run_weights = self.sums[end_edges, rung] - self.sums[begin_edges, rung]
        return run_weights, run_weights
