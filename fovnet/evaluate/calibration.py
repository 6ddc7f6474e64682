"""Calibration of confidences: is a confidence of 80 % right in 80 % of slices?

    s  slices
    k  classes
    b  bins of equal width on [0, 1]; a confidence of exactly 1 falls into the last

Sources: Naeini, Cooper & Hauskrecht (AAAI 2015) for the expected calibration error; Brier, *Mon.
Weather Rev.* 78 (1950) 1-3, the original form over all classes, from 0 (perfect) to 2.

Stages: "raw" the ensemble's mean probabilities, "calibrated" the same under the temperature of the
rule, "smoothed" those smoothed along the body by the decision, "decided" the confidence that a
volume's answer states of each slice.

A slice of two classes counts as right for either, while its training target is half of each: there
the first three stages appear underconfident. "decided" does not, as it counts a side region's share
twice. The error is therefore also given for slices of one class alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import label_shares
from fovnet.evaluate.shares import share_or_nan

BIN_COUNT = 10
STAGES = ("raw", "calibrated", "smoothed", "decided")
LEAST_PROBABILITY = 5e-6
"""Answers are written with five decimals: a probability written as 0 may be as large as this."""


def reliability_totals(
    confidence: NDArray[np.float64], is_right: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Totals (b, 3) of each bin: slices, summed confidence, right slices."""
    bin_index = np.clip((confidence * BIN_COUNT).astype(np.int64), 0, BIN_COUNT - 1)
    summed_values = (np.ones(len(bin_index)), confidence, is_right.astype(np.float64))
    return np.stack(
        [np.bincount(bin_index, values, minlength=BIN_COUNT) for values in summed_values], axis=1
    )


def expected_calibration_error(totals: NDArray[Any]) -> NDArray[np.float64]:
    """Mean |share right - mean confidence| (...,) over the slices, from bin totals (..., b, 3); NaN
    without slices."""
    slice_count = totals[..., 0].sum(axis=-1)
    # each bin's gap times its slices, so the weights cancel
    gap_in_slices = np.abs(totals[..., 2] - totals[..., 1]).sum(axis=-1)
    return share_or_nan(gap_in_slices, slice_count)


def brier_total(probabilities: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Squared distance between probabilities (s, k) and truth, summed over slices and classes.

    The target of a slice with two true classes is half of each, as in training.
    """
    return float(((probabilities - label_shares(truth)) ** 2).sum())


def negative_log_likelihood(probabilities: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Negative log-likelihood of truth under the probabilities (s, k), summed over slices, in nats.

    The target of a slice with two true classes is half of each, as in training; probabilities are
    clipped to LEAST_PROBABILITY.
    """
    log_probabilities = np.log(np.maximum(probabilities, LEAST_PROBABILITY))
    return float(-(label_shares(truth) * log_probabilities).sum())
