"""Predictions corrected by finished trials: laws, and a known distortion found again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from fovnet.search.explain.corrected_seconds import correct_predictions
from fovnet.search.trial import Outcome, Proposal, Trial

RNG = np.random.default_rng(0)
FEATURES = RNG.integers(0, 5, (400, 3)) / 4
PREDICTED = RNG.lognormal(3.0, 1.0, 400)


def trial(row: int, seconds: float, status: str = "completed", peak: int | None = None) -> Trial:
    proposal = Proposal(row, row, {}, 0, (), (), float(PREDICTED[row]))
    return Trial(proposal, Outcome(status, (1.0,), (1.0,), 1.0, seconds, peak))  # type: ignore[arg-type]


def trials(rows: Sequence[int], truth: np.ndarray) -> list[Trial]:
    return [trial(row, float(truth[row])) for row in rows]


def test_without_finished_trials_predictions_are_as_given() -> None:
    np.testing.assert_array_equal(correct_predictions(PREDICTED, FEATURES, []), PREDICTED)
    np.testing.assert_array_equal(
        correct_predictions(PREDICTED, FEATURES, [trial(3, 50.0, "timeout"), trial(4, 0.0)]),
        PREDICTED,
    )


def test_trials_that_took_what_was_predicted_change_nothing() -> None:
    np.testing.assert_allclose(
        correct_predictions(PREDICTED, FEATURES, trials(range(30), PREDICTED)), PREDICTED, rtol=1e-9
    )


@given(st.floats(0.3, 3.0), st.integers(1, 60))
def test_a_device_that_is_so_much_slower_in_everything_is_found(factor: float, count: int) -> None:
    """One trial is nearly enough: the prior allows a factor of e, the noise is a tenth."""
    found = (
        correct_predictions(PREDICTED, FEATURES, trials(range(count), factor * PREDICTED))
        / PREDICTED
    )
    assert np.median(found) == approx(factor, rel=0.05)


def test_what_some_networks_take_more_of_is_found() -> None:
    truth = PREDICTED * np.exp(0.4 + 0.6 * (FEATURES[:, 1] - 0.5))
    error = [
        abs(
            np.log(correct_predictions(PREDICTED, FEATURES, trials(range(n), truth)) / truth)
        ).mean()
        for n in (0, 3, 10, 60)
    ]
    assert error == sorted(error, reverse=True) and error[-1] < 0.03


def test_one_trial_on_a_busy_machine_does_not_speak_for_the_rest() -> None:
    measured = [*trials(range(20), PREDICTED), trial(33, 20 * float(PREDICTED[33]))]
    assert abs(np.log(correct_predictions(PREDICTED, FEATURES, measured) / PREDICTED)).max() < 0.1


def test_the_order_of_the_trials_makes_no_difference() -> None:
    truth = PREDICTED * RNG.lognormal(0.2, 0.1, 400)
    there, back = (
        correct_predictions(PREDICTED, FEATURES, trials(order, truth))
        for order in (range(25), range(24, -1, -1))
    )
    np.testing.assert_allclose(there, back, rtol=1e-9)
