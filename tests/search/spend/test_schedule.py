"""Rungs and brackets in whole numbers, against the source's table."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers

from fovnet.errors import SearchError
from fovnet.search.spend.schedule import Schedule, own_epochs
from fovnet.search.trial import Proposal

OF_81 = {
    4: [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)],
    3: [(34, 3), (11, 9), (3, 27), (1, 81)],
    2: [(15, 9), (5, 27), (1, 81)],
    1: [(8, 27), (2, 81)],
    0: [(5, 81)],
}
"""How many trainings of how many epochs the brackets of R = 81, η = 3 have, by the rungs that they climb."""


@pytest.mark.parametrize(
    ("epochs", "eta", "least", "rungs"),
    [
        (27, 3, 1, (1, 3, 9, 27)),
        (30, 3, 1, (1, 3, 10, 30)),
        (50, 3, 1, (2, 6, 17, 50)),
        (81, 3, 1, (1, 3, 9, 27, 81)),
        (7, 3, 1, (2, 7)),
        (1, 3, 1, (1,)),
        (27, 3, 3, (3, 9, 27)),
        (27, 3, 27, (27,)),
    ],
)
def test_the_rungs_are_r_divided_by_powers_of_eta_rounded_half_up(epochs, eta, least, rungs):
    assert Schedule("hyperband", epochs, eta, least).rungs == rungs


@given(epochs=integers(1, 2000), eta=integers(2, 9), share=integers(1, 2000))
def test_rungs_rise_from_the_least_epochs_to_all(epochs, eta, share):
    schedule = Schedule("asha", epochs, eta, least := 1 + share % epochs)
    assert least <= schedule.rungs[0] < least * eta + 1 and schedule.rungs[-1] == epochs
    assert all(
        lower < higher for lower, higher in zip(schedule.rungs, schedule.rungs[1:], strict=False)
    )
    assert all(
        abs(epochs / eta ** (schedule.last_rung - k) - r) <= 0.5
        for k, r in enumerate(schedule.rungs)
    )


@pytest.mark.parametrize(
    ("minutes_an_epoch", "epochs"),
    [(1, [1, 3, 9, 27]), (0.1, [10, 28, 29, 30]), (10, [1, 2, 3, 4])],
)
def test_rungs_of_minutes_are_as_many_epochs_as_fit_and_one_more_at_each(minutes_an_epoch, epochs):
    """R = 27 minutes as in Bertrand's thesis; what is quick ends at the 30 epochs of a training."""
    schedule = Schedule("hyperband", 30, minutes=27.0)
    assert [schedule.minutes_at(rung) for rung in range(4)] == [1, 3, 9, 27]
    assert [schedule.epochs_at(rung, 1800.0 * minutes_an_epoch) for rung in range(4)] == epochs


@given(
    epochs=integers(1, 2000),
    eta=integers(2, 9),
    minutes=floats(0.001, 1e5),
    full_seconds=floats(0.001, 1e7),
)
def test_rungs_of_minutes_rise_and_end_with_the_training(epochs, eta, minutes, full_seconds):
    schedule = Schedule("asha", epochs, eta, minutes=minutes)
    rungs = [schedule.epochs_at(rung, full_seconds) for rung in range(schedule.last_rung + 1)]
    assert rungs[0] >= 1 and rungs[-1] <= epochs
    assert all(lower < higher for lower, higher in pairwise(rungs))
    assert schedule.epochs_at(schedule.last_rung, 60.0 * minutes) == epochs


def test_the_brackets_of_81_epochs_are_those_of_algorithm_1_again_and_again():
    schedule = Schedule("hyperband", 81, 3)
    for bracket in range(12):
        climbs = schedule.climbed_rungs(bracket)
        sizes = [schedule.starting_count(bracket) // 3**step for step in range(climbs + 1)]
        assert climbs == 4 - bracket % 5
        assert list(zip(sizes, schedule.rungs[4 - climbs :], strict=True)) == OF_81[climbs]


def test_a_budget_of_trials_is_one_of_epochs_to_which_a_continuation_adds_its_own_only():
    first = Proposal(0, 0, {}, 0, (), (), 1.0, epochs=3)
    then = Proposal(1, 0, {}, 0, (0,), (), 1.0, epochs=9, continued_slot=0, begun_epochs=3, rung=1)
    assert [own_epochs(one, 9) for one in (first, then, Proposal(2, 1, {}, 0, (), (), 1.0))] == [
        3,
        6,
        9,
    ]
    schedule = Schedule("asha", 9)
    assert schedule.is_within_budget([first], 1)
    assert not schedule.is_within_budget([first, then], 1) and schedule.is_within_budget(
        [first, then], 2
    )
    assert [schedule.full_trainings_of([first, then][:slots]) for slots in range(3)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eta": 1}, "eta 1: give 2"),
        ({"least": 0}, "least_epochs 0: give 1 to 9"),
        ({"least": 10}, "least_epochs 10: give"),
    ],
)
def test_settings_of_which_no_rungs_can_be_made_are_refused(change, message):
    with pytest.raises(SearchError, match=rf"{message}.*search-schedule"):
        Schedule("asha", **{"epochs": 9, **change})
