"""Black margins: slices without signal at either end of a volume, as padding, reslicing and masking
produce them.

They show nothing, whatever the networks predict: one that sees sections labelled 14 cm of black
below an abdomen as pelvis, with confidence 0.7 to 0.98.  So a volume is decided from its first
slice with signal to its last, and the margins are none with confidence 1. Black slices between
others are left to the decision: signal may be lost within a region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.spans import Decision

GREATEST_AIR_GREY = 10
"""Grey value of 255: a slice without a pixel this bright shows only air; noise around a body is
rarely brighter."""


def find_air(pixels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """(s,) whether slices (s, side, side) show nothing but air."""
    return np.asarray(pixels.max(axis=(1, 2)) < GREATEST_AIR_GREY)


def find_signal_rows(is_air: NDArray[np.bool_]) -> slice:
    """The rows from the first slice that is not air to the last; all rows if all are."""
    rows = np.flatnonzero(~is_air)
    if not len(rows):
        return slice(0, len(is_air))
    return slice(int(rows[0]), int(rows[-1]) + 1)


def decide_between_margins(
    rows: slice, slice_count: int, decide: Callable[[slice], Decision]
) -> Decision:
    """The decision by `decide` on the `rows`, for a volume of so many slices; those before and
    after are none with confidence 1.

    Number of observations and volume confidence are those of the `rows`: black slices cannot
    contradict an answer, and padding must not raise its confidence.
    """
    decision = decide(rows)
    margin_sizes = (rows.start, slice_count - rows.stop)
    padded_probabilities = np.pad(decision.smoothed_probabilities, (margin_sizes, (0, 0)))
    padded_labels = np.pad(decision.decided_labels, (margin_sizes, (0, 0)))
    for margin_rows in (slice(0, rows.start), slice(rows.stop, slice_count)):
        padded_probabilities[margin_rows, -1] = 1.0
        padded_labels[margin_rows, -1] = True
    padded_confidence = np.pad(decision.slice_confidence, margin_sizes, constant_values=1.0)
    spans = tuple(
        replace(span, first=span.first + rows.start, last=span.last + rows.start)
        for span in decision.spans
    )
    return replace(
        decision,
        spans=spans,
        smoothed_probabilities=padded_probabilities,
        decided_labels=padded_labels,
        slice_confidence=padded_confidence,
    )
