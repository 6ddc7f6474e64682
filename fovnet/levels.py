"""The levels of an axis that is continuous on a logarithmic scale; shared by the check of a
configuration and the search."""

from __future__ import annotations

import numpy as np


def even_ratios(low: float, high: float, levels: int) -> tuple[float, ...]:
    """`levels` values from low to high in equal ratios, rounded to four significant digits; in too
    narrow a range some are equal."""
    return tuple(float(f"{value:.4g}") for value in np.geomspace(low, high, levels))
