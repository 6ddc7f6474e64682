"""What a search spent on what, where trainings are compared before their end, and whether it
stopped the right ones.

    R      epochs of a full training
    chain  the slots of one row, each of which goes on with the one before

Whether a stop was right is known only of trainings that went to the end all the same: two of them
can be compared on every rung that both were on, and one that was passed over for others, and taken
up later, with those others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from fovnet.records import json_key
from fovnet.search.search import AnySearch
from fovnet.search.space import Level
from fovnet.search.spend.asha_or_full import UNCOMPARED
from fovnet.search.spend.schedule import own_epochs
from fovnet.search.trial import Trial, latest_trials


@dataclass(frozen=True)
class Stretch:
    """One slot on the virtual clock: when it begins and ends, in seconds, None after a missing
    slot.

    row_number  of its row, in the order in which rows were begun
    """

    slot: int
    row_number: int = field(metadata=json_key("place"))
    rung: int
    begin_seconds: float | None = field(metadata=json_key("begins"))
    end_seconds: float | None = field(metadata=json_key("ends"))
    score: float | None


@dataclass(frozen=True)
class Rung:
    """The trainings that ended at one rung, and what happened to them.

    epochs            at which trainings are compared on this rung, with minutes at most
    training_count    trainings that ended here, failed_count of them without a score
    continued_count   those that went on to a higher rung
    stopped_count     those with a score that did not, 0 on the last rung
    epochs_spent      of these slots alone, as the budget counts them: a failure for all that it was
                      to have
    pair_count        pairs of trainings with a score both here and at the end, 0 on the last rung
    same_order_count  those of them that ended in the same order
    minutes           predicted, at which they are compared in place of epochs; None: they are not
    """

    epochs: int
    training_count: int = field(metadata=json_key("trained"))
    failed_count: int = field(metadata=json_key("failed"))
    continued_count: int = field(metadata=json_key("went_on"))
    stopped_count: int = field(metadata=json_key("stopped"))
    epochs_spent: int = field(metadata=json_key("spent"))
    pair_count: int = field(metadata=json_key("pairs"))
    same_order_count: int = field(metadata=json_key("alike"))
    minutes: float | None = None

    @property
    def length(self) -> str:
        """At which trainings are compared, without the unit."""
        if self.minutes is None:
            return str(self.epochs)
        return f"{self.minutes:.3g}"

    @property
    def name(self) -> str:
        """ "1 epoch", "9 minutes"."""
        if self.length == "1":
            return f"1 {self.unit[:-1]}"
        return f"{self.length} {self.unit}"

    @property
    def unit(self) -> str:
        """Of `length`, in the plural."""
        if self.minutes is None:
            return "epochs"
        return "minutes"


@dataclass(frozen=True)
class StoppedTraining:
    """A training with a score that was not trained to its end."""

    slot: int
    epochs: int
    score: float
    configuration: dict[str, Level]


@dataclass(frozen=True)
class Spending:
    """What was spent, in epochs, and the results.

    spend_name      that of its `SpendKind`
    begun_count     rows begun
    ended_count     rows trained to their end with a score
    full_trainings  the epochs spent, in those of a full training
    epochs_on_stopped, epochs_on_failed  of rows that were stopped, or failed, on whatever rung
    passed_over_count  rows trained to their end that were once passed over for others of their
                    rung, one of which ended too
    better_than_preferred_count  those of them that ended better than all of these others
    uncompared_count  rows that "asha-or-full" began, or took up again, without comparing them
    stopped_trainings  the most trained first, then the best
    stretches       every slot on the virtual clock
    """

    spend_name: str = field(metadata=json_key("kind"))
    rungs: tuple[Rung, ...]
    begun_count: int = field(metadata=json_key("begun"))
    ended_count: int = field(metadata=json_key("ended"))
    epochs_spent: int = field(metadata=json_key("epochs"))
    full_trainings: float
    epochs_on_stopped: int = field(metadata=json_key("on_stopped"))
    epochs_on_failed: int = field(metadata=json_key("on_failed"))
    passed_over_count: int = field(metadata=json_key("passed_over"))
    better_than_preferred_count: int = field(metadata=json_key("better"))
    uncompared_count: int = field(metadata=json_key("uncompared"))
    stopped_trainings: tuple[StoppedTraining, ...] = field(metadata=json_key("stopped"))
    stretches: tuple[Stretch, ...] = field(metadata=json_key("slots"))


def review_spending(search: AnySearch, trials: Sequence[Trial]) -> Spending | None:
    """What the finished trials, by slot, were spent on; None for a search that trains every row to
    its end."""
    schedule = search.schedule
    if schedule.kind == "full":
        return None
    epochs_by_slot = {
        trial.proposal.slot: own_epochs(trial.proposal, schedule.epochs) for trial in trials
    }
    epochs_by_row: dict[int, int] = defaultdict(int)
    for trial in trials:
        epochs_by_row[trial.proposal.row] += epochs_by_slot[trial.proposal.slot]
    stopped_trials = []
    failed_trials = []
    final_score_by_row = {}
    for trial in latest_trials(trials):
        if trial.score is None:
            failed_trials.append(trial)
        elif trial.proposal.rung < schedule.last_rung:
            stopped_trials.append(trial)
        else:
            final_score_by_row[trial.proposal.row] = trial.score
    is_better_than_preferred = _compare_with_preferred(trials, final_score_by_row)
    epochs_spent = sum(epochs_by_slot.values())
    return Spending(
        schedule.kind,
        rungs=tuple(
            _review_rung(search, trials, epochs_by_slot, final_score_by_row, rung)
            for rung in range(len(schedule.rungs))
        ),
        begun_count=len(epochs_by_row),
        ended_count=len(final_score_by_row),
        epochs_spent=epochs_spent,
        full_trainings=round(epochs_spent / schedule.epochs, 2),
        epochs_on_stopped=sum(epochs_by_row[trial.proposal.row] for trial in stopped_trials),
        epochs_on_failed=sum(epochs_by_row[trial.proposal.row] for trial in failed_trials),
        passed_over_count=len(is_better_than_preferred),
        better_than_preferred_count=sum(is_better_than_preferred),
        uncompared_count=_count_uncompared(search, trials),
        stopped_trainings=tuple(map(_stopped_training, _sort_most_trained_first(stopped_trials))),
        stretches=_stretches(search, trials),
    )


def _count_uncompared(search: AnySearch, trials: Sequence[Trial]) -> int:
    """The rows that "asha-or-full" began, or took up again, without comparing them; of another
    schedule 0, as its brackets mean something else."""
    if search.schedule.kind != "asha-or-full":
        return 0
    return len({trial.proposal.row for trial in trials if trial.proposal.bracket == UNCOMPARED})


def _review_rung(
    search: AnySearch,
    trials: Sequence[Trial],
    epochs_by_slot: Mapping[int, int],
    final_score_by_row: Mapping[int, float],
    rung: int,
) -> Rung:
    """What became of the trainings on a rung."""
    trials_on_rung = [trial for trial in trials if trial.proposal.rung == rung]
    scored_trials = [trial for trial in trials_on_rung if trial.score is not None]
    continued_slots = {
        trial.proposal.continued_slot for trial in trials if trial.outcome.status != "error"
    }
    continued_count = sum(trial.proposal.slot in continued_slots for trial in scored_trials)
    stopped_count = 0
    is_same_order: list[bool] = []
    if rung < search.schedule.last_rung:
        stopped_count = len(scored_trials) - continued_count
        is_same_order = _compare_orders(
            [
                (trial.score, final_score_by_row[trial.proposal.row])
                for trial in scored_trials
                if trial.score is not None and trial.proposal.row in final_score_by_row
            ]
        )
    minutes = None
    if search.schedule.minutes is not None:
        minutes = search.schedule.minutes_at(rung)
    return Rung(
        epochs=search.schedule.rungs[rung],
        training_count=len(trials_on_rung),
        failed_count=len(trials_on_rung) - len(scored_trials),
        continued_count=continued_count,
        stopped_count=stopped_count,
        epochs_spent=sum(epochs_by_slot[trial.proposal.slot] for trial in trials_on_rung),
        pair_count=len(is_same_order),
        same_order_count=sum(is_same_order),
        minutes=minutes,
    )


def _compare_orders(scores_here_and_at_end: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether each two trainings, equal neither here nor at the end, have the same order in both;
    of each training the score on a rung and that at its end."""
    products = [
        (score_here - other_score_here) * (score_at_end - other_score_at_end)
        for (score_here, score_at_end), (other_score_here, other_score_at_end) in combinations(
            scores_here_and_at_end, 2
        )
    ]
    return [product > 0 for product in products if product != 0]


def _compare_with_preferred(
    trials: Sequence[Trial], final_score_by_row: Mapping[int, float]
) -> list[bool]:
    """Of each row that was passed over, taken up later and ended, whether it ended better than all
    rows that had gone on from its rung meanwhile and ended too."""
    proposal_by_slot = {trial.proposal.slot: trial.proposal for trial in trials}
    continuations_by_rung: dict[tuple[int, int], list[Trial]] = defaultdict(list)  # by slot
    preferred_rows_by_row: dict[int, set[int]] = defaultdict(set)
    for trial in trials:
        if trial.proposal.continued_slot not in proposal_by_slot:
            continue
        continued_proposal = proposal_by_slot[trial.proposal.continued_slot]
        continuations = continuations_by_rung[continued_proposal.bracket, continued_proposal.rung]
        preferred_rows = {
            continuation.proposal.row
            for continuation in continuations
            if continued_proposal.slot in continuation.proposal.seen_slots
        }
        preferred_rows_by_row[continued_proposal.row] |= preferred_rows & final_score_by_row.keys()
        continuations.append(trial)
    return [
        final_score_by_row[row] < min(final_score_by_row[other_row] for other_row in preferred_rows)
        for row, preferred_rows in preferred_rows_by_row.items()
        if preferred_rows and row in final_score_by_row
    ]


def _sort_most_trained_first(trials: Sequence[Trial]) -> list[Trial]:
    """The trials with a score, those on the highest rung first, then by score and slot."""
    return sorted(
        trials, key=lambda trial: (-trial.proposal.rung, trial.score, trial.proposal.slot)
    )


def _stopped_training(trial: Trial) -> StoppedTraining:
    """The record of a trial that has a score and was not trained to its end."""
    proposal = trial.proposal
    assert trial.score is not None and proposal.epochs is not None  # as they were chosen
    return StoppedTraining(
        proposal.slot, proposal.epochs, trial.score, dict(proposal.configuration)
    )


def virtual_ends(search: AnySearch, trials: Sequence[Trial]) -> dict[int, float]:
    """The virtual time in seconds at which each slot ends, of those before the first missing
    one."""
    seconds_before_gap = [
        trial.proposal.predicted_seconds
        for slot, trial in enumerate(trials)
        if trial.proposal.slot == slot
    ]
    return dict(enumerate(search.clock.virtual_ends(seconds_before_gap)))


def _stretches(search: AnySearch, trials: Sequence[Trial]) -> tuple[Stretch, ...]:
    """The stretch of each slot on the virtual clock, in the order of the trials."""
    end_by_slot = virtual_ends(search, trials)
    number_by_row: dict[int, int] = {}
    stretches = []
    for trial in trials:
        row_number = number_by_row.setdefault(trial.proposal.row, len(number_by_row))
        begin_seconds = None
        end_seconds = end_by_slot.get(trial.proposal.slot)
        if end_seconds is not None:
            begin_seconds = end_seconds - trial.proposal.predicted_seconds
        stretches.append(
            Stretch(
                slot=trial.proposal.slot,
                row_number=row_number,
                rung=trial.proposal.rung,
                begin_seconds=begin_seconds,
                end_seconds=end_seconds,
                score=trial.score,
            )
        )
    return tuple(stretches)
