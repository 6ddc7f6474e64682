"""Where one region passes into the next, and how far off that may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.chain_recursion import Crossings, Floats
from fovnet.regions import NONE

SHARE = 0.9
"""Of the posterior, and of true borders, that an interval holds."""


@dataclass(frozen=True)
class Boundary:
    """A border of a volume: what lies below and above it ("none" at the end of the body in view), its height, and its 90 % interval."""

    below: str
    above: str
    mm: float
    low_mm: float
    high_mm: float


def boundaries(
    states: NDArray[np.int64], agrees: NDArray[np.bool_], crossed: Crossings, z_mm: Floats, edges_mm: Floats, chain: tuple[str, ...],
    stretch: float,
) -> tuple[Boundary, ...]:
    """The borders of the path `states` (s,), feet to head; the ends of the volume itself are none.

    agrees   (s,) whether the slice is decided to show the path's region; a border beside one that is not is left out
    stretch  the intervals' halves are the posterior's times this, and reach at least SHARE of the way to the next slice
    """
    names = (NONE, *chain, NONE)
    found = []
    for e in (np.flatnonzero((np.diff(states) != 0) & agrees[:-1] & agrees[1:]) + 1).tolist():
        below, above = int(states[e - 1]), int(states[e])
        if below == 0:
            row = crossed.begins[above - 1]
        elif above > len(chain):
            row = crossed.ends[below - 1]
        else:
            row = crossed.borders[below - 1]
        low, high = interval(row, z_mm)
        mm = float(edges_mm[e])
        down, up = SHARE * (mm - z_mm[e - 1]), SHARE * (z_mm[e] - mm)
        down, up = max(down, stretch * (mm - low)), max(up, stretch * (high - mm))
        found.append(Boundary(names[below], names[above], mm, float(mm - down), float(mm + up)))
    return tuple(found)


def interval(log_weights: Floats, z_mm: Floats) -> tuple[float, float]:
    """The middle 90 % of a border's height, given the log-weight (s + 1,) of each edge and that it lies within the picture.

    A border at an edge lies anywhere between the middles of the two slices it parts: hence the straight lines between them.
    """
    inside = log_weights[1:-1]
    share = np.concatenate([[0.0], np.cumsum(np.exp(inside - inside.max()))])
    low, high = np.interp([(1 - SHARE) / 2, (1 + SHARE) / 2], share / share[-1], z_mm)
    return float(low), float(high)
