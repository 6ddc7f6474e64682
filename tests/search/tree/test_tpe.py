"""tpe on a tree: each variable from the trials in which it was active, whole numbers by their mass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, integers, lists
from hypothesis.strategies import floats as reals

from fovnet.bench.conditional import StrideCosts, conditional_tree, fixed_tree
from fovnet.maths.parzen import Mixture
from fovnet.search.look.tree_tpe import (
    GuidedDrawing,
    choose_by_parzen_in_tree,
    estimate_variable,
    log_weights,
)
from fovnet.search.look.tree_view import TreeView
from fovnet.search.tree.costs import Costs, EqualCosts
from fovnet.search.tree.moves import Ground, draw_points
from fovnet.search.tree.tree import Tree
from fovnet.search.trial import Outcome, Proposal, Trial

TREE = conditional_tree()


def view_of(points: Any, losses: Any, tree: Tree = TREE, costs: Costs | None = None) -> TreeView:
    trials = tuple(
        Trial(Proposal(row, row, {}, 0, (), (), 1.0), Outcome("completed", score=float(loss)))
        for row, loss in enumerate(losses)
    )
    pending_rows = tuple(range(len(losses), len(points)))
    return TreeView(
        tree, costs or StrideCosts(), points, trials, pending_rows, (), len(points), 1, 5
    )


def drawn(count: int, tree: Tree = TREE) -> Any:
    return draw_points(Ground(tree, StrideCosts()), np.random.default_rng(0), count).points


@given(
    places=lists(reals(0, 1), max_size=60),
    low=integers(1, 9),
    count=integers(2, 90),
    log=booleans(),
)
def test_the_masses_of_all_whole_numbers_sum_to_1(
    places: list[float], low: int, count: int, log: bool
) -> None:
    form = {"whole": {"low": low, "high": low + count, "log": log}}
    (variable,) = Tree.of({"x": form}).variables
    numbers = variable.values.round(variable.values.at_places(np.array(places)))
    estimate = estimate_variable(variable, numbers)
    every_number = np.arange(low, low + count + 1.0)
    log_masses = log_weights(variable, estimate, every_number, every_number)
    assert np.exp(log_masses).sum() == pytest.approx(1, abs=1e-9)


def test_masses_are_the_shares_of_what_is_drawn_and_rounded() -> None:
    """100,000 draws, five standard deviations."""
    (variable,) = Tree.of({"x": {"whole": {"low": 1, "high": 9, "log": True}}}).variables
    estimate = estimate_variable(variable, np.array([1.0, 1.0, 7.0, np.nan]))
    places = estimate.draw(np.random.default_rng(0), 100_000)
    numbers = variable.values.round(variable.values.at_places(places))
    every_number = np.arange(1.0, 10.0)
    shares = np.array([(numbers == number).mean() for number in every_number])
    masses = np.exp(log_weights(variable, estimate, every_number, every_number))
    assert (abs(shares - masses) < 5 * np.sqrt(masses / 100_000)).all()


def test_what_was_active_in_no_good_trial_is_drawn_as_from_the_prior() -> None:
    """The best trials have at most one layer, so that nothing is good of the sixth."""
    points = drawn(60)
    drawing = GuidedDrawing.of(view_of(points, points[:, 0]))
    assert (drawing.good_points[:, 0] <= 1).all()
    paths = [variable.path for variable in TREE.variables]
    for name in ("layers.6.a", "layers.6.b"):
        variable = TREE.variables[paths.index(name)]
        estimate = estimate_variable(variable, drawing.good_points[:, paths.index(name)])
        assert isinstance(estimate, Mixture)
        values = estimate.draw(np.random.default_rng(1), 20_000)
        # of a normal of deviation 1 cut off at the ends, as good as even
        assert abs(values.mean() - 0.5) < 4 / np.sqrt(12 * 20_000)


def test_points_that_do_not_fit_and_pending_ones_are_not_good() -> None:
    """Of as many prior draws as were begun; the oldest, and none where all fits."""
    tree = fixed_tree()
    points = drawn(45, tree)
    losses = np.random.default_rng(0).uniform(size=40)
    drawing = GuidedDrawing.of(view_of(points, losses, tree))
    assert len(drawing.good_points) == 2
    assert {p.tobytes() for p in drawing.good_points} == {
        points[row].tobytes() for row in np.argsort(losses)[:2]
    }
    faults = StrideCosts()(tree.columns(drawing.other_points)).faults
    fault_count = sum(fault is not None for fault in faults)
    assert 0 < fault_count < 45 and all(faults[:fault_count])
    assert drawing.other_points[-5:].tobytes() == points[40:].tobytes()
    without_limit = GuidedDrawing.of(view_of(points, losses, tree, EqualCosts()))
    assert len(without_limit.other_points) == 45 - 2


def test_draws_follow_the_good_trials() -> None:
    """Of 120 points those with the way "q" and a small u are better: twenty slots on."""
    points = drawn(120)
    paths = [variable.path for variable in TREE.variables]
    losses = points[:, paths.index("u")] + (points[:, paths.index("way")] != 1.0)
    chosen = []
    for seed in range(20):
        choice = choose_by_parzen_in_tree(replace(view_of(points, losses), seed=seed))
        assert choice is not None
        chosen.append(choice.point)
    ways = np.array(chosen)[:, paths.index("way")]
    assert (ways == 1.0).mean() > 0.8
    assert np.median(np.array(chosen)[:, paths.index("u")]) < 0.3
