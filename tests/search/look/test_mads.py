"""Direct search: its mesh, its fold and its promises, on grids whose best row is known and on lists of
rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, sampled_from

from fovnet.errors import ConfigError
from fovnet.maths.poll import SIZES
from fovnet.search.explain.descent import trace_descent
from fovnet.search.look.a_mads import move_target, scale_losses
from fovnet.search.look.mads import choose_by_mads, closest_rows, poll_state_after, poll_states
from fovnet.search.look.mesh import mesh_of
from fovnet.search.look.view import POLLING, Neighbour, Polling
from fovnet.search.search import propose_slot
from fovnet.search.space import Axis, Space, paper_space
from fovnet.search.trial import Outcome, Proposal, Trial
from tests.search.test_methods import path, search_of, view_of

LINE = Space.of({"x": range(101)})
MIXED = Space.of({"a": range(11), "b": range(11), "c": ["p", "q", "r", "s"]})
PART = Space(MIXED.axes, MIXED.rows[np.random.default_rng(1).permutation(len(MIXED))[:200]])


def trial(row, score, *, slot=0, space=MIXED, status="completed"):
    proposal = Proposal(slot, row, space.configuration(row), 0, tuple(range(slot)), (), 1.0)
    return Trial(
        proposal, Outcome(status, score=score if status in ("completed", "pruned") else None)
    )


def searched(space, method, loss, slots, seed=0, best=None, polling=POLLING, **changes):
    """The trials of a search over recorded losses, until the best row is drawn."""
    start = int(np.random.default_rng([seed, len(space)]).integers(len(space)))
    search = replace(
        search_of(space, method, seed=seed, start=start, initial=None, **changes), polling=polling
    )
    trials = {}
    while len(trials) < slots and not any(
        loss[one.proposal.row] == best for one in trials.values()
    ):
        proposal = propose_slot(search, [one.proposal for one in trials.values()], trials)
        trials[proposal.slot] = Trial(
            proposal, Outcome("completed", score=float(loss[proposal.row]))
        )
    return search, list(trials.values())


# The mesh


@pytest.mark.parametrize(
    "space", [LINE, MIXED, PART, paper_space()], ids=["line", "mixed", "list", "paper"]
)
@given(seed=integers(0, 99), share=integers(0, 10**6), rung=integers(0, 5))
@settings(max_examples=40)
def test_every_poll_point_moves_and_by_no_more_than_the_frame(space, seed, share, rung):
    mesh, centre = mesh_of(space, POLLING, seed), share % len(space)
    rung = max(mesh.first_rung, min(rung, mesh.last_rung))
    points, own = mesh.poll_points(centre, rung), space.rows[centre]
    assert 0 < len(points) <= 2 * len(mesh.ordinal_axes)
    assert (points != own).any(axis=1).all()
    for a, axis in enumerate(space.axes):
        places = np.linspace(0, 1, len(axis.levels))
        gap = 1 / (len(axis.levels) - 1)
        bound = max(SIZES[rung], gap) + gap / 2 if axis.kind == "ordinal" else 0.0
        assert (np.abs(places[points[:, a]] - places[own[a]]) <= bound + 1e-12).all()
    assert (mesh.poll_points(centre, rung) == points).all()


def test_the_last_poll_of_a_grid_is_of_all_neighbours_one_level_away():
    mesh, centre = mesh_of(paper_space(), POLLING, 3), 17_000
    own = mesh.space.rows[centre]
    gaps = mesh.space.rows - own
    one_away = np.flatnonzero(np.abs(gaps).sum(axis=1) == 1)
    every = np.ones(len(mesh.space), dtype=bool)
    assert sorted(closest_rows(mesh, centre, every)) == sorted(one_away) and mesh.last_rung == 2


def test_a_grid_in_another_order_is_a_grid_and_a_row_lands_on_itself_or_nowhere():
    order = np.random.default_rng(0).permutation(len(MIXED))
    shuffled, free = (
        Space(MIXED.axes, MIXED.rows[order]),
        np.random.default_rng(1).random(len(MIXED)) < 0.5,
    )
    mesh = mesh_of(shuffled, POLLING, 0)
    assert mesh.is_full_grid
    for row in range(0, len(MIXED), 37):
        landed = mesh.reached_rows(shuffled.rows[[row]], 5, 1, free).tolist()
        assert landed == ([row] if free[row] else [])


@given(
    seed=integers(0, 99),
    centre=integers(0, len(PART) - 1),
    taken=lists(integers(0, len(PART) - 1), max_size=150),
)
@settings(max_examples=40)
def test_in_a_list_a_point_lands_nearer_to_itself_than_the_centre_is_or_nowhere(
    seed, centre, taken
):
    mesh, free = mesh_of(PART, POLLING, seed), np.ones(len(PART), dtype=bool)
    free[[centre, *taken]] = False
    for point in np.vstack([mesh.poll_points(centre, 0), mesh.neighbour_points(centre)]):
        columns = np.concatenate(
            [axis.columns[level] for axis, level in zip(PART.axes, point, strict=True)]
        )
        gap = ((PART.unit_cube - columns) ** 2).sum(axis=1)
        landed = mesh.reached_rows(point[None], centre, 0, free).tolist()
        nearer = free & (np.round(gap, 12) < np.round(gap[centre], 12))
        assert len(landed) == bool(nearer.any())
        assert not landed or (free[landed[0]] and gap[landed[0]] == pytest.approx(gap[free].min()))


def test_neighbours_are_as_in_the_source_or_all_categories():
    """Figures 4.5 to 4.7 of the thesis: a layer more, a layer less, and the next optimiser with its own
    defaults."""
    space = Space(
        (
            Axis("layers", (0, 1, 2, 3)),
            Axis("optimiser", ("SGD", "Adam", "Adagrad", "RMSProp"), "categorical"),
            Axis("rate", (0.01, 0.1, 0.5)),
        )
    )
    centre = space.row_of({"layers": 2, "optimiser": "RMSProp", "rate": 0.5})

    def around(*rules):
        mesh = mesh_of(space, Polling(neighbours=rules), 0)
        rows = mesh.reached_rows(
            mesh.neighbour_points(centre), centre, 1, np.ones(len(space), dtype=bool)
        )
        assert len(rows) == mesh.most_category_neighbours and centre not in rows
        return [tuple(space.configuration(int(row)).values()) for row in rows]

    assert around() == [(2, name, 0.5) for name in ("SGD", "Adam", "Adagrad")]
    source = Neighbour("layers", "steps"), Neighbour("optimiser", "next", (("rate", 0.1),))
    assert around(*source) == [(1, "RMSProp", 0.5), (3, "RMSProp", 0.5), (2, "SGD", 0.1)]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            Neighbour("optimizer", "next"),
            "optimizer is not an axis of the space; did you mean 'optimiser'",
        ),
        (
            Neighbour("optimiser", "next", (("rat", 0.1),)),
            "search.neighbours.optimiser.reset: rat is not an axis .*'rate'",
        ),
        (
            Neighbour("optimiser", "next", (("rate", 0.3),)),
            "rate has no level 0.3; its levels are 0.1, 1",
        ),
        (
            Neighbour("optimiser", "next", (("optimiser", "SGD"),)),
            "is the axis in which these differ",
        ),
        (Neighbour("zzz"), "its axes are optimiser, rate"),
    ],
)
def test_neighbours_of_another_space_are_refused(rule, message):
    space = Space.of({"optimiser": ["SGD", "Adam"], "rate": [0.1, 1]})
    with pytest.raises(ConfigError, match=rf"{message}.*\[config-invalid\]"):
        replace(search_of(space, "mads"), polling=Polling(neighbours=(rule,)))


@pytest.mark.parametrize(
    "levels", [{"c": ["p", "q", "r"]}, {"a": [1]}, {"a": [1], "c": ["p", "q"]}]
)
@pytest.mark.parametrize("method", ["mads", "a-mads"])
def test_a_space_without_ordinals_or_of_one_row_is_searched(levels, method):
    space = Space.of(levels)
    rows = [
        one.proposal.row
        for one in path(
            search_of(space, method), lambda one: Outcome("completed", score=1.0), len(space)
        )
    ]
    assert sorted(rows) == list(range(len(space)))


# The fold


def test_success_widens_the_frame_by_a_rung_and_a_poll_without_one_narrows_it():
    """One axis: on the ladder of NOMAD, isotropic, a poll is of two points."""
    mesh, trials = mesh_of(LINE, POLLING, 0), []
    for slot, score in enumerate([9, 10, 10, 10, 10, 8, 10, 10, 7, 6, 10]):
        trials.append(trial(slot, float(score), slot=slot, space=LINE))
    rungs = [state.rung for state in poll_states(mesh, trials) if state]
    assert rungs == [1, 1, 2, 2, 3, 2, 2, 3, 2, 1, 1]
    final = poll_state_after(mesh, trials)
    assert final is not None and (
        final.centre,
        final.previous_centre_row,
        final.trials_since_success,
    ) == (trials[9], 8, 1)


SCORES = lists(sampled_from([1.0, 2.0, 3.0, 4.0, None]), min_size=1, max_size=30)


@given(scores=SCORES, running=integers(0, 5), at=integers(0, 30))
@settings(max_examples=60)
def test_a_running_trial_counts_as_a_failure_and_one_of_the_machine_as_nothing(scores, running, at):
    mesh = mesh_of(MIXED, POLLING, 0)
    trials = [
        trial(n, score, slot=n, status="completed" if score else "diverged")
        for n, score in enumerate(scores)
    ]
    failures = [trial(400 + n, None, slot=40 + n, status="timeout") for n in range(running)]
    assert poll_state_after(mesh, trials, running) == poll_state_after(mesh, [*trials, *failures])
    lost = trial(450, None, slot=60, status="error")
    assert poll_state_after(mesh, [*trials[:at], lost, *trials[at:]]) == poll_state_after(
        mesh, trials
    )


def test_a_pruned_trial_is_never_the_centre():
    mesh = mesh_of(MIXED, POLLING, 0)
    state = poll_state_after(mesh, [trial(0, 2.0), trial(1, 1.0, slot=1, status="pruned")])
    assert state is not None and state.centre.proposal.row == 0 and state.trials_since_success == 1


# The search


@pytest.mark.parametrize("space", [MIXED, PART], ids=["grid", "list"])
def test_only_the_order_of_scores_counts(space):
    loss = np.random.default_rng(4).permutation(len(space)) / 40.0
    for seed in range(5):
        _, plain = searched(space, "mads", loss, 40, seed)
        _, bent = searched(space, "mads", np.exp(3 * loss) - 7, 40, seed)
        assert [one.proposal.row for one in plain] == [one.proposal.row for one in bent]


@pytest.mark.parametrize("speculative", [True, False])
def test_before_a_restart_elsewhere_every_neighbour_of_the_best_row_was_tried(speculative):
    """By brute force, on a noisy grid: the certificate of a direct search."""
    restarts = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        loss = (
            ((MIXED.rows[:, :2] / 10 - 0.4) ** 2).sum(axis=1)
            + 0.1 * MIXED.rows[:, 2]
            + 0.02 * rng.random(len(MIXED))
        )
        search, trials = searched(
            MIXED, "mads", loss, 70, seed, polling=Polling(speculative=speculative)
        )
        for number, one in enumerate(trials):
            before = trials[:number]
            if one.proposal.step != "restart":
                continue
            best = min(before, key=lambda each: (each.score, each.proposal.slot)).proposal.row
            gaps = MIXED.rows - MIXED.rows[best]
            steps = np.abs(gaps[:, :2]).sum(axis=1) + (gaps[:, 2] != 0)
            around = set(np.flatnonzero(steps == 1).tolist())
            if one.proposal.row not in around:
                restarts += 1
                assert around <= {each.proposal.row for each in before}
                said = trace_descent(search, before).certificate
                assert (said.neighbour_count, said.tried_count) == (len(around), len(around))
    assert restarts >= 6


def test_the_certificate_counts_what_was_tried_and_what_fits():
    loss = ((MIXED.rows[:, :2] / 10 - 0.4) ** 2).sum(axis=1) + 0.1 * MIXED.rows[:, 2]
    feasible = MIXED.rows[:, 0] <= 4
    search, trials = searched(MIXED, "mads", loss, 60, feasible=feasible)
    said = trace_descent(search, trials).certificate
    assert said.configuration == {"a": 4, "b": 4, "c": "p"}
    assert (said.neighbour_count, said.tried_count, said.infeasible_count, said.is_of_list) == (
        6,
        6,
        1,
        False,
    )
    course = trace_descent(search, trials)
    assert sum(count for _, count in course.step_counts) == 60 and course.step_counts[0][0] in (
        "poll",
        "restart",
    )
    assert [point.centre_score for point in course.points] == np.minimum.accumulate(
        [one.score for one in trials]
    ).tolist()


def test_four_workers_poll_four_rows():
    loss = ((MIXED.rows[:, :2] / 10 - 0.4) ** 2).sum(axis=1)
    _, trials = searched(MIXED, "mads", loss, 40, workers=4, lead=1.0)
    assert (
        len({one.proposal.row for one in trials}) == 40
        and max(len(one.proposal.pending_slots) for one in trials) == 3
    )


def test_the_learned_memory_limit_keeps_polls_below_it():
    trials = [trial(row, 1.0 + row, slot=row) for row in range(3)] + [
        trial(row, None, slot=row, status="out_of_memory") for row in range(300, 304)
    ]
    memory = 1e9 * (1.0 + np.arange(len(MIXED)))
    view = view_of(
        MIXED,
        trials,
        memory=memory,
        is_free=~np.isin(np.arange(len(MIXED)), [0, 1, 2, *range(300, 304)]),
    )
    assert choose_by_mads(view).row < 300


def bowl(size, optimum):
    space = Space.of({f"x{n}": range(size) for n in range(len(optimum))})
    return space, ((space.unit_cube - optimum) ** 2).sum(axis=1)


def rosenbrock():
    space = Space.of({"x": range(21), "y": range(21)})
    x, y = (4 * space.unit_cube - 2).T
    return space, 100 * (y - x * x) ** 2 + (1 - x) ** 2


def categories():
    """Each category has an optimum of its own, and the best category looks worst from afar."""
    middle, offset = (
        np.array([(0.2, 0.8), (0.8, 0.2), (0.5, 0.5), (0.9, 0.9)]),
        np.array([0.3, 0.1, 0.05, 0.0]),
    )
    kind = MIXED.rows[:, 2]
    return MIXED, ((MIXED.rows[:, :2] / 10 - middle[kind]) ** 2).sum(axis=1) + offset[kind]


@pytest.mark.parametrize(
    ("problem", "mads_draws", "a_mads_draws"),
    [
        (bowl(21, (0.35, 0.7)), 17.9, 10.2),
        (bowl(11, (0.3, 0.7, 0.5)), 21.6, 14.4),
        (rosenbrock(), 47.0, 68.5),
        (categories(), 75.8, 19.4),
    ],
    ids=["sphere of 2", "sphere of 3", "Rosenbrock", "categories"],
)
def test_the_best_row_of_a_grid_is_found_in_as_many_draws_as_a_prototype_needed(
    problem, mads_draws, a_mads_draws
):
    """Means of 20 seeds; random search needs 154 to 268."""
    space, loss = problem
    for method, draws in (("mads", mads_draws), ("a-mads", a_mads_draws)):
        needed = [
            len(searched(space, method, loss, 300, seed, loss.min())[1]) for seed in range(20)
        ]
        assert np.mean(needed) <= 1.4 * draws


# The global search of a-mads


def test_scores_are_scaled_by_the_median_and_failures_bend_nothing():
    assert scale_losses(np.array([1.0, 3.0, 2.0, np.inf, 50.0])).tolist() == [
        0.0,
        1.0,
        pytest.approx(2 / 3),
        1.0,
        1.0,
    ]
    assert scale_losses(np.array([2.0, 2.0, np.inf])).tolist() == [0.0, 0.0, 1.0]
    assert scale_losses(np.array([0.0, 1e-287, 1e30])).tolist() == [0.0, 1.0, 1.0]


def test_the_target_falls_with_success_rises_without_and_stays_below_the_best():
    assert move_target(np.array([0.5, 0.3, 0.4]), 0.1) == pytest.approx(-0.001)
    assert move_target(np.array([0.2, 0.1, 0.0]), 0.1) == pytest.approx(0.2 - 0.3)
    assert move_target(np.array([0.0, 1.0, 1.0, 1.0]), 0.1) == pytest.approx(-0.001)


def test_every_second_slot_is_a_global_search_and_fixed_categories_stay():
    loss = categories()[1]
    _, trials = searched(MIXED, "a-mads", loss, 20)
    assert [one.proposal.slot for one in trials if one.proposal.step == "search"] == list(
        range(4, 20, 2)
    )
    _, trials = searched(MIXED, "a-dogs", loss, 20)
    steps = [one.proposal.step for one in trials]
    assert steps[1:] == ["spread"] * 2 + ["search"] * 17
    _, trials = searched(MIXED, "a-mads", loss, 20, polling=Polling(categories="fixed"))
    for number, one in enumerate(trials):
        if one.proposal.step == "search":
            best = min(trials[:number], key=lambda each: each.score)
            assert one.proposal.configuration["c"] == best.proposal.configuration["c"]


def test_along_real_axes_alone_whole_numbers_and_categories_stay():
    """As A-DOGS and a-mads have it in their source, where integers and categories are the poll's."""
    levels = {"layers": range(4), "rate": [0.0, 0.25, 0.5, 0.75, 1.0], "c": ["p", "q"]}
    space = Space.of(levels)
    assert [axis.is_real for axis in space.axes] == [False, True, False]
    loss = np.random.default_rng(0).uniform(size=len(space))
    polling = Polling(categories="reals")
    steps = set()
    for method in ("a-mads", "a-dogs"):
        _, trials = searched(space, method, loss, 20, polling=polling)
        for number, one in enumerate(trials):
            steps.add(one.proposal.step)
            if one.proposal.step == "search":
                best = min(trials[:number], key=lambda each: each.score).proposal
                is_other_level = space.rows[one.proposal.row] != space.rows[best.row]
                assert is_other_level.tolist() == [False, True, False]
    assert "search" in steps and "poll 1" in steps
