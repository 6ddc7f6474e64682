"""tpe: what counts as good, where it looks then, and that hyperopt looks at the same places as often."""

from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, lists, one_of, sampled_from

from fovnet.bench.peers import Hyperopt
from fovnet.errors import SearchError
from fovnet.maths.parzen import estimate_mixture, estimate_shares
from fovnet.search.journal import read_search, replay
from fovnet.search.look.tpe import choose_by_parzen, split_trials
from fovnet.search.look.uniform import choose_uniformly
from fovnet.search.look.view import DEFAULT_CANDIDATES, View
from fovnet.search.run import run_search
from fovnet.search.space import BASELINE_CONFIGURATION, Space, paper_space, row_places
from fovnet.search.trial import Outcome, Proposal, Trial
from tests.search.test_methods import path, search_of, smooth_loss

GRID = Space.of({"a": range(11), "b": range(5), "c": ["x", "y", "z"], "d": [False, True]})
SIZE = len(GRID)
FAILURES = ("out_of_memory", "diverged", "timeout")
ENDS = one_of(
    sampled_from([*FAILURES, "error"]).map(Outcome),
    floats(-9.0, 9.0).map(lambda score: Outcome("completed", score=score)),
)


def trials_of(outcomes, rows=None):
    rows = (
        np.random.default_rng(7).permutation(SIZE)[: len(outcomes)].tolist()
        if rows is None
        else rows
    )
    return [
        Trial(Proposal(slot, row, GRID.configuration(row), 0, tuple(range(slot)), (), 1.0), outcome)
        for slot, (row, outcome) in enumerate(zip(rows, outcomes, strict=True))
    ]


def view_of(trials, pending=(), **changes):
    free = np.ones(SIZE, dtype=bool)
    free[[trial.proposal.row for trial in trials]] = False
    free[list(pending)] = False
    rest = {
        "slot": len(trials) + len(pending),
        "seed": 0,
        "initial_count": 20,
        "predicted_seconds": np.ones(SIZE),
        "is_free": free,
    }
    return View(GRID, tuple(trials), tuple(pending), **{**rest, **changes})


def scored(scores):
    return [Outcome("completed", score=float(score)) for score in scores]


def bowl():
    """(SIZE,), least at a = 3, b = 4, c = y."""
    places = row_places(GRID)
    return (
        (places[:, 0] - 0.3) ** 2
        + (places[:, 1] - 1.0) ** 2
        + 0.3 * (places[:, 2] != 1)
        + 0.01 * places[:, 3]
    )


@pytest.mark.parametrize(
    ("count", "good"),
    [(1, 1), (15, 1), (16, 1), (17, 2), (64, 2), (65, 3), (100, 3), (144, 3), (145, 4), (320, 5)],
)
def test_of_n_trials_a_quarter_of_the_root_are_good(count, good):
    """Three of a hundred, not 25 of them."""
    scores = np.random.default_rng(count).permutation(count)
    rows, others = split_trials(view_of(trials_of(scored(scores))))
    assert len(rows) == good and len(rows) + len(others) == count
    best = [trial.proposal.row for trial in trials_of(scored(scores)) if trial.score < good]
    # in the order of their slots
    assert rows.tolist() == best


@given(outcomes=lists(ENDS, min_size=1, max_size=60), pending=integers(0, 8))
def test_failures_and_pending_trials_are_never_good_and_a_failure_of_the_machine_is_nothing(
    outcomes, pending
):
    trials = trials_of([*outcomes, *scored([0.0] * pending)])
    seen, running = (
        trials[: len(outcomes)],
        [trial.proposal.row for trial in trials[len(outcomes) :]],
    )
    good, others = split_trials(view_of(seen, running))
    counted = [trial for trial in seen if trial.outcome.status != "error"]
    assert sorted([*good, *others]) == sorted(
        [*(trial.proposal.row for trial in counted), *running]
    )
    scores = {trial.proposal.row: trial.score for trial in counted if trial.score is not None}
    assert set(good) <= set(scores)
    assert len(good) == min(len(scores), int(np.ceil(np.sqrt(len(counted) + pending) / 4)))
    assert all(scores[row] <= scores[other] for row in good for other in others if other in scores)
    assert others.tolist()[len(others) - pending :] == running


def test_of_equal_scores_the_first_are_good():
    trials = trials_of(scored([1.0] * 40))
    assert split_trials(view_of(trials))[0].tolist() == [trial.proposal.row for trial in trials[:2]]


@pytest.mark.parametrize(("initial", "asked_from"), [(None, 20), (5, 5), (1, 1)])
def test_the_first_twenty_are_drawn_at_random_or_as_many_as_were_asked_for(initial, asked_from):
    search, loss = search_of(GRID, "tpe", initial=initial), bowl()
    assert search.first_slots == asked_from
    trials = path(
        search, lambda proposal: Outcome("completed", score=float(loss[proposal.row])), 30
    )
    for slot in range(1, 30):
        view = view_of(trials[:slot], initial_count=asked_from)
        assert (trials[slot].proposal.row == choose_uniformly(view).row) == (slot < asked_from)
        assert trials[slot].proposal.forecast is None


def test_twenty_trials_that_the_machine_failed_are_none():
    view = view_of(trials_of([*[Outcome("error")] * 5, *scored(range(19))]))
    assert choose_by_parzen(view) == choose_uniformly(view)


def test_it_looks_where_the_good_trials_are_and_the_others_are_not():
    """Good trials at a = 2 with c = y, others everywhere: of 100 seeds most look there or below, at the edge,
    where the others are thin."""
    loss = np.abs(row_places(GRID)[:, 0] - 0.2) + (GRID.rows[:, 2] != 1)
    trials = trials_of(scored(loss[np.random.default_rng(7).permutation(SIZE)[:100]]))
    levels = GRID.rows[[choose_by_parzen(view_of(trials, seed=seed)).row for seed in range(100)]]
    assert (levels[:, 0] <= 3).mean() > 0.9 and (levels[:, 2] == 1).mean() > 0.9


def test_with_all_candidates_the_row_of_greatest_ratio_of_masses_is_proposed():
    """The same sum, taken row by row and axis by axis."""
    rows = np.random.default_rng(7).permutation(SIZE)[:60]
    view, places = (
        view_of(trials_of(scored(bowl()[rows]), rows.tolist()), candidates="all"),
        row_places(GRID),
    )
    good, others = split_trials(view)
    masses = [
        [
            estimate_mixture(places[group, axis]).log_mass(np.array(one.columns[:, 0]))
            if one.kind == "ordinal"
            else np.log(estimate_shares(GRID.rows[group, axis], len(one.levels)).shares)
            for group in (good, others)
        ]
        for axis, one in enumerate(GRID.axes)
    ]
    promise = {
        row: sum(
            low[level] - high[level]
            for (low, high), level in zip(masses, GRID.rows[row], strict=True)
        )
        for row in np.flatnonzero(view.is_free)
    }
    assert promise[choose_by_parzen(view).row] == pytest.approx(max(promise.values()), abs=1e-12)


def test_a_journal_says_that_all_were_candidates_and_no_other_search_goes_on_with_it(tmp_path):
    def submit(proposal):
        future = Future()
        future.set_result(Outcome("completed", (1.0,), (1.0,), float(bowl()[proposal.row])))
        return future

    usual, every = search_of(GRID, "tpe"), replace(search_of(GRID, "tpe"), candidates="all")
    assert "candidates" not in usual.identity
    trials = run_search(every, trials=9, folder=tmp_path, submit=submit)
    assert read_search(tmp_path).candidates == "all" and replay(tmp_path, 8) == trials[8].proposal
    with pytest.raises(SearchError, match="its search has candidates = all"):
        run_search(usual, trials=9, folder=tmp_path, submit=submit)


def test_rows_that_will_hardly_fit_are_not_proposed():
    """The loss falls towards a = 10, but nothing above a = 5 fits into memory, as fifteen trials have
    shown."""
    memory, a = 1e9 * (1.0 + GRID.rows[:, 0]), GRID.rows[:, 0]
    rows = np.random.default_rng(7).permutation(SIZE)[:40]
    ends = [
        Outcome("out_of_memory") if a[row] > 5 else Outcome("completed", score=-float(a[row]))
        for row in rows
    ]
    trials = trials_of(ends, rows.tolist())
    chosen = [
        choose_by_parzen(view_of(trials, seed=seed, memory=memory, candidates=what)).row
        for seed in range(20)
        for what in (24, "all")
    ]
    assert a[chosen].max() <= 5


def test_it_beats_random_on_a_smooth_loss_over_the_papers_space():
    """60 trials each, three seeds."""
    space = paper_space()
    loss, start = smooth_loss(space), space.row_of(BASELINE_CONFIGURATION)

    def end(method, seed):
        trials = path(
            search_of(space, method, seed=seed, start=start),
            lambda p: Outcome("completed", score=float(loss[p.row])),
            60,
        )
        return min(trial.score for trial in trials)

    assert (
        np.mean([end("tpe", seed) for seed in range(3)])
        < np.mean([end("random", seed) for seed in range(3)]) - 0.05
    )


@pytest.mark.parametrize("count", [25, 60])
def test_hyperopt_looks_at_the_same_levels_as_often(count):
    """Level by level of every axis, over 150 seeds of each: chi-square of two samples, none of the four axes
    below p = 0.001."""
    stats = pytest.importorskip("scipy.stats")
    pytest.importorskip(
        "hyperopt",
        reason="hyperopt is not installed: its estimates are compared as recorded, in test_parzen.py",
    )
    rows = np.random.default_rng(7).permutation(SIZE)[:count]
    trials, places = trials_of(scored(bowl()[rows]), rows.tolist()), row_places(GRID)
    everywhere = np.ones(SIZE, dtype=bool)
    mine = GRID.rows[
        [
            choose_by_parzen(view_of(trials, seed=seed, is_free=everywhere)).row
            for seed in range(150)
        ]
    ]
    peer = Hyperopt(GRID, 1)
    for row in rows.tolist():
        peer.tell(row, float(bowl()[row]))
    asked = np.array([peer.ask(everywhere) for _ in range(150)])
    theirs = GRID.rows[np.abs(asked[:, None, :] - places).sum(axis=2).argmin(axis=1)]
    for axis, one in enumerate(GRID.axes):
        table = np.array(
            [np.bincount(levels[:, axis], minlength=len(one.levels)) for levels in (mine, theirs)]
        )
        assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > 0.001, one.name


def test_as_many_candidates_are_drawn_as_hyperopt_draws():
    tpe = pytest.importorskip("hyperopt.tpe", reason="hyperopt is not installed")
    assert tpe._default_n_EI_candidates == DEFAULT_CANDIDATES
