"""Covariance kernels: the expected correlation of the values at two points, as a function of their
distance.

    r2     squared distance of two points, scaled by the lengthscales
    k      the correlation, 1 at r2 = 0                  slope  -2 ∂k/∂r2, of the shape of r2

Every function gives k and its slope together, because they share an exponential.  With the slope
the derivative along a lengthscale has no factor 1/r, so that coinciding points need no special
case:  ∂k/∂log ellⱼ = slope · gapsⱼ / ellⱼ².

Source: Rasmussen & Williams, *Gaussian Processes for Machine Learning* (2006), section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Kernel = Callable[[Floats], tuple[Floats, Floats]]

SQRT_5 = np.sqrt(5.0)


def matern52(r2: Floats) -> tuple[Floats, Floats]:
    """k = (1 + t + t²/3) e⁻ᵗ with t = √5 r, and its slope 5/3 (1 + t) e⁻ᵗ: twice differentiable
    functions. R&W eq. 4.17."""
    t = SQRT_5 * np.sqrt(r2)
    decay = np.exp(-t)
    return (1.0 + t * (1.0 + t / 3.0)) * decay, (5.0 / 3.0) * (1.0 + t) * decay


def squared_exponential(r2: Floats) -> tuple[Floats, Floats]:
    """k = exp(-r²/2), equal to its slope: infinitely differentiable functions, smoother than most
    losses are. R&W eq. 4.9."""
    k = np.exp(-0.5 * r2)
    return k, k


def draw_frequencies(kernel: Kernel, count: int, columns: int, rng: np.random.Generator) -> Floats:
    """Random frequencies (count, columns) whose cosines, averaged, are the kernel: its spectral
    density.

    That of Matérn 5/2 is a Student t of 5 degrees of freedom, that of the squared exponential a
    normal.  R&W section 4.2.1. Source: Rahimi & Recht, *Random features for large-scale kernel
    machines* (2007), algorithm 1.
    """
    normal_draws = rng.standard_normal((count, columns))
    if kernel is squared_exponential:
        return normal_draws
    return np.asarray(normal_draws / np.sqrt(rng.chisquare(5, count) / 5.0)[:, None])


KERNELS: Mapping[str, Kernel] = {"matern52": matern52, "squared-exponential": squared_exponential}
