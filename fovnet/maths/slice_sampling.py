"""Samples from a posterior whose prior is a normal distribution, without a step size to tune.

    mean, width  (D,)  of the prior, its coordinates independent            x  (D,)  the current point
    log_likelihood     any function of x; -inf where x is impossible

Source: Murray, Adams & MacKay, *Elliptical slice sampling* (AISTATS 2010), figure 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def elliptical_slices(
    log_likelihood: Callable[[Floats], float],
    start: Floats,
    mean: Floats,
    width: Floats,
    *,
    count: int,
    thinning: int,
    rng: np.random.Generator,
) -> Floats:
    """Samples (count, D) of a chain from `start`, every `thinning`-th of it; `start` must be
    possible."""
    x = start
    height = log_likelihood(start)
    samples = np.empty((count, len(start)))
    for step in range(count * thinning):
        x, height = _slice(log_likelihood, x, height, mean, width, rng)
        if (step + 1) % thinning == 0:
            samples[step // thinning] = x
    return samples


def _slice(
    log_likelihood: Callable[[Floats], float],
    x: Floats,
    height: float,
    mean: Floats,
    width: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, float]:
    """The next point and its log likelihood: on an ellipse through x and a draw from the prior,
    above a level drawn below x.

    The bracket of angles shrinks towards x itself, which lies above the level, so the loop ends.
    """
    other = width * rng.standard_normal(len(x))
    level = height + np.log1p(-rng.random())  # log of a number in (0, 1]
    angle = rng.uniform(0.0, 2.0 * np.pi)
    low = angle - 2.0 * np.pi
    high = angle
    while True:
        point = mean + (x - mean) * np.cos(angle) + other * np.sin(angle)
        value = log_likelihood(point)
        if value > level or angle == 0.0:
            return point, value
        low, high = (angle, high) if angle < 0.0 else (low, angle)
        angle = rng.uniform(low, high)
