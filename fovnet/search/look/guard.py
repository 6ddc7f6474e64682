"""The guard against a prior that misleads: is it worse at ordering the rows seen so far than a
Gaussian process?

    n  rows with a score
The process predicts each row from the others, the prior from none.  Both are judged on the same
rows, since the prior chose many of them: a count of its own would say little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.gp import factorise, leave_one_out
from fovnet.maths.kernels import KERNELS
from fovnet.maths.ranks import mean_ranks_by_row
from fovnet.maths.warping import TARGETS
from fovnet.search.look.hyperparameters import fit_hyperparameters
from fovnet.search.look.view import View
from fovnet.search.prior import Prior

Floats = NDArray[np.float64]
DECIMALS = 9
"""Decimals of scores and predictions: machines that agree to this far agree on ties."""
FEWEST_SCORES = 4
"""Scores from which a prior is judged."""


class GuardVerdict(NamedTuple):
    """Who orders the scores worse.

    prior_wrong_pairs, process_wrong_pairs  pairs of rows, of `pair_count`, that the prior and the
                   Gaussian process put in the wrong order; a tie counts a half
    """

    prior_wrong_pairs: float
    process_wrong_pairs: float
    pair_count: int

    @property
    def prior_misleads(self) -> bool:
        """Whether the prior is the worse of the two."""
        return self.prior_wrong_pairs > self.process_wrong_pairs


def judge_prior(prior: Prior, view: View) -> GuardVerdict | None:
    """The verdict on the scores of a view; None of fewer than FEWEST_SCORES, or where all are
    equal."""
    scored_rows, losses = view.scored_losses
    row_count = len(scored_rows)
    if row_count < FEWEST_SCORES or losses.min() == losses.max():
        return None
    prior_places = mean_prior_places(prior, view.space.unit_cube[scored_rows])
    return GuardVerdict(
        prior_wrong_pairs=count_misranked_pairs(prior_places, losses),
        process_wrong_pairs=count_misranked_pairs(predict_left_out(view), losses),
        pair_count=row_count * (row_count - 1) // 2,
    )


def predict_left_out(view: View) -> Floats:
    """The warped score (n,) that a Gaussian process expects of each row with one, given the
    others."""
    scored_rows, losses = view.scored_losses
    modelling = view.modelling
    space = view.space
    theta = fit_hyperparameters(space, scored_rows, losses, modelling.targets, modelling.kernel)
    cholesky_factor = factorise(
        space.unit_cube[scored_rows], theta, space.scales, KERNELS[modelling.kernel]
    )
    return leave_one_out(cholesky_factor, TARGETS[modelling.targets](losses).values)


def mean_prior_places(prior: Prior, points: Floats) -> Floats:
    """The mean place (m,) of points (m, D) in the members' rankings, before anything of this search
    is known."""
    no_support = np.zeros((0, points.shape[1] + 1))
    member_scores = prior.ranker.scores(points, no_support).round(DECIMALS)
    return np.asarray(mean_ranks_by_row(-member_scores).mean(axis=0))


def count_misranked_pairs(prediction: Floats, losses: Floats) -> float:
    """How many pairs of different losses (n,) are in another order by what was predicted of them
    (n,); those of equal predictions count a half."""
    return float(misranking_matrix(prediction, losses).sum() / 2)


def misranking_matrix(prediction: Floats, losses: Floats) -> Floats:
    """Of every two rows (n, n), 1 where predictions (n,) and losses (n,) have opposite orders, 0
    where the same or where the losses are equal, and 0.5 where only the predictions are equal."""
    rounded_prediction = prediction.round(DECIMALS)
    predicted_order = np.sign(np.subtract.outer(rounded_prediction, rounded_prediction))
    true_order = np.sign(np.subtract.outer(losses, losses))
    return np.where(true_order != 0, 0.5 - 0.5 * predicted_order * true_order, 0.0)
