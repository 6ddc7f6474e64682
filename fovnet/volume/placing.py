"""Where slices stand: numpy alone, for training and prediction need it and read no files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Placing:
    """What slices (n, 128, 128) do not show of themselves: how large they are, how high they stand, and which of them are one volume's.

    sides_mm  (n,) millimetres along each side
    volume    (n,) int64, the same for the slices of one volume, which stand one after another from feet to head
    z_mm      (n,) scanner height of each, ascending within a volume
    """

    sides_mm: NDArray[np.float64]
    volume: NDArray[np.int64]
    z_mm: NDArray[np.float64]

    def neighbours(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """(2, m) the slices below and above each of some rows (m,); at the ends of a volume the slice itself."""
        beside = np.clip(np.stack([rows - 1, rows + 1]), 0, len(self.volume) - 1)
        return np.where(self.volume[beside] == self.volume[rows], beside, rows)

    @property
    def runs(self) -> NDArray[np.int64]:
        """(v, 2) first slice of each volume, and the one after its last."""
        edges = np.flatnonzero(np.diff(self.volume)) + 1
        return np.stack([np.append(0, edges), np.append(edges, len(self.volume))], axis=1)
