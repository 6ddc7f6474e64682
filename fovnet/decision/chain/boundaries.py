"""Borders between regions: their heights, and intervals for these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.chain_recursion import Crossings, Floats
from fovnet.regions import NONE

SHARE = 0.9
"""Coverage of an interval: of the posterior, and of true borders."""


@dataclass(frozen=True)
class Boundary:
    """A border of a volume: the regions below and above it ("none" where the visible body ends), its height,
    and its 90 % interval."""

    below: str
    above: str
    mm: float
    low_mm: float
    high_mm: float


def boundaries(
    states: NDArray[np.int64],
    agrees: NDArray[np.bool_],
    crossed: Crossings,
    z_mm: Floats,
    edges_mm: Floats,
    chain: tuple[str, ...],
    stretch: float,
) -> tuple[Boundary, ...]:
    """The borders of the path `states` (s,), feet to head; the ends of the volume are not borders.

    agrees   (s,) whether the slice's labels agree with the path; a border beside a slice that does not is
             left out
    stretch  factor on the half-widths of the posterior's intervals; each half spans at least SHARE of the way
             to the next slice's centre
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
    """The central 90 % interval of a border's height from the log-weights (s + 1,) of the edges, given that
    it lies within the volume.

    A border at an edge is taken as uniform between the centres of the two slices, hence the linear
    interpolation.
    """
    inside = log_weights[1:-1]
    share = np.concatenate([[0.0], np.cumsum(np.exp(inside - inside.max()))])
    low, high = np.interp([(1 - SHARE) / 2, (1 + SHARE) / 2], share / share[-1], z_mm)
    return float(low), float(high)
