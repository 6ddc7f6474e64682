"""tpe: Parzen estimators of the good and of the other trials, axis by axis, as hyperopt 0.3.0 has
them.

    N  trials that count: finished, machine failures excluded, then pending ones
Source: as in maths/parzen.py, and `hyperopt.tpe.suggest`, to whose constants these are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.parzen import Estimate, mixture, shares
from fovnet.search.look.feasibility import CHUNK, Chances
from fovnet.search.look.uniform import uniform
from fovnet.search.look.view import Choice, View
from fovnet.search.space import distances, places_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STARTUPS = 20
"""Trials drawn uniformly at random before any is estimated from."""
CANDIDATES = 24
"""Values drawn along each axis from the density of the good trials."""
MOST_GOOD = 25


def parzen(view: View) -> Choice:
    """The row, likely to train, nearest to a point that is the best on each axis alone of 24 values
    drawn from the good trials' density: of greatest density among good trials over that among
    others.

    Axes are taken one by one, as by hyperopt.  With candidates "all" it is the row of greatest sum
    of the axes' log ratios instead, each of the masses of levels; that needs 15 to 80 % more draws,
    on average, on four of five recorded tables.  No forecast.
    """
    good, rest = split(view)
    if len(good) + len(rest) < view.initial:
        return uniform(view)
    rng = view.rng
    places = places_of(view.space)
    chances = Chances(view)

    def estimates(axis: int) -> tuple[Estimate, Estimate]:
        return _estimate(view, places, good, axis), _estimate(view, places, rest, axis)

    axes = range(len(view.space.axes))
    pairs = [estimates(axis) for axis in axes]
    if view.candidates == "all":
        rows = chances.likely(np.flatnonzero(view.free))
        levels = view.space.rows[rows]
        promise = np.sum(
            [_log_ratio(view, axis, *pairs[axis])[levels[:, axis]] for axis in axes], axis=0
        )
        return Choice(int(rng.choice(rows[promise == promise.max()])))
    point = np.array([_best_of(*pair, rng) for pair in pairs])
    return Choice(int(rng.choice(_nearest(view, chances, distances(view.space, places, point)))))


def _nearest(view: View, chances: Chances, gap: Floats) -> Integers:
    """Of the free rows, likely to train, the nearest by their distances (M,): one, or those that
    tie.

    Rows are asked about from the nearest on, as each question costs a row of a Gaussian process:
    all 34,300 took 1.3 s.
    """
    free = np.flatnonzero(view.free)
    free = free[np.argsort(gap[free], kind="stable")]
    first = 0
    while first < len(free):
        last = int(
            np.searchsorted(gap[free], gap[free[min(first + CHUNK, len(free)) - 1]], side="right")
        )
        good = free[first:last][chances.log_chance(free[first:last]) >= np.log(0.5)]
        if len(good):
            return np.sort(good[gap[good] == gap[good].min()])
        first = last
    rows = chances.likely(free)
    return np.sort(rows[gap[rows] == gap[rows].min()])


def split(view: View) -> tuple[Integers, Integers]:
    """The rows of the good trials, the ⌈√N / 4⌉ of lowest score but at most 25, and of all others;
    each by slot, pending ones last.

    Failures and pending trials are never good: hyperopt takes a running trial for a bad one, too.
    """
    finished_rows, scores = view.losses
    rows = np.append(finished_rows, np.array(view.pending, dtype=np.int64))
    losses = np.pad(scores, (0, len(view.pending)), constant_values=np.inf)
    count = min(int(np.ceil(0.25 * np.sqrt(len(rows)))), MOST_GOOD, int(np.isfinite(losses).sum()))
    good = np.zeros(len(rows), dtype=bool)
    good[np.argsort(losses, kind="stable")[:count]] = True
    return rows[good], rows[~good]


def _estimate(view: View, places: Floats, rows: Integers, axis: int) -> Estimate:
    if view.space.axes[axis].kind == "ordinal":
        return mixture(places[rows, axis])
    return shares(view.space.rows[rows, axis], len(view.space.axes[axis].levels))


def _log_ratio(view: View, axis: int, good: Estimate, rest: Estimate) -> Floats:
    """(L,) the log ratio of the masses of each level of an axis."""
    space_axis = view.space.axes[axis]
    values = (
        space_axis.columns[:, 0]
        if space_axis.kind == "ordinal"
        else np.arange(len(space_axis.levels), dtype=np.float64)
    )
    return good.log_mass(values) - rest.log_mass(values)


def _best_of(good: Estimate, rest: Estimate, rng: np.random.Generator) -> float:
    values = good.draw(rng, CANDIDATES)
    return float(values[np.argmax(good.log_density(values) - rest.log_density(values))])
