"""Scores made fit for a Gaussian process: a huge loss must not bend the model where the good ones lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

Floats = NDArray[np.float64]


def half_ranked(y: Floats) -> Floats:
    """Values (n,) in the order of y, of mean zero and unit variance, lower is better.

    The better half keeps its distances; the worse half keeps only its ranks, laid out as the upper half of a normal whose
    spread is that of the better half.  A loss of 1e30 then stands where a loss of 3 would.  All equal: all zero.
    Source: Song et al., *The Vizier Gaussian process bandit algorithm* (2024), arXiv:2408.11527, section 3.2.
    """
    median = float(np.median(y))
    good = y <= median
    above = y - median                                   # equal values are exactly 0 here; a mean of theirs need not be one of them
    spread = float(np.sqrt(np.mean(above[good] ** 2)))
    if spread == 0.0:                                    # the better half is one value: only ranks are left to tell
        spread = 1.0
    quantile = (rankdata(y) - 0.5) / len(y)              # ties share a rank; in (0, 1), above 1/2 for the worse half
    warped = np.where(good, above, spread * ndtri(np.maximum(quantile, 0.5)))
    deviation = float(warped.std())
    return np.asarray((warped - warped.mean()) / (deviation if deviation > 0.0 else 1.0))
