"""What a trial tells about the minimum, against arbitrary precision, quadrature, dice and brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from mpmath import mp, mpf
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import gumbel_l, multivariate_normal

from fovnet.maths import entropy


def exact_log_entropy_lost(gamma):
    """log(γφ/2Φ - log Φ) with 80 digits, far out too: Φ/φ from Laplace's continued fraction."""
    with mp.workdps(80):
        g = mpf(float(gamma))
        if g < -30:
            hazard = -g
            for k in range(600, 0, -1):
                hazard = k / hazard - g
            return float(
                mp.log(g * hazard / 2 + g * g / 2 + mp.log(2 * mp.pi) / 2 + mp.log(hazard))
            )
        beyond = mp.erfc(g / mp.sqrt(2)) / 2
        return float(mp.log(g * mp.npdf(g) / (2 * (1 - beyond)) - mp.log1p(-beyond)))


@pytest.mark.parametrize(
    "gamma", [*-np.logspace(-3, 8, 23), *np.logspace(-3, 4, 15), 0.0, 8.3, 38.5, -9.9e3, -1.01e4]
)
def test_the_entropy_lost_is_right_from_minus_1e8_to_1e4(gamma):
    assert entropy.log_entropy_lost(np.array([gamma]))[0] == pytest.approx(
        exact_log_entropy_lost(gamma), rel=1e-12, abs=2e-9
    )


@pytest.mark.parametrize("gamma", [-6.0, -2.0, -0.5, 0.0, 0.7, 3.0])
def test_it_is_the_entropy_of_a_normal_less_that_of_the_normal_cut_off(gamma):
    """By quadrature of -p log p; γ is as far as the mean lies above the cut, so what is left is the part
    above -γ."""
    log_left = log_ndtr(gamma)

    def surprise(t):
        log_density = -0.5 * t * t - 0.5 * np.log(2 * np.pi) - log_left
        return -np.exp(log_density) * log_density

    left = quad(surprise, -gamma, max(-gamma, 0.0) + 12.0, epsabs=1e-13)[0]
    whole = 0.5 * np.log(2 * np.pi * np.e)
    assert np.exp(entropy.log_entropy_lost(np.array([gamma]))[0]) == pytest.approx(
        whole - left, abs=1e-9
    )


def test_it_falls_with_gamma_everywhere_and_its_bound_lies_above():
    gamma = np.sort(np.concatenate([-np.logspace(-8, 100, 3000), np.logspace(-8, 100, 3000)]))
    value = entropy.log_entropy_lost(gamma)
    assert np.isfinite(value).all() and (np.diff(value) <= 1e-8).all()
    bound = entropy.bound_information_on_the_lowest(gamma, np.ones(len(gamma)), np.zeros(1))
    assert (bound >= value - 1e-9 * np.abs(value)).all()


@given(seed=integers(0, 999))
@settings(max_examples=20)
def test_the_bound_of_several_minima_lies_above_their_mean(seed):
    rng = np.random.default_rng(seed)
    mean, variance, lowest = (
        rng.normal(0.0, 1.0, 50),
        rng.uniform(0.0, 1.0, 50),
        rng.normal(-1.0, 0.5, 16),
    )
    value = entropy.log_information_on_the_lowest(mean, variance, lowest)
    assert (
        entropy.bound_information_on_the_lowest(mean, variance, lowest)
        >= value - 1e-9 * np.abs(value)
    ).all()
    each = [
        np.exp(entropy.log_information_on_the_lowest(mean, variance, lowest[[k]]))
        for k in range(16)
    ]
    np.testing.assert_allclose(np.exp(value), np.mean(each, axis=0), rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 7, 300, 4096])
def test_quartiles_of_the_lowest_are_those_of_bisection(count):
    rng = np.random.default_rng(count)
    mean, deviation = rng.normal(0.0, 1.0, count), rng.uniform(0.05, 1.0, count)
    for share, found in zip(
        (0.25, 0.5, 0.75), entropy.quartiles_of_the_lowest(mean, deviation**2), strict=True
    ):
        low, high = (mean - 6 * deviation).min(), (mean + 6 * deviation).min()
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = -np.expm1(log_ndtr((mean - middle) / deviation).sum()) < share
            low, high = (middle, high) if below else (low, middle)
        assert found == pytest.approx(middle, abs=1e-9)


def test_quartiles_of_one_point_are_those_of_a_normal():
    np.testing.assert_allclose(
        entropy.quartiles_of_the_lowest(np.array([3.0]), np.array([4.0])),
        np.array([3.0 - 1.34898, 3.0, 3.0 + 1.34898]),
        atol=1e-5,
    )


@pytest.mark.parametrize("steep", [0.1, 0.5, 1.0])
def test_of_many_points_neighbours_may_count_as_equal(monkeypatch, steep):
    rng = np.random.default_rng(0)
    mean, variance = steep * rng.normal(0.0, 1.0, 20_000), rng.uniform(0.05, 1.0, 20_000) ** 2
    grouped = np.array(entropy.quartiles_of_the_lowest(mean, variance))
    monkeypatch.setattr(entropy, "MOST_SEPARATE_POINTS", 20_000)
    singly = np.array(entropy.quartiles_of_the_lowest(mean, variance))
    assert not np.array_equal(grouped, singly) and np.abs(grouped - singly).max() < 1e-3 * (
        singly[2] - singly[0]
    )


def test_drawn_minima_follow_the_gumbel_distribution_of_those_quartiles():
    rng = np.random.default_rng(1)
    mean, variance, uniform = (
        rng.normal(0.0, 1.0, 60),
        rng.uniform(0.2, 0.8, 60) ** 2,
        np.linspace(0.01, 0.99, 99),
    )
    first, middle, last = entropy.quartiles_of_the_lowest(mean, variance)
    drawn = np.sort(entropy.draw_lowest_values(mean, variance, uniform))
    scale = (last - first) / (gumbel_l.ppf(0.75) - gumbel_l.ppf(0.25))
    np.testing.assert_allclose(
        drawn, gumbel_l.ppf(uniform, loc=middle - scale * gumbel_l.ppf(0.5), scale=scale), atol=1e-9
    )
    throws = (mean + np.sqrt(variance) * rng.standard_normal((40_000, 60))).min(axis=1)
    np.testing.assert_allclose(
        np.quantile(throws, [0.1, 0.25, 0.5, 0.75, 0.9]),
        np.quantile(drawn, [0.1, 0.25, 0.5, 0.75, 0.9]),
        atol=0.06,
    )


@given(shift=floats(-5.0, 5.0), scale=floats(0.1, 10.0))
@settings(max_examples=20)
def test_another_origin_and_unit_of_the_values_change_no_information(shift, scale):
    rng = np.random.default_rng(2)
    mean, variance, uniform = rng.normal(0.0, 1.0, 30), rng.uniform(0.1, 1.0, 30), rng.random(16)
    plain = entropy.log_information_on_the_lowest(
        mean, variance, entropy.draw_lowest_values(mean, variance, uniform)
    )
    moved = shift + scale * mean, scale**2 * variance
    value = entropy.log_information_on_the_lowest(
        *moved, entropy.draw_lowest_values(*moved, uniform)
    )
    np.testing.assert_allclose(value, plain, rtol=1e-5, atol=1e-5)


def entropy_of(shares):
    return -sum(p * np.log(p) for p in shares if p > 0)


def place_shares(mean, covariance):
    """P(point j is the lowest) of two or three jointly normal points, from the distribution of its
    differences to the others."""
    shares = []
    for j in range(len(mean)):
        others = [i for i in range(len(mean)) if i != j]
        D = np.zeros((len(others), len(mean)))
        D[np.arange(len(others)), j] = 1.0
        D[np.arange(len(others)), others] = -1.0
        shares.append(
            multivariate_normal.cdf(
                np.zeros(len(others)), D @ mean, D @ covariance @ D.T, allow_singular=True
            )
        )
    return np.array(shares) / np.sum(shares)


def exact_information(mean, covariance, noise, x):
    """By conditioning the normal on each value of a fine grid."""
    v, told = covariance[x, x] + noise, covariance[:, x]
    z = np.linspace(-6.0, 6.0, 121)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    left = [
        entropy_of(
            place_shares(mean + told * at / np.sqrt(v), covariance - np.outer(told, told) / v)
        )
        for at in z
    ]
    return entropy_of(place_shares(mean, covariance)) - weight @ left


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [2, 3])
def test_information_on_the_place_of_few_points_is_that_of_brute_force(count, seed):
    """Among them a noise of 1e-4: then a value of a point tells nearly all about it."""
    rng = np.random.default_rng([seed, count])
    mean, half = rng.normal(0.0, 0.5, count), rng.normal(0.0, 1.0, (count, count + 1))
    covariance, noise = half @ half.T / count, (0.3, 1e-4)[seed % 2]
    exact = [exact_information(mean, covariance, noise, x) for x in range(count)]
    found = entropy.information_on_the_place(
        mean, covariance, noise, np.arange(count), np.random.default_rng(0), draws=40_000
    )
    np.testing.assert_allclose(found, exact, rtol=0.02, atol=0.006)
    usual = entropy.information_on_the_place(
        mean, covariance, noise, np.arange(count), np.random.default_rng(0), draws=4000
    )
    np.testing.assert_allclose(usual, exact, rtol=0.05, atol=0.015)


def test_a_point_without_bearing_on_the_others_that_cannot_be_the_lowest_tells_nothing():
    mean, covariance = np.array([0.0, 0.1, 9.0]), np.diag([1.0, 1.0, 1.0])
    found = entropy.information_on_the_place(
        mean, covariance, 0.1, np.arange(3), np.random.default_rng(0), draws=4000
    )
    assert found[2] == pytest.approx(0.0, abs=1e-6) and min(found[:2]) > 0.1


def test_points_that_agree_wholly_share_the_place_and_raise_nothing():
    """Two that are one and the same, as where an axis does not matter, and one whose value is known."""
    covariance = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    found = entropy.information_on_the_place(
        np.zeros(3), covariance, 0.01, np.arange(3), np.random.default_rng(0), draws=4000
    )
    assert (
        found[0] == pytest.approx(found[1], abs=0.02)
        and found[0] > 0.5
        and found[2] == pytest.approx(0.0, abs=1e-6)
    )


@pytest.mark.parametrize("rounding", [0.0, -1e-9, -1e-5, -1e-3])
@pytest.mark.parametrize("variance", [0.0, 1e-6, 1.0])
def test_rounding_that_leaves_a_negative_variance_is_borne(variance, rounding):
    """With nothing left to learn the place is certain, or, of points that agree, whichever: no number that is
    none comes out."""
    covariance = variance * (np.ones((4, 4)) + np.diag([0.0, 0.0, 0.0, rounding]))
    found = entropy.information_on_the_place(
        np.arange(4.0), covariance, 0.1, np.arange(4), np.random.default_rng(0), draws=200
    )
    assert np.isfinite(found).all() and np.abs(found).max() < np.log(4.0)


@given(shift=floats(-5.0, 5.0), scale=floats(0.1, 10.0))
@settings(max_examples=10)
def test_another_origin_and_unit_change_no_information_on_the_place(shift, scale):
    rng = np.random.default_rng(3)
    mean, half = rng.normal(0.0, 0.5, 8), rng.normal(0.0, 0.4, (8, 8))
    plain = entropy.information_on_the_place(
        mean, half @ half.T, 0.1, np.arange(8), np.random.default_rng(0), draws=500
    )
    moved = entropy.information_on_the_place(
        shift + scale * mean,
        scale**2 * half @ half.T,
        scale**2 * 0.1,
        np.arange(8),
        np.random.default_rng(0),
        draws=500,
    )
    np.testing.assert_allclose(moved, plain, atol=0.01)
