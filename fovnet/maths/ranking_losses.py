"""Losses of a scored list of which only the order is known, and their gradients in the scores.

    M  scorers     n  length of the list, sorted from the best: place 1 is the best, a higher score is better
    s      (M, n)  scores                c      (n,)  weight of each place
    first  (n,)    index of the first place of each place's group of ties; equal to arange(n) without ties
    level  (n,)    1 - first/n: what is wanted of the scores where a number is needed

Each loss takes (s, c, first) and returns (loss (M,), gradient (M, n)); all but `list_mle` ignore
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


def tie_starts(y: Floats | Integers) -> Integers:
    """`first` of a sorted list of losses (n,), or of a part of another `first`."""
    return np.searchsorted(y, y, side="left")


def weights(kind: str, first: Integers) -> Floats:
    """`c` by the kind of weighting, "one", "linear", "inverse" or "log"; the places of a tie share
    their mean."""
    places = np.arange(1.0, len(first) + 1.0)
    weight_of_place = WEIGHTS[kind](places)
    total = np.bincount(first, weight_of_place)
    count = np.bincount(first)
    return np.asarray(total[first] / count[first])


WEIGHTS: Mapping[str, Callable[[Floats], Floats]] = {
    "one": np.ones_like,
    "linear": lambda place: place[::-1] / place.sum(),
    "inverse": lambda place: 1.0 / place,
    "log": lambda place: 1.0 / np.log(place + 1.0),
}


def list_mle(s: Floats, c: Floats, first: Integers) -> tuple[Floats, Floats]:
    """Σⱼ cⱼ (log Qⱼ - sⱼ), Qⱼ the sum of exp(s) from the first place of j's ties to the last: with
    weights of one, minus the log likelihood of the order under Plackett and Luce.

    Sums of exponentials are accumulated as logarithms both ways, so that scores of ±700 and longer
    spans are safe. Sources: Xia et al., *Listwise approach to learning to rank* (2008); ties:
    Breslow, *J. R. Stat. Soc. B* 34 (1972) 216-217.
    """
    log_q = np.logaddexp.accumulate(s[:, ::-1], axis=1)[:, ::-1]
    loss = (c * (log_q[:, first] - s)).sum(axis=1)
    shared = np.bincount(first, c, minlength=len(c))
    log_shared = np.log(shared, out=np.full(len(c), -np.inf), where=shared > 0.0)
    reached = np.logaddexp.accumulate(log_shared - log_q, axis=1)
    return loss, np.exp(s + reached) - c


def rank_net(s: Floats, c: Floats, first: Integers) -> tuple[Floats, Floats]:
    """The mean of log(1 + exp(sⱼ - sᵢ)) over all pairs of places with i better than j; 0 if all are
    tied.

    Source: Burges et al., *Learning to rank using gradient descent* (2005).
    """
    better = (first[:, None] < first[None, :]) / max(
        1, int((first[:, None] < first[None, :]).sum())
    )
    over = s[:, None, :] - s[:, :, None]  # [:, i, j]: sⱼ - sᵢ
    wrong = better * expit(over)
    return (better * np.logaddexp(0.0, over)).sum(axis=(1, 2)), wrong.sum(axis=1) - wrong.sum(
        axis=2
    )


def list_net(s: Floats, c: Floats, first: Integers) -> tuple[Floats, Floats]:
    """The cross-entropy of the softmax of the scores, given that of SHARPNESS times the levels.

    Source: Cao et al., *Learning to rank: from pairwise approach to listwise approach* (2007).
    """
    target = softmax(SHARPNESS * levels(first))
    return -(target * log_softmax(s, axis=1)).sum(axis=1), softmax(s, axis=1) - target


def point(s: Floats, c: Floats, first: Integers) -> tuple[Floats, Floats]:
    """The mean squared distance of the scores to the levels."""
    gap = s - levels(first)
    return (gap**2).mean(axis=1), 2.0 * gap / len(first)


def levels(first: Integers) -> Floats:
    """`level` of each place."""
    return np.asarray(1.0 - first / len(first))


LOSSES: Mapping[str, Loss] = {"list": list_mle, "pair": rank_net, "net": list_net, "point": point}
