"""Fields of view fitted to the body: ending at the trunk's skin, with air on one side only, or of
any size about one organ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.protocols import Plan
from fovnet.phantom.acquisition.regrid import cut_axis, find_slice_axis, regrid, replace_axes
from fovnet.phantom.anatomy import limbs, skin_folds, trunk
from fovnet.phantom.anatomy.layers import Layer
from fovnet.phantom.geometry.raster import Grid, cut_into_pieces, rasterise
from fovnet.phantom.person.traits import Person

# voxel sizes for measuring outlines: across and along the body
STEP_MM = 6.0
HEIGHT_STEP_MM = 30.0


@dataclass(frozen=True)
class Contour:
    """The outline of a person without arms and head.

    heights_mm   (n,) above the soles
    low_xy_mm    (n, 2) least x and y, mm of the person
    high_xy_mm   (n, 2) greatest x and y
    """

    heights_mm: NDArray[np.float64]
    low_xy_mm: NDArray[np.float64]
    high_xy_mm: NDArray[np.float64]

    def cut_to_heights(self, low_mm: float, high_mm: float) -> Contour:
        """The part between two heights."""
        is_between = (self.heights_mm >= low_mm) & (self.heights_mm <= high_mm)
        return Contour(
            self.heights_mm[is_between], self.low_xy_mm[is_between], self.high_xy_mm[is_between]
        )


@lru_cache(maxsize=2)
def trace_contour(person: Person) -> Contour:
    """The outline of the person's trunk and legs, accurate to 4 mm."""
    affine = np.diag([STEP_MM, STEP_MM, HEIGHT_STEP_MM, 1.0])
    affine[:3, 3] = -390, -300, 0
    grid = Grid((131, 117, 70), affine)
    body_parts = (
        *trunk.paint_trunk_wall(person),
        *skin_folds.paint_skin_rolls(person),
        *limbs.paint_legs(person),
    )
    skin_paints = [paint for paint in body_parts if paint.layer == Layer.SKIN]
    is_body = rasterise(cut_into_pieces(skin_paints), grid, person.morph) > 0
    body_levels = np.flatnonzero(is_body.any(axis=(0, 1)))
    axis_ends = []
    for axis, axis_start_mm in enumerate(affine[:2, 3].tolist()):
        is_body_at_levels = np.asarray(is_body.any(axis=1 - axis))[:, body_levels]
        first_index = is_body_at_levels.argmax(axis=0)
        last_index = len(is_body_at_levels) - 1 - is_body_at_levels[::-1].argmax(axis=0)
        low_mm = axis_start_mm + STEP_MM * (first_index - 0.5)
        high_mm = axis_start_mm + STEP_MM * (last_index + 0.5)
        axis_ends.append((low_mm, high_mm))
    (left_x, right_x), (back_y, front_y) = axis_ends
    return Contour(
        HEIGHT_STEP_MM * body_levels.astype(float),
        np.stack([left_x, back_y], axis=1),
        np.stack([right_x, front_y], axis=1),
    )


SKIN_MARGIN_RANGE_MM = (-20.0, 20.0)  # distance of a fitted field's end outside the skin
AIR_RANGE_MM = (50.0, 180.0)  # beside the body, in an off-centre field
OFF_CENTRE_SHARE = 0.28
ALL_ROUND_SHARE = 0.3
"""Shares of fitted fields that are off centre, and that are fitted in front and behind too."""


def fit_to_body(usual_plan: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """The field ending near the skin of the trunk or the legs at both sides, or at one side with
    much air on the other.

    It is fitted to the body's widest place in it, or, in half of the fields shorter than 60 cm, to
    the outline at a random height: wider parts are cut off.  Voxel sizes stay the same.  A field
    above the neck is not changed.
    """
    low_z, high_z = z_range_mm(usual_plan.grid)
    outline = trace_contour(person).cut_to_heights(low_z, high_z)
    neck_z = person.morph.height_mm(trunk.TRUNK_OUTLINE[-1].z - 60.0)
    if not len(outline.heights_mm) or low_z > neck_z:
        return usual_plan
    low_xy = outline.low_xy_mm.min(axis=0)
    high_xy = outline.high_xy_mm.max(axis=0)
    height_dice = rng.random()
    level_index = int(rng.integers(len(outline.heights_mm)))
    side_dice = rng.random()
    if height_dice < 0.5 and high_z - low_z < 600:
        low_xy = outline.low_xy_mm[level_index]
        high_xy = outline.high_xy_mm[level_index]
    margins_mm = rng.uniform(*SKIN_MARGIN_RANGE_MM) + rng.uniform(-6, 6, (2, 2))
    air_mm = rng.uniform(*AIR_RANGE_MM)
    low_ends = low_xy - margins_mm[0]
    high_ends = high_xy + margins_mm[1]
    fitted_axes = [0]
    if side_dice > 1 - ALL_ROUND_SHARE:
        fitted_axes = [0, 1]
    if side_dice < OFF_CENTRE_SHARE:
        air_axis = int(rng.random() < 0.3)
        fitted_axes = [air_axis]
        if rng.random() < 0.5:
            high_ends[air_axis] += air_mm
        else:
            low_ends[air_axis] -= air_mm
    grid = usual_plan.grid
    for axis in fitted_axes:
        grid = _end_axis(grid, axis, float(low_ends[axis]), float(high_ends[axis]))
    return regrid(usual_plan, grid)


def z_range_mm(grid: Grid) -> tuple[float, float]:
    """The lowest and the highest z of a field, mm, its outermost voxels included."""
    corners = np.array(np.meshgrid(*([-0.5, size - 0.5] for size in grid.shape))).reshape(3, -1)
    z = grid.vox_to_ras[2, :3] @ corners + grid.vox_to_ras[2, 3]
    return float(z.min()), float(z.max())


def _end_axis(grid: Grid, axis: int, low_mm: float, high_mm: float) -> Grid:
    """The grid cut or extended along an axis to end at these mm of the person, with the same voxel
    size; for tilts of up to 8°."""
    step_mm = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
    first_edge_mm = grid.middle_mm[axis] - grid.shape[axis] * step_mm / 2
    voxel_count = max(4, round((high_mm - low_mm) / step_mm))
    return cut_axis(grid, axis, low_mm - first_edge_mm, voxel_count, step_mm)


# of images of one organ, from cropped to the whole trunk, the same range for all organs
IMAGE_SIZE_RANGE_MM = (90.0, 420.0)
LARGEST_OFFSET_SHARE = 0.1  # largest offset of such an image from its organ, as a share of its size


def resize_field(usual_plan: Plan, rng: np.random.Generator) -> Plan:
    """The field about the same place with an image size from IMAGE_SIZE_RANGE_MM and the same
    matrix, so that size does not reveal the organ.

    Large ones are moved by up to four fifths of the way to the middle of the body, as in practice.
    "Image" is a slice, or for cubic voxels the axial plane; number and thickness of slices stay the
    same.  The elements of a coil around the field move apart with it.
    """
    grid = usual_plan.grid
    across_axis = find_slice_axis(usual_plan)
    if usual_plan.plane == "isotropic":
        across_axis = 2
    plane_axes = [axis for axis in range(3) if axis != across_axis]
    grid_axes = grid.vox_to_ras[:3, :3].copy()
    lengths_mm = np.linalg.norm(grid_axes, axis=0) * np.asarray(grid.shape)
    image_mm = float(np.exp(rng.uniform(*np.log(IMAGE_SIZE_RANGE_MM))))
    growth = image_mm / float(lengths_mm[plane_axes].max())
    grid_axes[:, plane_axes] *= growth
    resized_grid = replace_axes(grid, grid_axes)
    middle_mm = grid.middle_mm
    inwards_mm = draw_shift_inwards(middle_mm, image_mm, rng)
    directions = grid_axes[:, plane_axes] / np.linalg.norm(grid_axes[:, plane_axes], axis=0)
    random_shares = np.clip(
        rng.normal(0, LARGEST_OFFSET_SHARE / 2, 2), -LARGEST_OFFSET_SHARE, LARGEST_OFFSET_SHARE
    )
    shift_mm = directions @ (directions.T @ inwards_mm + random_shares * image_mm)
    affine = resized_grid.vox_to_ras.copy()
    affine[:3, 3] += shift_mm
    resized_plan = regrid(usual_plan, Grid(grid.shape, affine))
    if growth <= 1:
        return resized_plan
    coil = usual_plan.acquisition.coil
    field_middle_mm = (middle_mm - usual_plan.isocentre_mm)[:2]
    element_centres = np.array(coil.centres_mm).reshape(-1, 3)
    element_centres[:, :2] = (
        field_middle_mm + shift_mm[:2] + growth * (element_centres[:, :2] - field_middle_mm)
    )
    return resized_plan.with_acquisition(coil=replace(coil, centres_mm=element_centres.tolist()))


def draw_shift_inwards(
    middle_mm: NDArray[np.float64], image_mm: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(3,) mm from the middle of a field towards that of the body, up to four fifths of the way:
    none for images of up to 17 cm, more for large ones."""
    inwards_share = np.clip((image_mm - 170) / 200, 0, 1)
    return np.asarray(-middle_mm * (1.0, 1.0, 0.0) * rng.uniform(0.0, 0.8) * inwards_share)
