"""Headers that turn the axes: an affine of plain voxel sizes, by which every stack is axial.

Written by converters that know the voxel sizes but not the orientation.  A brain may then appear in
coronal, a knee in sagittal, a heart in short-axis view, all as slices from below upwards.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from nibabel.orientations import apply_orientation
from numpy.typing import NDArray

from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.volume.volume import Volume

TRUE_HEADER_SHARE = 0.9  # of tilted volumes; the others claim to lie along the scanner's axes
# of turned volumes: up, or anterior, is at the top of the image; the others have any orientation
UPRIGHT_SHARE = 0.5
LATTICE_POINTS = 9  # points at which heights are evaluated along each axis of a grid

Turn = tuple[tuple[int, int], ...]
"""For each axis of a grid the axis (0 right, 1 front, 2 up) that the header claims it is, and its
direction; () for a true header."""


def only_region(grid: Grid, marks: Landmarks, least: float) -> int | None:
    """The rung of the chain that contains the grid (mm of the person), or at least the share
    `least` of it; None if there is none.

    Parts above the vertex or below the soles are ignored: a head with air above it is a head alone.
    """
    sample_indices = [np.linspace(-0.5, size - 0.5, LATTICE_POINTS) for size in grid.shape]
    i, j, k = np.meshgrid(*sample_indices, indexing="ij")
    height_row = grid.vox_to_ras[2]
    z = height_row[0] * i + height_row[1] * j + height_row[2] * k + height_row[3]
    borders = np.asarray(marks.borders_mm)
    region_count = len(borders) - 1
    rung_indices = np.searchsorted(borders, z, side="right") - 1
    rung_counts = np.bincount(
        rung_indices[(rung_indices >= 0) & (rung_indices < region_count)], minlength=region_count
    )
    fullest_rung = int(rung_counts.argmax())
    is_alone = rung_counts[fullest_rung] and rung_counts[fullest_rung] >= least * rung_counts.sum()
    return fullest_rung if is_alone else None


def draw_turn(slice_axis: int, rng: np.random.Generator) -> Turn:
    """A turn by which `slice_axis` is the third axis, in either direction; the other two as they
    are, or in any order and direction."""
    other_axes = [axis for axis in range(3) if axis != slice_axis]
    signs = rng.choice([-1, 1], 3).tolist()
    is_swapped = rng.random() < 0.5
    if rng.random() < UPRIGHT_SHARE:
        signs[:2] = [1, 1]
        is_swapped = False
    turn_by_axis = {
        other_axes[0]: (int(is_swapped), signs[0]),
        other_axes[1]: (int(not is_swapped), signs[1]),
        slice_axis: (2, signs[2]),
    }
    return tuple(turn_by_axis[axis] for axis in range(3))


ROWS_DOWN_SHARE = 0.3  # of images stored with their first row on top; readers flip most of them


def draw_picture_turn(slice_axis: int, rng: np.random.Generator) -> Turn:
    """A turn that keeps images as a scanner stores them: columns from the patient's right, or
    front, to the left, or back.

    The header claims the first column to be the left-most, so the image is mirrored; slices run in
    either direction.
    """
    column_axis, row_axis = [axis for axis in range(3) if axis != slice_axis]
    turn_by_axis = {
        column_axis: (0, -1),
        row_axis: (1, -1 if rng.random() < ROWS_DOWN_SHARE else 1),
        slice_axis: (2, int(rng.choice([-1, 1]))),
    }
    return tuple(turn_by_axis[axis] for axis in range(3))


def to_claimed_axes(values: NDArray[np.float32], turn: Turn) -> NDArray[np.float32]:
    """Values (i, j, k) of a grid along the axes right, front, up that the header claims."""
    return np.asarray(apply_orientation(values, np.asarray(turn)))  # type: ignore[no-untyped-call]


def apply_claimed_header(volume: Volume, turn: Turn) -> Volume:
    """The volume as its header describes it: voxel sizes, straight axes, 0 mm in the middle."""
    voxels = to_claimed_axes(volume.voxels, turn)
    sizes_mm = np.ones(3)
    for axis, (claimed_axis, _) in enumerate(turn):
        sizes_mm[claimed_axis] = volume.spacing_mm[axis]
    affine = np.diag([*sizes_mm, 1.0])
    affine[:3, 3] = -sizes_mm * (np.asarray(voxels.shape) - 1) / 2
    return replace(volume, voxels=np.ascontiguousarray(voxels), vox_to_ras=affine)
