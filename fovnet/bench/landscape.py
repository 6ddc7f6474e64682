"""Simulated losses over a search space: smooth, seeded, and the same on every machine.

M  rows
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.growing import Growing
from fovnet.maths.scales import Scales
from fovnet.search.space import Space

Floats = NDArray[np.float64]


def smooth_loss(space: Space, seed: int) -> Floats:
    """(M,) a function drawn from a Matérn 5/2 process over the space, whose lengthscale is a whole
    axis, of mean 0 and unit variance over its rows."""
    log_parameters = np.zeros(len(space.axes) + 2)
    matern_process = Growing(space.unit_cube, Scales.of(space.axis_of_column), log_parameters)
    drawn_values = matern_process.draw_prior(np.random.default_rng([seed, len(space)]))
    return np.asarray((drawn_values - drawn_values.mean()) / (drawn_values.std() or 1.0))
