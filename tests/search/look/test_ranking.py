"""ranking: what may not change a proposal, what the acquisitions and forecasts say, and that it learns."""

from dataclasses import replace

import numpy as np
import pytest

from fovnet.errors import SearchError
from fovnet.search.journal import open_journal, read_search, refuse_another_search
from fovnet.search.look import ranking
from fovnet.search.look.ranking import (
    choose_by_ranking,
    fit_ranker,
    forecast_by_places,
    promise_of_rows,
    rank_scores,
    relative_place_errors,
    sort_by_loss,
)
from fovnet.search.look.view import RANKING, Ranking
from fovnet.search.space import Space, row_places
from fovnet.search.trial import Forecast, Outcome, Proposal, Trial
from tests.search.test_methods import path, search_of, view_of

GRID = Space.of({"a": range(11), "b": range(5), "c": ["x", "y", "z"], "d": [False, True]})
SIZE = len(GRID)
ROWS = np.random.default_rng(7).permutation(SIZE)
LOSSES = np.round(np.random.default_rng(8).normal(size=SIZE), 1)  # with ties
NONE = GRID.unit_cube[:0]
QUICK, BRISK = Ranking(epochs=40), Ranking(epochs=100, members=5)


def bowl():
    """(SIZE,), least at a = 3, b = 4, c = y."""
    at = row_places(GRID)
    return (at[:, 0] - 0.3) ** 2 + (at[:, 1] - 1.0) ** 2 + 0.3 * (at[:, 2] != 1) + 0.01 * at[:, 3]


def view(losses, rows=ROWS, **changes):
    """As the slot after these trials sees it."""
    trials = [
        Trial(Proposal(i, int(row), {}, 0, (), (), 1.0), Outcome("completed", score=float(loss)))
        for i, (row, loss) in enumerate(zip(rows, losses, strict=False))
    ]
    free = np.ones(SIZE, dtype=bool)
    free[rows[: len(losses)]] = False
    return view_of(GRID, trials, **{"is_free": free, "ranking": QUICK, **changes})


@pytest.mark.parametrize("loss", ["list", "pair", "net", "point"])
@pytest.mark.parametrize(
    "increasing",
    [np.exp, lambda y: y**3, lambda y: y * 1e300, lambda y: np.unique(y, return_inverse=True)[1]],
    ids=["exp", "cube", "1e300", "rank"],
)
def test_an_increasing_function_of_the_losses_changes_no_proposal(loss, increasing):
    how = replace(QUICK, loss=loss)
    seen, mapped = (
        sort_by_loss(ROWS[:25], losses) for losses in (LOSSES[:25], increasing(LOSSES[:25]))
    )
    assert seen.fit_key == mapped.fit_key
    assert (
        choose_by_ranking(view(LOSSES[:25], ranking=how)).row
        == choose_by_ranking(view(increasing(LOSSES[:25]), ranking=how)).row
    )


def test_the_order_in_which_trials_came_changes_no_bit():
    order = np.random.default_rng(9).permutation(25)
    one, other = sort_by_loss(ROWS[:25], LOSSES[:25]), sort_by_loss(ROWS[order], LOSSES[order])
    assert one.fit_key == other.fit_key
    ranking.fit_ranker.cache_clear()
    before = fit_ranker(GRID, one.fit_key, QUICK, 0, 25).members.flat
    ranking.fit_ranker.cache_clear()
    assert (fit_ranker(GRID, other.fit_key, QUICK, 0, 25).members.flat == before).all()
    rows = np.concatenate([ROWS[order], ROWS[25:]])
    assert choose_by_ranking(view(LOSSES[order], rows)) == choose_by_ranking(view(LOSSES[:25]))


def test_the_scores_of_rows_follow_them_wherever_they_stand_also_beyond_a_chunk(monkeypatch):
    members = fit_ranker(GRID, sort_by_loss(ROWS[:25], LOSSES[:25]).fit_key, QUICK, 0, 25)
    whole = ranking.score_rows(members, GRID.unit_cube, np.arange(SIZE), NONE)
    assert np.abs(whole - members.scores(GRID.unit_cube, NONE)).max() < 1e-9
    monkeypatch.setattr(ranking, "CHUNK", 100)
    assert (ranking.score_rows(members, GRID.unit_cube, ROWS, NONE) == whole[:, ROWS]).all()


def test_the_last_bits_of_the_inputs_change_no_row():
    """Inputs changed by one part in 10^15 at every slot: the search takes the same path."""
    loss = bowl()

    def rows(seed, change):
        space = Space(GRID.axes, GRID.rows)
        space.__dict__["unit_cube"] = GRID.unit_cube * (1.0 + change)
        search = replace(search_of(space, "ranking", seed=seed), ranking=BRISK)
        return [
            one.proposal.row
            for one in path(
                search, lambda one: Outcome("completed", score=float(loss[one.row])), 20
            )
        ]

    assert all(rows(seed, 1e-15) == rows(seed, 0.0) for seed in range(4))


def test_from_long_lists_the_best_and_others_drawn_are_learned_and_their_ties_kept():
    drawn = [ranking._draw_list_places(300, np.random.default_rng(seed)) for seed in range(40)]
    assert all(
        (one[:32] == np.arange(32)).all() and (np.diff(one) > 0).all() and len(one) == 128
        for one in drawn
    )
    assert len(np.unique(np.concatenate(drawn))) == 300
    seen = sort_by_loss(ROWS[:300], bowl()[ROWS[:300]])
    members = fit_ranker(GRID, seen.fit_key, RANKING, 0, 300)
    mean = rank_scores(members.scores(GRID.unit_cube[seen.rows], NONE)).mean(axis=0)
    assert np.corrcoef(mean, np.arange(300))[0, 1] > 0.9


def test_range_control_keeps_the_odds_of_two_rows_below_its_bound():
    """exp of at most ±k: the loss then cannot fall as far, and the order is learned all the same."""
    seen = sort_by_loss(ROWS[:12], bowl()[ROWS[:12]])
    free, kept = (
        fit_ranker(GRID, seen.fit_key, replace(RANKING, range=k), 0, 12) for k in (None, 2.0)
    )
    spans = [
        np.ptp(one.scores(GRID.unit_cube[seen.rows], NONE), axis=1).mean() for one in (free, kept)
    ]
    assert spans[1] > 2.0 * spans[0]  # raw ones, which grow for the same odds
    assert (
        rank_scores(kept.scores(GRID.unit_cube[seen.rows], NONE)).mean(axis=0).argsort()[:3] < 4
    ).all()


def test_acquisitions_by_hand():
    """Three members rank two free rows and the best seen: 1, 3, 2 twice, and 3, 1, 2."""
    s = np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [1.0, 3.0, 2.0]])

    def of(name):
        return promise_of_rows(s, view(LOSSES[:9], ranking=Ranking(acquisition=name)))

    assert of("mean-rank") == pytest.approx([-5 / 3, -7 / 3])
    assert of("log-ei")[0] > of("log-ei")[1]
    assert of("thompson").tolist() in ([-1.0, -3.0], [-3.0, -1.0])
    assert (rank_scores(np.array([[5.0, 7.0, 5.0]])) == [[2.5, 1.0, 2.5]]).all()


def test_pending_rows_weigh_the_members_anew_and_none_weigh_them_alike():
    s = np.random.default_rng(3).normal(size=(10, 40))
    alone, beside = (
        promise_of_rows(s, view(LOSSES[:9], pending_rows=pending, ranking=RANKING))
        for pending in ((), (int(ROWS[20]),))
    )
    assert not np.allclose(alone, beside) and np.corrcoef(alone, beside)[0, 1] > 0.3


@pytest.mark.parametrize("losses", [[], [0.3], [0.3] * 9])
def test_without_two_different_losses_rows_are_spread_without_a_fit(losses):
    ranking.fit_ranker.cache_clear()
    choice = choose_by_ranking(view(np.array(losses), initial_count=1, slot=9))
    assert choice.forecast is None and ranking.fit_ranker.cache_info().misses == 0


@pytest.mark.parametrize(
    "how",
    [Ranking(members=1, epochs=5), Ranking(hidden=(), epochs=5), Ranking(hidden=(3,), epochs=1)],
)
def test_one_member_one_free_row_and_an_axis_of_one_level_are_no_special_cases(how):
    space = Space.of({"a": range(6), "b": [1]})
    search = replace(search_of(space, "ranking"), ranking=how)
    trials = path(search, lambda one: Outcome("completed", score=float(one.row)), 6)
    assert {one.proposal.row for one in trials} == set(range(6))


def recorded(count, wrong):
    """Trials with the losses 0, 1, 2, ..., each forecast to lie as many places off among those seen
    before."""
    trials = []
    for i in range(count):
        said = Forecast(float(i) - wrong - 0.25, None, None, 1.0, None)
        proposal = Proposal(
            i, int(ROWS[i]), {}, 0, tuple(range(i)), (), 1.0, said if i > 5 else None
        )
        trials.append(Trial(proposal, Outcome("completed", score=float(i))))
    return tuple(trials)


def test_a_forecast_is_the_loss_at_the_members_places_and_its_lower_end_open_until_20_were_made():
    seen = sort_by_loss(ROWS[:9], np.arange(9.0))
    known = np.tile(np.arange(9.0)[::-1], (3, 1))  # every member ranks the seen rows rightly
    middle = forecast_by_places(
        view(np.arange(9.0)), seen, known, np.array([5.5, 6.5, 4.5]), int(ROWS[9])
    )
    assert (middle.score, middle.low, middle.expected_regret, middle.chance_to_train) == (
        2.5,
        None,
        None,
        1.0,
    )
    assert middle.high == pytest.approx(3.45)
    best = forecast_by_places(view(np.arange(9.0)), seen, known, np.full(3, 99.0), int(ROWS[9]))
    worst = forecast_by_places(view(np.arange(9.0)), seen, known, np.full(3, -1.0), int(ROWS[9]))
    assert (best.score, best.high) == (0.0, 0.0) and (worst.score, worst.high) == (8.0, None)


def test_earlier_forecasts_out_of_place_widen_the_band_by_places():
    losses = np.arange(40.0)
    seen, known = sort_by_loss(ROWS[:40], losses), np.tile(-losses, (3, 1))
    sure, unsure = (
        forecast_by_places(
            replace(view(losses), trials=recorded(40, wrong)),
            seen,
            known,
            np.full(3, -20.5),
            int(ROWS[40]),
        )
        for wrong in (0, 3)
    )
    assert sure.score == unsure.score == 20.5 and (sure.low, sure.high) == (20.5, 20.5)
    assert unsure.low < 20.5 - 3 and unsure.high > 20.5 + 3
    assert relative_place_errors(recorded(40, 3)).max() == pytest.approx(3 / 6)
    assert len(relative_place_errors(recorded(6, 3))) == 0


def test_rows_near_divergences_are_left_alone():
    """All of a > 5 diverge, and the loss falls towards that cliff: few of the later trials go over it."""
    loss = -row_places(GRID)[:, 0]

    def outcome(one):
        return (
            Outcome("diverged")
            if one.configuration["a"] > 5
            else Outcome("completed", score=float(loss[one.row]))
        )

    search = replace(search_of(GRID, "ranking"), ranking=QUICK)
    late = [one.outcome.status for one in path(search, outcome, 30)[12:]]
    assert late.count("diverged") <= 4


def test_it_beats_chance_on_a_bowl():
    """25 trials each, three seeds."""
    loss = bowl()

    def end(method, seed):
        search = replace(search_of(GRID, method, seed=seed), ranking=BRISK)
        trials = path(search, lambda one: Outcome("completed", score=float(loss[one.row])), 25)
        return min(one.score for one in trials)

    ends = np.array([[end(method, seed) for method in ("ranking", "random")] for seed in range(3)])
    assert (ends[:, 0] <= ends[:, 1]).all() and np.median(ends[:, 0]) <= np.sort(loss)[2]


def test_the_settings_are_the_searchs_of_this_method_alone_and_its_journal_keeps_them(tmp_path):
    usual = search_of(GRID, "ranking")
    other = replace(usual, ranking=Ranking(loss="pair", hidden=(16, 8), range=2.0))
    assert usual.identity["ranking"]["hidden"] == [32, 32] and other.identity != usual.identity
    assert "ranking" not in search_of(GRID, "gp-ei").identity
    open_journal(tmp_path, other).write_header(30, 30, None, [])
    assert read_search(tmp_path).ranking == other.ranking
    with pytest.raises(
        SearchError, match=r"its search has ranking = .*'pair'.*journal-of-another-search"
    ):
        refuse_another_search(tmp_path, usual)
