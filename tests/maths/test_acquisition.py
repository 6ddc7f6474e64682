"""Log expected improvement against arbitrary precision and against dice."""

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.integrate import quad

from fovnet.maths.acquisition import log_expected_improvement, log_h


def exact_log_h(z):
    """log(φ(z) + z Φ(z)) with 80 digits; far left, where they would not do, through the series of Mills' ratio."""
    with mp.workdps(80):
        z = mpf(float(z))
        if z > -5:
            return float(mp.log(mp.npdf(z) + z * mp.ncdf(z)))
        return float(mp.log1p(z * mills(-z)) - z * z / 2 - mp.log(2 * mp.pi) / 2)


def mills(x):
    """Φ(-x)/φ(x) for x ≥ 5: Laplace's continued fraction 1/(x + 1/(x + 2/(x + ...))), evaluated from far below."""
    tail = x
    for k in range(600, 0, -1):
        tail = x + k / tail
    return 1 / tail


Z = [*-np.logspace(-3, 8, 34), *np.logspace(-3, 8, 23), 0.0, -1.0, np.nextafter(-1.0, 0), -38.0, -1e3, -1e5, -1.0001e5, -1e6, -1e8]


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
    area, _ = quad(lambda t: deviation * (z - t) * np.exp(-t * t / 2) / np.sqrt(2 * np.pi), -12, z, epsabs=0)
    throws = mean + deviation * np.random.default_rng(0).standard_normal(1_000_000)
    assert value == pytest.approx(area, rel=1e-9)
    assert value == pytest.approx(np.maximum(best - throws, 0.0).mean(), rel=0.03)


def test_a_known_point_offers_its_own_improvement_or_next_to_none():
    better, worse = log_expected_improvement(np.array([0.0, 1.0]), np.zeros(2), 0.5)
    assert better == pytest.approx(np.log(0.5)) and worse < -1e6
