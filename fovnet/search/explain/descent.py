"""The course of a direct search: its centres, its frame and its steps slot by slot, and what its
answer is sure of.

The state of each slot is folded again from the trials, as the method itself does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fovnet.maths.poll import SIZES
from fovnet.records import json_key
from fovnet.search.look.mads import PollState, closest_rows, poll_states
from fovnet.search.look.mesh import Mesh, mesh_of
from fovnet.search.methods import POLLING_METHODS
from fovnet.search.search import AnySearch, Search
from fovnet.search.space import Level
from fovnet.search.trial import Trial, latest_trials


def kind_of_step(step: str) -> str:
    """A step without the rung of its poll: "extended poll" of "extended poll 3"."""
    return step.rstrip("0123456789 ")


def steps_by_row(trials: Sequence[Trial]) -> dict[int, str]:
    """The step that chose each row, without the start, which none chose."""
    return {trial.proposal.row: trial.proposal.step for trial in trials if trial.proposal.step}


@dataclass(frozen=True)
class Point:
    """One configuration of the search, by its last slot.

    configuration_number  among the configurations begun, from 0
    step           of the search that chose it
    score          None if it failed
    centre_score   the score of the centre after it, None before the first score
    rung           of the poll after it, and frame_reach, how far that reaches along an axis, as a
                   share of it
    is_new_centre  whether it became the centre
    """

    slot: int
    configuration_number: int = field(metadata=json_key("begun"))
    step: str
    score: float | None
    centre_score: float | None = field(metadata=json_key("lowest"))
    rung: int | None
    frame_reach: float | None = field(metadata=json_key("frame"))
    is_new_centre: bool = field(metadata=json_key("moved"))

    @property
    def kind(self) -> str:
        """The step, polls of all rungs alike."""
        return kind_of_step(self.step)


@dataclass(frozen=True)
class Certificate:
    """How many neighbours the best row has, and how many of them were tried: one level along an
    axis, or one category away; of a list of rows, those nearest to it.

    slot              of the best row
    is_of_list        whether the space is a list of rows
    neighbour_count   neighbours that fit, and tried_count those of them that were tried
    infeasible_count  neighbours that are never proposed, because they fit no limit
    """

    slot: int
    configuration: dict[str, Level]
    is_of_list: bool = field(metadata=json_key("listed"))
    neighbour_count: int = field(metadata=json_key("neighbours"))
    tried_count: int = field(metadata=json_key("tried"))
    infeasible_count: int = field(metadata=json_key("beyond"))


@dataclass(frozen=True)
class Descent:
    """The course of a direct search.

    step_counts  (step, number of configurations that it chose), the most frequent first
    move_count   how often the centre moved
    points       one per configuration, in the order in which they were begun
    certificate  of the best row, None before the first score
    """

    step_counts: tuple[tuple[str, int], ...] = field(metadata=json_key("steps"))
    move_count: int = field(metadata=json_key("moves"))
    points: tuple[Point, ...]
    certificate: Certificate | None


def trace_descent(search: AnySearch, trials: Sequence[Trial]) -> Descent | None:
    """The course of a search from its finished trials by slot; None for a method that does not
    poll."""
    if search.method not in POLLING_METHODS or not isinstance(search, Search):
        return None
    mesh = mesh_of(search.space, search.polling, search.seed)
    final_trials = latest_trials(trials)
    step_by_row = steps_by_row(trials)
    first_state, *later_states = poll_states(mesh, final_trials)
    points = [
        _point_of_trial(mesh, trial, state, number, step_by_row.get(trial.proposal.row, "start"))
        for number, (trial, state) in enumerate(zip(final_trials, later_states, strict=True))
    ]
    certificate = None
    last_state = [first_state, *later_states][-1]
    if last_state is not None:
        certificate = _certify(search, mesh, last_state.centre, trials)
    return Descent(
        step_counts=tuple(Counter(point.kind for point in points).most_common()),
        move_count=sum(point.is_new_centre for point in points) - 1,
        points=tuple(points),
        certificate=certificate,
    )


def _point_of_trial(
    mesh: Mesh,
    trial: Trial,
    poll_state: PollState | None,
    configuration_number: int,
    step_name: str,
) -> Point:
    """The point of a trial, whose row was begun as the `configuration_number`-th from 0, in the
    state of the poll after it."""
    point = Point(
        trial.proposal.slot,
        configuration_number,
        step_name,
        trial.score,
        centre_score=None,
        rung=None,
        frame_reach=None,
        is_new_centre=False,
    )
    if poll_state is None:
        return point
    mesh_rung = min(poll_state.rung, mesh.last_rung)
    return replace(
        point,
        centre_score=poll_state.centre.score,
        rung=mesh_rung,
        frame_reach=SIZES[mesh_rung],
        is_new_centre=poll_state.centre is trial,
    )


def _certify(search: Search, mesh: Mesh, best_trial: Trial, trials: Sequence[Trial]) -> Certificate:
    """How many feasible neighbours the best row has, and how many of them were tried."""
    best_row = best_trial.proposal.row
    counts_as_free = np.ones(len(search.space), dtype=bool)
    neighbours = closest_rows(mesh, best_row, counts_as_free)
    feasible_neighbours = neighbours[search.feasible[neighbours]]
    tried_rows = {trial.proposal.row for trial in trials}
    return Certificate(
        best_trial.proposal.slot,
        dict(best_trial.proposal.configuration),
        is_of_list=not mesh.is_full_grid,
        neighbour_count=len(feasible_neighbours),
        tried_count=sum(neighbour in tried_rows for neighbour in feasible_neighbours.tolist()),
        infeasible_count=len(neighbours) - len(feasible_neighbours),
    )
