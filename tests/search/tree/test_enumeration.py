"""A conditional space small enough to be written down: 416 points, what is inactive on a level "off" midway."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fovnet.search.look.gaussian import choose_by_expected_improvement
from fovnet.search.look.view import View
from fovnet.search.space import Axis, Space
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
