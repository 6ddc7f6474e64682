"""Shares of which some have nothing to be a share of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def share_or_nan(numerator: NDArray[Any], denominator: NDArray[Any]) -> NDArray[np.float64]:
    """numerator / denominator, NaN where the denominator is 0."""
    share = np.full(np.shape(denominator), np.nan)
    np.divide(numerator, denominator, out=share, where=np.asarray(denominator) > 0)
    return share
