"""How a replay spends epochs: as a search does, or by the baseline that shames half of this field.

    B  epochs to spend in all        R  of a full training
one-epoch: train a sample of rows for one epoch, keep the best few, and train those to the end.
Source: Egele et al., *Is one epoch all you need for multi-fidelity hyperparameter optimization?*
(2023), arXiv:2307.15422; the sizes of the sample and of the few are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from fovnet.choices import SpendKind
from fovnet.search.methods import METHODS
from fovnet.search.spend.ledger import Begin, GoOn, Ledger, Move, Spend, sort_best_first
from fovnet.search.spend.schedule import Schedule
from fovnet.search.spend.spends import SPENDS

ONE_EPOCH = "one-epoch"
WAYS_TO_SPEND = (*SPENDS, ONE_EPOCH)


@dataclass(frozen=True)
class ReplaySpending:
    """How a replay spends epochs.

    way    one of WAYS_TO_SPEND; None: the method's own
    eta    one of this many trainings on a rung continues
    least  epochs of the first rung
    reuse  whether hyperband may continue trainings that an earlier bracket stopped
    minutes  of the last rung, by the recorded costs in seconds; None: rungs are epochs
    """

    way: str | None = None
    eta: int = 3
    least: int = 1
    reuse: bool = True
    minutes: float | None = None

    def way_of(self, method: str) -> str:
        """The way in which a method spends, one of WAYS_TO_SPEND."""
        return self.way or METHODS[method].spend

    def make_schedule(self, method: str, epochs: int) -> Schedule:
        """The rungs for trainings of so many epochs; of one-epoch 1 and R.  Raises SearchError
        "search-schedule"."""
        way_of_method = self.way_of(method)
        if way_of_method == ONE_EPOCH:
            return Schedule("asha", epochs, max(2, epochs))
        return Schedule(
            cast(SpendKind, way_of_method),
            epochs,
            self.eta,
            self.least,
            self.reuse,
            minutes=self.minutes,
        )

    def make_spend(self, method: str, budget: int) -> Spend:
        """The policy that spends so many epochs in all."""
        way_of_method = self.way_of(method)
        if way_of_method == ONE_EPOCH:
            return spend_one_epoch(budget)
        return SPENDS[cast(SpendKind, way_of_method)]


METHODS_OWN_SPENDING = ReplaySpending()


def spend_one_epoch(budget: int) -> Spend:
    """The policy that begins B/2 rows, or as many as there are, for one epoch each, and goes on with
    the (B - n) // (R - 1) best of these n, the best first.

    budget  B, epochs in all; R are those of a full training
    The schedule must have the rungs 1 and R.
    """

    def choose_move(ledger: Ledger) -> Move | None:
        """The next slot to begin or to go on with; None where nothing is left to do."""
        one_epoch_entries = ledger.entries_by_rung.get((0, 0), ())
        if ledger.has_free_rows and len(one_epoch_entries) < budget / 2:
            return Begin(0, 0)
        continued_count = (budget - len(one_epoch_entries)) // (ledger.schedule.epochs - 1)
        best_to_continue = [
            entry
            for entry in sort_best_first(one_epoch_entries)[:continued_count]
            if entry.slot not in ledger.continued_slots
        ]
        if not best_to_continue:
            return None
        return GoOn(best_to_continue[0].slot, 0, ledger.schedule.last_rung)

    return choose_move
