"""What a search says of the earlier ones that taught it: facts against the search's own record, and the words
for them."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from fovnet.report.content.search_explanation.lessons import lessons_text
from fovnet.report.content.search_explanation.view import paragraphs, view_of_explanation
from fovnet.report.pages.pour import pour
from fovnet.search.explain.explanation import explain
from fovnet.search.explain.prior_review import review_prior
from fovnet.search.learn.training import Lessons, learn
from fovnet.search.look.view import Ranking
from fovnet.search.prior import EarlierSearch
from fovnet.search.space import Space
from fovnet.search.spend.schedule import Schedule
from fovnet.search.trial import Outcome
from tests.search.test_methods import path, search_of

SPACE = Space.of({"a": range(9), "b": range(7)})
SIZE = len(SPACE)
X = SPACE.unit_cube
LOSSES = ((X - (0.7, 0.2)) ** 2).sum(axis=1) + 0.01 * np.random.default_rng(9).normal(size=SIZE)


def prior_of(losses, name="results/first"):
    order = np.argsort(losses, kind="stable")
    source = EarlierSearch(name, "0" * 64, SIZE, SPACE.rows[order], losses[order])
    return learn([source], SPACE.axes, Lessons(steps=300, members=4, hidden=(16,), rate=0.01), 1)


def run(losses, slots=14, **changes):
    """A search of LOSSES that was taught by a search of these, every ninth row failing, and its trials."""
    search = replace(search_of(SPACE, "ranking", seed=1), prior=prior_of(losses), **changes)

    def outcome(one):
        return (
            Outcome("diverged")
            if one.row % 9 == 8
            else Outcome("completed", score=float(LOSSES[one.row]), seconds=1.0)
        )

    return search, path(search, outcome, slots)


@pytest.fixture(scope="module")
def good():
    return run(((X - (0.7, 0.25)) ** 2).sum(axis=1))


@pytest.fixture(scope="module")
def reversed_order():
    return run(-LOSSES)


def places(search):
    """The place (SIZE,) of each row by the mean over the members, worked out from the prior alone."""
    scores = search.prior.ranker.scores(X, np.zeros((0, X.shape[1] + 1)))
    mean = np.mean([[1 + (row > one).sum() for one in row] for row in scores], axis=0)
    return np.argsort(np.argsort(mean, kind="stable")) + 1, mean


def test_places_and_order_are_those_of_the_prior_alone(good):
    search, trials = good
    told, (place, mean) = review_prior(search, trials), places(search)
    scores = {one.proposal.row: one.score for one in trials if one.score is not None}
    assert told.sources == (("results/first", SIZE),) and told.feasible_count == SIZE
    assert told.place_of_best == place[min(scores, key=scores.get)]
    assert [SPACE.row_of(one.configuration) for one in told.first_configurations] == np.argsort(
        place
    )[:5].tolist()
    assert [one.score for one in told.first_configurations] == [
        scores.get(row) for row in np.argsort(place)[:5].tolist()
    ]
    pairs = [
        np.sign((mean[i] - mean[j]) * (scores[i] - scores[j])) for i, j in combinations(scores, 2)
    ]
    assert told.kendall_tau == pytest.approx(np.mean(pairs), abs=0.01)


def test_verdicts_worked_out_again_are_those_that_the_search_went_by(good, reversed_order):
    """Also of a search that compares trainings before their end, whose promotions nobody chose."""
    for search, trials in (good, reversed_order, run(-LOSSES, 20, schedule=Schedule("asha", 9))):
        steps = {one.proposal.slot: one.proposal.step for one in trials}
        verdicts = review_prior(search, trials).verdicts
        assert verdicts and all(
            (one.prior_wrong_pairs > one.process_wrong_pairs)
            == one.process_chose
            == (steps[one.slot] == "gp-ei")
            for one in verdicts
        )
        assert {slot for slot, step in steps.items() if step == "gp-ei"} == {
            one.slot for one in verdicts if one.process_chose
        }


def test_it_is_said_who_was_right_and_who_chose(good, reversed_order):
    search, trials = good
    words = lessons_text(review_prior(search, trials))
    assert (
        f"learned from 1 earlier search: results/first ({SIZE} configurations with a score)"
        in words
    )
    assert (
        f"The best configuration found is at place {review_prior(search, trials).place_of_best} of {SIZE} in it"
        in words
    )
    told = lessons_text(review_prior(*reversed_order))
    slots = [one.proposal.slot for one in reversed_order[1] if one.proposal.step == "gp-ei"]
    assert (
        f"{len(slots)} slots ({slots[0]}–{slots[-1]}) the process did, and was used instead" in told
    )


def test_a_guard_that_is_off_is_said_to_be():
    search, trials = run(-LOSSES, 9, ranking=Ranking(guard=False))
    assert {one.proposal.step for one in trials} == {""}
    assert "was not used: search.ranking.guard is off" in lessons_text(review_prior(search, trials))


def test_before_four_scores_are_known_nothing_is_judged(good):
    search, trials = good
    assert "No slot had four different scores" in lessons_text(review_prior(search, trials[:3]))
    none = review_prior(search, [])
    assert none.place_of_best is None and none.kendall_tau is None and none.verdicts == ()
    assert review_prior(replace(search, prior=None), trials) is None


def test_a_taught_search_has_its_own_paragraph_and_table_and_another_has_none(good, make_page):
    search, trials = good
    explanation = explain(search, trials, requested_trials=14)
    assert lessons_text(explanation.prior_review) == paragraphs(explanation)[1]
    assert [row[0] for row in view_of_explanation(explanation).taught_order.rows] == [
        "1",
        "2",
        "3",
        "4",
        "5",
    ]
    assert "What earlier searches taught</h3>" in pour(make_page(explanation=explanation))
    assert "What earlier searches taught" not in pour(
        make_page(explanation=replace(explanation, prior_review=None))
    )
