"""Proposals without a model: uniformly at random, or spread evenly over the space for the first
slots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.search.look.view import Choice, View
from fovnet.search.space import Space

FEWEST_SPREAD_ROWS = 3


def choose_uniformly(view: View) -> Choice:
    """A free row, drawn uniformly at random."""
    return Choice(int(view.rng.choice(np.flatnonzero(view.is_free))))


def default_initial_count(space: Space) -> int:
    """The number of spread rows before the model is used: three, or one per level of the largest
    categorical axis, if that has more.

    All levels of a categorical axis are equally far apart, so the model predicts nothing for a
    level never seen.
    """
    category_counts = [len(axis.levels) for axis in space.axes if axis.kind == "categorical"]
    return max([FEWEST_SPREAD_ROWS, *category_counts])


def choose_spread(view: View) -> Choice:
    """The free row nearest to the slot's point of a scrambled Sobol sequence, fixed by the search's
    seed.

    Unlike random draws it leaves no level of an axis untried for long; unlike a maximin design it
    does not begin in the corners, with the largest networks and learning rates.  Source: Owen,
    *Scrambling Sobol' and Niederreiter-Xing points* (1998).
    """
    from scipy.stats import qmc  # 30 MB, needed for the first few slots only

    sequence = qmc.Sobol(len(view.space.axes), scramble=True, seed=np.random.default_rng(view.seed))
    sequence.fast_forward(view.begun_count)
    return choose_nearest(view, sequence.random(1)[0])


def choose_spread_among(view: View, rows: NDArray[np.int64]) -> Choice:
    """As `choose_spread`, of these free rows alone."""
    is_allowed = np.zeros(len(view.space), dtype=bool)
    is_allowed[rows] = True
    return choose_spread(replace(view, is_free=is_allowed))


def choose_nearest(view: View, point: NDArray[np.float64]) -> Choice:
    """The free row nearest to the levels that a point (d,) in [0, 1) falls on, every level of an
    axis having an equal share of it."""
    levels = np.array(
        [int(share * len(axis.levels)) for share, axis in zip(point, view.space.axes, strict=True)]
    )
    return Choice(view.space.nearest_row(levels, view.is_free))
