"""Intervals for proportions and for statistics of clustered observations.

    n  clusters (independent of one another)
    B  resamples
    m  totals kept for each cluster
    W  (B, n) how often each cluster is drawn, rows sum to n

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
LOWER_PROBABILITY = 0.5 - LEVEL / 2
UPPER_PROBABILITY = 0.5 + LEVEL / 2
TAIL_PROBABILITIES = (LOWER_PROBABILITY, UPPER_PROBABILITY)
LEAST_RELATIVE_ERROR = 0.25
"""Below this share of the sample's standard error, a resample's own is replaced by it: the resample
has drawn none of the few clusters that differ, and its t could be arbitrarily large. In 400 studies
of 20 bodies this costs no coverage (at 0.5 it costs 2 %)."""
RELATIVE_ROUNDING = 1e-4
"""A standard error below this share of the value counts as 0: for identical clusters sums cancel to
1e-8, difference quotients to 7e-5."""


def wilson_interval(right_count: float, trial_count: float) -> tuple[float, float]:
    """Lower and upper end of Wilson's 95 % score interval for `right_count` out of
    `trial_count` independent trials.

    It stays within [0, 1] and keeps a width at 0 and at 100 %, where the textbook interval
    collapses to a point. Nothing seen (no trial) gives (0, 1): nothing is known. Raises ValueError
    unless 0 <= right_count <= trial_count.  Brown et al. (2001), eq. 4.
    """
    if not 0 <= right_count <= trial_count:
        raise ValueError(
            f"{right_count} right out of {trial_count}: must be a count between 0 and the total"
        )
    if trial_count == 0:
        return 0.0, 1.0
    normal_quantile = float(ndtri(UPPER_PROBABILITY))
    success_share = right_count / trial_count
    spread = normal_quantile * normal_quantile / trial_count
    centre = (success_share + spread / 2) / (1 + spread)
    half_width = np.sqrt(success_share * (1 - success_share) * spread + spread * spread / 4) / (
        1 + spread
    )
    low = float(centre - half_width)
    high = float(centre + half_width)
    # exact at the ends, where rounding leaves 1e-17
    if right_count == 0:
        low = 0.0
    if right_count == trial_count:
        high = 1.0
    return low, high


def cluster_weights(cluster_count: int, resample_count: int, seed: int) -> Floats:
    """How often each cluster is drawn in each resample, (B, n): n draws with replacement, so every
    row sums to n.

    Drawn once and shared by all statistics of one evaluation, which keeps them comparable. 1000
    resamples of 1000 clusters: 8 MB.
    """
    rng = np.random.default_rng([seed, cluster_count])
    drawn_clusters = rng.integers(0, cluster_count, size=(resample_count, cluster_count))
    flat_indices = (drawn_clusters + cluster_count * np.arange(resample_count)[:, None]).ravel()
    return (
        np.bincount(flat_indices, minlength=resample_count * cluster_count)
        .reshape(resample_count, cluster_count)
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
    flat_totals = np.asarray(totals, dtype=np.float64).reshape(len(totals), -1)
    return statistic((weights @ flat_totals).reshape(len(weights), *np.shape(totals)[1:]))


def widened_level(cluster_count: int) -> float:
    """The nominal level at which a percentile interval of few clusters covers LEVEL: Student's t in
    place of the normal.

    With 20 clusters 0.968; with one there is none, and NaN.  Hesterberg, *Am. Statistician* 69
    (2015) 371-386, section 4.3.
    """
    if cluster_count < 2:
        return np.nan
    return float(
        2
        * ndtr(
            np.sqrt(cluster_count / (cluster_count - 1))
            * stdtrit(cluster_count - 1, UPPER_PROBABILITY)
        )
        - 1
    )


def percentile_interval(values: NDArray[Any], level: float = LEVEL) -> tuple[Floats, Floats]:
    """Lower and upper percentile of replicates (B, ...) along their first axis, NaN replicates left
    out; NaN where all are NaN."""
    flat_values = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    flat_ends = np.full((2, flat_values.shape[1]), np.nan)
    for column_index in np.flatnonzero(np.isfinite(flat_values).any(axis=0)):
        finite_values = flat_values[:, column_index][np.isfinite(flat_values[:, column_index])]
        flat_ends[:, column_index] = np.quantile(finite_values, [0.5 - level / 2, 0.5 + level / 2])
    shaped_ends = flat_ends.reshape(2, *np.shape(values)[1:])
    return shaped_ends[0], shaped_ends[1]


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
    cluster_index = np.unique(clusters, return_inverse=True)[1]
    cluster_count = int(cluster_index.max(initial=-1)) + 1
    value_count = len(values)
    if cluster_count < 2:
        return np.nan, np.nan
    is_above = values > np.quantile(values, share)
    share_above = float(is_above.mean())
    if share_above == 0.0:
        return np.nan, np.nan
    cluster_sizes = np.bincount(cluster_index)
    variance_between_clusters = (
        float(((np.bincount(cluster_index, is_above) - share_above * cluster_sizes) ** 2).sum())
        * cluster_count
        / (cluster_count - 1)
    )
    effective_count = (
        value_count
        / max(1.0, variance_between_clusters / (value_count * share_above * (1 - share_above)))
        * float(ndtri(UPPER_PROBABILITY) / stdtrit(cluster_count - 1, UPPER_PROBABILITY)) ** 2
    )
    low_share = float(
        betaincinv(share * effective_count, (1 - share) * effective_count + 1, LOWER_PROBABILITY)
    )
    high_share = float(
        betaincinv(share * effective_count + 1, (1 - share) * effective_count, UPPER_PROBABILITY)
    )
    if low_share * (value_count + 1) < 1 or high_share * (value_count + 1) > value_count:
        return np.nan, np.nan
    end_values = np.quantile(values, [low_share, high_share])
    return float(end_values[0]), float(end_values[1])


def quantile_difference_interval(values: NDArray[Any], cluster_count: int) -> tuple[float, float]:
    """Lower and upper end of the interval of a difference that has no gradient, from its replicates
    (B,): percentiles at `widened_level`.

    Both ends are NaN with fewer than two clusters, or if all replicates are equal: an interval of
    no width would claim certainty.
    """
    if cluster_count < 2:
        return np.nan, np.nan
    low, high = (float(end) for end in percentile_interval(values, widened_level(cluster_count)))
    if high - low > RELATIVE_ROUNDING * max(abs(low), abs(high)):
        return low, high
    return np.nan, np.nan


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
    replicates = _resample(totals, statistic, weights)
    percentile_low, percentile_high = quantile_difference_interval(replicates, len(totals))
    t_low, t_high = studentised_interval(totals, statistic, weights, share=False)
    return float(np.fmin(percentile_low, t_low)), float(np.fmax(percentile_high, t_high))


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
    below LEAST_RELATIVE_ERROR of it. Both ends are NaN with fewer than two clusters, or if the
    ratio is undefined or has no standard error.
    """
    part_totals = np.asarray(parts, dtype=np.float64)
    whole_totals = np.asarray(wholes, dtype=np.float64)

    def ratio_and_error(resample_weights: Floats) -> tuple[Floats, Floats]:
        """The ratios and their standard errors, (B, q) each, in resamples of these weights (B,
        n)."""
        part_sums = resample_weights @ part_totals
        whole_sums = resample_weights @ whole_totals
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = part_sums / whole_sums
            squared_error = (
                resample_weights @ (part_totals * part_totals)
                - 2 * ratio * (resample_weights @ (part_totals * whole_totals))
                + ratio**2 * (resample_weights @ (whole_totals * whole_totals))
            )
            return ratio, np.sqrt(np.maximum(squared_error, 0.0)) / whole_sums

    return t_interval(ratio_and_error, weights, share=share)


def studentised_interval(
    totals: NDArray[Any],
    statistic: Callable[[Floats], Floats],
    weights: Floats,
    *,
    share: bool = True,
) -> tuple[float, float]:
    """Lower and upper end of the bootstrap-t interval of a smooth function of sums, such as a
    balanced accuracy.

    totals     (n, ...) what each cluster contributes
    statistic  maps sums (B, ...) to values (B,), NaN where undefined

    As `ratio_interval`, with the standard error from the gradient of `statistic` at the resample's
    own sums (the infinitesimal jackknife); the gradient is a difference quotient with a step of
    1e-4 of a cluster. One call of `statistic` for each of the m totals.
    """
    cluster_count = len(totals)
    total_shape = np.shape(totals)[1:]
    flat_totals = np.asarray(totals, dtype=np.float64).reshape(cluster_count, -1)

    def value_and_error(resample_weights: Floats) -> tuple[Floats, Floats]:
        """The statistic and its standard error, (B, 1) each, in resamples of these weights (B,
        n)."""
        weighted_sums = resample_weights @ flat_totals
        values = statistic(weighted_sums.reshape(-1, *total_shape))
        influence = np.zeros((len(resample_weights), cluster_count))
        for total_index in np.flatnonzero(flat_totals.any(axis=0)):
            step = 1e-4 * np.abs(flat_totals[:, total_index]).max()
            moved_sums = weighted_sums.copy()
            moved_sums[:, total_index] += step
            influence += np.outer(
                (statistic(moved_sums.reshape(-1, *total_shape)) - values) / step,
                flat_totals[:, total_index],
            )
        return values[:, None], np.sqrt((influence**2 * resample_weights).sum(axis=1))[:, None]

    low, high = t_interval(value_and_error, weights, share=share)
    return float(low[0]), float(high[0])


def t_interval(
    values_and_errors_of: Callable[[Floats], tuple[Floats, Floats]],
    weights: Floats,
    *,
    share: bool = True,
) -> tuple[Floats, Floats]:
    """Lower and upper ends (q,) of the bootstrap-t interval of a statistic.

    values_and_errors_of  gives the values of the statistic and their standard errors, (B, q) each,
                          from weights (B, n)
    """
    cluster_count = weights.shape[1]
    sample_estimates = values_and_errors_of(np.ones((1, cluster_count)))
    resample_estimates = values_and_errors_of(weights)
    if share:
        sample_estimates = _arcsine_root(*sample_estimates)
        resample_estimates = _arcsine_root(*resample_estimates)
    (centre,), (standard_error,) = sample_estimates
    resample_values, resample_errors = resample_estimates
    with np.errstate(divide="ignore", invalid="ignore"):
        has_own_error = resample_errors > LEAST_RELATIVE_ERROR * standard_error
        t_ratios = (resample_values - centre) / np.where(
            has_own_error, resample_errors, standard_error
        )
    has_interval = np.isfinite(centre) & (standard_error > RELATIVE_ROUNDING * np.abs(centre))
    if cluster_count < 2:
        has_interval[:] = False
    ends = np.full((2, len(centre)), np.nan)
    for value_index in np.flatnonzero(has_interval):
        finite_ratios = t_ratios[np.isfinite(t_ratios[:, value_index]), value_index]
        if len(finite_ratios):
            t_quantiles = np.quantile(finite_ratios, TAIL_PROBABILITIES)
            # the upper quantile gives the lower end
            ends[::-1, value_index] = (
                centre[value_index] - t_quantiles * standard_error[value_index]
            )
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
    cluster_count = weights.shape[1]
    if cluster_count < 2:
        return np.nan, np.nan
    replicates = value_of(weights)
    replicates = replicates[np.isfinite(replicates)]
    value = float(value_of(np.ones((1, cluster_count)))[0])
    if not len(replicates) or not np.isfinite(value):
        return np.nan, np.nan
    acceleration = _acceleration(value_of(1.0 - np.eye(cluster_count)))
    share_below = ((replicates < value).mean() + (replicates <= value).mean()) / 2
    # all replicates on one side: the bias cannot be estimated
    if not 0 < share_below < 1:
        return float(replicates.min()), float(replicates.max())
    bias = float(ndtri(share_below))
    shifted_quantiles = bias + ndtri(np.array(TAIL_PROBABILITIES))
    low, high = np.quantile(
        replicates, ndtr(bias + shifted_quantiles / (1 - acceleration * shifted_quantiles))
    )
    return float(low), float(high)


def _acceleration(leave_one_out_values: Floats) -> float:
    """How fast the standard error changes with the value, from the values (n,) without each cluster;
    0 where they are all equal or undefined."""
    finite_values = leave_one_out_values[np.isfinite(leave_one_out_values)]
    if not len(finite_values):
        return 0.0
    deviations: Floats = np.nanmean(leave_one_out_values) - finite_values
    cubed_spread: float = float((deviations**2).sum()) ** 1.5
    if cubed_spread == 0:
        return 0.0
    return float((deviations**3).sum()) / (6 * cubed_spread)


def resampled_quantile(values: NDArray[Any], weights: Floats, share: float) -> Floats:
    """Quantile of `values` (v,) in every resample, (B,), value i counted weights[:, i] times; NaN
    in an empty resample.

    Equal to np.quantile of the values written out as often as they are counted (linear
    interpolation), without writing them out.
    """
    if not len(values):
        return np.full(len(weights), np.nan)
    value_order = np.argsort(values, kind="stable")
    ascending = np.asarray(values, dtype=np.float64)[value_order]
    # (B, v): how many lie at or below each value
    cumulative_counts = np.cumsum(weights[:, value_order], axis=1)
    total_counts = cumulative_counts[:, -1]
    position = share * np.maximum(total_counts - 1, 0)

    def values_at(whole_positions: Floats) -> Floats:
        """The value (B,) at a position of each resample, counted from 0 in ascending order."""
        indices = (cumulative_counts <= whole_positions[:, None]).sum(axis=1)
        return np.asarray(ascending[np.minimum(indices, len(ascending) - 1)])

    lower_values = values_at(np.floor(position))
    upper_values = values_at(np.ceil(position))
    quantile = lower_values + (upper_values - lower_values) * (position - np.floor(position))
    return np.where(total_counts > 0, quantile, np.nan)
