"""What a schedule spent on what: counted by hand on a journal of ten slots, and laws on searches of their
own."""

from itertools import combinations

import numpy as np
import pytest

from fovnet.search.explain.explanation import explain
from fovnet.search.explain.spent import Rung, StoppedTraining, review_spending
from fovnet.search.look.view import Modelling
from fovnet.search.search import Search, propose_slot
from fovnet.search.space import Space
from fovnet.search.spend.schedule import Schedule, own_epochs
from fovnet.search.trial import Forecast, Outcome, Proposal, Trial, latest_trials

SPACE = Space.of({"a": range(8), "b": range(6)})
SECONDS = np.random.default_rng(1).lognormal(0.0, 1.0, len(SPACE))


def search_of(kind="asha", workers=1, method="random", **changes):
    return Search(
        SPACE,
        method,
        0,
        workers,
        0,
        4,
        SECONDS,
        SECONDS > 0,
        schedule=Schedule(kind, 9, 3),
        **changes,
    )


def loss(proposal):
    """Falls at a pace of the row's own; took 1.5 times the predicted seconds; every ninth slot fails."""
    if proposal.slot % 9 == 4:
        return Outcome("diverged", seconds=0.1)
    draw = np.random.default_rng(proposal.row)
    curve = tuple(
        draw.normal() + 3.0 * np.arange(1, 1 + (proposal.epochs or 9)) ** -draw.uniform(0.3, 1.3)
    )
    return Outcome("completed", curve, curve, float(min(curve)), 1.5 * proposal.predicted_seconds)


def spent(search, trials, outcome_of=loss):
    done = {}
    while search.schedule.is_within_budget(
        proposals := [one.proposal for one in done.values()], trials
    ):
        proposal = propose_slot(search, proposals, done)
        done[len(done)] = Trial(proposal, outcome_of(proposal))
    return list(done.values())


def planted():
    """Row 1 was passed over for row 2 and ended better; rows 0 and 4 were stopped, 0 by the machine; 3
    failed."""
    plan = [  # row, rung, the slot continued, score
        (0, 0, None, 5.0),
        (1, 0, None, 4.0),
        (2, 0, None, 3.0),
        (2, 1, 2, 2.5),
        (3, 0, None, "diverged"),
        (1, 1, 1, 2.0),
        (2, 2, 3, 2.2),
        (1, 2, 5, 1.0),
        (4, 0, None, 4.5),
        (0, 1, 0, "error"),
    ]
    for slot, (row, rung, before, score) in enumerate(plan):
        begun = 0 if before is None else 3 ** (rung - 1)
        yield Trial(
            Proposal(
                slot,
                row,
                SPACE.configuration(row),
                0,
                tuple(range(slot)),
                (),
                1.0,
                None,
                3**rung,
                before,
                begun,
                0,
                rung,
            ),
            Outcome(score)
            if isinstance(score, str)
            else Outcome("completed", score=score, seconds=1.0),
        )


def test_ten_slots_are_counted_as_by_hand():
    found = review_spending(search_of(), list(planted()))
    # trained, failed, went on, stopped, spent; pairs, alike
    assert found.rungs == (
        Rung(1, 5, 1, 2, 2, 5, 1, 0),
        Rung(3, 3, 1, 2, 0, 6, 1, 1),
        Rung(9, 2, 0, 0, 0, 12, 0, 0),
    )
    assert (found.begun_count, found.ended_count, found.epochs_spent, found.full_trainings) == (
        5,
        2,
        23,
        2.56,
    )
    assert (found.epochs_on_stopped, found.epochs_on_failed) == (1 + 2 + 1, 1)
    assert (found.passed_over_count, found.better_than_preferred_count) == (1, 1)
    assert found.stopped_trainings == (
        StoppedTraining(8, 1, 4.5, SPACE.configuration(4)),
        StoppedTraining(0, 1, 5.0, SPACE.configuration(0)),
    )
    assert [one.row_number for one in found.stretches] == [0, 1, 2, 2, 3, 1, 2, 1, 4, 0]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", ["hyperband", "asha", "asha-or-full"])
def test_every_epoch_and_every_training_is_counted_once(kind, workers):
    search = search_of(kind, workers)
    trials = spent(search, 12)
    found, final = review_spending(search, trials), latest_trials(trials)
    assert sum(one.training_count for one in found.rungs) == len(
        trials
    ) and found.begun_count == len(final)
    assert all(
        one.training_count == one.failed_count + one.continued_count + one.stopped_count
        for one in found.rungs[:-1]
    )
    ended = {
        trial.proposal.row
        for trial in final
        if trial.proposal.rung == 2 and trial.score is not None
    }
    on_ended = sum(own_epochs(trial.proposal, 9) for trial in trials if trial.proposal.row in ended)
    total = sum(own_epochs(trial.proposal, 9) for trial in trials)
    assert (
        found.epochs_spent
        == total
        == sum(one.epochs_spent for one in found.rungs)
        == found.epochs_on_stopped + found.epochs_on_failed + on_ended
    )
    assert (
        len(found.stopped_trainings) == sum(one.stopped_count for one in found.rungs) > 0
        and len(ended) == found.ended_count
    )
    # on the clock a training goes on after it was seen
    for one in found.stretches:
        before = trials[one.slot].proposal.continued_slot
        assert before is None or found.stretches[before].end_seconds <= one.begin_seconds + 1e-5


def reversed_order(proposal):
    """The score on the last rung is the worst of those that looked best before."""
    sign = 1.0 if proposal.epochs == 9 else -1.0
    return Outcome("completed", score=10.0 + sign * proposal.row / len(SPACE), seconds=1.0)


@pytest.mark.parametrize("outcome_of", [loss, reversed_order])
def test_only_a_search_that_doubts_its_rungs_begins_rows_without_comparing_them(outcome_of):
    for kind in ("hyperband", "asha", "asha-or-full"):
        search = search_of(kind)
        spending = review_spending(search, spent(search, 20, outcome_of))
        is_doubtful = kind == "asha-or-full" and outcome_of is reversed_order
        assert (0 < spending.uncompared_count <= spending.begun_count) == is_doubtful


def test_pairs_are_those_that_both_ended_and_constant_scores_keep_their_order():
    search = search_of()
    trials = spent(search, 14)
    at = {(one.proposal.row, one.proposal.rung): one.score for one in trials}
    for rung, found in enumerate(review_spending(search, trials).rungs[:-1]):
        both = [
            row
            for row, last in at
            if last == 2 and at[row, 2] is not None and at.get((row, rung)) is not None
        ]
        alike = [
            (at[a, rung] < at[b, rung]) == (at[a, 2] < at[b, 2]) for a, b in combinations(both, 2)
        ]
        assert (found.pair_count, found.same_order_count) == (len(alike), sum(alike)) and alike
    steady = spent(search, 14, lambda proposal: Outcome("completed", score=float(proposal.row)))
    assert all(
        one.same_order_count == one.pair_count > 0
        for one in review_spending(search, steady).rungs[:-1]
    )


def test_a_search_that_trains_all_to_the_end_spends_nothing_of_its_own():
    assert review_spending(Search(SPACE, "random", 0, 1, 0, 4, SECONDS, SECONDS > 0), []) is None


@pytest.mark.parametrize("kind", ["hyperband", "asha", "asha-or-full"])
def test_the_explanation_counts_what_was_asked_in_full_trainings_and_time_in_own_epochs(kind):
    """Trainings took half as long again as predicted; of twelve asked for, the first ten are done."""
    search = search_of(kind, workers=2)
    trials = spent(search, 10)
    found = explain(search, trials, requested_trials=12)
    assert (found.full_trainings_done, found.finished_count, found.begun_count) == (
        10,
        len(trials),
        len(latest_trials(trials)),
    )
    assert (
        found.pace_quartiles == (1.5, 1.5, 1.5)
        and found.seconds_accuracy.corrected_share.count
        >= found.seconds_accuracy.corrected_share.total - 2
    )
    left = 12 * 9 - found.spending.epochs_spent
    an_epoch = (
        sum(SECONDS[one.proposal.row] * own_epochs(one.proposal, 9) / 9 for one in trials)
        / found.spending.epochs_spent
    )
    assert found.seconds_accuracy.seconds_left == pytest.approx(1.5 * an_epoch * left / 2, rel=0.02)
    assert (
        not found.is_beyond_request
        and explain(search, trials, requested_trials=9).is_beyond_request
    )
    assert (
        explain(
            search, trials, requested_trials=12, ends_after=len(trials)
        ).seconds_accuracy.seconds_left
        == 0.0
    )


def test_a_forecast_of_the_end_is_held_against_scores_at_the_end_only():
    search = search_of("asha", method="gp-ei", modelling=Modelling(fidelity="axis"))
    trials = spent(search, 10)
    at_end = {one.proposal.row: one.score for one in trials if one.proposal.rung == 2}
    made = {one.proposal.slot: one.proposal for one in trials if one.proposal.forecast}
    found = explain(search, trials, requested_trials=10).forecasts
    assert {one.slot: one.score for one in found.predictions} == {
        slot: at_end.get(one.row) for slot, one in made.items()
    }
    assert any(one.score is not None for one in found.predictions) and any(
        one.score is None for one in found.predictions
    )
    assert all(
        isinstance(one.forecast, Forecast)
        and one.is_inside is (None if one.score is None else one.forecast.holds(one.score))
        for one in found.predictions
    )


def test_where_all_that_scored_diverged_later_there_is_an_explanation_without_a_model():
    trials = spent(
        search_of(),
        3,
        lambda one: loss(one) if one.rung == 0 and one.slot % 9 != 4 else Outcome("diverged"),
    )
    rows = {one.proposal.row for one in trials if one.score is None}
    kept = [one for one in trials if one.proposal.row in rows]
    again = [
        Trial(
            Proposal(
                slot,
                one.proposal.row,
                one.proposal.configuration,
                0,
                (),
                (),
                1.0,
                None,
                one.proposal.epochs,
                None,
                0,
                0,
                one.proposal.rung,
            ),
            one.outcome,
        )
        for slot, one in enumerate(kept)
    ]
    found = explain(search_of(), again, requested_trials=3)
    assert found.importance is None and found.best_slot is None and found.scored_count > 0
