"""Samples from a posterior whose prior is a normal distribution, without a step size to tune.

    mean, width  (D,)  of the prior, its coordinates independent
    x            (D,)  the current point
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
    """Samples (count, D) of a chain from `start`, every `thinning`-th of it, where the prior
    has this mean and these standard deviations (width); `start` must be possible."""
    point = start
    log_likelihood_at_point = log_likelihood(start)
    samples = np.empty((count, len(start)))
    for step in range(count * thinning):
        point, log_likelihood_at_point = _draw_on_ellipse(
            log_likelihood, point, log_likelihood_at_point, mean, width, rng
        )
        if (step + 1) % thinning == 0:
            samples[step // thinning] = point
    return samples


def _draw_on_ellipse(
    log_likelihood: Callable[[Floats], float],
    current_point: Floats,
    current_log_likelihood: float,
    mean: Floats,
    width: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, float]:
    """The next point (D,) and its log likelihood: on an ellipse through the current point and a
    draw from the prior, above a level drawn below the current likelihood.

    The bracket of angles shrinks towards the current point, which lies above the level, so the loop
    ends.
    """
    prior_draw = width * rng.standard_normal(len(current_point))
    # plus the log of a number in (0, 1]
    least_log_likelihood = current_log_likelihood + np.log1p(-rng.random())
    angle = rng.uniform(0.0, 2.0 * np.pi)
    least_angle = angle - 2.0 * np.pi
    greatest_angle = angle
    while True:
        candidate = mean + (current_point - mean) * np.cos(angle) + prior_draw * np.sin(angle)
        candidate_log_likelihood = log_likelihood(candidate)
        if candidate_log_likelihood > least_log_likelihood or angle == 0.0:
            return candidate, candidate_log_likelihood
        if angle < 0.0:
            least_angle = angle
        else:
            greatest_angle = angle
        angle = rng.uniform(least_angle, greatest_angle)
