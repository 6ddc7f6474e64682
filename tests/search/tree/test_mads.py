"""mads on a tree: its polls, the state of each structure, whose turn it is, and the rules for neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, lists, sampled_from, tuples

from fovnet.bench.conditional import StrideCosts, conditional_tree, plain_loss
from fovnet.errors import ConfigError
from fovnet.maths.poll import SIZES
from fovnet.search.look.neighbour_rules import level_rules
from fovnet.search.look.tree_a_mads import choose_by_a_mads_in_tree
from fovnet.search.look.tree_mads import (
    LAST_RUNG,
    StructureState,
    choose_by_mads_in_tree,
    poll_points,
    structure_states,
    structures_of,
)
from fovnet.search.look.tree_view import TreeView
from fovnet.search.look.view import Neighbour, Polling
from fovnet.search.tree.costs import Columns, Costs, EqualCosts, Priced
from fovnet.search.tree.moves import Ground, all_neighbours, draw_points, neighbours
from fovnet.search.tree.start import tree_with_start
from fovnet.search.tree.tree import Tree
from fovnet.search.trial import Outcome, Proposal, Trial

Floats = Any
TREE = conditional_tree()
COSTS = StrideCosts()
IN_NO_ORDER = Polling(order="none")


def view_of(
    points: Floats,
    outcomes: Sequence[Outcome],
    *,
    tree: Tree = TREE,
    costs: Costs = COSTS,
    polling: Polling = IN_NO_ORDER,
    initial: int = 1,
) -> TreeView:
    """A view of these points, of which those beyond the outcomes are pending."""
    trials = [
        Trial(Proposal(row, row, tree.configuration(points[row]), 0, (), (), 1.0), outcome)
        for row, outcome in enumerate(outcomes)
    ]
    pending_rows = tuple(range(len(outcomes), len(points)))
    return TreeView(
        tree,
        costs,
        points,
        tuple(trials),
        pending_rows,
        (),
        len(points),
        3,
        initial,
        polling=polling,
    )


def completed(score: float) -> Outcome:
    return Outcome("completed", score=score)


def drawn(seed: int, count: int, tree: Tree = TREE, costs: Costs = COSTS) -> Floats:
    return draw_points(Ground(tree, costs), np.random.default_rng(seed), count).points


@given(seed=integers(0, 9999), rung=integers(0, LAST_RUNG))
@settings(max_examples=40)
def test_a_poll_moves_one_number_by_no_more_than_the_frame_or_a_whole_one(
    seed: int, rung: int
) -> None:
    centre = drawn(seed, 1)[0]
    points = poll_points(TREE, 1, centre, seed, rung)
    assert TREE.canonical(points).tobytes() == points.tobytes()
    assert len({point.tobytes() for point in [centre, *points]}) == len(points) + 1
    assert set(structures_of(TREE, points)) == set(structures_of(TREE, centre[None]))
    for point in points:
        (number,) = np.flatnonzero((point != centre) & ~np.isnan(centre))
        values = TREE.variables[number].values
        before, after = values.places(np.array([centre[number], point[number]]))
        next_number = centre[number] + np.sign(point[number] - centre[number])
        gap = abs(values.places(np.array([next_number]))[0] - before) if values.is_whole else 0.0
        assert abs(after - before) <= 1.5 * max(SIZES[rung], gap)


@given(seed=integers(0, 9999))
@settings(max_examples=20)
def test_the_last_poll_is_of_both_neighbours_of_every_whole_number(seed: int) -> None:
    """Unless they lie closer than the last size; then it steps over them."""
    centre = drawn(seed, 1)[0]
    points = poll_points(TREE, 1, centre, seed, LAST_RUNG)
    for number, variable in enumerate(TREE.variables):
        if np.isnan(centre[number]) or variable.is_repeat or variable.is_category:
            continue
        if not variable.values.is_whole:
            continue
        polled = set(points[:, number].tolist()) - {centre[number]}
        low, high = variable.values.low, variable.values.high
        beside = {centre[number] - 1.0, centre[number] + 1.0} & set(np.arange(low, high + 1))
        places = variable.values.places(np.array([*beside, centre[number]]))
        if (abs(places[:-1] - places[-1]) >= SIZES[LAST_RUNG]).all():
            assert polled == beside


OUTCOMES = sampled_from(["completed"] * 3 + ["diverged", "timeout", "error", "pruned"])
TRIALS = lists(tuples(floats(-9, 9), OUTCOMES), min_size=1, max_size=40)


def outcome_of(score: float, status: Any) -> Outcome:
    if status in ("completed", "pruned"):
        return Outcome(status, score=score)
    return Outcome(status)


def of_three_structures(seed: int, count: int) -> Floats:
    """Points of three structures only, so that their trials are many."""
    centres = drawn(seed, 3)
    polls = [poll_points(TREE, 1, centre, row, 0) for row, centre in enumerate(centres)]
    finer = [poll_points(TREE, 1, centre, row, 1) for row, centre in enumerate(centres)]
    points = np.concatenate([centres, *polls, *finer])
    order = np.random.default_rng(seed).permutation(len(points))
    return points[order][:count]


@given(trials=TRIALS, running=integers(0, 5), seed=integers(0, 20))
@settings(max_examples=40)
def test_a_running_trial_counts_as_a_failure_and_one_of_the_machine_as_nothing(
    trials: list[tuple[float, Any]], running: int, seed: int
) -> None:
    points = of_three_structures(seed, len(trials) + running)
    outcomes = [outcome_of(*trial) for trial in trials]
    failures = [Outcome("timeout")] * (len(points) - len(outcomes[: len(points)]))
    outcomes = outcomes[: len(points)]
    states = structure_states(view_of(points, outcomes))
    assert states == structure_states(view_of(points, outcomes + failures))
    is_kept = [outcome.status != "error" for outcome in outcomes]
    without_errors = view_of(points, outcomes + failures)
    kept_trials = tuple(
        trial
        for trial, is_own in zip(
            without_errors.trials, is_kept + [True] * len(failures), strict=True
        )
        if is_own
    )
    assert states == structure_states(replace(without_errors, trials=kept_trials))


@given(trials=TRIALS, seed=integers(0, 20))
@settings(max_examples=40)
def test_the_state_of_a_structure_follows_from_its_own_trials(
    trials: list[tuple[float, Any]], seed: int
) -> None:
    points = of_three_structures(seed, len(trials))
    view = view_of(points, [outcome_of(*trial) for trial in trials[: len(points)]])
    states = structure_states(view)
    structures = structures_of(TREE, points)
    scores = [state.score for state in states]
    assert scores == sorted(scores)
    for state in states:
        own_trials = tuple(
            trial
            for trial in view.trials
            if structures[trial.proposal.row] == structures[state.centre_row]
        )
        assert structure_states(replace(view, trials=own_trials)) == [state]
        own_scores = [t.outcome.score for t in own_trials if t.outcome.status == "completed"]
        assert state.score == min(score for score in own_scores if score is not None)


@pytest.mark.parametrize("rung", range(LAST_RUNG + 2))
def test_a_success_widens_the_frame_by_a_rung(rung: int) -> None:
    """Where the floor was used up, from the floor."""
    state = StructureState(4, 0.5, rung, tried_count=3, is_first_rung=False)
    assert state.after_success(7, 0.25) == StructureState(
        7, 0.25, max(0, min(rung, LAST_RUNG) - 1), previous_row=4
    )


def test_a_used_up_rung_is_followed_by_a_narrower_one_and_the_first_has_neighbours_too() -> None:
    """The start has seven numbers, and a layer more or less, two levels and three ways beside it."""
    centre = TREE.start_point
    assert len(all_neighbours(TREE, COSTS, centre)) == 2 + 2 + 3
    points = np.concatenate([centre[None], *[poll_points(TREE, 1, centre, 0, k) for k in range(4)]])
    rungs = [
        structure_states(view_of(points[: count + 1], [completed(0.0), *[completed(1.0)] * count]))[
            0
        ].rung
        for count in range(len(points))
    ]
    first = 2 * 7 + 7
    assert rungs[:first] == [0] * first
    assert rungs[first : first + 14] == [1] * 14
    assert rungs[first + 14] == 2


def path(
    score_of: Callable[[float], float], polling: Polling, slots: int, workers: int = 1
) -> list[bytes]:
    """The points that mads proposes, of a function whose values are changed."""
    points = TREE.start_point[None]
    for _ in range(slots):
        seen = points[: len(points) - workers + 1]
        losses = [plain_loss(TREE.configuration(point)) for point in seen]
        view = view_of(
            points, [completed(score_of(loss)) for loss in losses], polling=polling, initial=5
        )
        choice = choose_by_mads_in_tree(view)
        assert choice is not None
        points = np.concatenate([points, choice.point[None]])
    return [point.tobytes() for point in points]


def test_without_an_interpolant_only_the_order_of_scores_counts() -> None:
    changed = path(lambda loss: np.exp(3 * loss) - 7, IN_NO_ORDER, 60)
    assert path(float, IN_NO_ORDER, 60) == changed


def test_the_best_structure_is_polled_first_and_another_when_its_frame_is_narrower() -> None:
    """A structure of second rank has its turn when the poll of the best is a rung further."""
    points = drawn(5, 2)
    assert len(set(structures_of(TREE, points))) == 2
    polled = [poll_points(TREE, 1, points[0], 0, rung) for rung in range(3)]
    points = np.concatenate([points, *polled])
    steps = []
    for count in range(len(points) - 1):
        outcomes = [completed(0.0), completed(1.0), *[completed(2.0)] * count]
        choice = choose_by_mads_in_tree(view_of(points[: count + 2], outcomes))
        assert choice is not None
        steps.append(choice.step)
    assert steps[0].startswith("poll 0") and "extended poll 0" in steps
    states = structure_states(
        view_of(
            points[: steps.index("extended poll 0") + 2],
            outcomes[: steps.index("extended poll 0") + 2],
        )
    )
    assert [state.rung for state in states] == [1, 0]


def test_after_a_success_the_search_goes_as_far_again() -> None:
    """Of the numbers that changed, in place and within their ends; not while another trial runs."""
    before = TREE.start_point
    keys = [variable.path for variable in TREE.variables]
    after = before.copy()
    after[[keys.index("u"), keys.index("layers.1.b")]] = (0.7, 16.0)
    beyond = before.copy()
    beyond[[keys.index("u"), keys.index("layers.1.b")]] = (0.9, 32.0)
    points = np.stack([before, after])
    outcomes = [completed(1.0), completed(0.5)]
    choice = choose_by_mads_in_tree(view_of(points, outcomes))
    assert choice is not None and choice.step == "speculative"
    assert choice.point.tobytes() == beyond.tobytes()
    running = view_of(np.concatenate([points, drawn(1, 1)]), outcomes)
    other = choose_by_mads_in_tree(running)
    assert other is not None and other.step == "poll 0"


class MemoryOfLayers(EqualCosts):
    """A gigabyte for each layer."""

    def __call__(self, columns: Columns, /) -> Priced:
        return super().__call__(columns)._replace(memory_bytes=1e9 * (1.0 + columns["layers"]))


def test_the_learned_memory_limit_keeps_polls_below_it() -> None:
    """Of the best network, which nearly ran out, no layer more is tried: those that did have them."""
    points = drawn(2, 40, costs=MemoryOfLayers())
    layer_counts = points[:, 0]
    outcomes = [
        completed(float(-layers)) if layers <= 3 else Outcome("out_of_memory")
        for layers in layer_counts
    ]
    for _ in range(25):
        view = view_of(points, outcomes, costs=MemoryOfLayers(), polling=Polling())
        choice = choose_by_mads_in_tree(view)
        assert choice is not None and choice.point[0] <= 3
        points = np.concatenate([points, choice.point[None]])
        outcomes.append(completed(float(-choice.point[0])))


OPTIMISER = {
    "choose": {
        name: {"rate": {"real": {"low": 0, "high": 1}}, "momentum": {"real": {"low": 0, "high": 1}}}
        for name in ("sgd", "adam", "adagrad", "rmsprop")
    }
}


def test_rules_say_which_levels_neighbours_have_and_what_else_they_reset() -> None:
    """By a name as in a point, or by that of one branch."""
    tree = tree_with_start(
        {"optimiser": OPTIMISER, "size": [1, 2]}, {"optimiser": {"adam": {"rate": 0.3}}}
    )

    def around(*rules: Neighbour) -> list[tuple[Any, ...]]:
        ruled = level_rules(tree, Polling(neighbours=rules))
        points = neighbours(Ground(tree, EqualCosts()), tree.start_point, ruled)
        return [tuple(tree.configuration(point).values()) for point in points]

    assert around() == [(name, 0.5, 0.5, 1) for name in ("sgd", "adagrad", "rmsprop")]
    assert around(Neighbour("optimiser", "next")) == [("adagrad", 0.5, 0.5, 1)]
    steps = Neighbour("optimiser", "steps", (("optimiser.adagrad.rate", 0.25), ("size", 2)))
    assert around(steps) == [("sgd", 0.5, 0.5, 2), ("adagrad", 0.25, 0.5, 2)]
    assert around(steps._replace(reset=(("optimiser.rate", 0.125),))) == [
        ("sgd", 0.125, 0.5, 1),
        ("adagrad", 0.125, 0.5, 1),
    ]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            Neighbour("optimizer"),
            "search.neighbours: optimizer is not a category of the tree; did you mean 'optimiser'?",
        ),
        (
            Neighbour("size"),
            "search.neighbours: size is not a category of the tree; its categories are optimiser",
        ),
        (
            Neighbour("optimiser", "next", (("optimiser", "sgd"),)),
            "search.neighbours.optimiser.reset: optimiser is the category in which these differ; reset "
            "other variables",
        ),
        (
            Neighbour("optimiser", "next", (("optimiser.rat", 0.5),)),
            "search.neighbours.optimiser.reset: optimiser.rat is not in the tree; did you mean "
            "'optimiser.rate'?",
        ),
        (
            Neighbour("optimiser", "next", (("optimiser.rate", 2),)),
            "search.neighbours.optimiser.reset: optimiser.sgd.rate = 2; give a number from 0 to 1",
        ),
    ],
)
def test_rules_for_what_the_tree_does_not_have_are_refused(rule: Neighbour, sentence: str) -> None:
    tree = Tree.of({"optimiser": OPTIMISER, "size": [1, 2]})
    with pytest.raises(ConfigError) as caught:
        level_rules(tree, Polling(neighbours=(rule,)))
    assert (caught.value.code, caught.value.sentence) == ("config-invalid", sentence)


def test_every_second_slot_is_a_global_search_and_fixed_categories_keep_the_structure() -> None:
    points = drawn(3, 12)
    scores = [completed(loss) for loss in map(plain_loss, map(TREE.configuration, points))]
    best = int(np.argmin([outcome.score for outcome in scores]))
    for categories in ("free", "fixed"):
        polling = Polling(categories=categories)
        choice = choose_by_a_mads_in_tree(view_of(points, scores, polling=polling))
        assert choice is not None and choice.step == "search"
        ends = np.stack([points[best], choice.point])
        assert categories == "free" or len(set(structures_of(TREE, ends))) == 1
    between = choose_by_a_mads_in_tree(view_of(points[:11], scores[:11], polling=polling))
    by_mads = choose_by_mads_in_tree(view_of(points[:11], scores[:11], polling=polling))
    assert between is not None and by_mads is not None
    assert (between.step, between.point.tobytes()) == (by_mads.step, by_mads.point.tobytes())
