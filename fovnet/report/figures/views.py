"""Coronal and sagittal views of a stack of axial slices.

pixels  (s, h, w) uint8, feet to head; rows run front→back and columns right→left
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
LEAST_SLAB_BRIGHTNESS = 0.25
"""A slab with less than this share of the brightest slab's brightness shows air, such as between
the legs."""


def coronal_view(pixels: Bytes) -> Bytes:
    """The body seen from the front, (s, w) uint8 from feet to head, the patient's right on the
    left."""
    return _average_slab(pixels, 1)


def sagittal_view(pixels: Bytes) -> Bytes:
    """The body seen from its left side, as lateral radiographs are displayed, (s, h) uint8 from
    feet to head, the front on the left."""
    return _average_slab(pixels, 2)


def _average_slab(pixels: Bytes, axis: int) -> Bytes:
    """The mean of a slab a tenth of the slice deep, at the centroid of brightness; at the brightest
    depth if the slab at the centroid has less than LEAST_SLAB_BRIGHTNESS of its brightness, as
    between the legs.

    axis  of `pixels` (s, h, w) that is averaged: 1 gives (s, w), 2 gives (s, h)

    A single row is noisy, and a projection of all rows shows no spine. Contrast runs from the 1st
    to the 99.5th percentile.
    """
    if not pixels.size:
        return np.zeros((0, 0), dtype=np.uint8)
    row_count = pixels.shape[axis]
    half_thickness = max(row_count // 20, 1)
    row_brightness = pixels.sum(axis=(0, 3 - axis), dtype=np.int64)
    centroid = (row_count - 1) / 2
    if row_brightness.sum():
        centroid = float(row_brightness @ np.arange(row_count) / row_brightness.sum())
    middle_row = int(np.clip(round(centroid), half_thickness, row_count - 1 - half_thickness))
    slab_brightness = np.convolve(row_brightness, np.ones(2 * half_thickness + 1), mode="valid")
    if slab_brightness[middle_row - half_thickness] < LEAST_SLAB_BRIGHTNESS * slab_brightness.max():
        middle_row = half_thickness + int(slab_brightness.argmax())
    slab_rows = np.arange(middle_row - half_thickness, middle_row + half_thickness + 1)
    mean_slab = np.take(pixels, slab_rows, axis=axis).astype(np.float64).mean(axis=axis)
    black_level, white_level = np.percentile(mean_slab, [1.0, 99.5])
    if white_level - black_level < 1.0:  # uniform, as when all slices are covered
        return np.asarray(mean_slab.round().astype(np.uint8))
    grey_levels = (mean_slab - black_level) / (white_level - black_level) * 255
    return np.asarray(np.clip(grey_levels, 0, 255).round(), dtype=np.uint8)


def resample_heights(
    view: Bytes, z_mm: NDArray[np.float64], low_mm: float, high_mm: float
) -> Bytes:
    """A view (s, w) of slices at heights `z_mm` (s,), resampled to 2s even heights from `low_mm` to
    `high_mm` by the nearest slice; unchanged if evenly spaced or s < 3."""
    distances_mm = np.append(np.diff(z_mm), (high_mm - low_mm) / len(z_mm))
    if len(z_mm) < 3 or np.ptp(distances_mm) < 0.01 * distances_mm.mean():
        return view
    line_count = 2 * len(z_mm)
    line_heights_mm = low_mm + (np.arange(line_count) + 0.5) * (high_mm - low_mm) / line_count
    borders_between_slices_mm = (z_mm[1:] + z_mm[:-1]) / 2
    return view[np.searchsorted(borders_between_slices_mm, line_heights_mm)]
