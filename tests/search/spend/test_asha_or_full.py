"""asha-or-full: what it counts, against a count of all groups; asha where rungs tell, full where not."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, sampled_from, tuples

from fovnet.search.search import is_possible
from fovnet.search.spend.asha_or_full import (
    agreements_by_rung,
    count_agreement,
    first_telling_rung,
)
from fovnet.search.spend.ledger import Ledger, LedgerEntry
from fovnet.search.spend.schedule import Schedule
from fovnet.search.trial import Outcome
from tests.search.spend.test_spends import LEVEL, constant, search_of, spent

SCORES = sampled_from([0.1, 0.2, 0.3, 0.4, 0.5])


@given(score_pairs=lists(tuples(SCORES, SCORES), max_size=8), eta=integers(2, 4))
def test_agreement_is_the_share_of_all_groups_whose_best_stays_best(score_pairs, eta):
    """Who ties with another is the best of no group with it; a row on one rung alone does not count."""
    lower_scores = {row: score for row, (score, _) in enumerate(score_pairs)}
    higher_scores = {row: score for row, (_, score) in enumerate(score_pairs)}
    groups = list(combinations(score_pairs, eta))
    agreeing_groups = [
        group
        for group in groups
        if any(
            all(best[0] < other[0] and best[1] < other[1] for other in group if other is not best)
            for best in group
        )
    ]
    share = len(agreeing_groups) / max(1, len(groups))
    agreement = count_agreement({**lower_scores, 99: 0.0}, higher_scores, eta)
    assert agreement.groups == len(score_pairs) / eta
    assert agreement.agreeing_groups == pytest.approx(share * agreement.groups)


def ledger_of(scores_by_row, schedule):
    """Trainings with these scores on rungs 0, 1, ...; None: failed there."""
    entries = []
    for row, scores in enumerate(scores_by_row):
        for rung, score in enumerate(scores):
            continued_slot = len(entries) - 1 if rung else None
            entries.append(
                LedgerEntry(len(entries), row, 0, rung, continued_slot, is_seen=True, score=score)
            )
    return Ledger(schedule, tuple(entries), has_free_rows=True)


def test_a_training_that_fails_later_is_worse_than_any():
    schedule = Schedule("asha-or-full", 3)
    failing_best = ledger_of([(0.1, None), (0.2, 0.5), (0.3, 0.6)], schedule)
    assert agreements_by_rung(failing_best) == [(0.0, 1.0)]
    failing_last = ledger_of([(0.1, 0.5), (0.2, 0.6), (0.3, None)], schedule)
    assert agreements_by_rung(failing_last) == [(1.0, 1.0)]


def test_rungs_are_believed_until_enough_was_seen_and_each_with_those_above_it():
    """Rung 0 in reversed order; rung 1 in that of the end, or reversed too."""
    schedule = Schedule("asha-or-full", 9)
    telling_from_1 = [(-score, score, score) for score in np.arange(30.0)]
    telling_never = [(score, -score, score) for score in np.arange(30.0)]
    assert first_telling_rung(ledger_of(telling_from_1[:4], schedule)) == 0
    assert first_telling_rung(ledger_of(telling_from_1, schedule)) == 1
    assert first_telling_rung(ledger_of(telling_never, schedule)) == 2


@pytest.mark.parametrize("workers", [1, 3])
def test_where_rungs_tell_it_is_asha(workers):
    """The scores on all rungs are those at the end."""
    by_kind = [
        spent(search_of(Schedule(kind, 27), workers=workers), 20, constant)
        for kind in ("asha", "asha-or-full")
    ]
    assert by_kind[0] == by_kind[1]


def at_random_before_the_end(proposal):
    """On no rung but the last the score has to do with the row's."""
    if proposal.epochs == 27:
        return Outcome("completed", score=float(LEVEL[proposal.row]))
    rng = np.random.default_rng([proposal.row, proposal.epochs])
    return Outcome("completed", score=float(10.0 + rng.normal()))


@given(workers=integers(1, 3), seed=integers(0, 5))
@settings(max_examples=6)
def test_where_no_rung_tells_nearly_all_are_trained_to_the_end(workers, seed):
    """Of the last quarter of the slots nearly all are of trainings that go on; asha stops two of three."""
    search = search_of(Schedule("asha-or-full", 27), workers=workers, seed=seed)
    trials = spent(search, 40, at_random_before_the_end)
    proposals = [trial.proposal for trial in trials]
    last_slots = range(3 * len(trials) // 4, len(trials))
    rows = {proposals[slot].row for slot in last_slots}
    ended_rows = {proposal.row for proposal in proposals if proposal.epochs == 27}
    assert len(rows & ended_rows) > 0.7 * len(rows)
    assert all(is_possible(search, proposals[:slot], proposals[slot]) for slot in last_slots)


def test_a_look_does_not_see_scores_from_rungs_that_do_not_tell_and_may_take_up_their_rows():
    """gp-ei with scores that are higher before the end: it would avoid all rows that were stopped."""
    search = search_of(Schedule("asha-or-full", 27), method="gp-ei")
    trials = spent(search, 30, at_random_before_the_end)
    proposals = [trial.proposal for trial in trials]
    taken_up = [
        proposal
        for proposal in proposals
        if proposal.continued_slot is not None
        and proposal.bracket != proposals[proposal.continued_slot].bracket
    ]
    assert taken_up and all(proposal.bracket == 1 for proposal in taken_up)
