"""mads: mesh-adaptive direct search.  The best row is the centre, its neighbours are polled, and
the frame of the poll shrinks where all of them are worse, down to the nearest; no model, only
comparisons.

    t  trials        n, K  as in mesh.py        failures never become a centre, and have the worst rank
        (extreme barrier)
What is known of a search is folded from its trials by slot, and nothing else is kept: a late
success of an early slot changes the past of the fold, as if it had come in time.

A declared limit of memory or seconds keeps rows out before they are trained, so that no row beyond
it has a score: of NOMAD's progressive barrier (a second centre, the best among the rows that
violate a limit least) nothing is left to do.  With a soft limit it would be that centre, and a
tolerance that falls when neither centre improves.

The thesis's static surrogates were measured with 20 runs on each of four tables with learning
curves, and left out. Screening the points of a poll by a tenth of a training each needed 605 to
1,065 epochs to one of the best 1 %, in place of 1,158 to 1,795, but `spend: asha` needs 400 to 465
and trains nothing twice. Stopping a training at milestones unless it has come a share of the best
one's way (HyperNOMAD's envelope) pruned the best row for good in 0, 19, 0 and 4 of the 20 runs;
asha in none.
Sources: as in mesh.py; the thesis's algorithms 1, 2 and 4, merged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.interpolant import shepard
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.mesh import Mesh, mesh_of
from fovnet.search.look.uniform import spread
from fovnet.search.look.view import Choice, View
from fovnet.search.trial import Trial

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PollState:
    """The centre and its poll.

    tried     points of the rung that were worse;  fresh  whether it is the centre's first rung, with its
        categories
    beside    points left of the poll's extension;  since  trials after the success
    before    the centre before
    """

    centre: Trial
    rung: int
    tried: int = 0
    beside: int = 0
    fresh: bool = True
    before: int | None = None
    since: int = 0

    def worse(self, mesh: Mesh) -> PollState:
        """After a trial that was no success."""
        trials_since = self.since + 1
        if self.beside:
            return replace(self, since=trials_since, beside=self.beside - 1)
        poll_size = 2 * len(mesh.ordinal)
        if self.tried + 1 < poll_size + (mesh.aside if self.fresh else 0):
            return replace(self, since=trials_since, tried=self.tried + 1)
        extended_count = poll_size if self.fresh and mesh.aside and mesh.polling.extended else 0
        return replace(
            self,
            since=trials_since,
            rung=self.rung + 1,
            tried=0,
            beside=extended_count,
            fresh=False,
        )

    def better(self, trial: Trial, mesh: Mesh) -> PollState:
        """After a success: the centre is there, and the frame one rung wider."""
        rung = max(mesh.first, min(self.rung, mesh.last) - 1)
        return PollState(trial, rung, before=self.centre.proposal.row)


def fold(mesh: Mesh, trials: Iterable[Trial], pending: int = 0) -> PollState | None:
    """The state after these trials, and `pending` ones that count as worse until they are known;
    None before the first score.  Trials that the machine ended, or that were pruned, are no
    success."""
    *_, state = states(mesh, trials, pending)
    return state


def states(mesh: Mesh, trials: Iterable[Trial], pending: int = 0) -> Iterator[PollState | None]:
    """As `fold`, before the first trial and after each one; those that the machine ended change
    nothing."""
    poll_state: PollState | None = None
    yield poll_state
    for trial in trials:
        if trial.outcome.status == "error":
            pass
        elif trial.outcome.status == "completed" and (
            poll_state is None or _is_lower(trial, poll_state.centre)
        ):
            poll_state = (
                PollState(trial, mesh.first)
                if poll_state is None
                else poll_state.better(trial, mesh)
            )
        elif poll_state is not None:
            poll_state = poll_state.worse(mesh)
        yield poll_state
    for _ in range(pending if poll_state else 0):
        assert poll_state is not None
        poll_state = poll_state.worse(mesh)
        yield poll_state


def _is_lower(trial: Trial, other: Trial) -> bool:
    assert trial.score is not None and other.score is not None  # both completed
    return trial.score < other.score


def mads(view: View) -> Choice:
    """The next point of the poll around the best row, of the lowest mean of ranks known near it;
    where the smallest poll is used up, of that around the next best.  No forecast; `step` says
    which part of the search it is."""
    view = likely_to_fit(view)
    ranked_trials = RankedTrials.of(view)
    if view.begun < view.initial or not len(ranked_trials.best):
        return spread(view)._replace(step="spread")
    mesh = mesh_of(view.space, view.polling, view.seed)
    poll_state = fold(mesh, view.seen, len(view.pending))
    assert poll_state is not None  # a trial has a score
    steps = (
        (step, rows)
        for step, rows in _poll_steps(mesh, poll_state, ranked_trials, view.free)
        if len(rows)
    )
    step, rows = next(steps, ("", None))
    if rows is None:
        return spread(view)._replace(step="spread")
    return Choice(_pick_row(view, ranked_trials, rows), step=step)


def likely_to_fit(view: View) -> View:
    """The view without free rows that are likely to run out of memory, by the limit that the trials
    have taught."""
    if view.memory is None or view.fitted[1].all():
        return view
    is_free = np.zeros_like(view.free)
    is_free[Chances(view).fitting(np.flatnonzero(view.free))] = True
    return replace(view, free=is_free)


@dataclass(frozen=True, eq=False)
class RankedTrials:
    """The trials but those that the machine ended: rows (t,) by slot, and their ranks by score, all
    failures the last one; best (s,) the rows with a score, lowest first."""

    rows: Integers
    ranks: Floats
    best: Integers

    @classmethod
    def of(cls, view: View) -> RankedTrials:
        """The ranks of the trials that the view has seen."""
        finished_rows, scores = view.losses
        ascending_order = np.argsort(scores, kind="stable")
        scored_count = int(np.isfinite(scores).sum())
        ranks = np.empty(len(scores))
        ranks[ascending_order] = np.minimum(np.arange(len(scores)), scored_count)
        return cls(finished_rows, ranks, finished_rows[ascending_order[:scored_count]])


def _poll_steps(
    mesh: Mesh, poll_state: PollState, ranked_trials: RankedTrials, is_free: Mask
) -> Iterator[tuple[str, Integers]]:
    """The steps of the search in their order, each with the rows that it may take; of most there
    are none."""
    centre_row = poll_state.centre.proposal.row
    if mesh.polling.speculative and poll_state.since == 0 and poll_state.before is not None:
        yield (
            "speculative",
            mesh.land(
                mesh.step_beyond(poll_state.before, centre_row),
                centre_row,
                poll_state.rung,
                is_free,
            ),
        )
    if poll_state.beside:
        close_row = _best_in_another_category(mesh, centre_row, ranked_trials)
        if close_row is not None:
            yield (
                "extended poll",
                mesh.land(
                    mesh.poll(close_row, poll_state.rung - 1),
                    close_row,
                    poll_state.rung - 1,
                    is_free,
                ),
            )
    for rung in range(poll_state.rung, mesh.last + 1):
        poll_points = np.vstack([mesh.poll(centre_row, rung), mesh.neighbours(centre_row)])
        yield f"poll {rung}", mesh.land(poll_points, centre_row, rung, is_free)
    for row in ranked_trials.best.tolist():
        yield (
            "restart",
            nearest(mesh, row, is_free) if mesh.full else mesh.nearest_rows(row, is_free),
        )


def nearest(mesh: Mesh, row: int, free: Mask) -> Integers:
    """The free rows among those of the smallest poll around a row of a full grid: one level, or one
    category away."""
    points = np.vstack([mesh.poll(row, mesh.last), mesh.neighbours(row)])
    return mesh.land(points, row, mesh.last, free)


def _best_in_another_category(
    mesh: Mesh, centre_row: int, ranked_trials: RankedTrials
) -> int | None:
    """The best row that differs from the centre in exactly one category, if it is among the best
    quarter."""
    categorical_axes = [
        axis_index for axis_index, axis in enumerate(mesh.space.axes) if axis.kind == "categorical"
    ]
    best_rows = ranked_trials.best[: math.ceil(mesh.polling.extended * len(ranked_trials.best))]
    difference_counts = (
        mesh.space.rows[best_rows][:, categorical_axes]
        != mesh.space.rows[centre_row][categorical_axes]
    ).sum(axis=1)
    return next(iter(best_rows[difference_counts == 1].tolist()), None)


def _pick_row(view: View, ranked_trials: RankedTrials, rows: Integers) -> int:
    if len(rows) == 1 or view.polling.order == "none":
        return int(rows[0])
    unit_cube = view.space.unit_cube
    expected_ranks = shepard(unit_cube[ranked_trials.rows], ranked_trials.ranks, unit_cube[rows])
    return int(rows[np.argmin(np.round(expected_ranks, 9))])
