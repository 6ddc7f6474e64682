"""From images with positions to a regular grid: irregular positions are corrected if that is safe,
else refused.

    planes   (n, rows, columns) float32, in the order along the normal

Positions come from ImagePositionPatient and ImageOrientationPatient only: SliceThickness is not the
slice distance, and neither it nor SpacingBetweenSlices is written reliably.  Source: DICOM PS3.3,
C.7.6.2.1.1, the mapping from pixel to patient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.positions import (
    EVEN_SPACING_TOLERANCE,
    MAX_GAP_RATIO,
    SAME_POSITION_MM,
    label_positions,
)
from fovnet.volume.grid import LPS_TO_RAS

MAX_IGNORED_SHIFT_PX = 0.1  # largest shift in the plane that is ignored
# between the line through the images and the normal; gantries tilt to 30°
MAX_GANTRY_TILT_DEG = 45.0
# largest field of view that shifted images may cover together, in fields of view of one
MAX_SPREAD_RATIO = 2.0
NOTED_DEVIATION_SHARE = 0.01  # of the slice distance: positions less off a grid are as written
LEAST_INTERPOLATED_IMAGES = 4  # of fewer, the usual distance is not known
DIRECTION_TOLERANCE = 0.02  # tolerance of a direction's length, and of the cosine between the two


@dataclass(frozen=True)
class StackPositions:
    """The positions of a group's images.

    image_order  (n,) the indices of the images in their order along the normal; all else is in this
                 order
    depths_mm    (n,) along the normal, ascending
    shifts_mm    (n, 2) in the plane against the first image: along rows, along columns
    axes         (3, 3) rows: direction of growing column, of growing row, normal
    origin_mm    (3,) of the first image
    spacing_mm   between rows, between columns
    """

    image_order: NDArray[np.int64]
    depths_mm: NDArray[np.float64]
    shifts_mm: NDArray[np.float64]
    axes: NDArray[np.float64]
    origin_mm: NDArray[np.float64]
    spacing_mm: tuple[float, float]


@dataclass(frozen=True)
class ImageGrid:
    """A regular grid.

    voxels          (columns, rows, n)
    vox_to_ras      (4, 4)
    nearest_images  (n,) for each slice, the index of the nearest image
    notes           on corrections
    """

    voxels: NDArray[np.float32]
    vox_to_ras: NDArray[np.float64]
    nearest_images: NDArray[np.int64]
    notes: tuple[str, ...]


def locate_images(source: str, frames: Sequence[Frame]) -> StackPositions:
    """The positions of the images.  Raises VolumeError "volume-geometry" if a position, orientation
    or pixel size is missing or invalid."""
    axes = _read_image_axes(source, frames[0])
    missing_count = sum(frame.position_mm is None for frame in frames)
    if missing_count:
        raise VolumeError(
            "volume-geometry",
            f"{source}: {missing_count} of {len(frames)} images have no ImagePositionPatient, so "
            "nothing says where they lie. Export the series again with its geometry.",
        )
    spacing_mm = frames[0].spacing_mm
    if spacing_mm is None or min(spacing_mm) <= 0:
        fault = "no PixelSpacing"
        if spacing_mm is not None:
            fault = f"a PixelSpacing of {spacing_mm[0]:g} × {spacing_mm[1]:g} mm"
        raise VolumeError(
            "volume-geometry",
            f"{source}: {fault}; two numbers above 0 are wanted. Export the series again.",
        )
    positions = np.asarray([frame.position_mm for frame in frames], dtype=np.float64)
    depths_mm = positions @ axes[2]
    depth_order = np.argsort(np.round(depths_mm / SAME_POSITION_MM), kind="stable")
    shifts_mm = (positions - positions[depth_order[0]])[depth_order] @ axes[:2].T
    return StackPositions(
        image_order=depth_order,
        depths_mm=depths_mm[depth_order],
        shifts_mm=shifts_mm,
        axes=axes,
        origin_mm=positions[depth_order[0]],
        spacing_mm=(spacing_mm[0], spacing_mm[1]),
    )


def find_distinct_images(
    source: str, planes: NDArray[np.float32], positions: StackPositions
) -> NDArray[np.int64]:
    """(m,) ascending indices of the images to keep: of identical images at one position only the
    first.

    Raises VolumeError "volume-doubled" if images at one position differ, and no attribute separates
    them.
    """
    kept_indices = [0]
    place_labels = label_positions(positions.depths_mm)
    for image_index in range(1, len(planes)):
        if place_labels[image_index] > place_labels[kept_indices[-1]]:
            kept_indices.append(image_index)
        elif not np.array_equal(planes[image_index], planes[kept_indices[-1]]):
            raise VolumeError(
                "volume-doubled",
                f"{source}: {len(planes)} images at {place_labels.max() + 1} positions; those at "
                f"{positions.depths_mm[image_index]:.2f} mm along the normal differ, and no attribute tells "
                "them apart. Separate the volumes into folders.",
            )
    return np.asarray(kept_indices)


def build_regular_grid(
    source: str, planes: NDArray[np.float32], positions: StackPositions
) -> ImageGrid:
    """The images on a regular grid.  Raises VolumeError "volume-gaps" or "volume-tilt" for
    positions too irregular to correct."""
    planes, offset_mm, tilt_notes = _move_upright(source, planes, positions)
    even_planes = _space_evenly(source, planes, positions.depths_mm)
    vox_to_lps = np.eye(4)
    vox_to_lps[:3, :3] = positions.axes.T * [
        positions.spacing_mm[1],
        positions.spacing_mm[0],
        even_planes.step_mm,
    ]
    vox_to_lps[:3, 3] = positions.origin_mm + offset_mm @ positions.axes[:2]
    return ImageGrid(
        voxels=even_planes.planes.transpose(2, 1, 0),
        vox_to_ras=LPS_TO_RAS @ vox_to_lps + 0.0,
        nearest_images=even_planes.nearest_images,
        notes=tilt_notes + even_planes.notes,
    )


def _read_image_axes(source: str, frame: Frame) -> NDArray[np.float64]:
    """(3, 3) unit vectors: direction of growing column, of growing row, normal."""
    if frame.orientation is None:
        raise VolumeError(
            "volume-geometry",
            f"{source}: no ImageOrientationPatient, so nothing says which way is up. Export the "
            "series again with its geometry.",
        )
    along_row = np.asarray(frame.orientation[:3])
    along_column = np.asarray(frame.orientation[3:])
    lengths = np.linalg.norm(along_row), np.linalg.norm(along_column)
    if (
        max(abs(length - 1) for length in lengths) > DIRECTION_TOLERANCE
        or abs(along_row @ along_column) > DIRECTION_TOLERANCE
    ):
        cosines = ", ".join(f"{cosine:.3g}" for cosine in frame.orientation)
        raise VolumeError(
            "volume-geometry",
            f"{source}: ImageOrientationPatient {cosines}; two unit vectors at right angles are "
            "wanted. Export the series again.",
        )
    along_row = along_row / lengths[0]
    along_column = along_column - (along_column @ along_row) * along_row
    along_column /= np.linalg.norm(along_column)
    return np.stack([along_row, along_column, np.cross(along_row, along_column)])


def _move_upright(
    source: str, planes: NDArray[np.float32], positions: StackPositions
) -> tuple[NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
    """(planes, offset of their first pixel in the plane in mm (2,), notes): images that are shifted
    against each other, moved onto one right-angled grid.

    planes  (n, rows, columns)
    A tilted gantry shifts every image against the one before; each is interpolated (bilinear) onto
    a plane that covers them all.
    """
    from scipy import ndimage

    mm_per_px = np.asarray(positions.spacing_mm[::-1])
    # (n, 2) pixels along rows, along columns
    shift_px = positions.shifts_mm / mm_per_px
    if np.abs(shift_px).max() <= MAX_IGNORED_SHIFT_PX:
        return planes, np.zeros(2), ()
    thickness_mm = positions.depths_mm[-1] - positions.depths_mm[0]
    tilt_deg = float(np.degrees(np.arctan2(np.linalg.norm(positions.shifts_mm[-1]), thickness_mm)))
    lowest_px = np.floor(shift_px.min(axis=0))
    size_px = np.ceil(shift_px.max(axis=0) - lowest_px).astype(int) + np.asarray(
        planes.shape[:0:-1]
    )
    spread_ratio = float((size_px / planes.shape[:0:-1]).max())
    if tilt_deg > MAX_GANTRY_TILT_DEG or spread_ratio > MAX_SPREAD_RATIO:
        largest_mm = np.abs(positions.shifts_mm).max()
        raise VolumeError(
            "volume-tilt",
            f"{source}: the images are shifted against each other by up to {largest_mm:.1f} mm, "
            f"{tilt_deg:.1f}° from a right-angled stack (limit {MAX_GANTRY_TILT_DEG:g}°). Reformat "
            "the series.",
        )
    fill_value = float(planes.min())
    upright_planes = np.stack(
        [
            ndimage.affine_transform(
                plane,
                np.ones(2),
                (lowest_px - plane_shift)[::-1],
                tuple(size_px[::-1]),
                order=1,
                mode="constant",
                cval=fill_value,
            )
            for plane, plane_shift in zip(planes, shift_px, strict=True)
        ]
    )
    note = (
        f"images shifted against each other by up to {np.abs(positions.shifts_mm).max():.1f} mm (tilt "
        f"{tilt_deg:.1f}°): moved upright"
    )
    return upright_planes, lowest_px * mm_per_px, (note,)


class EvenPlanes(NamedTuple):
    """Planes at one distance.

    planes          (n, rows, columns)
    step_mm         between them
    nearest_images  (n,) for each, the index of the nearest image
    notes           on corrections
    """

    planes: NDArray[np.float32]
    step_mm: float
    nearest_images: NDArray[np.int64]
    notes: tuple[str, ...]


def _space_evenly(
    source: str, planes: NDArray[np.float32], depths_mm: NDArray[np.float64]
) -> EvenPlanes:
    """The planes on an even grid: unchanged if they are evenly spaced, else interpolated at about the
    median distance.

    planes     (n, rows, columns)
    depths_mm  (n,) along the normal, ascending
    """
    image_count = len(depths_mm)
    if image_count == 1:
        note = "a single image: 1 mm is taken for its thickness"
        return EvenPlanes(
            planes=planes, step_mm=1.0, nearest_images=np.zeros(1, dtype=np.int64), notes=(note,)
        )
    mean_gap_mm = float(depths_mm[-1] - depths_mm[0]) / (image_count - 1)
    largest_deviation_mm = float(
        np.abs(depths_mm - depths_mm[0] - mean_gap_mm * np.arange(image_count)).max()
    )
    if largest_deviation_mm <= EVEN_SPACING_TOLERANCE * mean_gap_mm:
        notes: tuple[str, ...] = ()
        if largest_deviation_mm > NOTED_DEVIATION_SHARE * mean_gap_mm:
            notes = (f"positions off a regular grid by up to {largest_deviation_mm:.2f} mm",)
        return EvenPlanes(planes, mean_gap_mm, np.arange(image_count), notes)
    gaps_mm = np.diff(depths_mm)
    usual_gap_mm = float(np.median(gaps_mm))
    widest_gap = int(gaps_mm.argmax())
    if (
        gaps_mm[widest_gap] > MAX_GAP_RATIO * usual_gap_mm
        or image_count < LEAST_INTERPOLATED_IMAGES
    ):
        neighbours = f"images {widest_gap + 1} and {widest_gap + 2}"
        fault = f"{neighbours} along the normal lie {gaps_mm[widest_gap]:.2f} mm apart"
        raise VolumeError(
            "volume-gaps",
            f"{source}: {fault}, the others usually {usual_gap_mm:.2f} mm (limit {MAX_GAP_RATIO:g} "
            "times that, of four images or more). Copy the missing images.",
        )
    step_count = max(1, round(float(depths_mm[-1] - depths_mm[0]) / usual_gap_mm))
    step_mm = float(depths_mm[-1] - depths_mm[0]) / step_count
    slice_depths_mm = depths_mm[0] + step_mm * np.arange(step_count + 1)
    image_below = np.clip(
        np.searchsorted(depths_mm, slice_depths_mm, side="right") - 1, 0, image_count - 2
    )
    weight_above = ((slice_depths_mm - depths_mm[image_below]) / gaps_mm[image_below]).astype(
        np.float32
    )[:, None, None]
    nearest_images = np.abs(slice_depths_mm[:, None] - depths_mm).argmin(axis=1)
    note = (
        f"images {gaps_mm.min():.2f} to {gaps_mm.max():.2f} mm apart (usually {usual_gap_mm:.2f}): "
        f"interpolated at {step_mm:.2f} mm"
    )
    even_planes = planes[image_below] * (1 - weight_above) + planes[image_below + 1] * weight_above
    return EvenPlanes(even_planes, step_mm, nearest_images, (note,))
