"""gp-pi, gp-lcb, gp-ts, and what the others are made of: the free row of best acquisition value
under a Gaussian process, given its probability to train.

    n  trials with a score
    M  rows of the space
    m  free rows
    S  processes, one per theta
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from fovnet.maths.acquisition import (
    expected_regret,
    log_expected_improvement,
    log_probability_of_improvement,
    lower_confidence_bound,
    scheduled_width,
)
from fovnet.maths.growing import Growing
from fovnet.maths.kernels import KERNELS
from fovnet.maths.warping import TARGETS, Target
from fovnet.search.look import hyperparameters as fitting
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.uniform import choose_spread_among
from fovnet.search.look.view import Choice, View, round_to_six_digits
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Forecast

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NORMAL_QUANTILE = 1.96
"""Standard deviations from the mean to either end of a 95 % band."""


@dataclass(frozen=True, eq=False)
class Belief:
    """Posterior of the warped score of every row of a space, given the trials of a view.

    known_rows      (n,) rows with a score
    observed_rows   (N,) numbers of the observations: the known rows, or rows of `add_rung_axis`
    target          the warped scores (N,) of the observations
    processes       (S,) Gaussian processes, none of another model
    mean, variance  (S, M) of each process at the end of a training
    best_value      the lowest warped score, on which to improve, or the lowest mean of a known row at
                    the end of a training
    """

    known_rows: Integers
    observed_rows: Integers
    target: Target
    processes: tuple[Growing, ...]
    mean: Floats
    variance: Floats
    best_value: float

    def expected_regret(self, is_free: NDArray[np.bool_]) -> float | None:
        """Upper bound of the expected difference between the best known row and the lowest free row
        of `is_free` (M,), in units of the score; 0 if none is free, None if the target uses only
        ranks.  Pending rows count as known (`believe`): with many of them it is no upper bound.

        The best known row is that of the lowest mean, not of the lowest score: with noise, the
        lowest of 50 scores is two standard deviations too low, and a search that relied on it
        stopped too early.
        """
        if self.target.unit is None:
            return None
        if not is_free.any():
            return 0.0
        regrets = []
        for mean, variance in zip(self.mean, self.variance, strict=True):
            best_row = self.known_rows[mean[self.known_rows].argmin()]
            regrets.append(
                expected_regret(
                    mean[is_free],
                    variance[is_free],
                    float(mean[best_row]),
                    float(variance[best_row]),
                )
            )
        return round_to_six_digits(float(np.mean(regrets)) * self.target.unit)


def believe(view: View, stretch: float = 1.0, refit_share: int = fitting.REFIT_SHARE) -> Belief:
    """The posterior of a view with at least one score; the lengthscales of the axes are those
    fitted, as often as `refit_share` says (`fitting.fitted_count`), times `stretch`.

    Pending rows count as observed at their posterior mean ("kriging believer"): the mean is
    unchanged, the variance near them vanishes, and the next worker searches elsewhere.  Source:
    Ginsbourger et al., *Kriging is well-suited to parallelize optimization* (2010), section 4.2.
    """
    modelling = view.modelling
    space = view.space
    known_rows, target_scores = view.scored_losses
    fitted_rows, rungs, fitted_scores = view.rung_observations
    observed_rows = known_rows
    has_rung_axis = bool(view.rung_epochs) and modelling.fidelity == "axis"
    if has_rung_axis:
        rung_count = len(view.rung_epochs)
        space = add_rung_axis(view.space, rung_count)
        fitted_rows = fitted_rows + len(view.space) * (rung_count - 1 - rungs)
        observed_rows = fitted_rows
        target_scores = fitted_scores
    target = _warp_scores(modelling.targets, target_scores.tobytes())
    thetas = _thetas(view, space, fitted_rows, fitted_scores, refit_share)
    if stretch != 1.0:
        thetas = thetas.copy()
        thetas[:, : space.scales.axis_count] += np.log(stretch)
    processes = _cached_processes(
        space,
        thetas,
        modelling.kernel,
        fitting.fitted_count(len(observed_rows), refit_share),
        len(view.space),
        stretch,
    )
    pending_rows = np.array(view.pending_rows, dtype=np.int64)
    posteriors = [
        process.posterior(observed_rows, target.values, pending_rows) for process in processes
    ]
    mean = np.stack([mean for mean, _ in posteriors])
    variance = np.stack([variance for _, variance in posteriors])
    best_value = target.values.min()
    if has_rung_axis:
        best_value = mean.mean(axis=0)[known_rows].min()
    return Belief(known_rows, observed_rows, target, processes, mean, variance, float(best_value))


@lru_cache(maxsize=2)
def _warp_scores(targets: str, score_bytes: bytes) -> Target:
    """The target of scores (N,): on a tree a slot looks at several tables."""
    return TARGETS[targets](np.frombuffer(score_bytes))


def _thetas(view: View, space: Space, rows: Integers, scores: Floats, refit_share: int) -> Floats:
    """The hyper-parameters (S, p + 2), fitted to observations at these rows (N,) of a space, or
    sampled, as the settings say."""
    modelling = view.modelling
    observations = (space, rows, scores, modelling.targets, modelling.kernel)
    if modelling.hyperparameters == "sampled":
        return fitting.sample_hyperparameters(*observations, view.seed, refit_share)
    theta = fitting.fit_hyperparameters(*observations, refit_share)
    return theta[None]


@lru_cache(maxsize=2)
def add_rung_axis(space: Space, rung_count: int) -> Space:
    """The space with the rung of a training as one axis more: first its M rows on the last rung,
    then on the one below, and so on."""
    rung_places = tuple(rung / max(1, rung_count - 1) for rung in range(rung_count))
    rows_by_rung = [
        np.column_stack([space.rows, np.full(len(space), rung)])
        for rung in reversed(range(rung_count))
    ]
    return Space(
        (*space.axes, Axis("rung", tuple(range(rung_count)), places=rung_places)),
        np.concatenate(rows_by_rung),
    )


class _LastProcesses(NamedTuple):
    """The processes (S,) used last, and their space; what `_cached_processes` was asked besides."""

    space: Space
    key: tuple[bytes, str, int, bool]
    processes: tuple[Growing, ...]


_LAST_PROCESSES: dict[float, _LastProcesses] = {}
"""Of each stretch those of the last search, deleted before new ones are made: with 1,000 trials of
34,300 rows a process takes 284 MB, and alternating models have two."""


def _cached_processes(
    space: Space,
    thetas: Floats,
    kernel: str,
    settled_count: int,
    row_count: int,
    stretch: float,
) -> tuple[Growing, ...]:
    """The processes (S,) of all thetas (S, p + 2); those of the last call of this stretch again if
    it was the same, or what they know of the observed points if it was of another table of the same
    tree.  `settled_count` and `row_count` are those of `Growing`."""
    key = (thetas.tobytes(), kernel, settled_count, row_count == len(space))
    if any(kept.space.scales is not space.scales for kept in _LAST_PROCESSES.values()):
        _LAST_PROCESSES.clear()
    last = _LAST_PROCESSES.pop(stretch, None)
    if last and last.space is space and last.key == key:
        processes = last.processes
    elif last and last.space.scales is space.scales and last.key == key:
        processes = tuple(process.with_cube(space.unit_cube) for process in last.processes)
    else:
        del last
        processes = tuple(
            Growing(space.unit_cube, space.scales, theta, KERNELS[kernel], settled_count, row_count)
            for theta in thetas
        )
    _LAST_PROCESSES[stretch] = _LastProcesses(space, key, processes)
    return processes


def choose_by_improvement_probability(view: View) -> Choice:
    """The row of greatest log probability to reach the target of the settings, or where there is none,
    or it is reached, to improve on the best score by 0.01 standard deviations of the warped scores;
    weighted by its probability to train (`Chances.best`).

    Without that margin it would choose neighbours of the best row, which are better with a
    probability near 0.5, but by almost nothing.
    """
    return choose_from_best(view, likeliest_improving_rows)


def choose_by_confidence_bound(view: View) -> Choice:
    """The row, likely to train, of the lowest confidence bound, two standard deviations below the
    mean, or as far as the settings say."""
    return choose_from_best(view, lowest_bound_rows)


def choose_by_thompson_draw(view: View) -> Choice:
    """The row, likely to train, that is lowest in one function drawn from the posterior; pending
    rows need no assumed scores.

    Source: Thompson (1933), as for Gaussian processes in Wilson et al., *Efficiently sampling
    functions from Gaussian process posteriors* (2020), arXiv:2002.09309, eq. 13: a draw from the
    prior, updated with the observations.
    """
    return choose_from_best(view, lowest_drawn_rows)


LEAST_IMPROVEMENT = 0.01
"""The improvement that gp-pi asks for, in standard deviations of the warped scores."""

BestRows = Callable[[View, Belief, Chances], Integers]
"""The best free rows by some measure: one, or those that tie."""
MakeForecast = Callable[[View, Belief, Chances, int], Forecast]
"""The forecast of a row."""


def most_improving_rows(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-ei: the best, or one drawn in proportion to its improvement and its
    probability to train."""
    free_rows = np.flatnonzero(view.is_free)
    log_promise = log_improvement(view, belief, free_rows)
    if view.modelling.choose == "best":
        return chances.best_rows(free_rows, log_promise)
    log_promise = log_promise + chances.log_chance(free_rows)
    draw_weights = np.exp(log_promise - log_promise.max())
    return np.array([view.rng.choice(free_rows, p=draw_weights / draw_weights.sum())])


def log_improvement(view: View, belief: Belief, rows: Integers) -> Floats:
    """Log expected improvement (m,), the mean over the processes; per predicted second, if the
    settings say so."""
    log_gain = _log_mean_over_processes(log_expected_improvement, belief, rows, belief.best_value)
    if view.modelling.per_second:
        return log_gain - np.log(view.predicted_seconds[rows])
    return log_gain


def _log_mean_over_processes(
    log_measure: Callable[[Floats, Floats, float], Floats],
    belief: Belief,
    rows: Integers,
    best_value: float,
) -> Floats:
    """The logarithm (m,) of the mean over the processes of a measure.  `log_measure` gives its
    logarithm (m,) from mean and variance (m,), and the value on which to improve."""
    log_measures = [
        log_measure(mean[rows], variance[rows], best_value)
        for mean, variance in zip(belief.mean, belief.variance, strict=True)
    ]
    if len(log_measures) == 1:
        return log_measures[0]
    return np.asarray(logsumexp(log_measures, axis=0) - np.log(len(log_measures)))


def likeliest_improving_rows(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-pi."""
    free_rows = np.flatnonzero(view.is_free)
    goal_value = belief.best_value - LEAST_IMPROVEMENT
    if view.modelling.target is not None:
        goal_value = min(goal_value, belief.target.value_below_best(view.modelling.target))
    log_promise = _log_mean_over_processes(
        log_probability_of_improvement, belief, free_rows, goal_value
    )
    return chances.best_rows(free_rows, log_promise)


def lowest_bound_rows(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-lcb."""
    likely_rows = chances.rows_likely_to_train(np.flatnonzero(view.is_free))
    width = view.modelling.width
    if width == "schedule":
        width = scheduled_width(view.begun_count + 1, len(view.space))
    promise = lower_confidence_bound(*moments_of_belief(belief), width)[likely_rows]
    return np.asarray(likely_rows[promise == promise.max()])


def lowest_drawn_rows(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-ts."""
    likely_rows = chances.rows_likely_to_train(np.flatnonzero(view.is_free))
    rng = view.rng
    process = belief.processes[int(rng.integers(len(belief.processes)))]
    drawn_prior = process.draw_prior(rng)
    drawn_noise = np.sqrt(process.noise) * rng.standard_normal(len(belief.observed_rows))
    residuals = belief.target.values - drawn_prior[belief.observed_rows] - drawn_noise
    correction, _ = process.posterior(belief.observed_rows, residuals, belief.known_rows[:0])
    drawn_values = drawn_prior[likely_rows] + correction[likely_rows]
    return np.asarray(likely_rows[drawn_values == drawn_values.min()])


def forecast_row(view: View, belief: Belief, chances: Chances, row: int) -> Forecast:
    """The forecast of a row, in units of the score, with the expected regret over all free rows."""
    return replace(
        forecast_score(belief, chances, row), expected_regret=belief.expected_regret(view.is_free)
    )


def forecast_score(belief: Belief, chances: Chances, row: int) -> Forecast:
    """The forecast of a row, in units of the score, without an expected regret."""
    mean, variance = moments_of_belief(belief)
    noise_variance = float(np.mean([process.noise for process in belief.processes]))
    half_width = NORMAL_QUANTILE * float(np.sqrt(variance[row] + noise_variance))
    return Forecast(
        score=round_to_six_digits(float(belief.target.score_of(mean[row]))),
        low=_score_at_band_end(belief.target, float(mean[row] - half_width)),
        high=_score_at_band_end(belief.target, float(mean[row] + half_width)),
        chance_to_train=chances.chance_of_row(row),
        expected_regret=None,
    )


def _score_at_band_end(target: Target, value: float) -> float | None:
    """The score at an end of a band, None if the band is open there."""
    if not target.is_within_reach(value):
        return None
    return round_to_six_digits(float(target.score_of(np.array(value))))


def choose_from_best(
    view: View,
    best_rows: BestRows,
    believe_view: Callable[[View], Belief] = believe,
    make_forecast: MakeForecast = forecast_row,
) -> Choice:
    """One of the best rows, ties at random; the first slots are spread, and without any score it is
    the row most likely to train.

    best_rows      which free rows are the best
    believe_view   gives the belief
    make_forecast  gives the forecast of the chosen row
    """
    has_outcome = any(trial.outcome.status != "error" for trial in view.latest_trials)
    free_rows = np.flatnonzero(view.is_free)
    chances = Chances(view)
    # also before the first outcome, if many workers begin at once
    if view.begun_count < view.initial_count or not has_outcome:
        return choose_spread_among(view, chances.rows_likely_to_fit(free_rows))
    if not len(view.scored_losses.rows):
        likeliest_rows = chances.best_rows(free_rows, np.zeros(len(free_rows)))
        return Choice(int(view.rng.choice(likeliest_rows)))
    belief = believe_view(view)
    row = int(view.rng.choice(best_rows(view, belief, chances)))
    if view.rung_epochs and view.modelling.fidelity == "latest":
        return Choice(row)
    return Choice(row, make_forecast(view, belief, chances, row))


def moments_of_belief(belief: Belief) -> tuple[Floats, Floats]:
    """Mean and variance (M,) of the mixture of the S processes."""
    mean = belief.mean.mean(axis=0)
    return mean, np.asarray((belief.variance + belief.mean**2).mean(axis=0) - mean**2).clip(0.0)
