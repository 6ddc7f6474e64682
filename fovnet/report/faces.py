"""Pictures without faces: slices that may show a head are covered before anything is drawn from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.regions import Vocabulary

COVER = 96
"""The grey of a covered slice: neither air nor body, so that nobody takes it for either."""

SUSPECTED = 0.02
"""A slice is covered from this probability of a face on: an answer that overlooks the head must not show it."""

MARGIN_MM = 30.0
"""Covered beyond the outermost suspected slice: a chin reaches below the line at the lung apex only in a bent neck."""


def covered(
    pixels: NDArray[np.uint8], z_mm: NDArray[np.float64], vocabulary: Vocabulary, shares: Sequence[NDArray[np.float64] | NDArray[np.bool_]]
) -> NDArray[np.uint8]:
    """The slices (s, 128, 128) with every one that may show a face grey all over.

    shares  arrays (s, k) of what is said, believed or true; a slice is covered where any of them gives a face SUSPECTED or more, and
            within MARGIN_MM of such a slice.  A copy; the pixels handed in stay as they are.
    """
    columns = [vocabulary.classes.index(name) for name in vocabulary.faces]
    hidden = np.zeros(len(pixels), dtype=bool)
    for share in shares:
        hidden |= (np.asarray(share, dtype=np.float64)[:, columns] >= SUSPECTED).any(axis=1)
    near = (np.abs(z_mm[:, None] - z_mm[hidden][None]) <= MARGIN_MM).any(axis=1) if hidden.any() else hidden
    return np.where(near[:, None, None], np.uint8(COVER), pixels)
