"""The loss by which a rule is chosen, in millimetres rather than slices, as a stack of thin slices
has more of them.

    loss = ½ (1 - mean over volumes of the Dice coefficient) + ½ mean over borders of the border
    loss

The Dice coefficient of a volume is 2 · mm predicted correctly / (mm predicted + mm true), over all
regions together; none is no region, and the coefficient is 1 where neither has any.  The loss of a
border of the chain (from one region to the next, or to none) is its error over FAR_BORDER_MM, and 1
if it is missed, invented, or farther off.  Slices whose truth names only a side region have no
chain label: borders beside them do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FAR_BORDER_MM = 50.0
"""A border with this error or more counts as a missed one."""


@dataclass(frozen=True)
class TuningExample:
    """One labelled volume.

    probabilities  (s, k) of the ensemble
    z_mm           (s,) heights of the slices
    truth          (s, k) bool, the labels of each slice
    turned_probabilities
                   (s, k) of the slices from head to feet; None if they do not depend on the order
    edges_mm       (s + 1,) where the slices begin and end; None: half-way between their heights
    """

    probabilities: Floats
    z_mm: Floats
    truth: Bools
    turned_probabilities: Floats | None = None
    edges_mm: Floats | None = None


def loss_of_labels(
    decided: Sequence[Bools],
    truths: Sequence[Bools],
    edges_mm: Sequence[Floats],
    chain_region_count: int,
) -> float:
    """The loss of the labels decided on some volumes, (s, k) each, with a chain of so many regions;
    0 is perfect, 1 the worst.

    edges_mm  (s + 1,) each, where the slices begin and end
    """
    labelled_volumes = list(zip(decided, truths, edges_mm, strict=True))
    dice_by_volume = [
        extent_dice(
            _judge_labels(predicted_labels, true_labels, chain_region_count),
            true_labels,
            np.diff(volume_edges_mm),
        )
        for predicted_labels, true_labels, volume_edges_mm in labelled_volumes
    ]
    losses_of_borders = [
        border_loss
        for predicted_labels, true_labels, volume_edges_mm in labelled_volumes
        for border_loss in border_losses(
            predicted_labels, true_labels, volume_edges_mm, chain_region_count
        )
    ]
    mean_border_loss = 0.0
    if losses_of_borders:
        mean_border_loss = float(np.mean(losses_of_borders))
    return 0.5 * (1.0 - float(np.mean(dice_by_volume))) + 0.5 * mean_border_loss


def has_side_region_alone(truth: Bools, chain_region_count: int) -> Bools:
    """(s,) whether a slice's truth names a side region and no chain region: it has no chain
    label."""
    has_side_region = np.any(truth[:, chain_region_count:-1], axis=1)
    has_chain_region = np.any(truth[:, :chain_region_count], axis=1)
    return np.asarray(has_side_region & ~has_chain_region)


def _judge_labels(predicted_labels: Bools, true_labels: Bools, chain_region_count: int) -> Bools:
    """The prediction without the chain regions of slices that have no chain label: whether they are
    right is unknown."""
    judged_labels = predicted_labels.copy()
    is_chain = np.arange(predicted_labels.shape[1]) < chain_region_count
    judged_labels[np.ix_(has_side_region_alone(true_labels, chain_region_count), is_chain)] = False
    return judged_labels


def extent_dice(predicted: Bools, truth: Bools, height_mm: Floats) -> float:
    """The Dice coefficient: twice the millimetres of regions predicted correctly over those
    predicted plus those true; 1 without any."""
    predicted_regions = predicted[:, :-1]
    true_regions = truth[:, :-1]
    total_mm = float(height_mm @ (predicted_regions.sum(axis=1) + true_regions.sum(axis=1)))
    if not total_mm:
        return 1.0
    right_mm = float(height_mm @ (predicted_regions & true_regions).sum(axis=1))
    return 2.0 * right_mm / total_mm


def border_losses(
    predicted: Bools, truth: Bools, edges_mm: Floats, chain_region_count: int
) -> list[float]:
    """The loss of every border that is true or predicted, 0 to 1 each."""
    errors = border_errors(predicted, truth, edges_mm, chain_region_count)
    return [
        1.0 if error is None else min(abs(error), FAR_BORDER_MM) / FAR_BORDER_MM
        for error in errors.values()
    ]


def border_errors(
    predicted: Bools, truth: Bools, edges_mm: Floats, chain_region_count: int
) -> dict[tuple[int, int], float | None]:
    """Predicted minus true height in mm, by border (rung below, rung above; `chain_region_count`
    for none); None if it is missed or invented."""
    is_unlabelled = has_side_region_alone(truth, chain_region_count)
    is_judged = ~(is_unlabelled[1:] | is_unlabelled[:-1])
    predicted_mm = _border_heights(predicted, edges_mm, is_judged, chain_region_count)
    true_mm = _border_heights(truth, edges_mm, is_judged, chain_region_count)
    error_by_border: dict[tuple[int, int], float | None] = {}
    for border in sorted(predicted_mm.keys() | true_mm.keys()):
        error_by_border[border] = None
        if border in predicted_mm and border in true_mm:
            error_by_border[border] = predicted_mm[border] - true_mm[border]
    return error_by_border


def _border_heights(
    labels: Bools, edges_mm: Floats, is_judged: Bools, chain_region_count: int
) -> dict[tuple[int, int], float]:
    """Height in mm by border; of several of one kind, the lowest if it goes from none to a region,
    else the topmost.

    A region predicted on both sides of a signal void also has borders there; these rules select its
    outer ones.
    """
    chain_labels = labels[:, :chain_region_count]
    rung_of_slice = np.where(
        chain_labels.any(axis=1), chain_labels.argmax(axis=1), chain_region_count
    )
    height_by_border: dict[tuple[int, int], float] = {}
    for slice_index in np.flatnonzero((np.diff(rung_of_slice) != 0) & is_judged).tolist():
        rung_below = int(rung_of_slice[slice_index])
        border = (rung_below, int(rung_of_slice[slice_index + 1]))
        if rung_below != chain_region_count or border not in height_by_border:
            height_by_border[border] = float(edges_mm[slice_index + 1])
    return height_by_border
