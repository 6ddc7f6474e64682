"""The positions of slices; imports numpy alone, since training and prediction use it without
reading files."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Placing:
    """Size, volume and height of slices (n, 128, 128).

    sides_mm         (n,) side length in mm
    volume_of_slice  (n,) int64, equal for the slices of one volume, which are consecutive, from
                     feet to head
    z_mm             (n,) scanner height of each, ascending within a volume
    """

    sides_mm: NDArray[np.float64]
    volume_of_slice: NDArray[np.int64]
    z_mm: NDArray[np.float64]

    def find_neighbours(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """(2, m) rows of the slices below and above the slices in rows (m,); at the ends of a
        volume the slice itself."""
        neighbours = np.clip(np.stack([rows - 1, rows + 1]), 0, len(self.volume_of_slice) - 1)
        return np.where(
            self.volume_of_slice[neighbours] == self.volume_of_slice[rows], neighbours, rows
        )

    @property
    def row_ranges(self) -> NDArray[np.int64]:
        """(v, 2) first row of each volume, and the one after its last."""
        edges = np.flatnonzero(np.diff(self.volume_of_slice)) + 1
        return np.stack([np.append(0, edges), np.append(edges, len(self.volume_of_slice))], axis=1)
