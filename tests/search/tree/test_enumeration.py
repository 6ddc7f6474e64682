"""A conditional space small enough to be written down: 416 points, what is inactive on a level "off" midway."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from fovnet.search.look import pool
from fovnet.search.look.improvement import choose_by_expected_improvement
from fovnet.search.look.tree_view import TreeView
from fovnet.search.look.view import View
from fovnet.search.space import Axis, Space
from fovnet.search.tree.costs import EqualCosts
from fovnet.search.tree.encoding import encode, tree_scales
from fovnet.search.tree.tree import Tree
from fovnet.search.trial import Outcome, Proposal, Trial


def axis_with_off(name: str, levels: tuple[int, ...]) -> Axis:
    """Whole numbers evenly on [0, 1], and the level "off" at 0.5."""
    places = [index / (len(levels) - 1) for index in range(len(levels))]
    return Axis(name, (*levels, "off"), places=(*places, 0.5))


AXES = (
    Axis("layers", (0, 1, 2)),
    axis_with_off("layers.1.size", (1, 2, 3)),
    axis_with_off("layers.2.size", (1, 2, 3)),
    Axis("way", ("left", "right"), "categorical"),
    axis_with_off("way.left.step", (0, 1, 2, 3, 4)),
    axis_with_off("way.right.step", (0, 1, 2)),
    Axis("speed", (0, 1, 2, 3)),
)
"""Nought to two layers, each with a size; two ways, each with steps of its own; a speed."""


def is_point(configuration: dict[str, object]) -> bool:
    """Whether exactly those are "off" that belong to no layer, or to the other way."""
    layers = configuration["layers"]
    way = configuration["way"]
    is_active_by_name = {
        "layers.1.size": layers in (1, 2),
        "layers.2.size": layers == 2,
        "way.left.step": way == "left",
        "way.right.step": way == "right",
    }
    return all(
        (configuration[name] != "off") == is_active for name, is_active in is_active_by_name.items()
    )


def listed_space() -> Space:
    """The points as rows of a finite space."""
    names = [axis.name for axis in AXES]
    levels = [range(len(axis.levels)) for axis in AXES]
    rows = [
        indices
        for indices in product(*levels)
        if is_point(
            {
                name: axis.levels[index]
                for name, axis, index in zip(names, AXES, indices, strict=True)
            }
        )
    ]
    return Space(AXES, np.array(rows))


LISTED = listed_space()
LOSSES = (LISTED.unit_cube - np.array([0.6, 0.3, 0.8, 0.2, 0.7, 0.4, 0.35])) ** 2 @ np.arange(
    1.0, 8.0
)


def view_after(space: Space, rows: np.ndarray, losses: np.ndarray, seed: int) -> View:
    """A search that has tried these rows of a space, with these losses."""
    trials = tuple(
        Trial(
            Proposal(slot, row, space.configuration(row), 0, tuple(range(slot)), (), 1.0),
            Outcome("completed", score=loss),
        )
        for slot, (row, loss) in enumerate(zip(rows.tolist(), losses.tolist(), strict=True))
    )
    is_free = np.ones(len(space), dtype=bool)
    is_free[rows] = False
    return View(space, trials, (), is_free, len(trials), seed, 1, np.ones(len(space)))


def test_the_tree_has_416_points() -> None:
    assert len(LISTED) == (1 + 3 + 9) * (5 + 3) * 4


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [8, 15, 30])
def test_the_choice_of_a_process_depends_on_points_and_not_on_the_order_of_their_table(
    seed: int, count: int
) -> None:
    """Over the list, and over a table whose first rows are those tried, in the order of the trials."""
    order = np.random.default_rng([seed, count]).permutation(len(LISTED))
    tried = order[:count]
    table = Space(AXES, LISTED.rows[order])
    by_list = choose_by_expected_improvement(view_after(LISTED, tried, LOSSES[tried], seed))
    by_table = choose_by_expected_improvement(
        view_after(table, np.arange(count), LOSSES[tried], seed)
    )
    assert LISTED.configuration(by_list.row) == table.configuration(by_table.row)


SIZE = {"whole": {"low": 1, "high": 3}}
TREE = Tree.of(
    {
        "layers": {"repeat": {"low": 0, "high": 2}, "each": {"size": SIZE}},
        "way": {
            "choose": {
                "left": {"step": {"whole": {"low": 0, "high": 4}}},
                "right": {"step": {"whole": {"low": 0, "high": 2}}},
            }
        },
        "speed": {"whole": {"low": 0, "high": 3}},
    }
)


def number_of(axis: Axis, level: object) -> float:
    """The number of a level in a point."""
    if level == "off":
        return np.nan
    if axis.kind == "categorical":
        return float(axis.levels.index(level))  # type: ignore[arg-type]
    return float(level)  # type: ignore[arg-type]


POINTS = np.array(
    [
        [
            number_of(axis, level)
            for axis, level in zip(AXES, LISTED.configuration(row).values(), strict=True)
        ]
        for row in range(len(LISTED))
    ]
)
"""(416, d) the points of the tree, in the order of the list."""


def test_points_of_a_tree_are_encoded_as_rows_with_a_level_midway() -> None:
    """Bit for bit; two points are alike in the encoding only if they are one."""
    cube = encode(TREE, POINTS)
    assert cube.tobytes() == LISTED.unit_cube.tobytes()
    assert len(np.unique(cube, axis=0)) == len(POINTS)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [8, 15, 30])
def test_on_a_pool_of_all_points_the_choice_is_that_over_their_list(seed: int, count: int) -> None:
    """With the lengthscales of the tree in the list too; and once chosen, the point stays."""
    tried = np.random.default_rng([seed, count]).permutation(len(LISTED))[:count]
    listed = pool.PointTable(axes=(), cube=LISTED.unit_cube, point_scales=tree_scales(TREE))
    trials = tuple(
        Trial(
            Proposal(slot, slot, TREE.configuration(POINTS[row]), 0, tuple(range(slot)), (), 1.0),
            Outcome("completed", score=float(LOSSES[row])),
        )
        for slot, row in enumerate(tried.tolist())
    )
    view = TreeView(TREE, EqualCosts(), POINTS[tried], trials, (), (), count, seed, 1)
    others = np.delete(POINTS, tried, axis=0)
    choice, point = pool.look_at(choose_by_expected_improvement, view, others)
    trials_of_list = tuple(
        replace(trial, proposal=replace(trial.proposal, row=row))
        for trial, row in zip(trials, tried.tolist(), strict=True)
    )
    is_free = np.ones(len(LISTED), dtype=bool)
    is_free[tried] = False
    seconds = np.ones(len(LISTED))
    by_list = choose_by_expected_improvement(
        View(listed, trials_of_list, (), is_free, count, seed, 0, seconds)
    )
    assert POINTS[by_list.row].tobytes() == point.tobytes()
    assert choice.forecast == by_list.forecast
    climbed = pool.on_pool(choose_by_expected_improvement)(view)
    assert climbed is not None and climbed.point.tobytes() not in {
        p.tobytes() for p in POINTS[tried]
    }
