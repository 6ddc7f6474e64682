"""The analysis of a search: convergence, accuracy of the forecasts, effects of the
hyper-parameters, failures and their reasons.

    M  rows of the space        d  axes        n  trials with a score        S  processes, one per theta

Everything here depends on the search and its trials alone, and can be written as JSON: None stands
for a missing number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.machine.threads import one_thread
from fovnet.maths.intervals import wilson_interval
from fovnet.search.explain.corrected_seconds import correct_predictions, pace_of, seconds_of
from fovnet.search.explain.descent import Descent, descent
from fovnet.search.explain.importance import Matter, what_matters
from fovnet.search.explain.spent import Spending, virtual_ends, what_was_spent
from fovnet.search.explain.taught import Taught, taught
from fovnet.search.search import Search
from fovnet.search.space import Level
from fovnet.search.spend.schedule import own_epochs
from fovnet.search.trial import Forecast, Status, Trial, configuration_is_to_blame, latest

NEAR_SHARE = 0.25
"""Largest deviation of predicted from measured seconds that counts as accurate, as a share of the
measured ones."""

FEWEST_SCORES = 2
"""Scores needed for a model: from a single one it learns no effect."""


@dataclass(frozen=True)
class Step:
    """One finished trial in the course of the search.

    best               the lowest score of all slots up to this one, None before the first score
    seconds_spent      sum over all trainings up to this slot, as measured;  predicted_seconds_spent  as
        predicted
    virtual_end        virtual time in seconds at which the slot ends, with all workers busy; None
                       after a missing slot
    expected_regret    from the slot's forecast
    """

    slot: int
    status: Status
    score: float | None
    best: float | None
    seconds_spent: float
    predicted_seconds_spent: float
    virtual_end: float | None
    expected_regret: float | None


@dataclass(frozen=True)
class Prediction:
    """The forecast of a slot before its training, the score at its end, and whether that is inside
    the band.

    score   None if it failed, or was stopped before its last epoch: that of fewer epochs was not
            forecast
    """

    slot: int
    forecast: Forecast
    score: float | None
    inside: bool | None


@dataclass(frozen=True)
class Share:
    """`count` of `total`, with Wilson's 95 % interval, which assumes independence."""

    count: int
    total: int
    low: float
    high: float

    @classmethod
    def of(cls, flags: Sequence[bool]) -> Share:
        """The share of flags that are True."""
        low, high = wilson_interval(sum(flags), len(flags))
        return cls(sum(flags), len(flags), low, high)


@dataclass(frozen=True)
class Forecasts:
    """The accuracy of the forecasts.

    inside     share of scores inside their 95 % band; `below` and `above` it: the numbers of the
               others.  A band reaches at most to the worst score seen so far, so that a new worst
               lies above it; if the model uses only ranks, at most to the best one, too
    trained    share of trials with a forecast that have a score, machine failures excluded
    expected   the expected number of these, the sum of their chances to train
    """

    inside: Share
    below: int
    above: int
    trained: Share
    expected: float
    slots: tuple[Prediction, ...]


@dataclass(frozen=True)
class Failure:
    """A trial without a score; `chance_to_train` from its forecast, None without one; `retries`:
    the number of failed earlier attempts."""

    slot: int
    status: Status
    message: str
    configuration: dict[str, Level]
    chance_to_train: float | None
    retries: int


@dataclass(frozen=True)
class FailureGroup:
    """All failures of one status, with the first message as example; `mean_chance_to_train` of
    those with a forecast, None without any."""

    status: Status
    count: int
    because_of_configuration: bool
    mean_chance_to_train: float | None
    example: str


@dataclass(frozen=True)
class Seconds:
    """The accuracy of predicted training times; the search's virtual clock uses the original
    predictions only.

    predicted  share of trainings whose prediction was within 25 % of the measured time
    refined    the same for predictions corrected by the trials before each
    left       seconds until the requested trials are done, from the mean corrected prediction of
               the finished trials; 0 when they are done
    """

    predicted: Share
    refined: Share
    left: float


@dataclass(frozen=True)
class Explanation:
    """The analysis of a search; `matter` is None if fewer than two trials have a score.

    asked   number of trials requested, full trainings          notes     sentences noted by the search itself
    ends_after  number of slots after which the search ended early; None if it did not
    finished, scored  numbers of slots
    spending  what was spent on what; None if every training went to its end
    descent   the course of a direct search; None for another method;  taught  by earlier searches, None if it
        was not
    pace    quartiles (25 %, median, 75 %) of measured over predicted seconds, of the completed
            trials
    seconds accuracy of predicted training times, None before the first completed training
    """

    method: str
    seed: int
    workers: int
    initial: int
    rows: int
    feasible: int
    asked: int
    finished: int
    scored: int
    notes: tuple[str, ...]
    pace: tuple[float, float, float] | None
    best_slot: int | None
    best_configuration: dict[str, Level] | None
    steps: tuple[Step, ...]
    forecasts: Forecasts
    matter: Matter | None
    failure_groups: tuple[FailureGroup, ...]
    failures: tuple[Failure, ...]
    seconds: Seconds | None = None
    ends_after: int | None = None
    spending: Spending | None = None
    descent: Descent | None = None
    taught: Taught | None = None

    @property
    def done(self) -> int:
        """The number of full trainings that the finished slots stand for."""
        spending = self.spending
        return self.finished if spending is None else spending.epochs // spending.rungs[-1].epochs

    @property
    def begun(self) -> int:
        """The number of configurations of the finished slots."""
        return self.finished if self.spending is None else self.spending.begun

    @property
    def ended(self) -> bool:
        """Whether the search ended early."""
        return self.ends_after is not None and self.finished >= self.ends_after

    @property
    def more_than_asked(self) -> bool:
        """Whether it had run further before, when more was requested."""
        return self.done > self.asked or (
            self.ends_after is not None and self.finished > self.ends_after
        )

    @property
    def missing(self) -> int:
        """The number of unfinished slots before the last finished one."""
        return self.steps[-1].slot + 1 - len(self.steps) if self.steps else 0


def explain(
    search: Search,
    trials: Sequence[Trial],
    *,
    asked: int,
    ends_after: int | None = None,
    notes: Sequence[str] = (),
) -> Explanation:
    """The analysis of a search from its finished trials, in the order of their slots; the search
    may still be running."""
    scored_trials = [trial for trial in trials if trial.score is not None]
    final_trials = [trial for trial in latest(trials) if trial.score is not None]
    best_trial = min(
        final_trials, key=lambda trial: (trial.score, trial.proposal.slot), default=None
    )
    with one_thread():
        importance = what_matters(search, trials) if len(final_trials) >= FEWEST_SCORES else None
        taught_by_prior = taught(search, trials)
    failures = tuple(_failure_of_trial(trial) for trial in trials if trial.score is None)
    return Explanation(
        method=search.method,
        seed=search.seed,
        workers=search.workers,
        initial=search.first_slots,
        rows=len(search.space),
        feasible=int(search.feasible.sum()),
        asked=asked,
        finished=len(trials),
        scored=len(scored_trials),
        notes=tuple(notes),
        pace=_pace_quartiles(scored_trials),
        best_slot=None if best_trial is None else best_trial.proposal.slot,
        best_configuration=None if best_trial is None else dict(best_trial.proposal.configuration),
        steps=_steps_of_trials(search, trials),
        forecasts=_forecasts(search, trials),
        matter=importance,
        failure_groups=_failure_groups(failures),
        failures=failures,
        seconds=_seconds(search, trials, _epochs_left(search, trials, asked, ends_after)),
        ends_after=ends_after,
        spending=what_was_spent(search, trials),
        descent=descent(search, trials),
        taught=taught_by_prior,
    )


def _epochs_left(
    search: Search, trials: Sequence[Trial], asked: int, ends_after: int | None
) -> int:
    """The epochs that a search still spends; of one without a schedule, its trials to come."""
    schedule = search.schedule
    if ends_after is not None and schedule.kind == "full":
        asked = min(asked, ends_after)
    elif ends_after is not None and len(trials) >= ends_after:
        return 0
    return max(0, asked * schedule.epochs - schedule.spent(trial.proposal for trial in trials))


def _steps_of_trials(search: Search, trials: Sequence[Trial]) -> tuple[Step, ...]:
    """One step per trial; `virtual_end` is None from the first missing slot on."""
    end_by_slot = virtual_ends(search, trials)
    steps: list[Step] = []
    lowest_score: float | None = None
    measured_seconds = 0.0
    predicted_seconds = 0.0
    for trial in trials:
        if trial.score is not None and (lowest_score is None or trial.score < lowest_score):
            lowest_score = trial.score
        measured_seconds += trial.outcome.seconds
        predicted_seconds += trial.proposal.predicted_seconds
        slot = trial.proposal.slot
        forecast = trial.proposal.forecast
        steps.append(
            Step(
                slot,
                trial.outcome.status,
                trial.score,
                best=lowest_score,
                seconds_spent=measured_seconds,
                predicted_seconds_spent=predicted_seconds,
                virtual_end=end_by_slot.get(slot),
                expected_regret=None if forecast is None else forecast.expected_regret,
            )
        )
    return tuple(steps)


def _forecasts(search: Search, trials: Sequence[Trial]) -> Forecasts:
    """The forecasts of all slots beside the scores that their rows ended with."""
    final_score_by_row = {
        trial.proposal.row: trial.score
        for trial in trials
        if trial.proposal.rung == search.schedule.last
    }
    predictions = []
    for trial in trials:
        if (forecast := trial.proposal.forecast) is not None:
            score = final_score_by_row.get(trial.proposal.row)
            is_inside = None if score is None else forecast.holds(score)
            predictions.append(Prediction(trial.proposal.slot, forecast, score, is_inside))
    chances_with_results = [
        (forecast.chance_to_train, trial.score is not None)
        for trial in trials
        if (forecast := trial.proposal.forecast) is not None and trial.outcome.status != "error"
    ]
    scored_forecasts = [
        (prediction.score, prediction.forecast)
        for prediction in predictions
        if prediction.score is not None
    ]
    return Forecasts(
        inside=Share.of(
            [prediction.inside for prediction in predictions if prediction.inside is not None]
        ),
        below=sum(
            forecast.low is not None and score < forecast.low
            for score, forecast in scored_forecasts
        ),
        above=sum(
            forecast.high is not None and score > forecast.high
            for score, forecast in scored_forecasts
        ),
        trained=Share.of([has_trained for _, has_trained in chances_with_results]),
        expected=float(sum(chance_to_train for chance_to_train, _ in chances_with_results)),
        slots=tuple(predictions),
    )


def _pace_quartiles(scored_trials: Sequence[Trial]) -> tuple[float, float, float] | None:
    """The quartiles of measured over predicted seconds; None if no trial has both."""
    paces = [pace for trial in scored_trials if (pace := pace_of(trial)) is not None]
    if not paces:
        return None
    lower_quartile, median, upper_quartile = (
        float(f"{quartile:.4g}") for quartile in np.quantile(paces, (0.25, 0.5, 0.75))
    )
    return lower_quartile, median, upper_quartile


def _seconds(search: Search, trials: Sequence[Trial], epochs_left: int) -> Seconds | None:
    """How near predictions were to the measured seconds, and the seconds still to come; None if no
    training was timed."""
    unit_cube = search.space.unit_cube
    timed_trials = [trial for trial in trials if seconds_of(trial) is not None]
    if not timed_trials:
        return None
    corrected_before_trial = [
        correct_predictions(search.predicted_seconds, unit_cube, timed_trials[:earlier_count])
        for earlier_count in range(len(timed_trials))
    ]
    corrected_seconds = correct_predictions(search.predicted_seconds, unit_cube, timed_trials)
    epochs_by_slot = {
        trial.proposal.slot: own_epochs(trial.proposal, search.schedule.epochs) for trial in trials
    }

    def seconds_of_slot(seconds: NDArray[np.float64], trial: Trial) -> float:
        return (
            float(seconds[trial.proposal.row])
            * epochs_by_slot[trial.proposal.slot]
            / search.schedule.epochs
        )

    seconds_per_epoch = sum(seconds_of_slot(corrected_seconds, trial) for trial in trials) / sum(
        epochs_by_slot.values()
    )
    return Seconds(
        Share.of([_is_near(trial, trial.proposal.predicted_seconds) for trial in timed_trials]),
        Share.of(
            [
                _is_near(trial, seconds_of_slot(seconds, trial))
                for trial, seconds in zip(timed_trials, corrected_before_trial, strict=True)
            ]
        ),
        float(f"{seconds_per_epoch * epochs_left / search.workers:.4g}"),
    )


def _is_near(trial: Trial, seconds: float) -> bool:
    return abs(seconds / trial.outcome.seconds - 1) <= NEAR_SHARE


def _failure_of_trial(trial: Trial) -> Failure:
    """The failure of a trial without a score."""
    proposal = trial.proposal
    outcome = trial.outcome
    chance_to_train = None if proposal.forecast is None else proposal.forecast.chance_to_train
    return Failure(
        proposal.slot,
        outcome.status,
        outcome.message,
        dict(proposal.configuration),
        chance_to_train,
        len(trial.retries),
    )


def _failure_groups(failures: Sequence[Failure]) -> tuple[FailureGroup, ...]:
    """The failures by status, the most frequent first."""
    failure_groups = []
    for status, failure_count in Counter(failure.status for failure in failures).most_common():
        failures_of_status = [failure for failure in failures if failure.status == status]
        chances_to_train = [
            failure.chance_to_train
            for failure in failures_of_status
            if failure.chance_to_train is not None
        ]
        mean_chance = sum(chances_to_train) / len(chances_to_train) if chances_to_train else None
        example_message = next(
            (failure.message for failure in failures_of_status if failure.message), ""
        )
        failure_groups.append(
            FailureGroup(
                status,
                failure_count,
                configuration_is_to_blame(status),
                mean_chance,
                example_message,
            )
        )
    return tuple(failure_groups)
