"""The weight of each member in the ensemble's mean.

    members  (p, s, k) each member's probabilities of validation slices      truth  (s, k) bool, one label or
        two a slice
    groups   (s,) the subject of each slice                                  weights  (p,) sum to one
    loss     mean over the slices of -Σ_c share_c log p_c; the target of a slice with two labels is half of
             each

equal    1/p each.
greedy   forward selection with replacement: each step adds the member whose mean with those picked before has
         the least loss, and the best mean of all steps is kept: Caruana et al. (2004), *Ensemble selection
         from libraries of models*, ICML, section 2.1.
by-loss  ∝ exp(-n · loss): pseudo-Bayesian model averaging, Yao et al. (2018), Bayesian Analysis 13:917, eq.
         4, with n the number of subjects: slices of one body are not independent, and their number as n would
         leave a single member.
auto     whichever of these has the least loss on held-out subjects (five folds); ties go to the first in this
         order.
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
    """The weights (p,), the way that gave them, and the validation loss of every way: on the same slices, and
    on held-out subjects."""

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
        name: log_loss(weighted_mean(members, make(members, shares, groups)), shares)
        for name, make in WAYS.items()
    }
    left_out = _left_out(members, shares, groups)
    # the first of equals: equal
    chosen = min(left_out, key=lambda name: left_out[name]) if way == "auto" else way
    return Weighing(chosen, WAYS[chosen](members, shares, groups), losses, left_out)


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
    """Shares of the picks up to the step of least loss: on these slices never worse than the best single
    member."""
    # (p, q): only probabilities of the true labels matter
    each = np.stack([_likely(member, shares) for member in members])
    worth = shares[shares > 0] / len(shares)
    picked, total = np.zeros(len(members), dtype=np.int64), np.zeros(each.shape[1])
    best_loss, best = np.inf, picked
    for count in range(1, ROUNDS + 1):
        losses = -np.log(np.maximum((total + each) / count, LEAST)) @ worth
        one = int(losses.argmin())
        picked, total = picked + (np.arange(len(members)) == one), total + each[one]
        if losses[one] < best_loss - LEAST:
            best_loss, best = float(losses[one]), picked
    return np.asarray(best / best.sum())


def loss_weights(members: Members, shares: Floats, groups: NDArray[np.int64]) -> Floats:
    """Softmax of minus the loss, in units of one subject's evidence."""
    losses = np.array(
        [log_loss(np.asarray(member, dtype=np.float64), shares) for member in members]
    )
    return np.asarray(softmax(-len(np.unique(groups)) * losses))


def _likely(member: Members, shares: Floats) -> Floats:
    """(q,) a member's probabilities of the true labels, slice by slice."""
    return np.asarray(member[shares > 0], dtype=np.float64)


def _left_out(members: Members, shares: Floats, groups: NDArray[np.int64]) -> dict[str, float]:
    """The loss of each way on held-out subjects, by cross-validation; with a single subject, on itself."""
    subjects = np.unique(groups)
    fold = np.searchsorted(subjects, groups) % min(FOLDS, len(subjects))
    totals = dict.fromkeys(WAYS, 0.0)
    for number in range(int(fold.max()) + 1):
        out = fold == number
        kept = ~out if len(subjects) > 1 else out
        for name, make in WAYS.items():
            weights = make(members[:, kept], shares[kept], groups[kept])
            totals[name] += log_loss(weighted_mean(members[:, out], weights), shares[out]) * float(
                out.mean()
            )
    return totals


WAYS: Mapping[str, Callable[[Members, Floats, NDArray[np.int64]], Floats]] = {
    "equal": equal_weights,
    "greedy": greedy_weights,
    "by-loss": loss_weights,
}
