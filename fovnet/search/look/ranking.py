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

LONGEST = 128
"""Most rows in the list of an epoch."""
ALWAYS = 32
"""Of more rows than that, so many of the best are in every list; others are drawn anew."""
CHUNK = 8192
"""Rows scored at once: a layer of ten networks then takes 21 MB."""
DIGITS = 9
"""Decimals of scores and of what is made of their places: members and machines that agree to this
far agree."""
AN_EPOCH = 3
"""Epochs, for each row seen, for which the networks of a prior are trained further.  On three
recorded tables the best row was found after 8 draws in the mean, without it after 10, and with 300
epochs from the second row on, as of the source, after 15."""
FINE = (0.001, 0.00001)
"""The rates at which that training begins and ends."""
GUARDED = "gp-ei"
"""The step of a row that the Gaussian process chose, because the prior misleads."""
ENOUGH_FORECASTS = 20
"""Recorded forecasts from which it is known how far the members' agreement deceives."""


def best_ranked(view: View) -> Choice:
    """The free row, likely to train, of the greatest promise by its places in the members'
    rankings; ties at random.

    Without a prior the first slots are spread, and so are all before two scores differ: an order of
    one place teaches nothing.  With one, its networks propose from the first slot on, trained
    further on what is seen, unless it misleads; then the choice is that of gp-ei, and its step says
    so.
    """
    rows = np.flatnonzero(view.free)
    chances = Chances(view)
    if view.prior is None and view.begun < view.initial:
        return spread_among(view, chances.fitting(rows))
    rows = chances.likely(rows)
    sorted_losses = sort_by_loss(*view.scored)
    if view.prior is None and len(np.unique(sorted_losses.losses)) < 2:
        return spread_among(view, rows)
    if _prior_misleads(view):
        return expected_improvement(view)._replace(step=GUARDED)
    members = fit_ranker(
        view.space, sorted_losses.key, view.ranking, view.seed, view.slot, view.prior
    )
    support = support_of(view.space.unit_cube[sorted_losses.rows], tie_starts(sorted_losses.losses))
    member_scores = score_rows(
        members, view.space.unit_cube, np.concatenate([rows, sorted_losses.rows]), support
    )
    # with those of the best row seen, where there is one
    promise = promises(member_scores[:, : len(rows) + 1], view)
    index = int(view.rng.choice(np.flatnonzero(promise == promise.max())))
    row = int(rows[index])
    if view.rungs or not len(sorted_losses.rows):
        return Choice(row)
    seen_scores = member_scores[:, len(rows) :]
    return Choice(row, forecast(view, sorted_losses, seen_scores, member_scores[:, index], row))


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
    rows, first = (np.frombuffer(part, dtype=np.int64) for part in key)
    x = space.unit_cube[rows]
    rng = np.random.default_rng([seed, slot])
    sizes = (x.shape[1], settings.hidden, settings.members)
    ranker = prior.ranker.copy() if prior else Ranker.draw(*sizes, rng)
    all_places = np.arange(len(rows))

    def batch() -> Batch:
        places = all_places if len(rows) <= LONGEST else _list_places(len(rows), rng)
        support_places = places if ranker.task is None else _support_places(places, rng)
        if ranker.task is not None and len(places) >= 5:
            places = np.setdiff1d(places, support_places)
        return Batch(
            x[places],
            support_of(x[support_places], tie_starts(first[support_places])),
            _slope(settings, tie_starts(first[places])),
        )

    if len(np.unique(first)) > 1:
        train(ranker, batch, *_training(settings, len(rows), prior))
    return ranker


def _training(settings: Ranking, n: int, prior: Prior | None) -> tuple[int, float, float]:
    """Epochs of a fit to n rows, and the rates at which it begins and ends."""
    if prior is None:
        return settings.epochs, settings.rate, settings.rate_end
    return min(AN_EPOCH * n, settings.epochs), *FINE


def _support_places(list_places: Integers, rng: np.random.Generator) -> Integers:
    """The part of a list that is its support: a fifth of it, all of fewer than five."""
    n = len(list_places)
    return list_places if n < 5 else np.sort(rng.choice(list_places, max(1, n // 5), replace=False))


def _list_places(n: int, rng: np.random.Generator) -> Integers:
    """The places (LONGEST,) that are in the list of an epoch."""
    other_places = ALWAYS + rng.choice(n - ALWAYS, LONGEST - ALWAYS, replace=False)
    return np.concatenate([np.arange(ALWAYS), np.sort(other_places)])


def _slope(settings: Ranking, first: Integers) -> Callable[[Floats], Floats]:
    """The gradient of the loss, a mean over the list, in the members' raw scores (M, n, 1)."""
    loss = LOSSES[settings.loss]
    c = weights(settings.weight, first)
    if settings.range is None:
        return lambda s: loss(s[..., 0], c, first)[1][..., None] / len(first)
    k = settings.range

    def within(s: Floats) -> Floats:
        bent = np.tanh(0.01 * s)
        return (
            loss(k * bent[..., 0], c, first)[1][..., None]
            * (0.01 * k * (1.0 - bent**2))
            / len(first)
        )

    return within


def score_rows(members: Ranker, cube: Floats, rows: Integers, support: Floats) -> Floats:
    """The members' scores (M, rows), rounded so that equal ones are ties on every machine."""
    parts = np.split(rows, range(CHUNK, len(rows), CHUNK))
    return np.round(
        np.concatenate([members.scores(cube[part], support) for part in parts], axis=1), DIGITS
    )


def promises(s: Floats, view: View) -> Floats:
    """What the acquisition makes (m,) of scores (M, m + 1), of which the last are those of the best
    row seen.

    While other rows are pending, members are weighted at random, and the workers' rows differ more
    (the Bayesian bootstrap of Rubin, *Ann. Stat.* 9 (1981) 130-134): on seven tables four workers
    then began 1.08 times as many rows as one, and 1.21 times without (21 races each, 100 epochs).
    """
    rng = view.rng
    count = len(s)
    share = rng.dirichlet(np.ones(count)) if view.pending else np.full(count, 1.0 / count)
    return np.round(ACQUISITIONS[_acquisition(view)](places(s), share, rng), DIGITS)


def _acquisition(view: View) -> str:
    return view.ranking.acquisition or ("log-ei" if view.prior is None else "mean-rank")


def places(s: Floats) -> Floats:
    """The place of each score (M, m) within its member's; ties share their mean place."""
    return np.asarray(rankdata(-s, axis=1))


Acquisition = Callable[[Floats, Floats, np.random.Generator], Floats]


def _improvement(log_place: Floats, share: Floats) -> Floats:
    mean = share @ log_place
    variance = share @ (log_place - mean) ** 2
    return log_expected_improvement(mean[:-1], variance[:-1], float(mean[-1]))


ACQUISITIONS: Mapping[str, Acquisition] = {
    "log-ei": lambda place, share, rng: _improvement(np.log(place), share),
    "thompson": lambda place, share, rng: -place[rng.integers(len(place)), :-1],
    "mean-rank": lambda place, share, rng: -(share @ place)[:-1],
}


def forecast(
    view: View, sorted_losses: SortedLosses, seen_scores: Floats, row_scores: Floats, row: int
) -> Forecast:
    """The forecast of a row: the places of its scores (M,) among those of the seen rows (M, n), as
    losses.

    The band is widened by how far earlier forecasts were out of place; before enough of them its
    lower end is open. No regret: ranks know no distances.
    """
    n = len(sorted_losses.rows)
    places_among_seen = 0.5 + 0.5 * (
        (seen_scores > row_scores[:, None]).sum(axis=1)
        + (seen_scores >= row_scores[:, None]).sum(axis=1)
    )
    faults = forecast_faults(view.trials)
    is_margin_known = len(faults) >= ENOUGH_FORECASTS
    margin = n * float(np.quantile(faults, 0.95)) if is_margin_known else 0.0
    low, median, high = np.quantile(places_among_seen, [0.025, 0.5, 0.975])
    low = low - margin
    high = high + margin
    chance = float(np.exp(Chances(view).log_chance(np.array([row]))[0]))
    return Forecast(
        score=_loss_at(sorted_losses, median),
        low=_loss_at(sorted_losses, low) if is_margin_known and low >= 1.0 else None,
        high=_loss_at(sorted_losses, high) if high <= n else None,
        chance_to_train=six_digits(chance),
        expected_regret=None,
    )


def _loss_at(sorted_losses: SortedLosses, place: float) -> float:
    """The loss at a place between those seen."""
    return six_digits(
        float(
            np.interp(place, np.arange(1.0, len(sorted_losses.losses) + 1.0), sorted_losses.losses)
        )
    )


def forecast_faults(trials: tuple[Trial, ...]) -> Floats:
    """|place forecast - place taken| / n of each trial with a forecast and a score, among the n
    scores its slot had seen."""
    losses = {trial.proposal.slot: trial.score for trial in trials}
    faults = []
    for trial in trials:
        if trial.proposal.forecast is not None and trial.score is not None:
            losses_then = np.array(
                [loss for slot in trial.proposal.seen if (loss := losses.get(slot)) is not None]
            )
            foretold_place, place_taken = (
                ((losses_then < loss_asked).mean() + (losses_then <= loss_asked).mean()) / 2
                for loss_asked in (trial.proposal.forecast.score, trial.score)
            )
            faults.append(abs(foretold_place - place_taken))
    return np.array(faults)
