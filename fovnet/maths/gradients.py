"""Histograms of oriented gradients: the orientation of edges in each cell of a picture, independent
of its contrast.

    pictures    (n, h, w)                        histograms  (n, h / CELL, w / CELL, BINS)

An edge from dark to bright counts as one from bright to dark, so that a body looks alike in all
weightings of MRI.  Source: Dalal & Triggs, *Histograms of oriented gradients for human detection*
(2005), section 6: gradients by [-1, 0, 1] without smoothing, unsigned orientations, votes shared by
the two nearest bins; here with eight bins, and each cell divided by the root mean square of its 3 ×
3 neighbourhood.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.turns import Move

CELL = 8
BINS = 8
QUIET = (
    0.5  # added to the squared votes of a cell, for grey values up to 1, so that noise stays small
)

Floats32 = NDArray[np.float32]
Number = TypeVar("Number", bound=np.generic)


def histograms(pictures: Floats32) -> Floats32:
    """The histograms (n, h / 8, w / 8, 8) of pictures whose sides are multiples of CELL, grey
    values 0 to 1.

    Bin b counts gradients at b · 22.5° from the direction of growing columns towards that of
    growing rows; the outermost pixels have no gradient outwards.
    """
    n, h, w = pictures.shape
    down, across = np.zeros((2, n, h, w), np.float32)
    down[:, 1:-1] = pictures[:, 2:] - pictures[:, :-2]
    across[:, :, 1:-1] = pictures[:, :, 2:] - pictures[:, :, :-2]
    strength = np.hypot(across, down)
    bins = np.arctan2(down, across) * np.float32(BINS / np.pi)
    first = np.floor(bins)
    above = bins - first
    cells = np.arange(n * (h // CELL) * (w // CELL), dtype=np.int64).reshape(
        n, h // CELL, w // CELL
    )
    cell = cells.repeat(CELL, axis=1).repeat(CELL, axis=2) * BINS
    low = first.astype(np.int64) % BINS
    votes = sum(
        np.bincount((cell + which).ravel(), (strength * share).ravel(), minlength=cells.size * BINS)
        for which, share in ((low, 1 - above), ((low + 1) % BINS, above))
    )
    return _even(np.asarray(votes, np.float32).reshape(*cells.shape, BINS))


def _even(votes: Floats32) -> Floats32:
    """The votes of every cell divided by the root mean square of the 3 × 3 cells around it; zero
    beyond the picture."""
    energy = np.pad((votes**2).sum(axis=-1), ((0, 0), (1, 1), (1, 1)))
    rows, columns = votes.shape[1:3]
    about = sum(energy[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)) / 9
    return np.asarray(votes / np.sqrt(about + QUIET)[..., None], np.float32)


def move_histograms(grids: NDArray[Number], move: Move) -> NDArray[Number]:
    """The histograms (..., rows, columns, BINS) of the moved pictures, from those of the original
    ones."""
    transposed, rows, columns = move
    if transposed:
        grids = grids.swapaxes(-3, -2)[..., (BINS // 2 - np.arange(BINS)) % BINS]
    for reversed_, axis in ((rows, -3), (columns, -2)):
        if reversed_:
            grids = np.flip(grids, axis)[..., -np.arange(BINS) % BINS]
    return grids
