"""grid: from the centre, evenly at every stop, to the last row."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from scipy.stats import qmc

from fovnet.search.look.grid import choose_on_lattice, lattice_point
from fovnet.search.look.view import View
from fovnet.search.space import Space, paper_space
from fovnet.search.trial import Outcome
from tests.search.test_methods import path, search_of


def rows_of(space, count, seed=0):
    """The first rows without a start of the user's."""
    view = View(space, (), (), np.ones(len(space), dtype=bool), 0, seed, 3, np.ones(len(space)))
    rows = []
    for slot in range(count):
        rows.append(choose_on_lattice(replace(view, slot=slot)).row)
        view.is_free[rows[-1]] = False
    return rows


@pytest.mark.parametrize("sizes", [(5,), (3, 3), (5, 7, 3), (1, 5)], ids=str)
def test_it_begins_in_the_middle(sizes):
    space = Space.of({f"axis {axis}": range(size) for axis, size in enumerate(sizes)})
    assert space.rows[rows_of(space, 1)[0]].tolist() == [size // 2 for size in sizes]


@pytest.mark.parametrize(
    "levels",
    [
        {"a": range(4), "b": range(3), "c": ["x", "y", "z"]},
        {"a": range(17)},
        {"a": [False, True], "b": range(9)},
        {"a": [1]},
        {f"{axis}": [0, 1] for axis in range(6)},
    ],
    ids=len,
)
def test_every_row_is_tried_once(levels):
    space = Space.of(levels)
    assert sorted(rows_of(space, len(space))) == list(range(len(space)))


@pytest.mark.parametrize("count", [9, 27, 81, 243])
def test_every_beginning_lies_more_evenly_than_the_median_of_a_hundred_random_draws(count):
    """The paper's space: centred discrepancy of the rows, each level in the middle of its share of the
    axis."""
    space = paper_space()
    middles = (space.rows + 0.5) / [len(axis.levels) for axis in space.axes]
    rng = np.random.default_rng(0)
    by_chance = [
        qmc.discrepancy(middles[rng.choice(len(space), count, replace=False)], method="CD")
        for _ in range(100)
    ]
    assert qmc.discrepancy(middles[rows_of(space, count)], method="CD") < np.median(by_chance)


def test_on_one_axis_points_are_those_of_the_golden_ratio():
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    assert [lattice_point(slot, 1)[0] for slot in range(9)] == pytest.approx(
        [(0.5 + slot / golden) % 1.0 for slot in range(9)]
    )


@given(slot=integers(0, 2_000_000), dimensions=integers(1, 30))
def test_a_point_lies_in_the_cube(slot, dimensions):
    made = lattice_point(slot, dimensions)
    assert made.shape == (dimensions,) and (made >= 0.0).all() and (made < 1.0).all()


def test_scores_and_failures_change_nothing():
    space = paper_space()
    paths = [
        [
            trial.proposal.row
            for trial in path(
                search_of(space, "grid", workers=workers), lambda proposal, end=end: end, 12
            )
        ]
        for workers, end in (
            (1, Outcome("completed", score=1.0)),
            (1, Outcome("diverged")),
            (4, Outcome("error")),
        )
    ]
    assert paths[0] == paths[1] == paths[2]
