"""How much a trial is expected to tell about the minimum of a function, in nats: about its value,
or about where it lies.

    mean, variance  (m,)  posterior of the function at m points
    lowest  (K,)    drawn values of the minimum of the function
    γ               (mean - lowest) / √variance
    φ, Φ            the standard normal density and distribution
    F       (c, n)  n joint draws of the function at c points
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.special import entr, erfcx, log_ndtr, logsumexp, ndtr

from fovnet.maths.acquisition import LEAST_VARIANCE, LOG_SQRT_2PI, SQRT_HALF, SQRT_HALF_PI

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_SEPARATE_POINTS = 4096
"""Points above which neighbours count as equal: a distribution of 34,300 is then summed a tenth as
often."""


def draw_lowest_values(mean: Floats, variance: Floats, uniform: Floats) -> Floats:
    """The minimum of the function at all points (K,), for uniform numbers in (0, 1): from the
    Gumbel distribution that has the quartiles of the minimum of independent points.

    Source: Wang & Jegelka, *Max-value entropy search for efficient Bayesian optimization* (2017),
    arXiv:1703.01968, section 3.1.
    """
    lower_quartile, median, upper_quartile = quartiles_of_the_lowest(mean, variance)
    scale = (upper_quartile - lower_quartile) / (np.log(np.log(4.0)) - np.log(np.log(4.0 / 3.0)))
    return np.asarray(median + scale * (np.log(-np.log(uniform)) - np.log(np.log(2.0))))


def quartiles_of_the_lowest(mean: Floats, variance: Floats) -> tuple[float, float, float]:
    """The three quartiles of the minimum of independent points; of more than MOST_SEPARATE_POINTS,
    neighbours of nearly the same mean and deviation count as equal, which moves the quartiles by
    less than a thousandth of their distance where posteriors overlap at all."""
    from scipy.optimize import brentq

    deviation = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    point_counts = np.ones(len(mean))
    if len(mean) > MOST_SEPARATE_POINTS:
        mean, deviation, point_counts = _group_points_by_cell(mean, deviation)
    least_level = float((mean - 6.0 * deviation).min())
    greatest_level = float((mean + 6.0 * deviation).min())

    # nearly a straight line in the level: secants find its root
    def log_ratio_to_share(level: float, share: float) -> float:
        """Log of -log P(no point is below the level) over -log(1 - share): 0 at the
        quantile of that share."""
        return float(
            np.log(-(log_ndtr((mean - level) / deviation) @ point_counts))
            - np.log(-np.log1p(-share))
        )

    def level_at_share(share: float) -> float:
        """The level below which the minimum lies with this probability."""
        return float(
            brentq(
                log_ratio_to_share,
                least_level,
                greatest_level,
                (share,),
                xtol=1e-12 * (greatest_level - least_level),
            )
        )

    return level_at_share(0.25), level_at_share(0.5), level_at_share(0.75)


def _group_points_by_cell(mean: Floats, deviation: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, deviation and number, (c,) each, of the points in each cell of a grid of 256 means by
    64 deviations; empty cells are left out."""
    cell_of_point = 64 * _grid_index(mean, 256) + _grid_index(deviation, 64)
    count_by_cell = np.bincount(cell_of_point, minlength=64 * 256)
    is_occupied = count_by_cell > 0
    occupied_counts = count_by_cell[is_occupied].astype(np.float64)
    cell_means, cell_deviations = (
        np.bincount(cell_of_point, values, 64 * 256)[is_occupied] / occupied_counts
        for values in (mean, deviation)
    )
    return cell_means, cell_deviations, occupied_counts


def _grid_index(values: Floats, cell_count: int) -> Integers:
    """The cell (m,) of each value on an even grid from the least to the greatest."""
    least_value = float(values.min())
    greatest_value = float(values.max())
    return np.minimum(
        (values - least_value) * (cell_count / ((greatest_value - least_value) or 1.0)),
        cell_count - 1,
    ).astype(np.int64)


def log_information_on_the_lowest(mean: Floats, variance: Floats, lowest: Floats) -> Floats:
    """The logarithm (m,) of the mean, over the drawn minima, of the entropy that the function at a
    point loses by not lying below them.

    Source: Wang & Jegelka (2017), eq. 6, here for the minimum.
    """
    gamma = (mean - lowest[:, None]) / np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    return np.asarray(logsumexp(log_entropy_lost(gamma), axis=0) - np.log(len(lowest)))


def bound_information_on_the_lowest(mean: Floats, variance: Floats, lowest: Floats) -> Floats:
    """An upper bound (m,) of `log_information_on_the_lowest`, twenty times as fast: all minima as
    the highest, and the entropy lost at most φ(γ)(1.74 + γ/2) where γ > 0."""
    gamma = (mean - lowest.max()) / np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    positive_gamma = np.maximum(gamma, 0.0)
    log_bound = np.log(1.74 + 0.5 * positive_gamma) - 0.5 * positive_gamma**2 - LOG_SQRT_2PI
    is_negative = gamma <= 0.0
    log_bound[is_negative] = log_entropy_lost(gamma[is_negative])
    return np.asarray(log_bound)


def log_entropy_lost(gamma: Floats) -> Floats:
    """log(γφ/2Φ - log Φ), the logarithm of the entropy a standard normal loses when cut off above
    γ, of the shape of γ; it falls with γ.

    Above 0 it is taken out of φ, so that neither φ nor Q = 1 - Φ underflows; below, φ/Φ comes from
    erfcx. Beyond -1e4 the terms of order γ² have cancelled each other, and their limit -1/2 is the
    better value.
    """
    # each branch sees only safe values
    positive_gamma = np.maximum(gamma, 0.0)
    negative_gamma = np.clip(gamma, -1e150, 0.0)
    tail_ratio = SQRT_HALF_PI * erfcx(positive_gamma * SQRT_HALF)  # Q/φ
    upper_tail = np.maximum(ndtr(-positive_gamma), 1e-300)  # Q
    log_loss_above = (
        np.log(
            0.5 * positive_gamma / (1.0 - upper_tail)
            - tail_ratio * np.log1p(-upper_tail) / upper_tail
        )
        - 0.5 * positive_gamma**2
        - LOG_SQRT_2PI
    )
    # Φ exp(γ²/2)
    scaled_distribution = 0.5 * erfcx(-negative_gamma * SQRT_HALF)
    scaled_loss_below = np.where(
        negative_gamma > -1e4,
        0.5 * negative_gamma * (np.exp(-LOG_SQRT_2PI) / scaled_distribution + negative_gamma),
        -0.5,
    )
    return np.asarray(
        np.where(
            gamma > 0.0, log_loss_above, np.log(scaled_loss_below - np.log(scaled_distribution))
        )
    )


def information_on_the_place(
    mean: Floats,
    covariance: Floats,
    noise: float,
    query_points: Integers,
    rng: np.random.Generator,
    draws: int,
    node_count: int = 21,
) -> Floats:
    """The entropy (k,) that the place of the lowest of c points is expected to lose by a noisy
    value at each of the `query_points` (k,).

    mean, covariance  (c,), (c, c) joint posterior of the points
    noise             variance of a value about the function
    The places are counted in the same joint draws for every point; of these H(place | value y) is a
    draw's by Matheron's rule, F + (y - F_x - ε) S_x / v, and the mean over y is by Gauss-Hermite
    quadrature.  Points that are lowest in none of the draws are left out: their share stays the
    same on average.  So are nodes of y that weigh less than 1e-4 (1e-4 in all). Source: Hennig &
    Schuler, *Entropy search for information-efficient global optimization* (2012), arXiv:1112.1217;
    Wilson et al., *Efficiently sampling functions from Gaussian process posteriors* (2020),
    arXiv:2002.09309, eq. 12.
    """
    point_count = len(mean)
    joint_draws = (
        mean[:, None] + _lower_factor(covariance) @ rng.standard_normal((point_count, draws))
    ).astype(np.float32)
    noise_draws = (np.sqrt(noise) * rng.standard_normal(draws)).astype(np.float32)
    lowest_shares = _shares_of_the_lowest(joint_draws)
    is_contender = lowest_shares > 0.0
    abscissas, node_weights = np.polynomial.hermite_e.hermegauss(node_count)
    node_weights = node_weights / node_weights.sum()
    is_heavy_node = node_weights > 1e-4
    deviation = np.sqrt(np.maximum(np.diag(covariance) + noise, LEAST_VARIANCE))
    remaining_entropies = np.zeros(len(query_points))
    for query_index, point in enumerate(query_points.tolist()):
        update_slope = (covariance[is_contender, point] / deviation[point] ** 2).astype(np.float32)[
            :, None
        ]
        draws_at_zero = joint_draws[is_contender] - update_slope * (
            joint_draws[point] + noise_draws
        )
        node_values = (mean[point] + deviation[point] * abscissas[is_heavy_node]).astype(np.float32)
        entropies = [
            entr(_shares_of_the_lowest(draws_at_zero + value * update_slope)).sum()
            for value in node_values
        ]
        remaining_entropies[query_index] = (
            node_weights[is_heavy_node] @ entropies / node_weights[is_heavy_node].sum()
        )
    return np.asarray(entr(lowest_shares).sum() - remaining_entropies)


def _lower_factor(covariance: Floats) -> Floats:
    """A lower factor (c, c) of a covariance.

    To every variance a millionth of their mean is added, or more where rounding has left points
    that agree a negative one.
    """
    point_count = len(covariance)
    for ridge_share in (1e-6, 1e-4, 1e-2, 1.0):
        try:
            ridge = ridge_share * np.trace(covariance) / point_count * np.eye(point_count)
            return np.asarray(cholesky(covariance + ridge, lower=True, check_finite=False))
        except LinAlgError:
            continue
    return np.diag(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def _shares_of_the_lowest(draws: NDArray[np.float32]) -> Floats:
    """The share (c,) of draws (c, n) in which each point is the lowest."""
    win_counts = (draws.min(axis=0) == draws).view(np.uint8).sum(axis=1, dtype=np.uint32)
    return np.asarray(win_counts / win_counts.sum())
