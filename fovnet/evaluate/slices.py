"""Slice by slice: what was said, whether it was right, and the confusion matrix.

    s  slices    k  classes: chain regions, protocols, none

A slice may truly carry two classes, a protocol (spine) and one chain region. Three rules make one answer and one truth of it:

* said   before the decision (raw, smoothed) the most probable class; after it the protocol if one was decided, else the chain
         region, else none;
* right  when the class said is among the true ones (`none` is true only where nothing else is);
* row    of the confusion matrix: the said class where it is true, else the first true protocol, else the true chain region, else
         none.

So the diagonal holds exactly the slices that are right, and every slice is counted once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.objective import untold
from fovnet.evaluate.cases import Case
from fovnet.regions import Vocabulary

STAGES = ("raw", "smoothed", "decided")

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


def foremost(labels: Flags, vocabulary: Vocabulary) -> Counts:
    """One class index a slice (s,) from label rows (s, k): the first protocol, else the first chain region, else none."""
    order = [vocabulary.classes.index(name) for name in (*vocabulary.protocols, *vocabulary.chain)]
    none = len(vocabulary.classes) - 1
    found = labels[:, order]
    return np.where(found.any(axis=1), np.asarray(order, dtype=np.int64)[found.argmax(axis=1)], none)


def said_classes(case: Case, stage: str, vocabulary: Vocabulary) -> Counts:
    """Class index said of every slice (s,) at a stage: "raw", "smoothed" or "decided"."""
    if stage == "decided":
        return foremost(case.decided, vocabulary)
    probabilities = case.raw if stage == "raw" else case.smoothed
    return np.asarray(probabilities.argmax(axis=1), dtype=np.int64)


def true_rows(truth: Flags, said: Counts, vocabulary: Vocabulary) -> Counts:
    """Row of the confusion matrix of every slice (s,)."""
    right = truth[np.arange(len(said)), said]
    return np.where(right, said, foremost(truth, vocabulary))


def confusion(rows: Counts, said: Counts, classes: int) -> Counts:
    """Counts (k, k): slices of the true class (row) that were called the said class (column)."""
    return np.bincount(rows * classes + said, minlength=classes * classes).reshape(classes, classes)


def recalls(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Sensitivity (..., k) of each class from matrices (..., k, k); NaN for a class that is never true."""
    return _share(np.diagonal(matrix, axis1=-2, axis2=-1), matrix.sum(axis=-1))


def balanced_accuracy(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Mean sensitivity (...,) over the classes that are ever true."""
    each = recalls(matrix)
    present = np.isfinite(each)
    return _share(np.where(present, each, 0.0).sum(axis=-1), present.sum(axis=-1))


def far_apart(truth: Flags, said: Flags, vocabulary: Vocabulary) -> Flags:
    """Slices (s,) whose chain region, true and said, do not touch in the body: a pelvis called head, beside a spine too."""
    chain = len(vocabulary.chain)
    truth, said = truth[:, :chain], said[:, :chain]
    apart = np.abs(truth.argmax(axis=1) - said.argmax(axis=1)) > 1
    return np.asarray(apart & truth.any(axis=1) & said.any(axis=1))


def untrue(truth: Flags, said: Flags, vocabulary: Vocabulary) -> Flags:
    """Slices (s,) of which nothing true is said, or something untrue beside it; of the chain nothing is held against `untold` ones."""
    wrong = said & ~truth
    chain = len(vocabulary.chain)
    wrong[:, :chain] &= ~untold(truth, chain)[:, None]
    return np.asarray(wrong.any(axis=1) | ~(said & truth).any(axis=1))


def _share(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """part / whole, NaN where the whole is 0."""
    result = np.full(np.shape(whole), np.nan)
    np.divide(part, whole, out=result, where=np.asarray(whole) > 0)
    return result
