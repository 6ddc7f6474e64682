"""gp-ei: which model chooses a row, and what a failure is to each."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from fovnet.maths import gp
from fovnet.maths.acquisition import log_expected_improvement
from fovnet.maths.warping import limit_worse_half
from fovnet.search.look.hyperparameters import fitted_count
from fovnet.search.look.improvement import (
    ALTERNATING_REFIT_SHARE,
    BOLD_STRETCH,
    choose_by_expected_improvement,
    score_failures,
)
from fovnet.search.look.view import Modelling, View
from fovnet.search.space import Space
from fovnet.search.trial import Outcome, Proposal, Trial

SPACE = Space.of({"a": range(12), "b": range(8), "c": ["x", "y", "z"]})
SINGLE = Modelling(models="single")


def view_of(trial_count: int, seed: int = 0, **changes: object) -> View:
    """The view after so many trials in random rows, of which one in five diverged."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(SPACE))[:trial_count].tolist()
    trials = []
    for slot, row in enumerate(rows):
        outcome = Outcome("diverged")
        if row % 5:
            loss = float(((SPACE.unit_cube[row] - 0.4) ** 2).sum() + 0.05 * rng.standard_normal())
            outcome = Outcome("completed", score=loss)
        proposal = Proposal(slot, row, SPACE.configuration(row), 0, tuple(range(slot)), (), 1.0)
        trials.append(Trial(proposal, outcome))
    view = View(
        SPACE,
        tuple(trials),
        (),
        ~np.isin(np.arange(len(SPACE)), rows),
        slot=trial_count,
        seed=0,
        initial_count=4,
        predicted_seconds=np.ones(len(SPACE)),
    )
    return replace(view, **changes)


@given(trial_count=integers(3, 12), seed=integers(0, 20))
@settings(max_examples=10, deadline=None)
def test_every_second_row_is_that_of_a_single_model(trial_count: int, seed: int) -> None:
    view = view_of(2 * trial_count, seed)
    assert choose_by_expected_improvement(view) == choose_by_expected_improvement(
        replace(view, modelling=SINGLE)
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_others_are_the_best_by_the_textbook_under_the_bolder_model(seed: int) -> None:
    view = view_of(31, seed)
    tried_rows, has_trained = view.training_outcomes
    scores = np.array(
        [np.inf if trial.score is None else trial.score for trial in view.latest_trials]
    )
    assert not has_trained.all()
    scores[~has_trained] = scores[has_trained].max()
    values = limit_worse_half(scores).values
    tried_points = SPACE.unit_cube[tried_rows]
    theta = gp.fit_theta(tried_points, values, SPACE.scales)
    theta[: SPACE.scales.axis_count] += np.log(BOLD_STRETCH)
    mean, variance = gp.posterior(SPACE.unit_cube, tried_points, values, theta, SPACE.scales)
    improvement = log_expected_improvement(mean, variance, values.min())
    chosen_row = choose_by_expected_improvement(view).row
    assert improvement[chosen_row] == pytest.approx(improvement[view.is_free].max(), abs=1e-3)


def test_a_bold_forecast_says_how_likely_a_row_trains_and_tells_no_regret() -> None:
    """A search would end by the regret of a model whose longer lengthscales make it smaller."""
    forecast = choose_by_expected_improvement(view_of(31)).forecast
    assert forecast is not None
    assert forecast.expected_regret is None and 0.0 < forecast.chance_to_train < 1.0


def test_failures_count_as_the_worst_score_and_a_killed_machine_as_nothing() -> None:
    view = view_of(30)
    killed = replace(view.trials[0], outcome=Outcome("error"))
    view = replace(view, trials=(killed, *view.trials[1:]))
    worst_score = view.scored_losses.losses.max()
    for before, after in zip(view.trials, score_failures(view).trials, strict=True):
        if before.outcome.status == "diverged":
            assert after.score == worst_score
        else:
            assert after == before


def test_a_lack_of_memory_that_estimates_explain_is_no_bad_score() -> None:
    view = view_of(12, memory=np.ones(len(SPACE)))
    refused = [replace(trial, outcome=Outcome("out_of_memory")) for trial in view.trials[:3]]
    view = replace(view, trials=(*refused, *view.trials[3:]))
    assert score_failures(view).trials[:3] == view.trials[:3]


def test_without_a_score_there_is_no_worst_one() -> None:
    view = view_of(6)
    failures = tuple(replace(trial, outcome=Outcome("timeout")) for trial in view.trials)
    view = replace(view, trials=failures, slot=7)
    assert score_failures(view) is view
    assert view.is_free[choose_by_expected_improvement(view).row]


def test_each_of_two_models_is_fitted_half_as_often_as_a_single_one() -> None:
    """So that a proposal of a long search costs no more."""
    counts = np.arange(51, 601)
    single_fits = len({fitted_count(count) for count in counts})
    fits_of_one = len({fitted_count(count, ALTERNATING_REFIT_SHARE) for count in counts})
    assert 2 * fits_of_one == pytest.approx(single_fits, abs=2)
