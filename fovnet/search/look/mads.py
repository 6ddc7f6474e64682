"""mads: mesh-adaptive direct search.  The best row is the centre, its neighbours are polled, and
the frame of the poll shrinks where all of them are worse, down to the nearest; no model, only
comparisons.

    t     trials
    n, K  as in mesh.py

Failures never become a centre, and have the worst rank (extreme barrier).
What is known of a search is folded from its trials by slot, and nothing else is kept: a late
success of an early slot changes the past of the fold, as if it had come in time.

A declared limit of memory or seconds keeps rows out before they are trained, so that no row beyond
it has a score: of NOMAD's progressive barrier (a second centre, the best among the rows that
violate a limit least) nothing is left to do.  With a soft limit it would be that centre, and a
tolerance that falls when neither centre improves.

The thesis's static surrogates are left out: `workflow/experiments/static_surrogates.py` measures
them, and the README there has the figures.
Sources: as in mesh.py; the thesis's algorithms 1, 2 and 4, merged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.interpolant import interpolate_by_distance
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.mesh import Mesh, mesh_of
from fovnet.search.look.uniform import choose_spread
from fovnet.search.look.view import Choice, View
from fovnet.search.trial import Trial

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

DECIMALS = 9
"""Decimals of expected ranks: machines that agree to this far choose alike."""


@dataclass(frozen=True)
class PollState:
    """The centre and its poll.

    centre          the best trial so far
    rung            of the poll around it
    tried_count     points of the rung that were worse
    extended_count  points left of the poll's extension
    is_first_rung   whether it is the centre's first rung, with its categories
    previous_centre_row  None before the first success
    trials_since_success
    """

    centre: Trial
    rung: int
    tried_count: int = 0
    extended_count: int = 0
    is_first_rung: bool = True
    previous_centre_row: int | None = None
    trials_since_success: int = 0

    def after_failure(self, mesh: Mesh) -> PollState:
        """After a trial that was no success."""
        state = replace(self, trials_since_success=self.trials_since_success + 1)
        if self.extended_count:
            return replace(state, extended_count=self.extended_count - 1)
        poll_size = 2 * len(mesh.ordinal_axes)
        category_count = 0
        if self.is_first_rung:
            category_count = mesh.most_category_neighbours
        if self.tried_count + 1 < poll_size + category_count:
            return replace(state, tried_count=self.tried_count + 1)
        extended_count = 0
        if category_count and mesh.polling.extended:
            extended_count = poll_size
        return replace(
            state,
            rung=self.rung + 1,
            tried_count=0,
            extended_count=extended_count,
            is_first_rung=False,
        )

    def after_success(self, trial: Trial, mesh: Mesh) -> PollState:
        """After a success: the centre is there, and the frame one rung wider."""
        rung = max(mesh.first_rung, min(self.rung, mesh.last_rung) - 1)
        return PollState(trial, rung, previous_centre_row=self.centre.proposal.row)


def poll_state_after(
    mesh: Mesh, trials: Iterable[Trial], pending_count: int = 0
) -> PollState | None:
    """The state after these trials, and `pending_count` ones that count as worse until they are
    known; None before the first score.  Trials that the machine ended, or that were pruned, are no
    success."""
    *_, state = poll_states(mesh, trials, pending_count)
    return state


def poll_states(
    mesh: Mesh, trials: Iterable[Trial], pending_count: int = 0
) -> Iterator[PollState | None]:
    """The states of `poll_state_after` before the first trial and after each one, pending ones
    last; trials that the machine ended change nothing."""
    state: PollState | None = None
    yield state
    for trial in trials:
        is_completed = trial.outcome.status == "completed"
        if trial.outcome.status == "error":
            pass
        elif state is None:
            if is_completed:
                state = PollState(trial, mesh.first_rung)
        elif is_completed and _is_lower(trial, state.centre):
            state = state.after_success(trial, mesh)
        else:
            state = state.after_failure(mesh)
        yield state
    if state is None:
        return
    for _ in range(pending_count):
        state = state.after_failure(mesh)
        yield state


def _is_lower(trial: Trial, other: Trial) -> bool:
    """Whether a trial has a lower score than another."""
    assert trial.score is not None and other.score is not None  # both completed
    return trial.score < other.score


def choose_by_mads(view: View) -> Choice:
    """The next point of the poll around the best row, of the lowest mean of ranks known near it;
    where the smallest poll is used up, of that around the next best.  No forecast; `step` says
    which part of the search it is."""
    return choose_in_poll(view, pick_by_rank)


def choose_in_poll(view: View, pick: PollPick) -> Choice:
    """The same with another choice among the rows of a poll."""
    view = without_misfits(view)
    ranked_trials = RankedTrials.of(view)
    mesh = mesh_of(view.space, view.polling, view.seed)
    poll_state = poll_state_after(mesh, view.latest_trials, len(view.pending_rows))
    if view.begun_count >= view.initial_count and poll_state is not None:
        for step, rows in _poll_steps(mesh, poll_state, ranked_trials, view.is_free):
            if len(rows):
                return Choice(pick(view, ranked_trials, rows), step=step)
    return choose_spread(view)._replace(step="spread")


def without_misfits(view: View) -> View:
    """The view without free rows that are likely to run out of memory, by the limit that the trials
    have taught."""
    if view.memory is None or view.memory_outcomes.has_succeeded.all():
        return view
    is_free = np.zeros_like(view.is_free)
    is_free[Chances(view).rows_likely_to_fit(np.flatnonzero(view.is_free))] = True
    return replace(view, is_free=is_free)


@dataclass(frozen=True, eq=False)
class RankedTrials:
    """The trials but those that the machine ended.

    finished_rows  (t,) their rows, by slot
    ranks          (t,) their ranks by score from 0, of all failures the last one
    scored_rows    (s,) the rows with a score, lowest first
    """

    finished_rows: Integers
    ranks: Floats
    scored_rows: Integers

    @classmethod
    def of(cls, view: View) -> RankedTrials:
        """The ranks of the trials that the view has seen."""
        finished_rows, losses = view.all_losses
        ascending_order = np.argsort(losses, kind="stable")
        scored_count = int(np.isfinite(losses).sum())
        ranks = np.empty(len(losses))
        ranks[ascending_order] = np.minimum(np.arange(len(losses)), scored_count)
        return cls(finished_rows, ranks, finished_rows[ascending_order[:scored_count]])


PollPick = Callable[[View, RankedTrials, Integers], int]
"""Which of the free rows (m,) of a poll comes next."""


def _poll_steps(
    mesh: Mesh, poll_state: PollState, ranked_trials: RankedTrials, is_free: Mask
) -> Iterator[tuple[str, Integers]]:
    """The steps of the search in their order, each with the rows that it may take; of most there
    are none."""
    centre_row = poll_state.centre.proposal.row
    previous_row = poll_state.previous_centre_row
    if (
        mesh.polling.speculative
        and poll_state.trials_since_success == 0
        and previous_row is not None
    ):
        point_beyond = mesh.point_beyond(previous_row, centre_row)
        yield "speculative", mesh.reached_rows(point_beyond, centre_row, poll_state.rung, is_free)
    if poll_state.extended_count:
        other_row = _best_in_another_category(mesh, centre_row, ranked_trials)
        if other_row is not None:
            rung = poll_state.rung - 1
            poll_points = mesh.poll_points(other_row, rung)
            yield "extended poll", mesh.reached_rows(poll_points, other_row, rung, is_free)
    for rung in range(poll_state.rung, mesh.last_rung + 1):
        poll_points = np.vstack(
            [mesh.poll_points(centre_row, rung), mesh.neighbour_points(centre_row)]
        )
        yield f"poll {rung}", mesh.reached_rows(poll_points, centre_row, rung, is_free)
    for row in ranked_trials.scored_rows.tolist():
        yield "restart", closest_rows(mesh, row, is_free)


def closest_rows(mesh: Mesh, row: int, is_free: Mask) -> Integers:
    """The free rows among those of the smallest poll around a row: in a full grid one level, or one
    category away, in a list the nearest ones."""
    if not mesh.is_full_grid:
        return mesh.nearest_rows(row, is_free)
    points = np.vstack([mesh.poll_points(row, mesh.last_rung), mesh.neighbour_points(row)])
    return mesh.reached_rows(points, row, mesh.last_rung, is_free)


def _best_in_another_category(
    mesh: Mesh, centre_row: int, ranked_trials: RankedTrials
) -> int | None:
    """The best row that differs from the centre in exactly one category, if it is among the share
    `polling.extended` of best rows; else None."""
    categorical_axes = [
        axis_index for axis_index, axis in enumerate(mesh.space.axes) if axis.kind == "categorical"
    ]
    best_count = math.ceil(mesh.polling.extended * len(ranked_trials.scored_rows))
    best_rows = ranked_trials.scored_rows[:best_count]
    categories = mesh.space.rows[:, categorical_axes]
    difference_counts = (categories[best_rows] != categories[centre_row]).sum(axis=1)
    return next(iter(best_rows[difference_counts == 1].tolist()), None)


def pick_by_rank(view: View, ranked_trials: RankedTrials, rows: Integers) -> int:
    """Of these rows (m,) the one of lowest mean of the ranks known near it, or the first, as the
    settings say."""
    if len(rows) == 1 or view.polling.order == "none":
        return int(rows[0])
    unit_cube = view.space.unit_cube
    expected_ranks = interpolate_by_distance(
        unit_cube[ranked_trials.finished_rows], ranked_trials.ranks, unit_cube[rows]
    )
    return int(rows[np.argmin(np.round(expected_ranks, DECIMALS))])
