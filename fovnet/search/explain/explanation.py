"""The analysis of a search: convergence, accuracy of the forecasts, effects of the
hyper-parameters, failures and their reasons.

    M  rows of the space        d  axes        n  trials with a score        S  processes, one per theta

Everything here depends on the search and its trials alone, and can be written as JSON: None stands
for a missing number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fovnet.machine.threads import one_thread
from fovnet.maths.intervals import wilson_interval
from fovnet.records import json_key
from fovnet.search.explain.corrected_seconds import correct_predictions, pace_of, seconds_of
from fovnet.search.explain.descent import Descent, trace_descent
from fovnet.search.explain.importance import Importance, measure_importance
from fovnet.search.explain.prior_review import PriorReview, review_prior
from fovnet.search.explain.spent import Spending, review_spending, virtual_ends
from fovnet.search.explain.tree_descent import TreeDescent, trace_tree_descent
from fovnet.search.explain.tree_importance import TreeImportance, measure_tree_importance
from fovnet.search.explain.tree_rows import number_rows_anew, rows_of_search
from fovnet.search.search import AnySearch, Search
from fovnet.search.space import Level
from fovnet.search.spend.schedule import own_epochs
from fovnet.search.tree_search import TreeSearch
from fovnet.search.trial import Forecast, Status, Trial, is_configuration_to_blame, latest_trials

NEAR_SHARE = 0.25
"""Largest deviation of predicted from measured seconds that counts as accurate, as a share of the
measured ones."""

FEWEST_SCORES = 2
"""Scores needed for a model: from a single one it learns no effect."""


@dataclass(frozen=True)
class Step:
    """One finished trial in the course of the search.

    lowest_score       of all slots up to this one, None before the first score
    seconds_spent      sum over all trainings up to this slot, as measured
    predicted_seconds_spent  the same sum, as predicted
    virtual_end        virtual time in seconds at which the slot ends, with all workers busy; None
                       after a missing slot
    expected_regret    from the slot's forecast
    """

    slot: int
    status: Status
    score: float | None
    lowest_score: float | None = field(metadata=json_key("best"))
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
    is_inside: bool | None = field(metadata=json_key("inside"))

    @property
    def is_below(self) -> bool:
        """Whether the score lies below the band."""
        low_score = self.forecast.low
        return self.score is not None and low_score is not None and self.score < low_score

    @property
    def is_above(self) -> bool:
        """Whether the score lies above the band."""
        high_score = self.forecast.high
        return self.score is not None and high_score is not None and self.score > high_score


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

    inside_share   of the scores, those inside their 95 % band.  A band reaches at most to the worst
                   score seen so far, so that a new worst lies above it; if the model uses only
                   ranks, at most to the best one, too
    below_count, above_count  numbers of scores below their band, and above
    trained_share  of the trials with a forecast, those that have a score, machine failures excluded
    expected_trainings  the expected number of these, the sum of their chances to train
    """

    inside_share: Share = field(metadata=json_key("inside"))
    below_count: int = field(metadata=json_key("below"))
    above_count: int = field(metadata=json_key("above"))
    trained_share: Share = field(metadata=json_key("trained"))
    expected_trainings: float = field(metadata=json_key("expected"))
    predictions: tuple[Prediction, ...] = field(metadata=json_key("slots"))


@dataclass(frozen=True)
class Failure:
    """A trial without a score; `chance_to_train` from its forecast, None without one;
    `retry_count`: how many earlier attempts failed."""

    slot: int
    status: Status
    message: str
    configuration: dict[str, Level]
    chance_to_train: float | None
    retry_count: int = field(metadata=json_key("retries"))


@dataclass(frozen=True)
class FailureGroup:
    """All failures of one status, with the first message as example; `mean_chance_to_train` of
    those with a forecast, None without any."""

    status: Status
    count: int
    because_of_configuration: bool
    mean_chance_to_train: float | None
    example_message: str = field(metadata=json_key("example"))


@dataclass(frozen=True)
class SecondsAccuracy:
    """The accuracy of predicted training times; the search's virtual clock uses the original
    predictions only.

    predicted_share  of the trainings, those whose prediction was within 25 % of the measured time
    corrected_share  the same for predictions corrected by the trials before each
    seconds_left     until the requested trials are done, from the mean corrected prediction of the
                     finished trials; 0 when they are done
    """

    predicted_share: Share = field(metadata=json_key("predicted"))
    corrected_share: Share = field(metadata=json_key("refined"))
    seconds_left: float = field(metadata=json_key("left"))


@dataclass(frozen=True)
class Explanation:
    """The analysis of a search.

    initial_slots     number of slots spread over the space before the model was used
    space_in_words    how large the space is
    row_count, feasible_count  configurations of the space, and those that fit; None of a tree
    requested_trials  full trainings that were asked for
    finished_count, scored_count  slots that are finished, and those with a score
    notes             sentences noted by the search itself
    pace_quartiles    (25 %, median, 75 %) of measured over predicted seconds, of the completed trials
    importance        of the hyper-parameters of a finite space, and tree_importance of a tree; None
                      if fewer than two trials have a score
    seconds_accuracy  of predicted training times; None before the first completed training
    ends_after        number of slots after which the search ended early; None if it did not
    spending          what was spent on what; None if every training went to its end
    descent           the course of a direct search in a finite space, and tree_descent in a tree; None
                      for another method
    prior_review      what earlier searches taught; None if they taught nothing
    """

    method: str
    seed: int
    workers: int
    initial_slots: int = field(metadata=json_key("initial"))
    space_in_words: str = field(metadata=json_key("space"))
    row_count: int | None = field(metadata=json_key("rows"))
    feasible_count: int | None = field(metadata=json_key("feasible"))
    requested_trials: int = field(metadata=json_key("asked"))
    finished_count: int = field(metadata=json_key("finished"))
    scored_count: int = field(metadata=json_key("scored"))
    notes: tuple[str, ...]
    pace_quartiles: tuple[float, float, float] | None = field(metadata=json_key("pace"))
    best_slot: int | None
    best_configuration: dict[str, Level] | None
    steps: tuple[Step, ...]
    forecasts: Forecasts
    importance: Importance | None = field(metadata=json_key("matter"))
    failure_groups: tuple[FailureGroup, ...]
    failures: tuple[Failure, ...]
    seconds_accuracy: SecondsAccuracy | None = field(default=None, metadata=json_key("seconds"))
    ends_after: int | None = None
    spending: Spending | None = None
    descent: Descent | None = None
    prior_review: PriorReview | None = field(default=None, metadata=json_key("taught"))
    tree_descent: TreeDescent | None = field(default=None, metadata=json_key("structures"))
    tree_importance: TreeImportance | None = field(default=None, metadata=json_key("relevance"))

    @property
    def full_trainings_done(self) -> int:
        """The number of full trainings that the finished slots stand for."""
        if self.spending is None:
            return self.finished_count
        return self.spending.epochs_spent // self.spending.rungs[-1].epochs

    @property
    def begun_count(self) -> int:
        """The number of configurations of the finished slots."""
        if self.spending is None:
            return self.finished_count
        return self.spending.begun_count

    @property
    def has_ended_early(self) -> bool:
        """Whether the search ended early."""
        return self.ends_after is not None and self.finished_count >= self.ends_after

    @property
    def is_beyond_request(self) -> bool:
        """Whether it had run further before, when more was requested."""
        return self.full_trainings_done > self.requested_trials or (
            self.ends_after is not None and self.finished_count > self.ends_after
        )

    @property
    def missing_count(self) -> int:
        """The number of unfinished slots before the last finished one."""
        if not self.steps:
            return 0
        return self.steps[-1].slot + 1 - len(self.steps)


def explain(
    search: AnySearch,
    trials: Sequence[Trial],
    *,
    requested_trials: int,
    ends_after: int | None = None,
    notes: Sequence[str] = (),
) -> Explanation:
    """The analysis of a search from its finished trials, in the order of their slots; the search
    may still be running."""
    trials = number_rows_anew(search, trials)
    scored_trials = [trial for trial in trials if trial.score is not None]
    final_trials = _scored_final_trials(trials)
    has_model = len(final_trials) >= FEWEST_SCORES
    importance = None
    tree_importance = None
    with one_thread():
        if has_model and isinstance(search, Search):
            importance = measure_importance(search, trials)
        elif has_model and isinstance(search, TreeSearch):
            tree_importance = measure_tree_importance(search, trials)
        prior_review = review_prior(search, trials)
    row_count = None
    if isinstance(search, Search):
        row_count = len(search.space)
    best_slot = None
    best_configuration = None
    if final_trials:
        best_trial = min(final_trials, key=lambda trial: (trial.score, trial.proposal.slot))
        best_slot = best_trial.proposal.slot
        best_configuration = dict(best_trial.proposal.configuration)
    failures = tuple(_failure_of_trial(trial) for trial in trials if trial.score is None)
    epochs_left = _epochs_left(search, trials, requested_trials, ends_after)
    return Explanation(
        method=search.method,
        seed=search.seed,
        workers=search.workers,
        initial_slots=search.first_slots,
        space_in_words=search.size_in_words,
        row_count=row_count,
        feasible_count=search.row_limit,
        requested_trials=requested_trials,
        finished_count=len(trials),
        scored_count=len(scored_trials),
        notes=tuple(notes),
        pace_quartiles=_pace_quartiles(scored_trials),
        best_slot=best_slot,
        best_configuration=best_configuration,
        steps=_steps_of_trials(search, trials),
        forecasts=_assess_forecasts(search, trials),
        importance=importance,
        failure_groups=_group_failures(failures),
        failures=failures,
        seconds_accuracy=_assess_seconds(search, trials, epochs_left),
        ends_after=ends_after,
        spending=review_spending(search, trials),
        descent=trace_descent(search, trials),
        prior_review=prior_review,
        tree_descent=trace_tree_descent(search, trials),
        tree_importance=tree_importance,
    )


def _scored_final_trials(trials: Sequence[Trial]) -> list[Trial]:
    """The last trial of each configuration, of those whose last one has a score."""
    return [trial for trial in latest_trials(trials) if trial.score is not None]


def _epochs_left(
    search: AnySearch, trials: Sequence[Trial], requested_trials: int, ends_after: int | None
) -> int:
    """The epochs that a search still spends; of one without a schedule, its trials to come."""
    schedule = search.schedule
    if ends_after is not None and schedule.kind == "full":
        requested_trials = min(requested_trials, ends_after)
    elif ends_after is not None and len(trials) >= ends_after:
        return 0
    epochs_spent = schedule.epochs_of(trial.proposal for trial in trials)
    return max(0, requested_trials * schedule.epochs - epochs_spent)


def _steps_of_trials(search: AnySearch, trials: Sequence[Trial]) -> tuple[Step, ...]:
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
        steps.append(
            Step(
                trial.proposal.slot,
                trial.outcome.status,
                trial.score,
                lowest_score=lowest_score,
                seconds_spent=measured_seconds,
                predicted_seconds_spent=predicted_seconds,
                virtual_end=end_by_slot.get(trial.proposal.slot),
                expected_regret=trial.proposal.expected_regret,
            )
        )
    return tuple(steps)


def _assess_forecasts(search: AnySearch, trials: Sequence[Trial]) -> Forecasts:
    """The accuracy of the forecasts: those of scores, by the score that the row ended with, and
    those of the chance to train."""
    predictions = _predictions(search, trials)
    is_inside = [prediction.is_inside for prediction in predictions]
    chances_to_train: list[float] = []
    has_score: list[bool] = []
    for trial in trials:
        forecast = trial.proposal.forecast
        if forecast is not None and trial.outcome.status != "error":
            chances_to_train.append(forecast.chance_to_train)
            has_score.append(trial.score is not None)
    return Forecasts(
        inside_share=Share.of([flag for flag in is_inside if flag is not None]),
        below_count=sum(prediction.is_below for prediction in predictions),
        above_count=sum(prediction.is_above for prediction in predictions),
        trained_share=Share.of(has_score),
        expected_trainings=float(sum(chances_to_train)),
        predictions=tuple(predictions),
    )


def _predictions(search: AnySearch, trials: Sequence[Trial]) -> list[Prediction]:
    """The prediction of each trial with a forecast, beside the score that its row ended with."""
    final_score_by_row = {
        trial.proposal.row: trial.score
        for trial in trials
        if trial.proposal.rung == search.schedule.last_rung
    }
    predictions = []
    for trial in trials:
        forecast = trial.proposal.forecast
        if forecast is not None:
            final_score = final_score_by_row.get(trial.proposal.row)
            is_inside = None
            if final_score is not None:
                is_inside = forecast.holds(final_score)
            predictions.append(Prediction(trial.proposal.slot, forecast, final_score, is_inside))
    return predictions


def _pace_quartiles(scored_trials: Sequence[Trial]) -> tuple[float, float, float] | None:
    """The quartiles of measured over predicted seconds; None if no trial has both."""
    paces = [pace for pace in map(pace_of, scored_trials) if pace is not None]
    if not paces:
        return None
    lower_quartile, median, upper_quartile = (
        float(f"{quartile:.4g}") for quartile in np.quantile(paces, (0.25, 0.5, 0.75))
    )
    return lower_quartile, median, upper_quartile


def _assess_seconds(
    search: AnySearch, trials: Sequence[Trial], epochs_left: int
) -> SecondsAccuracy | None:
    """How near predictions were to the measured seconds, and the seconds still to come; None if no
    training was timed."""
    timed_trials = [trial for trial in trials if seconds_of(trial) is not None]
    if not timed_trials:
        return None
    rows = rows_of_search(search, trials)
    is_prediction_near = []
    is_correction_near = []
    for earlier_count, trial in enumerate(timed_trials):
        corrected_by_earlier = correct_predictions(*rows, timed_trials[:earlier_count])
        corrected_seconds = _seconds_of_slot(search, corrected_by_earlier, trial)
        is_prediction_near.append(_is_near(trial, trial.proposal.predicted_seconds))
        is_correction_near.append(_is_near(trial, corrected_seconds))
    corrected_by_all = correct_predictions(*rows, timed_trials)
    corrected_sum = sum(_seconds_of_slot(search, corrected_by_all, trial) for trial in trials)
    epochs_spent = search.schedule.epochs_of(trial.proposal for trial in trials)
    seconds_left = corrected_sum / epochs_spent * epochs_left / search.workers
    return SecondsAccuracy(
        predicted_share=Share.of(is_prediction_near),
        corrected_share=Share.of(is_correction_near),
        seconds_left=float(f"{seconds_left:.4g}"),
    )


def _seconds_of_slot(search: AnySearch, seconds_by_row: NDArray[np.float64], trial: Trial) -> float:
    """The seconds of a trial's own epochs, from those of full trainings of every row (M,)."""
    full_seconds = float(seconds_by_row[trial.proposal.row])
    return (
        full_seconds * own_epochs(trial.proposal, search.schedule.epochs) / search.schedule.epochs
    )


def _is_near(trial: Trial, seconds: float) -> bool:
    """Whether these seconds are within NEAR_SHARE of the measured ones."""
    return abs(seconds / trial.outcome.seconds - 1) <= NEAR_SHARE


def _failure_of_trial(trial: Trial) -> Failure:
    """The failure of a trial without a score."""
    chance_to_train = None
    if trial.proposal.forecast is not None:
        chance_to_train = trial.proposal.forecast.chance_to_train
    return Failure(
        slot=trial.proposal.slot,
        status=trial.outcome.status,
        message=trial.outcome.message,
        configuration=dict(trial.proposal.configuration),
        chance_to_train=chance_to_train,
        retry_count=len(trial.retries),
    )


def _group_failures(failures: Sequence[Failure]) -> tuple[FailureGroup, ...]:
    """The failures by status, the most frequent first."""
    failure_groups = []
    for status, failure_count in Counter(failure.status for failure in failures).most_common():
        failures_of_status = [failure for failure in failures if failure.status == status]
        chances_to_train = [
            failure.chance_to_train
            for failure in failures_of_status
            if failure.chance_to_train is not None
        ]
        mean_chance = None
        if chances_to_train:
            mean_chance = sum(chances_to_train) / len(chances_to_train)
        messages = [failure.message for failure in failures_of_status if failure.message]
        failure_groups.append(
            FailureGroup(
                status,
                failure_count,
                is_configuration_to_blame(status),
                mean_chance,
                example_message=next(iter(messages), ""),
            )
        )
    return tuple(failure_groups)
