"""Fields of view fitted to the body: ending at the trunk's skin, with air on one side only, or of
any size about one organ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.protocols import Plan
from fovnet.phantom.acquisition.regrid import cut_axis, regrid, slice_axis, with_axes
from fovnet.phantom.anatomy import limbs, skin_folds, trunk
from fovnet.phantom.anatomy.layers import Layer
from fovnet.phantom.geometry.raster import Grid, pieces_of, rasterise
from fovnet.phantom.person.traits import Person

# voxel sizes for measuring outlines: across and along the body
STEP_MM = 6.0
HEIGHT_STEP_MM = 30.0


@dataclass(frozen=True)
class Contour:
    """The outline of a person without arms and head.

    heights  (n,) above the soles
    low      (n, 2) least x and y, mm of the person
    high     (n, 2) greatest x and y
    """

    heights: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def between(self, low_mm: float, high_mm: float) -> Contour:
        """The part between two heights."""
        is_between = (self.heights >= low_mm) & (self.heights <= high_mm)
        return Contour(self.heights[is_between], self.low[is_between], self.high[is_between])


@lru_cache(maxsize=2)
def contour(person: Person) -> Contour:
    """The outline of the person's trunk and legs, accurate to 4 mm."""
    affine = np.diag([STEP_MM, STEP_MM, HEIGHT_STEP_MM, 1.0])
    affine[:3, 3] = -390, -300, 0
    grid = Grid((131, 117, 70), affine)
    skin_paints = [
        paint
        for paint in (
            *trunk.paint_trunk_wall(person),
            *skin_folds.paint_skin_rolls(person),
            *limbs.paint_legs(person),
        )
        if paint.layer == Layer.SKIN
    ]
    is_body = rasterise(pieces_of(skin_paints), grid, person.morph) > 0
    body_levels = np.flatnonzero(is_body.any(axis=(0, 1)))
    axis_ends = []
    for axis, axis_start_mm in enumerate(affine[:2, 3].tolist()):
        is_body_at_levels = np.asarray(is_body.any(axis=1 - axis))[:, body_levels]
        last_index = len(is_body_at_levels) - 1 - is_body_at_levels[::-1].argmax(axis=0)
        axis_ends.append(
            (
                axis_start_mm + STEP_MM * (is_body_at_levels.argmax(axis=0) - 0.5),
                axis_start_mm + STEP_MM * (last_index + 0.5),
            )
        )
    (left_x, right_x), (back_y, front_y) = axis_ends
    return Contour(
        HEIGHT_STEP_MM * body_levels.astype(float),
        np.stack([left_x, back_y], axis=1),
        np.stack([right_x, front_y], axis=1),
    )


SKIN_MARGIN_MM = (-20.0, 20.0)  # distance of a fitted field's end outside the skin
AIR_MM = (50.0, 180.0)  # beside the body, in an off-centre field
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
    ends_z = heights_mm(usual_plan.grid)
    body = contour(person).between(*ends_z)
    if not len(body.heights) or ends_z[0] > person.morph.height_mm(
        trunk.TRUNK_OUTLINE[-1][0] - 60.0
    ):
        return usual_plan
    low_mm = body.low.min(axis=0)
    high_mm = body.high.max(axis=0)
    anywhere_dice = rng.random()
    level_index = int(rng.integers(len(body.heights)))
    kind_dice = rng.random()
    if anywhere_dice < 0.5 and ends_z[1] - ends_z[0] < 600:
        low_mm = body.low[level_index]
        high_mm = body.high[level_index]
    margin_mm = rng.uniform(*SKIN_MARGIN_MM) + rng.uniform(-6, 6, (2, 2))
    air_mm = rng.uniform(*AIR_MM)
    field_ends = low_mm - margin_mm[0], high_mm + margin_mm[1]
    fitted_axes = (0, 1) if kind_dice > 1 - ALL_ROUND_SHARE else (0,)
    if kind_dice < OFF_CENTRE_SHARE:
        fitted_axes = (int(rng.random() < 0.3),)
        end_index = int(rng.random() < 0.5)
        field_ends[end_index][fitted_axes[0]] += air_mm * (1 if end_index else -1)
    grid = usual_plan.grid
    for axis in fitted_axes:
        grid = _end_axis(grid, axis, float(field_ends[0][axis]), float(field_ends[1][axis]))
    return regrid(usual_plan, grid)


def heights_mm(grid: Grid) -> tuple[float, float]:
    """The lowest and the highest z of a field, mm, its outermost voxels included."""
    corners = np.array(np.meshgrid(*([-0.5, size - 0.5] for size in grid.shape))).reshape(3, -1)
    z = grid.vox_to_ras[2, :3] @ corners + grid.vox_to_ras[2, 3]
    return float(z.min()), float(z.max())


def _end_axis(grid: Grid, axis: int, low_mm: float, high_mm: float) -> Grid:
    """The grid cut or extended along an axis to end at these mm of the person, with the same voxel
    size; for tilts of up to 8°."""
    step_mm = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
    first_edge_mm = grid.middle_mm[axis] - grid.shape[axis] * step_mm / 2
    return cut_axis(
        grid, axis, low_mm - first_edge_mm, max(4, round((high_mm - low_mm) / step_mm)), step_mm
    )


# of images of one organ, from cropped to the whole trunk, the same range for all organs
IMAGE_SIZES_MM = (90.0, 420.0)
LARGEST_OFFSET = 0.1  # largest offset of such an image from its organ, as a share of its size


def resize_field(usual_plan: Plan, rng: np.random.Generator) -> Plan:
    """The field about the same place with an image size from IMAGE_SIZES_MM and the same matrix, so
    that size does not reveal the organ.

    Large ones are moved by up to four fifths of the way to the middle of the body, as in practice.
    "Image" is a slice, or for cubic voxels the axial plane; number and thickness of slices stay the
    same.  The elements of a coil around the field move apart with it.
    """
    grid = usual_plan.grid
    slice_axis_number = 2 if usual_plan.plane == "isotropic" else slice_axis(usual_plan)
    plane_axes = [axis for axis in range(3) if axis != slice_axis_number]
    grid_axes = grid.vox_to_ras[:3, :3].copy()
    shape = np.asarray(grid.shape)
    size_mm = float(np.exp(rng.uniform(*np.log(IMAGE_SIZES_MM))))
    growth = size_mm / float((np.linalg.norm(grid_axes, axis=0) * shape)[plane_axes].max())
    grid_axes[:, plane_axes] *= growth
    resized_grid = with_axes(grid, grid_axes)
    middle_mm = grid.middle_mm
    inwards_mm = (
        -middle_mm * (1.0, 1.0, 0.0) * rng.uniform(0.0, 0.8) * np.clip((size_mm - 170) / 200, 0, 1)
    )
    directions = grid_axes[:, plane_axes] / np.linalg.norm(grid_axes[:, plane_axes], axis=0)
    shift_mm = directions @ (
        directions.T @ inwards_mm
        + np.clip(rng.normal(0, LARGEST_OFFSET / 2, 2), -LARGEST_OFFSET, LARGEST_OFFSET) * size_mm
    )
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
