"""Pictures without faces: slices that may show a head are covered before anything is drawn from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.regions import Vocabulary

COVER = 96
"""The grey of a covered slice, unlike both air and body."""

SUSPECTED = 0.02
"""A slice is covered from this probability of a face on: an answer that overlooks the head must not show it."""

MARGIN_MM = 30.0
"""Covered beyond the outermost suspected slice: a chin reaches below the line at the lung apex only in a bent neck."""


def covered(
    pixels: NDArray[np.uint8], z_mm: NDArray[np.float64], vocabulary: Vocabulary, shares: Sequence[NDArray[np.float64] | NDArray[np.bool_]]
) -> NDArray[np.uint8]:
    """The slices (s, 128, 128), every one that may show a face all grey.

    shares  arrays (s, k) of predicted classes, probabilities or true classes; a slice is covered where any of them gives a region with
            a face SUSPECTED or more, and within MARGIN_MM of such a slice.  A copy; the argument is unchanged.
    """
    columns = [vocabulary.classes.index(name) for name in vocabulary.faces]
    believed = np.stack([np.asarray(share, dtype=np.float64)[:, columns].max(axis=1) for share in shares], axis=1)
    heads_mm = z_mm[np.flatnonzero(believed.max(axis=1) >= SUSPECTED)]
    hidden = np.flatnonzero((np.abs(z_mm[:, None] - heads_mm[None]) <= MARGIN_MM).sum(axis=1))
    shown = pixels.copy()
    shown[hidden] = COVER
    return shown
