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

Floats = NDArray[np.float64]
Members = NDArray[np.floating]
ROUNDS = 50  # picks of the greedy way: weights are multiples of 1/n, n at most 50
FOLDS = 5
LEAST = 1e-12  # lower bound of a probability in a logarithm


@dataclass(frozen=True)
class Weighing:
    """The weights (p,), the way that gave them, and the validation loss of every way: on the same
    slices, and on held-out subjects."""

    way: str
    weights: Floats
    losses: Mapping[str, float]
    left_out: Mapping[str, float]


def weigh(
    members: Members, truth: NDArray[np.bool_], groups: NDArray[np.int64], way: str = "auto"
) -> Weighing:
    """The weights of the members by one of WAYS, or by the best of them ("auto")."""
    shares = truth / truth.sum(axis=1, keepdims=True)
    losses = {
        name: log_loss(weighted_mean(members, weights_of(members, shares, groups)), shares)
        for name, weights_of in WAYS.items()
    }
    left_out = _held_out_losses(members, shares, groups)
    # the first of equals: equal
    best_way = min(left_out, key=lambda name: left_out[name]) if way == "auto" else way
    return Weighing(best_way, WAYS[best_way](members, shares, groups), losses, left_out)


def weighted_mean(members: Members, weights: Floats) -> Floats:
    """The weighted mean (s, k) of the members (p, s, k), in float64."""
    total = np.zeros(members.shape[1:])
    # one after another: no second copy of all of them
    for weight, member in zip(weights, members, strict=True):
        if weight:
            total += weight * member
    return total


def log_loss(probabilities: Floats, shares: Floats) -> float:
    """Mean of -Σ share log p over the slices."""
    return float(-(shares * np.log(np.maximum(probabilities, LEAST))).sum(axis=1).mean())


def equal_weights(members: Members, shares: Floats, groups: NDArray[np.int64]) -> Floats:
    """Equal weights."""
    return np.full(len(members), 1.0 / len(members))


def greedy_weights(members: Members, shares: Floats, groups: NDArray[np.int64]) -> Floats:
    """Shares of the picks up to the step of least loss: on these slices never worse than the best
    single member."""
    # (p, q): only probabilities of the true labels matter
    likelihoods = np.stack([_true_label_probabilities(member, shares) for member in members])
    slice_weights = shares[shares > 0] / len(shares)
    picks = np.zeros(len(members), dtype=np.int64)
    likelihood_sum = np.zeros(likelihoods.shape[1])
    best_loss = np.inf
    best_picks = picks
    for step in range(1, ROUNDS + 1):
        losses = -np.log(np.maximum((likelihood_sum + likelihoods) / step, LEAST)) @ slice_weights
        pick = int(losses.argmin())
        picks = picks + (np.arange(len(members)) == pick)
        likelihood_sum = likelihood_sum + likelihoods[pick]
        if losses[pick] < best_loss - LEAST:
            best_loss = float(losses[pick])
            best_picks = picks
    return np.asarray(best_picks / best_picks.sum())


def loss_weights(members: Members, shares: Floats, groups: NDArray[np.int64]) -> Floats:
    """Softmax of minus the loss, in units of one subject's evidence."""
    losses = np.array(
        [log_loss(np.asarray(member, dtype=np.float64), shares) for member in members]
    )
    return np.asarray(softmax(-len(np.unique(groups)) * losses))


def _true_label_probabilities(member: Members, shares: Floats) -> Floats:
    """(q,) a member's probabilities of the true labels, slice by slice."""
    return np.asarray(member[shares > 0], dtype=np.float64)


def _held_out_losses(
    members: Members, shares: Floats, groups: NDArray[np.int64]
) -> dict[str, float]:
    """The loss of each way on held-out subjects, by cross-validation; with a single subject, on
    itself."""
    subjects = np.unique(groups)
    fold = np.searchsorted(subjects, groups) % min(FOLDS, len(subjects))
    totals = dict.fromkeys(WAYS, 0.0)
    for number in range(int(fold.max()) + 1):
        is_held_out = fold == number
        is_used = ~is_held_out if len(subjects) > 1 else is_held_out
        for name, weights_of in WAYS.items():
            weights = weights_of(members[:, is_used], shares[is_used], groups[is_used])
            mean = weighted_mean(members[:, is_held_out], weights)
            share_of_slices = float(is_held_out.mean())
            totals[name] += log_loss(mean, shares[is_held_out]) * share_of_slices
    return totals


WAYS: Mapping[str, Callable[[Members, Floats, NDArray[np.int64]], Floats]] = {
    "equal": equal_weights,
    "greedy": greedy_weights,
    "by-loss": loss_weights,
}
