"""The Gaussian-process methods on a tree: each slot sees a finite table, of the points begun and of about a
thousand candidates, and chooses from it as from a finite space.

    b  points begun, the first rows of the table      m  candidates, the other rows
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.scales import Scales
from fovnet.search.look.tree_uniform import draw_in_tree
from fovnet.search.look.tree_view import TreeChoice, TreeLook, TreeView
from fovnet.search.look.view import Choice, Look, View
from fovnet.search.space import Space
from fovnet.search.tree.encoding import encode, tree_scales
from fovnet.search.tree.moves import all_neighbours, draw_points, neighbours, vary
from fovnet.search.tree.streams import generator
from fovnet.search.trial import Forecast, latest_trials

Floats = NDArray[np.float64]

DRAWN_COUNT = 500
"""Points of a pool that are drawn; 150 and 1,500 make no difference beyond chance."""
BEST_COUNT = 5
"""Best trials around which a pool has points."""
VARIED_COUNT = 30  # points varied of each of them
NEIGHBOUR_COUNT = 12  # neighbours of each that are varied too
VARIED_NEIGHBOUR_COUNT = 3  # points varied of each of these
MOST_CLIMBS = 6
CLIMB_COUNT = 60  # points varied in a climb


@dataclass(frozen=True, eq=False, kw_only=True)
class PointTable(Space):
    """Encoded points (M, D) in place of the rows of a space."""

    cube: Floats
    point_scales: Scales

    def __len__(self) -> int:
        return len(self.cube)

    @cached_property
    def unit_cube(self) -> Floats:
        """(M, D)."""
        return self.cube

    @cached_property
    def scales(self) -> Scales:
        """Of the tree."""
        return self.point_scales


def on_pool(look: Look) -> TreeLook:
    """A Look of a finite space as a TreeLook: on a pool, then climbing from its choice."""

    def choose_in_tree(view: TreeView) -> TreeChoice | None:
        """The look's choice in the pool; the first points are drawn."""
        has_outcome = any(trial.outcome.status != "error" for trial in latest_trials(view.trials))
        if len(view.points) < view.initial_count or not has_outcome:
            return draw_in_tree(view)
        candidates = pool_of(view)
        if not len(candidates) and not view.stopped_rows:
            return None
        choice, point = look_at(look, view, candidates)
        if choice.row < len(view.points):
            return TreeChoice(point, choice.forecast, choice.step)
        return _climb(look, view, TreeChoice(point, choice.forecast, choice.step))

    return choose_in_tree


def look_at(look: Look, view: TreeView, candidates: Floats) -> tuple[Choice, Floats]:
    """The choice of a look among candidates (m, d) and the stopped rows, and its point (d,)."""
    points = np.concatenate([view.points, candidates])
    choice = look(view_of_points(view, points))
    return choice, points[choice.row]


def view_of_points(view: TreeView, points: Floats) -> View:
    """The view of a table of points (M, d), the first of which are those begun; the others and the
    stopped ones are free."""
    priced = view.ground.price(points)
    memory_bytes: Floats | None = priced.memory_bytes
    if np.isnan(priced.memory_bytes).any():
        memory_bytes = None
    is_free = np.arange(len(points)) >= len(view.points)
    is_free[list(view.stopped_rows)] = True
    table = PointTable(axes=(), cube=encode(view.tree, points), point_scales=tree_scales(view.tree))
    return View(
        table,
        view.trials,
        view.pending_rows,
        is_free,
        slot=view.slot,
        seed=view.seed,
        initial_count=0,
        predicted_seconds=priced.seconds,
        memory=memory_bytes,
        modelling=view.modelling,
        continued_count=view.slot - len(view.points),
        rung_epochs=view.rung_epochs,
    )


def pool_of(view: TreeView) -> Floats:
    """(m, d) the candidates of a slot, free and each once: points drawn, and the neighbours and
    variations of the best ones."""
    ground = view.ground
    rng = generator(view.seed, "pool", view.slot)
    drawn = draw_points(ground, rng, DRAWN_COUNT).points
    centres = view.points[best_rows(view)]
    near = [neighbours(ground, centre) for centre in centres]
    varied_neighbours = [points[:NEIGHBOUR_COUNT] for points in near]
    none = np.empty((0, len(view.tree)))
    around = [
        *near,
        vary(view.tree, rng, centres, VARIED_COUNT),
        vary(view.tree, rng, np.concatenate([none, *varied_neighbours]), VARIED_NEIGHBOUR_COUNT),
    ]
    return ground.free_points(np.concatenate([drawn, *around]))


def best_rows(view: TreeView) -> list[int]:
    """The rows of the best scores, best first, ties by their order."""
    scores = [
        (trial.score, trial.proposal.row)
        for trial in latest_trials(view.trials)
        if trial.score is not None
    ]
    return [row for _, row in sorted(scores)[:BEST_COUNT]]


def _climb(look: Look, view: TreeView, choice: TreeChoice) -> TreeChoice:
    """The choice, moved to the look's choice around it until that stays, at most MOST_CLIMBS times."""
    rng = generator(view.seed, "climb", view.slot)
    view_of_new_points = replace(view, stopped_rows=())
    for _ in range(MOST_CLIMBS):
        centre = choice.point[None]
        around = [
            centre,
            vary(view.tree, rng, centre, CLIMB_COUNT),
            all_neighbours(view.tree, view.costs, choice.point),
        ]
        candidates = view.ground.free_points(np.concatenate(around))
        next_choice, point = look_at(look, view_of_new_points, candidates)
        has_stayed = point.tobytes() == choice.point.tobytes()
        forecast = _with_greater_regret(next_choice.forecast, choice.forecast)
        choice = TreeChoice(point, forecast, next_choice.step)
        if has_stayed:
            break
    return choice


def _with_greater_regret(forecast: Forecast | None, earlier: Forecast | None) -> Forecast | None:
    """A forecast with the expected regret of the larger table, if that is more: a climb looks at fewer
    points."""
    if forecast is None or earlier is None:
        return forecast
    if forecast.expected_regret is None or earlier.expected_regret is None:
        return forecast
    return replace(forecast, expected_regret=max(forecast.expected_regret, earlier.expected_regret))
