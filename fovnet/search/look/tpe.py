"""tpe: Parzen estimators of the good and of the other trials, axis by axis, as hyperopt 0.3.0 has
them.

    N  trials that count: finished, machine failures excluded, then pending ones
Source: as in maths/parzen.py, and `hyperopt.tpe.suggest`, to whose constants these are equal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.parzen import Estimate, mixture, shares
from fovnet.search.look.feasibility import ROWS_PER_CHUNK, Chances
from fovnet.search.look.uniform import uniform
from fovnet.search.look.view import Choice, View
from fovnet.search.space import distances, places_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STARTUPS = 20
"""Trials drawn uniformly at random before any is estimated from."""
CANDIDATES = 24
"""Values drawn along each axis from the density of the good trials."""
MOST_GOOD_TRIALS = 25


def parzen(view: View) -> Choice:
    """The row, likely to train, nearest to a point that is the best on each axis alone of 24 values
    drawn from the good trials' density: of greatest density among good trials over that among
    others.

    Axes are taken one by one, as by hyperopt.  With candidates "all" it is the row of greatest sum
    of the axes' log ratios instead, each of the masses of levels; that needs 15 to 80 % more draws,
    on average, on four of five recorded tables.  No forecast.
    """
    good_rows, other_rows = split(view)
    if len(good_rows) + len(other_rows) < view.initial:
        return uniform(view)
    rng = view.rng
    level_places = places_of(view.space)
    chances = Chances(view)

    def axis_estimates(axis_index: int) -> tuple[Estimate, Estimate]:
        return _density_estimate(view, level_places, good_rows, axis_index), _density_estimate(
            view, level_places, other_rows, axis_index
        )

    axis_indices = range(len(view.space.axes))
    estimate_pairs = [axis_estimates(axis_index) for axis_index in axis_indices]
    if view.candidates == "all":
        likely_rows = chances.likely(np.flatnonzero(view.free))
        level_indices = view.space.rows[likely_rows]
        log_promise = np.sum(
            [
                _log_mass_ratio(view, axis_index, *estimate_pairs[axis_index])[
                    level_indices[:, axis_index]
                ]
                for axis_index in axis_indices
            ],
            axis=0,
        )
        return Choice(int(rng.choice(likely_rows[log_promise == log_promise.max()])))
    best_point = np.array(
        [_best_drawn_value(*estimate_pair, rng) for estimate_pair in estimate_pairs]
    )
    return Choice(
        int(
            rng.choice(
                _nearest_likely_rows(view, chances, distances(view.space, level_places, best_point))
            )
        )
    )


def _nearest_likely_rows(view: View, chances: Chances, distance_by_row: Floats) -> Integers:
    """Of the free rows, likely to train, the nearest by their distances (M,): one, or those that
    tie.

    Rows are asked about from the nearest on, as each question costs a row of a Gaussian process:
    all 34,300 took 1.3 s.
    """
    free_rows = np.flatnonzero(view.free)
    free_rows = free_rows[np.argsort(distance_by_row[free_rows], kind="stable")]
    chunk_start = 0
    while chunk_start < len(free_rows):
        chunk_end = int(
            np.searchsorted(
                distance_by_row[free_rows],
                distance_by_row[free_rows[min(chunk_start + ROWS_PER_CHUNK, len(free_rows)) - 1]],
                side="right",
            )
        )
        likely_rows = free_rows[chunk_start:chunk_end][
            chances.log_chance(free_rows[chunk_start:chunk_end]) >= np.log(0.5)
        ]
        if len(likely_rows):
            return np.sort(
                likely_rows[distance_by_row[likely_rows] == distance_by_row[likely_rows].min()]
            )
        chunk_start = chunk_end
    most_likely_rows = chances.likely(free_rows)
    return np.sort(
        most_likely_rows[
            distance_by_row[most_likely_rows] == distance_by_row[most_likely_rows].min()
        ]
    )


def split(view: View) -> tuple[Integers, Integers]:
    """The rows of the good trials, the ⌈√N / 4⌉ of lowest score but at most 25, and of all others;
    each by slot, pending ones last.

    Failures and pending trials are never good: hyperopt takes a running trial for a bad one, too.
    """
    finished_rows, scores = view.losses
    begun_rows = np.append(finished_rows, np.array(view.pending, dtype=np.int64))
    losses = np.pad(scores, (0, len(view.pending)), constant_values=np.inf)
    good_count = min(
        int(np.ceil(0.25 * np.sqrt(len(begun_rows)))),
        MOST_GOOD_TRIALS,
        int(np.isfinite(losses).sum()),
    )
    is_good = np.zeros(len(begun_rows), dtype=bool)
    is_good[np.argsort(losses, kind="stable")[:good_count]] = True
    return begun_rows[is_good], begun_rows[~is_good]


def _density_estimate(
    view: View, level_places: Floats, rows: Integers, axis_index: int
) -> Estimate:
    if view.space.axes[axis_index].kind == "ordinal":
        return mixture(level_places[rows, axis_index])
    return shares(view.space.rows[rows, axis_index], len(view.space.axes[axis_index].levels))


def _log_mass_ratio(
    view: View, axis_index: int, good_estimate: Estimate, other_estimate: Estimate
) -> Floats:
    """(L,) the log ratio of the masses of each level of an axis."""
    space_axis = view.space.axes[axis_index]
    level_values = (
        space_axis.columns[:, 0]
        if space_axis.kind == "ordinal"
        else np.arange(len(space_axis.levels), dtype=np.float64)
    )
    return good_estimate.log_mass(level_values) - other_estimate.log_mass(level_values)


def _best_drawn_value(
    good_estimate: Estimate, other_estimate: Estimate, rng: np.random.Generator
) -> float:
    """The value, of CANDIDATES drawn from the good trials' density, of greatest ratio of the two
    densities."""
    drawn_values = good_estimate.draw(rng, CANDIDATES)
    return float(
        drawn_values[
            np.argmax(
                good_estimate.log_density(drawn_values) - other_estimate.log_density(drawn_values)
            )
        ]
    )
