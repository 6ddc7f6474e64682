"""Headers that turn the axes: an affine of plain voxel sizes, by which every stack is axial.

Written by converters that know the voxel sizes but not the orientation.  A brain may then appear in
coronal, a knee in sagittal, a heart in short-axis view, all as slices from below upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from nibabel.orientations import apply_orientation
from numpy.typing import NDArray

from fovnet.phantom.geometry.raster import Grid
from fovnet.volume.volume import Volume

TRUE_HEADER_SHARE = 0.9  # of tilted volumes; the others claim to lie along the scanner's axes
# of turned volumes: up, or anterior, is at the top of the image; the others have any orientation
UPRIGHT_SHARE = 0.5
LATTICE_POINTS = 9  # points at which heights are evaluated along each axis of a grid

HeaderTurn = tuple[tuple[int, int], ...]
"""For each axis of a grid the axis (0 right, 1 front, 2 up) that the header claims it is, and its
direction; () for a true header."""


def find_only_region(
    grid: Grid,
    borders_mm: Sequence[float],
    least_share: float,
) -> int | None:
    """The index, of the regions between these borders, of the one that contains the grid (mm of the
    person), or at least `least_share` of it; None if there is none.

    What is above or below all borders is ignored: a head with air above it is a head alone.
    """
    sample_indices = [np.linspace(-0.5, size - 0.5, LATTICE_POINTS) for size in grid.shape]
    i, j, k = np.meshgrid(*sample_indices, indexing="ij")
    height_row = grid.vox_to_ras[2]
    z = height_row[0] * i + height_row[1] * j + height_row[2] * k + height_row[3]
    region_count = len(borders_mm) - 1
    region_indices = np.searchsorted(borders_mm, z, side="right") - 1
    is_in_body = (region_indices >= 0) & (region_indices < region_count)
    point_counts = np.bincount(region_indices[is_in_body], minlength=region_count)
    fullest_region = int(point_counts.argmax())
    fullest_count = point_counts[fullest_region]
    if not fullest_count or fullest_count < least_share * point_counts.sum():
        return None
    return fullest_region


def draw_turn(slice_axis: int, rng: np.random.Generator) -> HeaderTurn:
    """A turn by which `slice_axis` is the third axis, in either direction; the other two as they
    are, or in any order and direction."""
    first_axis, second_axis = [axis for axis in range(3) if axis != slice_axis]
    first_sign, second_sign, slice_sign = rng.choice([-1, 1], 3).tolist()
    is_swapped = rng.random() < 0.5
    if rng.random() < UPRIGHT_SHARE:
        first_sign = 1
        second_sign = 1
        is_swapped = False
    claim_by_axis = {
        first_axis: (int(is_swapped), first_sign),
        second_axis: (int(not is_swapped), second_sign),
        slice_axis: (2, slice_sign),
    }
    return tuple(claim_by_axis[axis] for axis in range(3))


ROWS_DOWN_SHARE = 0.3  # of images stored with their first row on top; readers flip most of them


def draw_picture_turn(slice_axis: int, rng: np.random.Generator) -> HeaderTurn:
    """A turn that keeps images as a scanner stores them: columns from the patient's right, or
    front, to the left, or back.

    The header claims the first column to be the left-most, so the image is mirrored; slices run in
    either direction.
    """
    column_axis, row_axis = [axis for axis in range(3) if axis != slice_axis]
    row_sign = 1
    if rng.random() < ROWS_DOWN_SHARE:
        row_sign = -1
    slice_sign = int(rng.choice([-1, 1]))
    claim_by_axis = {column_axis: (0, -1), row_axis: (1, row_sign), slice_axis: (2, slice_sign)}
    return tuple(claim_by_axis[axis] for axis in range(3))


def to_claimed_axes(values: NDArray[np.float32], turn: HeaderTurn) -> NDArray[np.float32]:
    """Values (i, j, k) of a grid along the axes right, front, up that the header claims."""
    return np.asarray(apply_orientation(values, np.asarray(turn)))  # type: ignore[no-untyped-call]


def apply_claimed_header(volume: Volume, turn: HeaderTurn) -> Volume:
    """The volume as its header describes it: voxel sizes, straight axes, 0 mm in the middle."""
    voxels = to_claimed_axes(volume.voxels, turn)
    spacing_mm = np.ones(3)
    for axis, (claimed_axis, _) in enumerate(turn):
        spacing_mm[claimed_axis] = volume.spacing_mm[axis]
    affine = np.diag([*spacing_mm, 1.0])
    affine[:3, 3] = -spacing_mm * (np.asarray(voxels.shape) - 1) / 2
    return replace(volume, voxels=np.ascontiguousarray(voxels), vox_to_ras=affine)
