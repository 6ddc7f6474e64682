"""Scores made fit for a Gaussian process: a huge loss must not bend the model where the good ones lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Target:
    """What a model is fitted to, and the way back.

    scores  (n,)  as measured, lower is better          values  (n,)  in the same order, of mean zero and unit variance (all equal: zero)
    unit    the score that one unit of value is worth below the best one; None where the values know only ranks, or no distance at all
    """

    scores: Floats
    values: Floats
    unit: float | None

    def score_of(self, value: Floats) -> Floats:
        """The score that belongs to each value: read off between those seen, never above the worst, and below the best by `unit`."""
        order = np.argsort(self.values, kind="stable")
        lowest = float(self.values[order[0]])
        seen = np.interp(value, self.values[order], self.scores[order])
        return np.asarray(seen - (self.unit or 0.0) * np.maximum(lowest - np.asarray(value), 0.0))

    def is_within_reach(self, value: float) -> bool:
        """Whether a value has a score: above the worst one seen none is known, nor below the best without a unit."""
        return value <= float(self.values.max()) and (self.unit is not None or value >= float(self.values.min()))


def half_ranked(scores: Floats) -> Target:
    """The better half keeps its distances; the worse half keeps only its ranks, laid out as the upper half of a normal.

    The spread of that normal is that of the better half.  A loss of 1e30 then stands where a loss of 3 would.
    Source: Song et al., *The Vizier Gaussian process bandit algorithm* (2024), arXiv:2408.11527, section 3.2.
    """
    middle = float(np.median(scores / 2))                # half of everything: the mean of two losses of 1e308 is no number
    good = scores / 2 <= middle
    above, half = _small(scores[good] / 2 - middle)      # equal values are exactly 0 here; a mean of theirs need not be one of them
    spread = float(np.sqrt(np.mean(above**2)))
    distances = spread > 0.0                             # else the better half is one value, and only ranks are left
    quantile = (_ranks(scores) - 0.5) / len(scores)      # in (0, 1), above 1/2 for the worse half
    warped = (spread or 1.0) * ndtri(np.maximum(quantile, 0.5))
    warped[good] = above
    return _standardised(scores, warped, 2 * half if distances else None)


def ranked(scores: Floats) -> Target:
    """Ranks alone, laid out as a normal: the one thing that no rescaling of a loss can change.  Ties share a rank."""
    return _standardised(scores, ndtri((_ranks(scores) - 0.5) / len(scores)), None)


def raw(scores: Floats) -> Target:
    """The scores themselves, centred and scaled."""
    small, half = _small(scores / 2 - float(np.median(scores / 2)))
    return _standardised(scores, small, 2 * half)


def _ranks(scores: Floats) -> Floats:
    """1 for the lowest to n for the highest; ties share the mean of theirs.  As scipy.stats has it, whose import takes 30 MB."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * (count - 1.0))[place])


def _small(scores: Floats) -> tuple[Floats, float]:
    """Numbers below 1/2, and the power of two they were divided by: exactly as they were but for that, and sums and squares of 1e300 are no
    longer infinite, of 1e-300 no longer 0."""
    scale = float(np.ldexp(1.0, min(int(np.frexp(np.abs(scores).max(initial=0.0))[1]) + 1, 1023)))
    return scores / scale, scale


def _standardised(scores: Floats, warped: Floats, scale: float | None) -> Target:
    """The target of warped values that are scores divided by `scale`; None where they are ranks."""
    giant = float(np.abs(warped).max(initial=0.0)) or 1.0
    small = warped / giant
    deviation = float(small.std())
    unit = min(deviation * giant * scale, LARGEST) if scale and deviation else None        # equal scores hold no distances
    return Target(scores, np.asarray((small - small.mean()) / (deviation or 1.0)), unit)


TARGETS: Mapping[str, Callable[[Floats], Target]] = {"half-ranked": half_ranked, "ranked": ranked, "raw": raw}
