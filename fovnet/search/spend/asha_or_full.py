"""asha-or-full: asha from the first rung on that tells who will be best; below it every training goes on.

    η  eta
    K  the last rung
A rung tells if of η trainings seen on it and on a higher one the best is the same on both more often
than the share of epochs that a comparison costs, 1/η for all and the rest for one of η.  Trainings
that went on show this without an epoch more, those that are not compared too, as they end on each
rung.  A search begins as asha and becomes full once the orders that it sees are surely none.
The rule is ours, measured against asha and full in `fovnet/bench/README.md`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import comb
from typing import NamedTuple

import numpy as np

from fovnet.search.spend.asha import next_promotion, resume_best
from fovnet.search.spend.ledger import Begin, GoOn, Ledger, Move

COMPARED = 0
UNCOMPARED = 1
"""Brackets: of trainings that are begun to be compared, and of those that go on in any case."""

TRUST = 6
"""Groups of η that agree, with which a search begins.  On five recorded tables whose rungs tell, 9 of
100 searches by asha then doubt them for a while; on a copy with scores in random order, all do after
3 to 7 full trainings.  Of the first 40 searches 2 doubt, with 4 groups 4 (after 2 to 6 full trainings
where they should), with 12 none (after 8 to 12)."""


def spend_by_asha_or_full(ledger: Ledger) -> Move | None:
    """As asha from the first telling rung on; a training begun while there is a rung that does not
    tell goes on to it at once.

    The Look may choose what was stopped below that rung as well, and does not see scores from
    there.
    """
    first_rung = first_telling_rung(ledger)
    for entry in ledger.paused_entries:
        if entry.bracket == UNCOMPARED and entry.rung < first_rung:
            return GoOn(entry.slot, UNCOMPARED, entry.rung + 1)
    promotion = next_promotion(ledger, first_rung)
    if promotion is not None:
        return promotion
    stopped_entries = [entry for entry in ledger.paused_entries if entry.rung < first_rung]
    if ledger.has_free_rows or stopped_entries:
        bracket = COMPARED if first_rung == 0 else UNCOMPARED
        return Begin(bracket, 0, stopped_entries, first_rung)
    return resume_best(ledger)


class Agreement(NamedTuple):
    """Of groups of η trainings, those whose best is the same on two rungs, and all; counted as if none
    shared a training."""

    agreeing_groups: float
    groups: float


def first_telling_rung(ledger: Ledger) -> int:
    """The first rung that tells, by its groups and those of the rungs above; K if none does.

    The lowest is believed before anything was seen, each other as much as those from the rung
    below it on.
    """
    eta = ledger.schedule.eta
    agreements = agreements_by_rung(ledger)
    cost_share = (2 * eta - 1) / eta**2
    believed_share = 1.0
    for rung in range(ledger.schedule.last_rung):
        agreeing_groups = sum(agreement.agreeing_groups for agreement in agreements[rung:])
        groups = sum(agreement.groups for agreement in agreements[rung:])
        believed_share = (TRUST * believed_share + agreeing_groups) / (TRUST + groups)
        if believed_share >= cost_share:
            return rung
    return ledger.schedule.last_rung


def agreements_by_rung(ledger: Ledger) -> list[Agreement]:
    """Of each rung below the last its agreement with all higher ones, of the trainings seen on both; one
    that failed there is worse than any."""
    score_by_rung: dict[int, dict[int, float]] = defaultdict(dict)  # by row
    for entry in ledger.entries:
        if entry.is_seen:
            score = np.inf if entry.score is None else entry.score
            score_by_rung[entry.rung][entry.row] = score
    agreements = []
    for rung in range(ledger.schedule.last_rung):
        with_higher_rungs = [
            count_agreement(score_by_rung[rung], score_by_rung[higher_rung], ledger.schedule.eta)
            for higher_rung in range(rung + 1, ledger.schedule.last_rung + 1)
        ]
        agreements.append(Agreement(*np.sum(with_higher_rungs, axis=0).tolist()))
    return agreements


def count_agreement(
    score_by_row: Mapping[int, float], higher_score_by_row: Mapping[int, float], eta: int
) -> Agreement:
    """The agreement of the scores on two rungs, of the rows that have both."""
    rows = sorted(score_by_row.keys() & higher_score_by_row.keys())
    scores = np.array([score_by_row[row] for row in rows])
    higher_scores = np.array([higher_score_by_row[row] for row in rows])
    is_worse_twice = (scores > scores[:, None]) & (higher_scores > higher_scores[:, None])
    # the best of a group on both rungs is that to which all others are worse on both
    agreeing_groups = sum(comb(int(count), eta - 1) for count in is_worse_twice.sum(axis=1))
    groups = len(rows) / eta
    return Agreement(groups * agreeing_groups / max(1, comb(len(rows), eta)), groups)
