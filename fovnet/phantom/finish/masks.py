"""Processing of images before they are shared: skulls and faces removed, backgrounds blackened,
intensities clipped, borders added."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.finish.stripping import Stripping, draw_stripping
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.scanner.scan import block_means
from fovnet.phantom.scanner.tissues import AIR, TISSUES
from fovnet.volume.volume import Volume

BRAIN = "brain"
FACE = "face"
BACKGROUND = "background"
BRAIN_WORDS = ("matter", "cerebrospinal", "cerebell", "gangli", "thalam")
# slope of the cut of a defaced head, backwards from the forehead to the chin, mm per mm
FACE_SLOPE = 0.35


@dataclass(frozen=True)
class Finish:
    """The processing of an image after its acquisition; by default none.

    hides      "brain": all but the brain is blackened; "face": the face is; "background": all outside the
               body is; "" nothing
    clipped    (low, high) range of intensities kept, white being 1000
    below      subtracted from every intensity
    border     voxels of 0 added at each end of the axes across the body
    cropped    voxels kept around the visible part, across the body, if something is hidden; None: no
               cropping
    through    whether slices that show nothing are cropped too, up to `cropped`
    cube_mm    side of a cube of 0 it is padded to; 0: none
    stripping  how the skull was removed; None: exactly
    """

    hides: str = ""
    clipped: tuple[float, float] = (0.0, np.inf)
    below: float = 0.0
    border: tuple[int, int] = (0, 0)
    cropped: int | None = None
    through: bool = False
    cube_mm: float = 0.0
    stripping: Stripping | None = None


LEAST_VISIBLE_VOXELS = 2000
"""Label voxels; a mask that leaves fewer is not applied, as the volume would be black: three slices
of the jaw after skull stripping."""


def visible_voxels(
    labels: NDArray[np.integer],
    grid: Grid,
    marks: Landmarks,
    hides: str,
    stripping: Stripping | None = None,
) -> NDArray[np.bool_] | None:
    """(i, j, k) which label voxels remain visible; None if all do, or hardly any would.  The grid
    is in mm of the person."""
    if not hides:
        return None
    if hides == BRAIN and stripping is not None:
        is_visible = stripping.mask(labels, grid, marks)
    elif hides == BRAIN:
        is_visible = _IS_BRAIN_LABEL[labels]
    elif hides == BACKGROUND:
        is_visible = labels != AIR
    else:
        is_visible = ~_is_face(labels, grid, marks)
    return (
        is_visible
        if np.count_nonzero(is_visible & (labels != AIR)) >= LEAST_VISIBLE_VOXELS
        else None
    )


_IS_BRAIN_LABEL = np.array([any(word in tissue.name for word in BRAIN_WORDS) for tissue in TISSUES])


def _is_face(labels: NDArray[np.integer], grid: Grid, marks: Landmarks) -> NDArray[np.bool_]:
    """(i, j, k) the voxels in front of a plane that leans back from the brow to below the chin."""
    _, y, z = grid.coordinates()
    brow_z = marks.chin + 0.62 * (marks.vertex - marks.chin)
    body_rows = np.flatnonzero((labels != AIR).any(axis=(0, 2)))
    front_y = float(y.max())
    if len(body_rows):
        front_y = float(grid.vox_to_ras[1, 1] * body_rows[-1] + y.min())
    plane_y = front_y - 18 - FACE_SLOPE * (brow_z - z)
    # coordinates of an untilted grid have size 1 along other axes
    return np.broadcast_to((y > plane_y) & (z < brow_z), labels.shape)


def apply_finish(
    volume: Volume, visible: NDArray[np.bool_] | None, factors: tuple[int, int, int], finish: Finish
) -> Volume:
    """The volume after all processing.  `visible` is (i·a, j·b, k·c), as returned by
    `visible_voxels`, in blocks of `factors` voxels."""
    voxels = volume.voxels
    affine = volume.vox_to_ras
    if visible is not None:
        is_visible = _visible_blocks(visible, factors)
        voxels = voxels * is_visible
        if finish.cropped is not None and is_visible.any():
            voxels, affine = _crop_to_visible(voxels, affine, is_visible, finish)
        if finish.cube_mm:
            voxels, affine = _pad_to_cube(voxels, affine, finish.cube_mm)
    lowest_kept, highest_kept = finish.clipped
    if lowest_kept > 0 or highest_kept < np.inf:
        voxels = voxels.clip(lowest_kept, highest_kept) - np.float32(lowest_kept)
    if finish.below:
        voxels = voxels - np.float32(finish.below)
    if any(finish.border):
        margin_i, margin_j = finish.border
        voxels = np.pad(
            voxels,
            ((margin_i, margin_i), (margin_j, margin_j), (0, 0)),
            constant_values=float(voxels.min()),
        )
        affine = affine.copy()
        affine[:3, 3] -= affine[:3, 0] * margin_i + affine[:3, 1] * margin_j
    return replace(volume, voxels=np.ascontiguousarray(voxels, dtype=np.float32), vox_to_ras=affine)


def _visible_blocks(visible: NDArray[np.bool_], factors: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Which blocks of `factors` voxels remain visible."""
    return block_means(visible.astype(np.float32), factors) > 0.4


def _crop_to_visible(
    voxels: NDArray[np.float32],
    affine: NDArray[np.float64],
    is_visible: NDArray[np.bool_],
    finish: Finish,
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The voxels of a box around the visible ones, and its affine; all slices are kept unless
    `through`."""
    affine = affine.copy()
    kept_slices = []
    for axis in range(3 if finish.through else 2):
        first_index, end_index = _span_of(is_visible, axis, finish.cropped or 0)
        kept_slices.append(slice(first_index, end_index))
        affine[:3, 3] += affine[:3, axis] * first_index
    return voxels[tuple(kept_slices)], affine


def _span_of(is_visible: NDArray[np.bool_], axis: int, margin: int) -> tuple[int, int]:
    """First index along an axis and the one after the last, `margin` beyond the visible voxels."""
    other_axes = tuple(other_axis for other_axis in range(3) if other_axis != axis)
    visible_indices = np.flatnonzero(is_visible.any(axis=other_axes))
    first_index = max(0, int(visible_indices[0]) - margin)
    return first_index, min(is_visible.shape[axis], int(visible_indices[-1]) + 1 + margin)


def _pad_to_cube(
    voxels: NDArray[np.float32], affine: NDArray[np.float64], side_mm: float
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The voxels padded with 0 to a cube, along axes shorter than it."""
    end_padding = [
        _padding_counts(axis_size, float(np.linalg.norm(affine[:3, axis])), side_mm)
        for axis, axis_size in enumerate(voxels.shape)
    ]
    affine = affine.copy()
    affine[:3, 3] -= affine[:3, :3] @ [padding_before for padding_before, _ in end_padding]
    return np.pad(voxels, end_padding), affine


def _padding_counts(voxel_count: int, spacing_mm: float, side_mm: float) -> tuple[int, int]:
    """The number of voxels added before and behind `size` voxels to fill `side_mm`."""
    added_count = max(0, round(side_mm / spacing_mm) - voxel_count)
    return added_count // 2, added_count - added_count // 2


def finish_slices(
    heights_mm: NDArray[np.float64],
    area_mm2: NDArray[np.float64],
    visible: NDArray[np.bool_] | None,
    factors: tuple[int, int, int],
    finish: Finish,
    spacing_mm: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heights and body area of each slice (k,) of the finished volume, from those of all acquired
    slices."""
    if visible is None or not (finish.through or finish.cube_mm):
        return heights_mm, area_mm2
    is_visible = _visible_blocks(visible, factors)
    if finish.through and finish.cropped is not None and is_visible.any():
        first_index, end_index = _span_of(is_visible, 2, finish.cropped)
        heights_mm = heights_mm[first_index:end_index]
        area_mm2 = area_mm2[first_index:end_index]
    added_below, added_above = _padding_counts(len(heights_mm), spacing_mm, finish.cube_mm)
    step_mm = float(heights_mm[-1] - heights_mm[0]) / max(len(heights_mm) - 1, 1)
    heights_mm = heights_mm[0] + step_mm * np.arange(-added_below, len(heights_mm) + added_above)
    return heights_mm, np.pad(area_mm2, (added_below, added_above))


def draw_finish(head: bool, shape: tuple[int, ...], rng: np.random.Generator) -> Finish:
    """The processing of an image; one of two heads has lost its skull or its face.

    Brain collections have tight boxes, or the 256 mm cube that FreeSurfer makes (Fischl 2012,
    NeuroImage 62:774).
    """
    finish_dice = rng.random(5)
    hidden_part = ""
    if head and finish_dice[0] < 0.5:
        hidden_part = BRAIN if finish_dice[0] < 0.33 else FACE
    elif finish_dice[0] > 0.86:
        hidden_part = BACKGROUND
    lowest_kept = rng.uniform(0, 60)
    # narrower would be like a label map
    kept_range = (
        (lowest_kept, lowest_kept + rng.uniform(560, 900))
        if finish_dice[1] < 0.12
        else (0.0, np.inf)
    )
    margin_i, margin_j = (
        rng.integers(0, 1 + np.array(shape[:2]) // 3).tolist() if finish_dice[2] < 0.12 else (0, 0)
    )
    subtracted_level = rng.uniform(100, 700) if finish_dice[3] < 0.06 else 0.0
    crop_margin = int(rng.integers(0, 9)) if hidden_part and finish_dice[4] < 0.4 else None
    finish = Finish(hidden_part, kept_range, subtracted_level, (margin_i, margin_j), crop_margin)
    return draw_skull_stripping(finish, rng) if hidden_part == BRAIN else finish


def draw_skull_stripping(finish: Finish, rng: np.random.Generator) -> Finish:
    """The processing with the skull removed: most masks are imperfect, some boxes are tight and
    some are cubes."""
    finish_dice = rng.random(3)
    cube_mm = float(rng.choice([256.0, 256.0, rng.uniform(190, 260)]))
    crops_slices = bool(finish_dice[0] < 0.35)
    crop_margin = finish.cropped
    if crop_margin is None and crops_slices:
        crop_margin = int(rng.integers(0, 4))
    stripping = draw_stripping(rng) if finish_dice[2] < 0.85 else None
    return replace(
        finish,
        hides=BRAIN,
        cropped=crop_margin,
        through=crops_slices,
        cube_mm=cube_mm if finish_dice[1] < 0.15 else 0.0,
        stripping=stripping,
    )
