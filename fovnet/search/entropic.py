"""gp-mes: the free row whose trial is expected to tell most about the value of the lowest row, given its probability to train.

    M  rows of the space        A  rows that may be the lowest: free, running or scored        S  processes, one per theta
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fovnet.maths import entropy
from fovnet.search.failing import Chances
from fovnet.search.gaussian import Belief, chosen
from fovnet.search.view import Choice, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Measure = Callable[[Floats, Floats, Floats], Floats]

MINIMA = 16
"""Values of the lowest row that are drawn and averaged over."""


def max_value_entropy(view: View) -> Choice:
    """The row of greatest log information on the value of the lowest row, weighted by its probability to train (`Chances.best`)."""
    return chosen(view, informative_on_the_value)


def informative_on_the_value(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-mes."""
    candidates, rng = _candidates(view, belief), _rng(view)
    pairs = list(zip(belief.mean, belief.variance, strict=True))
    minima = [_lowest(belief, mean, variance, candidates, rng) for mean, variance in pairs]

    def averaged(of: Measure, rows: Integers) -> Floats:
        values = [of(mean[rows], variance[rows], lowest) for (mean, variance), lowest in zip(pairs, minima, strict=True)]
        return np.asarray(np.logaddexp.reduce(values) - np.log(len(values)))

    rows = np.flatnonzero(view.free)
    bound = averaged(entropy.at_most_on_the_lowest, rows)
    return chances.best(rows, bound, lambda some: averaged(entropy.log_information_on_the_lowest, some))


def _candidates(view: View, belief: Belief) -> Integers:
    """A: free, running and scored rows."""
    may = view.free.copy()
    may[[*view.pending, *belief.known]] = True
    return np.flatnonzero(may)


def _lowest(belief: Belief, mean: Floats, variance: Floats, candidates: Integers, rng: np.random.Generator) -> Floats:
    """Drawn values of the lowest row (MINIMA,), none above the lowest mean of a scored row."""
    drawn = entropy.lowest_values(mean[candidates], variance[candidates], rng.random(MINIMA))
    return np.minimum(drawn, float(mean[belief.known].min()) - 1e-6)


def _rng(view: View) -> np.random.Generator:
    """A generator of its own, so that ties and draws do not share numbers."""
    return np.random.default_rng([view.seed, view.slot, 7])
