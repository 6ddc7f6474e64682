"""Acquisition functions of the posterior mean and variance of a Gaussian process.  The objective is
minimised; a higher value is better.

    mean, variance  (m,)  posterior at the query points        best  the value to improve upon
    z               (m,)  (best - mean) / √variance            φ, Φ  the standard normal density and
        distribution
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr

Floats = NDArray[np.float64]

SQRT_HALF = np.sqrt(0.5)
SQRT_HALF_PI = np.sqrt(0.5 * np.pi)
LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
LEAST_VARIANCE = 1e-18
"""Lower bound of variances: far below any real posterior variance, yet safe to divide by its
root."""


def log_expected_improvement(mean: Floats, variance: Floats, best: float) -> Floats:
    """log E[max(best - f, 0)], (m,), finite wherever z² is.

    Source: Ament et al., *Unexpected improvements to expected improvement* (2023),
    arXiv:2310.20708, eq. 8.
    """
    deviation = _deviation(variance)
    return np.asarray(log_h((best - mean) / deviation) + np.log(deviation))


def log_probability_of_improvement(mean: Floats, variance: Floats, best: float) -> Floats:
    """log P(f < best), (m,): the probability of an improvement of any size.

    Source: Kushner, *A new method of locating the maximum point of an arbitrary multipeak curve*
    (1964).
    """
    return np.asarray(log_ndtr((best - mean) / _deviation(variance)))


def lower_confidence_bound(mean: Floats, variance: Floats, width: float = 2.0) -> Floats:
    """width · √variance - mean, (m,): the negative lower confidence bound, so that more is better.

    Source: Srinivas et al., *Gaussian process optimization in the bandit setting* (2010), eq. 6,
    with a constant width.
    """
    return np.asarray(width * _deviation(variance) - mean)


def expected_regret(
    mean: Floats, variance: Floats, best: float, doubt: float = 0.0, nodes: int = 24
) -> float:
    """E[max(b - min f, 0)] over all m points, b normal about `best` with variance `doubt`: the
    expected gain from knowing them all.

    The integral over y of P(min f < y) P(b > y), with the points taken as independent.  For
    positively correlated points the true value is lower (Slepian's inequality), so a search that
    stops by it stops late rather than early.  Gauss-Legendre quadrature.
    """
    deviation = _deviation(variance)
    hazy = float(np.sqrt(doubt))
    # min f never lies below the bottom, nor b above the top
    top = best + 6.0 * hazy
    bottom = float((mean - 6.0 * deviation).min())
    # below the middle one P(b > y) is 1
    ends = sorted({bottom, max(bottom, best - 6.0 * hazy), top}) if bottom < top else []
    return sum(
        (_area(low, high, mean, deviation, best, hazy, nodes) for low, high in pairwise(ends)), 0.0
    )


def _area(
    low: float, high: float, mean: Floats, deviation: Floats, best: float, hazy: float, nodes: int
) -> float:
    """The integral of P(min f < y) P(b > y) from low to high."""
    abscissas, weights = np.polynomial.legendre.leggauss(nodes)
    levels = low + 0.5 * (abscissas + 1.0) * (high - low)
    below = np.array([_some_below(level, mean, deviation) for level in levels])
    above = ndtr((best - levels) / hazy) if hazy else 1.0
    return float(0.5 * (high - low) * (weights @ (below * above)))


def _some_below(level: float, mean: Floats, deviation: Floats, chunk: int = 2048) -> float:
    """P(min f < level) of independent points, by chunks; stops as soon as it is nearly certain."""
    log_none = 0.0
    for first in range(0, len(mean), chunk):
        part = slice(first, first + chunk)
        z = (level - mean[part]) / deviation[part]
        # below it 34,300 points together add 2e-11
        log_none += float(log_ndtr(-z[z > -8.0]).sum())
        if log_none < -40.0:
            return 1.0
    return -float(np.expm1(log_none))


def log_h(z: Floats) -> Floats:
    """log(φ(z) + z Φ(z)), the log expected improvement at unit variance, of the shape of z.  Ament
    et al. eq. 9.

    The direct form cancels to log(0) near z = -38.  Below -1 it becomes φ(z)·(1 - |z|Φ/φ), with Φ/φ
    from erfcx, which does not underflow.  Beyond -1e5 that difference has lost ten digits and its
    limit 1/z², true to 3/z², is the better value.
    """
    # each branch sees only safe values
    body = np.maximum(z, -1.0)
    tail = np.minimum(z, -1.0)
    direct = np.log(np.exp(-0.5 * body**2) / (2.0 * SQRT_HALF_PI) + body * ndtr(body))
    middle = np.maximum(tail, -1e5)
    ratio = np.log1p(middle * SQRT_HALF_PI * erfcx(-middle * SQRT_HALF))  # log(1 - |z|Φ/φ)
    ratio = np.where(tail > -1e5, ratio, -2.0 * np.log(-tail))
    return np.asarray(np.where(z > -1.0, direct, -0.5 * tail**2 - LOG_SQRT_2PI + ratio))


def _deviation(variance: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(variance, LEAST_VARIANCE)))
