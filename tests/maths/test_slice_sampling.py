"""Elliptical slices against posteriors that are known in closed form."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from fovnet.maths.slice_sampling import elliptical_slices


def test_a_normal_prior_and_a_normal_likelihood_give_the_conjugate_posterior():
    mean, width, seen, noise = (
        np.array([1.0, -2.0]),
        np.array([0.5, 3.0]),
        np.array([2.0, 0.0]),
        np.array([0.7, 1.0]),
    )

    def log_likelihood(x):
        return float(-0.5 * (((x - seen) / noise) ** 2).sum())

    draws = elliptical_slices(
        log_likelihood, mean, mean, width, count=3000, thinning=5, rng=np.random.default_rng(0)
    )
    precision = 1 / width**2 + 1 / noise**2
    expected = (mean / width**2 + seen / noise**2) / precision
    for j in range(2):
        assert kstest(draws[:, j], norm(expected[j], precision[j] ** -0.5).cdf).pvalue > 1e-3


def test_without_a_likelihood_the_prior_comes_back():
    draws = elliptical_slices(
        lambda x: 0.0,
        np.zeros(1),
        np.zeros(1),
        np.full(1, 2.0),
        count=4000,
        thinning=2,
        rng=np.random.default_rng(1),
    )
    assert kstest(draws[:, 0], norm(0.0, 2.0).cdf).pvalue > 1e-3


def test_impossible_points_are_never_kept_and_the_seed_fixes_the_chain():
    def only_positive(x):
        return 0.0 if x[0] > 0 else -np.inf

    def chain(seed):
        return elliptical_slices(
            only_positive,
            np.ones(1),
            np.zeros(1),
            np.ones(1),
            count=500,
            thinning=3,
            rng=np.random.default_rng(seed),
        )

    assert (chain(0) > 0).all() and (chain(0) == chain(0)).all() and (chain(0) != chain(1)).any()
    assert chain(0).mean() == pytest.approx(
        np.sqrt(2 / np.pi), abs=0.08
    )  # the mean of half a normal
