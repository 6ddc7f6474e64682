"""mads on a tree: every structure, which is the values of the headers and categories, has a centre and
a poll of its own, and they take turns by how good their centres are and how far their polls have come.

    n  active numbers of a point that may move        K  the last rung of SIZES

A poll moves one number at a time.  The neighbours of a centre, which have other structures, are tried
with its first poll; each that is trained begins a poll of its own, the idea of an extended poll: to go
on in the space of a neighbour that is close.  Only the frame shrinks, the mesh does not, and no
convergence is claimed.  Where a range has so many whole numbers that the last rung steps over some,
the floor is the step of that rung.

Limits that are known before a training keep points out, so that none beyond them has a score: of a
progressive barrier nothing is left to do, as in mads.py.  Sources: as in mesh.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.interpolant import interpolate_cubic
from fovnet.maths.poll import SIZES
from fovnet.search.look.a_mads import scale_losses
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.mads import DECIMALS
from fovnet.search.look.neighbour_rules import level_rules
from fovnet.search.look.pool import view_of_points
from fovnet.search.look.tree_uniform import draw_in_tree
from fovnet.search.look.tree_view import TreeChoice, TreeView
from fovnet.search.tree.encoding import encode
from fovnet.search.tree.moves import all_neighbours, movable_numbers, moved_numbers, neighbours
from fovnet.search.tree.streams import generator
from fovnet.search.tree.tree import Tree

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LAST_RUNG = len(SIZES) - 1
TURNS_PER_RUNG = 2
"""Structures with better centres that go before one whose poll is a rung wider.  Without turns, the best
structure alone, the best after 150 trainings is worse by 0.171 ± 0.068 on one function."""


@dataclass(frozen=True)
class StructureState:
    """The poll of a structure.

    centre_row      the row of its best point, and the score of that
    rung            of the poll around it; beyond LAST_RUNG it is used up
    tried_count     trials of the structure on the rung that were worse
    is_first_rung   whether it is the centre's first rung, with its neighbours
    previous_row    the centre before; None of the first one
    """

    centre_row: int
    score: float
    rung: int = 0
    tried_count: int = 0
    is_first_rung: bool = True
    previous_row: int | None = None

    def after_success(self, row: int, score: float) -> StructureState:
        """With a better centre, the frame one rung wider."""
        rung = max(0, min(self.rung, LAST_RUNG) - 1)
        return StructureState(row, score, rung, previous_row=self.centre_row)

    def after_failure(self, view: TreeView) -> StructureState:
        """After a trial of the structure that was not better."""
        tried_count = self.tried_count + 1
        centre = view.points[self.centre_row]
        enough = 2 * len(active_numbers(view.tree, centre))
        if self.is_first_rung and tried_count >= enough:
            rules = level_rules(view.tree, view.polling)
            enough += len(all_neighbours(view.tree, view.costs, centre, rules))
        if tried_count < enough:
            return replace(self, tried_count=tried_count)
        return replace(self, rung=self.rung + 1, tried_count=0, is_first_rung=False)


def choose_by_mads_in_tree(view: TreeView) -> TreeChoice | None:
    """The next point of the poll of the structure whose turn it is, of the lowest interpolated score;
    drawn first, and where all polls are used up.  None where nothing is free."""
    if len(view.points) >= view.initial_count:
        for step, points in _poll_steps(view):
            sure_points = points_sure_to_fit(view, points)
            if len(sure_points):
                return TreeChoice(_pick_point(view, sure_points), step=step)
    choice = draw_in_tree(view)
    if choice is None:
        return None
    return choice._replace(step="spread")


def structure_states(view: TreeView) -> list[StructureState]:
    """The states of all structures with a score, the best centre first.

    Pending rows count as trials that were not better, after all others; trials that the machine ended
    change nothing, and those of a structure without a score neither.
    """
    states: dict[bytes, StructureState] = {}
    structures = structures_of(view.tree, view.points)
    for trial in view.latest_trials:
        row = trial.proposal.row
        structure = structures[row]
        state = states.get(structure)
        is_completed = trial.outcome.status == "completed"
        if trial.outcome.status == "error":
            continue
        if is_completed and trial.score is not None and state is None:
            states[structure] = StructureState(row, trial.score)
        elif is_completed and trial.score is not None and state and trial.score < state.score:
            states[structure] = state.after_success(row, trial.score)
        elif state:
            states[structure] = state.after_failure(view)
    for row in view.pending_rows:
        if structures[row] in states:
            states[structures[row]] = states[structures[row]].after_failure(view)
    return sorted(states.values(), key=lambda state: state.score)


def structures_of(tree: Tree, points: Floats) -> list[bytes]:
    """The structure of each point (m, d), equal where headers and categories are."""
    is_structural = [variable.is_structural for variable in tree.variables]
    return [numbers.tobytes() for numbers in points[:, is_structural]]


def active_numbers(tree: Tree, point: Floats) -> Integers:
    """(n,) the places of the numbers that a poll of a point (d,) moves."""
    movable = movable_numbers(tree)
    return np.asarray(movable[~np.isnan(point[movable])])


def _poll_steps(view: TreeView) -> Iterator[tuple[str, Floats]]:
    """The steps of the search in their order, each with the points (m, d) that it may take; of most
    there are none."""
    states = structure_states(view)
    rules = level_rules(view.tree, view.polling)
    for number in sorted(range(len(states)), key=lambda number: _turn(number, states[number].rung)):
        state = states[number]
        centre = view.points[state.centre_row]
        is_newest = state.centre_row == len(view.points) - 1
        if view.polling.speculative and is_newest and state.previous_row is not None:
            point_beyond = _point_beyond(view.tree, view.points[state.previous_row], centre)
            yield "speculative", view.ground.free_points(point_beyond)
        around = np.empty((0, len(view.tree)))
        if state.is_first_rung:
            around = neighbours(view.ground, centre, rules)
        for rung in range(state.rung, LAST_RUNG + 1):
            polled = poll_points(view.tree, view.seed, centre, state.centre_row, rung)
            step = f"poll {rung}" if number == 0 else f"extended poll {rung}"
            yield step, view.ground.free_points(np.concatenate([polled, around]))


def _turn(number: int, rung: int) -> tuple[float, int, int]:
    """By which the structure of that rank has its turn, the lowest first."""
    return number / TURNS_PER_RUNG + rung, rung, number


def poll_points(tree: Tree, seed: int, centre: Floats, row: int, rung: int) -> Floats:
    """The points (m, d) around a centre (d,), at most 2n, in the order of the poll: one number moved up
    or down by the size of the rung in place, a whole one by at least one."""
    rng = generator(seed, "poll", row, rung)
    points: list[Floats] = []
    for number in rng.permutation(active_numbers(tree, centre)).tolist():
        variable = tree.variables[number]
        steps = SIZES[rung] * rng.permutation([1.0, -1.0])
        for moved in moved_numbers(variable, np.full(2, centre[number]), steps).tolist():
            if moved != centre[number]:
                point = centre.copy()
                point[number] = moved
                points.append(point)
    return np.array(points).reshape(len(points), len(tree))


def _point_beyond(tree: Tree, previous: Floats, centre: Floats) -> Floats:
    """(1, d) the point as far beyond a centre as the previous centre is on the other side."""
    point = centre.copy()
    for number in active_numbers(tree, centre).tolist():
        if previous[number] != centre[number]:
            variable = tree.variables[number]
            previous_place, place = variable.values.places(
                np.array([previous[number], centre[number]])
            )
            step = np.array([place - previous_place])
            point[number] = moved_numbers(variable, centre[[number]], step)[0]
    return point[None]


def points_sure_to_fit(view: TreeView, points: Floats) -> Floats:
    """Of points (m, d) those that are sure to fit into memory, by the limit that the trials have
    taught."""
    has_run_out = any(trial.outcome.status == "out_of_memory" for trial in view.trials)
    if not has_run_out or not len(points):
        return points
    begun_count = len(view.points)
    table_view = view_of_points(view, np.concatenate([view.points, points]))
    if table_view.memory is None:
        return points
    candidate_rows = np.arange(begun_count, begun_count + len(points))
    return points[Chances(table_view).are_sure_to_fit(candidate_rows)]


def _pick_point(view: TreeView, points: Floats) -> Floats:
    """Of points (m, d) that of the lowest interpolated score, or the first, as the settings say."""
    if len(points) == 1 or view.polling.order == "none":
        return np.asarray(points[0])
    rows, losses = view.all_losses
    expected = interpolate_cubic(
        encode(view.tree, view.points[rows]), scale_losses(losses), encode(view.tree, points)
    )
    return np.asarray(points[np.argmin(np.round(expected, DECIMALS))])
