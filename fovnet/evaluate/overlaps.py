"""Predicted spans against true spans of each region.

A predicted span is right if its intersection over union in millimetres with a true span of its
region is at least LEAST_OVERLAP. Slices whose true chain region is not labelled are left out of
both.

This F1 counts spans, whatever their length; the Dice coefficient by which a rule is chosen
(`decision/fitting/objective.py`) counts millimetres.

Source: the segmental F1 at 50 % of Lea, Flynn, Vidal, Reiter & Hager (CVPR 2017), section 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.spans import outer_edges
from fovnet.decision.fitting.objective import side_region_alone
from fovnet.evaluate.cases import Case
from fovnet.regions import Vocabulary

LEAST_OVERLAP = 0.5


def span_counts(case: Case, vocabulary: Vocabulary) -> tuple[int, int, int]:
    """Numbers of right, true and predicted spans of one volume; F1 is 2 right / (true +
    predicted)."""
    chain = len(vocabulary.chain)
    labelled = ~side_region_alone(case.truth, chain)
    edges_mm = outer_edges(case.z_mm, case.edges_mm)
    lower = edges_mm[:-1]
    upper = edges_mm[1:]
    right = true = predicted = 0
    for region in range(len(vocabulary.classes) - 1):
        judged = labelled if region < chain else np.ones(len(labelled), dtype=bool)
        predicted_spans = _runs(case.decided[:, region] & judged, lower, upper)
        true_spans = _runs(case.truth[:, region] & judged, lower, upper)
        true += len(true_spans)
        predicted += len(predicted_spans)
        if len(true_spans):
            is_same = _overlap(predicted_spans, true_spans) >= LEAST_OVERLAP - 1e-9
            right += int(is_same.any(axis=1).sum())
    return right, true, predicted


def _runs(
    is_shown: NDArray[np.bool_], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(r, 2) lower and upper end of each run of slices, in mm."""
    steps = np.diff(np.concatenate([[0], is_shown.astype(np.int8), [0]]))
    first = np.flatnonzero(steps == 1)
    last = np.flatnonzero(steps == -1) - 1
    return np.stack([lower[first], upper[last]], axis=1)


def _overlap(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intersection over union (a, b) of every pair of runs (a, 2) and (b, 2)."""
    upper = np.minimum(first[:, None, 1], second[None, :, 1])
    lower = np.maximum(first[:, None, 0], second[None, :, 0])
    shared = np.maximum(upper - lower, 0.0)
    union = np.diff(first)[:, None, 0] + np.diff(second)[None, :, 0] - shared
    return np.asarray(shared / union)
