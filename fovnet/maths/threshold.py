"""The probability that a need stays below an unknown limit, from earlier outcomes: a
one-dimensional model, never rising with the need.

    estimate  (n,), (m,)  log of the estimated need
    fits      (n,)        whether it was within the limit
    limit     log of the real limit, unknown
    sigma     standard deviation of the error of an estimate, unknown
    P(fits | estimate) = Φ((limit - estimate) / sigma), averaged over the posterior of limit and
    sigma, given the outcomes

Two unknowns are few enough for a table of all their values: no optimisation, no starting point, and
the mean of falling curves falls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp, ndtr

Floats = NDArray[np.float64]

SIGMAS = np.array([0.05, 0.1, 0.2])
"""From a nearly exact estimate to one with an error of a fifth; equally likely a priori."""
LIMIT_COUNT = 241
"""Values of the limit in the table."""
CURVE_POINTS = 161
"""Points at which the curve is computed; it is linear between them."""


def chance_to_fit(
    estimates: Floats, tried_estimates: Floats, fit_outcomes: NDArray[np.bool_]
) -> Floats:
    """P(fits), (m,), in (0, 1], never rising with the estimate, from outcomes at
    `tried_estimates` (n,).

    Prior: the limit lies above all estimates with probability 1/2, otherwise uniformly between
    them.
    """
    least_estimate = float(estimates.min())
    greatest_estimate = float(estimates.max())
    limits = np.linspace(
        least_estimate - SIGMAS[-1], greatest_estimate + 3.0 * SIGMAS[-1], LIMIT_COUNT
    )[:, None]
    prior = np.where(
        limits <= greatest_estimate,
        np.log(0.5 / (limits <= greatest_estimate).sum()),
        np.log(0.5 / (limits > greatest_estimate).sum()),
    )
    outcome_sign = np.where(fit_outcomes, 1.0, -1.0)
    log_likelihood = np.stack(
        [
            log_ndtr(outcome_sign * (limits - tried_estimates) / sigma).sum(axis=1)
            for sigma in SIGMAS
        ],
        axis=1,
    )
    log_weight = prior + log_likelihood  # (LIMIT_COUNT, SIGMAS)
    weights = np.exp(log_weight - logsumexp(log_weight))
    curve_estimates = np.linspace(least_estimate, greatest_estimate, CURVE_POINTS)
    curve = sum(
        ndtr((limits - curve_estimates) / sigma).T @ weights[:, sigma_index]
        for sigma_index, sigma in enumerate(SIGMAS)
    )
    return np.asarray(
        np.clip(np.interp(estimates, curve_estimates, np.minimum.accumulate(curve)), 1e-12, 1.0)
    )
