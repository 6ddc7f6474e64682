"""A search explained afterwards: how it converged, whether its forecasts held, what mattered, what failed and why.

    M  rows of the space        d  axes        n  trials with a score        S  processes that are believed

Everything here is a function of the search and its trials alone, and becomes JSON as it stands: None where there is no number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.maths.intervals import wilson_interval
from fovnet.maths.threads import one_thread
from fovnet.search.mattering import Matter, what_matters
from fovnet.search.proposing import Search
from fovnet.search.refining import refined, seconds_of
from fovnet.search.space import Level
from fovnet.search.trial import Forecast, Status, Trial, configuration_is_to_blame

NEAR = 0.25
"""How far off predicted seconds may be, as a share of those measured."""

FEWEST_SCORES = 2
"""Of one score a model knows nothing but its height."""


@dataclass(frozen=True)
class Step:
    """One finished trial on the way.

    best               the lowest score of all slots up to this one, None before the first score
    seconds_spent      of all trainings up to this slot, added up, as measured;  predicted_seconds_spent  as predicted
    virtual_end        the virtual second at which the slot is finished, with all workers at work; None behind a slot that is missing
    expected_regret    as the slot's forecast had it
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
    """What was expected of a slot before it was trained, and what came: its score, None where it failed."""

    slot: int
    forecast: Forecast
    score: float | None
    inside: bool | None


@dataclass(frozen=True)
class Share:
    """`count` of `total`, with Wilson's 95 % interval as if they were independent of one another."""

    count: int
    total: int
    low: float
    high: float

    @classmethod
    def of(cls, flags: Sequence[bool]) -> Share:
        """The share of flags that are set."""
        low, high = wilson_interval(sum(flags), len(flags))
        return cls(sum(flags), len(flags), low, high)


@dataclass(frozen=True)
class Forecasts:
    """How well the forecasts did.

    inside     how many scores fell into their 95 % band; `below` and `above` fell to either side.  A band ends at the worst score
               seen so far, so that a new worst lies above it; where the model knows only ranks, it ends at the best one as well
    trained    how many of the trials with a forecast came to a score, machine failures left aside
    expected   how many should have, by the sum of their chances to train
    """

    inside: Share
    below: int
    above: int
    trained: Share
    expected: float
    slots: tuple[Prediction, ...]


@dataclass(frozen=True)
class Failure:
    """A trial without a score; `chance_to_train` is what its forecast gave it, None where no model was asked."""

    slot: int
    status: Status
    message: str
    configuration: dict[str, Level]
    chance_to_train: float | None
    retries: int


@dataclass(frozen=True)
class FailureGroup:
    """All failures of one status, and the first message among them; `mean_chance_to_train` over those with a forecast, None: none has."""

    status: Status
    count: int
    because_of_configuration: bool
    mean_chance_to_train: float | None
    example: str


@dataclass(frozen=True)
class Seconds:
    """How well the predicted seconds held; the search's own clock goes by `predicted` alone.

    predicted  trainings that took within 25 % of their prediction
    refined    the same of predictions corrected by the trials of the slots before each
    left       seconds until the trials that were asked for are done, by corrected predictions of trials like those finished; 0 when
               they are done
    """

    predicted: Share
    refined: Share
    left: float


@dataclass(frozen=True)
class Explanation:
    """A search, explained; `matter` is None where fewer than two trials have a score.

    asked   how many trials were asked for at most               notes     what the search itself noted, in sentences
    ends_after  after how many trials it has noted that it ends, before those asked for; None where it has not
    pace    median of measured over predicted seconds, of the trials with a score, with quarter and three-quarter points
    seconds how well the predicted seconds held, None before a training went to its end
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

    @property
    def wanted(self) -> int:
        """How many trials there will be: those that were asked for, or fewer."""
        return wanted(self.asked, self.ends_after)

    @property
    def missing(self) -> int:
        """How many slots before the last finished one are not finished."""
        return self.steps[-1].slot + 1 - len(self.steps) if self.steps else 0


def explain(
    search: Search, trials: Sequence[Trial], *, asked: int, ends_after: int | None = None, notes: Sequence[str] = ()
) -> Explanation:
    """The explanation of a search from its finished trials, by slot; of a search under way, from what is there."""
    scored = [trial for trial in trials if trial.score is not None]
    best = min(scored, key=lambda trial: (trial.score, trial.proposal.slot), default=None)
    with one_thread():
        matter = what_matters(search, trials) if len(scored) >= FEWEST_SCORES else None
    failures = tuple(_failure(trial) for trial in trials if trial.score is None)
    return Explanation(
        search.method, search.seed, search.workers, search.first_slots, len(search.space), int(search.feasible.sum()),
        asked, len(trials), len(scored), tuple(notes), _pace(scored),
        None if best is None else best.proposal.slot,
        None if best is None else dict(best.proposal.configuration),
        _steps(search, trials), _forecasts(trials), matter, _grouped(failures), failures,
        _seconds(search, trials, wanted(asked, ends_after)), ends_after,
    )


def wanted(asked: int, ends_after: int | None) -> int:
    """How many trials a search comes to."""
    return asked if ends_after is None else min(asked, ends_after)


def _steps(search: Search, trials: Sequence[Trial]) -> tuple[Step, ...]:
    """One a trial; the virtual clock runs as long as no slot is missing."""
    unbroken = [trial for slot, trial in enumerate(trials) if trial.proposal.slot == slot]
    ends = dict(enumerate(search.clock.ends([trial.proposal.predicted_seconds for trial in unbroken])))
    steps: list[Step] = []
    best: float | None = None
    spent = predicted = 0.0
    for trial in trials:
        if trial.score is not None and (best is None or trial.score < best):
            best = trial.score
        spent, predicted = spent + trial.outcome.seconds, predicted + trial.proposal.predicted_seconds
        slot, forecast = trial.proposal.slot, trial.proposal.forecast
        regret = None if forecast is None else forecast.expected_regret
        steps.append(Step(slot, trial.outcome.status, trial.score, best, spent, predicted, ends.get(slot), regret))
    return tuple(steps)


def _forecasts(trials: Sequence[Trial]) -> Forecasts:
    predictions = []
    for trial in trials:
        if (forecast := trial.proposal.forecast) is not None:
            inside = None if trial.score is None else forecast.holds(trial.score)
            predictions.append(Prediction(trial.proposal.slot, forecast, trial.score, inside))
    forecast_trials = [trial for trial in trials if trial.proposal.forecast is not None and trial.outcome.status != "error"]
    chances = [trial.proposal.forecast.chance_to_train for trial in forecast_trials if trial.proposal.forecast is not None]
    came = [(one.score, one.forecast) for one in predictions if one.score is not None]
    return Forecasts(
        Share.of([one.inside for one in predictions if one.inside is not None]),
        sum(forecast.low is not None and score < forecast.low for score, forecast in came),
        sum(forecast.high is not None and score > forecast.high for score, forecast in came),
        Share.of([trial.score is not None for trial in forecast_trials]),
        float(sum(chances)),
        tuple(predictions),
    )


def _pace(scored: Sequence[Trial]) -> tuple[float, float, float] | None:
    timed = [(seconds, trial.proposal.predicted_seconds) for trial in scored if (seconds := seconds_of(trial)) is not None]
    ratios = [took / predicted for took, predicted in timed]
    if not ratios:
        return None
    lower, middle, upper = (float(f"{value:.4g}") for value in np.quantile(ratios, (0.25, 0.5, 0.75)))
    return lower, middle, upper


def _seconds(search: Search, trials: Sequence[Trial], asked: int) -> Seconds | None:
    features, timed = search.space.unit_cube, [trial for trial in trials if seconds_of(trial) is not None]
    if not timed:
        return None
    before = [refined(search.predicted_seconds, features, timed[:count]) for count in range(len(timed))]
    now = refined(search.predicted_seconds, features, timed)
    mean = float(np.mean([now[trial.proposal.row] for trial in trials]))
    return Seconds(
        Share.of([_near(trial, trial.proposal.predicted_seconds) for trial in timed]),
        Share.of([_near(trial, float(seconds[trial.proposal.row])) for trial, seconds in zip(timed, before, strict=True)]),
        float(f"{mean * max(0, asked - len(trials)) / search.workers:.4g}"),
    )


def _near(trial: Trial, seconds: float) -> bool:
    return abs(seconds / trial.outcome.seconds - 1) <= NEAR


def _failure(trial: Trial) -> Failure:
    proposal, outcome = trial.proposal, trial.outcome
    chance = None if proposal.forecast is None else proposal.forecast.chance_to_train
    return Failure(proposal.slot, outcome.status, outcome.message, dict(proposal.configuration), chance, len(trial.retries))


def _grouped(failures: Sequence[Failure]) -> tuple[FailureGroup, ...]:
    """The commonest first."""
    groups = []
    for status, count in Counter(failure.status for failure in failures).most_common():
        chances = [one.chance_to_train for one in failures if one.status == status and one.chance_to_train is not None]
        mean = sum(chances) / len(chances) if chances else None
        example = next((failure.message for failure in failures if failure.status == status and failure.message), "")
        groups.append(FailureGroup(status, count, configuration_is_to_blame(status), mean, example))
    return tuple(groups)
