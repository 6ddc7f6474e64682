"""Rungs and brackets in whole numbers, against the source's table."""

import pytest
from hypothesis import given
from hypothesis.strategies import integers

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
