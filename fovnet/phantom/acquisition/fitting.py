"""Fields of view fitted to the body: ending at the trunk's skin, with air on one side only, or of any size
about one organ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.protocols import Plan
from fovnet.phantom.acquisition.regrid import about_its_middle, recut, regridded, slice_axis
from fovnet.phantom.anatomy import limbs, skin_folds, trunk
from fovnet.phantom.anatomy.layers import Layer
from fovnet.phantom.geometry.raster import Grid, pieces_of, rasterise
from fovnet.phantom.person.traits import Person

STEP_MM, EVERY_MM = 6.0, 30.0  # voxel sizes for measuring outlines: across and along the body


@dataclass(frozen=True)
class Contour:
    """The outline of a person without arms and head at `heights` (n,) above the soles: `low` and `high` (n,
    2), x and y in mm of the person."""

    heights: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def between(self, low_mm: float, high_mm: float) -> Contour:
        """The part between two heights."""
        part = (self.heights >= low_mm) & (self.heights <= high_mm)
        return Contour(self.heights[part], self.low[part], self.high[part])


@lru_cache(maxsize=2)
def contour(person: Person) -> Contour:
    """The outline of the person's trunk and legs, accurate to 4 mm."""
    affine = np.diag([STEP_MM, STEP_MM, EVERY_MM, 1.0])
    affine[:3, 3] = -390, -300, 0
    grid = Grid((131, 117, 70), affine)
    body = [
        paint
        for paint in (*trunk.wall(person), *skin_folds.rolls(person), *limbs.legs(person))
        if paint.layer == Layer.SKIN
    ]
    seen = rasterise(pieces_of(body), grid, person.morph) > 0
    there = np.flatnonzero(seen.any(axis=(0, 1)))
    ends = []
    for axis, first in enumerate(affine[:2, 3].tolist()):
        along = np.asarray(seen.any(axis=1 - axis))[:, there]
        last = len(along) - 1 - along[::-1].argmax(axis=0)
        ends.append(
            (first + STEP_MM * (along.argmax(axis=0) - 0.5), first + STEP_MM * (last + 0.5))
        )
    (left, right), (back, front) = ends
    return Contour(
        EVERY_MM * there.astype(float),
        np.stack([left, back], axis=1),
        np.stack([right, front], axis=1),
    )


CLOSE_MM = (-20.0, 20.0)  # distance of a fitted field's end outside the skin
AIR_MM = (50.0, 180.0)  # beside the body, in an off-centre field
OFF_CENTRE, ALL_ROUND = 0.28, 0.3
"""Shares of fitted fields that are off centre, and that are fitted in front and behind too."""


def fitted(plain: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """The field ending near the skin of the trunk or the legs at both sides, or at one side with much air on
    the other.

    It is fitted to the body's widest place in it, or, in half of the fields shorter than 60 cm, to the
    outline at a random height: wider parts are cut off.  Voxel sizes stay the same.  A field above the neck
    is not changed.
    """
    z = heights_mm(plain.grid)
    body = contour(person).between(*z)
    if not len(body.heights) or z[0] > person.morph.height_mm(trunk.OUTLINE[-1][0] - 60.0):
        return plain
    low, high = body.low.min(axis=0), body.high.max(axis=0)
    anywhere, at, kind = rng.random(), int(rng.integers(len(body.heights))), rng.random()
    if anywhere < 0.5 and z[1] - z[0] < 600:
        low, high = body.low[at], body.high[at]
    close, air = rng.uniform(*CLOSE_MM) + rng.uniform(-6, 6, (2, 2)), rng.uniform(*AIR_MM)
    ends = low - close[0], high + close[1]
    axes = (0, 1) if kind > 1 - ALL_ROUND else (0,)
    if kind < OFF_CENTRE:
        axes, beyond = (int(rng.random() < 0.3),), int(rng.random() < 0.5)
        ends[beyond][axes[0]] += air * (1 if beyond else -1)
    grid = plain.grid
    for axis in axes:
        grid = _ending(grid, axis, float(ends[0][axis]), float(ends[1][axis]))
    return regridded(plain, grid)


def heights_mm(grid: Grid) -> tuple[float, float]:
    """The lowest and the highest z of a field, mm, its outermost voxels included."""
    ends = np.array(np.meshgrid(*([-0.5, size - 0.5] for size in grid.shape))).reshape(3, -1)
    z = grid.vox_to_ras[2, :3] @ ends + grid.vox_to_ras[2, 3]
    return float(z.min()), float(z.max())


def _ending(grid: Grid, axis: int, low_mm: float, high_mm: float) -> Grid:
    """The grid cut or extended along an axis to end at these mm of the person, with the same voxel size; for
    tilts of up to 8°."""
    step = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
    edge = grid.middle_mm[axis] - grid.shape[axis] * step / 2
    return recut(grid, axis, low_mm - edge, max(4, round((high_mm - low_mm) / step)), step)


# of images of one organ, from cropped to the whole trunk, the same range for all organs
SIZES_MM = (90.0, 420.0)
ASTRAY = 0.1  # largest offset of such an image from its organ, as a share of its size


def of_any_size(plain: Plan, rng: np.random.Generator) -> Plan:
    """The field about the same place with an image size from SIZES_MM and the same matrix, so that size does
    not reveal the organ.

    Large ones are moved by up to four fifths of the way to the middle of the body, as in practice.  "Image"
    is a slice, or for cubic voxels the axial plane; number and thickness of slices stay the same.  The
    elements of a coil around the field move apart with it.
    """
    grid = plain.grid
    through = 2 if plain.plane == "isotropic" else slice_axis(plain)
    across = [axis for axis in range(3) if axis != through]
    axes, shape = grid.vox_to_ras[:3, :3].copy(), np.asarray(grid.shape)
    size = float(np.exp(rng.uniform(*np.log(SIZES_MM))))
    grown = size / float((np.linalg.norm(axes, axis=0) * shape)[across].max())
    axes[:, across] *= grown
    resized, middle = about_its_middle(grid, axes), grid.middle_mm
    inwards = -middle * (1.0, 1.0, 0.0) * rng.uniform(0.0, 0.8) * np.clip((size - 170) / 200, 0, 1)
    units = axes[:, across] / np.linalg.norm(axes[:, across], axis=0)
    moved = units @ (
        units.T @ inwards + np.clip(rng.normal(0, ASTRAY / 2, 2), -ASTRAY, ASTRAY) * size
    )
    affine = resized.vox_to_ras.copy()
    affine[:3, 3] += moved
    widened = regridded(plain, Grid(grid.shape, affine))
    if grown <= 1:
        return widened
    coil, about = plain.acquisition.coil, (middle - plain.isocentre_mm)[:2]
    places = np.array(coil.centres_mm).reshape(-1, 3)
    places[:, :2] = about + moved[:2] + grown * (places[:, :2] - about)
    return widened.received(coil=replace(coil, centres_mm=places.tolist()))
