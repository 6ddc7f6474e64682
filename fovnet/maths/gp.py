"""Gaussian-process regression, one lengthscale for each column of the search space's unit cube.

    X      (n, D)     evaluated points
    x      (m, D)     query points
    y      (n,)       observed values
    gaps   (D, n, n)  squared distances of the rows of X along each column
    ell    (D,)       lengthscales, made of p scales as in maths/scales.py; usually p = D and they
                      are the lengthscales
    s2, noise         signal variance, and noise variance
    theta  (p+2,)     log of (scales, s2, noise)
    r2                squared distance in units of the lengthscales, Σⱼ gapsⱼ / ellⱼ²
    L      (n, n)     lower Cholesky factor of K = s2·k(r2) + noise·I
    alpha  (n,)       K⁻¹ y

The mean of the process is zero: hand over centred values.

Source: Rasmussen & Williams, *Gaussian Processes for Machine Learning* (2006), chapters 2, 4 and 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.spatial.distance import cdist

from fovnet.maths.kernels import Kernel, matern52
from fovnet.maths.scales import Scales

Floats = NDArray[np.float64]

QUERY_BLOCK = 4096
"""Query points taken at once: with n = 300 the (n, block) arrays stay below 10 MB, within the
cache."""


def squared_gaps(X: Floats) -> Floats:
    """`gaps` (D, n, n): the squared distance of every two points X (n, D) along each column."""
    return np.stack([np.subtract.outer(column, column) ** 2 for column in X.T])


def log_marginal_likelihood(
    theta: Floats, gaps: Floats, y: Floats, scales: Scales | None = None, kernel: Kernel = matern52
) -> tuple[float, Floats]:
    """log p(y | X, theta) and its gradient (p+2,) in theta, for values y (n,) at points of these
    squared gaps (D, n, n).  R&W eqs 5.8 and 5.9.

    Raises LinAlgError where K is not positive definite.
    """
    D = len(gaps)
    n = len(y)
    scales = scales or Scales.plain(D)
    column_precision = np.exp(-2.0 * scales.log_lengthscales(theta))
    s2 = np.exp(theta[-2])
    noise = np.exp(theta[-1])
    flat_gaps = gaps.reshape(D, n * n)
    k, kernel_slope = kernel((column_precision @ flat_gaps).reshape(n, n))
    # scipy's own wrappers take as long as the arithmetic of 50 points
    L, failed_row = dpotrf(s2 * k + noise * np.eye(n), lower=1)
    if failed_row:
        raise LinAlgError(f"row {failed_row} of the covariance makes it singular")
    alpha, _ = dpotrs(L, y, lower=1)
    log_likelihood = -0.5 * y @ alpha - np.log(np.diag(L)).sum() - 0.5 * n * np.log(2.0 * np.pi)

    # the derivative in K is W / 2
    W = np.outer(alpha, alpha) - dpotrs(L, np.eye(n), lower=1)[0]
    column_gradient = column_precision * (flat_gaps @ (W * kernel_slope).ravel()) * s2
    gradient = 0.5 * np.array(
        [*(column_gradient @ scales.share), np.vdot(W, k) * s2, noise * np.trace(W)]
    )
    return float(log_likelihood), gradient


def log_prior(theta: Floats, scales: Scales) -> tuple[float, Floats]:
    """The log density (up to a constant) of a weak prior on theta, and its gradient (p+2,).

    It determines what the data do not, such as the lengthscale of an axis on which all points have
    the same level.
    """
    centre, width = prior_of(scales)
    offset = (theta - centre) / width
    log_density = -0.5 * offset @ offset
    return float(log_density), -offset / width


def prior_of(scales: Scales) -> tuple[Floats, Floats]:
    """Centre and width, (p+2,) each, of the normal prior on theta, for values of unit variance on
    the unit cube.

    s2     1, with a log-deviation of 0.4
    noise  0.1, with 0.7: a third of the spread, as between trainings of two seeds
    """
    return np.array([*scales.centre, 0.0, np.log(0.1)]), np.array([*scales.width, 0.4, 0.7])


def fit_theta(
    X: Floats,
    y: Floats,
    scales: Scales | None = None,
    kernel: Kernel = matern52,
    first_start: Floats | None = None,
) -> Floats:
    """The theta (p+2,) of greatest posterior density: `log_marginal_likelihood` + `log_prior`.

    L-BFGS-B from two starts, lengthscales of 0.5 with more noise, and `first_start` or else the
    prior's centre; no randomness, so that a proposal can be replayed.  y is expected centred and of
    about unit variance.
    """
    from scipy.optimize import minimize

    scales = scales or Scales.plain(X.shape[1])
    gaps = squared_gaps(X)
    scale_count = scales.share.shape[1]
    short_scale_start = np.array(
        [
            *np.full(scales.axis_count, np.log(0.5)),
            *np.zeros(scale_count - scales.axis_count),
            0.0,
            -2.5,
        ]
    )
    bounds = [(np.log(0.02), np.log(50.0))] * scale_count + [
        (np.log(0.01), np.log(100.0)),
        (np.log(1e-6), np.log(10.0)),
    ]

    def cost(theta: Floats) -> tuple[float, Floats]:
        """Minus the log of the posterior density of theta, and its gradient (p+2,)."""
        log_likelihood, likelihood_gradient = log_marginal_likelihood(
            theta, gaps, y, scales, kernel
        )
        log_density, prior_gradient = log_prior(theta, scales)
        return -(log_likelihood + log_density), -(likelihood_gradient + prior_gradient)

    if first_start is None:
        first_start, _ = prior_of(scales)
    optima = [
        minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds)
        for start in (first_start, short_scale_start)
    ]
    return np.asarray(min(optima, key=lambda optimum: float(optimum.fun)).x)


def factorise(
    X: Floats, theta: Floats, scales: Scales | None = None, kernel: Kernel = matern52
) -> Floats:
    """L (n, n), the lower Cholesky factor of the noisy covariance of the observed points X (n, D),
    given theta (p+2,)."""
    X = X / (scales or Scales.plain(X.shape[1])).lengthscales(theta)
    K, _ = kernel(cdist(X, X, "sqeuclidean"))
    return np.asarray(
        cholesky(
            np.exp(theta[-2]) * K + np.exp(theta[-1]) * np.eye(len(X)),
            lower=True,
            check_finite=False,
        )
    )


def posterior(
    x: Floats,
    X: Floats,
    y: Floats,
    theta: Floats,
    scales: Scales | None = None,
    kernel: Kernel = matern52,
) -> tuple[Floats, Floats]:
    """Mean (m,) and variance (m,) of the noise-free function at points x (m, D), given values y
    (n,) observed at X (n, D) and the hyper-parameters theta (p+2,).  R&W eqs 2.25 and 2.26."""
    lengthscales = (scales or Scales.plain(X.shape[1])).lengthscales(theta)
    s2 = np.exp(theta[-2])
    L = factorise(X, theta, scales, kernel)
    X = X / lengthscales
    x = x / lengthscales
    alpha = cho_solve((L, True), y, check_finite=False)
    mean = np.empty(len(x))
    variance = np.empty(len(x))
    for first_query in range(0, len(x), QUERY_BLOCK):
        query_block = slice(first_query, first_query + QUERY_BLOCK)
        cross_covariance = s2 * kernel(cdist(X, x[query_block], "sqeuclidean"))[0]  # (n, block)
        mean[query_block] = cross_covariance.T @ alpha
        solved_covariance = solve_triangular(L, cross_covariance, lower=True, check_finite=False)
        variance[query_block] = s2 - np.einsum("nm,nm->m", solved_covariance, solved_covariance)
    # at a training point rounding gives -1e-16
    return mean, np.maximum(variance, 0.0)


def leave_one_out(L: Floats, y: Floats) -> Floats:
    """Mean (n,) at each evaluated point, given the other n - 1 of the observations y (n,) and the
    factor L (n, n) of all; 0, the prior's, where it is the only one.

    R&W eq. 5.12, with theta unchanged.
    """
    inverse_factor = solve_triangular(L, np.eye(len(y)), lower=True, check_finite=False)
    return np.asarray(
        y
        - inverse_factor.T
        @ (inverse_factor @ y)
        / np.einsum("nm,nm->m", inverse_factor, inverse_factor)
    )
