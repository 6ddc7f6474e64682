"""Predicted spans against true spans of each region.

A predicted span is right if its intersection over union in millimetres with a true span of its
region is at least LEAST_OVERLAP. Slices whose true chain region is not labelled are left out of
both.

This F1 counts spans, whatever their length; the Dice coefficient by which a rule is chosen
(`decision/fitting/objective.py`) counts millimetres.

Source: the segmental F1 at 50 % of Lea, Flynn, Vidal, Reiter & Hager (CVPR 2017), section 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.spans import slice_edges
from fovnet.decision.fitting.objective import has_side_region_alone
from fovnet.evaluate.cases import Case
from fovnet.regions import Vocabulary

LEAST_OVERLAP = 0.5


class SpanCounts(NamedTuple):
    """Numbers of right, true and predicted spans; F1 is 2 right / (true + predicted)."""

    right: int = 0
    true: int = 0
    predicted: int = 0


NO_SPANS = SpanCounts()


def count_spans(case: Case, vocabulary: Vocabulary) -> SpanCounts:
    """The spans of one volume."""
    chain_region_count = len(vocabulary.chain)
    has_true_region = ~has_side_region_alone(case.truth, chain_region_count)
    edges_mm = slice_edges(case.z_mm, case.edges_mm)
    lower_edges_mm = edges_mm[:-1]
    upper_edges_mm = edges_mm[1:]
    right_count = true_count = predicted_count = 0
    for region in range(len(vocabulary.classes) - 1):
        is_judged = np.ones(len(has_true_region), dtype=bool)
        if region < chain_region_count:
            is_judged = has_true_region
        predicted_spans = _run_ends(
            case.decided_labels[:, region] & is_judged, lower_edges_mm, upper_edges_mm
        )
        true_spans = _run_ends(case.truth[:, region] & is_judged, lower_edges_mm, upper_edges_mm)
        true_count += len(true_spans)
        predicted_count += len(predicted_spans)
        if len(true_spans):
            is_overlap_enough = (
                _intersections_over_unions(predicted_spans, true_spans) >= LEAST_OVERLAP - 1e-9
            )
            right_count += int(is_overlap_enough.any(axis=1).sum())
    return SpanCounts(right_count, true_count, predicted_count)


def _run_ends(
    is_shown: NDArray[np.bool_],
    lower_edges_mm: NDArray[np.float64],
    upper_edges_mm: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(r, 2) lower and upper end of each run of slices, in mm."""
    starts_and_stops = np.diff(np.concatenate([[0], is_shown.astype(np.int8), [0]]))
    first_slices = np.flatnonzero(starts_and_stops == 1)
    last_slices = np.flatnonzero(starts_and_stops == -1) - 1
    return np.stack([lower_edges_mm[first_slices], upper_edges_mm[last_slices]], axis=1)


def _intersections_over_unions(
    first_runs: NDArray[np.float64], second_runs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Intersection over union (a, b) of every pair of runs (a, 2) and (b, 2)."""
    upper_of_both = np.minimum(first_runs[:, None, 1], second_runs[None, :, 1])
    lower_of_both = np.maximum(first_runs[:, None, 0], second_runs[None, :, 0])
    intersection = np.maximum(upper_of_both - lower_of_both, 0.0)
    union = np.diff(first_runs)[:, None, 0] + np.diff(second_runs)[None, :, 0] - intersection
    return np.asarray(intersection / union)
