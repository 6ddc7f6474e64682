"""hyperband: brackets that begin many trainings briefly or few of them longer, and halve them rung by rung.

With one worker the slots come in the order of the source's loops.  With several, none idles at a rung: it
begins in the next bracket.
Source: Li et al., *Hyperband* (2018), arXiv:1603.06560, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.search.spend.book import Begin, Book, Entry, GoOn, Move, best_of
from fovnet.search.spend.schedule import Schedule


def hyperband(book: Book) -> Move | None:
    """Goes on in the oldest bracket where a rung is complete, the most trained first; else begins in the
    oldest one that is not full.

    A rung is complete when all its members are seen; the best n_0 // η^i of them, fewer where fewer have a
    score, go on to rung i.  Where nothing is left to begin, a rung does not wait for those still running, and
    a bracket that begins too low to take up what others stopped is passed over.
    """
    for bracket in range(book.newest + book.schedule.last + 2):
        move = _beginning(book, bracket) or next(_promotions(book, bracket, waits=True), None)
        if move is not None:
            return move
    return next(
        (
            move
            for bracket in range(book.newest + 1)
            for move in _promotions(book, bracket, waits=False)
        ),
        None,
    )


def _reusable(book: Book, bracket: int, rung: int) -> list[Entry]:
    """The slots stopped below this rung in older, closed brackets: a bracket may continue them where it
    begins.  Older ones must have no further move, as they have when it is this bracket's turn.

    With a model that proposes many good rows at once, of which one is trained to the end, a search that lost
    the others for good missed the best of 1,000 rows in ten runs of twenty; with this it never did.
    """
    if not book.schedule.reuse:
        return []
    running = {entry.bracket for entry in book.entries if not entry.seen}
    return [
        one
        for one in book.paused
        if one.rung < rung and one.bracket < bracket and one.bracket not in running
    ]


def _beginning(book: Book, bracket: int) -> Begin | None:
    """To begin in a bracket, if it is not full, and a row is left to begin or to take up."""
    first, size = _first_rung(book.schedule, bracket), book.schedule.members(bracket)
    if len(book.rungs.get((bracket, first), ())) >= size:
        return None
    stopped = _reusable(book, bracket, first)
    return Begin(bracket, first, stopped) if book.free or stopped else None


def _promotions(book: Book, bracket: int, *, waits: bool) -> Iterator[GoOn]:
    """Who goes on in a bracket that is full, the most trained first."""
    for rung in reversed(_complete(book, bracket, waits)):
        for entry in best_of(book.rungs[bracket, rung])[: promoted(book.schedule, bracket, rung)]:
            if entry.slot not in book.gone_on:
                yield GoOn(entry.slot, bracket, rung + 1)


def _complete(book: Book, bracket: int, waits: bool) -> list[int]:
    """The rungs of a full bracket, below the last, whose members are all there and, if it `waits`, all
    seen."""
    complete: list[int] = []
    wanted = 1  # of the first rung whatever has begun: it is full
    for rung in range(_first_rung(book.schedule, bracket), book.schedule.last):
        members = book.rungs.get((bracket, rung), ())
        if len(members) < wanted or (waits and not all(entry.seen for entry in members)):
            break
        complete.append(rung)
        wanted = max(1, min(promoted(book.schedule, bracket, rung), len(best_of(members))))
    return complete


def promoted(schedule: Schedule, bracket: int, rung: int) -> int:
    """How many of a rung, at most, go on from it in a bracket: n_0 // η^i to its rung i."""
    share: int = schedule.eta ** (rung - _first_rung(schedule, bracket) + 1)
    return schedule.members(bracket) // share


def _first_rung(schedule: Schedule, bracket: int) -> int:
    return schedule.last - schedule.climbs(bracket)
