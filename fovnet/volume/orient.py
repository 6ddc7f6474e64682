"""The orientation of a volume's axes, and its conversion to left→right, back→front, feet→head
(RAS+).

A grid within `max_tilt_deg` of the scanner axes is only permuted and flipped (nibabel's closest
canonical form: every voxel keeps its value); a more oblique one is interpolated onto a grid along
the scanner axes. The same grid can be stored in 48 axis orders and directions; all of them give the
same result, because every decision depends on the *set* of axis directions only.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import join_sizes
from fovnet.volume.intensity import LEAST_WINDOW_WIDTH, estimate_window
from fovnet.volume.volume import NO_AXIS, Volume

MAX_TILT_DEG = 20.0  # default limit above which a volume is resampled
TILT_WORTH_A_NOTE_DEG = 5.0  # about one 5 mm slice across half a head (60 mm · tan 5° = 5 mm)
# voxels of a resampled grid: 2 GiB as float32. A rotated cube takes at most 4.63 times its own
MAX_STRAIGHT_VOXELS = 2**29
# a resampled grid of more voxels than so many times the volume's own, and than FEW_VOXELS, gets larger ones
MAX_VOXEL_GROWTH = 5
FEW_VOXELS = 2**24
# if the last grid line is this close to the volume's edge, no further one is added
LEAST_UNCOVERED_MM = 1e-3


def to_ras(volume: Volume, max_tilt_deg: float = MAX_TILT_DEG) -> Volume:
    """The volume with axes running left→right, back→front, feet→head.

    Up to `max_tilt_deg` it is exactly `nibabel.as_closest_canonical`: a view, voxels unchanged, the
    affine still oblique.  Above it the result is interpolated (trilinear) on a grid along the
    scanner axes with the same centre and spacings that covers the volume; outside, it has the black
    of the volume's window, and `label_slice_z_mm` keeps the heights of the original slices.  Where no
    point of that grid lies in the volume, or all are alike, it is too thin for that, and stays as
    it is: a single slice fills no space.  Raises VolumeError "volume-too-large" if the grid would
    have more than MAX_STRAIGHT_VOXELS voxels, before memory is allocated.
    """
    canonical = reorder_to_closest_ras(volume)
    tilt = measure_tilt_deg(canonical.vox_to_ras)
    if tilt > max_tilt_deg:
        tilt_phrase = f"oblique by {tilt:.1f}° (limit {max_tilt_deg:g}°)"
        straightened = None
        if min(volume.voxels.shape) > 1:
            straightened = _resample_straight(canonical)
        if straightened is None or np.ptp(straightened.voxels) <= LEAST_WINDOW_WIDTH:
            tilt_note = (
                f"{tilt_phrase}, and too thin to be resampled: cut along the volume's own slices"
            )
            return replace(canonical, notes=(*volume.notes, tilt_note))
        tilt_note = f"{tilt_phrase}: resampled on a grid along the scanner axes"
        return replace(straightened, notes=(*volume.notes, tilt_note))
    if tilt > TILT_WORTH_A_NOTE_DEG:
        tilt_note = (
            f"oblique by {tilt:.1f}°: cut along the volume's own slices (limit {max_tilt_deg:g}°)"
        )
        return replace(canonical, notes=(*volume.notes, tilt_note))
    return canonical


def measure_tilt_deg(vox_to_ras: NDArray[np.float64]) -> float:
    """The largest angle between an axis of a RAS-ordered affine and its scanner axis, in degrees."""
    cosines = np.diag(vox_to_ras)[:3] / np.linalg.norm(vox_to_ras[:3, :3], axis=0)
    return float(np.degrees(np.arccos(np.clip(cosines.min(), -1.0, 1.0))))


def reorder_to_closest_ras(volume: Volume) -> Volume:
    """The volume with its axes permuted and flipped to the nearest RAS order; a view of the same
    voxels."""
    from nibabel import orientations

    orientation = find_closest_axes(volume.vox_to_ras)
    vox_to_ras = volume.vox_to_ras @ orientations.inv_ornt_aff(orientation, volume.voxels.shape)  # type: ignore[no-untyped-call]
    # t + c·(n-1) rounds differently in each storage order
    vox_to_ras[:3, 3] = np.round(vox_to_ras[:3, 3], 6)
    voxels = orientations.apply_orientation(volume.voxels, orientation)  # type: ignore[no-untyped-call]
    images = volume.images
    if images is not None:
        image_axis, direction_sign = orientation[images.axis]
        images = images.reorient(int(image_axis), direction_sign < 0)
    return replace(volume, voxels=voxels, vox_to_ras=vox_to_ras + 0.0, images=images)


def find_closest_axes(vox_to_ras: NDArray[np.float64]) -> NDArray[np.float64]:
    """nibabel's orientation (3, 2) of a grid, one row per stored axis: the RAS axis it becomes, and
    +1 or -1 for its direction.

    At exactly 45° nibabel's result depends on which axis is stored first.  Here each axis is first
    given a positive sign and the three are sorted, so that equal grids get equal results.
    """
    from nibabel import orientations

    directions = vox_to_ras[:3, :3] / np.linalg.norm(vox_to_ras[:3, :3], axis=0)
    directions = np.round(directions, 6) + 0.0  # float32 in a header has seven digits
    first_cosines = directions[np.argmax(directions != 0, axis=0), np.arange(3)]
    axis_signs = np.where(first_cosines < 0, -1.0, 1.0)
    positive_directions = directions * axis_signs
    sorted_axes = np.lexsort(-positive_directions[::-1])
    sorted_affine = np.eye(4)
    sorted_affine[:3, :3] = positive_directions[:, sorted_axes]
    orientation = np.empty((3, 2))
    orientation[sorted_axes] = orientations.io_orientation(sorted_affine)  # type: ignore[no-untyped-call]
    orientation[:, 1] *= axis_signs
    return orientation


def _resample_straight(canonical: Volume) -> Volume:
    """A RAS-ordered volume interpolated on a grid along the scanner axes with the same centre and
    spacings."""
    from scipy import ndimage

    stored_shape = np.asarray(canonical.voxels.shape)
    stored_axes = canonical.vox_to_ras[:3, :3]
    straight_spacing, straight_sides = straight_grid(stored_axes, stored_shape)
    if straight_spacing is None:
        raise VolumeError(
            "volume-too-large",
            f"{canonical.source}: oblique, and {join_sizes(f'{side:.0f}' for side in straight_sides)} voxels along "
            "the scanner axes; the limit is "
            f"{MAX_STRAIGHT_VOXELS:,}. Check the affine, or resample it to voxels of even size.",
        )
    straight_shape = straight_sides.astype(int)
    # Index to index about the two centres: the origin is not involved, so its rounding cannot move a voxel.
    straight_to_stored = np.linalg.solve(stored_axes, np.diag(straight_spacing))
    offset = (stored_shape - 1) / 2 - straight_to_stored @ ((straight_shape - 1) / 2)
    voxels = ndimage.affine_transform(
        np.ascontiguousarray(canonical.voxels),
        straight_to_stored,
        offset,
        tuple(straight_shape),
        order=1,
        mode="constant",
        cval=estimate_window(canonical.voxels)[0],
        prefilter=False,
    )
    centre_ras = canonical.vox_to_ras @ np.append((stored_shape - 1) / 2, 1.0)
    vox_to_ras = np.diag([*straight_spacing, 1.0])
    vox_to_ras[:3, 3] = np.round(centre_ras[:3] - straight_spacing * (straight_shape - 1) / 2, 6)
    images = canonical.images and replace(canonical.images, axis=NO_AXIS)
    return replace(
        canonical,
        voxels=voxels,
        vox_to_ras=vox_to_ras,
        label_slice_z_mm=canonical.slice_heights_mm(),
        images=images,
    )


def straight_grid(
    axes: NDArray[np.float64], shape: NDArray[np.int64]
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
    """Spacings (3,) and sides (3,) of the grid along the scanner axes that covers a RAS-ordered one
    with these axes (3, 3).

    The spacings are the volume's own, unless the grid then had out of proportion many voxels: of
    plates 0.05 mm thin and metres wide nearly all of it is empty.  The smallest are widened then.
    None, and the sides with the own spacings, above MAX_STRAIGHT_VOXELS voxels.
    """
    spacing_mm = np.linalg.norm(axes, axis=0)
    extent_mm = np.abs(axes) @ (shape - 1)

    def sides() -> NDArray[np.float64]:
        return np.asarray(np.ceil((extent_mm - LEAST_UNCOVERED_MM) / spacing_mm).clip(0) + 1)

    if not sides().prod() <= MAX_STRAIGHT_VOXELS:
        return None, sides()
    while sides().prod() > max(MAX_VOXEL_GROWTH * float(shape.prod()), FEW_VOXELS):
        spacing_mm = np.maximum(spacing_mm, 1.1 * spacing_mm.min())
    return spacing_mm, sides()


def count_straight_voxels(vox_to_ras: NDArray[np.float64], shape: tuple[int, ...]) -> int:
    """The number of voxels of a grid (i, j, k) in any order, once it stands along the scanner axes;
    0 if there are too many."""
    orientation = find_closest_axes(vox_to_ras)
    axis_order = orientation[:, 0].argsort()
    spacing_mm, sides = straight_grid(
        vox_to_ras[:3, :3][:, axis_order], np.asarray(shape)[axis_order]
    )
    if spacing_mm is None:
        return 0
    return int(sides.prod())
