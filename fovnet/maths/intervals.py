"""Intervals for proportions and for statistics of clustered observations.

    n   clusters (independent of one another)      B  resamples
    m   totals kept for each cluster               W  (B, n) how often each cluster is drawn, rows sum to n
Observations within one cluster travel together: neighbouring slices of one body are nearly the same observation, and treating 60 of
them as 60 independent ones makes an interval about eight times too narrow.

Sources: Wilson, *J. Am. Stat. Assoc.* 22 (1927) 209-212; Brown, Cai & DasGupta, *Statistical Science* 16 (2001) 101-133, eq. 4;
Davison & Hinkley, *Bootstrap Methods and their Application* (1997), sections 3.8 (clusters) and 5.3 (percentile interval).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]


def wilson_interval(right: float, total: float, level: float = 0.95) -> tuple[float, float]:
    """Lower and upper end of Wilson's score interval for `right` out of `total` independent trials.

    It stays within [0, 1] and keeps a width at 0 and at 100 %, where the textbook interval collapses to a point. Nothing seen
    (total 0) gives (0, 1): nothing is known. Raises ValueError unless 0 <= right <= total.  Brown et al. (2001), eq. 4.
    """
    if not 0 <= right <= total:
        raise ValueError(f"{right} right out of {total}: a count between 0 and the total was wanted")
    if total == 0:
        return 0.0, 1.0
    z = float(ndtri(0.5 + level / 2))
    share, spread = right / total, z * z / total
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    low = 0.0 if right == 0 else float(centre - half)         # exact at the ends, where rounding leaves 1e-17
    high = 1.0 if right == total else float(centre + half)
    return low, high


def cluster_weights(clusters: int, repeats: int, seed: int) -> Floats:
    """How often each cluster is drawn in each resample, (B, n): n draws with replacement, so every row sums to n.

    Drawn once and shared by all statistics of one evaluation, which keeps them comparable. 1000 resamples of 1000 clusters: 8 MB.
    """
    rng = np.random.default_rng([seed, clusters])
    drawn = rng.integers(0, clusters, size=(repeats, clusters))
    flat = (drawn + clusters * np.arange(repeats)[:, None]).ravel()
    return np.bincount(flat, minlength=repeats * clusters).reshape(repeats, clusters).astype(np.float64)


def cluster_bootstrap(
    totals: NDArray[Any],
    statistic: Callable[[Floats], Floats],
    *,
    repeats: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    weights: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Lower and upper ends of the percentile interval of `statistic`, resampling whole clusters.

    totals     (n, ...) what each cluster contributes to sums: right and wrong slices, a confusion matrix, ...
    statistic  maps sums (B, ...) to values (B, ...), NaN where undefined; it is called once, on all resamples
    weights    (B, n) from `cluster_weights`, when several statistics should see the same resamples
    Resamples in which the statistic is undefined are left out; both ends are NaN when fewer than two clusters exist.
    """
    if weights is None:
        weights = cluster_weights(len(totals), repeats, seed)
    flat = np.asarray(totals, dtype=np.float64).reshape(len(totals), -1)
    values = statistic((weights @ flat).reshape(len(weights), *np.shape(totals)[1:]))
    low, high = percentile_interval(values, level)
    if len(totals) < 2:
        return np.full_like(low, np.nan), np.full_like(high, np.nan)
    return low, high


def percentile_interval(values: NDArray[Any], level: float = 0.95) -> tuple[Floats, Floats]:
    """Lower and upper percentile of replicates (B, ...) along their first axis, NaN replicates left out; NaN where all are NaN."""
    flat = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    for column in np.flatnonzero(np.isfinite(flat).any(axis=0)):
        known = flat[:, column][np.isfinite(flat[:, column])]
        ends[:, column] = np.quantile(known, [0.5 - level / 2, 0.5 + level / 2])
    shaped = ends.reshape(2, *np.shape(values)[1:])
    return shaped[0], shaped[1]


def resampled_quantile(values: NDArray[Any], weights: Floats, share: float) -> Floats:
    """Quantile of `values` (v,) in every resample, (B,), value i counted weights[:, i] times; NaN in an empty resample.

    Equal to np.quantile of the values written out as often as they are counted (linear interpolation), without writing them out.
    """
    order = np.argsort(values, kind="stable")
    ascending = np.asarray(values, dtype=np.float64)[order]
    counted = np.cumsum(weights[:, order], axis=1)                       # (B, v): how many lie at or below each value
    total = counted[:, -1] if len(ascending) else np.zeros(len(weights))
    if not len(ascending):
        return np.full(len(weights), np.nan)
    position = share * np.maximum(total - 1, 0)
    below = ascending[np.minimum((counted <= np.floor(position)[:, None]).sum(axis=1), len(ascending) - 1)]
    above = ascending[np.minimum((counted <= np.ceil(position)[:, None]).sum(axis=1), len(ascending) - 1)]
    quantile = below + (above - below) * (position - np.floor(position))
    return np.where(total > 0, quantile, np.nan)
