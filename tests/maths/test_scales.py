"""Lengthscales that several columns share."""

import numpy as np
from hypothesis import given, settings
from hypothesis.strategies import integers
from scipy.optimize import approx_fprime

from fovnet.maths import gp
from fovnet.maths.scales import Scales

AXIS = np.array([0, 1, 1, 1, 2, 3, 3, 3])  # two ordinals, and two categories of three levels
LEVEL = np.array([-1, 0, 1, 2, -1, 0, 1, 2])  # which offer the same three
SCALES = Scales.of(AXIS, LEVEL)


def test_the_lengthscale_of_a_category_is_that_of_its_axis_times_that_of_the_level():
    theta = np.log([2.0, 3.0, 5.0, 7.0, 0.1, 1.0, 10.0, 1.0, 0.01])
    np.testing.assert_allclose(
        SCALES.lengthscales(theta), [2.0, 0.3, 3.0, 30.0, 5.0, 0.7, 7.0, 70.0]
    )


def test_plain_scales_are_the_lengthscales_of_the_columns():
    theta = np.log([0.2, 0.5, 0.9, 1.0, 0.01])
    np.testing.assert_allclose(Scales.plain(3).lengthscales(theta), [0.2, 0.5, 0.9])


@given(n=integers(2, 12), seed=integers(0, 999))
@settings(max_examples=30)
def test_the_likelihood_is_that_of_the_lengthscales_made_of_them_and_its_gradient_the_finite_difference(
    n, seed
):
    rng = np.random.default_rng(seed)
    X, y, theta = rng.random((n, 8)), rng.standard_normal(n), 0.5 * rng.standard_normal(9)
    gaps = gp.squared_gaps(X)
    spelt_out = np.array([*np.log(SCALES.lengthscales(theta)), *theta[-2:]])
    value, gradient = gp.log_marginal_likelihood(theta, gaps, y, SCALES)
    assert np.isclose(value, gp.log_marginal_likelihood(spelt_out, gaps, y)[0], rtol=1e-12)
    numeric = approx_fprime(
        theta, lambda t: gp.log_marginal_likelihood(t, gaps, y, SCALES)[0], 1e-6
    )
    np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-4)


def test_a_level_that_changes_everything_on_one_axis_is_expected_to_on_another():
    """Losses depend on whether the first category is at level 2, where the second one was never seen."""
    corners = np.eye(3) / np.sqrt(2.0)
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 3, 40), rng.integers(0, 2, 40)
    X = np.column_stack([rng.random(40), corners[first], rng.random(40), corners[second]])
    y = (first == 2) * 3.0
    y = (y - y.mean()) / y.std()
    shared = SCALES.lengthscales(gp.fit_theta(X, y, SCALES))
    assert shared[3] < shared[1] / 3 and shared[7] < shared[5] / 3
    alone = Scales.of(AXIS).lengthscales(gp.fit_theta(X, y, Scales.of(AXIS)))
    assert alone[7] == alone[5]
