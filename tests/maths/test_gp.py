"""The Gaussian process against scikit-learn's, and against its own finite differences."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from fovnet.maths import gp
from fovnet.maths.growing import Growing
from fovnet.maths.scales import Scales


def problem(n, d, seed):
    rng = np.random.default_rng([seed, n, d])
    theta = rng.normal([*np.full(d, -0.5), 0.2, -4.0], 0.5)
    return rng.random((n, d)), rng.standard_normal(n), theta, rng.random((50, d))


def peer(X, y, theta, noise_in_kernel=False):
    """scikit-learn's process at the same theta; its own prediction includes no noise only when noise is given
    as alpha."""
    *ell, s2, noise = np.exp(theta)
    kernel = ConstantKernel(s2) * Matern(ell, nu=2.5)
    if noise_in_kernel:
        return GaussianProcessRegressor(kernel + WhiteKernel(noise), alpha=0.0, optimizer=None).fit(
            X, y
        )
    return GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 7), (30, 3), (80, 7)])
def test_mean_and_variance_equal_scikit_learn(n, d):
    X, y, theta, x = problem(n, d, 0)
    mean, variance = gp.posterior(x, X, y, theta)
    peer_mean, peer_deviation = peer(X, y, theta).predict(x, return_std=True)
    np.testing.assert_allclose(mean, peer_mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(variance, peer_deviation**2, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 7), (30, 3), (80, 7)])
def test_log_marginal_likelihood_and_its_gradient_equal_scikit_learn(n, d):
    X, y, theta, _ = problem(n, d, 1)
    value, gradient = gp.log_marginal_likelihood(theta, gp.squared_gaps(X), y)
    model = peer(X, y, theta, noise_in_kernel=True)
    order = [*range(1, d + 1), 0, d + 1]  # theirs is (s2, ell, noise)
    theirs = np.empty(d + 2)
    theirs[order] = theta
    peer_value, peer_gradient = model.log_marginal_likelihood(theirs, eval_gradient=True)
    assert value == pytest.approx(peer_value, abs=1e-9)
    np.testing.assert_allclose(gradient, peer_gradient[order], rtol=1e-9, atol=1e-9)


@given(n=integers(1, 12), d=integers(1, 5), seed=integers(0, 999))
@settings(max_examples=30)
def test_gradients_equal_finite_differences(n, d, seed):
    X, y, theta, _ = problem(n, d, seed)
    gaps = gp.squared_gaps(X)
    for value_and_gradient in (
        lambda t: gp.log_marginal_likelihood(t, gaps, y),
        lambda t: gp.log_prior(t, Scales.plain(len(gaps))),
    ):
        numeric = approx_fprime(theta, lambda t, f=value_and_gradient: f(t)[0], 1e-6)
        np.testing.assert_allclose(value_and_gradient(theta)[1], numeric, rtol=1e-3, atol=1e-4)


def test_two_trainings_of_one_point_are_allowed():
    X = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])
    theta = gp.fit_theta(X, np.array([1.0, 1.2, -2.0]))
    mean, variance = gp.posterior(X, X, np.array([1.0, 1.2, -2.0]), theta)
    assert mean[0] == mean[1] and np.isfinite([*theta, *mean, *variance]).all()


def test_fit_is_at_least_as_good_as_scikit_learns_best_of_ten_starts():
    """Where scikit-learn ends, the likelihood is the same as ours there, and the posterior density not above
    that of our fit."""
    X, _, _, _ = problem(40, 3, 2)
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2
    y = (y - y.mean()) / y.std()
    kernel = ConstantKernel(1.0, (0.01, 100)) * Matern([1.0] * 3, (0.02, 50), nu=2.5) + WhiteKernel(
        1e-3, (1e-6, 10)
    )
    with warnings.catch_warnings(action="ignore"):  # it says when it ends at a bound
        best = GaussianProcessRegressor(
            kernel, alpha=0.0, n_restarts_optimizer=9, random_state=0
        ).fit(X, y)
    s2, *ell, noise = best.kernel_.theta

    def density(theta):
        return (
            gp.log_marginal_likelihood(theta, gp.squared_gaps(X), y)[0]
            + gp.log_prior(theta, Scales.plain(3))[0]
        )

    theirs = np.array([*ell, s2, noise])
    assert gp.log_marginal_likelihood(theirs, gp.squared_gaps(X), y)[0] == pytest.approx(
        best.log_marginal_likelihood_value_, abs=1e-6
    )
    assert density(gp.fit_theta(X, y)) >= density(theirs)


@pytest.mark.parametrize("seed", [3, 57])
def test_where_a_wave_and_noise_explain_the_values_alike_the_better_explanation_is_found(seed):
    """The posterior of theta has two peaks, now of the wave the higher one, now of the noise: no point of a
    grid lies above the fit."""
    rng = np.random.default_rng(seed)
    X = rng.random((16, 2))
    y = np.sin(rng.choice([6, 20, 40]) * X[:, 0]) + rng.choice(
        [0.1, 0.5, 1.0]
    ) * rng.standard_normal(16)
    y = (y - y.mean()) / y.std()
    gaps, scales = gp.squared_gaps(X), Scales.plain(2)

    def density(theta):
        return gp.log_marginal_likelihood(theta, gaps, y)[0] + gp.log_prior(theta, scales)[0]

    lengths = np.log(np.geomspace(0.05, 3.0, 14))
    grid = product(lengths, lengths, np.log([0.7, 1.0, 1.4]), np.log(np.geomspace(0.01, 1.0, 6)))
    assert density(gp.fit_theta(X, y)) >= max(density(np.array(theta)) for theta in grid)


def test_an_axis_without_influence_gets_a_long_lengthscale():
    X, _, _, _ = problem(60, 3, 3)
    y = np.cos(5 * X[:, 0])
    ell = np.exp(gp.fit_theta(X, (y - y.mean()) / y.std())[:3])
    assert ell[0] < ell[1] and ell[0] < ell[2]


def test_the_posterior_falls_back_to_the_prior_far_away():
    mean, variance = gp.posterior(
        np.array([[1e6]]), np.array([[0.0]]), np.array([3.0]), np.log([1.0, 2.0, 0.1])
    )
    assert mean[0] == pytest.approx(0.0) and variance[0] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("n", "d", "scale"), [(1, 1, 1.0), (2, 7, 1.0), (30, 3, 1.0), (80, 2, 1e-6), (80, 2, 1e12)]
)
def test_leave_one_out_means_are_those_of_the_process_without_each_point(n, d, scale):
    """From the factor that a growing process keeps."""
    X, y, theta, _ = problem(n, d, 3)
    means = gp.leave_one_out(
        Growing(X, Scales.plain(d), theta, settled_count=n // 2).factor(np.arange(n)), scale * y
    )
    for i in range(n):
        others = np.arange(n) != i
        apart = gp.posterior(X[[i]], X[others], scale * y[others], theta)[0][0] if n > 1 else 0.0
        assert means[i] == pytest.approx(apart, rel=1e-7, abs=1e-9 * scale)


def test_leave_one_out_sees_through_values_that_one_point_alone_explains():
    """Twins confirm one another; a lone point is not foretold by its own value."""
    X = np.array([[0.0], [0.0], [50.0]])
    y, theta = np.array([2.0, 2.0, -3.0]), np.log([1.0, 1.0, 0.01])
    K = np.array([[1.01, 1.0, 0.0], [1.0, 1.01, 0.0], [0.0, 0.0, 1.01]])
    assert gp.leave_one_out(np.linalg.cholesky(K), y) == pytest.approx(
        [2.0 / 1.01, 2.0 / 1.01, 0.0]
    )
    assert gp.posterior(X, X, y, theta)[0][2] == pytest.approx(-3.0 / 1.01)
