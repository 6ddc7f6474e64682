"""Histograms of oriented gradients: the orientation of edges in each cell of a picture, independent
of its contrast.

    pictures    (n, h, w)
    histograms  (n, h / CELL_PIXELS, w / CELL_PIXELS, BINS)

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

CELL_PIXELS = 8
BINS = 8
NOISE_ENERGY = 0.5
"""Added to the squared votes of a cell, for grey values up to 1, so that noise stays small."""

Floats32 = NDArray[np.float32]
Number = TypeVar("Number", bound=np.generic)


def orientation_histograms(pictures: Floats32) -> Floats32:
    """The histograms (n, h / 8, w / 8, 8) of pictures whose sides are multiples of CELL_PIXELS,
    grey values 0 to 1.

    Bin b counts gradients at b · 22.5° from the direction of growing columns towards that of
    growing rows; the outermost pixels have no gradient outwards.
    """
    picture_count, height, width = pictures.shape
    row_gradient, column_gradient = np.zeros((2, picture_count, height, width), np.float32)
    row_gradient[:, 1:-1] = pictures[:, 2:] - pictures[:, :-2]
    column_gradient[:, :, 1:-1] = pictures[:, :, 2:] - pictures[:, :, :-2]
    strength = np.hypot(column_gradient, row_gradient)
    bin_position = np.arctan2(row_gradient, column_gradient) * np.float32(BINS / np.pi)
    lower_bin = np.floor(bin_position)
    upper_share = bin_position - lower_bin
    cells = np.arange(
        picture_count * (height // CELL_PIXELS) * (width // CELL_PIXELS), dtype=np.int64
    ).reshape(picture_count, height // CELL_PIXELS, width // CELL_PIXELS)
    first_index = cells.repeat(CELL_PIXELS, axis=1).repeat(CELL_PIXELS, axis=2) * BINS
    lower_bin_index = lower_bin.astype(np.int64) % BINS
    votes = sum(
        np.bincount(
            (first_index + bin_index).ravel(),
            (strength * vote_share).ravel(),
            minlength=cells.size * BINS,
        )
        for bin_index, vote_share in (
            (lower_bin_index, 1 - upper_share),
            ((lower_bin_index + 1) % BINS, upper_share),
        )
    )
    return _normalise_votes(np.asarray(votes, np.float32).reshape(*cells.shape, BINS))


def _normalise_votes(votes: Floats32) -> Floats32:
    """The votes of every cell divided by the root mean square of the 3 × 3 cells around it; zero
    beyond the picture."""
    energy = np.pad((votes**2).sum(axis=-1), ((0, 0), (1, 1), (1, 1)))
    row_count, column_count = votes.shape[1:3]
    mean_energy = (
        sum(
            energy[
                :, row_offset : row_offset + row_count, column_offset : column_offset + column_count
            ]
            for row_offset in range(3)
            for column_offset in range(3)
        )
        / 9
    )
    return np.asarray(votes / np.sqrt(mean_energy + NOISE_ENERGY)[..., None], np.float32)


def move_histograms(histogram_grids: NDArray[Number], move: Move) -> NDArray[Number]:
    """The histograms (..., rows, columns, BINS) of the moved pictures, from those of the original
    ones."""
    transposed, are_rows_reversed, are_columns_reversed = move
    if transposed:
        histogram_grids = histogram_grids.swapaxes(-3, -2)[
            ..., (BINS // 2 - np.arange(BINS)) % BINS
        ]
    for is_reversed, axis in ((are_rows_reversed, -3), (are_columns_reversed, -2)):
        if is_reversed:
            histogram_grids = np.flip(histogram_grids, axis)[..., -np.arange(BINS) % BINS]
    return histogram_grids
