"""The ways to spend by their names in a configuration file, and the checkpoints that they may still
need."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fovnet.search.spend.asha import asha
from fovnet.search.spend.hyperband import hyperband, promotions_from
from fovnet.search.spend.ledger import Begin, Ledger, Move, Spend, best_of
from fovnet.search.spend.schedule import Kind


def full(ledger: Ledger) -> Move | None:
    """Every training to its last epoch: begins another configuration, as long as a row is left."""
    return Begin(0, ledger.schedule.last) if ledger.any_free else None


SPENDS: Mapping[Kind, Spend] = {"full": full, "hyperband": hyperband, "asha": asha}

SPARE_CHECKPOINTS = 4
"""Checkpoints that asha keeps for places lost for a while: without them one worker trains 1.0 to
1.7 % of all epochs again, with them at most 0.3 %, and keeps up to 15 instead of 6 (random and
gp-ei, 9 and 27 epochs, 200 slots)."""


def may_go_on(ledger: Ledger, workers: int) -> Collection[int]:
    """The slots whose checkpoints are worth their space: with which the search may still go on.

    Of asha the best ⌈n/η⌉ + W + SPARE_CHECKPOINTS of the n on a rung; of hyperband those among the
    best of their rung so far, and with reuse all.  Any other that goes on after all is trained from
    its first epoch, to the same result.
    """
    schedule = ledger.schedule
    kept_slots: set[int] = set()
    for (bracket, rung), entries_on_rung in ledger.rungs.items():
        kept_count = -(-len(entries_on_rung) // schedule.eta) + workers + SPARE_CHECKPOINTS
        if schedule.kind == "hyperband":
            kept_count = len(entries_on_rung)
            if not schedule.reuse:
                kept_count = promotions_from(schedule, bracket, rung)
        kept_slots |= {entry.slot for entry in best_of(entries_on_rung)[:kept_count]}
    return {entry.slot for entry in ledger.paused_entries if entry.slot in kept_slots}
