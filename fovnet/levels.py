"""The levels of an axis that is continuous on a logarithmic scale: what a configuration is held to is what a search then has."""

from __future__ import annotations

import numpy as np


def even_ratios(low: float, high: float, levels: int) -> tuple[float, ...]:
    """So many levels from low to high, each as many times the one before, rounded to four digits; of too narrow a range some are alike."""
    return tuple(float(f"{value:.4g}") for value in np.geomspace(low, high, levels))
