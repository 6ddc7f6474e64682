"""Log expected improvement against arbitrary precision and against dice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats
from mpmath import mp, mpf
from scipy.integrate import quad

from fovnet.maths.acquisition import (
    expected_regret,
    log_expected_improvement,
    log_h,
    log_probability_of_improvement,
    lower_confidence_bound,
    scheduled_width,
)


def exact_log_h(z):
    """log(φ(z) + z Φ(z)) with 80 digits; far left, where they would not do, through the series of Mills'
    ratio."""
    with mp.workdps(80):
        z = mpf(float(z))
        if z > -5:
            return float(mp.log(mp.npdf(z) + z * mp.ncdf(z)))
        return float(mp.log1p(z * mills(-z)) - z * z / 2 - mp.log(2 * mp.pi) / 2)


def mills(x):
    """Φ(-x)/φ(x) for x ≥ 5: Laplace's continued fraction 1/(x + 1/(x + 2/(x + ...))), evaluated from far
    below."""
    tail = x
    for k in range(600, 0, -1):
        tail = x + k / tail
    return 1 / tail


Z = [
    *-np.logspace(-3, 8, 34),
    *np.logspace(-3, 8, 23),
    0.0,
    -1.0,
    np.nextafter(-1.0, 0),
    -38.0,
    -1e3,
    -1e5,
    -1.0001e5,
    -1e6,
    -1e8,
]


@pytest.mark.parametrize("z", Z)
def test_log_h_is_right_from_minus_1e8_to_1e8(z):
    assert log_h(np.array([z]))[0] == pytest.approx(exact_log_h(z), rel=2e-14, abs=2e-14)


def test_log_h_rises_everywhere():
    z = np.sort(np.concatenate([-np.logspace(-8, 100, 5000), np.logspace(-8, 100, 5000)]))
    value = log_h(z)
    assert np.isfinite(value).all() and (np.diff(value) >= 0.0).all()


@pytest.mark.parametrize("mean", [-1.0, 0.0, 2.0])
def test_it_is_the_logarithm_of_the_expected_improvement(mean):
    """Against quadrature to ten digits, and against a million throws to two."""
    deviation, best = 0.7, 0.3
    value = np.exp(log_expected_improvement(np.array([mean]), np.array([deviation**2]), best))[0]
    z = (best - mean) / deviation
    area, _ = quad(
        lambda t: deviation * (z - t) * np.exp(-t * t / 2) / np.sqrt(2 * np.pi), -12, z, epsabs=0
    )
    throws = mean + deviation * np.random.default_rng(0).standard_normal(1_000_000)
    assert value == pytest.approx(area, rel=1e-9)
    assert value == pytest.approx(np.maximum(best - throws, 0.0).mean(), rel=0.03)


def test_a_known_point_offers_its_own_improvement_or_next_to_none():
    better, worse = log_expected_improvement(np.array([0.0, 1.0]), np.zeros(2), 0.5)
    assert better == pytest.approx(np.log(0.5)) and worse < -1e6


@pytest.mark.parametrize("mean", [-1.0, 0.0, 30.0])
def test_the_probability_of_improvement_is_the_area_below_the_best(mean):
    value = log_probability_of_improvement(np.array([mean]), np.array([0.49]), 0.3)[0]
    with mp.workdps(50):
        assert value == pytest.approx(
            float(mp.log(mp.ncdf((mpf("0.3") - mean) / mpf("0.7")))), rel=1e-10
        )


def test_the_confidence_bound_is_two_deviations_below_the_mean_and_turned():
    np.testing.assert_allclose(
        lower_confidence_bound(np.array([1.0, 0.0]), np.array([4.0, 0.0])), [3.0, 0.0], atol=1e-8
    )


def test_the_published_schedule_widens_the_bound_with_the_points_and_the_evaluations():
    """β = 2 log(|D| t² π² / 6δ), here of the 30th evaluation of 600 points."""
    beta = 2 * np.log(600 * 30**2 * np.pi**2 / (6 * 0.1))
    assert scheduled_width(30, 600) ** 2 == pytest.approx(beta)
    assert scheduled_width(1, 600) < scheduled_width(2, 600) < scheduled_width(2, 601)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_expected_regret_of_independent_points_is_what_dice_say(count):
    rng = np.random.default_rng(count)
    mean, deviation = rng.normal(0.0, 1.0, count), rng.uniform(0.1, 1.0, count)
    throws = mean + deviation * rng.standard_normal((200_000, count))
    gained = np.maximum(0.2 - throws.min(axis=1), 0.0)
    value = expected_regret(mean, deviation**2, 0.2)
    assert value == pytest.approx(gained.mean(), abs=5 * gained.std() / np.sqrt(200_000))


@pytest.mark.parametrize("count", [1, 3, 40])
def test_where_the_best_is_known_but_roughly_the_dice_are_thrown_for_it_too(count):
    rng = np.random.default_rng(count)
    mean, deviation = rng.normal(0.3, 0.7, count), rng.uniform(0.1, 0.6, count)
    lowest = (mean + deviation * rng.standard_normal((200_000, count))).min(axis=1)
    gained = np.maximum(0.2 + 0.4 * rng.standard_normal(200_000) - lowest, 0.0)
    value = expected_regret(mean, deviation**2, 0.2, 0.16)
    assert value == pytest.approx(gained.mean(), abs=5 * gained.std() / np.sqrt(200_000))


def test_one_point_and_a_doubtful_best_differ_by_a_normal():
    """b - f is normal, its variance the sum of both: the closed form of the expected improvement holds for
    it."""
    mean, variance = np.array([0.4]), np.array([0.25])
    one = np.exp(log_expected_improvement(mean, variance + 0.3, 0.1))[0]
    assert expected_regret(mean, variance, 0.1, 0.3) == pytest.approx(one, rel=1e-6)


def test_one_point_has_its_expected_improvement_as_regret():
    mean, variance = np.array([0.4]), np.array([0.25])
    assert expected_regret(mean, variance, 0.1) == pytest.approx(
        np.exp(log_expected_improvement(mean, variance, 0.1))[0], rel=1e-6
    )


@given(rho=floats(0.0, 0.99), best=floats(-2.0, 1.0))
@settings(max_examples=20)
def test_where_points_agree_the_true_regret_is_no_higher(rho, best):
    """Slepian's inequality, by dice: ten points of equal correlation."""
    rng = np.random.default_rng(0)
    throws = np.sqrt(rho) * rng.standard_normal((20_000, 1)) + np.sqrt(
        1 - rho
    ) * rng.standard_normal((20_000, 10))
    gained = np.maximum(best - throws.min(axis=1), 0.0)
    assert (
        expected_regret(np.zeros(10), np.ones(10), best)
        >= gained.mean() - 5 * gained.std() / np.sqrt(20_000) - 1e-9
    )


def test_known_points_that_are_no_better_leave_no_regret():
    assert expected_regret(np.array([1.0, 2.0]), np.zeros(2), 0.5) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("place", [0, 2047, 2048, 4999])
def test_of_thousands_of_points_the_only_good_one_is_found_wherever_it_stands(place):
    """The others lie ten deviations above the best: what is to be gained is the good one's own expected
    improvement."""
    mean, variance = np.full(5000, 10.0), np.ones(5000)
    mean[place] = 0.4
    alone = np.exp(log_expected_improvement(np.array([0.4]), np.array([1.0]), 0.0))[0]
    assert expected_regret(mean, variance, 0.0) == pytest.approx(alone, rel=1e-6)
