"""Whether slices are in any order: neighbours in a body are alike, shuffled ones no more than
random pairs.

    roughness = mean distance of neighbouring slices / mean distance of any two
    distance  = ½ Σ_c |p_c - q_c| of the slices' probabilities

Neighbours are the next slices or the next but one, whichever are more alike: odd and even slices of
an interleaved acquisition often differ in brightness.  The ratio is about 1 for slices in random
order, however many regions they show, and far below for a body. Outliers, unlike both neighbours
where others are alike, are left out first: one odd slice among twenty of a head is as far from its
neighbours as from any other slice, whatever the order. Source: the ratio of von Neumann (1941),
*Distribution of the ratio of the mean square successive difference to the variance*, with the total
variation distance.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

LEAST_SLICES = 10
"""With fewer slices even neighbours in a body may all differ: feet, belly and head in three
slices."""
LEAST_DISTANCE = 0.12
"""Lower bound of the mean distance of two slices: below it they are nearly equal, and their order
is uninformative."""
GREATEST_OUTLIER_SHARE = 0.1
"""Share of the slices that may be outliers."""
LEAST_DETOUR_STEPS = 6.0
"""The detour over an outlier, in mean steps: at most 6 for evenly spread slices."""


def measure_roughness(probabilities: NDArray[np.float64]) -> float:
    """The roughness of (s, k) probabilities, from 0 up to about 1; 0 for too few slices.

    Pairs are summed by rank, Σ_{i<j} |x_i - x_j| = Σ_i (2i - s + 1) x_(i), in O(s log s).
    """
    if len(probabilities) < LEAST_SLICES:
        return 0.0
    probabilities = drop_outliers(probabilities)
    slice_count = len(probabilities)
    sorted_by_class = np.sort(probabilities, axis=0)
    mean_distance = float(
        (2.0 * np.arange(slice_count) - slice_count + 1) @ sorted_by_class.sum(axis=1)
    ) / (slice_count * (slice_count - 1))
    neighbour_distance = min(
        float(np.abs(probabilities[lag:] - probabilities[:-lag]).sum()) / (2 * (slice_count - lag))
        for lag in (1, 2)
    )
    return neighbour_distance / max(mean_distance, LEAST_DISTANCE)


def drop_outliers(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """(s - m, k) the slices without the m <= ⌈s GREATEST_OUTLIER_SHARE⌉ outliers: the path over one
    is longer than past it by more than LEAST_DETOUR_STEPS mean steps."""
    kept_slices = probabilities
    mean_step = float(np.abs(np.diff(probabilities, axis=0)).sum()) / max(1, len(probabilities) - 1)
    for _ in range(ceil(GREATEST_OUTLIER_SHARE * len(probabilities))):
        step_distances = np.abs(np.diff(kept_slices, axis=0)).sum(axis=1)
        skip_distances = np.abs(kept_slices[2:] - kept_slices[:-2]).sum(axis=1)
        detour_by_slice = np.concatenate(
            [
                step_distances[:1],
                step_distances[:-1] + step_distances[1:] - skip_distances,
                step_distances[-1:],
            ]
        )
        outlier_index = int(np.argmax(detour_by_slice))
        if detour_by_slice[outlier_index] <= LEAST_DETOUR_STEPS * mean_step:
            break
        kept_slices = np.delete(kept_slices, outlier_index, axis=0)
    return kept_slices
