"""What a search spent on what, where trainings are compared before their end, and whether it
stopped the right ones.

    R  epochs of a full training        chain  the slots of one row, each of which goes on with the one before

Whether a stop was right is known only of trainings that went to the end all the same: two of them
can be compared on every rung that both were on, and one that was passed over for others, and taken
up later, with those others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from fovnet.search.search import Search
from fovnet.search.space import Level
from fovnet.search.spend.schedule import own_epochs
from fovnet.search.trial import Trial, latest


@dataclass(frozen=True)
class Stretch:
    """One slot on the virtual clock: when it begins and ends, in seconds, None after a missing
    slot.

    place   number of its row in the order in which rows were begun
    """

    slot: int
    place: int
    rung: int
    begins: float | None
    ends: float | None
    score: float | None


@dataclass(frozen=True)
class Rung:
    """The trainings that ended at one rung, and what happened to them.

    spent   epochs of these slots alone, as the budget counts them: a failure for all that it was to
            have
    pairs   of trainings with a score both here and at the end;  alike  those that ended in the same order
    """

    epochs: int
    trained: int
    failed: int
    went_on: int
    stopped: int
    spent: int
    pairs: int
    alike: int


@dataclass(frozen=True)
class Stopped:
    """A training with a score that was not trained to its end."""

    slot: int
    epochs: int
    score: float
    configuration: dict[str, Level]


@dataclass(frozen=True)
class Spending:
    """What was spent, in epochs, and the results.

    begun, ended    rows begun, and trained to their end with a score
    full_trainings  the epochs spent, in those of a full training
    on_stopped, on_failed  epochs of rows that were stopped, or failed, on whatever rung
    passed_over     rows trained to their end that were once passed over for others of their rung,
                    one of
                    which ended too;  better  those that ended better than all of these
    """

    kind: str
    rungs: tuple[Rung, ...]
    begun: int
    ended: int
    epochs: int
    full_trainings: float
    on_stopped: int
    on_failed: int
    passed_over: int
    better: int
    stopped: tuple[Stopped, ...]
    slots: tuple[Stretch, ...]


def what_was_spent(search: Search, trials: Sequence[Trial]) -> Spending | None:
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
    for trial in latest(trials):
        if trial.score is None:
            failed_trials.append(trial)
        elif trial.proposal.rung < schedule.last:
            stopped_trials.append(trial)
        else:
            final_score_by_row[trial.proposal.row] = trial.score
    ended_better = _better_than_those_preferred(trials, final_score_by_row)
    epochs_spent = sum(epochs_by_slot.values())
    return Spending(
        schedule.kind,
        rungs=tuple(
            _rung_of_trainings(search, trials, epochs_by_slot, final_score_by_row, rung)
            for rung in range(len(schedule.rungs))
        ),
        begun=len(epochs_by_row),
        ended=len(final_score_by_row),
        epochs=epochs_spent,
        full_trainings=round(epochs_spent / schedule.epochs, 2),
        on_stopped=sum(epochs_by_row[trial.proposal.row] for trial in stopped_trials),
        on_failed=sum(epochs_by_row[trial.proposal.row] for trial in failed_trials),
        passed_over=len(ended_better),
        better=sum(ended_better),
        stopped=tuple(_stopped_training(trial) for trial in _most_trained_first(stopped_trials)),
        slots=_stretches(search, trials),
    )


def _rung_of_trainings(
    search: Search,
    trials: Sequence[Trial],
    epochs_by_slot: Mapping[int, int],
    final_score_by_row: Mapping[int, float],
    rung: int,
) -> Rung:
    """What became of the trainings on a rung."""
    trials_on_rung = [trial for trial in trials if trial.proposal.rung == rung]
    continued_slots = {
        trial.proposal.continues for trial in trials if trial.outcome.status != "error"
    }
    scored_trials = [trial for trial in trials_on_rung if trial.score is not None]
    went_on = sum(trial.proposal.slot in continued_slots for trial in scored_trials)
    is_last = rung == search.schedule.last
    scores_here_and_at_end = [
        (trial.score, final_score_by_row.get(trial.proposal.row)) for trial in scored_trials
    ]
    is_same_order = _is_same_order_of_pairs(
        [
            (score_here, score_at_end)
            for score_here, score_at_end in scores_here_and_at_end
            if score_here is not None and score_at_end is not None
        ]
    )
    return Rung(
        epochs=search.schedule.rungs[rung],
        trained=len(trials_on_rung),
        failed=len(trials_on_rung) - len(scored_trials),
        went_on=went_on,
        stopped=0 if is_last else len(scored_trials) - went_on,
        spent=sum(epochs_by_slot[trial.proposal.slot] for trial in trials_on_rung),
        pairs=0 if is_last else len(is_same_order),
        alike=0 if is_last else sum(is_same_order),
    )


def _is_same_order_of_pairs(scores_here_and_at_end: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether each two trainings, equal neither here nor at the end, have the same order in
    both."""
    products = [
        (training[0] - other_training[0]) * (training[1] - other_training[1])
        for training, other_training in combinations(scores_here_and_at_end, 2)
    ]
    return [product > 0 for product in products if product != 0]


def _better_than_those_preferred(
    trials: Sequence[Trial], final_score_by_row: Mapping[int, float]
) -> list[bool]:
    """Of each row that was passed over, taken up later and ended, whether it ended better than all
    rows that had gone on from its rung meanwhile and ended too."""
    proposal_by_slot = {trial.proposal.slot: trial.proposal for trial in trials}
    continuations_by_rung: dict[tuple[int, int], list[Trial]] = defaultdict(list)  # by slot
    preferred_rows_of_row: dict[int, set[int]] = defaultdict(set)
    for trial in trials:
        continued_proposal = proposal_by_slot.get(
            -1 if trial.proposal.continues is None else trial.proposal.continues
        )
        if continued_proposal is None:
            continue
        continuations = continuations_by_rung[continued_proposal.bracket, continued_proposal.rung]
        preferred_rows = {
            continuation.proposal.row
            for continuation in continuations
            if continued_proposal.slot in continuation.proposal.seen
        }
        preferred_rows_of_row[continued_proposal.row] |= preferred_rows & final_score_by_row.keys()
        continuations.append(trial)
    return [
        final_score_by_row[row] < min(final_score_by_row[other_row] for other_row in other_rows)
        for row, other_rows in preferred_rows_of_row.items()
        if other_rows and row in final_score_by_row
    ]


def _most_trained_first(trials: Sequence[Trial]) -> list[Trial]:
    return sorted(
        trials, key=lambda trial: (-trial.proposal.rung, trial.score, trial.proposal.slot)
    )


def _stopped_training(trial: Trial) -> Stopped:
    proposal = trial.proposal
    assert trial.score is not None and proposal.epochs is not None  # as they were chosen
    return Stopped(proposal.slot, proposal.epochs, trial.score, dict(proposal.configuration))


def virtual_ends(search: Search, trials: Sequence[Trial]) -> dict[int, float]:
    """The virtual time in seconds at which each slot ends, of those before the first missing
    one."""
    seconds_before_gap = [
        trial.proposal.predicted_seconds
        for slot, trial in enumerate(trials)
        if trial.proposal.slot == slot
    ]
    return dict(enumerate(search.clock.ends(seconds_before_gap)))


def _stretches(search: Search, trials: Sequence[Trial]) -> tuple[Stretch, ...]:
    """The stretch of each slot on the virtual clock, in the order of the trials."""
    end_by_slot = virtual_ends(search, trials)
    place_by_row: dict[int, int] = {}
    stretches = []
    for trial in trials:
        slot = trial.proposal.slot
        row = trial.proposal.row
        end_seconds = end_by_slot.get(slot)
        begin_seconds = (
            None if end_seconds is None else end_seconds - trial.proposal.predicted_seconds
        )
        stretches.append(
            Stretch(
                slot,
                place_by_row.setdefault(row, len(place_by_row)),
                trial.proposal.rung,
                begin_seconds,
                end_seconds,
                trial.score,
            )
        )
    return tuple(stretches)
