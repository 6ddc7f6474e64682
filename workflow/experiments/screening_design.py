"""Screening designs: many factors at two levels, folded over, and their main effects.

    X  (n, q)  ±1: run i has factor j, or does not             y  (n,)  the result of each run
    effect_j = mean of y with factor j - mean of y without it = (2/n) Σ_i X_ij y_i

Every run informs every effect, so each has the standard error 2σ/√n; varying one factor at a time,
with n runs shared among q factors, gives about σ√(2q/n): 3.5 times as much for 25 factors.  X
consists of m rows of a Hadamard matrix, m the least power of two that leaves FREE degrees of
freedom, and of their mirror images, each right after its own: n = 2m.  In it

* the columns are orthogonal: no effect is confounded with another;
* y_2i - y_2i+1 depends on main effects alone: whatever both of a pair share cancels, and so does
  every interaction of two factors, X_j·X_k being the same in both.

Source: Plackett & Burman, *The design of optimum multifactorial experiments*, Biometrika 33 (1946),
for the matrices; Box & Wilson, *On the experimental attainment of optimum conditions*, JRSS B 13
(1951), for folding over; Box, Hunter & Hunter, *Statistics for experimenters* (2005), chapter 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

Floats = NDArray[np.float64]

FREE = 4
"""Least degrees of freedom for the error: with fewer, an interval reaches three standard errors to
each side."""


def folded_design(factors: int) -> NDArray[np.int64]:
    """X (n, q) of q factors, run 2i + 1 the mirror image of run 2i; the first two runs have all
    factors, and none.

    >>> folded_design(1).T                      # 1 factor, 8 + 8 runs
    array([[ 1, -1, -1,  1,  1, -1, -1,  1,  1, -1, -1,  1,  1, -1, -1,  1]])
    """
    pairs = 1 << (factors + FREE - 1).bit_length()
    half = hadamard(pairs, dtype=np.int64)[:, 1 : factors + 1]  # the first column has no -1
    return np.stack([half, -half], axis=1).reshape(2 * pairs, factors)


def main_effects(X: NDArray[np.int64], y: NDArray[Any]) -> Floats:
    """Effects (..., q) of a folded design's factors on y (..., n)."""
    return np.asarray(y @ X * (2.0 / len(X)))


def effect_error(X: NDArray[np.int64], y: NDArray[Any]) -> tuple[float, int]:
    """The standard error of every effect on y (n,), and its degrees of freedom, m - q.

    From the residuals of the differences within pairs, d = (y_2i - y_2i+1)/2:  s² = |d - X
    effect/2|² / (m - q), error 2s/√m.
    """
    half_design = X[::2]
    half_differences = (y[::2] - y[1::2]) / 2
    pair_count, factor_count = half_design.shape
    freedom = pair_count - factor_count
    residuals = half_differences - half_design @ main_effects(X, y) / 2
    return float(2 * np.sqrt(residuals @ residuals / freedom / pair_count)), freedom
