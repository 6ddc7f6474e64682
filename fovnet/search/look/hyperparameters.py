"""The hyper-parameters of a Gaussian process over a space: refitted at some numbers of observations
only.

    rows (n,), values (n,)  observations in the order of their slots; where a row comes again, only
                            its last value counts, in its first place
    theta (p+2,)            as in maths/gp.py
    targets  name of the warping of the values in maths/warping.py; None: no warping

All functions are pure; caches make them faster, but do not change results.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from fovnet.maths import gp
from fovnet.maths.kernels import KERNELS
from fovnet.maths.scales import Scales
from fovnet.maths.slice_sampling import elliptical_slices
from fovnet.maths.warping import TARGETS
from fovnet.search.space import Space

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BYTES_PER_NUMBER = 8
"""Bytes of an int64 and of a float64: caches use the bytes of arrays as keys."""
ALWAYS_FITTED = 50
"""Observations up to which the hyper-parameters are fitted to all of them."""
REFIT_SHARE = 12
"""Beyond ALWAYS_FITTED, by which share of the observations they grow until the next fit."""
FEWEST_FOR_EARLIER_FIT = 8
"""Observations from which the fit to the first half of them is a start worth having."""
SAMPLE_COUNT = 8
"""Number of sampled hyper-parameters to average over."""


def fitted_count(n: int, refit_share: int = REFIT_SHARE) -> int:
    """How many of n observations the hyper-parameters are fitted to: all up to ALWAYS_FITTED, then
    the last of 50, 54, 58, ..., a 12th apart, or as `refit_share` says.

    A refit changes all covariances, so that the Cholesky factor is computed anew; at these
    intervals it costs less than extending it.
    """
    if n <= ALWAYS_FITTED:
        return n
    count = ALWAYS_FITTED
    while count + count // refit_share <= n:
        count += count // refit_share
    return count


def choose_fitted_indices(values: Floats, most: int = 150) -> Integers:
    """Indices (m,) of the values that hyper-parameters are fitted to: all, or `most`: a third the
    best, the rest evenly spaced by rank.

    An iteration of the fit costs O(n³): 150 points are 300 times cheaper than 1,000.
    """
    if len(values) <= most:
        return np.arange(len(values))
    ascending_order = np.argsort(values, kind="stable")
    best_indices = ascending_order[: most // 3]
    other_indices = ascending_order[most // 3 :]
    evenly_spaced_indices = other_indices[
        np.linspace(0, len(other_indices) - 1, most - len(best_indices)).astype(np.int64)
    ]
    return np.sort(np.concatenate([best_indices, evenly_spaced_indices]))


@dataclass(frozen=True)
class Observations:
    """n observations as the key of a cache: it does not matter in which table the points stand.

    scales       of the points' columns
    point_bytes  (n, D) float64
    row_bytes    (n,) int64, the rows: of each the latest value counts
    value_bytes  (n,) float64
    """

    scales: Scales
    point_bytes: bytes
    row_bytes: bytes
    value_bytes: bytes

    @classmethod
    def of(cls, space: Space, rows: Integers, values: Floats) -> Observations:
        """The values (n,) at rows (n,)."""
        points = space.unit_cube[rows]
        return cls(space.scales, points.tobytes(), rows.tobytes(), values.tobytes())

    def __len__(self) -> int:
        return len(self.row_bytes) // BYTES_PER_NUMBER

    def first(self, count: int) -> Observations:
        """The first `count` observations."""
        point_size = len(self.point_bytes) // len(self)
        return Observations(
            self.scales,
            self.point_bytes[: count * point_size],
            self.row_bytes[: count * BYTES_PER_NUMBER],
            self.value_bytes[: count * BYTES_PER_NUMBER],
        )

    def warped(self, targets: str | None) -> tuple[Floats, Floats]:
        """The points (m, D) and warped values (m,) to fit to, of each row its latest value."""
        rows = np.frombuffer(self.row_bytes, dtype=np.int64).tolist()
        points = np.frombuffer(self.point_bytes).reshape(len(rows), -1)
        values = np.frombuffer(self.value_bytes).tolist()
        value_by_row = dict(zip(rows, values, strict=True))
        index_by_row = {row: index for index, row in enumerate(rows)}
        X = points[[index_by_row[row] for row in value_by_row]]
        y = np.array(list(value_by_row.values()))
        if targets is not None:
            y = TARGETS[targets](y).values
        fitted_indices = choose_fitted_indices(y)
        return X[fitted_indices], y[fitted_indices]


def fit_hyperparameters(
    space: Space,
    rows: Integers,
    values: Floats,
    targets: str | None,
    kernel: str,
    refit_share: int = REFIT_SHARE,
) -> Floats:
    """The maximum a posteriori theta (p+2,) for the first `fitted_count(n)` of the values (n,) at
    rows (n,), warped by `targets`."""
    count = fitted_count(len(rows), refit_share)
    observations = Observations.of(space, rows, values).first(count)
    return np.frombuffer(_fit_cached(observations, targets, kernel))


def sample_hyperparameters(
    space: Space,
    rows: Integers,
    values: Floats,
    targets: str | None,
    kernel: str,
    seed: int,
    refit_share: int = REFIT_SHARE,
) -> Floats:
    """SAMPLE_COUNT thetas (S, p+2) from their posterior given the first `fitted_count(n)` of the
    values (n,) at rows (n,), warped by `targets`."""
    count = fitted_count(len(rows), refit_share)
    observations = Observations.of(space, rows, values).first(count)
    theta_bytes = _sample_cached(observations, targets, kernel, seed)
    return np.frombuffer(theta_bytes).reshape(SAMPLE_COUNT, -1)


@lru_cache(maxsize=32)
def _fit_cached(observations: Observations, targets: str | None, kernel: str) -> bytes:
    """The bytes of the fitted theta (p+2,), started from the optimum for the first half of the
    observations, which is mostly cached, else computed."""
    X, y = observations.warped(targets)
    half_count = len(observations) // 2
    first_theta = None
    if half_count >= FEWEST_FOR_EARLIER_FIT:
        first_theta = np.frombuffer(_fit_cached(observations.first(half_count), targets, kernel))
    return gp.fit_theta(X, y, observations.scales, KERNELS[kernel], first_theta).tobytes()


@lru_cache(maxsize=4)
def _sample_cached(
    observations: Observations, targets: str | None, kernel: str, seed: int
) -> bytes:
    """The bytes of SAMPLE_COUNT thetas (S, p+2), drawn from their posterior."""
    X, y = observations.warped(targets)
    scales = observations.scales
    squared_gaps = gp.squared_gaps(X)
    prior_mean, prior_width = gp.prior_of(scales)

    def log_likelihood(theta: Floats) -> float:
        """Of y, given theta (p+2,); -inf where it cannot be computed."""
        try:
            return gp.log_marginal_likelihood(theta, squared_gaps, y, scales, KERNELS[kernel])[0]
        except LinAlgError:
            # without noise, two rows that agree in all relevant axes make K singular
            return -np.inf

    start_theta = np.frombuffer(_fit_cached(observations, targets, kernel))
    rng = np.random.default_rng([seed, len(y)])
    return elliptical_slices(
        log_likelihood,
        start_theta,
        prior_mean,
        prior_width,
        count=SAMPLE_COUNT,
        thinning=4,
        rng=rng,
    ).tobytes()
