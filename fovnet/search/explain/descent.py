"""The course of a direct search: its centres, its frame and its steps slot by slot, and what its
answer is sure of.

The state of each slot is folded again from the trials, as the method itself does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.maths.poll import SIZES
from fovnet.search.look.mads import PollState, nearest, states
from fovnet.search.look.mesh import Mesh, mesh_of
from fovnet.search.methods import POLLING_METHODS
from fovnet.search.search import Search
from fovnet.search.space import Level
from fovnet.search.trial import Trial, latest


@dataclass(frozen=True)
class Point:
    """One configuration of the search, by its last slot.

    begun   its number among the configurations begun;  step  by which it was chosen
    lowest  the score of the centre after it;  rung, frame  of the poll, and how far it reaches along an axis,
        as a share
    moved   whether it became the centre
    """

    slot: int
    begun: int
    step: str
    score: float | None
    lowest: float | None
    rung: int | None
    frame: float | None
    moved: bool

    @property
    def kind(self) -> str:
        """The step, polls of all rungs alike."""
        return "poll" if self.step.startswith("poll") else self.step


@dataclass(frozen=True)
class Certificate:
    """How many neighbours the best row has, and how many of them were tried: one level along an
    axis, or one category away; of a list of rows, those nearest to it.

    beyond  those that are never proposed, because they fit no limit
    """

    slot: int
    configuration: dict[str, Level]
    listed: bool
    neighbours: int
    tried: int
    beyond: int


@dataclass(frozen=True)
class Descent:
    """The course of a direct search: configurations by step, how often the centre moved, each of
    them, and the certificate of the best, None before the first score."""

    steps: tuple[tuple[str, int], ...]
    moves: int
    points: tuple[Point, ...]
    certificate: Certificate | None


def descent(search: Search, trials: Sequence[Trial]) -> Descent | None:
    """The course of a search from its finished trials by slot; None for a method that does not
    poll."""
    if search.method not in POLLING_METHODS:
        return None
    mesh = mesh_of(search.space, search.polling, search.seed)
    latest_trials = latest(trials)
    step_by_row = {
        trial.proposal.row: trial.proposal.step for trial in trials if trial.proposal.step
    }
    first_state, *later_states = states(mesh, latest_trials)
    points = []
    for trial_number, (trial, state) in enumerate(zip(latest_trials, later_states, strict=True)):
        points.append(
            _point_of_trial(
                mesh, trial, state, trial_number, step_by_row.get(trial.proposal.row, "start")
            )
        )
    count_by_step = Counter(point.kind for point in points)
    last_state = later_states[-1] if later_states else first_state
    certificate = (
        None if last_state is None else _certificate(search, mesh, last_state.centre, trials)
    )
    return Descent(
        tuple(count_by_step.most_common()),
        sum(point.moved for point in points) - 1,
        tuple(points),
        certificate,
    )


def _point_of_trial(
    mesh: Mesh, trial: Trial, poll_state: PollState | None, trial_number: int, step_name: str
) -> Point:
    """The point of a trial, the `trial_number`-th of its search, in the state of the poll after
    it."""
    if poll_state is None:
        return Point(
            trial.proposal.slot, trial_number, step_name, trial.score, None, None, None, False
        )
    mesh_rung = min(poll_state.rung, mesh.last)
    has_moved = poll_state.centre is trial
    return Point(
        trial.proposal.slot,
        trial_number,
        step_name,
        trial.score,
        poll_state.centre.score,
        mesh_rung,
        SIZES[mesh_rung],
        has_moved,
    )


def _certificate(
    search: Search, mesh: Mesh, best_trial: Trial, trials: Sequence[Trial]
) -> Certificate:
    """How many feasible neighbours the best row has, and how many of them were tried."""
    best_row = best_trial.proposal.row
    is_any_row = np.ones(len(search.space), dtype=bool)
    neighbours = (
        nearest(mesh, best_row, is_any_row)
        if mesh.full
        else mesh.nearest_rows(best_row, is_any_row)
    )
    feasible_neighbours = neighbours[search.feasible[neighbours]]
    tried_rows = {trial.proposal.row for trial in trials}
    return Certificate(
        best_trial.proposal.slot,
        dict(best_trial.proposal.configuration),
        not mesh.full,
        len(feasible_neighbours),
        sum(neighbour in tried_rows for neighbour in feasible_neighbours.tolist()),
        len(neighbours) - len(feasible_neighbours),
    )
