"""Parzen estimators of one axis, as hyperopt 0.3.0 has them: the density of what was observed,
mixed with a prior.

    n  observations, the oldest first        places  (n,) on [0, 1]        levels  (n,) from 0
Sources: Bergstra et al., *Algorithms for hyper-parameter optimization* (NIPS 2011), section 4;
where the paper is silent, the code of `hyperopt.tpe` (adaptive_parzen_normal, GMM1,
ap_randint_sampler), to whose constants these are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

REMEMBERED_COUNT = 25
"""Newest observations of full weight; the weight of older ones falls to 1/n."""
PRIOR_WEIGHT = 1.0
"""Weight of the prior; an observation has 1."""
PRIOR_MEAN = 0.5  # mean of the prior on [0, 1]
PRIOR_DEVIATION = 1.0  # its standard deviation


class Estimate(Protocol):
    """The estimated density of an axis: values drawn from it (count,), its logarithm at values
    (m,), and that of levels' masses (L,)."""

    def draw(self, rng: np.random.Generator, count: int) -> Floats: ...

    def log_density(self, values: Floats) -> Floats: ...

    def log_mass(self, places: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of normals, truncated as a whole to [0, 1]: weights of sum 1, means (ascending) and
    deviations, (n + 1,) each."""

    weights: Floats
    means: Floats
    deviations: Floats

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Values of untruncated components, drawn by weight, until `count` of them are in [0,
        1)."""
        values_inside = np.zeros(0)
        while len(values_inside) < count:
            component_index = rng.choice(len(self.weights), 4 * count, p=self.weights)
            values = rng.normal(self.means[component_index], self.deviations[component_index])
            values_inside = np.concatenate(
                [values_inside, values[(values >= 0.0) & (values < 1.0)]]
            )
        return values_inside[:count]

    def log_mass(self, places: Floats) -> Floats:
        """(L,) log probability of each of the places of an axis: of all values that are nearer to
        it than to the others."""
        distinct_places, index_of_place = np.unique(places, return_inverse=True)
        middles = (distinct_places[1:] + distinct_places[:-1]) / 2
        edges = np.concatenate([[0.0], middles, [1.0]])
        probability_below = ndtr((edges[:, None] - self.means) / self.deviations) @ self.weights
        probability = np.diff(probability_below) / (probability_below[-1] - probability_below[0])
        # 0 between places that are all but equal
        return np.asarray(np.log(np.maximum(probability, 1e-300))[index_of_place])

    def log_mass_between(self, lower: Floats, upper: Floats) -> Floats:
        """(m,) log probability of the values between two edges in [0, 1] each."""
        below_edges = ndtr((np.stack([lower, upper])[..., None] - self.means) / self.deviations)
        probability = (below_edges[1] - below_edges[0]) @ self.weights / self._probability_inside
        return np.asarray(np.log(np.maximum(probability, 1e-300)))

    @cached_property
    def _probability_inside(self) -> float:
        """Of a value of the untruncated components to be in [0, 1]."""
        shares_inside = ndtr((1.0 - self.means) / self.deviations) - ndtr(
            -self.means / self.deviations
        )
        return float(self.weights @ shares_inside)

    def log_density(self, values: Floats) -> Floats:
        """(m,) log density at values in [0, 1]; nowhere -inf, as the prior is a component."""
        standardised_values = (values[:, None] - self.means) / self.deviations
        component_densities = np.exp(-0.5 * standardised_values**2) / (
            np.sqrt(2.0 * np.pi) * self.deviations
        )
        return np.asarray(np.log(component_densities @ self.weights / self._probability_inside))


@dataclass(frozen=True, eq=False)
class Shares:
    """Probabilities (levels,) of categories; values are the numbers of levels."""

    shares: Floats

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        return rng.choice(len(self.shares), count, p=self.shares).astype(np.float64)

    def log_density(self, values: Floats) -> Floats:
        return np.asarray(np.log(self.shares[values.astype(np.int64)]))

    log_mass = log_density


def estimate_mixture(places: Floats) -> Mixture:
    """A normal at each place and the prior's, each as wide as the wider gap to its neighbours, but
    no wider than the prior, and no narrower than a 100th of it, or a (n + 2)th of it if n is less
    than 98.

    Equal places keep the order of time: with forgetting, hyperopt's order depends on the sort of
    the machine.
    """
    place_count = len(places)
    place_order = np.argsort(places, kind="stable")
    prior_index = int(
        np.searchsorted(
            places[place_order], PRIOR_MEAN, side="right" if place_count == 1 else "left"
        )
    )
    means = np.insert(places[place_order], prior_index, PRIOR_MEAN)
    weights = np.insert(weigh_by_age(place_count)[place_order], prior_index, PRIOR_WEIGHT)
    gaps = np.diff(means)
    widths = np.maximum(np.append(gaps, 0.0), np.insert(gaps, 0, 0.0))
    if place_count == 1:
        widths = np.full(2, PRIOR_DEVIATION / 2)
    deviations = np.clip(widths, PRIOR_DEVIATION / min(100, place_count + 2), PRIOR_DEVIATION)
    deviations[prior_index] = PRIOR_DEVIATION
    return Mixture(weights / weights.sum(), means, deviations)


def estimate_shares(levels: Integers, category_count: int) -> Shares:
    """The share of each of `category_count` categories among the observations, PRIOR_WEIGHT added
    to each."""
    weights = (
        np.bincount(levels, weights=weigh_by_age(len(levels)), minlength=category_count)
        + PRIOR_WEIGHT
    )
    return Shares(weights / weights.sum())


def weigh_by_age(observation_count: int) -> Floats:
    """Weights (n,): 1 for the newest 25 observations, and a straight line up to them from 1/n for
    the oldest."""
    weights = np.ones(observation_count)
    old_count = observation_count - REMEMBERED_COUNT
    if old_count > 0:
        weights[:old_count] = np.linspace(1.0 / observation_count, 1.0, old_count)
    return weights
