"""Whether slices stand in an order at all: neighbours in a body resemble each other, shuffled ones no more than any two.

    roughness = mean distance of neighbouring slices / mean distance of any two,   distance = ½ Σ_c |p_c - q_c| of their probabilities

It is about 1 for slices in random order, however many regions they show, and far below for a body.  Source: the ratio of von Neumann
(1941), *Distribution of the ratio of the mean square successive difference to the variance*, with the total variation distance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEAST_SLICES = 8
"""Of fewer slices even the neighbours of a body may all differ: feet, belly and head in three slices."""
LEAST_DISTANCE = 0.05
"""Slices that on average differ by less say all the same, and their order says nothing."""


def roughness(probabilities: NDArray[np.float64]) -> float:
    """The roughness of (s, k) probabilities, from 0 up to about 1; 0 where there are too few slices, or they hardly differ.

    Pairs are summed by rank, Σ_{i<j} |x_i - x_j| = Σ_i (2i - s + 1) x_(i), in O(s log s).
    """
    s = len(probabilities)
    if s < LEAST_SLICES:
        return 0.0
    ranked = np.sort(probabilities, axis=0)
    any_two = float((2.0 * np.arange(s) - s + 1) @ ranked.sum(axis=1)) / (s * (s - 1))
    neighbours = float(np.abs(np.diff(probabilities, axis=0)).sum()) / (2 * (s - 1))
    return neighbours / max(any_two, LEAST_DISTANCE)
