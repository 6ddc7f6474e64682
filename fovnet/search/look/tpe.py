"""tpe: Parzen estimators of the good and of the other trials, axis by axis, as hyperopt 0.3.0 has
them.

    N  trials that count: finished, machine failures excluded, then pending ones
Source: as in maths/parzen.py, and `hyperopt.tpe.suggest`, to whose constants these are equal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.parzen import Estimate, estimate_mixture, estimate_shares
from fovnet.search.look.feasibility import LIKELY_TO_TRAIN, ROWS_PER_CHUNK, Chances
from fovnet.search.look.uniform import choose_uniformly
from fovnet.search.look.view import DEFAULT_CANDIDATES, Choice, View
from fovnet.search.space import distances_to_point, row_places

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STARTUPS = 20
"""Trials drawn uniformly at random before any is estimated from."""
GOOD_SHARE_OF_ROOT = 0.25
"""Good trials, as a share of the root of the number of trials."""
MOST_GOOD_TRIALS = 25


def choose_by_parzen(view: View) -> Choice:
    """The row, likely to train, nearest to a point that is the best on each axis alone of 24 values
    drawn from the good trials' density: of greatest density among good trials over that among
    others.

    Axes are taken one by one, as by hyperopt.  With candidates "all" it is the row of greatest sum
    of the axes' log ratios instead, each of the masses of levels; that needs 15 to 80 % more draws,
    on average, on four of five recorded tables.  No forecast.
    """
    good_rows, other_rows = split_trials(view)
    if len(good_rows) + len(other_rows) < view.initial_count:
        return choose_uniformly(view)
    place_by_row = row_places(view.space)
    axis_indices = range(len(view.space.axes))
    good_estimates = [
        _density_estimate(view, place_by_row, good_rows, axis_index) for axis_index in axis_indices
    ]
    other_estimates = [
        _density_estimate(view, place_by_row, other_rows, axis_index) for axis_index in axis_indices
    ]
    estimate_pairs = list(zip(good_estimates, other_estimates, strict=True))
    chances = Chances(view)
    rng = view.rng
    if view.candidates == "all":
        candidate_rows = chances.rows_likely_to_train(np.flatnonzero(view.is_free))
        log_promise = _sum_of_log_mass_ratios(view, candidate_rows, estimate_pairs)
        best_rows = candidate_rows[log_promise == log_promise.max()]
    else:
        best_point = np.array(
            [_best_drawn_value(*estimate_pair, rng) for estimate_pair in estimate_pairs]
        )
        distance_by_row = distances_to_point(view.space, place_by_row, best_point)
        best_rows = _nearest_likely_rows(view, chances, distance_by_row)
    return Choice(int(rng.choice(best_rows)))


def _sum_of_log_mass_ratios(
    view: View, rows: Integers, estimate_pairs: Sequence[tuple[Estimate, Estimate]]
) -> Floats:
    """(m,) of rows (m,), the sum over the axes of the log ratio of the masses of their levels,
    from the estimates of the good and of the other trials along each axis."""
    log_ratios = []
    for axis_index, (good_estimate, other_estimate) in enumerate(estimate_pairs):
        log_ratio_by_level = _log_mass_ratio(view, axis_index, good_estimate, other_estimate)
        log_ratios.append(log_ratio_by_level[view.space.rows[rows, axis_index]])
    return np.asarray(np.sum(log_ratios, axis=0))


def _nearest_likely_rows(view: View, chances: Chances, distance_by_row: Floats) -> Integers:
    """Of the free rows, likely to train, the nearest by their distances (M,): one, or those that
    tie.

    Rows are asked about from the nearest on, as each question costs a row of a Gaussian process:
    all 34,300 took 1.3 s.
    """
    free_rows = np.flatnonzero(view.is_free)
    free_rows = free_rows[np.argsort(distance_by_row[free_rows], kind="stable")]
    free_distances = distance_by_row[free_rows]
    chunk_start = 0
    while chunk_start < len(free_rows):
        # rows of equal distance are in one chunk
        last_distance = free_distances[min(chunk_start + ROWS_PER_CHUNK, len(free_rows)) - 1]
        chunk_end = int(np.searchsorted(free_distances, last_distance, side="right"))
        chunk_rows = free_rows[chunk_start:chunk_end]
        likely_rows = chunk_rows[chances.log_chance(chunk_rows) >= np.log(LIKELY_TO_TRAIN)]
        if len(likely_rows):
            return _nearest_rows(likely_rows, distance_by_row)
        chunk_start = chunk_end
    return _nearest_rows(chances.rows_likely_to_train(free_rows), distance_by_row)


def _nearest_rows(rows: Integers, distance_by_row: Floats) -> Integers:
    """Of these rows those of the least distance, given the distances (M,) of all rows, sorted."""
    distances = distance_by_row[rows]
    return np.sort(rows[distances == distances.min()])


def split_trials(view: View) -> tuple[Integers, Integers]:
    """The rows of the good trials, the ⌈√N / 4⌉ of lowest score but at most 25, and of all others;
    each by slot, pending ones last.

    Failures and pending trials are never good: hyperopt takes a running trial for a bad one, too.
    """
    finished_rows, losses = view.all_losses
    pending_count = len(view.pending_rows)
    begun_rows = np.append(finished_rows, np.array(view.pending_rows, dtype=np.int64))
    losses = np.pad(losses, (0, pending_count), constant_values=np.inf)
    is_good = are_good(losses)
    return begun_rows[is_good], begun_rows[~is_good]


def are_good(losses: Floats) -> NDArray[np.bool_]:
    """(N,) whether each trial is one of the ⌈√N / 4⌉ of lowest loss, at most 25; those of failures and
    pending trials are infinite."""
    wanted_count = int(np.ceil(GOOD_SHARE_OF_ROOT * np.sqrt(len(losses))))
    scored_count = int(np.isfinite(losses).sum())
    good_count = min(wanted_count, MOST_GOOD_TRIALS, scored_count)
    is_good = np.zeros(len(losses), dtype=bool)
    is_good[np.argsort(losses, kind="stable")[:good_count]] = True
    return is_good


def _density_estimate(
    view: View, place_by_row: Floats, rows: Integers, axis_index: int
) -> Estimate:
    """The density of these rows (m,) along an axis, given the places (M, d) of all rows."""
    axis = view.space.axes[axis_index]
    if axis.kind == "ordinal":
        return estimate_mixture(place_by_row[rows, axis_index])
    return estimate_shares(view.space.rows[rows, axis_index], len(axis.levels))


def _log_mass_ratio(
    view: View, axis_index: int, good_estimate: Estimate, other_estimate: Estimate
) -> Floats:
    """(L,) the log ratio of the masses of each level of an axis."""
    axis = view.space.axes[axis_index]
    level_values = np.arange(len(axis.levels), dtype=np.float64)
    if axis.kind == "ordinal":
        level_values = axis.columns[:, 0]
    return good_estimate.log_mass(level_values) - other_estimate.log_mass(level_values)


def _best_drawn_value(
    good_estimate: Estimate, other_estimate: Estimate, rng: np.random.Generator
) -> float:
    """The value, of DEFAULT_CANDIDATES drawn from the good trials' density, of greatest ratio of
    the two densities."""
    drawn_values = good_estimate.draw(rng, DEFAULT_CANDIDATES)
    log_ratios = good_estimate.log_density(drawn_values) - other_estimate.log_density(drawn_values)
    return float(drawn_values[np.argmax(log_ratios)])
