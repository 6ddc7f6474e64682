"""Slice by slice: the class predicted, whether it is right, and the confusion matrix.

    s  slices    k  classes: chain regions, side regions, none

A slice may truly have two classes, a side region (spine) and one chain region. Three rules give it
one predicted and one true class:

* predicted  before the decision (raw, smoothed) the most probable class; after it the side region
             if one was decided, else the chain region, else none;
* right      if the predicted class is among the true ones (`none` is true only where nothing else
             is);
* row        of the confusion matrix: the predicted class where it is true, else the first true side
             region, else the true chain region, else none.

So the diagonal holds exactly the slices that are right, and every slice is counted once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.fitting.objective import has_side_region_alone
from fovnet.evaluate.cases import Case
from fovnet.evaluate.shares import share_or_nan
from fovnet.regions import Vocabulary

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


def foremost_class(labels: Flags, vocabulary: Vocabulary) -> Counts:
    """One class index a slice (s,) from label rows (s, k): the first side region, else the first
    chain region, else none."""
    class_order = [
        vocabulary.classes.index(name) for name in (*vocabulary.side_regions, *vocabulary.chain)
    ]
    none_index = len(vocabulary.classes) - 1
    ordered_labels = labels[:, class_order]
    first_class = np.asarray(class_order, dtype=np.int64)[ordered_labels.argmax(axis=1)]
    return np.where(ordered_labels.any(axis=1), first_class, none_index)


def predicted_classes(case: Case, stage: str, vocabulary: Vocabulary) -> Counts:
    """Index of the class predicted for every slice (s,) at a stage: "raw", "smoothed" or
    "decided"."""
    if stage == "decided":
        return foremost_class(case.decided_labels, vocabulary)
    probabilities = case.raw_probabilities if stage == "raw" else case.smoothed_probabilities
    return np.asarray(probabilities.argmax(axis=1), dtype=np.int64)


def confusion_rows(truth: Flags, predicted: Counts, vocabulary: Vocabulary) -> Counts:
    """Row of the confusion matrix of every slice (s,), from truth (s, k) and the class predicted
    (s,)."""
    is_right = truth[np.arange(len(predicted)), predicted]
    return np.where(is_right, predicted, foremost_class(truth, vocabulary))


def confusion_matrix(rows: Counts, predicted: Counts, class_count: int) -> Counts:
    """Counts (k, k) of slices by true class (row) and predicted class (column)."""
    return np.bincount(rows * class_count + predicted, minlength=class_count**2).reshape(
        class_count, class_count
    )


def recall_by_class(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Sensitivity (..., k) of each class from confusion matrices (..., k, k); NaN for a class that
    is never true."""
    return share_or_nan(np.diagonal(matrix, axis1=-2, axis2=-1), matrix.sum(axis=-1))


def balanced_accuracy(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Mean sensitivity (...,) over the classes that are ever true."""
    class_recalls = recall_by_class(matrix)
    is_true_class = np.isfinite(class_recalls)
    recall_sum = np.where(is_true_class, class_recalls, 0.0).sum(axis=-1)
    return share_or_nan(recall_sum, is_true_class.sum(axis=-1))


def are_far_apart(truth: Flags, predicted: Flags, vocabulary: Vocabulary) -> Flags:
    """Slices (s,) whose true and predicted chain regions are not neighbours in the body (pelvis as
    head), with or without a side region."""
    chain_region_count = len(vocabulary.chain)
    truth = truth[:, :chain_region_count]
    predicted = predicted[:, :chain_region_count]
    are_apart = np.abs(truth.argmax(axis=1) - predicted.argmax(axis=1)) > 1
    return np.asarray(are_apart & truth.any(axis=1) & predicted.any(axis=1))


def has_false_label(truth: Flags, predicted: Flags, vocabulary: Vocabulary) -> Flags:
    """Slices (s,) with a predicted label that is false, or without one that is true; where the true
    chain region is not labelled (`has_side_region_alone`), no predicted chain region counts as
    false."""
    is_false = predicted & ~truth
    chain_region_count = len(vocabulary.chain)
    is_false[:, :chain_region_count] &= ~has_side_region_alone(truth, chain_region_count)[:, None]
    return np.asarray(is_false.any(axis=1) | ~(predicted & truth).any(axis=1))
