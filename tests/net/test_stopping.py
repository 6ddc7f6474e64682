"""When a training ends, from its losses alone."""

from __future__ import annotations

import math

import pytest

from fovnet.net.stopping import End, Ends, GuessingLosses, Plateau, is_above_guessing
from fovnet.search.spend.envelope import Envelope
from fovnet.search.trial import Outcome, Proposal, Trial

GUESS = GuessingLosses(training_loss=1.0, validation_loss=2.0)


def end(
    ends: Ends,
    training: list[float],
    validation: list[float] | None = None,
    *,
    epochs: int = 10,
    seconds: float = 0.0,
) -> End | None:
    return ends.find_end(
        training,
        training if validation is None else validation,
        epochs=epochs,
        seconds=seconds,
        guess=GUESS,
    )


@pytest.mark.parametrize("lost", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_a_loss_that_is_no_number_is_a_divergence_even_in_the_last_epoch(
    lost: float, which: int
) -> None:
    losses = [[0.5, 0.5], [0.5, 0.5]]
    losses[which][-1] = lost
    ending = end(Ends(), *losses, epochs=2)
    assert ending is not None and ending.status == "diverged" and "after epoch 2" in ending.message


@pytest.mark.parametrize(
    ("training", "validation", "diverged"),
    [
        ([9, 9, 9], [9, 9, 9], True),
        ([0.1, 9, 9, 9], [0.1, 9, 9, 9], True),  # it had been better: it still has been lost
        ([9, 9], [9, 9], False),  # not for so long
        ([9, 0.5, 9, 9], [9, 9, 9, 9], False),  # not in a row
        ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], False),  # learnt nothing
        ([1.1, 1.2, 1.2], [2.2, 2.4, 2.4], False),  # learnt nothing, noisily
        ([0.1, 0.1, 0.1], [9, 9, 9], False),  # learnt by heart
        ([9, 9, 9], [1.5, 1.5, 1.5], False),  # the averaged weights are good
    ],
)
def test_what_is_above_guessing(
    training: list[float], validation: list[float], diverged: bool
) -> None:
    ending = end(Ends(guessing_epochs=3), training, validation)
    assert (ending is not None and ending.status == "diverged") is diverged
    assert not is_above_guessing(training, validation, GUESS, None)


def test_a_plateau_counts_epochs_without_a_new_lowest() -> None:
    plateau = Plateau(patience=2, reductions=1)
    # the 4th and 7th epoch make two without a lower one
    curve = [1.0, 0.9, 0.95, 0.9, 0.8, 0.8, 0.8, 0.8]
    assert [plateau.reductions_due(curve[:done]) for done in range(9)] == [
        0,
        0,
        0,
        0,
        1,
        1,
        1,
        2,
        2,
    ]
    ends = Ends(plateau=plateau)
    assert [ends.rate_factor(curve[:done]) for done in (0, 3, 4)] == [1.0, 1.0, 0.1]
    assert end(ends, curve[:6]) is None
    ending = end(ends, curve[:7])
    assert ending is not None and ending.status == "completed" and "epoch 7 of 10" in ending.message


def test_a_pruned_trial_is_compared_at_milestones_only_and_by_its_best() -> None:
    ends = Ends(envelope={2: 0.5})
    assert end(ends, [0.4, 0.9]) is None
    assert end(ends, [0.9, 0.9, 0.9]) is None
    ending = end(ends, [0.9, 0.6])
    assert (
        ending is not None
        and ending.status == "pruned"
        and "0.6000 after epoch 2" in ending.message
    )
    assert end(ends, [0.9, 0.6], epochs=2) == End("completed")  # nothing is left to be saved


def test_time_is_no_reason_where_all_epochs_are_done() -> None:
    ends = Ends(timeout_seconds=5.0)
    late, done = end(ends, [0.5], seconds=6.0), end(ends, [0.5], epochs=1, seconds=6.0)
    assert late is not None and late.status == "timeout" and done == End("completed")
    assert end(ends, [], seconds=6.0) is None  # no epoch, no score: it gets one


def trial(slot: int, status: str, *losses: float) -> Trial:
    outcome = Outcome(status, losses, losses, min(losses, default=None))  # type: ignore[arg-type]
    return Trial(Proposal(slot, slot, {}, 1, (), (), 1.0), outcome)


def test_the_envelope_is_the_best_completed_trials_curve_so_far_and_a_margin() -> None:
    envelope = Envelope((1, 3, 5), 0.5)
    seen = [
        trial(0, "completed", 2.0, 1.0, 1.2, 0.8),
        trial(1, "pruned", 0.1),
        trial(2, "completed", 0.9, 0.9),
        trial(3, "error"),
    ]
    assert envelope.highest_losses(seen) == {1: 3.0, 3: 1.5, 5: pytest.approx(1.2)}
    assert envelope.highest_losses([trial(0, "diverged", 1.0)]) == envelope.highest_losses([]) == {}
