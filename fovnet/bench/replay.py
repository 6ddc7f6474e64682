"""A search replayed on a table of recorded trainings: the rows it would have drawn, and when, had
it trained them itself.

    n             draws of a run
    W             workers
    virtual time  the recorded costs, taken in order by W workers
The method is given exactly the trials of a real search, in the order of the virtual clock, whose
predictions are the recorded costs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.spending import METHODS_OWN_SPENDING, ReplaySpending
from fovnet.bench.tables import RecordedTable
from fovnet.errors import SearchError
from fovnet.search.look.view import RANKING, RECOMMENDED, Modelling, Ranking
from fovnet.search.prior import Prior
from fovnet.search.search import Search, propose_slot
from fovnet.search.space import draw_nearest_free, row_places
from fovnet.search.spend.ledger import Spend
from fovnet.search.trial import Outcome, Proposal, Trial

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Slot(NamedTuple):
    """What a slot of a run trains: a row, from `epochs_before` epochs on to `epochs_after`."""

    row: int
    epochs_before: int
    epochs_after: int


@dataclass(frozen=True, eq=False)
class ReplayedSearch:
    """One run, slot by slot, (n,) each but the last.

    rows              trained
    loss              their losses at the end of a full training
    epochs            of the row's training at the end of the slot
    is_complete       whether these are all, and the training has not diverged
    rows_begun        by the end of the slot, in all
    epochs_spent      by the end of the slot, in all
    end_times         when it ended in virtual time
    proposal_seconds  the real seconds that its proposal took
    idle_share        of the workers' virtual time, spent waiting: one number
    """

    rows: Integers
    loss: Floats
    epochs: Integers
    is_complete: NDArray[np.bool_]
    rows_begun: Integers
    epochs_spent: Integers
    end_times: Floats
    proposal_seconds: Floats
    idle_share: float = 0.0

    def draws_until(self, loss: float) -> int | None:
        """The number of rows begun until one with a loss this low was trained to the end, None
        where the run ended before."""
        return self._count_until_goal(self.rows_begun, loss)

    def epochs_until(self, loss: float) -> int | None:
        """The number of epochs spent until a row with a loss this low was trained to the end, None
        where the run ended before."""
        return self._count_until_goal(self.epochs_spent, loss)

    def time_until(self, loss: float) -> float | None:
        """The virtual time at which a row with a loss this low was first trained to the end, None
        where the run ended before."""
        goal_times = self.end_times[self._meets_goal(loss)]
        if not len(goal_times):
            return None
        return float(goal_times.min())

    def _meets_goal(self, loss: float) -> NDArray[np.bool_]:
        """(n,) whether a slot has trained a row with a loss this low to the end."""
        return self.is_complete & (self.loss <= loss)

    def _count_until_goal(self, counts_by_slot: Integers, loss: float) -> int | None:
        """The count at the first slot that meets the goal; None if none does."""
        slots_at_goal = np.flatnonzero(self._meets_goal(loss))
        if not len(slots_at_goal):
            return None
        return int(counts_by_slot[slots_at_goal[0]])


def replay_from_slots(
    table: RecordedTable,
    slots: Sequence[Slot],
    end_times: Floats,
    proposal_seconds: Sequence[float],
    idle_share: float = 0.0,
) -> ReplayedSearch:
    """The run of these slots; a training costs fewer epochs where it diverges before.

    end_times         (n,) of the slots, in virtual time
    proposal_seconds  (n,) real seconds
    """
    rows, epochs_before, epochs_after = np.array(slots, dtype=np.int64).reshape(-1, 3).T
    last_epochs = np.minimum(epochs_after, table.last_epochs[rows])
    return ReplayedSearch(
        rows=rows,
        loss=table.loss[rows],
        epochs=last_epochs,
        is_complete=np.isfinite(table.scores[rows, epochs_after])
        & (epochs_after == table.full_epochs),
        rows_begun=np.cumsum(epochs_before == 0),
        epochs_spent=np.cumsum(last_epochs - epochs_before),
        end_times=end_times,
        proposal_seconds=np.array(proposal_seconds),
        idle_share=idle_share,
    )


def replay_in_succession(
    table: RecordedTable, slots: Sequence[Slot], proposal_seconds: Sequence[float]
) -> ReplayedSearch:
    """The run of these slots by one worker, which each cost their epochs' share of the row's full
    cost."""
    run_without_ends = replay_from_slots(table, slots, np.zeros(len(slots)), proposal_seconds)
    epochs_by_slot = np.diff(run_without_ends.epochs_spent, prepend=0)
    return replace(
        run_without_ends,
        end_times=np.cumsum(epochs_by_slot * table.cost[run_without_ends.rows] / table.full_epochs),
    )


def epochs_of_slot(table: RecordedTable, slot: Slot) -> int:
    """The epochs that a slot costs: fewer where its training diverges before."""
    return min(slot.epochs_after, int(table.last_epochs[slot.row])) - slot.epochs_before


class Searcher(Protocol):
    """A searcher with a state of its own, under the ask-and-tell interface."""

    def ask(self, is_free: NDArray[np.bool_]) -> Floats:
        """The point (d,) to train next, as `row_places` has them; `is_free` (M,) are the rows
        not trained yet."""

    def tell(self, row: int, loss: float) -> None:
        """Records the row that was trained and its loss, which need not be finite."""


class Thawing(Protocol):
    """A searcher that spends by the epoch: it may go on with any training that has not ended."""

    def ask(self, epochs_by_row: Integers) -> tuple[Floats, int]:
        """(point (d,), epochs up to which the row there is to be trained), given the epochs (M,)
        that each row has."""

    def tell(self, row: int, epochs: int, score: float) -> None:
        """Records the score that the row has after so many epochs, nan where it has diverged."""


def replay(
    table: RecordedTable,
    method: str,
    *,
    first_row: int,
    seed: int,
    draws: int,
    initial: int | None = None,
    workers: int = 1,
    modelling: Modelling = RECOMMENDED,
    ranking: Ranking = RANKING,
    lead: float = Search.lead,
    spending: ReplaySpending = METHODS_OWN_SPENDING,
    cap: int | None = None,
    prior: Prior | None = None,
    ends_at_best: bool = True,
) -> ReplayedSearch:
    """The run of a method from a first row.

    cap           epochs that may be spent in all; None: those of `draws` full trainings
    ends_at_best  whether the run ends once the best row of the table is trained to the end
    """
    cap = cap or draws * table.full_epochs
    search = Search(
        table.space,
        method,
        seed,
        workers=workers,
        start=first_row,
        initial=initial,
        predicted_seconds=table.cost,
        feasible=np.ones(len(table.space), dtype=bool),
        modelling=modelling,
        lead=lead,
        schedule=spending.make_schedule(method, table.full_epochs),
        ranking=ranking,
        prior=prior,
    )
    return replay_search(
        table, search, spending.make_spend(method, cap), cap=cap, ends_at_best=ends_at_best
    )


def replay_search(
    table: RecordedTable, search: Search, spending_policy: Spend, *, cap: int, ends_at_best: bool
) -> ReplayedSearch:
    """The run of a search over the rows of a table, whose proposals are answered from it.

    cap           epochs that may be spent in all
    ends_at_best  whether the run ends once the best row of the table is trained to the end
    """
    proposals: list[Proposal] = []
    trial_by_slot: dict[int, Trial] = {}
    slots: list[Slot] = []
    proposal_seconds: list[float] = []
    spent_epochs = 0
    while True:
        start_s = time.perf_counter()
        try:
            proposal = propose_slot(search, proposals, trial_by_slot, spending_policy)
        except SearchError as error:
            if error.code != "space-exhausted":
                raise
            break
        slot = Slot(proposal.row, proposal.begun_epochs, proposal.epochs or table.full_epochs)
        if spent_epochs + slot.epochs_after - slot.epochs_before > cap:
            break
        proposal_seconds.append(time.perf_counter() - start_s)
        proposals.append(proposal)
        slots.append(slot)
        trial_by_slot[proposal.slot] = Trial(proposal, outcome_of(table, slot))
        spent_epochs += epochs_of_slot(table, slot)
        if ends_at_best and trains_best_row(table, slot):
            break
    predicted_seconds = [proposal.predicted_seconds for proposal in proposals]
    end_times = np.array(search.clock.virtual_ends(predicted_seconds))
    busy_share = sum(predicted_seconds) / (search.workers * float(end_times.max()))
    return replay_from_slots(table, slots, end_times, proposal_seconds, max(0.0, 1.0 - busy_share))


def trains_best_row(table: RecordedTable, slot: Slot) -> bool:
    """Whether a slot trains the best row of the table to the end."""
    return slot.epochs_after == table.full_epochs and float(table.loss[slot.row]) == table.best_loss


def outcome_of(table: RecordedTable, slot: Slot) -> Outcome:
    """The recorded outcome of a slot's training, by the score of its last epoch."""
    score_at_end = float(table.scores[slot.row, slot.epochs_after])
    seconds = float(table.cost[slot.row]) * epochs_of_slot(table, slot) / table.full_epochs
    if np.isfinite(score_at_end):
        return Outcome("completed", score=score_at_end, seconds=seconds)
    return Outcome("diverged", seconds=seconds, message="recorded without a finite loss")


def replay_asking(
    table: RecordedTable, searcher: Searcher, *, first_row: int, seed: int, cap: int
) -> ReplayedSearch:
    """The run of a Searcher, ended as in `replay`; its seconds are those of ask and tell.

    A point that is no free row becomes the nearest free row, and the row that was trained is passed
    to `tell`.
    """
    return replay_thawing(
        table, _SearcherOfWholeTrainings(table, searcher), first_row=first_row, seed=seed, cap=cap
    )


class _SearcherOfWholeTrainings:
    """A Searcher, every row of which is trained to the end."""

    def __init__(self, table: RecordedTable, searcher: Searcher) -> None:
        self.searcher = searcher
        self.full_epochs = table.full_epochs
        self.axis_count = len(table.space.axes)
        self.is_begun = False

    def ask(self, epochs_by_row: Integers) -> tuple[Floats, int]:
        """A point, and the epochs of a full training; before the first row, which is given, any
        point."""
        point = np.zeros(self.axis_count)
        if self.is_begun:
            point = self.searcher.ask(epochs_by_row == 0)
        return point, self.full_epochs

    def tell(self, row: int, epochs: int, score: float) -> None:
        self.is_begun = True
        self.searcher.tell(row, score)


def replay_thawing(
    table: RecordedTable, searcher: Thawing, *, first_row: int, seed: int, cap: int
) -> ReplayedSearch:
    """The run of a searcher that spends by the epoch, ended as in `replay`; its seconds are those
    of ask and tell.

    The row trained is the nearest to the point among those with fewer epochs that have not
    diverged; the epochs it has are not paid again.
    """
    generator = np.random.default_rng([seed, len(table.space)])
    place_by_row = row_places(table.space)
    epochs_by_row = np.zeros(len(table.space), dtype=np.int64)
    slots: list[Slot] = []
    seconds_by_slot: list[float] = []
    spent_epochs = 0
    while True:
        start_s = time.perf_counter()
        point, epochs = searcher.ask(epochs_by_row)
        is_free_row = epochs_by_row < np.minimum(epochs, table.last_epochs)
        if not is_free_row.any():
            break
        row = first_row
        if slots:
            row = draw_nearest_free(table.space, place_by_row, point, is_free_row, generator)
        slot = Slot(row, int(epochs_by_row[row]), epochs)
        if spent_epochs + epochs - slot.epochs_before > cap:
            break
        searcher.tell(row, epochs, float(table.scores[row, epochs]))
        epochs_by_row[row] = min(epochs, int(table.last_epochs[row]))
        spent_epochs += int(epochs_by_row[row]) - slot.epochs_before
        # the same training, one epoch later
        if slots and slots[-1].row == row and slots[-1].epochs_after == slot.epochs_before:
            slots[-1] = Slot(row, slots[-1].epochs_before, epochs)
            seconds_by_slot[-1] += time.perf_counter() - start_s
        else:
            slots.append(slot)
            seconds_by_slot.append(time.perf_counter() - start_s)
        if trains_best_row(table, slot):
            break
    return replay_in_succession(table, slots, seconds_by_slot)
