"""The slices of a volume that show the body rather than air alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.intensity import estimate_window
from fovnet.volume.orient import reorder_to_closest_ras
from fovnet.volume.volume import Volume

# of the intensity window: three times the noise of an image with a signal-to-noise ratio of 20
TISSUE_SHARE = 0.15
# of a slice's pixels: the vertex, 25 mm across in a field of view of 240 mm; noise never reaches it
LEAST_SHARE = 0.01


def find_body_slices(volume: Volume) -> tuple[int, int]:
    """(first, last) slice with tissue, of the volume in its closest RAS order, counted from the
    feet.

    The first and the last slice with at least 1 % of its pixels above the noise; slices without
    signal may lie between them. The whole volume if there is no such slice.
    """
    voxels = reorder_to_closest_ras(volume).voxels
    black, white = estimate_window(voxels)
    tissue_intensity = black + TISSUE_SHARE * (white - black)
    bright_shares = (
        np.asarray(
            [
                np.count_nonzero(voxels[:, :, slice_index] > tissue_intensity)
                for slice_index in range(voxels.shape[2])
            ]
        )
        / voxels[:, :, 0].size
    )
    tissue_slices = np.flatnonzero(bright_shares >= LEAST_SHARE)
    if not len(tissue_slices):
        return 0, voxels.shape[2] - 1
    return int(tissue_slices[0]), int(tissue_slices[-1])


def find_runs(is_in_run: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """(first, last) of every run of True, ascending."""
    run_edges = np.flatnonzero(
        np.diff(np.concatenate([[False], is_in_run, [False]]).astype(np.int8))
    )
    return [
        (int(begin), int(end) - 1)
        for begin, end in zip(run_edges[::2], run_edges[1::2], strict=True)
    ]
