"""gp-ei: the free row of greatest expected improvement under a Gaussian process, where it is likely to train at all.

    n  trials with a score            p  rows still running (pending)            m  free rows
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from fovnet.maths import gp
from fovnet.maths.acquisition import log_expected_improvement
from fovnet.maths.warping import half_ranked
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
    cube, axis = view.space.unit_cube, view.space.axis_of_column
    known, scores = view.scored
    X, y = cube[known], half_ranked(scores)
    theta = gp.fit(X, y, axis)
    best = float(y.min())
    if view.pending:
        believed = cube[list(view.pending)]
        y = np.concatenate([y, gp.posterior(believed, X, y, theta, axis)[0]])
        X = np.vstack([X, believed])
    mean, variance = gp.posterior(cube[rows], X, y, theta, axis)
    return log_expected_improvement(mean, variance, best)


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
    cube, axis = view.space.unit_cube, view.space.axis_of_column
    X = cube[np.concatenate([trained, failed])]
    below_one = np.concatenate([np.zeros(len(trained)), np.full(len(failed), -2.0)])
    theta = gp.fit(X, below_one, axis)
    mean, variance = gp.posterior(cube[rows], X, below_one, theta, axis)
    return np.asarray(log_ndtr((1.0 + mean) / np.sqrt(variance + np.exp(theta[-1]))))
