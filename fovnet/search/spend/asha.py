"""asha: whoever is among the best of a rung goes on at once; else another configuration begins.

Nothing waits for a rung to be full, and nothing is lost for good: what is stopped goes on when
enough others have turned out worse.
Source: Li et al., *A system for massively parallel hyperparameter tuning* (2020), arXiv:1810.05934,
algorithm 2, one bracket from the first rung.
"""

from __future__ import annotations

from fovnet.search.spend.ledger import Begin, GoOn, Ledger, Move, best_of


def asha(ledger: Ledger) -> Move | None:
    """Goes on with a slot among the best |H| // η of the H seen on its rung, failures counted, the
    highest rung first; else begins another row; without one, goes on with the best that is stopped
    on the highest rung."""
    schedule = ledger.schedule
    for rung in reversed(range(schedule.last)):
        seen_entries = [entry for entry in ledger.rungs.get((0, rung), ()) if entry.is_seen]
        for entry in best_of(seen_entries)[: len(seen_entries) // schedule.eta]:
            if entry.slot not in ledger.continued_slots:
                return GoOn(entry.slot, 0, rung + 1)
    if ledger.any_free:
        return Begin(0, 0)
    highest_rung = max((entry.rung for entry in ledger.paused_entries), default=0)
    best_paused = best_of(entry for entry in ledger.paused_entries if entry.rung == highest_rung)
    return GoOn(best_paused[0].slot, 0, highest_rung + 1) if best_paused else None
