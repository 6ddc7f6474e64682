"""gp-ei, gp-pi, gp-lcb, gp-ts: the free row of best acquisition value under a Gaussian process,
given its probability to train.

    n  trials with a score       M  rows of the space       m  free rows       S  processes, one per theta
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from fovnet.maths.acquisition import (
    expected_regret,
    log_expected_improvement,
    log_probability_of_improvement,
    lower_confidence_bound,
)
from fovnet.maths.growing import Growing
from fovnet.maths.kernels import KERNELS
from fovnet.maths.warping import TARGETS, Target
from fovnet.search.look import hyperparameters as fitting
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.uniform import spread_among
from fovnet.search.look.view import Choice, View
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Forecast

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Belief:
    """Posterior of the warped score of every row of a space, given the trials of a view.

    known   (n,) rows with a score         observed, target  (N,) numbers and warped scores of the
                                           observations: the known rows, or rows of `with_rungs`
    processes  (S,) Gaussian processes, none of another model;    mean, variance  (S, M) of each at the end of
        a training
    best    the lowest warped score, on which to improve, or the lowest mean of a known row at the
            end of a training
    """

    known: Integers
    observed: Integers
    target: Target
    processes: tuple[Growing, ...]
    mean: Floats
    variance: Floats
    best: float

    def regret(self, free: NDArray[np.bool_]) -> float | None:
        """Upper bound of the expected difference between the best known row and the lowest free
        row, in units of the score; 0 if none is free, None if the target uses only ranks.  Pending
        rows count as known (`believe`): with many of them it is no upper bound.

        The best known row is that of the lowest mean, not of the lowest score: with noise, the
        lowest of 50 scores is two standard deviations too low, and a search that relied on it
        stopped too early.
        """
        if self.target.unit is None:
            return None
        if not free.any():
            return 0.0
        regrets = []
        for mean, variance in zip(self.mean, self.variance, strict=True):
            best_row = self.known[mean[self.known].argmin()]
            regrets.append(
                expected_regret(
                    mean[free], variance[free], float(mean[best_row]), float(variance[best_row])
                )
            )
        return six_digits(float(np.mean(regrets)) * self.target.unit)


def believe(view: View) -> Belief:
    """The posterior of a view with at least one score.

    Pending rows count as observed at their posterior mean ("kriging believer"): the mean is
    unchanged, the variance near them vanishes, and the next worker searches elsewhere.  Source:
    Ginsbourger et al., *Kriging is well-suited to parallelize optimization* (2010), section 4.2.
    """
    scored_rows, latest_scores = view.scored
    observed_rows_of_rungs, rungs, scores = view.observations
    modelling = view.modelling
    space = view.space
    pending_rows = np.array(view.pending, dtype=np.int64)
    has_rung_axis = bool(view.rungs) and modelling.fidelity == "axis"
    if has_rung_axis:
        space = with_rungs(view.space, len(view.rungs))
        observed_rows_of_rungs = observed_rows_of_rungs + len(view.space) * (
            len(view.rungs) - 1 - rungs
        )
    observed_rows, scores_of_observed = (
        (observed_rows_of_rungs, scores) if has_rung_axis else (scored_rows, latest_scores)
    )
    target = TARGETS[modelling.targets](scores_of_observed)
    if modelling.hyperparameters == "sampled":
        thetas = fitting.sample_hyperparameters(
            space, observed_rows_of_rungs, scores, modelling.targets, modelling.kernel, view.seed
        )
    else:
        thetas = fitting.fit_hyperparameters(
            space, observed_rows_of_rungs, scores, modelling.targets, modelling.kernel
        )[None]
    processes = _cached_processes(
        space, thetas, modelling.kernel, fitting.milestone(len(observed_rows)), len(view.space)
    )
    posteriors = [
        process.posterior(observed_rows, target.values, pending_rows) for process in processes
    ]
    mean = np.stack([mean for mean, _ in posteriors])
    values_of_scored_rows = mean.mean(axis=0)[scored_rows] if has_rung_axis else target.values
    variance = np.stack([variance for _, variance in posteriors])
    return Belief(
        scored_rows,
        observed_rows,
        target,
        processes,
        mean,
        variance,
        float(values_of_scored_rows.min()),
    )


@lru_cache(maxsize=2)
def with_rungs(space: Space, rung_count: int) -> Space:
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


_PROCESSES_BY_KEY: dict[tuple[Space, bytes, str, int, int], tuple[Growing, ...]] = {}
"""The last processes used.  With 1,000 trials of 34,300 rows a process takes 284 MB, so they are
deleted before new ones are made."""


def _cached_processes(
    space: Space, thetas: Floats, kernel: str, settled_count: int, row_count: int
) -> tuple[Growing, ...]:
    """The processes of all thetas; those of the last call again if it was the same."""
    cache_key = (space, thetas.tobytes(), kernel, settled_count, row_count)
    if cache_key not in _PROCESSES_BY_KEY:
        _PROCESSES_BY_KEY.clear()
        process_settings = KERNELS[kernel], settled_count, row_count
        _PROCESSES_BY_KEY[cache_key] = tuple(
            Growing(space.unit_cube, space.scales, theta, *process_settings) for theta in thetas
        )
    return _PROCESSES_BY_KEY[cache_key]


def expected_improvement(view: View) -> Choice:
    """The row of greatest log expected improvement (with `per_second`, per predicted second),
    weighted by its probability to train (`Chances.best`)."""
    return choose(view, improving)


def probability_of_improvement(view: View) -> Choice:
    """The row of greatest log probability to improve on the best score by 0.01 standard deviations
    of the warped scores, weighted by its probability to train (`Chances.best`).

    Without that margin it would choose neighbours of the best row, which are better with a
    probability near 0.5, but by almost nothing.
    """
    return choose(view, likely_improving)


def confidence_bound(view: View) -> Choice:
    """The row, likely to train, of the lowest confidence bound: two standard deviations below the
    mean."""
    return choose(view, lowest_bound)


def thompson(view: View) -> Choice:
    """The row, likely to train, that is lowest in one function drawn from the posterior; pending
    rows need no assumed scores.

    Source: Thompson (1933), as for Gaussian processes in Wilson et al., *Efficiently sampling
    functions from Gaussian process posteriors* (2020), arXiv:2002.09309, eq. 13: a draw from the
    prior, updated with the observations.
    """
    return choose(view, lowest_drawn)


BestRows = Callable[[View, Belief, Chances], Integers]
"""The best free rows by some measure: one, or those that tie."""
MakeForecast = Callable[[View, Belief, Chances, int], Forecast]
"""The forecast of a row."""


def improving(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-ei: the best, or one drawn in proportion to its improvement and its
    probability to train."""
    free_rows = np.flatnonzero(view.free)
    log_promise = log_improvement(view, belief, free_rows)
    if view.modelling.choose == "best":
        return chances.best(free_rows, log_promise)
    log_promise = log_promise + chances.log_chance(free_rows)
    draw_weights = np.exp(log_promise - log_promise.max())
    return np.array([view.rng.choice(free_rows, p=draw_weights / draw_weights.sum())])


def log_improvement(view: View, belief: Belief, rows: Integers) -> Floats:
    """Log expected improvement (m,), the mean over the processes."""
    price = np.log(view.predicted_seconds[rows]) if view.modelling.per_second else 0.0
    return _log_mean_over_processes(log_expected_improvement, belief, rows, belief.best) - price


def _log_mean_over_processes(
    measure: Callable[[Floats, Floats, float], Floats],
    belief: Belief,
    rows: Integers,
    best_value: float,
) -> Floats:
    """The logarithm (m,) of the mean over the processes of what a measure gives the logarithm
    of."""
    log_measures = [
        measure(mean[rows], variance[rows], best_value)
        for mean, variance in zip(belief.mean, belief.variance, strict=True)
    ]
    return np.asarray(logsumexp(log_measures, axis=0) - np.log(len(log_measures)))


def likely_improving(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-pi."""
    rows = np.flatnonzero(view.free)
    promise = _log_mean_over_processes(
        log_probability_of_improvement, belief, rows, belief.best - 0.01
    )
    return chances.best(rows, promise)


def lowest_bound(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-lcb."""
    rows = chances.likely(np.flatnonzero(view.free))
    value = lower_confidence_bound(*mixture_moments(belief))[rows]
    return np.asarray(rows[value == value.max()])


def lowest_drawn(view: View, belief: Belief, chances: Chances) -> Integers:
    """The choice of gp-ts."""
    likely_rows = chances.likely(np.flatnonzero(view.free))
    rng = view.rng
    process = belief.processes[int(rng.integers(len(belief.processes)))]
    drawn_prior = process.prior_draw(rng)
    drawn_noise = np.sqrt(process.noise) * rng.standard_normal(len(belief.observed))
    residuals = belief.target.values - drawn_prior[belief.observed] - drawn_noise
    correction, _ = process.posterior(belief.observed, residuals, belief.known[:0])
    drawn_values = drawn_prior[likely_rows] + correction[likely_rows]
    return np.asarray(likely_rows[drawn_values == drawn_values.min()])


def choose(
    view: View,
    best: BestRows,
    believe_view: Callable[[View], Belief] = believe,
    forecast_by: MakeForecast | None = None,
) -> Choice:
    """One of the best rows, ties at random; the first slots are spread, and without any score it is
    the row most likely to train.  `believe_view` and `forecast_by` are those of another model."""
    if view.begun < view.initial or not any(trial.outcome.status != "error" for trial in view.seen):
        # also before the first outcome, if many workers begin at once
        return _spread_where_it_fits(view)
    free_rows = np.flatnonzero(view.free)
    chances = Chances(view)
    if not len(view.scored[0]):
        return Choice(int(view.rng.choice(chances.best(free_rows, np.zeros(len(free_rows))))))
    belief = believe_view(view)
    row = int(view.rng.choice(best(view, belief, chances)))
    is_before_the_end = bool(view.rungs) and view.modelling.fidelity == "latest"
    return Choice(
        row, None if is_before_the_end else (forecast_by or forecast)(view, belief, chances, row)
    )


def _spread_where_it_fits(view: View) -> Choice:
    return spread_among(view, Chances(view).fitting(np.flatnonzero(view.free)))


def forecast(view: View, belief: Belief, chances: Chances, row: int) -> Forecast:
    """The forecast of a row, in units of the score, with the expected regret over all free rows."""
    mean, variance = mixture_moments(belief)
    noise_variance = float(np.mean([process.noise for process in belief.processes]))
    half_width = 1.96 * float(np.sqrt(variance[row] + noise_variance))
    low_score, high_score = (
        _score_at_band_end(belief.target, float(mean[row] + offset))
        for offset in (-half_width, half_width)
    )
    chance_to_train = float(np.exp(chances.log_chance(np.array([row]))[0]))
    median_score = six_digits(float(belief.target.score_of(mean[row])))
    return Forecast(
        median_score, low_score, high_score, six_digits(chance_to_train), belief.regret(view.free)
    )


def _score_at_band_end(target: Target, value: float) -> float | None:
    """The score at an end of a band, None if the band is open there."""
    return (
        six_digits(float(target.score_of(np.array(value))))
        if target.is_within_reach(value)
        else None
    )


def mixture_moments(belief: Belief) -> tuple[Floats, Floats]:
    """Mean and variance (M,) of the mixture of the S processes."""
    mean = belief.mean.mean(axis=0)
    return mean, np.asarray((belief.variance + belief.mean**2).mean(axis=0) - mean**2).clip(0.0)


def six_digits(value: float) -> float:
    """The value rounded to six significant digits, readable and independent of rounding errors."""
    return float(f"{value:.6g}")
