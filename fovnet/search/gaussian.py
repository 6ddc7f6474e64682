"""gp-ei, gp-pi, gp-lcb, gp-ts: the free row that promises most under a Gaussian process, where it is likely to train at all.

    n  trials with a score       M  rows of the space       m  free rows       S  processes, one for each theta that is believed
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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
from fovnet.search import fitting
from fovnet.search.failing import Chances
from fovnet.search.space import Space
from fovnet.search.trial import Forecast
from fovnet.search.uniform import spread
from fovnet.search.view import Choice, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Belief:
    """Posterior of the score of every row of a space, given the trials of a view, in units of the target.

    known   (n,) rows with a score         target  their scores, warped
    processes, mean, variance  S of them, (S, M), (S, M)
    """

    known: Integers
    target: Target
    processes: tuple[Growing, ...]
    mean: Floats
    variance: Floats

    @property
    def best(self) -> float:
        """The value to improve upon."""
        return float(self.target.values.min())

    def regret(self, free: NDArray[np.bool_]) -> float | None:
        """By how much the lowest of the free rows may be expected to lie below the best known one, at most, in units of the score; 0 where
        none is free, None where the target knows only ranks.  Pending rows count as known (`believe`): with many it is no longer the most.

        The best known one is the row of the lowest mean, not that of the lowest score: with noise the luckiest of 50 trainings lies two
        of its deviations low, and a search that took it at its word stopped too early.
        """
        if self.target.unit is None:
            return None
        if not free.any():
            return 0.0
        each = []
        for mean, variance in zip(self.mean, self.variance, strict=True):
            best = self.known[mean[self.known].argmin()]
            each.append(expected_regret(mean[free], variance[free], float(mean[best]), float(variance[best])))
        return six_digits(float(np.mean(each)) * self.target.unit)


def believe(view: View) -> Belief:
    """The belief of a view with at least one score.

    Pending rows count as observed at their posterior mean ("kriging believer"): the mean stays, the uncertainty around them
    goes, and the next worker looks elsewhere.  Source: Ginsbourger et al., *Kriging is well-suited to parallelize
    optimization* (2010), section 4.2.
    """
    known, scores = view.scored
    how = view.modelling
    target, pending = TARGETS[how.targets](scores), np.array(view.pending, dtype=np.int64)
    if how.hyperparameters == "sampled":
        thetas = fitting.sampled(view.space, known, scores, how.targets, how.kernel, view.seed)
    else:
        thetas = fitting.fitted(view.space, known, scores, how.targets, how.kernel)[None]
    processes = _processes(view.space, thetas, how.kernel, fitting.milestone(len(known)))
    pairs = [process.posterior(known, target.values, pending) for process in processes]
    return Belief(known, target, processes, np.stack([mean for mean, _ in pairs]), np.stack([variance for _, variance in pairs]))


_KEPT: dict[tuple[Space, bytes, str, int], tuple[Growing, ...]] = {}
"""The processes asked for last.  With 1,000 trials of 34,300 rows a process holds 284 MB, so they go before the next ones come."""


def _processes(space: Space, thetas: Floats, kernel: str, settled: int) -> tuple[Growing, ...]:
    key = (space, thetas.tobytes(), kernel, settled)
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = tuple(Growing(space.unit_cube, space.scales, theta, KERNELS[kernel], settled) for theta in thetas)
    return _KEPT[key]


def expected_improvement(view: View) -> Choice:
    """The row of greatest log expected improvement, a predicted second where asked for, less what failing costs (`Chances.best`)."""

    def promise(belief: Belief, rows: Integers) -> Floats:
        price = np.log(view.predicted_seconds[rows]) if view.modelling.per_second else 0.0
        each = [
            log_expected_improvement(mean[rows], variance[rows], belief.best)
            for mean, variance in zip(belief.mean, belief.variance, strict=True)
        ]
        return np.asarray(logsumexp(each, axis=0) - np.log(len(each)) - price)

    return _by_log_promise(view, promise)


def probability_of_improvement(view: View) -> Choice:
    """The row of greatest log probability to beat the best score by a hundredth of the scores' spread, less what failing costs.

    Without that margin it would creep: a point beside the best one is nearly as likely as not to be better by nearly nothing.
    """

    def promise(belief: Belief, rows: Integers) -> Floats:
        each = [
            log_probability_of_improvement(mean[rows], variance[rows], belief.best - 0.01)
            for mean, variance in zip(belief.mean, belief.variance, strict=True)
        ]
        return np.asarray(logsumexp(each, axis=0) - np.log(len(each)))

    return _by_log_promise(view, promise)


def confidence_bound(view: View) -> Choice:
    """The row, likely to train, that may well have the lowest score: two deviations below its mean."""

    def utility(belief: Belief) -> Floats:
        return np.asarray(lower_confidence_bound(*_mixed(belief)))

    return _by_utility(view, utility)


def thompson(view: View) -> Choice:
    """The row, likely to train, that is lowest in one function drawn from the posterior; what is pending needs no belief here.

    Source: Thompson (1933), as for Gaussian processes in Wilson et al., *Efficiently sampling functions from Gaussian process
    posteriors* (2020), arXiv:2002.09309, eq. 13: a draw from the prior, moved onto the observations.
    """

    def utility(belief: Belief) -> Floats:
        rng = view.rng
        process = belief.processes[int(rng.integers(len(belief.processes)))]
        prior = process.prior_draw(rng)
        noise = np.sqrt(process.noise) * rng.standard_normal(len(belief.known))
        correction, _ = process.posterior(belief.known, belief.target.values - prior[belief.known] - noise, belief.known[:0])
        return np.asarray(-(prior + correction))

    return _by_utility(view, utility)


def _by_log_promise(view: View, promise: Callable[[Belief, Integers], Floats]) -> Choice:
    """The free row of greatest promise less what failing costs (`Chances.best`), equally good ones by lot; without any score, the likeliest
    to train."""
    if view.slot < view.initial or not any(trial.outcome.status != "error" for trial in view.seen):
        return _spread_where_it_fits(view)             # also where nothing has come back yet: many workers begin at once
    rows, chances = np.flatnonzero(view.free), Chances(view)
    if not len(view.scored[0]):
        return Choice(int(view.rng.choice(chances.best(rows, np.zeros(len(rows))))))
    belief = believe(view)
    row = int(view.rng.choice(chances.best(rows, promise(belief, rows))))
    return Choice(row, forecast(view, belief, chances, row))


def _spread_where_it_fits(view: View) -> Choice:
    fits = np.zeros(len(view.space), dtype=bool)
    fits[Chances(view).fitting(np.flatnonzero(view.free))] = True
    return spread(replace(view, free=fits))


def _by_utility(view: View, utility: Callable[[Belief], Floats]) -> Choice:
    """The free row of greatest utility among those more likely to train than not; else as `_by_log_promise`."""
    if view.slot < view.initial or not len(view.scored[0]):
        return _by_log_promise(view, lambda belief, rows: np.zeros(len(rows)))
    belief, chances = believe(view), Chances(view)
    rows = chances.likely(np.flatnonzero(view.free))
    value = utility(belief)[rows]
    row = int(view.rng.choice(rows[value == value.max()]))
    return Choice(row, forecast(view, belief, chances, row))


def forecast(view: View, belief: Belief, chances: Chances, row: int) -> Forecast:
    """What is expected of a row, in units of the score, and what all free rows together may still gain."""
    mean, variance = _mixed(belief)
    noise = float(np.mean([process.noise for process in belief.processes]))
    half = 1.96 * float(np.sqrt(variance[row] + noise))
    low, high = (_end(belief.target, float(mean[row] + side)) for side in (-half, half))
    chance = float(np.exp(chances.log_chance(np.array([row]))[0]))
    median = six_digits(float(belief.target.score_of(mean[row])))
    return Forecast(median, low, high, six_digits(chance), belief.regret(view.free))


def _end(target: Target, value: float) -> float | None:
    """The score at an end of a band, None where the band is open there."""
    return six_digits(float(target.score_of(np.array(value)))) if target.is_within_reach(value) else None


def _mixed(belief: Belief) -> tuple[Floats, Floats]:
    """Mean and variance (M,) of the mixture of the S processes."""
    mean = belief.mean.mean(axis=0)
    return mean, np.asarray((belief.variance + belief.mean**2).mean(axis=0) - mean**2).clip(0.0)


def six_digits(value: float) -> float:
    """For people to read, and free of the last bits of a sum."""
    return float(f"{value:.6g}")
