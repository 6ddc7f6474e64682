"""Axial, sagittal and coronal pictures of a volume, at three places each and centred on the bright
part, which show its orientation.

    pictures  (3, 3, 128, 128) uint8: plane (axial, sagittal, coronal), place, row, column; 4 mm per pixel

Rows run from front to back in axial pictures and from head to feet in the others; columns from the
patient's right to the left, in sagittal ones from front to back; all according to the header.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.machine.threads import one_thread
from fovnet.volume.slices.resizing import SIDE_PIXELS, resize_weights
from fovnet.volume.slices.sections import PIXEL_MM, find_brightness_centre, row_weights_and_rows
from fovnet.volume.slices.stack import SliceStack

PLANE_SHARES = (0.3, 0.5, 0.7)
"""Position of each plane along its normal: the share of the total brightness that lies before it."""
PICTURES_SHAPE = (3, len(PLANE_SHARES), SIDE_PIXELS, SIDE_PIXELS)
SLAB_MM = 12.0  # averaged across each plane, so that noise of one cut is not taken for an edge
LEAST_EXTENT_MM = 50.0  # along each axis: a volume of less than a third of a head shows no outline
SLACK_VOXELS = 0.01  # of a voxel: headers are in single precision

Floats32 = NDArray[np.float32]


def make_pictures(stack: SliceStack) -> NDArray[np.uint8]:
    """The nine pictures (3, 3, 128, 128) of a volume; of one longer or wider than 512 mm, of the
    512 mm about its centre of brightness."""
    with one_thread():
        slices = _slices_about_body(stack)
        row_weights = _row_weights_about_body(stack)
        column_weights = resize_weights(
            SIDE_PIXELS, stack.side_mm / SIDE_PIXELS, PIXEL_MM * SIDE_PIXELS
        )
        half_slab = max(1, round(SLAB_MM * SIDE_PIXELS / stack.side_mm / 2))
        axial = []
        for centre_row in _find_plane_indices(row_weights @ slices.mean(axis=(1, 2))):
            slab = row_weights[max(0, centre_row - 1) : centre_row + 2].mean(axis=0)
            axial.append(column_weights @ np.tensordot(slab, slices, axes=1) @ column_weights.T)
        sagittal = []
        for centre_column in _find_plane_indices(slices.mean(axis=(0, 1))):
            slab = slices[
                :, :, max(0, centre_column - half_slab) : centre_column + half_slab + 1
            ].mean(axis=2)
            sagittal.append(_turn_upright(row_weights @ slab @ column_weights.T))
        coronal = []
        for centre_row in _find_plane_indices(slices.mean(axis=(0, 2))):
            slab = slices[:, max(0, centre_row - half_slab) : centre_row + half_slab + 1].mean(
                axis=1
            )
            coronal.append(_turn_upright(row_weights @ slab @ column_weights.T))
        nine_pictures = np.stack(
            [_centre_picture(picture) for picture in (*axial, *sagittal, *coronal)]
        )
    grey_pictures: NDArray[np.uint8] = np.clip(nine_pictures + np.float32(0.5), 0, 255).astype(
        np.uint8
    )
    return grey_pictures.reshape(PICTURES_SHAPE)


def measure_extents_mm(stack: SliceStack) -> tuple[float, float, float]:
    """(from side to side, front to back, feet to head) the extents in mm of a volume's pixels above
    0."""
    is_bright = stack.pixels > 0
    pixel_mm = stack.side_mm / SIDE_PIXELS
    height_mm = np.diff(stack.edges_mm)[is_bright.any(axis=(1, 2))].sum()
    return (
        float(is_bright.any(axis=(0, 1)).sum() * pixel_mm),
        float(is_bright.any(axis=(0, 2)).sum() * pixel_mm),
        float(height_mm),
    )


def states_axes(stack: SliceStack) -> bool:
    """Whether the header states the directions of its axes: False for a diagonal affine with the
    origin in the middle or at a corner.

    Converters without orientation information write such a header, and so does the simulator when
    it turns a volume.
    """
    affine = stack.vox_to_ras
    voxel_sizes_mm = np.diag(affine)[:3]
    if not np.allclose(affine[:3, :3], np.diag(voxel_sizes_mm), atol=1e-4):
        return True
    slack_mm = SLACK_VOXELS * voxel_sizes_mm
    edges_mm = stack.edges_mm
    # of the longer side; the shorter is padded
    reach_mm = stack.side_mm - voxel_sizes_mm[:2]
    origin_mm = affine[:2, 3]
    is_centred = (
        abs(edges_mm[[0, -1]].mean()) <= slack_mm[2]
        and np.abs(origin_mm + reach_mm / 2).min() <= slack_mm[:2].max()
    )
    is_at_corner = (
        abs(edges_mm[0] + voxel_sizes_mm[2] / 2) <= slack_mm[2]
        and min(np.abs(origin_mm).min(), np.abs(origin_mm + reach_mm).min()) <= slack_mm[:2].max()
    )
    return not (is_centred or is_at_corner)


def shows_stated_axes(stack: SliceStack) -> bool:
    """Whether the orientation of a volume can be taken from its header: the header states it, and
    the volume extends LEAST_EXTENT_MM each way."""
    return states_axes(stack) and min(measure_extents_mm(stack)) >= LEAST_EXTENT_MM


def _slices_about_body(stack: SliceStack) -> Floats32:
    """The slices (s, 128, 128); if they are wider than the pictures, shifted so that their centre
    of brightness is in the middle."""
    slices = stack.pixels.astype(np.float32)
    if stack.side_mm > PIXEL_MM * SIDE_PIXELS:
        for axis, centre in enumerate(find_brightness_centre(stack.pixels), start=1):
            slices = _shift_pixels(slices, SIDE_PIXELS // 2 - centre, axis)
    return slices


def _row_weights_about_body(stack: SliceStack) -> Floats32:
    """(r, s) weights of the slices in at most 128 rows of 4 mm, about the centre of brightness if
    there are more."""
    weights, _ = row_weights_and_rows(stack.z_mm)
    if len(weights) <= SIDE_PIXELS:
        return weights
    brightness_profile = weights @ stack.pixels.mean(axis=(1, 2), dtype=np.float32)
    centre_row = float(
        brightness_profile @ np.arange(len(brightness_profile), dtype=np.float32)
    ) / max(float(brightness_profile.sum()), 1e-9)
    first_row = min(max(0, round(centre_row) - SIDE_PIXELS // 2), len(weights) - SIDE_PIXELS)
    return weights[first_row : first_row + SIDE_PIXELS]


def _find_plane_indices(profile: Floats32) -> list[int]:
    """The indices at which the cumulative sum of a profile reaches the shares PLANE_SHARES."""
    cumulative = np.cumsum(profile, dtype=np.float64)
    indices = np.searchsorted(cumulative, np.array(PLANE_SHARES) * cumulative[-1])
    return [int(index) for index in indices]


def _turn_upright(section: Floats32) -> Floats32:
    """A section (r, 128) with rows from the feet, flipped and centred in 128 rows from the head."""
    picture = np.zeros((SIDE_PIXELS, SIDE_PIXELS), np.float32)
    top = (SIDE_PIXELS - len(section)) // 2
    picture[top : top + len(section)] = section[::-1]
    return picture


def _centre_picture(picture: Floats32) -> Floats32:
    """A picture (128, 128), shifted by whole pixels so that its centre of brightness is in the
    middle."""
    total_brightness = float(picture.sum())
    if not total_brightness:
        return picture
    pixel_index = np.arange(SIDE_PIXELS, dtype=np.float32)
    for axis in (0, 1):
        centre = float(picture.sum(axis=1 - axis) @ pixel_index) / total_brightness
        picture = _shift_pixels(picture, round((SIDE_PIXELS - 1) / 2 - centre), axis)
    return picture


def _shift_pixels(picture: Floats32, pixels: int, axis: int) -> Floats32:
    """A picture, or slices, shifted along an axis and filled with black."""
    shifted = np.zeros_like(picture)
    source_range = slice(max(0, -pixels), SIDE_PIXELS - max(0, pixels))
    target_range = slice(max(0, pixels), SIDE_PIXELS - max(0, -pixels))
    axes_before = (slice(None),) * axis
    shifted[(*axes_before, target_range)] = picture[(*axes_before, source_range)]
    return shifted
