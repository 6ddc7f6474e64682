"""gp-rgpe: expected improvement under a weighted sum of Gaussian processes, one of each earlier
search and that of the search itself.

    k  earlier searches          n  rows with a score          M  rows of the space          S  draws

A process weighs as much as the share of draws in which it puts the fewest pairs of rows in the
wrong order; that of the search is asked about each row given the others.  A draw is n of the n
rows, with replacement. Source: Feurer, Letham & Bakshy, *Scalable meta-learning for Bayesian
optimization* (2018), arXiv:1802.02219; there orders are drawn from the processes themselves, and
ties are broken in another way.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.maths import gp
from fovnet.maths.kernels import KERNELS
from fovnet.maths.warping import TARGETS
from fovnet.search.look import ranking
from fovnet.search.look.ensemble import forecast_among_seen
from fovnet.search.look.feasibility import Chances
from fovnet.search.look.gaussian import (
    Belief,
    believe,
    choose_from_best,
    moments_of_belief,
    most_improving_rows,
)
from fovnet.search.look.guard import misranking_matrix, predict_left_out
from fovnet.search.look.hyperparameters import choose_fitted_indices
from fovnet.search.look.improvement import choose_by_single_model
from fovnet.search.look.view import Choice, View
from fovnet.search.prior import EarlierSearch
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Forecast

Floats = NDArray[np.float64]

BOOTSTRAP_DRAWS = 256
OWN_QUANTILE = 0.95
"""Of the own process' wrong pairs over the draws: earlier ones with a median above it are out."""


def choose_by_taught_processes(view: View) -> Choice:
    """The choice of gp-ei under the weighted processes, from the first score on; without a prior
    gp-ei's with a single model."""
    if view.prior is None:
        return choose_by_single_model(view)
    return choose_from_best(
        replace(view, initial_count=1), most_improving_rows, believe_taught, forecast_taught
    )


def believe_taught(view: View) -> Belief:
    """Mean Σ wᵢ μᵢ and variance Σ wᵢ² σᵢ² (1, M) of independent processes, given a prior and a
    score.

    Each is of the warped losses of its own search, of unit variance, so that no distance has a
    unit.  The best is the lowest mean of a known row.
    """
    own_belief = believe(view)
    modelling = view.modelling
    means = []
    variances = []
    if view.prior is not None:
        for source in view.prior.sources:
            source_mean, source_variance = source_posterior(
                source, view.space, modelling.targets, modelling.kernel
            )
            means.append(source_mean)
            variances.append(source_variance)
    predictions = [mean[own_belief.known_rows] for mean in means]
    predictions.append(predict_left_out(view))
    process_weights = weigh_processes(np.stack(predictions), view.scored_losses.losses, view.rng)
    own_mean, own_variance = moments_of_belief(own_belief)
    mean = process_weights @ np.stack([*means, own_mean])
    variance = process_weights**2 @ np.stack([*variances, own_variance])
    return replace(
        own_belief,
        mean=mean[None],
        variance=variance[None],
        best_value=float(mean[own_belief.known_rows].min()),
    )


def weigh_processes(predictions: Floats, losses: Floats, rng: np.random.Generator) -> Floats:
    """The weights (k + 1,) of processes by their predictions (k + 1, n) of rows with these losses
    (n,), the search's own last; those that tie for a draw share it.

    An earlier one is out where its median over the draws is above the own one's 95 % quantile: many
    poor ones would else outweigh it by luck.
    """
    loss_count = len(losses)
    draw_counts = rng.multinomial(
        loss_count, np.full(loss_count, 1.0 / loss_count), size=BOOTSTRAP_DRAWS
    ).astype(np.float64)  # (S, n)
    wrong_pairs_of_processes = []
    for prediction in predictions:
        misranking = misranking_matrix(prediction, losses)
        wrong_pairs_of_processes.append(((draw_counts @ misranking) * draw_counts).sum(axis=1))
    wrong_pairs = np.stack(wrong_pairs_of_processes)  # (k + 1, S)
    wrong_pairs_limit = np.quantile(wrong_pairs[-1], OWN_QUANTILE)
    is_left_out = np.median(wrong_pairs[:-1], axis=1) > wrong_pairs_limit
    wrong_pairs[:-1][is_left_out] = np.inf
    has_fewest = wrong_pairs == wrong_pairs.min(axis=0)
    return np.asarray((has_fewest / has_fewest.sum(axis=0)).mean(axis=1))


@lru_cache(maxsize=32)
def source_posterior(
    source: EarlierSearch, space: Space, targets: str, kernel: str
) -> tuple[Floats, Floats]:
    """Mean and variance (M,) of every row, given an earlier search alone, warped as the scores are.

    For 300 rows and 34,300 to ask about 0.6 s with the fit, once for a search or a job.
    """
    source_points = Space(space.axes, source.levels).unit_cube
    warped_losses = TARGETS[targets](source.losses).values
    theta = _fit_theta(source, space.axes, targets, kernel)
    return gp.posterior(
        space.unit_cube, source_points, warped_losses, theta, space.scales, KERNELS[kernel]
    )


@lru_cache(maxsize=32)
def _fit_theta(source: EarlierSearch, axes: tuple[Axis, ...], targets: str, kernel: str) -> Floats:
    """The hyper-parameters (p + 2,) of an earlier search, fitted to a part of its rows."""
    space = Space(axes, source.levels)
    warped_losses = TARGETS[targets](source.losses).values
    fitted_indices = choose_fitted_indices(warped_losses)
    return gp.fit_theta(
        space.unit_cube[fitted_indices],
        warped_losses[fitted_indices],
        space.scales,
        KERNELS[kernel],
    )


def forecast_taught(view: View, belief: Belief, chances: Chances, row: int) -> Forecast:
    """The forecast of a row, by its place among what is believed of the rows seen."""
    rows = ranking.sort_by_loss(*view.scored_losses).rows
    return forecast_among_seen(view, belief, belief.mean[0, rows], row)
