"""The paths of the thesis: borders only where two curves cross.

    fits  (s, n) log-evidence of each slice for each of n rungs         beside  (s,)  for none of them

A path steps from a rung to the next only at an edge where the next one's curve rises above its own; it begins
at the first edge of all or where its rung's curve rises above `beside`, and ends at the last or where it
falls below.  Among all combinations of such edges the one with the largest sum of log-evidence minus its
tolls wins.  These paths are a subset of those of `ladder.py`, whose best path is therefore never worse.
Noisy curves cross often; the recursion of `chain_recursion.py` finds the best combination without trying
each.

Source: Bertrand (2019), thesis, chapter "Hyper-parameter optimization", from probabilities to a decision;
with `beside` at the ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths import chain_recursion
from fovnet.maths.chain_recursion import Evidence, Floats
from fovnet.maths.plain_runs import Plain

Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Crossing:
    """The runs of the plain ladder between edges where curves cross.  Marks (n, s + 1): where paths begin,
    end, and step up."""

    plain: Plain
    begins: Marks
    ends: Marks
    leaves: Marks

    def ahead(self, r: int, first: Floats, inner: Floats, add: np.ufunc) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        ended, _ = self.plain.ahead(r, _only(first, self.begins[r]), inner, add)
        return _only(ended, self.ends[r]), _only(ended, self.leaves[r])

    def back(self, r: int, last: Floats, onward: Floats, add: np.ufunc) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        begun, _ = self.plain.back(r, _only(last, self.ends[r]), _only(onward, self.leaves[r]), add)
        return _only(begun, self.begins[r]), begun

    def onto(
        self, r: int, e: int, first: Floats, inner: Floats, onward: bool
    ) -> tuple[Floats, Floats]:
        """See `chain_recursion.Runs`."""
        return self.plain.onto(r, e, _only(first, self.begins[r]), inner, onward)


def best_path(fits: Floats, beside: Floats, toll: float = 0.0) -> tuple[NDArray[np.int64], float]:
    """States (s,) of the best path whose borders all lie at crossings (0 below, 1..n the rungs, n + 1 above),
    and its log-weight."""
    evidence = Evidence.of(fits, beside, toll)
    over, none = fits - beside[:, None], np.zeros((1, len(beside) - 1), dtype=bool)
    begins = np.vstack(
        [np.ones((1, fits.shape[1]), bool), _rises(over), np.zeros((1, fits.shape[1]), bool)]
    ).T
    ends = np.vstack(
        [np.zeros((1, fits.shape[1]), bool), _rises(-over), np.ones((1, fits.shape[1]), bool)]
    ).T
    leaves = np.pad(np.vstack([_rises(np.diff(fits, axis=1)).T, none]), ((0, 0), (1, 1)))
    return chain_recursion.best(Crossing(Plain(evidence.sums), begins, ends, leaves), evidence)


def _rises(gap: Floats) -> Marks:
    """(s - 1, ...) whether a gap is not above zero in one slice, and not below it in the next."""
    return np.asarray((gap[:-1] <= 0) & (gap[1:] >= 0))


def _only(values: Floats, marks: Marks) -> Floats:
    return np.where(marks, values, -np.inf)
