"""What every search method owes, whatever it spends, and what gp-ei adds.

A new method earns this suite by its line in METHODS."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, lists, one_of, sampled_from

from fovnet.errors import SearchError
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.view import RECOMMENDED, Modelling, View
from fovnet.search.methods import METHODS
from fovnet.search.search import Search, propose_slot
from fovnet.search.space import BASELINE_CONFIGURATION, Space, paper_space
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.trial import Outcome, Trial

SMALL = Space.of({"a": range(4), "b": range(3), "c": ["x", "y", "z"]})
# the others are a look of these
LOOKS = [name for name, method in METHODS.items() if method.spend == "full"]
FAILURES = ("out_of_memory", "diverged", "timeout", "error")
OUTCOMES = one_of(
    sampled_from(FAILURES).map(Outcome),
    one_of(floats(-1e3, 1e3), sampled_from([1.0, 1e30])).map(
        lambda score: Outcome("completed", score=score)
    ),
)


def search_of(
    space,
    method,
    *,
    seed=0,
    workers=1,
    start=0,
    initial=4,
    seconds=None,
    feasible=None,
    lead=0.15,
    modelling=RECOMMENDED,
    schedule=FULL,
):
    seconds = np.ones(len(space)) if seconds is None else seconds
    feasible = np.ones(len(space), dtype=bool) if feasible is None else feasible
    return Search(
        space,
        method,
        seed,
        workers,
        start,
        initial,
        seconds,
        feasible,
        modelling,
        lead=lead,
        schedule=schedule,
    )


def view_of(space, trials, **changes):
    rest = {
        "pending_rows": (),
        "is_free": np.ones(len(space), dtype=bool),
        "slot": len(trials),
        "seed": 0,
        "initial_count": 4,
    }
    return View(
        space, tuple(trials), **{**rest, "predicted_seconds": np.ones(len(space)), **changes}
    )


def path(search, outcome_of, slots):
    """The trials of a search whose trainings take no time."""
    trials = {}
    for slot in range(slots):
        proposal = propose_slot(search, [trial.proposal for trial in trials.values()], trials)
        trials[slot] = Trial(proposal, outcome_of(proposal))
    return list(trials.values())


@pytest.mark.parametrize("method", LOOKS)
@given(
    outcomes=lists(OUTCOMES, min_size=12, max_size=12),
    workers=integers(1, 4),
    seed=integers(0, 99),
    blocked=integers(0, 24),
)
@settings(max_examples=15)
def test_rows_are_feasible_and_never_proposed_twice(method, outcomes, workers, seed, blocked):
    rng = np.random.default_rng(seed)
    feasible = np.ones(len(SMALL), dtype=bool)
    feasible[rng.choice(len(SMALL), blocked, replace=False)] = False
    search = search_of(
        SMALL,
        method,
        seed=seed,
        workers=workers,
        seconds=rng.uniform(1, 9, len(SMALL)),
        feasible=feasible,
    )
    rows = [
        trial.proposal.row for trial in path(search, lambda proposal: outcomes[proposal.slot], 12)
    ]
    assert len(set(rows)) == 12 and feasible[rows].all()


@pytest.mark.parametrize("method", LOOKS)
def test_a_whole_space_is_searched_to_its_last_row_and_then_refused(method):
    search = search_of(SMALL, method, workers=3)
    trials = path(
        search, lambda proposal: Outcome("completed", score=float(proposal.row % 7)), len(SMALL)
    )
    assert sorted(trial.proposal.row for trial in trials) == list(range(len(SMALL)))
    with pytest.raises(
        SearchError,
        match=r"ask for fewer trials, or give search.space more levels.*space-exhausted",
    ):
        propose_slot(search, [trial.proposal for trial in trials], dict(enumerate(trials)))


@pytest.mark.parametrize("method", LOOKS)
def test_a_proposal_can_be_replayed_from_what_it_saw_and_ignores_the_rest(method):
    search = search_of(
        SMALL, method, workers=3, seconds=np.random.default_rng(0).uniform(1, 9, len(SMALL))
    )
    trials = path(
        search, lambda proposal: Outcome("completed", score=float(np.sin(proposal.row))), 14
    )
    proposals = [trial.proposal for trial in trials]
    for slot, proposal in enumerate(proposals):
        assert (
            propose_slot(search, proposals[:slot], {i: trials[i] for i in proposal.seen_slots})
            == proposal
        )


@pytest.mark.parametrize("method", LOOKS)
@pytest.mark.parametrize("status", FAILURES)
def test_a_search_where_everything_fails_goes_on(method, status):
    trials = path(search_of(SMALL, method, workers=2), lambda proposal: Outcome(status), 20)
    assert len({trial.proposal.row for trial in trials}) == 20


DEAR = ("gp-es", "gp-esp")
"""Methods that take longest to propose."""
HOWS = {"": RECOMMENDED, "axis": Modelling(fidelity="axis"), "drawn": Modelling(choose="drawn")}
EVERY = [(look, "") for look in LOOKS] + [("gp-ei", "axis"), ("gp-mes", "axis"), ("gp-ei", "drawn")]
every_look = pytest.mark.parametrize(("method", "how"), EVERY, ids=lambda one: one or "recommended")
every_schedule = pytest.mark.parametrize("kind", ["hyperband", "asha", "asha-or-full"])


def trained(search, outcome_of, trials):
    """The trials for the epochs of so many full trainings, or until nothing is left to do."""
    done = {}
    while search.schedule.is_within_budget(
        proposals := [one.proposal for one in done.values()], trials
    ):
        try:
            proposal = propose_slot(search, proposals, done)
        except SearchError as over:
            assert over.code == "space-exhausted"
            break
        done[len(done)] = Trial(proposal, outcome_of(proposal))
    return list(done.values())


def falling(proposal):
    """A loss that falls with the epochs; every seventh slot fails, in one of the ways."""
    if proposal.slot % 7 == 3:
        return Outcome(FAILURES[proposal.slot % 4])
    return Outcome("completed", score=float(np.sin(proposal.row) + 2.0 / (proposal.epochs or 9)))


@every_look
@every_schedule
def test_under_a_schedule_too_a_proposal_follows_from_what_it_saw_and_none_comes_twice(
    method, how, kind
):
    seconds = np.random.default_rng(0).uniform(1, 9, len(SMALL))
    search = search_of(
        SMALL, method, workers=3, seconds=seconds, modelling=HOWS[how], schedule=Schedule(kind, 9)
    )
    trials = trained(search, falling, 4 if method in DEAR else 7)
    proposals = [trial.proposal for trial in trials]
    for slot, proposal in enumerate(proposals):
        assert (
            propose_slot(search, proposals[:slot], {i: trials[i] for i in proposal.seen_slots})
            == proposal
        )
    begun = [one.row for one in proposals if one.continued_slot is None]
    continued = [one for one in proposals if one.continued_slot is not None]
    assert len(set(begun)) == len(begun) > 4 and len(
        {(one.row, one.epochs) for one in proposals}
    ) == len(proposals)
    for one in continued:
        before = proposals[one.continued_slot]
        assert one.continued_slot in one.seen_slots and trials[before.slot].score is not None
        assert (one.row, one.seed, one.begun_epochs) == (before.row, before.seed, before.epochs)
        assert one.epochs > before.epochs and one.rung > before.rung
    assert continued


@every_schedule
@pytest.mark.parametrize("method", ["grid", "gp-ei"])
def test_under_a_schedule_too_the_first_rows_are_spread_evenly_whatever_went_on_meanwhile(
    method, kind
):
    def begun(schedule):
        trials = trained(search_of(SMALL, method, initial=6, schedule=schedule), falling, 6)
        return [one.proposal.row for one in trials if one.proposal.continued_slot is None][:6]

    assert begun(Schedule(kind, 9)) == begun(FULL)


@every_look
@every_schedule
@pytest.mark.parametrize("fails", [False, True])
def test_under_a_schedule_too_a_whole_space_is_searched_and_everything_may_fail(
    method, how, kind, fails
):
    space = Space.of({"a": range(4), "b": ["x", "y", "z"]})
    search = search_of(space, method, workers=2, modelling=HOWS[how], schedule=Schedule(kind, 9))
    trials = trained(search, lambda one: Outcome("timeout") if fails else falling(one), 99)
    assert {trial.proposal.row for trial in trials} == set(range(len(space)))
    failed = {trial.proposal.row for trial in trials if trial.score is None}
    ended = {trial.proposal.row for trial in trials if trial.proposal.epochs == 9}
    # one may be running when the other worker is done
    assert len(failed | ended) >= len(space) - 1


@pytest.mark.parametrize("method", LOOKS)
def test_the_first_row_is_the_start_or_the_feasible_row_nearest_to_it(method):
    space = paper_space()
    start, feasible = space.row_of(BASELINE_CONFIGURATION), np.ones(len(space), dtype=bool)
    assert propose_slot(search_of(space, method, start=start), [], {}).row == start
    feasible[space.rows[:, 0] >= 3] = False  # at most three blocks fit
    nearest = propose_slot(
        search_of(space, method, start=start, feasible=feasible), [], {}
    ).configuration
    assert nearest == {**BASELINE_CONFIGURATION, "blocks": 3}


@pytest.mark.parametrize("method", LOOKS)
def test_another_seed_takes_another_path_except_on_a_grid(method):
    def rows(seed):
        trials = path(
            search_of(paper_space(), method, seed=seed),
            lambda proposal: Outcome("completed", score=1.0),
            6,
        )
        return [trial.proposal.row for trial in trials]

    assert rows(0) == rows(0) and (rows(0)[1:] == rows(1)[1:]) == (method == "grid")


def smooth_loss(space):
    """(M,): a bowl with a valley over the unit cube, its best row not in a corner."""
    cube = space.unit_cube
    valley = (cube[:, 5] - 0.3 - 0.4 * cube[:, 6]) ** 2  # the best rate rises with the batch
    return (
        0.1 + 3.0 * valley + ((cube[:, :3] - [0.75, 0.4, 0.6]) ** 2).sum(axis=1) + 0.05 * cube[:, 4]
    )


def test_gp_ei_beats_random_on_a_smooth_loss_over_the_papers_space():
    """30 trials each, five seeds: gp-ei ends below chance with the same seed, and in the median among the
    best 0.1 % of all rows."""
    space = paper_space()
    loss = smooth_loss(space)

    def end(method, seed):
        search = search_of(
            space, method, seed=seed, start=space.row_of(BASELINE_CONFIGURATION), initial=5
        )
        trials = path(
            search, lambda proposal: Outcome("completed", score=float(loss[proposal.row])), 30
        )
        return min(trial.score for trial in trials)

    ends = [end("gp-ei", seed) for seed in range(5)]
    assert all(mine < end("random", seed) for seed, mine in enumerate(ends))
    assert np.median(ends) < np.quantile(loss, 0.001)


def test_gp_ei_learns_where_trainings_diverge():
    """All rates above 1e-3 diverge, and the loss falls towards that cliff: few of the later trials go over
    it."""
    space = paper_space()
    loss = smooth_loss(space) - space.unit_cube[:, 5]

    def outcome(proposal):
        over = proposal.configuration["log10_learning_rate"] > -3
        return (
            Outcome("diverged") if over else Outcome("completed", score=float(loss[proposal.row]))
        )

    trials = path(
        search_of(space, "gp-ei", start=space.row_of(BASELINE_CONFIGURATION), initial=5),
        outcome,
        40,
    )
    late = [trial.outcome.status for trial in trials[15:]]
    assert late.count("diverged") <= 5
    assert min(trial.score for trial in trials if trial.score is not None) < np.quantile(
        loss[space.rows[:, 5] <= 4], 0.01
    )


def test_the_chance_to_train_is_high_where_it_did_and_low_where_it_failed():
    space = Space.of({"a": range(11), "b": range(11)})
    search = search_of(space, "gp-ei")
    trials = path(
        search,
        lambda p: (
            Outcome("diverged") if p.configuration["a"] > 5 else Outcome("completed", score=1.0)
        ),
        25,
    )
    view = view_of(space, trials)
    chance = np.exp(Chances(view).log_chance(np.arange(len(space))))
    assert chance[space.rows[:, 0] == 2].min() > 0.8 and chance[space.rows[:, 0] == 9].max() < 0.2


def test_a_machine_failure_teaches_gp_ei_nothing_but_not_to_repeat_the_row():
    search, outcome = search_of(SMALL, "gp-ei"), Outcome("completed", score=1.0)
    trials = path(search, lambda proposal: Outcome("error") if proposal.slot == 3 else outcome, 8)
    view = view_of(SMALL, trials)
    assert len(view.failed_rows) == 0 and trials[3].proposal.row not in view.scored_losses[0]
    assert (Chances(view).log_chance(np.arange(len(SMALL))) == 0.0).all()


def test_pending_rows_push_the_next_worker_elsewhere():
    """Four workers who saw the same results choose four rows that are no neighbours all."""
    space = paper_space()
    loss = smooth_loss(space)
    search = search_of(
        space, "gp-ei", workers=4, lead=1.0, start=space.row_of(BASELINE_CONFIGURATION), initial=5
    )
    trials = path(
        search, lambda proposal: Outcome("completed", score=float(loss[proposal.row])), 16
    )
    last = space.unit_cube[[trial.proposal.row for trial in trials[-4:]]]
    assert len({trial.proposal.pending_slots for trial in trials[-4:]}) == 4
    assert max(np.linalg.norm(a - b) for a in last for b in last) > 0.3


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"method": "gp-eii"}, "search-method", "'gp-eii' is unknown; choose one of"),
        ({"workers": 0}, "search-workers", "workers 0"),
        ({"seconds": np.ones(3)}, "search-shape", "3 predicted seconds .*: give one of each"),
        (
            {"seconds": np.where(np.arange(len(SMALL)) == 5, np.nan, 1.0)},
            "search-seconds",
            "row 5 of .*take nan seconds, .*: give",
        ),
        ({"feasible": np.zeros(len(SMALL), dtype=bool)}, "no-feasible-row", "allow more memory"),
    ],
)
def test_a_search_that_cannot_be_meant_is_refused(change, code, message):
    with pytest.raises(SearchError, match=rf"{message}.*\[{code}\]"):
        search_of(SMALL, **{"method": "random", **change})
