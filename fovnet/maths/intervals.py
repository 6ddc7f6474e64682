"""Intervals for proportions and for statistics of clustered observations.

    n   clusters (independent of one another)      B  resamples
    m   totals kept for each cluster               W  (B, n) how often each cluster is drawn, rows sum to n
Observations of one cluster are resampled together: neighbouring slices of one body are nearly the
same observation, and treating 60 of them as 60 independent ones makes an interval about eight times
too narrow.

Which interval for what (`workflow/experiments/interval_coverage.py` measures the coverage of each):
a ratio of sums, and any smooth function of sums or area under an ROC curve, gets the bootstrap-t,
shares on the arcsine-root scale; a quantile, or another function of the weights, the percentile
interval, widened for few clusters; a quantile far out in a tail, where no resample reaches beyond
the sample, that of order statistics. The BCa interval serves for comparison: its coverage is lower.

Sources: Wilson, *J. Am. Stat. Assoc.* 22 (1927) 209-212; Brown, Cai & DasGupta, *Statistical
Science* 16 (2001) 101-133, eq. 4; Woodruff, *J. Am. Stat. Assoc.* 47 (1952) 635-646, and Korn &
Graubard, *Survey Methodology* 24 (1998) 193-201 (tails); Davison & Hinkley, *Bootstrap Methods and
their Application* (1997), sections 3.8 (clusters), 5.2 (bootstrap-t), 5.3 (percentile and BCa);
Efron, *J. Am. Stat. Assoc.* 82 (1987) 171-185 (BCa).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri, stdtrit

Floats = NDArray[np.float64]
LEVEL = 0.95
TAILS = 0.5 - LEVEL / 2, 0.5 + LEVEL / 2
LEAST_ERROR = 0.25
"""Below this share of the sample's standard error, a resample's own is replaced by it: the resample
has drawn none of the few clusters that differ, and its t could be arbitrarily large. In 400 studies
of 20 bodies this costs no coverage (at 0.5 it costs 2 %)."""
ROUNDING = 1e-4
"""A standard error below this share of the value counts as 0: for identical clusters sums cancel to
1e-8, difference quotients to 7e-5."""


def wilson_interval(right: float, total: float) -> tuple[float, float]:
    """Lower and upper end of Wilson's 95 % score interval for `right` out of `total` independent
    trials.

    It stays within [0, 1] and keeps a width at 0 and at 100 %, where the textbook interval
    collapses to a point. Nothing seen (total 0) gives (0, 1): nothing is known. Raises ValueError
    unless 0 <= right <= total.  Brown et al. (2001), eq. 4.
    """
    if not 0 <= right <= total:
        raise ValueError(f"{right} right out of {total}: must be a count between 0 and the total")
    if total == 0:
        return 0.0, 1.0
    z = float(ndtri(TAILS[1]))
    share = right / total
    spread = z * z / total
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    low = (
        0.0 if right == 0 else float(centre - half)
    )  # exact at the ends, where rounding leaves 1e-17
    high = 1.0 if right == total else float(centre + half)
    return low, high


def cluster_weights(clusters: int, repeats: int, seed: int) -> Floats:
    """How often each cluster is drawn in each resample, (B, n): n draws with replacement, so every
    row sums to n.

    Drawn once and shared by all statistics of one evaluation, which keeps them comparable. 1000
    resamples of 1000 clusters: 8 MB.
    """
    rng = np.random.default_rng([seed, clusters])
    picks = rng.integers(0, clusters, size=(repeats, clusters))
    flat = (picks + clusters * np.arange(repeats)[:, None]).ravel()
    return (
        np.bincount(flat, minlength=repeats * clusters)
        .reshape(repeats, clusters)
        .astype(np.float64)
    )


def cluster_bootstrap(
    totals: NDArray[Any],
    statistic: Callable[[Floats], Floats],
    *,
    repeats: int = 1000,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Lower and upper ends of the percentile interval of `statistic`, resampling whole clusters.

    totals     (n, ...) what each cluster contributes to sums: right and wrong slices, a confusion
               matrix, ...
    statistic  maps sums (B, ...) to values (B, ...), NaN where undefined; it is called once, on all
               resamples
    Resamples in which the statistic is undefined are left out; both ends are NaN when fewer than
    two clusters exist.
    """
    weights = cluster_weights(len(totals), repeats, seed)
    low, high = percentile_interval(_resample(totals, statistic, weights))
    if len(totals) < 2:
        return np.full_like(low, np.nan), np.full_like(high, np.nan)
    return low, high


def _resample(
    totals: NDArray[Any], statistic: Callable[[Floats], Floats], weights: Floats
) -> Floats:
    """The statistic (B, ...) of every resample."""
    flat = np.asarray(totals, dtype=np.float64).reshape(len(totals), -1)
    return statistic((weights @ flat).reshape(len(weights), *np.shape(totals)[1:]))


def widened_level(clusters: int) -> float:
    """The nominal level at which a percentile interval of few clusters covers LEVEL: Student's t in
    place of the normal.

    With 20 clusters 0.968; with one there is none, and NaN.  Hesterberg, *Am. Statistician* 69
    (2015) 371-386, section 4.3.
    """
    if clusters < 2:
        return np.nan
    return float(2 * ndtr(np.sqrt(clusters / (clusters - 1)) * stdtrit(clusters - 1, TAILS[1])) - 1)


def percentile_interval(values: NDArray[Any], level: float = LEVEL) -> tuple[Floats, Floats]:
    """Lower and upper percentile of replicates (B, ...) along their first axis, NaN replicates left
    out; NaN where all are NaN."""
    flat = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    ends = np.full((2, flat.shape[1]), np.nan)
    for column in np.flatnonzero(np.isfinite(flat).any(axis=0)):
        finite_values = flat[:, column][np.isfinite(flat[:, column])]
        ends[:, column] = np.quantile(finite_values, [0.5 - level / 2, 0.5 + level / 2])
    shaped = ends.reshape(2, *np.shape(values)[1:])
    return shaped[0], shaped[1]


def tail_interval(values: Floats, clusters: NDArray[np.int64], share: float) -> tuple[float, float]:
    """Lower and upper end of the interval of a quantile in a tail, of values (v,) whose clusters
    are numbered (v,).

    The share of values below the quantile is `share`; its Clopper-Pearson limits use the effective
    sample size: v over the design effect (the variance of that share between clusters over that of
    independent values), reduced for few clusters (Korn & Graubard).  The ends are the sample
    quantiles at these limits (Woodruff).  Both are NaN with fewer than two clusters, if all values
    are equal, or if a limit lies beyond the sample, as it mostly does for the 95th percentile of
    fewer than 30 bodies.  A percentile interval would end at the largest value seen: with 20 bodies
    its coverage is 86 %.
    """
    number = np.unique(clusters, return_inverse=True)[1]
    n = int(number.max(initial=-1)) + 1
    v = len(values)
    if n < 2:
        return np.nan, np.nan
    beyond = values > np.quantile(values, share)
    p = float(beyond.mean())
    if p == 0.0:
        return np.nan, np.nan
    sizes = np.bincount(number)
    varied = float(((np.bincount(number, beyond) - p * sizes) ** 2).sum()) * n / (n - 1)
    observations = (
        v
        / max(1.0, varied / (v * p * (1 - p)))
        * float(ndtri(TAILS[1]) / stdtrit(n - 1, TAILS[1])) ** 2
    )
    low = float(betaincinv(share * observations, (1 - share) * observations + 1, TAILS[0]))
    high = float(betaincinv(share * observations + 1, (1 - share) * observations, TAILS[1]))
    if low * (v + 1) < 1 or high * (v + 1) > v:
        return np.nan, np.nan
    ends = np.quantile(values, [low, high])
    return float(ends[0]), float(ends[1])


def quantile_difference_interval(values: NDArray[Any], clusters: int) -> tuple[float, float]:
    """Lower and upper end of the interval of a difference that has no gradient, from its replicates
    (B,): percentiles at `widened_level`.

    Both ends are NaN with fewer than two clusters, or if all replicates are equal: an interval of
    no width would claim certainty.
    """
    if clusters < 2:
        return np.nan, np.nan
    low, high = (float(end) for end in percentile_interval(values, widened_level(clusters)))
    return (low, high) if high - low > ROUNDING * max(abs(low), abs(high)) else (np.nan, np.nan)


def difference_interval(
    totals: NDArray[Any], statistic: Callable[[Floats], Floats], weights: Floats
) -> tuple[float, float]:
    """Lower and upper end of the interval of a smooth difference: the outer ends of the bootstrap-t
    and the widened percentile interval.

    totals, statistic, weights  as in `studentised_interval`
    Each fails where the other does not (`workflow/experiments/interval_coverage.py`): for two runs
    that differ in one body of ten, each way as often, the bootstrap-t names a winner in 12 % of
    studies of 50 bodies, as resamples of few have standard errors far too small; for runs that
    differ in all bodies the percentiles cover 92 to 94 %.  Both ends are NaN as in
    `quantile_difference_interval`."""
    ends = (
        quantile_difference_interval(_resample(totals, statistic, weights), len(totals)),
        studentised_interval(totals, statistic, weights, share=False),
    )
    return float(np.fmin(ends[0][0], ends[1][0])), float(np.fmax(ends[0][1], ends[1][1]))


def ratio_interval(
    parts: NDArray[Any], wholes: NDArray[Any], weights: Floats, *, share: bool = True
) -> tuple[Floats, Floats]:
    """Lower and upper ends (q,) of the bootstrap-t interval of the ratios Σ parts / Σ wholes over
    clusters, from (n, q) each.

    share  the ratios lie in [0, 1], and the interval is computed for their arcsine root, whose
           variance hardly depends on the value

    Each resample is studentised by its own standard error (linearised, as in survey sampling), so
    that the skewness of few clusters, most without an error and some with many, widens the correct
    side: with 20 bodies and 5 % errors the percentile interval covers 84 to 90 %, this one 93 to
    94 %. A resample without a standard error, because nothing in it is wrong or everything is,
    takes that of the sample, to whose constant limit the error tends on this scale; so does one
    below LEAST_ERROR of it. Both ends are NaN with fewer than two clusters, or if the ratio is
    undefined or has no standard error.
    """
    a = np.asarray(parts, dtype=np.float64)
    b = np.asarray(wholes, dtype=np.float64)

    def measured(w: Floats) -> tuple[Floats, Floats]:
        top = w @ a
        bottom = w @ b
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = top / bottom
            squares = w @ (a * a) - 2 * ratio * (w @ (a * b)) + ratio**2 * (w @ (b * b))
            return ratio, np.sqrt(np.maximum(squares, 0.0)) / bottom

    return t_interval(measured, weights, share=share)


def studentised_interval(
    totals: NDArray[Any],
    statistic: Callable[[Floats], Floats],
    weights: Floats,
    *,
    share: bool = True,
) -> tuple[float, float]:
    """Lower and upper end of the bootstrap-t interval of a smooth function of sums, such as a
    balanced accuracy.

    totals (n, ...) what each cluster contributes;  statistic maps sums (B, ...) to values (B,), NaN
    where undefined

    As `ratio_interval`, with the standard error from the gradient of `statistic` at the resample's
    own sums (the infinitesimal jackknife); the gradient is a difference quotient with a step of
    1e-4 of a cluster. One call of `statistic` for each of the m totals.
    """
    n = len(totals)
    shape = np.shape(totals)[1:]
    flat = np.asarray(totals, dtype=np.float64).reshape(n, -1)

    def measured(w: Floats) -> tuple[Floats, Floats]:
        sums = w @ flat
        values = statistic(sums.reshape(-1, *shape))
        influence = np.zeros((len(w), n))
        for column in np.flatnonzero(flat.any(axis=0)):
            step = 1e-4 * np.abs(flat[:, column]).max()
            moved = sums.copy()
            moved[:, column] += step
            influence += np.outer(
                (statistic(moved.reshape(-1, *shape)) - values) / step, flat[:, column]
            )
        return values[:, None], np.sqrt((influence**2 * w).sum(axis=1))[:, None]

    low, high = t_interval(measured, weights, share=share)
    return float(low[0]), float(high[0])


def t_interval(
    moments_of: Callable[[Floats], tuple[Floats, Floats]], weights: Floats, *, share: bool = True
) -> tuple[Floats, Floats]:
    """Lower and upper ends (q,) of the bootstrap-t interval of what `moments_of` computes from
    weights (B, n): values and standard errors, (B, q) each."""
    clusters = weights.shape[1]
    sample_moments = moments_of(np.ones((1, clusters)))
    resample_moments = moments_of(weights)
    if share:
        sample_moments = _arcsine_root(*sample_moments)
        resample_moments = _arcsine_root(*resample_moments)
    (centre,), (error,) = sample_moments
    ends = np.full((2, len(centre)), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (resample_moments[0] - centre) / np.where(
            resample_moments[1] > LEAST_ERROR * error, resample_moments[1], error
        )
    for column in (
        np.flatnonzero(np.isfinite(centre) & (error > ROUNDING * np.abs(centre)))
        if clusters > 1
        else ()
    ):
        finite_ratios = ratios[np.isfinite(ratios[:, column]), column]
        if len(finite_ratios):
            ends[::-1, column] = centre[column] - np.quantile(finite_ratios, TAILS) * error[column]
    if share:
        ends = np.sin(np.clip(ends, 0.0, np.pi / 2)) ** 2
    return ends[0], ends[1]


def _arcsine_root(values: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Shares and their standard errors on the scale of arcsin √."""
    inside = np.clip(values, 0.0, 1.0)
    slope = 2 * np.sqrt(inside * (1 - inside))
    return np.arcsin(np.sqrt(inside)), np.divide(
        errors, slope, out=np.zeros_like(errors), where=slope > 1e-9
    )


def bca_interval(value_of: Callable[[Floats], Floats], weights: Floats) -> tuple[float, float]:
    """Lower and upper end of the bias-corrected and accelerated interval of any function of the
    clusters' weights.

    value_of  maps weights (B, n) to values (B,), NaN where undefined; called on the resamples, on
              all clusters once, and without each one
    Both ends are NaN with fewer than two clusters, or if nothing is defined. If all replicates are
    equal, both ends are that value. Efron (1987); equal to scipy.stats.bootstrap's on the same
    resamples.
    """
    n = weights.shape[1]
    if n < 2:
        return np.nan, np.nan
    replicates = value_of(weights)
    replicates = replicates[np.isfinite(replicates)]
    value = float(value_of(np.ones((1, n)))[0])
    if not len(replicates) or not np.isfinite(value):
        return np.nan, np.nan
    without = value_of(1.0 - np.eye(n))
    deviations = (
        np.nanmean(without) - without[np.isfinite(without)]
        if np.isfinite(without).any()
        else np.zeros(1)
    )
    spread = float((deviations**2).sum()) ** 1.5
    acceleration = float((deviations**3).sum()) / (6 * spread) if spread > 0 else 0.0
    below = ((replicates < value).mean() + (replicates <= value).mean()) / 2
    # all replicates on one side: the bias cannot be estimated
    if not 0 < below < 1:
        return float(replicates.min()), float(replicates.max())
    bias = float(ndtri(below))
    normal = bias + ndtri(np.array(TAILS))
    low, high = np.quantile(replicates, ndtr(bias + normal / (1 - acceleration * normal)))
    return float(low), float(high)


def resampled_quantile(values: NDArray[Any], weights: Floats, share: float) -> Floats:
    """Quantile of `values` (v,) in every resample, (B,), value i counted weights[:, i] times; NaN
    in an empty resample.

    Equal to np.quantile of the values written out as often as they are counted (linear
    interpolation), without writing them out.
    """
    order = np.argsort(values, kind="stable")
    ascending = np.asarray(values, dtype=np.float64)[order]
    # (B, v): how many lie at or below each value
    counted = np.cumsum(weights[:, order], axis=1)
    total = counted[:, -1] if len(ascending) else np.zeros(len(weights))
    if not len(ascending):
        return np.full(len(weights), np.nan)
    position = share * np.maximum(total - 1, 0)
    below = ascending[
        np.minimum((counted <= np.floor(position)[:, None]).sum(axis=1), len(ascending) - 1)
    ]
    above = ascending[
        np.minimum((counted <= np.ceil(position)[:, None]).sum(axis=1), len(ascending) - 1)
    ]
    quantile = below + (above - below) * (position - np.floor(position))
    return np.where(total > 0, quantile, np.nan)
