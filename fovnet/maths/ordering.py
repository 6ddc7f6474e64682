"""Whether items are in their order: neighbours are then more alike than random pairs.

    x (s, d)  s items in their order, d numbers each
    ratio     mean squared step between neighbours over the variance: Σ|x_t+1 - x_t|² : Σ|x_t -
              mean|², both over s - 1
    passes    of an acquisition that takes every p-th item first, then those next to them, and so on
              (interleaving)

A shuffled order gives 2, averaged over all orders and for any items; a smooth course is near 0.

Source: von Neumann (1941), *Distribution of the ratio of the mean square successive difference to
the variance*, Ann Math Stat 12:367.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PASS_COUNTS = (2, 3, 4)
LEAST_SQUARED_SPREAD = 1e-12
"""Sum of squared distances to the mean up to which all items count as equal."""
LEAST_ITEM_COUNT = 10
GREATEST_RATIO_SHARE = 0.75
"""The ratio must fall to this share when items are reordered from passes.  Of 162 volumes of ten
slices or more, simulated and real, none in correct order fell below 0.97 (noise lowest, bodies from
2.1 on), and of the same in two passes 95 % fell to 0.6 or lower."""


def neighbour_ratio(measurements: NDArray[np.floating]) -> float:
    """The sum of squared steps between neighbouring items (s, d), over that of their squared
    distances to the mean; 0, in favour of the order, for fewer than three items or if all are
    equal."""
    items = np.asarray(measurements, dtype=np.float64)
    if len(items) < 3:
        return 0.0
    squared_spread = float(((items - items.mean(axis=0)) ** 2).sum())
    squared_steps = float((np.diff(items, axis=0) ** 2).sum())
    if squared_spread <= LEAST_SQUARED_SPREAD:
        return 0.0
    return squared_steps / squared_spread


def detect_passes(measurements: NDArray[np.floating]) -> int:
    """In how many passes items (s, d) seem to be stored, one pass after the other; 1 if in none, or
    for fewer than LEAST_ITEM_COUNT items."""
    if len(measurements) < LEAST_ITEM_COUNT:
        return 1
    best_pass_count = 1
    least_ratio = GREATEST_RATIO_SHARE * neighbour_ratio(measurements)
    for pass_count in PASS_COUNTS:
        for first_pass in range(pass_count):
            first_items = [(first_pass + offset) % pass_count for offset in range(pass_count)]
            storage_order = np.concatenate(
                [np.arange(first, len(measurements), pass_count) for first in first_items]
            )
            ratio = neighbour_ratio(measurements[np.argsort(storage_order)])
            if ratio < least_ratio:
                least_ratio = ratio
                best_pass_count = pass_count
    return best_pass_count
