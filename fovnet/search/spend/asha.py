"""asha: whoever is among the best of a rung goes on at once; else another configuration begins.

Nothing waits for a rung to be full, and nothing is lost for good: what is stopped goes on when
enough others have turned out worse.
Source: Li et al., *A system for massively parallel hyperparameter tuning* (2020), arXiv:1810.05934,
algorithm 2, one bracket from the first rung.
"""

from __future__ import annotations

from fovnet.search.spend.ledger import Begin, GoOn, Ledger, Move, sort_best_first


def spend_by_asha(ledger: Ledger) -> Move | None:
    """Goes on with a slot among the best |H| // η of the H seen on its rung, failures counted, the
    highest rung first; else begins another row; without one, goes on with the best that is stopped
    on the highest rung."""
    schedule = ledger.schedule
    for rung in reversed(range(schedule.last_rung)):
        seen_entries = [
            entry for entry in ledger.entries_by_rung.get((0, rung), ()) if entry.is_seen
        ]
        for entry in sort_best_first(seen_entries)[: len(seen_entries) // schedule.eta]:
            if entry.slot not in ledger.continued_slots:
                return GoOn(entry.slot, 0, rung + 1)
    if ledger.has_free_rows:
        return Begin(0, 0)
    highest_rung = max((entry.rung for entry in ledger.paused_entries), default=0)
    for best_entry in sort_best_first(
        entry for entry in ledger.paused_entries if entry.rung == highest_rung
    ):
        return GoOn(best_entry.slot, 0, highest_rung + 1)
    return None
