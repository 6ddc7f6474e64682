"""How much a trial is expected to tell about the minimum of a function, in nats: about its value,
or about where it lies.

    mean, variance  (m,)  posterior of the function at m points          γ  (mean - lowest) / √variance
    lowest  (K,)  drawn values of the minimum of the function            φ, Φ  the standard normal density and
        distribution
    F       (c, n)  n joint draws of the function at c points
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.optimize import brentq
from scipy.special import entr, erfcx, log_ndtr, logsumexp, ndtr

from fovnet.maths.acquisition import LEAST_VARIANCE, LOG_SQRT_2PI, SQRT_HALF, SQRT_HALF_PI

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MANY = 4096
"""Points above which neighbours count as equal: a distribution of 34,300 is then summed a tenth as
often."""


def lowest_values(mean: Floats, variance: Floats, uniform: Floats) -> Floats:
    """The minimum of the function at all points (K,), for uniform numbers in (0, 1): from the
    Gumbel distribution that has the quartiles of the minimum of independent points.

    Source: Wang & Jegelka, *Max-value entropy search for efficient Bayesian optimization* (2017),
    arXiv:1703.01968, section 3.1.
    """
    first, middle, last = quartiles_of_the_lowest(mean, variance)
    scale = (last - first) / (np.log(np.log(4.0)) - np.log(np.log(4.0 / 3.0)))
    return np.asarray(middle + scale * (np.log(-np.log(uniform)) - np.log(np.log(2.0))))


def quartiles_of_the_lowest(mean: Floats, variance: Floats) -> tuple[float, float, float]:
    """The quartiles of the minimum of independent points; where there are more than MANY,
    neighbours of nearly the same mean and deviation count as equal, which moves the quartiles by
    less than a thousandth of their distance where posteriors overlap at all."""
    deviation = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    count = np.ones(len(mean))
    if len(mean) > MANY:
        mean, deviation, count = _cells_of_points(mean, deviation)
    low = float((mean - 6.0 * deviation).min())
    high = float((mean + 6.0 * deviation).min())

    # nearly a straight line in the level: secants find its root
    def off(level: float, share: float) -> float:
        return float(
            np.log(-(log_ndtr((mean - level) / deviation) @ count)) - np.log(-np.log1p(-share))
        )

    def root(share: float) -> float:
        return float(brentq(off, low, high, (share,), xtol=1e-12 * (high - low)))

    return root(0.25), root(0.5), root(0.75)


def _cells_of_points(mean: Floats, deviation: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, deviation and number of the points in each cell of a grid of 256 means by 64
    deviations; empty cells are left out."""
    cell = 64 * _place(mean, 256) + _place(deviation, 64)
    count = np.bincount(cell, minlength=64 * 256)
    full = count > 0
    sums = (np.bincount(cell, values, 64 * 256)[full] for values in (mean, deviation))
    number = count[full].astype(np.float64)
    return next(sums) / number, next(sums) / number, number


def _place(values: Floats, cells: int) -> Integers:
    """The cell (m,) of each value on an even grid from the least to the greatest."""
    low = float(values.min())
    high = float(values.max())
    return np.minimum((values - low) * (cells / ((high - low) or 1.0)), cells - 1).astype(np.int64)


def log_information_on_the_lowest(mean: Floats, variance: Floats, lowest: Floats) -> Floats:
    """The logarithm (m,) of the mean, over the drawn minima, of the entropy that the function at a
    point loses by not lying below them.

    Source: Wang & Jegelka (2017), eq. 6, here for the minimum.
    """
    gamma = (mean - lowest[:, None]) / np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    return np.asarray(logsumexp(log_entropy_lost(gamma), axis=0) - np.log(len(lowest)))


def at_most_on_the_lowest(mean: Floats, variance: Floats, lowest: Floats) -> Floats:
    """An upper bound (m,) of the above, twenty times as fast: all minima as the highest, and the
    entropy lost at most φ(γ)(1.74 + γ/2) where γ > 0."""
    gamma = (mean - lowest.max()) / np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    high = np.maximum(gamma, 0.0)
    bound = np.log(1.74 + 0.5 * high) - 0.5 * high**2 - LOG_SQRT_2PI
    below = gamma <= 0.0
    bound[below] = log_entropy_lost(gamma[below])
    return np.asarray(bound)


def log_entropy_lost(gamma: Floats) -> Floats:
    """log(γφ/2Φ - log Φ), the logarithm of the entropy a standard normal loses when cut off above
    γ, of the shape of γ; it falls with γ.

    Above 0 it is taken out of φ, so that neither φ nor Q = 1 - Φ underflows; below, φ/Φ comes from
    erfcx. Beyond -1e4 the terms of order γ² have cancelled each other, and their limit -1/2 is the
    better value.
    """
    # each branch sees only safe values
    high = np.maximum(gamma, 0.0)
    low = np.clip(gamma, -1e150, 0.0)
    ratio = SQRT_HALF_PI * erfcx(high * SQRT_HALF)  # Q/φ
    rest = np.maximum(ndtr(-high), 1e-300)  # Q
    above = (
        np.log(0.5 * high / (1.0 - rest) - ratio * np.log1p(-rest) / rest)
        - 0.5 * high**2
        - LOG_SQRT_2PI
    )
    # Φ exp(γ²/2)
    half = 0.5 * erfcx(-low * SQRT_HALF)
    terms = np.where(low > -1e4, 0.5 * low * (np.exp(-LOG_SQRT_2PI) / half + low), -0.5)
    return np.asarray(np.where(gamma > 0.0, above, np.log(terms - np.log(half))))


def information_on_the_place(
    mean: Floats,
    covariance: Floats,
    noise: float,
    asked: Integers,
    rng: np.random.Generator,
    draws: int,
    nodes: int = 21,
) -> Floats:
    """The entropy (k,) that the place of the lowest of c points is expected to lose by a noisy
    value at each of the points `asked` (k,).

    mean, covariance  (c,), (c, c) joint posterior of the points            noise  variance of a value about
        the function
    The places are counted in the same joint draws for every point; of these H(place | value y) is a
    draw's by Matheron's rule, F + (y - F_x - ε) S_x / v, and the mean over y is by Gauss-Hermite
    quadrature.  Points that are lowest in none of the draws are left out: their share stays the
    same on average.  So are nodes of y that weigh less than 1e-4 (1e-4 in all). Source: Hennig &
    Schuler, *Entropy search for information-efficient global optimization* (2012), arXiv:1112.1217;
    Wilson et al., *Efficiently sampling functions from Gaussian process posteriors* (2020),
    arXiv:2002.09309, eq. 12.
    """
    count = len(mean)
    F = (mean[:, None] + _root(covariance) @ rng.standard_normal((count, draws))).astype(np.float32)
    off = (np.sqrt(noise) * rng.standard_normal(draws)).astype(np.float32)
    shares = _shares_of_the_lowest(F)
    is_contender = shares > 0.0
    abscissas, weight = np.polynomial.hermite_e.hermegauss(nodes)
    weight = weight / weight.sum()
    heavy = weight > 1e-4
    deviation = np.sqrt(np.maximum(np.diag(covariance) + noise, LEAST_VARIANCE))
    left = np.zeros(len(asked))
    for i, x in enumerate(asked.tolist()):
        slope = (covariance[is_contender, x] / deviation[x] ** 2).astype(np.float32)[:, None]
        still = F[is_contender] - slope * (F[x] + off)
        values = (mean[x] + deviation[x] * abscissas[heavy]).astype(np.float32)
        entropies = [entr(_shares_of_the_lowest(still + value * slope)).sum() for value in values]
        left[i] = weight[heavy] @ entropies / weight[heavy].sum()
    return np.asarray(entr(shares).sum() - left)


def _root(covariance: Floats) -> Floats:
    """A lower factor (c, c) of a covariance.

    To every variance a millionth of their mean is added, or more where rounding has left points
    that agree a negative one.
    """
    count = len(covariance)
    for share in (1e-6, 1e-4, 1e-2, 1.0):
        try:
            ridge = share * np.trace(covariance) / count * np.eye(count)
            return np.asarray(cholesky(covariance + ridge, lower=True, check_finite=False))
        except LinAlgError:
            continue
    return np.diag(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def _shares_of_the_lowest(F: NDArray[np.float32]) -> Floats:
    """The share (c,) of draws (c, n) in which each point is the lowest."""
    wins = (F.min(axis=0) == F).view(np.uint8).sum(axis=1, dtype=np.uint32)
    return np.asarray(wins / wins.sum())
