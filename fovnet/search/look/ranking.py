"""ranking: networks learn the order of the scores alone, and the row next tried is the one of best
places in their rankings of all free rows.

    n  trials with a score, sorted by it from the lowest
    M  members
    m  free rows likely to train
    s  scores of the members: the higher the better

Place 1 is the best.
Only the order of the losses and their ties are used, so that no increasing function of them changes
a proposal. Source of the loss, its weights and the ensemble of rankings: an MSc thesis on
hyper-parameter optimisation with ranking losses (Freiburg 2022); of what differs from it, the
expected improvement is of the logarithms of places, and the rate falls, so that the last bits of a
machine decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.acquisition import log_expected_improvement
from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.ranking_losses import LOSSES, find_tie_starts, weigh_places
from fovnet.maths.ranks import mean_ranks_by_row
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.guard import judge_prior
from fovnet.search.look.improvement import choose_by_single_model
from fovnet.search.look.uniform import choose_spread_among
from fovnet.search.look.view import Choice, Ranking, View, round_to_six_digits
from fovnet.search.prior import Prior, make_support
from fovnet.search.space import Space
from fovnet.search.trial import Forecast, Trial

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LONGEST_LIST = 128
"""Most rows in the list of an epoch."""
BEST_ROWS_IN_EVERY_LIST = 32
"""Of more rows than that, so many of the best are in every list; others are drawn anew."""
CHUNK = 8192
"""Rows scored at once: a layer of ten networks then takes 21 MB."""
DECIMALS = 9
"""Decimals of scores and of what is made of their places: members and machines that agree to this
far agree."""
PRIOR_EPOCHS_PER_ROW = 3
"""Epochs, for each row seen, for which the networks of a prior are trained further.  On three
recorded tables the best row was found after 8 draws in the mean, without it after 10, and with 300
epochs from the second row on, as of the source, after 15."""
PRIOR_RATES = (0.001, 0.00001)
"""The rates at which that training begins and ends."""
GUARDED_STEP = "gp-ei"
"""The step of a row that the Gaussian process chose, because the prior misleads."""
FEWEST_TO_SPLIT = 5
"""Rows of a list from which one in five is its support; of fewer, all are both."""
SQUASHING = 0.01
"""Of scores kept within a range k, as k·tanh(SQUASHING · s)."""
FEWEST_FORECASTS = 20
"""Recorded forecasts from which it is known how far the members' agreement deceives."""


def choose_by_ranking(view: View) -> Choice:
    """The free row, likely to train, of the greatest promise by its places in the members'
    rankings; ties at random.

    Without a prior the first slots are spread, and so are all before two scores differ: an order of
    one place teaches nothing.  With one, its networks propose from the first slot on, trained
    further on what is seen, unless it misleads; then the choice is that of gp-ei with a single
    model, and its step says so.
    """
    free_rows = np.flatnonzero(view.is_free)
    chances = Chances(view)
    if view.prior is None and view.begun_count < view.initial_count:
        return choose_spread_among(view, chances.rows_likely_to_fit(free_rows))
    candidate_rows = chances.rows_likely_to_train(free_rows)
    sorted_losses = sort_by_loss(*view.scored_losses)
    if view.prior is None and len(np.unique(sorted_losses.losses)) < 2:
        return choose_spread_among(view, candidate_rows)
    if _prior_misleads(view):
        return choose_by_single_model(view)._replace(step=GUARDED_STEP)
    ranker = fit_ranker(
        view.space, sorted_losses.fit_key, view.ranking, view.seed, view.slot, view.prior
    )
    unit_cube = view.space.unit_cube
    support = make_support(unit_cube[sorted_losses.rows], find_tie_starts(sorted_losses.losses))
    scored_rows = np.concatenate([candidate_rows, sorted_losses.rows])
    member_scores = score_rows(ranker, unit_cube, scored_rows, support)
    # with those of the best row seen, where there is one
    promise = promise_of_rows(member_scores[:, : len(candidate_rows) + 1], view)
    chosen_index = int(view.rng.choice(np.flatnonzero(promise == promise.max())))
    row = int(candidate_rows[chosen_index])
    if view.rung_epochs or not len(sorted_losses.rows):
        return Choice(row)
    seen_scores = member_scores[:, len(candidate_rows) :]
    forecast = forecast_by_places(
        view, sorted_losses, seen_scores, member_scores[:, chosen_index], row
    )
    return Choice(row, forecast)


def _prior_misleads(view: View) -> bool:
    """Whether there is a prior, guarded, that orders the rows seen worse than a Gaussian
    process."""
    if view.prior is None or not view.ranking.guard:
        return False
    verdict = judge_prior(view.prior, view)
    return verdict is not None and verdict.prior_misleads


@dataclass(frozen=True, eq=False)
class SortedLosses:
    """Rows and losses (n,) from the lowest loss, equal ones by their rows; the order in which they
    came is lost."""

    rows: Integers
    losses: Floats

    @property
    def fit_key(self) -> tuple[bytes, bytes]:
        """All that a fit depends on: rows and groups of ties."""
        return self.rows.tobytes(), find_tie_starts(self.losses).tobytes()


def sort_by_loss(rows: Integers, losses: Floats) -> SortedLosses:
    """The list of these rows and their losses."""
    order = np.lexsort((rows, losses))
    return SortedLosses(rows[order], losses[order])


@lru_cache(maxsize=8)
def fit_ranker(
    space: Space,
    fit_key: tuple[bytes, bytes],
    settings: Ranking,
    seed: int,
    slot: int,
    prior: Prior | None = None,
) -> Ranker:
    """The members, fitted to the list of a `fit_key`: from starts that seed and slot determine, or
    from the prior's networks, which stay as they are while no two rows differ."""
    sorted_rows, tie_starts = (
        np.frombuffer(array_bytes, dtype=np.int64) for array_bytes in fit_key
    )
    row_count = len(sorted_rows)
    points = space.unit_cube[sorted_rows]
    rng = np.random.default_rng([seed, slot])
    if prior is None:
        ranker = Ranker.draw(points.shape[1], settings.hidden, settings.members, rng)
    else:
        ranker = prior.ranker.copy()

    def draw_batch() -> Batch:
        """A list of rows and its support, both drawn anew where they are not all rows."""
        list_places = np.arange(row_count)
        if row_count > LONGEST_LIST:
            list_places = _draw_list_places(row_count, rng)
        support_places = list_places
        if ranker.deep_set is not None and len(list_places) >= FEWEST_TO_SPLIT:
            support_places = _draw_support_places(list_places, rng)
            list_places = np.setdiff1d(list_places, support_places)
        return Batch(
            points[list_places],
            make_support(points[support_places], find_tie_starts(tie_starts[support_places])),
            _loss_gradient(settings, find_tie_starts(tie_starts[list_places])),
        )

    if len(np.unique(tie_starts)) > 1:
        train(ranker, draw_batch, *_epochs_and_rates(settings, row_count, prior))
    return ranker


def _epochs_and_rates(
    settings: Ranking, row_count: int, prior: Prior | None
) -> tuple[int, float, float]:
    """Epochs of a fit to n rows, and the rates at which it begins and ends."""
    if prior is None:
        return settings.epochs, settings.rate, settings.rate_end
    return min(PRIOR_EPOCHS_PER_ROW * row_count, settings.epochs), *PRIOR_RATES


def _draw_support_places(list_places: Integers, rng: np.random.Generator) -> Integers:
    """A fifth of the places of a list, sorted: its support."""
    support_size = max(1, len(list_places) // FEWEST_TO_SPLIT)
    return np.sort(rng.choice(list_places, support_size, replace=False))


def _draw_list_places(row_count: int, rng: np.random.Generator) -> Integers:
    """The places (LONGEST_LIST,) that are in the list of an epoch."""
    other_places = BEST_ROWS_IN_EVERY_LIST + rng.choice(
        row_count - BEST_ROWS_IN_EVERY_LIST, LONGEST_LIST - BEST_ROWS_IN_EVERY_LIST, replace=False
    )
    return np.concatenate([np.arange(BEST_ROWS_IN_EVERY_LIST), np.sort(other_places)])


def _loss_gradient(settings: Ranking, tie_starts: Integers) -> Callable[[Floats], Floats]:
    """The gradient of the loss, a mean over the list, in the members' raw scores (M, n, 1)."""
    loss_and_gradient = LOSSES[settings.loss]
    place_weights = weigh_places(settings.weight, tie_starts)
    row_count = len(tie_starts)

    def gradient(raw_scores: Floats) -> Floats:
        """Of the loss of the scores as they are."""
        _, score_gradient = loss_and_gradient(raw_scores[..., 0], place_weights, tie_starts)
        return score_gradient[..., None] / row_count

    if settings.range is None:
        return gradient
    score_range = settings.range

    def gradient_within_range(raw_scores: Floats) -> Floats:
        """Of the loss of the scores kept within the range."""
        squashed_scores = np.tanh(SQUASHING * raw_scores)
        _, score_gradient = loss_and_gradient(
            score_range * squashed_scores[..., 0], place_weights, tie_starts
        )
        squashing_slope = SQUASHING * score_range * (1.0 - squashed_scores**2)
        return score_gradient[..., None] * squashing_slope / row_count

    return gradient_within_range


def score_rows(ranker: Ranker, unit_cube: Floats, rows: Integers, support: Floats) -> Floats:
    """The members' scores (M, m) of rows (m,), given a support (u, D + 1), rounded so that equal
    ones are ties on every machine."""
    row_chunks = np.split(rows, range(CHUNK, len(rows), CHUNK))
    scores_of_chunks = [ranker.scores(unit_cube[chunk], support) for chunk in row_chunks]
    member_scores: Floats = np.concatenate(scores_of_chunks, axis=1)
    return np.round(member_scores, DECIMALS)


def promise_of_rows(member_scores: Floats, view: View) -> Floats:
    """The promise (m,) of m rows by the acquisition, from the members' scores (M, m + 1), of which
    the last are those of the best row seen.

    While other rows are pending, members are weighted at random, and the workers' rows differ more
    (the Bayesian bootstrap of Rubin, *Ann. Stat.* 9 (1981) 130-134): on seven tables four workers
    then began 1.08 times as many rows as one, and 1.21 times without (21 races each, 100 epochs).
    """
    rng = view.rng
    member_weights = draw_member_weights(view, len(member_scores), rng)
    acquisition = ACQUISITIONS[_acquisition_name(view)]
    return np.round(acquisition(rank_scores(member_scores), member_weights, rng), DECIMALS)


def draw_member_weights(view: View, member_count: int, rng: np.random.Generator) -> Floats:
    """Weights (M,) of the members, of sum 1: drawn at random while other rows are pending, else
    equal."""
    if view.pending_rows:
        return rng.dirichlet(np.ones(member_count))
    return np.full(member_count, 1.0 / member_count)


def _acquisition_name(view: View) -> str:
    """The acquisition of the settings; without one, that which suits best with a prior, or without."""
    if view.ranking.acquisition is not None:
        return view.ranking.acquisition
    if view.prior is None:
        return "log-ei"
    return "mean-rank"


def rank_scores(member_scores: Floats) -> Floats:
    """The place of each score (M, m) within its member's; ties share their mean place."""
    return mean_ranks_by_row(-member_scores)


Acquisition = Callable[[Floats, Floats, np.random.Generator], Floats]
"""The promise (m,) of rows, from places (M, m + 1) in the members' rankings, the last that of the
best row seen, and the members' weights (M,)."""


def _expected_log_improvement(
    member_places: Floats, member_weights: Floats, rng: np.random.Generator
) -> Floats:
    """The log expected improvement (m,) of the logarithms of places on that of the best row
    seen."""
    log_places = np.log(member_places)
    mean = member_weights @ log_places
    variance = member_weights @ (log_places - mean) ** 2
    return log_expected_improvement(mean[:-1], variance[:-1], float(mean[-1]))


def _promise_of_drawn_member(
    member_places: Floats, member_weights: Floats, rng: np.random.Generator
) -> Floats:
    """Minus the places (m,) in the ranking of a member drawn at random."""
    return -member_places[rng.integers(len(member_places)), :-1]


def _promise_of_mean_place(
    member_places: Floats, member_weights: Floats, rng: np.random.Generator
) -> Floats:
    """Minus the mean place (m,) of each row."""
    return -(member_weights @ member_places)[:-1]


ACQUISITIONS: Mapping[str, Acquisition] = {
    "log-ei": _expected_log_improvement,
    "thompson": _promise_of_drawn_member,
    "mean-rank": _promise_of_mean_place,
}


def forecast_by_places(
    view: View, sorted_losses: SortedLosses, seen_scores: Floats, row_scores: Floats, row: int
) -> Forecast:
    """The forecast of a row: the places of its scores (M,) among those of the seen rows (M, n), as
    losses.

    The band is widened by how far earlier forecasts were out of place; before enough of them its
    lower end is open. No regret: ranks know no distances.
    """
    seen_count = len(sorted_losses.rows)
    better_counts = (seen_scores > row_scores[:, None]).sum(axis=1)
    not_worse_counts = (seen_scores >= row_scores[:, None]).sum(axis=1)
    places_among_seen = 0.5 + 0.5 * (better_counts + not_worse_counts)
    low_place, median_place, high_place = np.quantile(places_among_seen, [0.025, 0.5, 0.975])
    place_errors = relative_place_errors(view.trials)
    knows_margin = len(place_errors) >= FEWEST_FORECASTS
    if knows_margin:
        place_margin = seen_count * float(np.quantile(place_errors, 0.95))
        low_place = low_place - place_margin
        high_place = high_place + place_margin
    low_loss = None
    if knows_margin and low_place >= 1.0:
        low_loss = _loss_at_place(sorted_losses, low_place)
    high_loss = None
    if high_place <= seen_count:
        high_loss = _loss_at_place(sorted_losses, high_place)
    return Forecast(
        score=_loss_at_place(sorted_losses, median_place),
        low=low_loss,
        high=high_loss,
        chance_to_train=Chances(view).chance_of_row(row),
        expected_regret=None,
    )


def _loss_at_place(sorted_losses: SortedLosses, place: float) -> float:
    """The loss at a place, from 1, interpolated between those seen."""
    seen_places = np.arange(1.0, len(sorted_losses.losses) + 1.0)
    return round_to_six_digits(float(np.interp(place, seen_places, sorted_losses.losses)))


def relative_place_errors(trials: tuple[Trial, ...]) -> Floats:
    """|place forecast - place taken| / n of each trial with a forecast and a score, among the n
    scores its slot had seen."""
    loss_by_slot = {trial.proposal.slot: trial.score for trial in trials}
    place_errors = []
    for trial in trials:
        if trial.proposal.forecast is None or trial.score is None:
            continue
        losses_or_none = [loss_by_slot.get(slot) for slot in trial.proposal.seen_slots]
        losses_seen = np.array([loss for loss in losses_or_none if loss is not None])
        forecast_place = _relative_place(trial.proposal.forecast.score, losses_seen)
        taken_place = _relative_place(trial.score, losses_seen)
        place_errors.append(abs(forecast_place - taken_place))
    return np.array(place_errors)


def _relative_place(loss: float, other_losses: Floats) -> float:
    """The share of the other losses (n,) that are below a loss, equal ones counting a half."""
    return float(((other_losses < loss).mean() + (other_losses <= loss).mean()) / 2)
