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

from fovnet.bench.spending import ITS_OWN, ReplaySpending
from fovnet.bench.tables import RecordedTable
from fovnet.errors import SearchError
from fovnet.search.look.view import RANKING, RECOMMENDED, Modelling, Ranking
from fovnet.search.prior import Prior
from fovnet.search.search import Search, propose_slot
from fovnet.search.space import nearest_free, places_of
from fovnet.search.trial import Outcome, Proposal, Trial

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Slot(NamedTuple):
    """What a slot of a run trains: a row, from the epochs `begun` before to `epochs`."""

    row: int
    begun: int
    epochs: int


@dataclass(frozen=True, eq=False)
class ReplayedSearch:
    """One run, slot by slot, (n,) each.

    rows     trained
    loss     their losses at the end of a full training
    epochs   of the row's training at the end of the slot
    whole    whether these are all, and the training has not diverged
    drawn    rows begun by then
    spent    epochs spent by then in all
    ends     when it ended in virtual time
    seconds  the real seconds that its proposal took
    idle     share of the workers' virtual time that was spent waiting
    """

    rows: Integers
    loss: Floats
    epochs: Integers
    whole: NDArray[np.bool_]
    drawn: Integers
    spent: Integers
    ends: Floats
    seconds: Floats
    idle: float = 0.0

    def draws_until(self, loss: float) -> int | None:
        """The number of rows begun until one with a loss this low was trained to the end, None
        where the run ended before."""
        return self._count_until_goal(self.drawn, loss)

    def epochs_until(self, loss: float) -> int | None:
        """The number of epochs spent until then."""
        return self._count_until_goal(self.spent, loss)

    def time_until(self, loss: float) -> float | None:
        """The virtual time at which such a training had ended first, None where the run ended
        before."""
        goal_times = self.ends[self.meets(loss)]
        return float(goal_times.min()) if len(goal_times) else None

    def meets(self, loss: float) -> NDArray[np.bool_]:
        """The slots that have trained a row with a loss this low to the end."""
        return self.whole & (self.loss <= loss)

    def _count_until_goal(self, counts_by_slot: Integers, loss: float) -> int | None:
        slots_at_goal = np.flatnonzero(self.meets(loss))
        return int(counts_by_slot[slots_at_goal[0]]) if len(slots_at_goal) else None


def replay_of(
    table: RecordedTable,
    slots: Sequence[Slot],
    slot_ends: Floats,
    proposal_seconds: Sequence[float],
    idle_share: float = 0.0,
) -> ReplayedSearch:
    """The run of these slots; a training costs fewer epochs where it diverges before."""
    rows, epochs_before, epochs_after = np.array(slots, dtype=np.int64).reshape(-1, 3).T
    last_epochs = np.minimum(epochs_after, table.lasts[rows])
    return ReplayedSearch(
        rows=rows,
        loss=table.loss[rows],
        epochs=last_epochs,
        whole=np.isfinite(table.scores[rows, epochs_after]) & (epochs_after == table.epochs),
        drawn=np.cumsum(epochs_before == 0),
        spent=np.cumsum(last_epochs - epochs_before),
        ends=slot_ends,
        seconds=np.array(proposal_seconds),
        idle=idle_share,
    )


def in_succession(
    table: RecordedTable, slots: Sequence[Slot], proposal_seconds: Sequence[float]
) -> ReplayedSearch:
    """The run of these slots by one worker, which each cost their epochs' share of the row's full
    cost."""
    run_without_ends = replay_of(table, slots, np.zeros(len(slots)), proposal_seconds)
    epochs_by_slot = np.diff(run_without_ends.spent, prepend=0)
    return replace(
        run_without_ends,
        ends=np.cumsum(epochs_by_slot * table.cost[run_without_ends.rows] / table.epochs),
    )


def spent_in(table: RecordedTable, slot: Slot) -> int:
    """The epochs that a slot costs: fewer where its training diverges before."""
    return min(slot.epochs, int(table.lasts[slot.row])) - slot.begun


class Searcher(Protocol):
    """A searcher with a state of its own, under the ask-and-tell interface.

    ask   the point (d,) to train next, as in `places_of`; free (M,) are the rows not trained yet
    tell  records the row that was trained and its loss, which need not be finite
    """

    def ask(self, free: NDArray[np.bool_]) -> Floats: ...

    def tell(self, row: int, loss: float) -> None: ...


class Thawing(Protocol):
    """A searcher that spends by the epoch: it may go on with any training that has not ended.

    ask   a point (d,), and up to how many epochs to train the row there, given the epochs (M,) that
          each row has
    tell  records the score that the row has after so many epochs, nan where it has diverged
    """

    def ask(self, epochs: Integers) -> tuple[Floats, int]: ...

    def tell(self, row: int, epochs: int, score: float) -> None: ...


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
    spending: ReplaySpending = ITS_OWN,
    cap: int | None = None,
    prior: Prior | None = None,
    ends_at_best: bool = True,
) -> ReplayedSearch:
    """The run of a method from a first row, ended when the best row of the table is trained to the
    end, with `ends_at_best`, or before more than `cap` epochs are spent, without it those of so
    many full trainings."""
    cap = cap or draws * table.epochs
    spend_of_search = spending.spend(method, cap)
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
        schedule=spending.schedule(method, table.epochs),
        ranking=ranking,
        prior=prior,
    )
    proposals: list[Proposal] = []
    trial_by_slot: dict[int, Trial] = {}
    slots: list[Slot] = []
    proposal_seconds: list[float] = []
    spent_epochs = 0
    while True:
        start_s = time.perf_counter()
        try:
            proposal = propose_slot(search, proposals, trial_by_slot, spend_of_search)
        except SearchError as error:
            if error.code != "space-exhausted":
                raise
            break
        slot = Slot(proposal.row, proposal.begun, proposal.epochs or table.epochs)
        if spent_epochs + slot.epochs - slot.begun > cap:
            break
        proposal_seconds.append(time.perf_counter() - start_s)
        proposals.append(proposal)
        slots.append(slot)
        trial_by_slot[proposal.slot] = Trial(proposal, outcome_of(table, slot))
        spent_epochs += spent_in(table, slot)
        if ends_at_best and is_best(table, slot):
            break
    predicted_seconds = [proposal.predicted_seconds for proposal in proposals]
    slot_ends = np.array(search.clock.ends(predicted_seconds))
    busy_share = sum(predicted_seconds) / (workers * float(slot_ends.max()))
    return replay_of(table, slots, slot_ends, proposal_seconds, max(0.0, 1.0 - busy_share))


def is_best(table: RecordedTable, slot: Slot) -> bool:
    """Whether a slot trains the best row of the table to the end."""
    return slot.epochs == table.epochs and float(table.loss[slot.row]) == table.best


def outcome_of(table: RecordedTable, slot: Slot) -> Outcome:
    """The recorded outcome of a slot's training, by the score of its last epoch."""
    score_at_end = float(table.scores[slot.row, slot.epochs])
    seconds = float(table.cost[slot.row]) * spent_in(table, slot) / table.epochs
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
        self.epochs = table.epochs
        self.first_point = np.zeros(len(table.space.axes))
        self.is_begun = False

    def ask(self, epochs: Integers) -> tuple[Floats, int]:
        point = self.searcher.ask(epochs == 0) if self.is_begun else self.first_point
        return point, self.epochs

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
    row_places = places_of(table.space)
    epochs_by_row = np.zeros(len(table.space), dtype=np.int64)
    slots: list[Slot] = []
    seconds_by_slot: list[float] = []
    spent_epochs = 0
    while True:
        start_s = time.perf_counter()
        point, epochs = searcher.ask(epochs_by_row)
        is_free_row = epochs_by_row < np.minimum(epochs, table.lasts)
        if not is_free_row.any():
            break
        row = (
            nearest_free(table.space, row_places, point, is_free_row, generator)
            if slots
            else first_row
        )
        slot = Slot(row, int(epochs_by_row[row]), epochs)
        if spent_epochs + epochs - slot.begun > cap:
            break
        searcher.tell(row, epochs, float(table.scores[row, epochs]))
        epochs_by_row[row] = min(epochs, int(table.lasts[row]))
        spent_epochs += int(epochs_by_row[row]) - slot.begun
        # the same training, one epoch later
        if slots and slots[-1].row == row and slots[-1].epochs == slot.begun:
            slots[-1] = Slot(row, slots[-1].begun, epochs)
            seconds_by_slot[-1] += time.perf_counter() - start_s
        else:
            slots.append(slot)
            seconds_by_slot.append(time.perf_counter() - start_s)
        if is_best(table, slot):
            break
    return in_succession(table, slots, seconds_by_slot)
