"""A search replayed on a table of recorded trainings: the rows it would have drawn, and when, had it trained them itself.

    n  draws of a run            W  workers            virtual time  the recorded costs, taken in order by W workers
The method is given exactly the trials of a real search, in the order of the virtual clock, whose predictions are the recorded costs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.tables import Table
from fovnet.search.clock import LEAD
from fovnet.search.look.view import RECOMMENDED, Modelling
from fovnet.search.proposing import Search, propose_slot
from fovnet.search.space import nearest_free, places_of
from fovnet.search.trial import Outcome, Proposal, Trial

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Replay:
    """One run: the rows drawn (n,), their losses, when each ended in virtual time, and the real seconds each proposal took."""

    rows: NDArray[np.int64]
    loss: Floats
    ends: Floats
    seconds: Floats

    def draws_until(self, loss: float) -> int | None:
        """The number of draws until a loss this low, None where the run ended before."""
        found = np.flatnonzero(self.loss <= loss)
        return int(found[0]) + 1 if len(found) else None

    def time_until(self, loss: float) -> float | None:
        """The virtual time at which a training with a loss this low had ended, None where the run ended before."""
        found = self.ends[self.loss <= loss]
        return float(found.min()) if len(found) else None


class Searcher(Protocol):
    """A searcher with a state of its own, under the ask-and-tell interface.

    ask   the point (d,) to train next, as in `places_of`; free (M,) are the rows not trained yet
    tell  records the row that was trained and its loss, which need not be finite
    """

    def ask(self, free: NDArray[np.bool_]) -> Floats: ...

    def tell(self, row: int, loss: float) -> None: ...


def replay(
    table: Table, method: str, *, first_row: int, seed: int, draws: int, initial: int | None = None, workers: int = 1,
    modelling: Modelling = RECOMMENDED, lead: float = LEAD,
) -> Replay:
    """The run of a method from a first row, ended when the best row of the table is found, or after so many draws."""
    size = len(table.space)
    search = Search(table.space, method, seed, workers, first_row, initial, table.cost, np.ones(size, dtype=bool), modelling, lead=lead)
    proposals: list[Proposal] = []
    trials: dict[int, Trial] = {}
    seconds = []
    for slot in range(min(draws, size)):
        began = time.perf_counter()
        proposal = propose_slot(search, proposals, trials)
        seconds.append(time.perf_counter() - began)
        proposals.append(proposal)
        trials[slot] = Trial(proposal, _recorded(table, proposal.row))
        if table.loss[proposal.row] == table.best:
            break
    rows = np.array([proposal.row for proposal in proposals])
    ends = search.clock.ends(table.cost[rows].tolist())
    return Replay(rows, table.loss[rows], np.array(ends), np.array(seconds))


def replay_asking(table: Table, searcher: Searcher, *, first_row: int, seed: int, draws: int) -> Replay:
    """The run of a Searcher, ended as in `replay`; its seconds are those of ask and tell.

    A point that is no free row becomes the nearest free row, and the row that was trained is passed to `tell`.
    """
    rng = np.random.default_rng([seed, len(table.space)])
    places, free = places_of(table.space), np.ones(len(table.space), dtype=bool)
    rows, seconds = [], []
    for draw in range(min(draws, len(free))):
        began = time.perf_counter()
        row = nearest_free(table.space, places, searcher.ask(free), free, rng) if draw else first_row
        searcher.tell(row, float(table.loss[row]))
        seconds.append(time.perf_counter() - began)
        free[row] = False
        rows.append(row)
        if table.loss[row] == table.best:
            break
    drawn = np.array(rows)
    return Replay(drawn, table.loss[drawn], np.cumsum(table.cost[drawn]), np.array(seconds))


def _recorded(table: Table, row: int) -> Outcome:
    loss = float(table.loss[row])
    if np.isfinite(loss):
        return Outcome("completed", score=loss, seconds=float(table.cost[row]))
    return Outcome("diverged", seconds=float(table.cost[row]), message="recorded without a finite loss")
