"""Searches side by side: what each had spent when it had its lowest score."""

import numpy as np
import pytest

from fovnet.drawing.canvas import png
from fovnet.report.figures.side_by_side import course_of, courses_figure
from fovnet.search.search import Search, propose_slot
from fovnet.search.space import Space
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.trial import Outcome, Trial

SPACE = Space.of({"a": range(6), "b": range(6)})


def searched(schedule, slots, outcome_of):
    every = np.ones(len(SPACE))
    search = Search(SPACE, "random", 1, 1, 0, None, every, every > 0, schedule=schedule)
    trials = {}
    for slot in range(slots):
        proposal = propose_slot(search, [trial.proposal for trial in trials.values()], trials)
        trials[slot] = Trial(proposal, outcome_of(proposal))
    return course_of(search, list(trials.values())), list(trials.values())


def loss(proposal):
    return Outcome("completed", score=1.0 + proposal.row + 1.0 / (proposal.epochs or 9))


@pytest.mark.parametrize(
    ("schedule", "name"), [(FULL, "random"), (Schedule("asha", 9), "random+asha")]
)
def test_a_search_is_charged_each_epoch_once_and_its_lowest_score_never_rises(schedule, name):
    one, trials = searched(schedule, 20, loss)
    assert (
        one.contestant == name
        and (np.diff(one.lowest_scores) <= 0).all()
        and (np.diff(one.full_trainings) > 0).all()
    )
    # the last of a row has the most
    trained = {trial.proposal.row: trial.proposal.epochs or 1 for trial in trials}
    assert one.configuration_count == len(trained) and one.full_trainings[-1] == pytest.approx(
        sum(trained.values()) / schedule.epochs
    )
    assert one.lowest_scores[-1] == min(trial.score for trial in trials)


def test_a_failure_costs_and_has_no_score_and_a_search_of_failures_has_no_line():
    one, _ = searched(
        FULL, 4, lambda proposal: loss(proposal) if proposal.slot == 2 else Outcome("diverged")
    )
    assert one.full_trainings.tolist() == [3, 4] and len(set(one.lowest_scores)) == 1
    none, _ = searched(FULL, 3, lambda _: Outcome("diverged"))
    assert len(none.full_trainings) == 0 and png(courses_figure([none]))
    assert len(courses_figure([one, none, one]).axes[0].lines) == 2
