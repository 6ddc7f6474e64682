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
from scipy.stats import rankdata

from fovnet.maths.gp import factor, leave_one_out
from fovnet.maths.kernels import KERNELS
from fovnet.maths.warping import TARGETS
from fovnet.search.look.hyperparameters import fit_hyperparameters
from fovnet.search.look.view import View
from fovnet.search.prior import Prior

Floats = NDArray[np.float64]
FEWEST_SCORES = 4
"""Scores from which a prior is judged."""


class GuardVerdict(NamedTuple):
    """Pairs of rows that the prior, and the Gaussian process, put in the wrong order, of so
    many."""

    prior: float
    process: float
    pairs: int

    @property
    def misleads(self) -> bool:
        """Whether the prior is the worse of the two."""
        return self.prior > self.process


def judge(prior: Prior, view: View) -> GuardVerdict | None:
    """The verdict on the scores of a view; None of fewer than FEWEST_SCORES, or where all are
    equal."""
    scored_rows, losses = view.scored
    row_count = len(scored_rows)
    points = view.space.unit_cube[scored_rows]
    if row_count < FEWEST_SCORES or losses.min() == losses.max():
        return None
    prior_places = raw_places(prior, points)
    left_out_scores = left_out(view)
    return GuardVerdict(
        misranked_pairs(prior_places, losses),
        misranked_pairs(left_out_scores, losses),
        row_count * (row_count - 1) // 2,
    )


def left_out(view: View) -> Floats:
    """The warped score (n,) that a Gaussian process expects of each row with one, given the
    others."""
    scored_rows, losses = view.scored
    modelling = view.modelling
    space = view.space
    hyperparameters = fit_hyperparameters(
        space, scored_rows, losses, modelling.targets, modelling.kernel
    )
    cholesky_factor = factor(
        space.unit_cube[scored_rows], hyperparameters, space.scales, KERNELS[modelling.kernel]
    )
    return leave_one_out(cholesky_factor, TARGETS[modelling.targets](losses).values)


def raw_places(prior: Prior, points: Floats) -> Floats:
    """The mean place (m,) of points (m, D) in the members' rankings, before anything of this search
    is known."""
    return np.asarray(
        rankdata(
            -prior.ranker.scores(points, np.zeros((0, points.shape[1] + 1))).round(9), axis=1
        ).mean(axis=0)
    )


def misranked_pairs(prediction: Floats, losses: Floats) -> float:
    """How many pairs of different losses (n,) are in another order by what was said of them (n,);
    those of which the same was said count a half."""
    return float(wrong_pairs(prediction, losses).sum() / 2)


def wrong_pairs(prediction: Floats, losses: Floats) -> Floats:
    """Of every two rows (n, n), 1 where they are in the wrong order."""
    order, truth = (
        np.sign(np.subtract.outer(values, values)) for values in (prediction.round(9), losses)
    )
    return np.where(truth != 0, 0.5 - 0.5 * order * truth, 0.0)
