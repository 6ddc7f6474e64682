"""How promising a point is, from the mean and variance of a Gaussian process; lower values are better.

    mean, variance  (m,)  posterior at the query points        best  the value to improve upon
    z               (m,)  (best - mean) / √variance            φ, Φ  the standard normal density and distribution
Source: Ament et al., *Unexpected improvements to expected improvement* (2023), arXiv:2310.20708.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

Floats = NDArray[np.float64]

SQRT_HALF = np.sqrt(0.5)
SQRT_HALF_PI = np.sqrt(0.5 * np.pi)
LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
LEAST_VARIANCE = 1e-18
"""Below it a point counts as known; far less than any real posterior variance, and its root is still a number to divide by."""


def log_expected_improvement(mean: Floats, variance: Floats, best: float) -> Floats:
    """log E[max(best - f, 0)], (m,), finite wherever z² is.  Ament et al. eq. 8."""
    deviation = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    return np.asarray(log_h((best - mean) / deviation) + np.log(deviation))


def log_h(z: Floats) -> Floats:
    """log(φ(z) + z Φ(z)), the log expected improvement at unit variance, of the shape of z.  Ament et al. eq. 9.

    The direct form cancels to log(0) near z = -38.  Below -1 it becomes φ(z)·(1 - |z|Φ/φ), with Φ/φ from erfcx, which does
    not underflow.  Beyond -1e5 that difference has lost ten digits and its limit 1/z², true to 3/z², is the better value.
    """
    body, tail = np.maximum(z, -1.0), np.minimum(z, -1.0)                      # each branch sees only safe values
    near = np.log(np.exp(-0.5 * body**2) / (2.0 * SQRT_HALF_PI) + body * ndtr(body))
    middle = np.maximum(tail, -1e5)
    ratio = np.log1p(middle * SQRT_HALF_PI * erfcx(-middle * SQRT_HALF))       # log(1 - |z|Φ/φ)
    ratio = np.where(tail > -1e5, ratio, -2.0 * np.log(-tail))
    return np.asarray(np.where(z > -1.0, near, -0.5 * tail**2 - LOG_SQRT_2PI + ratio))
