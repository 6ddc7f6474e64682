"""Which slices of a volume show a body, and which only air."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.intensity import window
from fovnet.volume.orient import closest_canonical
from fovnet.volume.volume import Volume

TISSUE = 0.15           # of the way from black to white: three times the noise of an image of signal-to-noise 20
LEAST_SHARE = 0.01      # of a slice's pixels: a scalp's top of 25 mm across in a field of 240 mm; noise reaches it nowhere


def body_slices(volume: Volume) -> tuple[int, int]:
    """(first, last) slice with tissue, of the volume in its closest RAS order, counted from the feet.

    From the first to the last slice of which at least 1 % of the pixels are brighter than noise, whatever lies between, as a cut without
    signal does; the whole volume where no slice is.
    """
    voxels = closest_canonical(volume).voxels
    black, white = window(voxels)
    bright = black + TISSUE * (white - black)
    share = np.asarray([np.count_nonzero(voxels[:, :, k] > bright) for k in range(voxels.shape[2])]) / voxels[:, :, 0].size
    shown = np.flatnonzero(share >= LEAST_SHARE)
    return (int(shown[0]), int(shown[-1])) if len(shown) else (0, voxels.shape[2] - 1)


def runs_of(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(first, last) of every run of True, ascending."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(begin), int(end) - 1) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
