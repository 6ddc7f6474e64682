"""What a body's pictures look like in outline, near and far: the gradients of each at two scales.

    pictures  (n, 128, 128) of 4 mm a pixel, grey values 0 to 255      outlines  (n, 2, 8, 8, 8): scale, cell's row and column, bin

    near  the 256 mm about the middle, a cell 32 mm across      far  512 mm, a cell 64 mm across
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.gradients import BINS, CELL, histograms
from fovnet.volume.resizing import SIDE

BRIGHT = 0.98           # of the near pixels lie below white
DARKEST = 20.0          # of 255: a picture without anything brighter is noise, and stays as dark as it is
WIDE = SIDE // 2
SHAPE = (2, WIDE // CELL, WIDE // CELL, BINS)


def outlines(pictures: NDArray[np.generic]) -> NDArray[np.float32]:
    """The outlines of the pictures."""
    whole = pictures.astype(np.float32)
    near = whole[:, WIDE // 2 : WIDE // 2 + WIDE, WIDE // 2 : WIDE // 2 + WIDE]
    far = whole.reshape(-1, WIDE, 2, WIDE, 2).mean(axis=(2, 4))
    white = np.maximum(np.quantile(near.reshape(len(near), -1), BRIGHT, axis=1), DARKEST).astype(np.float32)
    both = np.clip(np.stack([near, far], axis=1) / white[:, None, None, None], 0, 1)
    return histograms(both.reshape(-1, WIDE, WIDE).astype(np.float32)).reshape(-1, *SHAPE)
