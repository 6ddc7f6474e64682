"""a-mads: mads with a global search in every other slot, which rescues it from a bad start; and
a-dogs, that global search alone.

    p  interpolated losses, scaled: 0 the lowest, 1 the median and all above, failures too
    y  target, below 0
    e  squared distance to the nearest known row

The search step looks where an interpolant of all scores may reach the target with the least
curvature: A-DOGS, with the squared distance to the nearest known row as the uncertainty, where the
source has one on a Delaunay triangulation, which needs a point in every corner and knows nothing
outside.
Sources: Lakhmiri (2021), thesis, algorithm 3; Beyhaghi, Cavaglieri & Bewley, *Delaunay-based
derivative-free optimization via global surrogates, part I* (J. Glob. Optim. 2016).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.interpolant import interpolate_cubic, nearest_squared_gap
from fovnet.search.look.mads import DECIMALS, choose_by_mads, without_misfits
from fovnet.search.look.view import Choice, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEWEST_SCORES = 3


def choose_by_a_mads(view: View) -> Choice:
    """A global search in slots whose number `every` divides, once three trials have a score; else,
    or where it finds no row, as `choose_by_mads`."""
    is_search_slot = view.begun_count % view.polling.every == 0
    has_enough_scores = len(view.scored_losses.rows) >= FEWEST_SCORES
    if view.begun_count >= view.initial_count and is_search_slot and has_enough_scores:
        row = _search_globally(without_misfits(view))
        if row is not None:
            return Choice(row, step="search")
    return choose_by_mads(view)


def choose_by_a_dogs(view: View) -> Choice:
    """As `choose_by_a_mads`, with a global search in every slot."""
    return choose_by_a_mads(replace(view, polling=replace(view.polling, every=1)))


def _search_globally(view: View) -> int | None:
    """The free row of the lowest p if some p is below y, else of the least (p - y)/e; None without
    a row to choose."""
    candidate_rows = _candidate_rows(view)
    if not len(candidate_rows):
        return None
    unit_cube = view.space.unit_cube
    finished_rows, losses = view.all_losses
    known_rows = np.concatenate([finished_rows, np.array(view.pending_rows, dtype=np.int64)])
    scattered_losses = ScatteredLosses(unit_cube[finished_rows], losses, unit_cube[known_rows])
    candidate = reach_for_target(
        scattered_losses, unit_cube[candidate_rows], view.polling.target_step
    )
    return int(candidate_rows[candidate])


class ScatteredLosses(NamedTuple):
    """The losses (t,) by slot of points (t, D), and all points begun (b, D)."""

    points: Floats
    losses: Floats
    begun_points: Floats


def reach_for_target(
    scattered_losses: ScatteredLosses, candidates: Floats, target_step: float
) -> int:
    """The number of the candidate (m, D) of the lowest p if some p is below y, else of the least
    (p - y)/e."""
    scaled_losses = scale_losses(scattered_losses.losses)
    p = interpolate_cubic(scattered_losses.points, scaled_losses, candidates)
    y = move_target(scaled_losses, target_step)
    if (p <= y).any():
        return int(np.argmin(np.round(p, DECIMALS)))
    e = nearest_squared_gap(scattered_losses.begun_points, candidates)
    # e is 0 where a training that was stopped may be taken up again
    with np.errstate(divide="ignore"):
        steepness = (p - y) / e
    return int(np.argmin(np.round(steepness, DECIMALS)))


def _candidate_rows(view: View) -> Integers:
    """The free rows; if categories are fixed, those with the categories of the best row, and with
    "reals" those that differ from it along real axes alone, as in the thesis; none without an axis
    to go along."""
    free_rows = np.flatnonzero(view.is_free)
    if view.polling.categories == "free":
        return free_rows
    axes = view.space.axes
    is_fixed = np.array([axis.kind == "categorical" for axis in axes])
    if view.polling.categories == "reals":
        is_fixed = np.array([not axis.is_real for axis in axes])
    if is_fixed.all():
        return free_rows[:0]
    fixed_levels = view.space.rows[:, is_fixed]
    scored_rows, losses = view.scored_losses
    best_row = scored_rows[np.argmin(losses)]
    has_best_levels = (fixed_levels[free_rows] == fixed_levels[best_row]).all(axis=1)
    return np.asarray(free_rows[has_best_levels])


def scale_losses(losses: Floats) -> Floats:
    """The losses (t,) from 0 at the lowest to 1 at the median of the finite ones, and above: a
    divergence bends nothing."""
    finite_losses = losses[np.isfinite(losses)]
    lowest_loss = finite_losses.min()
    loss_range = np.median(finite_losses) - lowest_loss
    if loss_range == 0:
        return np.where(losses > lowest_loss, 1.0, 0.0)
    # a range of 1e-300 overflows the quotient
    return np.asarray(np.minimum(losses - lowest_loss, loss_range) / loss_range)


def move_target(scaled_losses: Floats, step: float) -> float:
    """The target y after these scaled losses (t,) by slot: a step lower after each that is the best
    so far, else a step higher; always below the best, 0."""
    is_best = scaled_losses <= np.minimum.accumulate(scaled_losses)
    moves = np.where(is_best, -step, step)
    return min(float(scaled_losses[0] + moves.sum()), -0.001)
