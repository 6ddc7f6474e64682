"""The ways to spend by their names in a configuration file, and the checkpoints that they may still
need."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fovnet.choices import SpendKind
from fovnet.search.spend.asha import spend_by_asha
from fovnet.search.spend.asha_or_full import spend_by_asha_or_full
from fovnet.search.spend.hyperband import promotion_count, spend_by_hyperband
from fovnet.search.spend.ledger import Begin, Ledger, Move, Spend, sort_best_first


def train_to_end(ledger: Ledger) -> Move | None:
    """Every training to its last epoch: begins another configuration, as long as a row is left."""
    if not ledger.has_free_rows:
        return None
    return Begin(0, ledger.schedule.last_rung)


SPENDS: Mapping[SpendKind, Spend] = {
    "full": train_to_end,
    "hyperband": spend_by_hyperband,
    "asha": spend_by_asha,
    "asha-or-full": spend_by_asha_or_full,
}

SPARE_CHECKPOINTS = 4
"""Checkpoints that asha keeps for places lost for a while: without them one worker trains 1.0 to
1.7 % of all epochs again, with them at most 0.3 %, and keeps up to 15 instead of 6 (random and
gp-ei, 9 and 27 epochs, 200 slots)."""


def continuable_slots(ledger: Ledger, workers: int) -> Collection[int]:
    """The slots whose checkpoints are worth their space: with which the search may still go on.

    Of asha the best ⌈n/η⌉ + W + SPARE_CHECKPOINTS of the n on a rung; of hyperband those among the
    best of their rung so far, and with reuse all, as of asha-or-full.  Any other that goes on after all is trained from
    its first epoch, to the same result.
    """
    schedule = ledger.schedule
    kept_slots: set[int] = set()
    for (bracket, rung), entries_on_rung in ledger.entries_by_rung.items():
        kept_count = -(-len(entries_on_rung) // schedule.eta) + workers + SPARE_CHECKPOINTS
        if schedule.kind in ("hyperband", "asha-or-full"):
            kept_count = len(entries_on_rung)
        if schedule.kind == "hyperband" and not schedule.reuse:
            kept_count = promotion_count(schedule, bracket, rung)
        kept_slots |= {entry.slot for entry in sort_best_first(entries_on_rung)[:kept_count]}
    return {entry.slot for entry in ledger.paused_entries if entry.slot in kept_slots}
