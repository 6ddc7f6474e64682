"""Whether things stand in an order: neighbours in it resemble each other more than any two do.

    x (s, d)  s things in their order, d numbers each
    ratio     mean squared step between neighbours over the variance: Σ|x_t+1 - x_t|² : Σ|x_t - mean|², both over s - 1

A shuffled order gives 2, in the mean over all orders and whatever the things are; a smooth course is near 0.
Source: von Neumann (1941), *Distribution of the ratio of the mean square successive difference to the variance*, Ann Math Stat 12:367.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def neighbour_ratio(x: NDArray[np.floating]) -> float:
    """The ratio; 0 where there are fewer than three things, or nothing differs: nothing speaks against their order."""
    course = np.asarray(x, dtype=np.float64)
    if len(course) < 3:
        return 0.0
    spread = float(((course - course.mean(axis=0)) ** 2).sum())
    step = float((np.diff(course, axis=0) ** 2).sum())
    return step / spread if spread > 1e-12 else 0.0
