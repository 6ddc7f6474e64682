"""Sagittal and coronal sections of a volume, made from its axial slices; imports numpy alone, since
training and prediction use it.

    n  slices
    v  volumes
    r  rows of all volumes together, each of PIXEL_MM, those of a volume from feet to head

A single slice shows little of its position; a section through the whole volume shows it, in rough
outlines, which simulated and real bodies have most in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE_PIXELS, resize_weights

PIXEL_MM = 4.0
# pixels of a slice averaged on either side of the middle, 28 mm of 400, so that noise is not taken for a body
SLAB_REACH_PIXELS = 4

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Sections:
    """The sections of v volumes, and the position of each slice in them.

    pixels               (2, r, 128) uint8: sagittal, columns from front to back, and coronal, from
                         the patient's right to the left; 512 mm wide, with the same centre as the
                         slices
    row_of_slice         (n,) int64 of each slice
    first_row_of_volume  (n,) int64 the first row of its volume
    row_after_volume     (n,) int64 the one after its last
    """

    pixels: NDArray[np.uint8]
    row_of_slice: NDArray[np.int64]
    first_row_of_volume: NDArray[np.int64]
    row_after_volume: NDArray[np.int64]


def make_sections(pixels: NDArray[np.uint8], placing: Placing) -> Sections:
    """The sections of all volumes of slices (n, 128, 128)."""
    slice_count = len(placing.volume_of_slice)
    section_parts = [np.zeros((2, 0, SIDE_PIXELS), np.uint8)]
    row_count = 0
    row_of_slice, first_row_of_volume, row_after_volume = (
        np.zeros(slice_count, np.int64) for _ in range(3)
    )
    for first_row, row_after in placing.row_ranges.tolist():
        volume_sections, rows_in_volume = _sections_of_volume(
            pixels[first_row:row_after],
            placing.z_mm[first_row:row_after],
            float(placing.sides_mm[first_row]),
        )
        section_parts.append(volume_sections)
        row_of_slice[first_row:row_after] = row_count + rows_in_volume
        first_row_of_volume[first_row:row_after] = row_count
        row_count += volume_sections.shape[1]
        row_after_volume[first_row:row_after] = row_count
    return Sections(
        np.concatenate(section_parts, axis=1), row_of_slice, first_row_of_volume, row_after_volume
    )


def make_sections_of_slices(
    pixels: NDArray[np.uint8], rows: NDArray[np.int64], placing: Placing
) -> Sections:
    """The sections of the volumes that contain the slices `rows` (m,), with the positions of these
    slices; no other volume is read."""
    runs = placing.row_ranges
    runs = runs[np.unique(np.searchsorted(runs[:, 0], rows, side="right") - 1)]
    volume_rows = np.concatenate(
        [np.arange(first_row, row_after) for first_row, row_after in runs.tolist()]
    )
    volume_sections = make_sections(
        pixels[volume_rows],
        Placing(
            placing.sides_mm[volume_rows],
            placing.volume_of_slice[volume_rows],
            placing.z_mm[volume_rows],
        ),
    )
    position_in_volumes = np.searchsorted(volume_rows, rows)
    return Sections(
        pixels=volume_sections.pixels,
        row_of_slice=volume_sections.row_of_slice[position_in_volumes],
        first_row_of_volume=volume_sections.first_row_of_volume[position_in_volumes],
        row_after_volume=volume_sections.row_after_volume[position_in_volumes],
    )


def _sections_of_volume(
    pixels: NDArray[np.uint8], z_mm: NDArray[np.float64], side_mm: float
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """(the two sections (2, r, 128) of a volume, the row (s,) of each slice)."""
    middle_row, middle_column = find_brightness_centre(pixels)
    sagittal = pixels[
        :, :, max(0, middle_column - SLAB_REACH_PIXELS) : middle_column + SLAB_REACH_PIXELS + 1
    ].mean(axis=2, dtype=np.float32)
    coronal = pixels[
        :, max(0, middle_row - SLAB_REACH_PIXELS) : middle_row + SLAB_REACH_PIXELS + 1
    ].mean(axis=1, dtype=np.float32)
    row_weights, row_of_slice = row_weights_and_rows(z_mm)
    column_weights = resize_weights(SIDE_PIXELS, side_mm / SIDE_PIXELS, PIXEL_MM * SIDE_PIXELS)
    both_sections = np.stack(
        [row_weights @ section @ column_weights.T for section in (sagittal, coronal)]
    )
    return np.clip(both_sections + np.float32(0.5), 0, 255).astype(np.uint8), row_of_slice


def find_brightness_centre(pixels: NDArray[np.uint8]) -> tuple[int, int]:
    """(row, column) of the centre of brightness of slices (s, 128, 128): the body may lie beside
    the centre of the image."""
    mean_picture = pixels.mean(axis=0, dtype=np.float32)
    total_brightness = float(mean_picture.sum())
    if not total_brightness:
        return SIDE_PIXELS // 2, SIDE_PIXELS // 2
    pixel_index = np.arange(SIDE_PIXELS, dtype=np.float32)
    row, column = (
        float((mean_picture.sum(axis=axis) * pixel_index).sum()) / total_brightness
        for axis in (1, 0)
    )
    return round(row), round(column)


def row_weights_and_rows(z_mm: NDArray[np.float64]) -> tuple[Floats, NDArray[np.int64]]:
    """(weights (r, s) of slices at ascending heights for rows of PIXEL_MM, the row (s,) that
    contains each slice).

    The triangle filter, as wide as the larger of a row and the median step: linear interpolation
    between slices farther apart.  A volume extends half a step beyond its outermost slices; a
    single slice is one row thick.
    """
    step_mm = PIXEL_MM
    if len(z_mm) > 1:
        step_mm = float(np.median(np.diff(z_mm)))
    bottom_mm = z_mm[0] - step_mm / 2
    row_count = max(1, round((z_mm[-1] + step_mm / 2 - bottom_mm) / PIXEL_MM))
    heights_mm = bottom_mm + (np.arange(row_count) + 0.5) * PIXEL_MM
    slice_index = np.arange(len(z_mm))
    slice_positions = np.interp(heights_mm, z_mm, slice_index)
    slice_distances = np.abs(slice_positions[:, None] - slice_index)
    weights = np.maximum(0.0, 1.0 - slice_distances / max(1.0, PIXEL_MM / step_mm))
    weights /= weights.sum(axis=1, keepdims=True)
    row_of_slice = np.clip((z_mm - bottom_mm) // PIXEL_MM, 0, row_count - 1)
    return weights.astype(np.float32), row_of_slice.astype(np.int64)
