"""What each class and each volume counts in a training.  Importing this imports no torch.

n  slices
k  classes
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fovnet.regions import WHOLE_BY_PART, parts_beside

if TYPE_CHECKING:
    from torch import Tensor


def inverse_class_weights(
    targets: Tensor, row_frequencies: Tensor | None = None, class_names: Sequence[str] = ()
) -> Tensor:
    """(k,) inverse class frequency, scaled so that the mean weight of these rows is one; 0 for a
    class without rows.

    targets          (n, k) share of each class in each row
    row_frequencies  (n,) with which each row is drawn; None: uniform
    class_names      (k,); the parts of a region together count as much as a region without parts
    """
    import torch

    class_shares = _mean_of_rows(targets, row_frequencies)
    inverse_shares = torch.where(class_shares > 0, 1 / class_shares.clamp_min(1e-12), 0.0)
    if not WHOLE_BY_PART.keys().isdisjoint(class_names):
        part_counts = [len(parts_beside(name, class_names)) for name in class_names]
        inverse_shares = inverse_shares / inverse_shares.new_tensor(part_counts)
    return inverse_shares / (class_shares * inverse_shares).sum().clamp_min(1e-12)


def _mean_of_rows(values: Tensor, row_frequencies: Tensor | None) -> Tensor:
    """The mean of values (n, ...) over rows, each counted as often as it is drawn (n,)."""
    if row_frequencies is None:
        return values.mean(dim=0)
    return row_frequencies @ values / row_frequencies.sum()


def guessing_loss(
    targets: Tensor, class_weights: Tensor, row_frequencies: Tensor | None = None
) -> float:
    """The loss of uniform probabilities over the k classes seen in training, on these rows: log k
    if their class shares are the training's.

    targets          (n, k) share of each class in each row
    class_weights    (k,) of the loss; 0 for a class that was not seen in training
    row_frequencies  (n,) with which each row is drawn; None: uniform
    With inverse-frequency weights no other constant prediction has a lower loss on the training
    rows.
    """
    seen_class_count = int((class_weights > 0).sum())
    mean_weight = _mean_of_rows(targets @ class_weights, row_frequencies)
    return float(mean_weight) * math.log(max(2, seen_class_count))


def volume_frequencies(volume_of_row: Tensor) -> Tensor:
    """(n,) float32: how often each of n slices is drawn, relative to the others, if all volumes are
    drawn equally often: the inverse of the number of slices of its volume.

    volume_of_row  (n,) int64 number of each slice's volume
    """
    _, volume_index_of_row, slice_counts = volume_of_row.unique(
        return_inverse=True, return_counts=True
    )  # type: ignore[no-untyped-call]
    row_frequencies: Tensor = slice_counts[volume_index_of_row].float().reciprocal()
    return row_frequencies
