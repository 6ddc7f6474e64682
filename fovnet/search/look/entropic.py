"""gp-mes, gp-es, gp-esp: the free row whose trial is expected to tell most about the lowest row,
given its probability to train.

gp-mes asks about its value, gp-es about which row it is; gp-esp chooses as gp-es does, among the
choices of the other methods.

    M  rows of the space
    A  rows that may be the lowest: free, running or scored
    S  processes, one per theta
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
    choose_from_best,
    likeliest_improving_rows,
    log_improvement,
    lowest_bound_rows,
    lowest_drawn_rows,
    most_improving_rows,
)
from fovnet.search.look.view import Choice, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LogMeasure = Callable[[Floats, Floats, Floats], Floats]
"""The logarithm (m,) of a measure of rows, from their mean and variance (m,), and drawn values
(DRAWN_MINIMA,) of the lowest row."""

DRAWN_MINIMA = 16
"""Values of the lowest row that are drawn and averaged over."""
CONTENDER_COUNT = 200
"""Rows, of the lowest confidence bounds, that may be the lowest of all for gp-es."""
EXPLORED_ROWS = 50
"""Free rows, of the greatest expected improvement, whose information gp-es computes."""
FINALIST_COUNT = 8
"""Of the rows asked about, so many that tell most by ROUGH_DRAWS joint draws are compared by
FINAL_DRAWS: a third of the time for the same draws."""
ROUGH_DRAWS = 500
FINAL_DRAWS = 4000
STREAM_OF_DRAWS = 7
"""Third part of the seed of the draws: another one would make other journals."""
LEAST_GAIN = 1e-6
"""By which drawn values of the lowest row are at least below the lowest mean of a scored row."""
LEAST_INFORMATION = 1e-9
"""Information below which rows do not differ: counted in draws it may turn out negative."""


def choose_by_max_value_entropy(view: View) -> Choice:
    """The row of greatest log information on the value of the lowest row, weighted by its
    probability to train (`Chances.best`)."""
    return choose_from_best(view, rows_informative_on_value)


def rows_informative_on_value(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-mes."""
    candidate_rows = _candidate_rows(view, belief)
    rng = _generator_of_slot(view)
    moments_of_processes = list(zip(belief.mean, belief.variance, strict=True))
    lowest_values_of_processes = [
        _draw_lowest_values(belief, mean, variance, candidate_rows, rng)
        for mean, variance in moments_of_processes
    ]

    def log_mean_over_processes(log_measure: LogMeasure, rows: Integers) -> Floats:
        """The logarithm (m,) of the mean over the processes of a measure of these rows."""
        log_measures = [
            log_measure(mean[rows], variance[rows], lowest_values)
            for (mean, variance), lowest_values in zip(
                moments_of_processes, lowest_values_of_processes, strict=True
            )
        ]
        return np.asarray(np.logaddexp.reduce(log_measures) - np.log(len(log_measures)))

    def log_information(rows: Integers) -> Floats:
        """The log information (m,) of each row on the value of the lowest."""
        return log_mean_over_processes(entropy.log_information_on_the_lowest, rows)

    free_rows = np.flatnonzero(view.is_free)
    upper_bounds = log_mean_over_processes(entropy.bound_information_on_the_lowest, free_rows)
    return chances.best_rows(free_rows, upper_bounds, log_information)


def choose_by_entropy_search(view: View) -> Choice:
    """Of the EXPLORED_ROWS rows of greatest expected improvement, the one of greatest log
    information on which row is the lowest, weighted by its probability to train.

    Rows that hardly train are not asked about, so that they do not fill the EXPLORED_ROWS places.
    """
    return choose_from_best(view, rows_informative_on_place)


def rows_informative_on_place(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-es."""
    likely_rows = chances.rows_likely_to_train(np.flatnonzero(view.is_free))
    gains = log_improvement(view, belief, likely_rows)
    explored_indices = np.argsort(-gains, kind="stable")[:EXPLORED_ROWS]
    return _most_informative(view, belief, chances, np.sort(likely_rows[explored_indices]))


def choose_by_entropy_portfolio(view: View) -> Choice:
    """Of the choices of gp-ei with a single model, gp-pi, gp-lcb, gp-ts and gp-mes, the one of
    greatest log information on which row is the lowest, weighted by its probability to train.

    Source: Shahriari et al., *An entropy search portfolio for Bayesian optimization* (2014),
    arXiv:1406.4625.
    """
    return choose_from_best(view, informative_rows_of_portfolio)


def informative_rows_of_portfolio(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-esp."""
    methods = (
        most_improving_rows,
        likeliest_improving_rows,
        lowest_bound_rows,
        lowest_drawn_rows,
        rows_informative_on_value,
    )
    chosen_rows = {int(view.rng.choice(best_rows(view, belief, chances))) for best_rows in methods}
    return _most_informative(view, belief, chances, np.array(sorted(chosen_rows)))


def _most_informative(view: View, belief: Belief, chances: Chances, rows: Integers) -> Integers:
    """Of these rows, those of greatest log information on which row is the lowest, weighted by
    their probability to train."""
    if len(rows) > FINALIST_COUNT:
        rough_information = _information(view, belief, rows, ROUGH_DRAWS)
        finalist_indices = np.argsort(-rough_information, kind="stable")[:FINALIST_COUNT]
        rows = np.sort(rows[finalist_indices])
    information = _information(view, belief, rows, FINAL_DRAWS)
    return chances.best_rows(rows, np.log(np.maximum(information, LEAST_INFORMATION)))


def _information(view: View, belief: Belief, rows: Integers, draw_count: int) -> Floats:
    """The information (m,) of these rows (m,) on which row is the lowest, the mean over the
    processes, counted in `draw_count` joint draws."""
    candidate_rows = _candidate_rows(view, belief)
    pending_rows = np.array(view.pending_rows, dtype=np.int64)
    rng = _generator_of_slot(view)
    information = np.zeros(len(rows))
    for process, mean, variance in zip(belief.processes, belief.mean, belief.variance, strict=True):
        lower_bounds = lower_confidence_bound(mean[candidate_rows], variance[candidate_rows])
        contender_indices = np.argsort(-lower_bounds, kind="stable")[:CONTENDER_COUNT]
        compared_rows = np.union1d(candidate_rows[contender_indices], rows)
        covariance = process.covariance(belief.observed_rows, pending_rows, compared_rows)
        row_positions = np.searchsorted(compared_rows, rows)
        information += entropy.information_on_the_place(
            mean[compared_rows], covariance, process.noise, row_positions, rng, draw_count
        )
    return information / len(belief.processes)


def _candidate_rows(view: View, belief: Belief) -> Integers:
    """A: free, running and scored rows."""
    is_candidate = view.is_free.copy()
    is_candidate[[*view.pending_rows, *belief.known_rows]] = True
    return np.flatnonzero(is_candidate)


def _draw_lowest_values(
    belief: Belief,
    mean: Floats,
    variance: Floats,
    candidate_rows: Integers,
    rng: np.random.Generator,
) -> Floats:
    """Drawn values of the lowest of the candidate rows (DRAWN_MINIMA,), given mean and variance of
    all rows (M,), none above the lowest mean of a scored row."""
    lowest_values = entropy.draw_lowest_values(
        mean[candidate_rows], variance[candidate_rows], rng.random(DRAWN_MINIMA)
    )
    return np.minimum(lowest_values, float(mean[belief.known_rows].min()) - LEAST_GAIN)


def _generator_of_slot(view: View) -> np.random.Generator:
    """A generator other than `View.rng`, so that ties and draws do not share numbers; all draws of
    a slot begin with the same ones."""
    return np.random.default_rng([view.seed, view.slot, STREAM_OF_DRAWS])
