"""The records of a search: a proposal, the outcome of its training, and the trial, which is
both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import Any, Literal, cast, get_args

from fovnet.records import facts_of_record, field_by_json_key, json_key
from fovnet.search.space import Level

Status = Literal["completed", "out_of_memory", "diverged", "timeout", "pruned", "error"]
Number = float | int | str | None


@dataclass(frozen=True)
class Forecast:
    """The prediction of a method's model for a proposal before its training, in units of the score.

    score, low, high   the median, and the 95 % prediction interval; an end is None, and the band
                       open there, if it lies beyond all scores seen and the model uses only ranks
    chance_to_train    probability that there will be a score at all
    expected_regret    upper bound of the expected difference between the best row so far and the
                       lowest free row, if pending rows get their predicted scores; None if the
                       model uses only ranks, or is the bolder one of two
    """

    score: float
    low: float | None
    high: float | None
    chance_to_train: float
    expected_regret: float | None

    def holds(self, score: float) -> bool:
        """Whether a score lies in the band."""
        return (self.low is None or self.low <= score) and (self.high is None or score <= self.high)


@dataclass(frozen=True)
class Proposal:
    """A configuration to train, and the information it was chosen with.

    slot, row           its numbers in the search and in the space
    seed                for the training, derived from the search's seed and the slot
    seen_slots, pending_slots  those finished, and still running, in virtual time when this one began;
                        together 0..slot-1
    predicted_seconds   its duration on the virtual clock
    forecast            the model's prediction; None if no model was used
    epochs              of the training at this slot's end, those of the slots it continues
                        included; None: all there are
    continued_slot      the earlier slot whose training goes on here, None if it begins here
    begun_epochs        how many of the epochs that earlier slot has done
    bracket, rung       their numbers in a search that compares trainings before their last epoch
    step                of a method with several steps, the one that chose the row
    """

    slot: int
    row: int
    configuration: Mapping[str, Level]
    seed: int
    seen_slots: tuple[int, ...] = field(metadata=json_key("seen"))
    pending_slots: tuple[int, ...] = field(metadata=json_key("pending"))
    predicted_seconds: float
    forecast: Forecast | None = None
    epochs: int | None = None
    continued_slot: int | None = field(default=None, metadata=json_key("continues"))
    begun_epochs: int = field(default=0, metadata=json_key("begun"))
    bracket: int = 0
    rung: int = 0
    step: str = ""

    @property
    def expected_regret(self) -> float | None:
        """The expected regret of the forecast; None without one."""
        if self.forecast is None:
            return None
        return self.forecast.expected_regret


@dataclass(frozen=True)
class Outcome:
    """The result of a training.

    training_loss, validation_loss  one value per epoch; may end in nan or inf if the training
                                    diverged
    score                           the lowest validation loss of its epochs, lower is better; None
                                    without a valid one
    seconds, peak_memory_bytes      its cost, on `device`; seconds without those of a slot that it
                                    continues
    epoch_seconds                   of every epoch of the curves, where trainings are continued;
                                    else empty
    message                         a sentence for the user
    versions                        of the libraries used
    Raises ValueError for an unknown status, a completed training without a finite score (that is a
    diverged one), or a pruned one with a score that is not finite.
    """

    status: Status
    training_loss: tuple[float, ...] = ()
    validation_loss: tuple[float, ...] = ()
    score: float | None = None
    seconds: float = 0.0
    peak_memory_bytes: int | None = None
    device: str = ""
    message: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    epoch_seconds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.status not in get_args(Status):
            raise ValueError(
                f"status {self.status!r}; one of {', '.join(get_args(Status))} was expected"
            )
        if self.status == "completed" and (self.score is None or not math.isfinite(self.score)):
            raise ValueError(
                f"completed with the score {self.score}; a training without a finite score has diverged"
            )
        if self.status == "pruned" and self.score is not None and not math.isfinite(self.score):
            raise ValueError(f"pruned with the score {self.score}; a number, or none, was expected")
        _refuse_non_numbers(seconds=self.seconds, peak_memory_bytes=self.peak_memory_bytes or 0)


@dataclass(frozen=True)
class Trial:
    """One training of one configuration; `retries` are the messages of earlier attempts that failed
    because of the machine."""

    proposal: Proposal
    outcome: Outcome
    retries: tuple[str, ...] = ()

    @property
    def score(self) -> float | None:
        """The outcome's score if a method may learn from it (completed or pruned); else None."""
        if self.outcome.status in ("completed", "pruned"):
            return self.outcome.score
        return None


def is_configuration_to_blame(status: Status) -> bool:
    """Whether a failure is due to the configuration, and to be learned from; "error" is the
    machine's (a crash, a bug)."""
    return status in ("out_of_memory", "diverged", "timeout")


def latest_trials(trials: Iterable[Trial]) -> list[Trial]:
    """The trials without those that a later one continues, in the order in which their rows were
    begun.

    What the machine interrupted (an "error") leaves the earlier trial of the row standing.
    """
    trial_by_row: dict[int, Trial] = {}
    for trial in trials:
        if trial.outcome.status != "error" or trial.proposal.row not in trial_by_row:
            trial_by_row[trial.proposal.row] = trial
    return list(trial_by_row.values())


def best_trials(trials: Sequence[Trial], count: int) -> list[Trial]:
    """The `count` completed trials of lowest score, best first, ties by slot, each training once;
    fewer where fewer completed."""
    completed = [trial for trial in latest_trials(trials) if trial.outcome.status == "completed"]
    completed.sort(key=lambda trial: (cast(float, trial.score), trial.proposal.slot))
    return completed[:count]


def trial_to_facts(trial: Trial) -> dict[str, Any]:
    """A trial in the form of strict JSON: non-finite losses become the strings "nan", "inf" and
    "-inf"."""
    outcome_facts = asdict(trial.outcome)
    outcome_facts["score"] = _number_to_json(trial.outcome.score)
    for curve in ("training_loss", "validation_loss"):
        outcome_facts[curve] = [_number_to_json(loss) for loss in outcome_facts[curve]]
    if not trial.outcome.epoch_seconds:
        del outcome_facts["epoch_seconds"]
    return {
        "proposal": proposal_to_facts(trial.proposal),
        "outcome": outcome_facts,
        "retries": trial.retries,
    }


def trial_from_facts(facts: Mapping[str, Any]) -> Trial:
    """The trial from facts written by `trial_to_facts`.  Raises KeyError, TypeError or ValueError
    if they are invalid."""
    outcome_facts = dict(facts["outcome"])
    outcome_facts |= {
        curve: tuple(map(_number_from_json, outcome_facts[curve]))
        for curve in ("training_loss", "validation_loss")
    }
    outcome_facts["score"] = _number_from_json(outcome_facts["score"])
    outcome_facts["epoch_seconds"] = tuple(outcome_facts.get("epoch_seconds", ()))
    return Trial(
        proposal_from_facts(facts["proposal"]), Outcome(**outcome_facts), tuple(facts["retries"])
    )


SCHEDULE_KEYS = ("epochs", "continues", "begun", "bracket", "rung")
"""Keys that only proposals with a number of epochs are written with: other journals stay as they
always were."""


def proposal_to_facts(proposal: Proposal) -> dict[str, Any]:
    """The proposal in the form of JSON."""
    facts: dict[str, Any] = facts_of_record(proposal)
    if proposal.epochs is None:
        for key in SCHEDULE_KEYS:
            del facts[key]
    if not proposal.step:
        del facts["step"]
    return facts


def proposal_from_facts(facts: Mapping[str, Any]) -> Proposal:
    """The proposal from its facts.  Raises KeyError, TypeError or ValueError if they are
    invalid."""
    schedule_facts = {key: facts[key] for key in SCHEDULE_KEYS if facts.get(key) is not None}
    whole_numbers = [
        facts["slot"],
        facts["row"],
        facts["seed"],
        *facts["seen"],
        *facts["pending"],
        *schedule_facts.values(),
    ]
    if any(type(whole_number) is not int for whole_number in whole_numbers):
        raise TypeError("slot, row, seed, epochs and the slots seen: whole numbers were expected")
    _refuse_non_numbers(predicted_seconds=facts["predicted_seconds"])
    field_by_key = field_by_json_key(Proposal)
    unknown_keys = sorted(set(facts) - set(field_by_key))
    if unknown_keys:
        raise TypeError(f"unknown keys {unknown_keys}")
    value_by_field = {field_by_key[key]: value for key, value in facts.items()}
    value_by_field["seen_slots"] = tuple(facts["seen"])
    value_by_field["pending_slots"] = tuple(facts["pending"])
    value_by_field["forecast"] = _forecast_from_facts(facts.get("forecast"))
    return Proposal(**value_by_field)


def _forecast_from_facts(facts: Mapping[str, Any] | None) -> Forecast | None:
    """The forecast from its facts, None from none.  Raises TypeError if they are invalid."""
    if facts is None:
        return None
    given_numbers = {
        name: value
        for name, value in facts.items()
        if value is not None or name not in OPTIONAL_FORECAST_FIELDS
    }
    _refuse_non_numbers(**given_numbers)
    return Forecast(**facts)


OPTIONAL_FORECAST_FIELDS = ("low", "high", "expected_regret")


def _refuse_non_numbers(**numbers: Any) -> None:
    """Raises TypeError for a value that is not a real number."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise TypeError(f"{name}: {value!r}; a number was expected")


def _number_to_json(value: float | None) -> Number:
    """The number, or None; one that is not finite as a string, which strict JSON can hold."""
    if value is None or math.isfinite(value):
        return value
    return str(float(value))


def _number_from_json(value: Number) -> Any:
    """The number that `_number_to_json` has written."""
    if isinstance(value, str):
        return float(value)
    return value
