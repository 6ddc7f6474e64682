"""Borders between regions: their heights, and intervals for these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.chain_recursion import Crossings, Floats
from fovnet.regions import NONE

INTERVAL_COVERAGE = 0.9
"""Coverage of an interval: of the posterior, and of true borders."""


@dataclass(frozen=True)
class Boundary:
    """A border of a volume: the regions below and above it ("none" where the visible body ends),
    its height, and its 90 % interval."""

    below: str
    above: str
    mm: float
    low_mm: float
    high_mm: float


def find_boundaries(
    states: NDArray[np.int64],
    label_agrees: NDArray[np.bool_],
    crossings: Crossings,
    z_mm: Floats,
    edges_mm: Floats,
    chain: tuple[str, ...],
    stretch: float,
) -> tuple[Boundary, ...]:
    """The borders of the path `states` (s,), feet to head; the ends of the volume are not borders.

    label_agrees  (s,) whether the slice's labels agree with the path; a border beside a slice that
                  does not is left out
    stretch       factor on the half-widths of the posterior's intervals; each half spans at least
                  INTERVAL_COVERAGE of the way to the next slice's centre
    """
    region_names = (NONE, *chain, NONE)
    borders = []
    is_border = (np.diff(states) != 0) & label_agrees[:-1] & label_agrees[1:]
    for edge_index in (np.flatnonzero(is_border) + 1).tolist():
        rung_below = int(states[edge_index - 1])
        rung_above = int(states[edge_index])
        if rung_below == 0:
            log_weights = crossings.begins[rung_above - 1]
        elif rung_above > len(chain):
            log_weights = crossings.ends[rung_below - 1]
        else:
            log_weights = crossings.borders[rung_below - 1]
        low_mm, high_mm = height_interval(log_weights, z_mm)
        border_mm = float(edges_mm[edge_index])
        lower_half_mm = max(
            INTERVAL_COVERAGE * (border_mm - z_mm[edge_index - 1]), stretch * (border_mm - low_mm)
        )
        upper_half_mm = max(
            INTERVAL_COVERAGE * (z_mm[edge_index] - border_mm), stretch * (high_mm - border_mm)
        )
        border = Boundary(
            region_names[rung_below],
            region_names[rung_above],
            border_mm,
            float(border_mm - lower_half_mm),
            float(border_mm + upper_half_mm),
        )
        borders.append(border)
    return tuple(borders)


def height_interval(log_weights: Floats, z_mm: Floats) -> tuple[float, float]:
    """The central 90 % interval of a border's height from the log-weights (s + 1,) of the edges,
    given that it lies within the volume.

    A border at an edge is taken as uniform between the centres of the two slices, hence the linear
    interpolation.
    """
    inner_weights = log_weights[1:-1]
    relative_weights = np.exp(inner_weights - inner_weights.max())
    cumulative_weights = np.concatenate([[0.0], np.cumsum(relative_weights)])
    low_mm, high_mm = np.interp(
        [(1 - INTERVAL_COVERAGE) / 2, (1 + INTERVAL_COVERAGE) / 2],
        cumulative_weights / cumulative_weights[-1],
        z_mm,
    )
    return float(low_mm), float(high_mm)
