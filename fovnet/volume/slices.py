"""A slice stack: the axial cuts of one volume, as the networks see them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIDE = 128
"""Pixels along each side of a slice."""


@dataclass(frozen=True)
class SliceStack:
    """Axial cuts of one volume, counted from feet to head.

    pixels      (s, 128, 128) uint8; rows run front→back and columns right→left (radiological: the patient's right is on the left)
    z_mm        (s,) float64, scanner height of each cut's centre, ascending
    covers      (s, 2) int64, first and last slice (inclusive) of the RAS volume that the cut stands for
    side_mm     millimetres along each side of a slice (square: the shorter side of the volume is padded with 0)
    vox_to_ras  (4, 4) affine of the RAS volume those slice numbers count in
    source      path;  checksum SHA-256 of the file;  notes what was done, in sentences
    """

    pixels: NDArray[np.uint8]
    z_mm: NDArray[np.float64]
    covers: NDArray[np.int64]
    side_mm: float
    vox_to_ras: NDArray[np.float64]
    source: str
    checksum: str
    notes: tuple[str, ...] = ()
