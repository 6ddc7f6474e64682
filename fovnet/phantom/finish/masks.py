"""Processing of images before they are shared: skulls and faces removed, backgrounds blackened,
intensities clipped, borders added."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.finish.stripping import Stripping, draw_stripping
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.scanner.scan import average_blocks
from fovnet.phantom.scanner.tissues import AIR, TISSUES
from fovnet.volume.volume import Volume

BRAIN = "brain"
FACE = "face"
BACKGROUND = "background"
BRAIN_WORDS = ("matter", "cerebrospinal", "cerebell", "gangli", "thalam")
BROW_SHARE = 0.62  # height of the brow, as a share of the way from the chin to the vertex
FACE_DEPTH_MM = 18.0  # how far behind the foremost body the cut begins, at the brow
# slope of the cut of a defaced head, backwards from the forehead to the chin, mm per mm
FACE_SLOPE = 0.35


@dataclass(frozen=True)
class Processing:
    """The processing of an image after its acquisition; by default none.

    mask_kind         "brain": all but the brain is blackened; "face": the face is; "background": all
                      outside the body is; "" nothing
    kept_range        lowest and highest intensity kept, white being 1000
    subtracted_level  subtracted from every intensity
    border_voxels     of 0, added at each end of the axes across the body
    crop_margin       voxels kept around the visible part, across the body, if something is blackened;
                      None: no cropping
    crops_slices      whether slices that show nothing are cropped too, up to `crop_margin`
    cube_mm           side of a cube of 0 it is padded to; 0: none
    stripping         how the skull was removed; None: exactly
    """

    mask_kind: str = ""
    kept_range: tuple[float, float] = (0.0, np.inf)
    subtracted_level: float = 0.0
    border_voxels: tuple[int, int] = (0, 0)
    crop_margin: int | None = None
    crops_slices: bool = False
    cube_mm: float = 0.0
    stripping: Stripping | None = None


LEAST_VISIBLE_VOXELS = 2000
"""Label voxels; a mask that leaves fewer is not applied, as the volume would be black: three slices
of the jaw after skull stripping."""


def find_visible_voxels(
    labels: NDArray[np.integer],
    grid: Grid,
    marks: Landmarks,
    mask_kind: str,
    stripping: Stripping | None = None,
) -> NDArray[np.bool_] | None:
    """(i, j, k) which label voxels remain visible under a mask of that kind (`Processing`); None if
    all do, or hardly any would.  The grid is in mm of the person."""
    if not mask_kind:
        return None
    if mask_kind == BRAIN and stripping is not None:
        is_visible = stripping.find_kept_voxels(labels, grid, marks)
    elif mask_kind == BRAIN:
        is_visible = _IS_BRAIN_LABEL[labels]
    elif mask_kind == BACKGROUND:
        is_visible = labels != AIR
    else:
        is_visible = ~_is_face(labels, grid, marks)
    if np.count_nonzero(is_visible & (labels != AIR)) < LEAST_VISIBLE_VOXELS:
        return None
    return is_visible


_IS_BRAIN_LABEL = np.array([any(word in tissue.name for word in BRAIN_WORDS) for tissue in TISSUES])


def _is_face(labels: NDArray[np.integer], grid: Grid, marks: Landmarks) -> NDArray[np.bool_]:
    """(i, j, k) the voxels in front of a plane that leans back from the brow to below the chin."""
    _, y, z = grid.coordinates()
    brow_z = marks.chin + BROW_SHARE * (marks.vertex - marks.chin)
    body_rows = np.flatnonzero((labels != AIR).any(axis=(0, 2)))
    front_y = float(y.max())
    if len(body_rows):
        front_y = float(grid.vox_to_ras[1, 1] * body_rows[-1] + y.min())
    plane_y = front_y - FACE_DEPTH_MM - FACE_SLOPE * (brow_z - z)
    # coordinates of an untilted grid have size 1 along other axes
    return np.broadcast_to((y > plane_y) & (z < brow_z), labels.shape)


def apply_processing(
    volume: Volume,
    is_label_visible: NDArray[np.bool_] | None,
    labels_per_voxel: tuple[int, int, int],
    processing: Processing,
) -> Volume:
    """The volume (i, j, k) after all processing.

    `is_label_visible` (i·a, j·b, k·c) are the label voxels that `find_visible_voxels` leaves, a · b · c
    `labels_per_voxel` in each voxel; None leaves all.
    """
    voxels = volume.voxels
    affine = volume.vox_to_ras
    if is_label_visible is not None:
        is_visible = _mostly_visible(is_label_visible, labels_per_voxel)
        voxels = voxels * is_visible
        if processing.crop_margin is not None and is_visible.any():
            voxels, affine = _crop_to_visible(voxels, affine, is_visible, processing)
        if processing.cube_mm:
            voxels, affine = _pad_to_cube(voxels, affine, processing.cube_mm)
    lowest_kept, highest_kept = processing.kept_range
    if lowest_kept > 0 or highest_kept < np.inf:
        voxels = voxels.clip(lowest_kept, highest_kept) - np.float32(lowest_kept)
    if processing.subtracted_level:
        voxels = voxels - np.float32(processing.subtracted_level)
    if any(processing.border_voxels):
        border_i, border_j = processing.border_voxels
        voxels = np.pad(
            voxels,
            ((border_i, border_i), (border_j, border_j), (0, 0)),
            constant_values=float(voxels.min()),
        )
        affine = affine.copy()
        affine[:3, 3] -= affine[:3, 0] * border_i + affine[:3, 1] * border_j
    return replace(volume, voxels=np.ascontiguousarray(voxels, dtype=np.float32), vox_to_ras=affine)


def _mostly_visible(
    is_label_visible: NDArray[np.bool_], labels_per_voxel: tuple[int, int, int]
) -> NDArray[np.bool_]:
    """(i, j, k) which voxels remain visible: those of whose label voxels more than four in ten
    do."""
    return average_blocks(is_label_visible.astype(np.float32), labels_per_voxel) > 0.4


def _crop_to_visible(
    voxels: NDArray[np.float32],
    affine: NDArray[np.float64],
    is_visible: NDArray[np.bool_],
    processing: Processing,
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The voxels of a box around the visible ones, and its affine; all slices are kept unless
    `crops_slices`."""
    affine = affine.copy()
    cropped_axes = [0, 1]
    if processing.crops_slices:
        cropped_axes.append(2)
    kept_window = []
    for axis in cropped_axes:
        first_index, end_index = _visible_range(is_visible, axis, processing.crop_margin or 0)
        kept_window.append(slice(first_index, end_index))
        affine[:3, 3] += affine[:3, axis] * first_index
    return voxels[tuple(kept_window)], affine


def _visible_range(is_visible: NDArray[np.bool_], axis: int, margin: int) -> tuple[int, int]:
    """First index along an axis and the one after the last, `margin` beyond the visible voxels."""
    other_axes = tuple(other_axis for other_axis in range(3) if other_axis != axis)
    visible_indices = np.flatnonzero(is_visible.any(axis=other_axes))
    first_index = max(0, int(visible_indices[0]) - margin)
    return first_index, min(is_visible.shape[axis], int(visible_indices[-1]) + 1 + margin)


def _pad_to_cube(
    voxels: NDArray[np.float32], affine: NDArray[np.float64], side_mm: float
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The voxels padded with 0 to a cube, along axes shorter than it, and their affine."""
    padding_counts = [
        _padding_counts(axis_size, float(np.linalg.norm(affine[:3, axis])), side_mm)
        for axis, axis_size in enumerate(voxels.shape)
    ]
    affine = affine.copy()
    affine[:3, 3] -= affine[:3, :3] @ [count_before for count_before, _ in padding_counts]
    return np.pad(voxels, padding_counts), affine


def _padding_counts(voxel_count: int, spacing_mm: float, side_mm: float) -> tuple[int, int]:
    """The number of voxels added before and behind `voxel_count` voxels to fill `side_mm`."""
    added_count = max(0, round(side_mm / spacing_mm) - voxel_count)
    return added_count // 2, added_count - added_count // 2


def process_slices(
    heights_mm: NDArray[np.float64],
    body_areas_mm2: NDArray[np.float64],
    is_label_visible: NDArray[np.bool_] | None,
    labels_per_voxel: tuple[int, int, int],
    processing: Processing,
    spacing_mm: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heights and body areas (k,) of the slices of the processed volume, from those of all acquired
    slices, `spacing_mm` apart: the processing may crop slices, or add some to fill a cube."""
    if is_label_visible is None or not (processing.crops_slices or processing.cube_mm):
        return heights_mm, body_areas_mm2
    is_visible = _mostly_visible(is_label_visible, labels_per_voxel)
    if processing.crops_slices and processing.crop_margin is not None and is_visible.any():
        first_index, end_index = _visible_range(is_visible, 2, processing.crop_margin)
        heights_mm = heights_mm[first_index:end_index]
        body_areas_mm2 = body_areas_mm2[first_index:end_index]
    added_below, added_above = _padding_counts(len(heights_mm), spacing_mm, processing.cube_mm)
    step_mm = float(heights_mm[-1] - heights_mm[0]) / max(len(heights_mm) - 1, 1)
    heights_mm = heights_mm[0] + step_mm * np.arange(-added_below, len(heights_mm) + added_above)
    return heights_mm, np.pad(body_areas_mm2, (added_below, added_above))


def draw_processing(
    shape: tuple[int, ...], rng: np.random.Generator, *, is_of_head: bool = False
) -> Processing:
    """The processing of an image of that shape; one of two heads has lost its skull or its face.

    Brain collections have tight boxes, or the 256 mm cube that FreeSurfer makes (Fischl 2012,
    NeuroImage 62:774).
    """
    mask_dice, range_dice, border_dice, level_dice, crop_dice = rng.random(5)
    mask_kind = ""
    if is_of_head and mask_dice < 0.33:
        mask_kind = BRAIN
    elif is_of_head and mask_dice < 0.5:
        mask_kind = FACE
    elif mask_dice > 0.86:
        mask_kind = BACKGROUND
    processing = Processing(mask_kind)
    lowest_kept = rng.uniform(0, 60)
    if range_dice < 0.12:
        # narrower would be like a label map
        highest_kept = lowest_kept + rng.uniform(560, 900)
        processing = replace(processing, kept_range=(lowest_kept, highest_kept))
    if border_dice < 0.12:
        border_i, border_j = rng.integers(0, 1 + np.array(shape[:2]) // 3).tolist()
        processing = replace(processing, border_voxels=(border_i, border_j))
    if level_dice < 0.06:
        processing = replace(processing, subtracted_level=rng.uniform(100, 700))
    if mask_kind and crop_dice < 0.4:
        processing = replace(processing, crop_margin=int(rng.integers(0, 9)))
    if mask_kind == BRAIN:
        return draw_skull_stripping(processing, rng)
    return processing


def draw_skull_stripping(processing: Processing, rng: np.random.Generator) -> Processing:
    """The processing with the skull removed: most masks are imperfect, some boxes are tight and
    some are cubes."""
    slices_dice, cube_dice, mask_dice = rng.random(3)
    cube_mm = float(rng.choice([256.0, 256.0, rng.uniform(190, 260)]))
    if cube_dice >= 0.15:
        cube_mm = 0.0
    crops_slices = bool(slices_dice < 0.35)
    crop_margin = processing.crop_margin
    if crop_margin is None and crops_slices:
        crop_margin = int(rng.integers(0, 4))
    stripping = None
    if mask_dice < 0.85:
        stripping = draw_stripping(rng)
    return replace(
        processing,
        mask_kind=BRAIN,
        crop_margin=crop_margin,
        crops_slices=crops_slices,
        cube_mm=cube_mm,
        stripping=stripping,
    )
