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
    choose,
    expected_improvement,
    improving,
    mixture_moments,
)
from fovnet.search.look.guard import left_out, wrong_pairs
from fovnet.search.look.hyperparameters import fit_subset
from fovnet.search.look.view import Choice, View
from fovnet.search.prior import EarlierSearch
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Forecast

Floats = NDArray[np.float64]

BOOTSTRAP_DRAWS = 256


def taught_improvement(view: View) -> Choice:
    """The choice of gp-ei under the weighted processes, from the first score on; without a prior
    gp-ei's."""
    if view.prior is None:
        return expected_improvement(view)
    return choose(replace(view, initial=1), improving, believe_taught, forecast_taught)


def believe_taught(view: View) -> Belief:
    """Mean Σ wᵢ μᵢ and variance Σ wᵢ² σᵢ² (1, M) of independent processes, given a prior and a
    score.

    Each is of the warped losses of its own search, of unit variance, so that no distance has a
    unit.  The best is the lowest mean of a known row.
    """
    own_belief = believe(view)
    modelling = view.modelling
    sources = view.prior.sources if view.prior else ()
    posteriors = [
        source_posterior(source, view.space, modelling.targets, modelling.kernel)
        for source in sources
    ]
    mean, variance = (
        np.stack(values_of_processes)
        for values_of_processes in zip(*posteriors, mixture_moments(own_belief), strict=True)
    )
    process_weights = weights(
        np.stack([*mean[:-1, own_belief.known], left_out(view)]), view.scored[1], view.rng
    )
    mean = process_weights @ mean
    variance = process_weights**2 @ variance
    return replace(
        own_belief,
        mean=mean[None],
        variance=variance[None],
        best=float(mean[own_belief.known].min()),
    )


def weights(predictions: Floats, losses: Floats, rng: np.random.Generator) -> Floats:
    """The weights (k + 1,) of processes by what they say (k + 1, n) of rows with these losses (n,),
    the search's own last; those that tie for a draw share it.

    An earlier one is out where its median over the draws is above the own one's 95 % quantile: many
    poor ones would else outweigh it by luck.
    """
    loss_count = len(losses)
    draw_counts = rng.multinomial(
        loss_count, np.full(loss_count, 1.0 / loss_count), size=BOOTSTRAP_DRAWS
    ).astype(np.float64)  # (S, n)
    wrong_pairs_in_draw = np.stack(
        [
            ((draw_counts @ wrong_pairs(prediction, losses)) * draw_counts).sum(axis=1)
            for prediction in predictions
        ]
    )
    is_left_out = np.median(wrong_pairs_in_draw[:-1], axis=1) > np.quantile(
        wrong_pairs_in_draw[-1], 0.95
    )
    wrong_pairs_in_draw[:-1][is_left_out] = np.inf
    has_fewest = wrong_pairs_in_draw == wrong_pairs_in_draw.min(axis=0)
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
    """The hyper-parameters, fitted to a part of the rows."""
    space = Space(axes, source.levels)
    warped_losses = TARGETS[targets](source.losses).values
    fitted_indices = fit_subset(warped_losses)
    return gp.fit(
        space.unit_cube[fitted_indices],
        warped_losses[fitted_indices],
        space.scales,
        KERNELS[kernel],
    )


def forecast_taught(view: View, belief: Belief, chances: Chances, row: int) -> Forecast:
    """The forecast of a row, by its place among what is believed of the rows seen."""
    rows = ranking.sort_by_loss(*view.scored).rows
    return forecast_among_seen(view, belief, belief.mean[0, rows], row)
