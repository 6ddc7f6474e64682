"""gp-ei: the free row of greatest expected improvement under a Gaussian process, where it is likely to train at all.

    n  trials with a score            p  rows still running (pending)            m  free rows
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from fovnet.maths import gp
from fovnet.maths.acquisition import log_expected_improvement
from fovnet.maths.growing import Growing
from fovnet.maths.warping import half_ranked
from fovnet.search.space import Space
from fovnet.search.uniform import spread
from fovnet.search.view import View

Floats = NDArray[np.float64]


def expected_improvement(view: View) -> int:
    """A free row: evenly spread ones first, then the best of them all by log expected improvement + log chance to train.

    Without a single score there is nothing to improve upon: the row most likely to train is taken.  Equally good rows are drawn
    by lot.
    """
    if view.slot < view.initial:
        return spread(view)
    rows = np.flatnonzero(view.free)
    promise = log_chance_to_train(view, rows)
    if len(view.scored[0]):
        promise = promise + log_improvement(view, rows)
    return int(view.rng.choice(rows[promise == promise.max()]))


def log_improvement(view: View, rows: NDArray[np.int64]) -> Floats:
    """Log expected improvement (m,) over the best warped score, in units of the scores' spread.

    Pending rows count as observed at their posterior mean ("kriging believer"): the mean stays, the uncertainty around them
    goes, and the next worker looks elsewhere.  Source: Ginsbourger et al., *Kriging is well-suited to parallelize
    optimization* (2010), section 4.2.
    """
    known, scores = view.scored
    process = learned(view.space, known, scores, half_ranked)
    y = half_ranked(scores)
    mean, variance = process.posterior(known, y, np.array(view.pending, dtype=np.int64))
    return log_expected_improvement(mean[rows], variance[rows], float(y.min()))


def log_chance_to_train(view: View, rows: NDArray[np.int64]) -> Floats:
    """Log probability (m,) that a configuration trains, from those that did (+1) and those that failed by their own fault (-1).

    A second Gaussian process, on these labels, with prior mean +1: what nobody has tried is taken to train.  Its own lengthscales
    find out by themselves that, say, only the learning rate matters.  Nothing is made up for the score of a failure, and nothing
    beside it is forbidden.  Zero without failures.
    Source: Rasmussen & Williams (2006), section 6.5 (least-squares classification through a cumulative Gaussian); the product
    with expected improvement: Gelbart et al., *Bayesian optimization with unknown constraints* (2014), eq. 5.
    """
    failed, (trained, _) = view.failed, view.scored
    if not len(failed):
        return np.zeros(len(rows))
    tried = np.concatenate([failed, trained])
    below_one = np.concatenate([np.full(len(failed), -2.0), np.zeros(len(trained))])
    process = learned(view.space, tried, below_one, np.asarray)
    mean, variance = process.posterior(tried, below_one, np.zeros(0, dtype=np.int64))
    return np.asarray(log_ndtr((1.0 + mean[rows]) / np.sqrt(variance[rows] + process.noise)))


def learned(space: Space, rows: NDArray[np.int64], values: Floats, warp: Callable[[Floats], Floats]) -> Growing:
    """The process over the space whose hyper-parameters are the likeliest for the first `milestone(n)` of the n values, warped.

    Refitting at milestones alone keeps the price of a proposal flat, and what is fitted depends on the record alone.
    """
    m = milestone(len(rows))
    theta = _fitted(space, rows[:m].tobytes(), warp(values[:m]).tobytes())
    return _process(space, theta)


def milestone(n: int) -> int:
    """How many of n observations the hyper-parameters are fitted to: all up to 50, then the last of 50, 53, 56, ..., a 20th apart."""
    m = n if n <= 50 else 50
    while m + max(1, m // 20) <= n:
        m += max(1, m // 20)
    return m


@lru_cache(maxsize=4)
def _fitted(space: Space, rows: bytes, values: bytes) -> bytes:
    X, y = space.unit_cube[np.frombuffer(rows, dtype=np.int64)], np.frombuffer(values)
    chosen = telling(y)
    return gp.fit(X[chosen], y[chosen], space.axis_of_column).tobytes()


def telling(y: Floats, most: int = 150) -> NDArray[np.int64]:
    """Which of the values hyper-parameters are fitted to: all, or the best third and every so many of the others, `most` in all.

    An iteration of the fit costs O(n³): 150 points are 300 times cheaper than 1,000.
    """
    if len(y) <= most:
        return np.arange(len(y))
    order = np.argsort(y, kind="stable")
    best, others = order[: most // 3], order[most // 3 :]
    spread_out = others[np.linspace(0, len(others) - 1, most - len(best)).astype(np.int64)]
    return np.sort(np.concatenate([best, spread_out]))


@lru_cache(maxsize=2)
def _process(space: Space, theta: bytes) -> Growing:
    """One for the scores, one for the failures; what it has kept of earlier calls makes it faster, and changes nothing."""
    return Growing(space.unit_cube, space.axis_of_column, np.frombuffer(theta))
