"""Losses of a scored list of which only the order is known, and their gradients in the scores.

    M  scorers
    n  length of the list, sorted from the best: place 1 is the best, a higher score is better
    s      (M, n)  scores
    c      (n,)    weight of each place
    t      (n,)    tie_starts: index of the first place of each place's tie; arange(n) without ties
    level  (n,)    1 - t/n: what is wanted of the scores where a number is needed

Each loss takes (s, c, t) and returns (loss (M,), gradient (M, n)); all but `list_mle` ignore
the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Loss = Callable[[Floats, Floats, Integers], tuple[Floats, Floats]]

SHARPNESS = 4.0
"""Of the levels in `list_net`: the best place is then wanted e⁴ times as probable as the last."""


def find_tie_starts(losses: Floats | Integers) -> Integers:
    """(n,) index of the first place of each place's tie, from a sorted list of losses (n,), or from
    a part of another list of such indices."""
    return np.searchsorted(losses, losses, side="left")


def weigh_places(weighting: str, tie_starts: Integers) -> Floats:
    """(n,) weight of each place by a weighting, "one", "linear", "inverse" or "log"; the places of
    a tie share their mean."""
    places = np.arange(1.0, len(tie_starts) + 1.0)
    weight_of_place = WEIGHTS[weighting](places)
    weight_sum_by_tie = np.bincount(tie_starts, weight_of_place)
    place_count_by_tie = np.bincount(tie_starts)
    return np.asarray(weight_sum_by_tie[tie_starts] / place_count_by_tie[tie_starts])


WEIGHTS: Mapping[str, Callable[[Floats], Floats]] = {
    "one": np.ones_like,
    "linear": lambda place: place[::-1] / place.sum(),
    "inverse": lambda place: 1.0 / place,
    "log": lambda place: 1.0 / np.log(place + 1.0),
}


def list_mle(scores: Floats, place_weights: Floats, tie_starts: Integers) -> tuple[Floats, Floats]:
    """Loss (M,) and gradient (M, n): Σⱼ cⱼ (log Qⱼ - sⱼ), Qⱼ the sum of exp(s) from the first place
    of j's ties to the last; s are the scores (M, n), c the place weights (n,).

    With weights of one, it is minus the log likelihood of the order under Plackett and Luce.

    Sums of exponentials are accumulated as logarithms both ways, so that scores of ±700 and longer
    spans are safe. Sources: Xia et al., *Listwise approach to learning to rank* (2008); ties:
    Breslow, *J. R. Stat. Soc. B* 34 (1972) 216-217.
    """
    log_exp_sum_to_last = np.logaddexp.accumulate(scores[:, ::-1], axis=1)[:, ::-1]
    loss = (place_weights * (log_exp_sum_to_last[:, tie_starts] - scores)).sum(axis=1)
    tie_weight = np.bincount(tie_starts, place_weights, minlength=len(place_weights))
    log_tie_weight = np.log(
        tie_weight, out=np.full(len(place_weights), -np.inf), where=tie_weight > 0.0
    )
    log_weight_before = np.logaddexp.accumulate(log_tie_weight - log_exp_sum_to_last, axis=1)
    return loss, np.exp(scores + log_weight_before) - place_weights


def rank_net(scores: Floats, place_weights: Floats, tie_starts: Integers) -> tuple[Floats, Floats]:
    """Loss (M,) and gradient (M, n): the mean of log(1 + exp(sⱼ - sᵢ)) over all pairs of places
    with i better than j, s being the scores (M, n); 0 if all are tied.

    Source: Burges et al., *Learning to rank using gradient descent* (2005).
    """
    is_better = tie_starts[:, None] < tie_starts[None, :]
    pair_weight = is_better / max(1, int(is_better.sum()))
    score_excess = scores[:, None, :] - scores[:, :, None]  # [:, i, j]: sⱼ - sᵢ
    misorder_weight = pair_weight * expit(score_excess)
    loss = (pair_weight * np.logaddexp(0.0, score_excess)).sum(axis=(1, 2))
    return loss, misorder_weight.sum(axis=1) - misorder_weight.sum(axis=2)


def list_net(scores: Floats, place_weights: Floats, tie_starts: Integers) -> tuple[Floats, Floats]:
    """Loss (M,) and gradient (M, n): the cross-entropy of the softmax of the scores (M, n), given
    that of SHARPNESS times the levels.

    Source: Cao et al., *Learning to rank: from pairwise approach to listwise approach* (2007).
    """
    target_shares = softmax(SHARPNESS * levels(tie_starts))
    loss = -(target_shares * log_softmax(scores, axis=1)).sum(axis=1)
    return loss, softmax(scores, axis=1) - target_shares


def squared_level_error(
    scores: Floats, place_weights: Floats, tie_starts: Integers
) -> tuple[Floats, Floats]:
    """Loss (M,) and gradient (M, n): the mean squared distance of the scores (M, n) to the
    levels."""
    distance_to_level = scores - levels(tie_starts)
    return (distance_to_level**2).mean(axis=1), 2.0 * distance_to_level / len(tie_starts)


def levels(tie_starts: Integers) -> Floats:
    """(n,) level of each place: 1 for the best, falling evenly with the first place of its tie."""
    return np.asarray(1.0 - tie_starts / len(tie_starts))


LOSSES: Mapping[str, Loss] = {
    "list": list_mle,
    "pair": rank_net,
    "net": list_net,
    "point": squared_level_error,
}
