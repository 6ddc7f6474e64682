"""The loss by which a rule is chosen, in millimetres rather than slices, as a stack of thin slices
has more of them.

    loss = ½ (1 - mean over volumes of the Dice coefficient) + ½ mean over borders of the border
    loss

The Dice coefficient of a volume is 2 · mm predicted correctly / (mm predicted + mm true), over all
regions together; none is no region, and the coefficient is 1 where neither has any.  The loss of a
border of the chain (from one region to the next, or to none) is its error over FAR_MM, and 1 if it
is missed, invented, or farther off.  Slices whose truth names only a side region have no chain
label: borders beside them do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FAR_MM = 50.0
"""A border with this error or more counts as a missed one."""


@dataclass(frozen=True)
class Example:
    """One labelled volume: ensemble probabilities (s, k), heights (s,), truth (s, k); `turned` (s,
    k) and `edges_mm` (s + 1,) as in `spans.decide`."""

    probabilities: Floats
    z_mm: Floats
    truth: Bools
    turned: Floats | None = None
    edges_mm: Floats | None = None


def loss(
    decided: Sequence[Bools], truths: Sequence[Bools], edges_mm: Sequence[Floats], n: int
) -> float:
    """The loss of the labels decided on some volumes, (s, k) each, with an n-rung chain; 0 is
    perfect, 1 the worst.

    edges_mm  (s + 1,) each, where the slices begin and end
    """
    volumes = list(zip(decided, truths, edges_mm, strict=True))
    dice = [
        extent_dice(_judge_labels(predicted, true, n), true, np.diff(edges))
        for predicted, true, edges in volumes
    ]
    of_borders = [
        border_loss
        for predicted, true, edges in volumes
        for border_loss in border_losses(predicted, true, edges, n)
    ]
    mean_of_borders = float(np.mean(of_borders)) if of_borders else 0.0
    return 0.5 * (1.0 - float(np.mean(dice))) + 0.5 * mean_of_borders


def side_region_alone(true: Bools, n: int) -> Bools:
    """(s,) whether a slice's truth names a side region and no chain region: it has no chain
    label."""
    has_side_region = np.any(true[:, n:-1], axis=1)
    has_chain_region = np.any(true[:, :n], axis=1)
    return np.asarray(has_side_region & ~has_chain_region)


def _judge_labels(predicted: Bools, true: Bools, n: int) -> Bools:
    """The prediction without the chain regions of slices that have no chain label: whether they are
    right is unknown."""
    judged_labels = predicted.copy()
    is_chain = np.arange(predicted.shape[1]) < n
    judged_labels[np.ix_(side_region_alone(true, n), is_chain)] = False
    return judged_labels


def extent_dice(predicted: Bools, true: Bools, height_mm: Floats) -> float:
    """The Dice coefficient: twice the millimetres of regions predicted correctly over those
    predicted plus those true; 1 without any."""
    regions_predicted = predicted[:, :-1]
    regions_true = true[:, :-1]
    total_mm = float(height_mm @ (regions_predicted.sum(axis=1) + regions_true.sum(axis=1)))
    if not total_mm:
        return 1.0
    right_mm = float(height_mm @ (regions_predicted & regions_true).sum(axis=1))
    return 2.0 * right_mm / total_mm


def border_losses(predicted: Bools, true: Bools, edges_mm: Floats, n: int) -> list[float]:
    """The loss of every border that is true or predicted, 0 to 1 each."""
    errors = border_errors(predicted, true, edges_mm, n)
    return [1.0 if error is None else min(abs(error), FAR_MM) / FAR_MM for error in errors.values()]


def border_errors(
    predicted: Bools, true: Bools, edges_mm: Floats, n: int
) -> dict[tuple[int, int], float | None]:
    """Predicted minus true height in mm of every border (rung below, rung above; n for none); None
    if it is missed or invented."""
    is_unknown = side_region_alone(true, n)
    is_judged = ~(is_unknown[1:] | is_unknown[:-1])
    predicted_mm = _borders(predicted, edges_mm, is_judged, n)
    true_mm = _borders(true, edges_mm, is_judged, n)
    errors: dict[tuple[int, int], float | None] = {}
    for kind in sorted(predicted_mm.keys() | true_mm.keys()):
        is_found = kind in predicted_mm and kind in true_mm
        errors[kind] = predicted_mm[kind] - true_mm[kind] if is_found else None
    return errors


def _borders(
    labels: Bools, edges_mm: Floats, is_judged: Bools, n: int
) -> dict[tuple[int, int], float]:
    """Height of each border; of several of one kind, the lowest if it goes from none to a region,
    else the topmost.

    A region predicted on both sides of a signal void also has borders there; these rules select its
    outer ones.
    """
    chain = labels[:, :n]
    rung = np.where(chain.any(axis=1), chain.argmax(axis=1), n)
    heights: dict[tuple[int, int], float] = {}
    for row in np.flatnonzero((np.diff(rung) != 0) & is_judged).tolist():
        kind = int(rung[row]), int(rung[row + 1])
        if kind[0] != n or kind not in heights:
            heights[kind] = float(edges_mm[row + 1])
    return heights
