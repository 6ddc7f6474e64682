"""Transformations of scores for a Gaussian process, so that a huge loss does not distort the model
near the good ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from fovnet.maths.ranks import mean_ranks

Floats = NDArray[np.float64]

LARGEST_FLOAT = float(np.finfo(np.float64).max)
FARTHEST_VALUE = 1e9
"""Standard deviations, so many that farther ones differ in nothing."""
RANK_LIMIT = 3.0
"""How much farther than by its rank a loss of the worse half may lie in `limit_worse_half`; 2
differs by chance in searches of thirteen recorded tables."""


@dataclass(frozen=True)
class Target:
    """The values a model is fitted to, and the way back to scores.

    scores  (n,)  as measured, lower is better
    values  (n,)  in the same order, of mean zero and unit variance (all equal: zero)
    unit    the score that one unit of value is worth below the best one; None if the values are
            ranks, or all equal
    """

    scores: Floats
    values: Floats
    unit: float | None

    def score_of(self, value: Floats) -> Floats:
        """The score for each value: interpolated between those seen, never above the worst, and
        below the best by `unit`."""
        order = np.argsort(self.values, kind="stable")
        lowest = float(self.values[order[0]])
        interpolated = np.interp(value, self.values[order], self.scores[order])
        return np.asarray(
            interpolated - (self.unit or 0.0) * np.maximum(lowest - np.asarray(value), 0.0)
        )

    def value_below_best(self, score: float) -> float:
        """The value of a score below the best one seen, the inverse of `score_of` there: infinitely
        low without a unit.  At or above the best, that of the best."""
        gap = max(float(self.scores.min()) / 2 - score / 2, 0.0)
        lowest = float(self.values.min())
        if gap == 0.0:
            return lowest
        if self.unit is None:
            return -np.inf
        # halved: the gap of two losses of 1e308 would overflow
        return lowest - 2 * min(gap / self.unit, FARTHEST_VALUE)

    def is_within_reach(self, value: float) -> bool:
        """Whether a value has a score: not if it lies above the worst one seen, or, without a unit,
        below the best."""
        return value <= float(self.values.max()) and (
            self.unit is not None or value >= float(self.values.min())
        )


def rank_worse_half(scores: Floats) -> Target:
    """The better half keeps its distances; the worse half is mapped by rank to the upper half of a
    normal distribution.

    The spread of that normal is that of the better half.  A loss of 1e30 then counts as a loss of 3
    would. Source: Song et al., *The Vizier Gaussian process bandit algorithm* (2024),
    arXiv:2408.11527, section 3.2.
    """
    return _warp_worse_half(scores)


def limit_worse_half(scores: Floats) -> Target:
    """Both halves keep their distances, the worse one up to RANK_LIMIT times the value that
    `rank_worse_half` gives it.

    Ranks alone spread losses that are nearly equal as far as those of the better half, so that a
    model sees differences between trainings that have all learned nothing.
    """
    return _warp_worse_half(scores, RANK_LIMIT)


def _warp_worse_half(scores: Floats, rank_limit: float | None = None) -> Target:
    """The target of scores (n,) whose better half keeps its distances; the worse half is ranked,
    or keeps its distances up to `rank_limit` times those of the ranks."""
    # halved: the mean of two losses of 1e308 would overflow
    median = float(np.median(scores / 2))
    is_better = scores / 2 <= median
    # equal values are exactly 0 here; a mean of theirs need not be one of them
    better_distances, scale = _scale_below_half(scores[is_better] / 2 - median)
    better_spread = float(np.sqrt(np.mean(better_distances**2)))
    # if not, the better half is one value, and only ranks remain
    has_distances = better_spread > 0.0
    quantiles = (mean_ranks(scores) - 0.5) / len(scores)  # in (0, 1), above 1/2 for the worse half
    warped_scores = (better_spread or 1.0) * ndtri(np.maximum(quantiles, 0.5))
    if rank_limit is not None and has_distances:
        with np.errstate(over="ignore"):
            distances = np.maximum(scores / 2 - median, 0.0) / scale
        warped_scores = np.minimum(rank_limit * warped_scores, distances)
    warped_scores[is_better] = better_distances
    return _standard_target(scores, warped_scores, 2 * scale if has_distances else None)


def rank_all(scores: Floats) -> Target:
    """Ranks mapped to a normal distribution: invariant under any monotone rescaling of the loss.
    Ties share a rank."""
    return _standard_target(scores, ndtri((mean_ranks(scores) - 0.5) / len(scores)), None)


def keep_scores(scores: Floats) -> Target:
    """The scores themselves, centred and scaled."""
    scaled_distances, scale = _scale_below_half(scores / 2 - float(np.median(scores / 2)))
    return _standard_target(scores, scaled_distances, 2 * scale)


def _scale_below_half(scores: Floats) -> tuple[Floats, float]:
    """Numbers below 1/2, and the power of two that they were divided by: exact but for the scale,
    so that sums and squares of 1e300 are not infinite, nor those of 1e-300 zero."""
    scale = float(np.ldexp(1.0, min(int(np.frexp(np.abs(scores).max(initial=0.0))[1]) + 1, 1023)))
    return scores / scale, scale


def _standard_target(scores: Floats, warped_scores: Floats, scale: float | None) -> Target:
    """The target of warped values that are scores divided by `scale`; None for ranks."""
    greatest_value = float(np.abs(warped_scores).max(initial=0.0)) or 1.0
    scaled_values = warped_scores / greatest_value
    deviation = float(scaled_values.std())
    # equal scores hold no distances
    unit = None
    if scale and deviation:
        unit = min(deviation * greatest_value * scale, LARGEST_FLOAT)
    standard_values = (scaled_values - scaled_values.mean()) / (deviation or 1.0)
    return Target(scores, np.asarray(standard_values), unit)


TARGETS: Mapping[str, Callable[[Floats], Target]] = {
    "half-ranked": rank_worse_half,
    "half-limited": limit_worse_half,
    "ranked": rank_all,
    "raw": keep_scores,
}
