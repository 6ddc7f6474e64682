"""ranking: networks learn the order of the scores alone, and the row next tried is the one of best
places in their rankings of all free rows.

    n  trials with a score, sorted by it from the lowest     M  members     m  free rows likely to train
    s  scores of the members: the higher the better          place 1 is the best

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
from scipy.stats import rankdata

from fovnet.maths.acquisition import log_expected_improvement
from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.ranking_losses import LOSSES, tie_starts, weights
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.gaussian import expected_improvement, six_digits
from fovnet.search.look.guard import judge
from fovnet.search.look.uniform import spread_among
from fovnet.search.look.view import Choice, Ranking, View
from fovnet.search.prior import Prior, support_of
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
FEWEST_FORECASTS = 20
"""Recorded forecasts from which it is known how far the members' agreement deceives."""


def best_ranked(view: View) -> Choice:
    """The free row, likely to train, of the greatest promise by its places in the members'
    rankings; ties at random.

    Without a prior the first slots are spread, and so are all before two scores differ: an order of
    one place teaches nothing.  With one, its networks propose from the first slot on, trained
    further on what is seen, unless it misleads; then the choice is that of gp-ei, and its step says
    so.
    """
    candidate_rows = np.flatnonzero(view.free)
    chances = Chances(view)
    if view.prior is None and view.begun < view.initial:
        return spread_among(view, chances.fitting(candidate_rows))
    candidate_rows = chances.likely(candidate_rows)
    sorted_losses = sort_by_loss(*view.scored)
    if view.prior is None and len(np.unique(sorted_losses.losses)) < 2:
        return spread_among(view, candidate_rows)
    if _prior_misleads(view):
        return expected_improvement(view)._replace(step=GUARDED_STEP)
    ranker = fit_ranker(
        view.space, sorted_losses.key, view.ranking, view.seed, view.slot, view.prior
    )
    support = support_of(view.space.unit_cube[sorted_losses.rows], tie_starts(sorted_losses.losses))
    member_scores = score_rows(
        ranker, view.space.unit_cube, np.concatenate([candidate_rows, sorted_losses.rows]), support
    )
    # with those of the best row seen, where there is one
    promise_of_rows = promises(member_scores[:, : len(candidate_rows) + 1], view)
    chosen_index = int(view.rng.choice(np.flatnonzero(promise_of_rows == promise_of_rows.max())))
    row = int(candidate_rows[chosen_index])
    if view.rungs or not len(sorted_losses.rows):
        return Choice(row)
    seen_scores = member_scores[:, len(candidate_rows) :]
    return Choice(
        row, forecast(view, sorted_losses, seen_scores, member_scores[:, chosen_index], row)
    )


def _prior_misleads(view: View) -> bool:
    """Whether there is a prior, guarded, that orders the rows seen worse than a Gaussian
    process."""
    if view.prior is None or not view.ranking.guard:
        return False
    verdict = judge(view.prior, view)
    return verdict is not None and verdict.misleads


@dataclass(frozen=True, eq=False)
class SortedLosses:
    """Rows and losses (n,) from the lowest loss, equal ones by their rows; the order in which they
    came is lost."""

    rows: Integers
    losses: Floats

    @property
    def key(self) -> tuple[bytes, bytes]:
        """All that a fit depends on: rows and groups of ties."""
        return self.rows.tobytes(), tie_starts(self.losses).tobytes()


def sort_by_loss(rows: Integers, losses: Floats) -> SortedLosses:
    """The list of these rows and their losses."""
    order = np.lexsort((rows, losses))
    return SortedLosses(rows[order], losses[order])


@lru_cache(maxsize=8)
def fit_ranker(
    space: Space,
    key: tuple[bytes, bytes],
    settings: Ranking,
    seed: int,
    slot: int,
    prior: Prior | None = None,
) -> Ranker:
    """The members, fitted to the list of a key: from starts that seed and slot determine, or from
    the prior's networks, which stay as they are while no two rows differ."""
    sorted_rows, group_starts = (np.frombuffer(array_bytes, dtype=np.int64) for array_bytes in key)
    points = space.unit_cube[sorted_rows]
    rng = np.random.default_rng([seed, slot])
    network_sizes = (points.shape[1], settings.hidden, settings.members)
    ranker = prior.ranker.copy() if prior else Ranker.draw(*network_sizes, rng)
    all_places = np.arange(len(sorted_rows))

    def draw_batch() -> Batch:
        list_places = (
            all_places
            if len(sorted_rows) <= LONGEST_LIST
            else _draw_list_places(len(sorted_rows), rng)
        )
        support_places = (
            list_places if ranker.task is None else _draw_support_places(list_places, rng)
        )
        if ranker.task is not None and len(list_places) >= 5:
            list_places = np.setdiff1d(list_places, support_places)
        return Batch(
            points[list_places],
            support_of(points[support_places], tie_starts(group_starts[support_places])),
            _loss_gradient(settings, tie_starts(group_starts[list_places])),
        )

    if len(np.unique(group_starts)) > 1:
        train(ranker, draw_batch, *_epochs_and_rates(settings, len(sorted_rows), prior))
    return ranker


def _epochs_and_rates(
    settings: Ranking, row_count: int, prior: Prior | None
) -> tuple[int, float, float]:
    """Epochs of a fit to n rows, and the rates at which it begins and ends."""
    if prior is None:
        return settings.epochs, settings.rate, settings.rate_end
    return min(PRIOR_EPOCHS_PER_ROW * row_count, settings.epochs), *PRIOR_RATES


def _draw_support_places(list_places: Integers, rng: np.random.Generator) -> Integers:
    """The part of a list that is its support: a fifth of it, all of fewer than five."""
    list_length = len(list_places)
    return (
        list_places
        if list_length < 5
        else np.sort(rng.choice(list_places, max(1, list_length // 5), replace=False))
    )


def _draw_list_places(row_count: int, rng: np.random.Generator) -> Integers:
    """The places (LONGEST_LIST,) that are in the list of an epoch."""
    other_places = BEST_ROWS_IN_EVERY_LIST + rng.choice(
        row_count - BEST_ROWS_IN_EVERY_LIST, LONGEST_LIST - BEST_ROWS_IN_EVERY_LIST, replace=False
    )
    return np.concatenate([np.arange(BEST_ROWS_IN_EVERY_LIST), np.sort(other_places)])


def _loss_gradient(settings: Ranking, group_starts: Integers) -> Callable[[Floats], Floats]:
    """The gradient of the loss, a mean over the list, in the members' raw scores (M, n, 1)."""
    loss_and_gradient = LOSSES[settings.loss]
    place_weights = weights(settings.weight, group_starts)
    if settings.range is None:
        return lambda scores: (
            loss_and_gradient(scores[..., 0], place_weights, group_starts)[1][..., None]
            / len(group_starts)
        )
    score_range = settings.range

    def gradient_within_range(scores: Floats) -> Floats:
        squashed_scores = np.tanh(0.01 * scores)
        return (
            loss_and_gradient(score_range * squashed_scores[..., 0], place_weights, group_starts)[
                1
            ][..., None]
            * (0.01 * score_range * (1.0 - squashed_scores**2))
            / len(group_starts)
        )

    return gradient_within_range


def score_rows(ranker: Ranker, unit_cube: Floats, rows: Integers, support: Floats) -> Floats:
    """The members' scores (M, rows), rounded so that equal ones are ties on every machine."""
    row_chunks = np.split(rows, range(CHUNK, len(rows), CHUNK))
    return np.round(
        np.concatenate([ranker.scores(unit_cube[chunk], support) for chunk in row_chunks], axis=1),
        DECIMALS,
    )


def promises(member_scores: Floats, view: View) -> Floats:
    """What the acquisition makes (m,) of scores (M, m + 1), of which the last are those of the best
    row seen.

    While other rows are pending, members are weighted at random, and the workers' rows differ more
    (the Bayesian bootstrap of Rubin, *Ann. Stat.* 9 (1981) 130-134): on seven tables four workers
    then began 1.08 times as many rows as one, and 1.21 times without (21 races each, 100 epochs).
    """
    rng = view.rng
    member_count = len(member_scores)
    member_weights = (
        rng.dirichlet(np.ones(member_count))
        if view.pending
        else np.full(member_count, 1.0 / member_count)
    )
    return np.round(
        ACQUISITIONS[_acquisition_name(view)](places(member_scores), member_weights, rng), DECIMALS
    )


def _acquisition_name(view: View) -> str:
    return view.ranking.acquisition or ("log-ei" if view.prior is None else "mean-rank")


def places(member_scores: Floats) -> Floats:
    """The place of each score (M, m) within its member's; ties share their mean place."""
    return np.asarray(rankdata(-member_scores, axis=1))


Acquisition = Callable[[Floats, Floats, np.random.Generator], Floats]


def _log_improvement(log_places: Floats, member_weights: Floats) -> Floats:
    mean = member_weights @ log_places
    variance = member_weights @ (log_places - mean) ** 2
    return log_expected_improvement(mean[:-1], variance[:-1], float(mean[-1]))


ACQUISITIONS: Mapping[str, Acquisition] = {
    "log-ei": lambda member_places, member_weights, rng: _log_improvement(
        np.log(member_places), member_weights
    ),
    "thompson": lambda member_places, member_weights, rng: (
        -member_places[rng.integers(len(member_places)), :-1]
    ),
    "mean-rank": lambda member_places, member_weights, rng: -(member_weights @ member_places)[:-1],
}


def forecast(
    view: View, sorted_losses: SortedLosses, seen_scores: Floats, row_scores: Floats, row: int
) -> Forecast:
    """The forecast of a row: the places of its scores (M,) among those of the seen rows (M, n), as
    losses.

    The band is widened by how far earlier forecasts were out of place; before enough of them its
    lower end is open. No regret: ranks know no distances.
    """
    seen_count = len(sorted_losses.rows)
    places_among_seen = 0.5 + 0.5 * (
        (seen_scores > row_scores[:, None]).sum(axis=1)
        + (seen_scores >= row_scores[:, None]).sum(axis=1)
    )
    place_errors = forecast_faults(view.trials)
    knows_margin = len(place_errors) >= FEWEST_FORECASTS
    place_margin = seen_count * float(np.quantile(place_errors, 0.95)) if knows_margin else 0.0
    low_place, median_place, high_place = np.quantile(places_among_seen, [0.025, 0.5, 0.975])
    low_place = low_place - place_margin
    high_place = high_place + place_margin
    chance_to_train = float(np.exp(Chances(view).log_chance(np.array([row]))[0]))
    return Forecast(
        score=_loss_at_place(sorted_losses, median_place),
        low=_loss_at_place(sorted_losses, low_place) if knows_margin and low_place >= 1.0 else None,
        high=_loss_at_place(sorted_losses, high_place) if high_place <= seen_count else None,
        chance_to_train=six_digits(chance_to_train),
        expected_regret=None,
    )


def _loss_at_place(sorted_losses: SortedLosses, place: float) -> float:
    """The loss at a place between those seen."""
    return six_digits(
        float(
            np.interp(place, np.arange(1.0, len(sorted_losses.losses) + 1.0), sorted_losses.losses)
        )
    )


def forecast_faults(trials: tuple[Trial, ...]) -> Floats:
    """|place forecast - place taken| / n of each trial with a forecast and a score, among the n
    scores its slot had seen."""
    loss_by_slot = {trial.proposal.slot: trial.score for trial in trials}
    place_errors = []
    for trial in trials:
        if trial.proposal.forecast is not None and trial.score is not None:
            losses_seen = np.array(
                [
                    loss
                    for slot in trial.proposal.seen
                    if (loss := loss_by_slot.get(slot)) is not None
                ]
            )
            foretold_place, place_taken = (
                ((losses_seen < loss_to_place).mean() + (losses_seen <= loss_to_place).mean()) / 2
                for loss_to_place in (trial.proposal.forecast.score, trial.score)
            )
            place_errors.append(abs(foretold_place - place_taken))
    return np.array(place_errors)
