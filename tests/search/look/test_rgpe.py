"""gp-rgpe: what the processes weigh, what is believed under the weights, and that earlier searches help."""

from dataclasses import replace

import numpy as np
import pytest

from fovnet.search.learn.training import Lessons, learn
from fovnet.search.look.gaussian import believe, moments_of_belief
from fovnet.search.look.guard import count_misranked_pairs
from fovnet.search.look.improvement import choose_by_single_model
from fovnet.search.look.rgpe import (
    BOOTSTRAP_DRAWS,
    believe_taught,
    choose_by_taught_processes,
    source_posterior,
    weigh_processes,
)
from fovnet.search.search import propose_slot
from fovnet.search.trial import Proposal, Trial
from tests.search.test_methods import path, search_of, view_of
from tests.search.test_prior import CENTRES, SIZE, SOURCES, SPACE, loss_of, scored, source

LOSSES = loss_of(CENTRES[4], 9)
ROWS = np.random.default_rng(3).permutation(SIZE)
ONCE = Lessons(steps=1, members=1, hidden=(2,))


def prior_of(sources):
    """A prior whose networks know nothing; its sources are all that counts here."""
    return learn(sources, SPACE.axes, ONCE, 0, checked=False)


LIKE = prior_of(SOURCES)
REVERSED = prior_of([source(-loss_of(centre, i)) for i, centre in enumerate(CENTRES[:4])])
SHUFFLED = prior_of([source(np.random.default_rng(i).permutation(LOSSES)) for i in range(4)])


def seen(n, prior, **changes):
    proposals = [Proposal(i, int(row), {}, 0, (), (), 1.0) for i, row in enumerate(ROWS[:n])]
    trials = [Trial(one, scored(LOSSES)(one)) for one in proposals]
    free = np.ones(SIZE, dtype=bool)
    free[ROWS[:n]] = False
    return view_of(SPACE, trials, **{"is_free": free, "prior": prior, **changes})


def test_weights_are_shares_of_draws_won_as_counted_plainly():
    """A process is out where half of the draws go worse than 19 of 20 of the own one's."""
    rng = np.random.default_rng(0)
    losses = rng.normal(size=7)
    said = np.stack([losses + noise * rng.normal(size=7) for noise in (0.3, 1.0, 9.0, 0.5)])
    counts = np.random.default_rng(5).multinomial(7, np.full(7, 1 / 7), size=BOOTSTRAP_DRAWS)
    draws = [np.repeat(np.arange(7), count) for count in counts]
    wrong = np.array(
        [[count_misranked_pairs(one[rows], losses[rows]) for rows in draws] for one in said]
    )
    fit = [i for i in range(4) if i == 3 or np.median(wrong[i]) <= np.quantile(wrong[3], 0.95)]
    won = np.zeros(4)
    for each in wrong.T:
        fewest = [i for i in fit if each[i] == min(each[fit])]
        won[fewest] += 1 / len(fewest)
    assert weigh_processes(said, losses, np.random.default_rng(5)) == pytest.approx(
        won / BOOTSTRAP_DRAWS, abs=1e-12
    )
    assert len(fit) < 4 and np.count_nonzero(won) > 1


def test_one_that_foretells_all_has_all_the_weight_and_before_two_scores_differ_all_weigh_alike():
    losses = np.arange(9.0)
    share = weigh_processes(np.stack([losses, -losses, -losses]), losses, np.random.default_rng(0))
    assert share == pytest.approx([1, 0, 0], abs=0.01)
    for few in (losses[:1], np.ones(5)):
        assert weigh_processes(np.stack([few, -few]), few, np.random.default_rng(0)).tolist() == [
            0.5,
            0.5,
        ]


def test_earlier_searches_that_mislead_are_left_out_and_the_belief_is_that_of_gp_ei():
    view = seen(20, REVERSED)
    mine, own = believe_taught(view), moments_of_belief(believe(view))
    assert (mine.mean[0] == own[0]).all() and (mine.variance[0] == own[1]).all()


def test_without_a_prior_it_is_gp_ei_with_a_single_model():
    for n in (1, 3, 12):
        assert choose_by_taught_processes(seen(n, None)) == choose_by_single_model(seen(n, None))


def test_what_an_earlier_search_says_knows_no_scale():
    """Half-ranked losses are standardised: metres or millimetres, from here or from there."""
    one = SOURCES[0]
    scaled = replace(one, losses=4096.0 * one.losses - 64.0)
    both = [source_posterior(each, SPACE, "half-ranked", "matern52") for each in (one, scaled)]
    for mine, other in zip(*both, strict=True):
        assert np.abs(mine - other).max() < 1e-6


def test_an_earlier_search_is_remembered_where_it_has_been_and_unsure_elsewhere():
    """Of the rows a < 5 it orders those seen, and is less sure of the others."""
    rows = np.flatnonzero(SPACE.rows[:, 0] < 5)
    losses = loss_of(CENTRES[0])
    mean, variance = source_posterior(source(losses, rows), SPACE, "half-ranked", "matern52")
    assert count_misranked_pairs(mean[rows], losses[rows]) < 0.1 * len(rows) * (len(rows) - 1) / 2
    assert np.median(variance[SPACE.rows[:, 0] == 8]) > 3 * np.median(variance[rows])


def test_a_forecast_is_by_place_and_knows_no_regret():
    view = seen(12, LIKE)
    choice, belief = choose_by_taught_processes(view), believe_taught(view)
    rows, losses = view.scored_losses
    place = 0.5 + (belief.mean[0, rows] < belief.mean[0, choice.row]).sum()
    said = np.interp(place, np.arange(1.0, 13.0), np.sort(losses))
    assert (
        choice.forecast.score == pytest.approx(said, rel=1e-5)
        and choice.forecast.expected_regret is None
    )


def taught(prior, **changes):
    return replace(search_of(SPACE, "gp-rgpe", **changes), prior=prior)


def test_a_proposal_follows_from_what_it_saw_beside_other_workers_too_and_comes_once():
    seconds = np.random.default_rng(0).uniform(1, 9, SIZE)
    search = taught(LIKE, workers=3, seconds=seconds)
    trials = path(search, scored(LOSSES), 14)
    proposals = [one.proposal for one in trials]
    assert len({one.row for one in proposals}) == 14
    for slot, proposal in enumerate(proposals):
        assert (
            propose_slot(search, proposals[:slot], {i: trials[i] for i in proposal.seen_slots})
            == proposal
        )


def left(search, losses, draws):
    """How far above the best the lowest loss is after so many draws."""
    return min(one.score for one in path(search, scored(losses), draws)) - losses.min()


def test_like_tasks_help_from_the_second_draw_on_and_shuffled_ones_do_little_harm():
    found = []
    for seed in range(6):
        losses = loss_of(CENTRES[4], 20 + seed)
        searches = (
            taught(LIKE, seed=seed),
            search_of(SPACE, "gp-ei", seed=seed),
            taught(SHUFFLED, seed=seed),
        )
        found.append(
            [left(one, losses, draws) for one, draws in zip(searches, (5, 5, 20), strict=True)]
        )
    like, own, shuffled = np.mean(found, axis=0)
    assert like < 0.5 * own and shuffled < 0.1 * np.std(LOSSES)
