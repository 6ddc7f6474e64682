"""Is a confidence of 80 % right four times in five?

    s  slices    k  classes    b  bins of equal width on [0, 1]; a confidence of exactly 1 falls into the last

Sources: Naeini, Cooper & Hauskrecht (AAAI 2015) for the expected calibration error; Brier, *Mon. Weather Rev.* 78 (1950) 1-3, the
original form over all classes, from 0 (perfect) to 2.

    before and after: "raw" are the ensemble's mean probabilities, "calibrated" the same under the temperature of the rule, "smoothed"
    what the decision makes of them along the body, "decided" the confidence that a volume's answer states of each slice

A slice of two classes is right whichever is named, and training asks for half of each: there the first three stages look more cautious
than they are. "decided" counts a protocol's share twice, and does not. The error is therefore told of the slices of one class too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 10
STAGES = ("raw", "calibrated", "smoothed", "decided")
LEAST_PROBABILITY = 5e-6
"""Answers keep five decimals of a probability: what is written 0 may have been as much as this."""


def reliability(confidence: NDArray[np.float64], right: NDArray[np.bool_], bins: int = BINS) -> NDArray[np.float64]:
    """Totals (b, 3) a bin: slices, summed confidence, slices that were right."""
    index = np.clip((confidence * bins).astype(np.int64), 0, bins - 1)
    columns = (np.ones(len(index)), confidence, right.astype(np.float64))
    return np.stack([np.bincount(index, column, minlength=bins) for column in columns], axis=1)


def expected_calibration_error(totals: NDArray[Any]) -> NDArray[np.float64]:
    """Mean |share right - mean confidence| (...,) over the slices, from bin totals (..., b, 3); NaN without slices."""
    slices = totals[..., 0].sum(axis=-1)
    gap = np.abs(totals[..., 2] - totals[..., 1]).sum(axis=-1)      # each bin's gap times its slices, so the weights cancel
    result = np.full(np.shape(slices), np.nan)
    np.divide(gap, slices, out=result, where=np.asarray(slices) > 0)
    return result


def brier_total(probabilities: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Squared distance between probabilities (s, k) and truth, summed over slices and classes.

    A slice with two true classes is held against half of each, as in training.
    """
    target = truth / truth.sum(axis=1, keepdims=True)
    return float(((probabilities - target) ** 2).sum())


def negative_log_likelihood(probabilities: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Negative log-likelihood of truth under the probabilities (s, k), summed over slices, in nats.

    A slice with two true classes counts half of each, as in training; probabilities below LEAST_PROBABILITY count as that.
    """
    target = truth / truth.sum(axis=1, keepdims=True)
    return float(-(target * np.log(np.maximum(probabilities, LEAST_PROBABILITY))).sum())
