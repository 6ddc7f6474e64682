"""asha: whoever is among the best of a rung goes on at once; else another configuration begins.

Nothing waits for a rung to be full, and nothing is lost for good: what is stopped goes on when
enough others have turned out worse.
Source: Li et al., *A system for massively parallel hyperparameter tuning* (2020), arXiv:1810.05934,
algorithm 2, one bracket from the first rung.
"""

from __future__ import annotations

from fovnet.search.spend.ledger import Begin, GoOn, Ledger, Move, sort_best_first


def spend_by_asha(ledger: Ledger) -> Move | None:
    """Goes on with a slot among the best of its rung; else begins another row; without one, goes on
    with the best that is stopped on the highest rung."""
    promotion = next_promotion(ledger, 0)
    if promotion is not None:
        return promotion
    if ledger.has_free_rows:
        return Begin(0, 0)
    return resume_best(ledger)


def next_promotion(ledger: Ledger, first_rung: int) -> GoOn | None:
    """The next slot that goes on among the best |H| // η of the H seen on its rung, failures counted,
    the highest rung first and none below the first; None without one."""
    schedule = ledger.schedule
    for rung in reversed(range(first_rung, schedule.last_rung)):
        seen_entries = [entry for entry in ledger.entries_on(rung) if entry.is_seen]
        for entry in sort_best_first(seen_entries)[: len(seen_entries) // schedule.eta]:
            if entry.slot not in ledger.continued_slots:
                return GoOn(entry.slot, entry.bracket, rung + 1)
    return None


def resume_best(ledger: Ledger) -> GoOn | None:
    """Goes on with the best that is stopped on the highest rung; None if nothing is."""
    highest_rung = max((entry.rung for entry in ledger.paused_entries), default=0)
    for best_entry in sort_best_first(
        entry for entry in ledger.paused_entries if entry.rung == highest_rung
    ):
        return GoOn(best_entry.slot, best_entry.bracket, highest_rung + 1)
    return None
