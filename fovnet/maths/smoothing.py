"""Smoothing along the body, in millimetres.

Source: a normalised-convolution Gaussian (Knutsson & Westin, 1993): weights are renormalised over
the slices that exist.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEGLIGIBLE_WEIGHT = 1e-17
"""A smaller weight is lost in rounding beside the slice's own weight of 1."""


def smooth_along_body(
    probabilities: NDArray[np.float64], z_mm: NDArray[np.float64], sigma_mm: float
) -> NDArray[np.float64]:
    """Slice probabilities (s, k) averaged with a Gaussian in height, each row still summing to one.

    sigma_mm is physical: 12 mm span 1.5 slices at 8 mm spacing and four at 3 mm; uneven spacing is
    respected. Below a micrometre nothing changes.
    At the ends the weights are normalised over the slices that exist, so that nothing is
    extrapolated.
    """
    if sigma_mm < 1e-3:
        return probabilities
    weight_sums = np.ones(len(z_mm))
    weighted_sums = probabilities.astype(np.float64, copy=True)
    for step in range(1, len(z_mm)):
        pair_weights = np.exp(-0.5 * ((z_mm[step:] - z_mm[:-step]) / sigma_mm) ** 2)
        if pair_weights.max() < NEGLIGIBLE_WEIGHT:
            # z_mm ascends: pairs farther apart weigh less still
            break
        weight_sums[step:] += pair_weights
        weight_sums[:-step] += pair_weights
        weighted_sums[step:] += pair_weights[:, None] * probabilities[:-step]
        weighted_sums[:-step] += pair_weights[:, None] * probabilities[step:]
    return np.asarray(weighted_sums / weight_sums[:, None])


def temper(probabilities: NDArray[np.float64], temperature: float) -> NDArray[np.float64]:
    """Probabilities (..., k) with their logarithms divided by a temperature; above 1 less sure,
    below 1 surer.

    Guo et al. (2017), On calibration of modern neural networks, eq. 9, applied to the ensemble's
    mean.
    """
    unnormalised = np.power(np.maximum(probabilities, 1e-12), 1.0 / temperature)
    return np.asarray(unnormalised / unnormalised.sum(axis=-1, keepdims=True))


def best_stretch(gains: NDArray[np.float64]) -> tuple[int, int, float]:
    """First and last index of the contiguous run with the largest sum, and that sum; (0, -1, 0.0)
    where no run is positive.

    Kadane's algorithm: Bentley (1984), Programming pearls: algorithm design techniques.
    """
    best_first = 0
    best_last = -1
    best_sum = 0.0
    running_sum = 0.0
    first_index = 0
    for slice_index, slice_gain in enumerate(gains):
        if running_sum <= 0:
            running_sum = 0.0
            first_index = slice_index
        running_sum += float(slice_gain)
        if running_sum > best_sum:
            best_first = first_index
            best_last = slice_index
            best_sum = running_sum
    return best_first, best_last, best_sum
