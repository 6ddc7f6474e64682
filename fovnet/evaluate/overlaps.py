"""Spans against spans: is a region's said stretch by and large its true one?

A said span is right when it overlaps a true one of its region by at least half of what both cover together (intersection over union in
millimetres). Slices whose truth does not tell the chain region are left out on both sides.

This F1 counts spans, whatever their length; the Dice coefficient by which a rule is chosen (`decision/objective.py`) counts millimetres.

Source: the segmental F1 at 50 % of Lea, Flynn, Vidal, Reiter & Hager (CVPR 2017), section 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.objective import untold
from fovnet.decision.spans import outer_edges
from fovnet.evaluate.cases import Case
from fovnet.regions import Vocabulary

LEAST_OVERLAP = 0.5


def span_counts(case: Case, vocabulary: Vocabulary) -> tuple[int, int, int]:
    """Spans that are right, true spans, said spans of one volume; F1 is 2 right / (true + said)."""
    chain = len(vocabulary.chain)
    told = ~untold(case.truth, chain)
    edges_mm = outer_edges(case.z_mm, case.edges_mm)
    lower, upper = edges_mm[:-1], edges_mm[1:]
    right = true = said = 0
    for region in range(len(vocabulary.classes) - 1):
        judged = told if region < chain else np.ones(len(told), dtype=bool)
        ours = _runs(case.decided[:, region] & judged, lower, upper)
        theirs = _runs(case.truth[:, region] & judged, lower, upper)
        true, said = true + len(theirs), said + len(ours)
        right += int((_overlap(ours, theirs) >= LEAST_OVERLAP - 1e-9).any(axis=1).sum()) if len(theirs) else 0
    return right, true, said


def _runs(shown: NDArray[np.bool_], lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """(r, 2) where each run of slices begins and ends, in mm."""
    steps = np.diff(np.concatenate([[0], shown.astype(np.int8), [0]]))
    return np.stack([lower[np.flatnonzero(steps == 1)], upper[np.flatnonzero(steps == -1) - 1]], axis=1)


def _overlap(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intersection over union of every pair of runs."""
    shared = np.minimum(ours[:, None, 1], theirs[None, :, 1]) - np.maximum(ours[:, None, 0], theirs[None, :, 0])
    shared = np.maximum(shared, 0.0)
    together = np.diff(ours)[:, None, 0] + np.diff(theirs)[None, :, 0] - shared
    return np.asarray(shared / together)
