"""The weight of each member in the ensemble's mean.

    members  (p, s, k) each member's probabilities of validation slices
    truth    (s, k) bool, one label or two a slice
    groups   (s,) the subject of each slice
    weights  (p,) sum to one
    loss     mean over the slices of -Σ_c share_c log p_c; the target of a slice with two labels is
             half of each

equal    1/p each.
greedy   forward selection with replacement: each step adds the member whose mean with those picked
         before has the least loss, and the best mean of all steps is kept: Caruana et al. (2004),
         *Ensemble selection from libraries of models*, ICML, section 2.1.
by-loss  ∝ exp(-n · loss): pseudo-Bayesian model averaging, Yao et al. (2018), Bayesian Analysis
         13:917, eq. 4, with n the number of subjects: slices of one body are not independent, and
         their number as n would leave a single member.
auto     whichever of these has the least loss on held-out subjects (five folds); ties go to the
         first in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from fovnet.decision.calibrations import label_shares

Floats = NDArray[np.float64]
Members = NDArray[np.floating]
GREEDY_PICKS = 50  # picks of the greedy way: weights are multiples of 1/n, n at most 50
FOLD_COUNT = 5
LEAST_PROBABILITY = 1e-12  # lower bound of a probability in a logarithm


@dataclass(frozen=True)
class Weighing:
    """The weights of the members, and how they were found.

    way_name              the way of WEIGHTS_BY_WAY that gave them
    weights               (p,) sum to one
    loss_by_way           the loss of every way on the validation slices that it was fitted to
    held_out_loss_by_way  its loss on held-out subjects
    """

    way_name: str
    weights: Floats
    loss_by_way: Mapping[str, float]
    held_out_loss_by_way: Mapping[str, float]


def weigh_by_way(
    members: Members, truth: NDArray[np.bool_], groups: NDArray[np.int64], way: str = "auto"
) -> Weighing:
    """The members' weights by a way of WEIGHTS_BY_WAY, or by the best of them ("auto"), with the
    losses of all ways."""
    shares = label_shares(truth)
    loss_by_way = {
        way_name: log_loss(mean_by_weights(members, weights_of(members, shares, groups)), shares)
        for way_name, weights_of in WEIGHTS_BY_WAY.items()
    }
    held_out_loss_by_way = _held_out_losses(members, shares, groups)
    best_way = way
    if way == "auto":
        # the first of equals: equal
        best_way = min(held_out_loss_by_way, key=lambda way_name: held_out_loss_by_way[way_name])
    return Weighing(
        best_way,
        WEIGHTS_BY_WAY[best_way](members, shares, groups),
        loss_by_way,
        held_out_loss_by_way,
    )


def mean_by_weights(members: Members, weights: Floats) -> Floats:
    """The weighted mean (s, k) of the members (p, s, k), in float64."""
    weighted_sum = np.zeros(members.shape[1:])
    # one after another: no second copy of all of them
    for weight, member in zip(weights, members, strict=True):
        if weight:
            weighted_sum += weight * member
    return weighted_sum


def log_loss(probabilities: Floats, shares: Floats) -> float:
    """Mean of -Σ share log p over the slices."""
    return float(
        -(shares * np.log(np.maximum(probabilities, LEAST_PROBABILITY))).sum(axis=1).mean()
    )


def weigh_equally(members: Members, shares: Floats, groups: NDArray[np.int64]) -> Floats:
    """Equal weights."""
    return np.full(len(members), 1.0 / len(members))


def weigh_greedily(members: Members, shares: Floats, groups: NDArray[np.int64]) -> Floats:
    """Shares of the picks up to the step of least loss: on these slices never worse than the best
    single member."""
    # (p, q): only probabilities of the true labels matter
    likelihoods = np.stack([_true_label_probabilities(member, shares) for member in members])
    slice_weights = shares[shares > 0] / len(shares)
    pick_counts = np.zeros(len(members), dtype=np.int64)
    likelihood_sum = np.zeros(likelihoods.shape[1])
    best_loss = np.inf
    best_pick_counts = pick_counts
    for step in range(1, GREEDY_PICKS + 1):
        loss_by_member = (
            -np.log(np.maximum((likelihood_sum + likelihoods) / step, LEAST_PROBABILITY))
            @ slice_weights
        )
        picked_member = int(loss_by_member.argmin())
        pick_counts = pick_counts + (np.arange(len(members)) == picked_member)
        likelihood_sum = likelihood_sum + likelihoods[picked_member]
        if loss_by_member[picked_member] < best_loss - LEAST_PROBABILITY:
            best_loss = float(loss_by_member[picked_member])
            best_pick_counts = pick_counts
    return np.asarray(best_pick_counts / best_pick_counts.sum())


def weigh_by_loss(members: Members, shares: Floats, groups: NDArray[np.int64]) -> Floats:
    """Softmax of minus the loss, in units of one subject's evidence."""
    loss_by_member = np.array(
        [log_loss(np.asarray(member, dtype=np.float64), shares) for member in members]
    )
    return np.asarray(softmax(-len(np.unique(groups)) * loss_by_member))


def _true_label_probabilities(member: Members, shares: Floats) -> Floats:
    """(q,) a member's probabilities of the true labels, slice by slice."""
    return np.asarray(member[shares > 0], dtype=np.float64)


def _held_out_losses(
    members: Members, shares: Floats, groups: NDArray[np.int64]
) -> dict[str, float]:
    """The loss of each way on held-out subjects, by cross-validation; with a single subject, on
    itself."""
    subjects = np.unique(groups)
    fold_of_slice = np.searchsorted(subjects, groups) % min(FOLD_COUNT, len(subjects))
    loss_by_way = dict.fromkeys(WEIGHTS_BY_WAY, 0.0)
    for fold_index in range(int(fold_of_slice.max()) + 1):
        is_held_out = fold_of_slice == fold_index
        is_fitted = ~is_held_out if len(subjects) > 1 else is_held_out
        for way, weights_of in WEIGHTS_BY_WAY.items():
            weights = weights_of(members[:, is_fitted], shares[is_fitted], groups[is_fitted])
            mean_probabilities = mean_by_weights(members[:, is_held_out], weights)
            share_of_slices = float(is_held_out.mean())
            loss_by_way[way] += log_loss(mean_probabilities, shares[is_held_out]) * share_of_slices
    return loss_by_way


WEIGHTS_BY_WAY: Mapping[str, Callable[[Members, Floats, NDArray[np.int64]], Floats]] = {
    "equal": weigh_equally,
    "greedy": weigh_greedily,
    "by-loss": weigh_by_loss,
}
