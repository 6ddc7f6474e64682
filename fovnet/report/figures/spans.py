"""How spans are drawn in both pictures of a volume: from which height to which, and side by side in lanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.cases import StoredSpan
from fovnet.regions import Vocabulary

RIM_MM = 0.5
"""A span's edge within this distance of the end of a picture equals that end up to rounding."""


def extent_mm(z_mm: NDArray[np.float64], spans: Sequence[StoredSpan]) -> tuple[float, float]:
    """Lower and upper end in mm of a volume and its spans, which may reach further: the last slice may stand
    for several."""
    step = float(np.median(np.diff(z_mm))) if len(z_mm) > 1 else 5.0
    low, high = float(z_mm[0]) - step / 2, float(z_mm[-1]) + step / 2
    return min([low, *(span.from_mm for span in spans)]), max(
        [high, *(span.to_mm for span in spans)]
    )


def edges_within(spans: Sequence[StoredSpan], low_mm: float, high_mm: float) -> list[float]:
    """Heights in mm of the spans' ends, ascending, without those at the ends of the picture."""
    edges = {edge for span in spans for edge in (span.from_mm, span.to_mm)}
    return sorted(edge for edge in edges if low_mm + RIM_MM < edge < high_mm - RIM_MM)


def lanes_of(spans: Sequence[StoredSpan], vocabulary: Vocabulary) -> tuple[list[int], int]:
    """The lane of each span, from the left, and the number of lanes: the chain in one, each side region such
    as spine in its own beside it."""
    side_regions = [
        name for name in vocabulary.side_regions if any(span.region == name for span in spans)
    ]
    chain = any(span.region in vocabulary.chain for span in spans)
    lanes = ["chain", *side_regions] if chain or not side_regions else side_regions
    return [lanes.index(span.region) if span.region in lanes else 0 for span in spans], len(lanes)
