"""Acquisition functions of the posterior mean and variance of a Gaussian process.  The objective is
minimised; a higher value is better.

    mean, variance  (m,)  posterior at the query points
    best            the value to improve upon
    z               (m,)  (best - mean) / √variance
    φ, Φ            the standard normal density and distribution
"""

from __future__ import annotations

from functools import lru_cache
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
    deviation = _standard_deviation(variance)
    return np.asarray(log_h((best - mean) / deviation) + np.log(deviation))


def log_probability_of_improvement(mean: Floats, variance: Floats, best: float) -> Floats:
    """log P(f < best), (m,): the probability of an improvement of any size.

    Source: Kushner, *A new method of locating the maximum point of an arbitrary multipeak curve*
    (1964).
    """
    return np.asarray(log_ndtr((best - mean) / _standard_deviation(variance)))


def lower_confidence_bound(mean: Floats, variance: Floats, width: float = 2.0) -> Floats:
    """width · √variance - mean, (m,): the negative lower confidence bound, so that more is better.

    Source: Srinivas et al., *Gaussian process optimization in the bandit setting* (2010), eq. 6.
    """
    return np.asarray(width * _standard_deviation(variance) - mean)


def scheduled_width(
    evaluation_number: int, point_count: int, failure_probability: float = 0.1
) -> float:
    """√β of the t-th evaluation, from 1, for `lower_confidence_bound` over so many points: growing so
    that with probability 1 - `failure_probability` no point is ever below its bound.

    Source: Srinivas et al. (2010), theorem 1: β = 2 log(|D| t² π² / 6δ).
    """
    t_squared = evaluation_number**2
    odds = point_count * t_squared * np.pi**2 / (6.0 * failure_probability)
    return float(np.sqrt(2.0 * np.log(odds)))


def expected_regret(
    mean: Floats, variance: Floats, best: float, best_variance: float = 0.0, node_count: int = 24
) -> float:
    """E[max(b - min f, 0)] over all m points, b normal about `best` with `best_variance`: the
    expected gain from knowing them all.

    The integral over y of P(min f < y) P(b > y), with the points taken as independent.  For
    positively correlated points the true value is lower (Slepian's inequality), so a search that
    stops by it stops late rather than early.  Gauss-Legendre quadrature.
    """
    deviation = _standard_deviation(variance)
    best_deviation = float(np.sqrt(best_variance))
    # min f never lies below the least level, nor b above the greatest
    greatest_level = best + 6.0 * best_deviation
    least_level = float((mean - 6.0 * deviation).min())
    if least_level >= greatest_level:
        return 0.0
    # below the middle one P(b > y) is 1
    middle_level = max(least_level, best - 6.0 * best_deviation)
    regret = 0.0
    for lower_level, upper_level in pairwise(sorted({least_level, middle_level, greatest_level})):
        regret += _integrate_regret(
            lower_level, upper_level, mean, deviation, best, best_deviation, node_count
        )
    return regret


@lru_cache(maxsize=4)
def _gauss_legendre_nodes(count: int) -> tuple[Floats, Floats]:
    """Abscissas on [-1, 1] and weights, (count,) each: eigenvalues, 2 ms of 24 nodes."""
    abscissas, weights = np.polynomial.legendre.leggauss(count)
    return abscissas, weights


def _integrate_regret(
    lower_level: float,
    upper_level: float,
    mean: Floats,
    deviation: Floats,
    best: float,
    best_deviation: float,
    node_count: int,
) -> float:
    """The integral of P(min f < y) P(b > y) over the levels y from `lower_level` to `upper_level`;
    b is normal about `best` with `best_deviation`."""
    abscissas, weights = _gauss_legendre_nodes(node_count)
    levels = lower_level + 0.5 * (abscissas + 1.0) * (upper_level - lower_level)
    minimum_below_probability = _probabilities_any_below(levels, mean, deviation)
    best_above_probability = np.ones(node_count)
    if best_deviation:
        best_above_probability = ndtr((best - levels) / best_deviation)
    weighted_sum = weights @ (minimum_below_probability * best_above_probability)
    return float(0.5 * (upper_level - lower_level) * weighted_sum)


def _probabilities_any_below(
    levels: Floats, mean: Floats, deviation: Floats, chunk_size: int = 2048
) -> Floats:
    """P(min f < level) of independent points, for every level; by chunks, of the levels where it is
    not nearly certain yet."""
    log_none_below = np.zeros(len(levels))
    for first_index in range(0, len(mean), chunk_size):
        chunk_slice = slice(first_index, first_index + chunk_size)
        is_open = log_none_below > -40.0
        z = (levels[is_open, None] - mean[chunk_slice]) / deviation[chunk_slice]
        # below it 34,300 points together add 2e-11
        is_near = z > -8.0
        log_not_below = np.zeros(z.shape)
        log_not_below[is_near] = log_ndtr(-z[is_near])
        log_none_below[is_open] += log_not_below.sum(axis=1)
    return np.where(log_none_below < -40.0, 1.0, -np.expm1(log_none_below))


def log_h(z: Floats) -> Floats:
    """log(φ(z) + z Φ(z)), the log expected improvement at unit variance, of the shape of z.  Ament
    et al. eq. 9.

    The direct form cancels to log(0) near z = -38.  Below -1 it becomes φ(z)·(1 - |z|Φ/φ), with Φ/φ
    from erfcx, which does not underflow.  Beyond -1e5 that difference has lost ten digits and its
    limit 1/z², true to 3/z², is the better value.
    """
    # each branch sees only safe values
    upper_z = np.maximum(z, -1.0)
    lower_z = np.minimum(z, -1.0)
    upper_log_h = np.log(np.exp(-0.5 * upper_z**2) / (2.0 * SQRT_HALF_PI) + upper_z * ndtr(upper_z))
    finite_z = np.maximum(lower_z, -1e5)
    log_ratio = np.log1p(finite_z * SQRT_HALF_PI * erfcx(-finite_z * SQRT_HALF))  # log(1 - |z|Φ/φ)
    log_ratio = np.where(lower_z > -1e5, log_ratio, -2.0 * np.log(-lower_z))
    return np.asarray(np.where(z > -1.0, upper_log_h, -0.5 * lower_z**2 - LOG_SQRT_2PI + log_ratio))


def _standard_deviation(variance: Floats) -> Floats:
    """The square root (m,) of a variance, at least that of LEAST_VARIANCE."""
    return np.asarray(np.sqrt(np.maximum(variance, LEAST_VARIANCE)))
