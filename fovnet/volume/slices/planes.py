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
from fovnet.volume.slices.resizing import SIDE, resize_weights
from fovnet.volume.slices.sections import PIXEL_MM, middle, rows_along
from fovnet.volume.slices.stack import SliceStack

PLACES = (0.3, 0.5, 0.7)
"""Position of each plane along its normal: the share of the total brightness that lies before it."""
PICTURES = (3, len(PLACES), SIDE, SIDE)
THICK_MM = 12.0  # averaged across each plane, so that noise of one cut is not taken for an edge
LEAST_MM = 50.0  # along each axis: a volume of less than a third of a head shows no outline
SLACK = 0.01  # of a voxel: headers are in single precision

Floats32 = NDArray[np.float32]


def pictures(stack: SliceStack) -> NDArray[np.uint8]:
    """The nine pictures (3, 3, 128, 128) of a volume; of one longer or wider than 512 mm, of the
    512 mm about its centre of brightness."""
    with one_thread():
        slices = _about_the_body(stack)
        along = _rows(stack)
        across = resize_weights(SIDE, stack.side_mm / SIDE, PIXEL_MM * SIDE)
        half = max(1, round(THICK_MM * SIDE / stack.side_mm / 2))
        axial = []
        for row in _places(along @ slices.mean(axis=(1, 2))):
            slab = along[max(0, row - 1) : row + 2].mean(axis=0)
            axial.append(across @ np.tensordot(slab, slices, axes=1) @ across.T)
        sagittal = []
        for column in _places(slices.mean(axis=(0, 1))):
            slab = slices[:, :, max(0, column - half) : column + half + 1].mean(axis=2)
            sagittal.append(_upright(along @ slab @ across.T))
        coronal = []
        for row in _places(slices.mean(axis=(0, 2))):
            slab = slices[:, max(0, row - half) : row + half + 1].mean(axis=1)
            coronal.append(_upright(along @ slab @ across.T))
        nine = np.stack([_centre(picture) for picture in (*axial, *sagittal, *coronal)])
    grey: NDArray[np.uint8] = np.clip(nine + np.float32(0.5), 0, 255).astype(np.uint8)
    return grey.reshape(PICTURES)


def extents_mm(stack: SliceStack) -> tuple[float, float, float]:
    """The extent in mm of a volume's pixels above 0 from side to side, front to back and feet to
    head."""
    bright = stack.pixels > 0
    pixel_mm = stack.side_mm / SIDE
    height_mm = np.diff(stack.edges_mm)[bright.any(axis=(1, 2))].sum()
    return (
        float(bright.any(axis=(0, 1)).sum() * pixel_mm),
        float(bright.any(axis=(0, 2)).sum() * pixel_mm),
        float(height_mm),
    )


def states_axes(stack: SliceStack) -> bool:
    """Whether the header states the directions of its axes: False for a diagonal affine with the
    origin in the middle or at a corner.

    Converters without orientation information write such a header, and so does the simulator when
    it turns a volume.
    """
    affine = stack.vox_to_ras
    sizes = np.diag(affine)[:3]
    if not np.allclose(affine[:3, :3], np.diag(sizes), atol=1e-4):
        return True
    slack = SLACK * sizes
    edges_mm = stack.edges_mm
    # of the longer side; the shorter is padded
    reach = stack.side_mm - sizes[:2]
    origin = affine[:2, 3]
    is_centred = (
        abs(edges_mm[[0, -1]].mean()) <= slack[2]
        and np.abs(origin + reach / 2).min() <= slack[:2].max()
    )
    is_at_corner = (
        abs(edges_mm[0] + sizes[2] / 2) <= slack[2]
        and min(np.abs(origin).min(), np.abs(origin + reach).min()) <= slack[:2].max()
    )
    return not (is_centred or is_at_corner)


def shows_stated_axes(stack: SliceStack) -> bool:
    """Whether the orientation of a volume can be taken from its header: the header states it, and
    the volume extends LEAST_MM each way."""
    return states_axes(stack) and min(extents_mm(stack)) >= LEAST_MM


def _about_the_body(stack: SliceStack) -> Floats32:
    """The slices (s, 128, 128); if they are wider than the pictures, shifted so that their centre
    of brightness is in the middle."""
    slices = stack.pixels.astype(np.float32)
    if stack.side_mm > PIXEL_MM * SIDE:
        for axis, centre in enumerate(middle(stack.pixels), start=1):
            slices = _shift(slices, SIDE // 2 - centre, axis)
    return slices


def _rows(stack: SliceStack) -> Floats32:
    """(r, s) weights of the slices in at most 128 rows of 4 mm, about the centre of brightness if
    there are more."""
    along, _ = rows_along(stack.z_mm)
    if len(along) <= SIDE:
        return along
    profile = along @ stack.pixels.mean(axis=(1, 2), dtype=np.float32)
    centre = float(profile @ np.arange(len(profile), dtype=np.float32)) / max(
        float(profile.sum()), 1e-9
    )
    first = min(max(0, round(centre) - SIDE // 2), len(along) - SIDE)
    return along[first : first + SIDE]


def _places(profile: Floats32) -> list[int]:
    """The indices at which the cumulative sum of a profile reaches the shares PLACES."""
    cumulative = np.cumsum(profile, dtype=np.float64)
    places = np.searchsorted(cumulative, np.array(PLACES) * cumulative[-1])
    return [int(index) for index in places]


def _upright(section: Floats32) -> Floats32:
    """A section (r, 128) with rows from the feet, flipped and centred in 128 rows from the head."""
    picture = np.zeros((SIDE, SIDE), np.float32)
    top = (SIDE - len(section)) // 2
    picture[top : top + len(section)] = section[::-1]
    return picture


def _centre(picture: Floats32) -> Floats32:
    """A picture (128, 128), shifted by whole pixels so that its centre of brightness is in the
    middle."""
    total = float(picture.sum())
    if not total:
        return picture
    index = np.arange(SIDE, dtype=np.float32)
    for axis in (0, 1):
        centre = float(picture.sum(axis=1 - axis) @ index) / total
        picture = _shift(picture, round((SIDE - 1) / 2 - centre), axis)
    return picture


def _shift(picture: Floats32, pixels: int, axis: int) -> Floats32:
    """A picture, or slices, shifted along an axis and filled with black."""
    result = np.zeros_like(picture)
    source = slice(max(0, -pixels), SIDE - max(0, pixels))
    target = slice(max(0, pixels), SIDE - max(0, -pixels))
    axes_before = (slice(None),) * axis
    result[(*axes_before, target)] = picture[(*axes_before, source)]
    return result
