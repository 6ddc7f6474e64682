"""hyperband: brackets that begin many trainings briefly or few of them longer, and halve them rung
by rung.

With one worker the slots come in the order of the source's loops.  With several, none idles at a
rung: it begins in the next bracket.
Source: Li et al., *Hyperband* (2018), arXiv:1603.06560, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.search.spend.ledger import Begin, GoOn, Ledger, LedgerEntry, Move, best_of
from fovnet.search.spend.schedule import Schedule


def hyperband(ledger: Ledger) -> Move | None:
    """Goes on in the oldest bracket where a rung is complete, the most trained first; else begins
    in the oldest one that is not full.

    A rung is complete when all its members are seen; the best n_0 // η^i of them, fewer where fewer
    have a score, go on to rung i.  Where nothing is left to begin, a rung does not wait for those
    still running, and a bracket that begins too low to take up what others stopped is passed over.
    """
    for bracket in range(ledger.newest_bracket + ledger.schedule.last + 2):
        move = _begin_in(ledger, bracket) or next(
            _promotions(ledger, bracket, waits_for_all=True), None
        )
        if move is not None:
            return move
    for bracket in range(ledger.newest_bracket + 1):
        for promotion in _promotions(ledger, bracket, waits_for_all=False):
            return promotion
    return None


def _reusable_entries(ledger: Ledger, bracket: int, rung: int) -> list[LedgerEntry]:
    """The slots stopped below this rung in older, closed brackets: a bracket may continue them
    where it begins.  Older ones must have no further move, as they have when it is this bracket's
    turn.

    With a model that proposes many good rows at once, of which one is trained to the end, a search
    that lost the others for good missed the best of 1,000 rows in ten runs of twenty; with this it
    never did.
    """
    if not ledger.schedule.reuse:
        return []
    open_brackets = {entry.bracket for entry in ledger.entries if not entry.is_seen}
    return [
        entry
        for entry in ledger.paused_entries
        if entry.rung < rung and entry.bracket < bracket and entry.bracket not in open_brackets
    ]


def _begin_in(ledger: Ledger, bracket: int) -> Begin | None:
    """To begin in a bracket, if it is not full, and a row is left to begin or to take up."""
    first_rung = _first_rung(ledger.schedule, bracket)
    if len(ledger.rungs.get((bracket, first_rung), ())) >= ledger.schedule.members(bracket):
        return None
    stopped_entries = _reusable_entries(ledger, bracket, first_rung)
    if not ledger.any_free and not stopped_entries:
        return None
    return Begin(bracket, first_rung, stopped_entries)


def _promotions(ledger: Ledger, bracket: int, *, waits_for_all: bool) -> Iterator[GoOn]:
    """Who goes on in a bracket that is full, the most trained first."""
    for rung in reversed(_complete_rungs(ledger, bracket, waits_for_all)):
        promotion_count = promotions_from(ledger.schedule, bracket, rung)
        for entry in best_of(ledger.rungs[bracket, rung])[:promotion_count]:
            if entry.slot not in ledger.continued_slots:
                yield GoOn(entry.slot, bracket, rung + 1)


def _complete_rungs(ledger: Ledger, bracket: int, waits_for_all: bool) -> list[int]:
    """The rungs of a full bracket, below the last, whose members are all there and, if it
    `waits_for_all`, all seen."""
    rungs: list[int] = []
    expected_count = 1  # of the first rung whatever has begun: it is full
    for rung in range(_first_rung(ledger.schedule, bracket), ledger.schedule.last):
        members = ledger.rungs.get((bracket, rung), ())
        if len(members) < expected_count or (
            waits_for_all and not all(entry.is_seen for entry in members)
        ):
            break
        rungs.append(rung)
        expected_count = max(
            1, min(promotions_from(ledger.schedule, bracket, rung), len(best_of(members)))
        )
    return rungs


def promotions_from(schedule: Schedule, bracket: int, rung: int) -> int:
    """How many of a rung, at most, go on from it in a bracket: n_0 // η^i to its rung i."""
    divisor: int = schedule.eta ** (rung - _first_rung(schedule, bracket) + 1)
    return schedule.members(bracket) // divisor


def _first_rung(schedule: Schedule, bracket: int) -> int:
    return schedule.last - schedule.climbs(bracket)
