"""From images with positions to a regular grid: irregular positions are corrected if that is safe, else
refused.

    along    (n,) mm of each image along the normal of its plane, ascending       across  (n, 2) mm in the
        plane: along rows, columns
    planes   (n, rows, columns) float32

Positions come from ImagePositionPatient and ImageOrientationPatient only: SliceThickness is not the slice
distance, and neither it nor SpacingBetweenSlices is written reliably.  Source: DICOM PS3.3, C.7.6.2.1.1, the
mapping from pixel to patient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.errors import VolumeError
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.positions import EVEN_SHARE, MAX_GAP_RATIO, SAME_PLACE_MM, position_labels
from fovnet.volume.grid import LPS_TO_RAS

SAME_LINE_PX = 0.1  # largest shift in the plane that is ignored
MAX_GANTRY_TILT_DEG = (
    45.0  # between the line through the images and the normal; gantries tilt to 30°
)
# largest field of view that shifted images may cover together, in fields of view of one
MAX_SPREAD = 2.0
DIRECTION_TOLERANCE = 0.02  # tolerance of a direction's length, and of the cosine between the two


@dataclass(frozen=True)
class StackPositions:
    """The positions of a group's images: their order (n,) along the normal, and the measures above in that
    order."""

    order: NDArray[np.int64]
    along: NDArray[np.float64]
    across: NDArray[np.float64]
    axes: NDArray[np.float64]  # (3, 3) rows: direction of growing column, of growing row, normal
    origin: NDArray[np.float64]  # (3,) of the first image in that order
    spacing_mm: tuple[float, float]  # between rows, between columns


@dataclass(frozen=True)
class ImageGrid:
    """A regular grid (columns, rows, n) with its affine, the image nearest to each of its slices, and notes
    on corrections."""

    voxels: NDArray[np.float32]
    vox_to_ras: NDArray[np.float64]
    nearest: NDArray[np.int64]
    notes: tuple[str, ...]


def stack_positions(source: str, frames: Sequence[Frame]) -> StackPositions:
    """The positions of the images.  Raises VolumeError "volume-geometry" if a position, orientation or pixel
    size is missing or invalid."""
    axes = _axes(source, frames[0])
    missing = sum(frame.position is None for frame in frames)
    if missing:
        raise VolumeError(
            "volume-geometry",
            f"{source}: {missing} of {len(frames)} images have no ImagePositionPatient, so nothing says "
            "where they lie. Export the series again with its geometry.",
        )
    spacing = frames[0].spacing_mm
    if spacing is None or min(spacing) <= 0:
        seen = (
            "no PixelSpacing"
            if spacing is None
            else f"a PixelSpacing of {spacing[0]:g} × {spacing[1]:g} mm"
        )
        raise VolumeError(
            "volume-geometry",
            f"{source}: {seen}; two numbers above 0 are wanted. Export the series again.",
        )
    positions = np.asarray([frame.position for frame in frames], dtype=np.float64)
    along = positions @ axes[2]
    order = np.argsort(np.round(along / SAME_PLACE_MM), kind="stable")
    moved = (positions - positions[order[0]])[order] @ axes[:2].T
    return StackPositions(
        order, along[order], moved, axes, positions[order[0]], (spacing[0], spacing[1])
    )


def distinct_images(
    source: str, planes: NDArray[np.float32], stand: StackPositions
) -> NDArray[np.int64]:
    """(m,) ascending indices of the images to keep: of identical images at one position only the first.

    Raises VolumeError "volume-doubled" if images at one position differ, and no attribute separates them.
    """
    kept, labels = [0], position_labels(stand.along)
    for index in range(1, len(planes)):
        if labels[index] > labels[kept[-1]]:
            kept.append(index)
        elif not np.array_equal(planes[index], planes[kept[-1]]):
            raise VolumeError(
                "volume-doubled",
                f"{source}: {len(planes)} images at {labels.max() + 1} positions; those at "
                f"{stand.along[index]:.2f} mm along the normal differ, and no attribute tells them apart. "
                "Separate the volumes into folders.",
            )
    return np.asarray(kept)


def regular_grid(source: str, planes: NDArray[np.float32], stand: StackPositions) -> ImageGrid:
    """The images on a regular grid.  Raises VolumeError "volume-gaps" or "volume-tilt" for positions too
    irregular to correct."""
    planes, start, tilt_notes = _straighten(source, planes, stand)
    planes, step_mm, nearest, gap_notes = _space_evenly(source, planes, stand.along)
    vox_to_lps = np.eye(4)
    vox_to_lps[:3, :3] = stand.axes.T * [stand.spacing_mm[1], stand.spacing_mm[0], step_mm]
    vox_to_lps[:3, 3] = stand.origin + start @ stand.axes[:2]
    return ImageGrid(
        planes.transpose(2, 1, 0), LPS_TO_RAS @ vox_to_lps + 0.0, nearest, tilt_notes + gap_notes
    )


def _axes(source: str, frame: Frame) -> NDArray[np.float64]:
    """(3, 3) unit vectors: direction of growing column, of growing row, normal."""
    if frame.orientation is None:
        raise VolumeError(
            "volume-geometry",
            f"{source}: no ImageOrientationPatient, so nothing says which way is up. Export the series "
            "again with its geometry.",
        )
    along_row, along_column = np.asarray(frame.orientation[:3]), np.asarray(frame.orientation[3:])
    lengths = np.linalg.norm(along_row), np.linalg.norm(along_column)
    if (
        max(abs(length - 1) for length in lengths) > DIRECTION_TOLERANCE
        or abs(along_row @ along_column) > DIRECTION_TOLERANCE
    ):
        seen = ", ".join(f"{cosine:.3g}" for cosine in frame.orientation)
        raise VolumeError(
            "volume-geometry",
            f"{source}: ImageOrientationPatient {seen}; two unit vectors at right angles are wanted. "
            "Export the series again.",
        )
    along_row = along_row / lengths[0]
    along_column = along_column - (along_column @ along_row) * along_row
    along_column /= np.linalg.norm(along_column)
    return np.stack([along_row, along_column, np.cross(along_row, along_column)])


def _straighten(
    source: str, planes: NDArray[np.float32], stand: StackPositions
) -> tuple[NDArray[np.float32], NDArray[np.float64], tuple[str, ...]]:
    """(planes, offset of the first pixel in the plane in mm (2,), notes): shifted images moved onto one
    right-angled grid.

    A tilted gantry shifts every image against the one before; each is interpolated (bilinear) onto a plane
    that covers them all.
    """
    per_px = np.asarray(stand.spacing_mm[::-1])
    # (n, 2) pixels along rows, along columns
    moved = stand.across / per_px
    if np.abs(moved).max() <= SAME_LINE_PX:
        return planes, np.zeros(2), ()
    thick = stand.along[-1] - stand.along[0]
    tilt = float(np.degrees(np.arctan2(np.linalg.norm(stand.across[-1]), thick)))
    low = np.floor(moved.min(axis=0))
    size = np.ceil(moved.max(axis=0) - low).astype(int) + np.asarray(planes.shape[:0:-1])
    spread = float((size / planes.shape[:0:-1]).max())
    if tilt > MAX_GANTRY_TILT_DEG or spread > MAX_SPREAD:
        most = np.abs(stand.across).max()
        raise VolumeError(
            "volume-tilt",
            f"{source}: the images are shifted against each other by up to {most:.1f} mm, {tilt:.1f}° from "
            f"a right-angled stack (limit {MAX_GANTRY_TILT_DEG:g}°). Reformat the series.",
        )
    fill = float(planes.min())
    upright = np.stack(
        [
            ndimage.affine_transform(
                plane,
                np.ones(2),
                (low - offset)[::-1],
                tuple(size[::-1]),
                order=1,
                mode="constant",
                cval=fill,
            )
            for plane, offset in zip(planes, moved, strict=True)
        ]
    )
    note = (
        f"images shifted against each other by up to {np.abs(stand.across).max():.1f} mm (tilt {tilt:.1f}°): "
        "moved upright"
    )
    return upright, low * per_px, (note,)


def _space_evenly(
    source: str, planes: NDArray[np.float32], along: NDArray[np.float64]
) -> tuple[NDArray[np.float32], float, NDArray[np.int64], tuple[str, ...]]:
    """(planes, step in mm, nearest image of each, notes): unchanged if evenly spaced, else interpolated at
    about the median distance."""
    count = len(along)
    if count == 1:
        return (
            planes,
            1.0,
            np.zeros(1, dtype=np.int64),
            ("a single image: 1 mm is taken for its thickness",),
        )
    mean_mm = float(along[-1] - along[0]) / (count - 1)
    off_mm = float(np.abs(along - along[0] - mean_mm * np.arange(count)).max())
    if off_mm <= EVEN_SHARE * mean_mm:
        notes = (
            (f"positions off a regular grid by up to {off_mm:.2f} mm",)
            if off_mm > 0.01 * mean_mm
            else ()
        )
        return planes, mean_mm, np.arange(count), notes
    gaps = np.diff(along)
    usual, widest = float(np.median(gaps)), int(gaps.argmax())
    if gaps[widest] > MAX_GAP_RATIO * usual or count < 4:
        apart = (
            f"images {widest + 1} and {widest + 2} along the normal lie {gaps[widest]:.2f} mm apart"
        )
        raise VolumeError(
            "volume-gaps",
            f"{source}: {apart}, the others usually {usual:.2f} mm (limit {MAX_GAP_RATIO:g} times that, of four "
            "images or more). Copy the missing images.",
        )
    steps = max(1, round(float(along[-1] - along[0]) / usual))
    step_mm = float(along[-1] - along[0]) / steps
    wanted = along[0] + step_mm * np.arange(steps + 1)
    below = np.clip(np.searchsorted(along, wanted, side="right") - 1, 0, count - 2)
    share = ((wanted - along[below]) / gaps[below]).astype(np.float32)[:, None, None]
    nearest = np.abs(wanted[:, None] - along).argmin(axis=1)
    note = (
        f"images {gaps.min():.2f} to {gaps.max():.2f} mm apart (usually {usual:.2f}): interpolated at "
        f"{step_mm:.2f} mm"
    )
    return planes[below] * (1 - share) + planes[below + 1] * share, step_mm, nearest, (note,)
