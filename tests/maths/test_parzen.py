"""Parzen estimators of one axis: those of hyperopt, number by number, and densities in their own right."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, lists

from fovnet.maths.parzen import estimate_mixture, estimate_shares, weigh_by_age

AT = np.array([0.0, 0.3, 0.77, 1.0])
WITH_TIES = {n: np.arange(n) * 7 % 11 / 10 for n in (0, 1, 2, 3, 5, 24, 25)}
# no two alike
DISTINCT = {n: np.arange(1, n + 1) * 0.6180339887498949 % 1.0 for n in (1, 2, 26, 40, 100, 300)}
OBSERVED = [
    *WITH_TIES.values(),
    *DISTINCT.values(),
    np.array([0.5]),
    np.array([0.5, 0.5]),
    np.array([1.0, 1.0, 0.0]),
]

RECORDED = [
    [-0.0840222, 0.0209778, 0.0045278, -0.0840222],
    [0.290338031, 0.206519638, -0.313930484, -0.625806391],
    [-0.388470203, -0.149101258, 0.216073964, -0.342829042],
    [-0.060012674, 0.055259769, 0.019825406, -0.885226928],
    [-0.448544853, -0.152892586, 0.103796037, -0.427464089],
    [0.385389032, -0.065833794, 0.036664115, -0.02040492],
    [0.36452948, 0.322283129, -0.017500863, -0.047531907],
    [-0.374251316, -0.009025237, 0.085807836, -0.104312547],
    [-0.389068335, 0.189654392, -0.108699462, -0.891362755],
    [-0.887023743, -0.142698742, -0.138581373, -0.498894627],
    [-0.367614853, -0.115344955, -0.031145954, -0.946737865],
    [-0.27164132, -0.030094744, 0.020572178, -0.977973765],
    [-0.692936998, -0.019835954, 0.003066163, -0.633404902],
    [-0.242670109, 0.056524833, 0.008116495, -0.242670109],
    [-1.072746924, 0.167030897, -0.056560149, -1.072746924],
    [-0.378889924, -0.299917142, 0.257002959, 0.571103172],
]


@pytest.fixture(scope="module")
def theirs():
    """The module hyperopt.tpe."""
    pytest.importorskip(
        "hyperopt",
        reason="hyperopt is not installed: what it gives is compared as recorded, in another test",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from hyperopt import tpe
    return tpe


def test_a_mixture_is_that_of_hyperopt(theirs):
    at = np.linspace(0.0, 1.0, 41)
    for places in OBSERVED:
        mine, (weights, means, deviations) = (
            estimate_mixture(places),
            theirs.adaptive_parzen_normal(places, 1.0, 0.5, 1.0),
        )
        assert np.array_equal(mine.means, means) and np.array_equal(mine.deviations, deviations)
        assert mine.weights == pytest.approx(weights, rel=1e-15)
        assert mine.log_density(at) == pytest.approx(
            theirs.GMM1_lpdf(at, weights, means, deviations, low=0.0, high=1.0), abs=1e-12
        )


@pytest.mark.parametrize("levels", [2, 5, 11])
def test_masses_of_even_levels_are_those_of_hyperopts_rounded_values(theirs, levels):
    at, step = np.linspace(0.0, 1.0, levels), 1.0 / (levels - 1)
    for places in OBSERVED:
        mass = theirs.GMM1_lpdf(
            at, *theirs.adaptive_parzen_normal(places, 1.0, 0.5, 1.0), low=0.0, high=1.0, q=step
        )
        assert estimate_mixture(places).log_mass(at) == pytest.approx(mass, abs=1e-12)


@given(
    places=lists(floats(0.0, 1.0), max_size=40),
    levels=lists(integers(0, 300), min_size=1, max_size=9, unique=True),
)
def test_masses_of_uneven_levels_are_areas_below_the_density_in_whatever_order(places, levels):
    made, middles = estimate_mixture(np.array(places)), (np.arange(20_000) + 0.5) / 20_000
    nearest = np.abs(middles[:, None] - np.array(levels) / 300).argmin(axis=1)
    areas = np.bincount(
        nearest, weights=np.exp(made.log_density(middles)) / len(middles), minlength=len(levels)
    )
    assert np.exp(made.log_mass(np.array(levels) / 300)) == pytest.approx(areas, abs=2e-3)


def test_levels_that_are_equal_or_all_but_equal_have_a_finite_mass():
    assert np.isfinite(
        estimate_mixture(np.array([0.3, 0.9])).log_mass(np.array([0.0, 5e-324, 0.5, 0.5, 1.0]))
    ).all()


@pytest.mark.parametrize("n", [1, 2, 24, 25, 26, 27, 40, 300])
def test_trials_are_forgotten_as_by_hyperopt(theirs, n):
    assert weigh_by_age(n).tolist() == theirs.linear_forgetting_weights(n, 25).tolist()


@pytest.mark.parametrize("n", [0, 1, 24, 25, 26, 100])
def test_shares_of_categories_are_those_of_hyperopt(theirs, n):
    levels = np.arange(n) ** 2 % 4
    counts = (
        np.bincount(levels, weights=theirs.linear_forgetting_weights(n, 25), minlength=5) + 1.0
        if n
        else np.ones(5)
    )
    posterior = counts / counts.sum()
    assert np.exp(estimate_shares(levels, 5).log_density(np.arange(5.0))) == pytest.approx(
        posterior, rel=1e-14
    )


def test_densities_are_those_that_hyperopt_gave():
    """Recorded from hyperopt 0.3.0 by

    for places in OBSERVED:
        weights, means, deviations = tpe.adaptive_parzen_normal(places, 1.0, 0.5, 1.0)
        print(tpe.GMM1_lpdf(AT, weights, means, deviations, low=0.0, high=1.0).round(9).tolist())
    """
    for places, recorded in zip(OBSERVED, RECORDED, strict=True):
        assert estimate_mixture(places).log_density(AT) == pytest.approx(recorded, abs=1e-9)


def test_categories_seen_once_twice_and_never():
    """2, 1 and 0 of three, and 1 added to each: 3, 2 and 1 of six."""
    assert estimate_shares(np.array([0, 1, 0]), 3).shares == pytest.approx([3 / 6, 2 / 6, 1 / 6])


@given(places=lists(floats(0.0, 1.0), max_size=60), seed=integers(0, 99))
def test_a_mixture_has_mass_one_and_draws_inside(places, seed):
    made, middles = estimate_mixture(np.array(places)), (np.arange(4000) + 0.5) / 4000
    assert np.exp(made.log_density(middles)).mean() == pytest.approx(1.0, rel=1e-3)
    drawn = made.draw(np.random.default_rng(seed), 24)
    assert len(drawn) == 24 and (drawn >= 0.0).all() and (drawn < 1.0).all()


@pytest.mark.parametrize("places", [DISTINCT[2], WITH_TIES[5], DISTINCT[40]], ids=len)
def test_values_are_drawn_as_often_as_their_density_says(places):
    """20,000 values in ten bins: every share within four standard deviations of the bin's mass."""
    made, bins = estimate_mixture(places), 10
    mass = (
        np.exp(made.log_density((np.arange(10_000) + 0.5) / 10_000)).reshape(bins, -1).mean(axis=1)
        / bins
    )
    found = np.histogram(made.draw(np.random.default_rng(0), 20_000), bins, (0.0, 1.0))[0] / 20_000
    assert (np.abs(found - mass) < 4 * np.sqrt(mass / 20_000)).all()


def test_categories_are_drawn_as_often_as_their_shares_say():
    drawn = estimate_shares(np.array([0, 1, 0]), 3).draw(np.random.default_rng(0), 6_000)
    assert np.bincount(drawn.astype(int)) / 1_000 == pytest.approx([3, 2, 1], abs=0.15)
