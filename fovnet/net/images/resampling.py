"""Affine resampling of slices: sampling grids, and bilinear interpolation.

n  slices    theta  (n, 2, 3) map from output to input coordinates, both frames being [-1, 1]
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def resample(images: Tensor, theta: Tensor) -> Tensor:
    """The batch (n, c, h, w) resampled bilinearly at theta of each pixel's centre."""
    return interpolate_at(images, sampling_grid(theta, *images.shape[-2:]))


def interpolate_at(images: Tensor, grid: Tensor) -> Tensor:
    """The batch (n, c, h', w') interpolated bilinearly at the points (n, h, w, 2); outside is
    black."""
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def sampling_grid(theta: Tensor, h: int, w: int) -> Tensor:
    """(n, h, w, 2) sampling point of each pixel, as by F.affine_grid, but as the sum of a term per
    row and a term per column.

    affine_grid's matrix products take a CPU ten times as long: 2.6 ms for 16 slices against 0.25.
    """
    column_positions = (2 * torch.arange(w, device=theta.device, dtype=theta.dtype) + 1) / w - 1
    row_positions = (2 * torch.arange(h, device=theta.device, dtype=theta.dtype) + 1) / h - 1
    grid = theta.new_empty(len(theta), h, w, 2)
    for axis in (0, 1):
        column_factor, row_factor, shift = (
            theta_part[:, None] for theta_part in theta[:, axis].unbind(dim=1)
        )
        torch.add(
            (column_factor * column_positions)[:, None, :],
            (row_factor * row_positions + shift)[:, :, None],
            out=grid[..., axis],
        )
    return grid
