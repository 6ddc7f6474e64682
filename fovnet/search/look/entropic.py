"""gp-mes, gp-es, gp-esp: the free row whose trial is expected to tell most about the lowest row,
given its probability to train.

gp-mes asks about its value, gp-es about which row it is; gp-esp chooses as gp-es does, among the
choices of the other methods.

    M  rows of the space        A  rows that may be the lowest: free, running or scored        S  processes,
        one per theta
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fovnet.maths import entropy
from fovnet.maths.acquisition import lower_confidence_bound
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.gaussian import (
    Belief,
    choose,
    improving,
    likely_improving,
    log_improvement,
    lowest_bound,
    lowest_drawn,
)
from fovnet.search.look.view import Choice, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Measure = Callable[[Floats, Floats, Floats], Floats]

MINIMA = 16
"""Values of the lowest row that are drawn and averaged over."""
CONTENDERS = 200
"""Rows, of the lowest confidence bounds, that may be the lowest of all for gp-es."""
ASKED = 50
"""Free rows, of the greatest expected improvement, whose information gp-es computes."""
FINALISTS = 8
"""Of the rows asked about, so many that tell most by GLANCE joint draws are compared by DRAWS: a
third of the time for the same draws."""
GLANCE = 500
DRAWS = 4000
LEAST = 1e-9
"""Information below which rows do not differ: counted in draws it may turn out negative."""


def max_value_entropy(view: View) -> Choice:
    """The row of greatest log information on the value of the lowest row, weighted by its
    probability to train (`Chances.best`)."""
    return choose(view, informative_on_the_value)


def informative_on_the_value(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-mes."""
    candidates = _candidates(view, belief)
    rng = _rng(view)
    pairs = list(zip(belief.mean, belief.variance, strict=True))
    minima = [_lowest(belief, mean, variance, candidates, rng) for mean, variance in pairs]

    def log_mean_of(of: Measure, rows: Integers) -> Floats:
        values = [
            of(mean[rows], variance[rows], lowest)
            for (mean, variance), lowest in zip(pairs, minima, strict=True)
        ]
        return np.asarray(np.logaddexp.reduce(values) - np.log(len(values)))

    rows = np.flatnonzero(view.free)
    bound = log_mean_of(entropy.at_most_on_the_lowest, rows)
    return chances.best(
        rows, bound, lambda part: log_mean_of(entropy.log_information_on_the_lowest, part)
    )


def entropy_search(view: View) -> Choice:
    """Of the ASKED rows of greatest expected improvement, the one of greatest log information on
    which row is the lowest, weighted by its probability to train.

    Rows that hardly train are not asked about, so that they do not fill the ASKED places.
    """
    return choose(view, informative_on_the_place)


def informative_on_the_place(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-es."""
    rows = chances.likely(np.flatnonzero(view.free))
    first = np.argsort(-log_improvement(view, belief, rows), kind="stable")[:ASKED]
    return _most_informative(view, belief, chances, np.sort(rows[first]))


def entropy_search_portfolio(view: View) -> Choice:
    """Of the choices of gp-ei, gp-pi, gp-lcb, gp-ts and gp-mes, the one of greatest log information
    on which row is the lowest, weighted by its probability to train.

    Source: Shahriari et al., *An entropy search portfolio for Bayesian optimization* (2014),
    arXiv:1406.4625.
    """
    return choose(view, informative_of_a_portfolio)


def informative_of_a_portfolio(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-esp."""
    methods = (improving, likely_improving, lowest_bound, lowest_drawn, informative_on_the_value)
    rows = {int(view.rng.choice(best(view, belief, chances))) for best in methods}
    return _most_informative(view, belief, chances, np.array(sorted(rows)))


def _most_informative(view: View, belief: Belief, chances: Chances, rows: Integers) -> Integers:
    """Of these rows, those of greatest log information on which row is the lowest, weighted by
    their probability to train."""
    if len(rows) > FINALISTS:
        rows = np.sort(
            rows[np.argsort(-_information(view, belief, rows, GLANCE), kind="stable")[:FINALISTS]]
        )
    return chances.best(rows, np.log(np.maximum(_information(view, belief, rows, DRAWS), LEAST)))


def _information(view: View, belief: Belief, rows: Integers, draws: int) -> Floats:
    """Information (m,) on which row is the lowest, the mean over the processes."""
    candidates = _candidates(view, belief)
    pending = np.array(view.pending, dtype=np.int64)
    rng = _rng(view)
    information = np.zeros(len(rows))
    for process, mean, variance in zip(belief.processes, belief.mean, belief.variance, strict=True):
        bound = lower_confidence_bound(mean[candidates], variance[candidates])
        points = np.union1d(candidates[np.argsort(-bound, kind="stable")[:CONTENDERS]], rows)
        covariance = process.covariance(belief.observed, pending, points)
        asked = np.searchsorted(points, rows)
        information += entropy.information_on_the_place(
            mean[points], covariance, process.noise, asked, rng, draws
        )
    return information / len(belief.processes)


def _candidates(view: View, belief: Belief) -> Integers:
    """A: free, running and scored rows."""
    is_candidate = view.free.copy()
    is_candidate[[*view.pending, *belief.known]] = True
    return np.flatnonzero(is_candidate)


def _lowest(
    belief: Belief, mean: Floats, variance: Floats, candidates: Integers, rng: np.random.Generator
) -> Floats:
    """Drawn values of the lowest row (MINIMA,), none above the lowest mean of a scored row."""
    values = entropy.lowest_values(mean[candidates], variance[candidates], rng.random(MINIMA))
    return np.minimum(values, float(mean[belief.known].min()) - 1e-6)


def _rng(view: View) -> np.random.Generator:
    """A generator other than `View.rng`, so that ties and draws do not share numbers; all draws of
    a slot begin with the same ones."""
    return np.random.default_rng([view.seed, view.slot, 7])
