"""ensemble-ei: what may not change a proposal, what its networks believe, and that it learns."""

import numpy as np

from fovnet.maths.acquisition import log_expected_improvement
from fovnet.maths.normal_likelihood import LEAST_VARIANCE
from fovnet.search.look import ranking
from fovnet.search.look.ensemble import believe_ensemble, choose_by_ensemble, forecast_ensemble
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.view import Modelling
from fovnet.search.space import Space, row_places
from fovnet.search.trial import Outcome
from tests.search.look.test_ranking import GRID, LOSSES, ROWS, bowl, view
from tests.search.test_methods import path, search_of


def test_the_row_is_that_of_greatest_expected_improvement_of_the_mixture_on_the_best_seen():
    seen = view(LOSSES[:25])
    belief, rows = believe_ensemble(seen), np.flatnonzero(seen.is_free)
    best = belief.target.values.min()
    value = log_expected_improvement(belief.mean[0, rows], belief.variance[0, rows], best)
    choice = choose_by_ensemble(seen)
    assert choice.row == rows[value.argmax()]
    assert choice.forecast.chance_to_train == 1.0 and choice.forecast.expected_regret is None


def test_the_order_in_which_trials_came_changes_no_bit():
    order = np.random.default_rng(9).permutation(25)
    rows = np.concatenate([ROWS[order], ROWS[25:]])
    assert choose_by_ensemble(view(LOSSES[order], rows)) == choose_by_ensemble(view(LOSSES[:25]))


def test_rows_beyond_a_chunk_are_believed_as_within_one(monkeypatch):
    whole = believe_ensemble(view(LOSSES[:25]))
    monkeypatch.setattr(ranking, "CHUNK", 100)
    parts = believe_ensemble(view(LOSSES[:25]))
    assert np.abs(parts.mean - whole.mean).max() < 2e-9
    assert np.abs(parts.variance - whole.variance).max() < 2e-9


def test_distances_count_as_the_targets_say():
    """Scale and shift change nothing; an increasing function does, unless ranks alone are modelled."""
    y = LOSSES[:25]
    assert choose_by_ensemble(view(8.0 * y)).row == choose_by_ensemble(view(y)).row
    raw, ranked = (Modelling(targets=targets) for targets in ("raw", "ranked"))
    means = [
        [believe_ensemble(view(of, modelling=how)).mean for of in (y, np.exp(y))]
        for how in (raw, ranked)
    ]
    assert np.abs(means[0][0] - means[0][1]).max() > 0.01 and (means[1][0] == means[1][1]).all()


def test_the_last_bits_of_the_inputs_change_no_row():
    """Inputs changed by one part in 10^15 at every slot: the search takes the same path."""
    loss = bowl()

    def rows(change):
        space = Space(GRID.axes, GRID.rows)
        space.__dict__["unit_cube"] = GRID.unit_cube * (1.0 + change)
        search = search_of(space, "ensemble-ei", seed=1)
        outcome = lambda one: Outcome("completed", score=float(loss[one.row]))  # noqa: E731
        return [one.proposal.row for one in path(search, outcome, 20)]

    assert rows(1e-15) == rows(0.0)


def test_pending_rows_weigh_the_members_anew():
    running = (), (int(ROWS[20]),)
    alone, beside = (
        believe_ensemble(view(LOSSES[:9], pending_rows=pending)).mean[0] for pending in running
    )
    assert not np.allclose(alone, beside) and np.corrcoef(alone, beside)[0, 1] > 0.3


def test_its_networks_are_new_at_every_slot():
    assert (
        believe_ensemble(view(LOSSES[:9])).mean != believe_ensemble(view(LOSSES[:9], slot=10)).mean
    ).mean() > 0.9


def test_it_knows_the_bowl_where_it_has_seen_rows_and_is_less_sure_where_it_has_not():
    """60 rows of a < 6, and the edge a = 10."""
    a = row_places(GRID)[:, 0]
    rows = np.concatenate([ROWS[a[ROWS] < 0.6], ROWS[a[ROWS] >= 0.6]])
    belief = believe_ensemble(view(bowl()[rows[:60]], rows))
    spread = belief.variance[0] - LEAST_VARIANCE
    assert np.median(spread[a < 0.6]) < 0.5 * np.median(spread[a == 1.0])
    near = np.setdiff1d(np.flatnonzero(a < 0.6), rows[:60])
    assert np.corrcoef(belief.target.score_of(belief.mean[0, near]), bowl()[near])[0, 1] > 0.9


def test_a_forecast_is_the_loss_at_the_places_of_the_belief_among_those_seen():
    """The losses 0 to 8; a row is believed between the fifth and the sixth, its upper end one place above."""
    seen = view(np.arange(9.0), modelling=Modelling(targets="raw"))
    belief, row = believe_ensemble(seen), int(ROWS[9])
    unit = belief.target.unit
    belief.mean[0, row], belief.variance[0, row] = (
        belief.target.values[4] + 0.2 / unit,
        (0.5 / unit) ** 2,
    )
    told = forecast_ensemble(seen, belief, Chances(seen), row)
    assert (told.score, told.low, told.high) == (4.5, None, 5.45)


def test_rows_near_divergences_are_left_alone():
    """All of a > 5 diverge, and the loss falls towards that cliff: few of the later trials go over it."""

    def outcome(one):
        at = one.configuration["a"]
        return Outcome("diverged") if at > 5 else Outcome("completed", score=-0.1 * at)

    late = [one.outcome.status for one in path(search_of(GRID, "ensemble-ei"), outcome, 25)[10:]]
    assert late.count("diverged") <= 6


def test_it_beats_chance_on_a_bowl():
    """25 trials each, two seeds."""
    loss = bowl()

    def end(method, seed):
        outcome = lambda one: Outcome("completed", score=float(loss[one.row]))  # noqa: E731
        return min(one.score for one in path(search_of(GRID, method, seed=seed), outcome, 25))

    ends = np.array(
        [[end(method, seed) for method in ("ensemble-ei", "random")] for seed in range(2)]
    )
    assert (ends[:, 0] <= ends[:, 1]).all() and np.median(ends[:, 0]) <= np.sort(loss)[2]
