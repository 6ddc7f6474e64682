"""Pictures without faces: slices that may show a face are covered before anything is drawn from
them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.regions import Vocabulary

COVERED_GREY = 96
"""The grey of a covered slice, unlike both air and body."""

LEAST_FACE_PROBABILITY = 0.02
"""Lowest probability of a region with a face at which a slice is covered; low, so that a head
missed by the answer is covered too."""

FACE_MARGIN_MM = 30.0
"""Slices this near to a suspected one are covered too: a chin is below the border at the lung apex
only if the neck is flexed."""


def cover_faces(
    pixels: NDArray[np.uint8],
    z_mm: NDArray[np.float64],
    vocabulary: Vocabulary,
    class_shares: Sequence[NDArray[np.float64] | NDArray[np.bool_]],
) -> NDArray[np.uint8]:
    """A copy of the slices (s, 128, 128) in which every slice that may show a face has the grey
    value COVERED_GREY.

    z_mm          heights (s,) of the slices
    class_shares  arrays (s, k) of predicted classes, probabilities or true classes; a slice is
                  covered where any of them gives a region with a face LEAST_FACE_PROBABILITY or
                  more, and within FACE_MARGIN_MM of such a slice.
    """
    face_columns = [vocabulary.classes.index(face_region) for face_region in vocabulary.faces]
    face_shares = np.stack(
        [
            np.asarray(shares, dtype=np.float64)[:, face_columns].max(axis=1)
            for shares in class_shares
        ]
    )
    suspected_heights_mm = z_mm[face_shares.max(axis=0) >= LEAST_FACE_PROBABILITY]
    distances_mm = np.abs(z_mm[:, None] - suspected_heights_mm)
    covered_pixels = pixels.copy()
    covered_pixels[(distances_mm <= FACE_MARGIN_MM).any(axis=1)] = COVERED_GREY
    return covered_pixels
