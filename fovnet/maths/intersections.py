"""The paths of the thesis: borders only where two curves cross.

    rung_evidence  (s, n) log-evidence of each slice for each of n rungs
    none_evidence  (s,) for none of them

A path steps from a rung to the next only at an edge where the next one's curve rises above its own;
it begins at the first edge of all or where its rung's curve rises above `none_evidence`, and ends
at the last or where it falls below.  Among all combinations of such edges the one with the largest
sum of log-evidence minus its tolls wins.  These paths are a subset of those of `ladder.py`, whose
best path is therefore never worse. Noisy curves cross often; the recursion of `chain_recursion.py`
finds the best combination without trying each.

Source: Bertrand (2019), thesis, chapter "Hyper-parameter optimization", from probabilities to a
decision; with `none_evidence` at the ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths import chain_recursion
from fovnet.maths.chain_recursion import Evidence, Floats
from fovnet.maths.plain_runs import PlainRuns

Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class RunsBetweenCrossings:
    """The runs of the plain ladder between edges where curves cross.  Marks (n, s + 1): where paths
    begin, end, and step up."""

    plain: PlainRuns
    begins: Marks
    ends: Marks
    leaves: Marks

    def sum_to_ends(
        self, rung: int, first_weights: Floats, inner_weights: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        end_weights, _ = self.plain.sum_to_ends(
            rung, _keep_marked(first_weights, self.begins[rung]), inner_weights, add
        )
        return _keep_marked(end_weights, self.ends[rung]), _keep_marked(
            end_weights, self.leaves[rung]
        )

    def sum_from_begins(
        self, rung: int, last_weights: Floats, onward_weights: Floats, add: np.ufunc
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        last_weights = _keep_marked(last_weights, self.ends[rung])
        onward_weights = _keep_marked(onward_weights, self.leaves[rung])
        begin_weights, _ = self.plain.sum_from_begins(rung, last_weights, onward_weights, add)
        return _keep_marked(begin_weights, self.begins[rung]), begin_weights

    def runs_to(
        self,
        rung: int,
        end_edge: int,
        first_weights: Floats,
        inner_weights: Floats,
        leads_onward: bool,
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        return self.plain.runs_to(
            rung,
            end_edge,
            _keep_marked(first_weights, self.begins[rung]),
            inner_weights,
            leads_onward,
        )


def best_path(
    rung_evidence: Floats, none_evidence: Floats, toll: float = 0.0
) -> tuple[NDArray[np.int64], float]:
    """From the log-evidence of each slice for each rung (s, n) and for none of them (s,), the
    states (s,) of the best path whose borders all lie at crossings (0 below, 1..n the rungs, n +
    1 above), and its log-weight."""
    evidence = Evidence.from_slices(rung_evidence, none_evidence, toll)
    rung_count = rung_evidence.shape[1]
    evidence_gap = rung_evidence - none_evidence[:, None]
    every_mark = np.ones((1, rung_count), dtype=bool)
    no_mark = np.zeros((1, rung_count), dtype=bool)
    runs = RunsBetweenCrossings(
        PlainRuns(evidence.sums),
        begins=np.vstack([every_mark, _crosses_upwards(evidence_gap), no_mark]).T,
        ends=np.vstack([no_mark, _crosses_upwards(-evidence_gap), every_mark]).T,
        # nothing lies above the last rung
        leaves=np.pad(_crosses_upwards(np.diff(rung_evidence, axis=1)).T, ((0, 1), (1, 1))),
    )
    return chain_recursion.find_best_path(runs, evidence)


def _crosses_upwards(evidence_gap: Floats) -> Marks:
    """(s - 1, ...) whether a gap is not above zero in one slice, and not below it in the next."""
    return np.asarray((evidence_gap[:-1] <= 0) & (evidence_gap[1:] >= 0))


def _keep_marked(values: Floats, marks: Marks) -> Floats:
    """(s + 1,) the values at marked edges, -inf at others."""
    return np.where(marks, values, -np.inf)
