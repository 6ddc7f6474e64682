"""Where a search over a tree begins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.search.tree.costs import Costs
from fovnet.search.tree.moves import Ground, draw_points
from fovnet.search.tree.streams import generator
from fovnet.search.tree.tree import Tree

Floats = NDArray[np.float64]


def draw_first_point(tree: Tree, costs: Costs, seed: int) -> Floats:
    """(d,) the start if it fits, else the first point drawn that does.  Raises SearchError
    "no-feasible-row" if none of MOST_DRAWN fits."""
    ground = Ground(tree, costs)
    if describe_start_fault(tree, costs) is None:
        return tree.start_point
    draw = draw_points(ground, generator(seed, "stand-in"), 1)
    if len(draw.points):
        return np.asarray(draw.points[0])
    counts_in_words = ", ".join(
        f"{count:,} for {reason}" for reason, count in draw.count_by_reason.items()
    )
    raise SearchError(
        "no-feasible-row",
        f"none of {draw.drawn_count:,} drawn fits, {counts_in_words}; raise a limit, or give "
        "search.space smaller networks.",
    )


def describe_start_fault(tree: Tree, costs: Costs) -> str | None:
    """Why the start does not fit; None if it does."""
    fault = Ground(tree, costs).price(tree.start_point[None]).faults[0]
    if fault is None:
        return None
    return fault.sentence
