"""Ways to spend, as whole searches: what begins, what goes on and what is stopped, against plain loops."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, integers, sampled_from

from fovnet.search.search import Search, is_possible, propose_slot
from fovnet.search.space import Space
from fovnet.search.spend.ledger import Ledger
from fovnet.search.spend.schedule import FULL, Schedule, own_epochs
from fovnet.search.spend.spends import continuable_slots
from fovnet.search.trial import Outcome
from tests.search.test_methods import trained

WIDE = Space.of({"a": range(20), "b": range(10)})
SMALL = Space.of({"a": range(4), "b": range(3)})
SECONDS = np.random.default_rng(1).lognormal(0.0, 1.0, 200)
LEVEL = np.random.default_rng(2).normal(size=200)
"""What a row's training ends at; on the way there it is higher, and not by the same amount for all."""


def search_of(schedule, space=WIDE, workers=1, seed=0, method="random"):
    size = len(space)
    every = np.ones(size, dtype=bool)
    return Search(space, method, seed, workers, 2, 4, SECONDS[:size], every, schedule=schedule)


def loss(proposal):
    """Falls with the epochs, for each row at a pace of its own; rows change their order on the way."""
    pace = 0.3 + np.random.default_rng(proposal.row).uniform()
    return Outcome(
        "completed", score=float(LEVEL[proposal.row] + 3.0 * (proposal.epochs or 9) ** -pace)
    )


def constant(proposal):
    return Outcome("completed", score=float(LEVEL[proposal.row]))


def sometimes(proposal):
    """One training in three fails, some only on a higher rung."""
    status = ("diverged", "error", "timeout")[proposal.slot % 3]
    return Outcome(status) if (proposal.slot * 7919 + proposal.row) % 3 == 0 else loss(proposal)


def spent(search, trials, outcome_of=loss):
    return trained(search, outcome_of, trials)


def of_bracket(trials, bracket):
    return [trial for trial in trials if trial.proposal.bracket == bracket]


def sizes(trials, bracket):
    """How many trainings of how many epochs a bracket has."""
    return dict(Counter(trial.proposal.epochs for trial in of_bracket(trials, bracket)))


def ranked(trials):
    scored = [one for one in trials if one.score is not None]
    return sorted(scored, key=lambda one: (one.score, one.proposal.slot))


BRACKETS_OF_81 = [
    {1: 81, 3: 27, 9: 9, 27: 3, 81: 1},
    {3: 34, 9: 11, 27: 3, 81: 1},
    {9: 15, 27: 5, 81: 1},
    {27: 8, 81: 2},
    {81: 5},
]


@pytest.mark.parametrize(
    ("restarts", "costs"), [(False, [297, 276, 279, 324, 405]), (True, [405, 363, 351, 378, 405])]
)
def test_hyperband_with_one_worker_runs_the_loops_of_algorithm_1(restarts, costs):
    """Slot by slot: the brackets one after another, each rung from its first training to its last."""
    trials = spent(search_of(Schedule("hyperband", 81, 3, reuse=False, restarts=restarts)), 25)[
        :206
    ]
    wanted = [
        epochs
        for bracket in BRACKETS_OF_81
        for epochs, count in bracket.items()
        for _ in range(count)
    ]
    assert [trial.proposal.epochs for trial in trials] == wanted
    own = [
        [own_epochs(one.proposal, 81) for one in of_bracket(trials, bracket)]
        for bracket in range(5)
    ]
    assert [sum(epochs) for epochs in own] == costs


@pytest.mark.parametrize("kind", ["hyperband", "asha", "asha-or-full"])
@pytest.mark.parametrize("method", ["random", "gp-ei"])
def test_by_minutes_too_a_proposal_follows_from_what_it_saw(kind, method):
    """The slots of a rung cost about as much whatever the row, and each goes on with more epochs."""
    schedule = Schedule(kind, 27, minutes=np.median(SECONDS) / 60.0)
    search = search_of(schedule, workers=3, method=method)
    trials = spent(search, 8)
    proposals = [trial.proposal for trial in trials]
    for slot, proposal in enumerate(proposals):
        seen = {number: trials[number] for number in proposal.seen_slots}
        assert propose_slot(search, proposals[:slot], seen) == proposal
        assert is_possible(search, proposals[:slot], proposal)
        assert proposal.epochs == schedule.epochs_at(proposal.rung, SECONDS[proposal.row])
        if proposal.continued_slot is not None:
            continued = proposals[proposal.continued_slot]
            assert proposal.begun_epochs == continued.epochs < proposal.epochs
    assert len({proposal.epochs for proposal in proposals if proposal.rung == 1}) > 3
    assert any(proposal.rung == 3 for proposal in proposals)


def test_the_survivors_of_a_rung_are_its_best_in_order():
    trials = spent(search_of(Schedule("hyperband", 81, 3, reuse=False)), 20)
    for bracket, rungs in enumerate(BRACKETS_OF_81):
        there = of_bracket(trials, bracket)
        for below, above in zip(rungs, list(rungs)[1:], strict=False):
            best = ranked(one for one in there if one.proposal.epochs == below)[: rungs[above]]
            went_on = [one.proposal.continued_slot for one in there if one.proposal.epochs == above]
            assert went_on == [one.proposal.slot for one in best]


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_a_bracket_has_the_same_sizes_for_every_number_of_workers(workers, reuse):
    """The last three may still be open when the budget ends."""
    trials = spent(search_of(Schedule("hyperband", 9, 3, reuse=reuse), workers=workers), 40)
    newest = max(trial.proposal.bracket for trial in trials)
    assert newest >= 12
    for bracket in range(newest - 2):
        assert sizes(trials, bracket) == [{1: 9, 3: 3, 9: 1}, {3: 5, 9: 1}, {9: 3}][bracket % 3]


@pytest.mark.parametrize("kind", ["hyperband", "asha", "asha-or-full"])
def test_where_a_full_training_has_one_epoch_a_schedule_is_the_search_without_one(kind):
    plain = [trial.proposal.row for trial in spent(search_of(FULL, workers=2), 30)]
    assert [
        trial.proposal.row for trial in spent(search_of(Schedule(kind, 1), workers=2), 30)
    ] == plain


def promotable(trials, seen, schedule):
    """Of each rung below the last the slots, best first, that ASHA's rule lets go on once these are seen."""
    for rung in reversed(range(schedule.last_rung)):
        there = [trials[slot] for slot in seen if trials[slot].proposal.rung == rung]
        yield [one.proposal.slot for one in ranked(there)[: len(there) // schedule.eta]]


@given(
    workers=integers(1, 4), eta=integers(2, 4), outcome_of=sampled_from([loss, constant, sometimes])
)
@settings(max_examples=12)
def test_asha_begins_only_where_nobody_may_go_on_and_else_takes_the_most_trained(
    workers, eta, outcome_of
):
    schedule = Schedule("asha", 20, eta)
    trials = spent(search_of(schedule, workers=workers), 14, outcome_of)
    for slot, trial in enumerate(trials):
        gone_on = {one.proposal.continued_slot for one in trials[:slot]}
        rungs = promotable(trials, trial.proposal.seen_slots, schedule)
        left = [one for rung in rungs for one in rung if one not in gone_on]
        assert trial.proposal.continued_slot == (left[0] if left else None)


def test_with_asha_the_best_of_the_rows_begun_has_climbed_as_high_as_their_number_allows():
    trials = spent(search_of(Schedule("asha", 27, 3)), 20, constant)
    rung_of = {}
    for trial in trials:
        if trial.proposal.continued_slot is None and rung_of:
            count, best = len(rung_of), min(rung_of, key=lambda row: LEVEL[row])
            assert rung_of[best] >= min(3, sum(count >= 3**power for power in range(1, 9)))
        rung_of[trial.proposal.row] = trial.proposal.rung
    assert len(rung_of) > 81


@given(
    kind=sampled_from(["hyperband", "asha", "asha-or-full"]),
    workers=integers(1, 4),
    seed=integers(0, 9),
    reuse=booleans(),
)
@settings(max_examples=15)
def test_a_failed_training_never_goes_on_and_the_next_continue_the_same_seeds(
    kind, workers, seed, reuse
):
    trials = spent(
        search_of(Schedule(kind, 9, 3, reuse=reuse), workers=workers, seed=seed), 20, sometimes
    )
    rows = [trial.proposal.row for trial in trials if trial.proposal.continued_slot is None]
    continued = [trial.proposal for trial in trials if trial.proposal.continued_slot is not None]
    assert (
        len(rows) == len(set(rows))
        and len({one.continued_slot for one in continued}) == len(continued) > 0
    )
    for one in continued:
        before = trials[one.continued_slot]
        assert before.score is not None and one.continued_slot in one.seen_slots
        assert (before.proposal.row, before.proposal.seed) == (one.row, one.seed)
        assert (before.proposal.epochs, before.proposal.rung < one.rung) == (one.begun_epochs, True)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", ["full", "hyperband", "asha", "asha-or-full"])
@pytest.mark.parametrize("status", ["diverged", "error"])
def test_where_everything_fails_the_search_goes_on_to_the_last_row(kind, workers, status):
    trials = spent(
        search_of(Schedule(kind, 9), SMALL, workers), 99, lambda proposal: Outcome(status)
    )
    assert sorted(trial.proposal.row for trial in trials) == list(range(len(SMALL)))


@given(
    kind=sampled_from(["full", "hyperband", "asha", "asha-or-full"]),
    workers=integers(1, 4),
    asked=integers(1, 12),
    more=integers(0, 6),
)
@settings(max_examples=15)
def test_a_budget_is_overspent_by_less_than_a_training_and_a_greater_one_extends(
    kind, workers, asked, more
):
    search = search_of(Schedule(kind, 9), workers=workers)
    trials = spent(search, asked, sometimes)
    total = sum(own_epochs(trial.proposal, 9) for trial in trials)
    assert asked * 9 <= total < asked * 9 + 9
    assert spent(search, asked + more, sometimes)[: len(trials)] == trials


def test_hyperband_takes_up_what_closed_brackets_stopped_and_only_that():
    schedule = Schedule("hyperband", 27, 3)
    trials = spent(search_of(schedule, workers=3, method="gp-ei"), 12)
    taken_up = [
        one.proposal
        for one in trials
        if (c := one.proposal.continued_slot) is not None
        and trials[c].proposal.bracket != one.proposal.bracket
    ]
    assert taken_up
    for one in taken_up:
        source = trials[one.continued_slot].proposal.bracket
        closed = {trial.proposal.slot for trial in of_bracket(trials, source)}
        assert source < one.bracket and closed <= set(one.seen_slots)
        assert one.rung == schedule.last_rung - schedule.climbed_rungs(one.bracket)


@pytest.mark.parametrize("workers", [1, 3])
def test_with_reuse_every_row_may_be_trained_to_its_end_without_it_few_are(workers):
    def trained(reuse):
        trials = spent(search_of(Schedule("hyperband", 9, 3, reuse=reuse), SMALL, workers), 99)
        return {trial.proposal.row for trial in trials if trial.proposal.epochs == 9}

    assert len(trained(True)) > len(SMALL) - workers and len(trained(False)) <= 4


@pytest.mark.parametrize("workers", [1, 3])
def test_at_the_end_of_the_space_asha_trains_all_that_it_stopped(workers):
    trials = spent(search_of(Schedule("asha", 9, 3), SMALL, workers), 99)
    assert (
        len({trial.proposal.row for trial in trials if trial.proposal.epochs == 9})
        > len(SMALL) - workers
    )


def kept_at(trials, slot, schedule, workers):
    """The checkpoints kept when this slot begins."""
    proposals = [trial.proposal for trial in trials[:slot]]
    scores = {seen: trials[seen].score for seen in trials[slot].proposal.seen_slots}
    return set(
        continuable_slots(Ledger.of(schedule, proposals, scores, has_free_rows=True), workers)
    )


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(
    ("kind", "reuse", "share"),
    [
        ("asha", True, 0.02),
        ("hyperband", True, 0),
        ("hyperband", False, 0),
        ("asha-or-full", True, 0),
    ],
)
def test_a_checkpoint_is_kept_as_long_as_its_training_may_go_on(kind, reuse, share, workers):
    """Never that of a training that failed, went on or is done; asha lacks one in fifty of those wanted."""
    schedule = Schedule(kind, 9, 3, reuse=reuse)
    trials = spent(search_of(schedule, workers=workers), 40, sometimes)
    lost = set()
    for slot in range(1, len(trials)):
        kept = kept_at(trials, slot, schedule, workers)
        gone_on = {one.proposal.continued_slot for one in trials[:slot]}
        assert all(
            trials[one].score is not None and trials[one].proposal.epochs < 9 for one in kept
        )
        assert not kept & gone_on
        lost |= {one.proposal.continued_slot for one in trials[slot:]} & set(
            trials[slot].proposal.seen_slots
        ) - kept
    went_on = sum(trial.proposal.continued_slot is not None for trial in trials)
    assert went_on > 25 and len(lost) <= share * went_on
