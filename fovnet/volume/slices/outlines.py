"""Outlines of pictures of the body: histograms of gradient directions at two scales.

pictures  (n, 128, 128) of 4 mm per pixel, grey values 0 to 255
outlines  (n, 2, 8, 8, 8): scale, cell's row and column, bin
centre    the central 256 mm, cells of 32 mm
field     512 mm, cells of 64 mm
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.gradients import BINS, CELL_PIXELS, orientation_histograms
from fovnet.volume.slices.resizing import SIDE_PIXELS

WHITE_QUANTILE = 0.98  # quantile of the central pixels that is scaled to 1
# of 255, least value scaled to 1: a picture without brighter pixels is noise, and is not amplified
LEAST_WHITE = 20.0
SCALE_PIXELS = SIDE_PIXELS // 2
OUTLINE_SHAPE = (2, SCALE_PIXELS // CELL_PIXELS, SCALE_PIXELS // CELL_PIXELS, BINS)


def compute_outlines(pictures: NDArray[np.generic]) -> NDArray[np.float32]:
    """The outlines (n, 2, 8, 8, 8) of pictures (n, 128, 128)."""
    pixels = pictures.astype(np.float32)
    central_range = slice(SCALE_PIXELS // 2, SCALE_PIXELS // 2 + SCALE_PIXELS)
    central_pixels = pixels[:, central_range, central_range]
    whole_field = pixels.reshape(-1, SCALE_PIXELS, 2, SCALE_PIXELS, 2).mean(axis=(2, 4))
    white = np.quantile(central_pixels.reshape(len(central_pixels), -1), WHITE_QUANTILE, axis=1)
    white = np.maximum(white, LEAST_WHITE).astype(np.float32)
    scaled_pictures = np.clip(
        np.stack([central_pixels, whole_field], axis=1) / white[:, None, None, None], 0, 1
    )
    return orientation_histograms(
        scaled_pictures.reshape(-1, SCALE_PIXELS, SCALE_PIXELS).astype(np.float32)
    ).reshape(-1, *OUTLINE_SHAPE)
