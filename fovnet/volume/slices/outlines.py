"""Outlines of pictures of the body: histograms of gradient directions at two scales.

pictures  (n, 128, 128) of 4 mm per pixel, grey values 0 to 255
outlines  (n, 2, 8, 8, 8): scale, cell's row and column, bin
centre    the central 256 mm, cells of 32 mm
field     512 mm, cells of 64 mm
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.gradients import BINS, CELL_PIXELS, histograms
from fovnet.volume.slices.resizing import SIDE

BRIGHT = 0.98  # quantile of the central pixels that is scaled to 1
# of 255, least value scaled to 1: a picture without brighter pixels is noise, and is not amplified
DARKEST = 20.0
WIDTH = SIDE // 2
SHAPE = (2, WIDTH // CELL_PIXELS, WIDTH // CELL_PIXELS, BINS)


def outlines(pictures: NDArray[np.generic]) -> NDArray[np.float32]:
    """The outlines (n, 2, 8, 8, 8) of pictures (n, 128, 128)."""
    pixels = pictures.astype(np.float32)
    central = slice(WIDTH // 2, WIDTH // 2 + WIDTH)
    centre = pixels[:, central, central]
    field = pixels.reshape(-1, WIDTH, 2, WIDTH, 2).mean(axis=(2, 4))
    white = np.quantile(centre.reshape(len(centre), -1), BRIGHT, axis=1)
    white = np.maximum(white, DARKEST).astype(np.float32)
    scales = np.clip(np.stack([centre, field], axis=1) / white[:, None, None, None], 0, 1)
    return histograms(scales.reshape(-1, WIDTH, WIDTH).astype(np.float32)).reshape(-1, *SHAPE)
