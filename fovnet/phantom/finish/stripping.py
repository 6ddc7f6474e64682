"""Skull stripping as programs do it: tight or loose masks, some with a rim of dura, local errors or
a missing part.

Masks of different programs on the same head differ by some millimetres of CSF and dura at the
convexity and by centimetres at the worst place, mostly at the base: Iglesias et al. (2011), IEEE
Trans Med Imaging 30:1617, compare six of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.special import ndtr

from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.geometry.solids import Floats
from fovnet.phantom.scanner.scan import average_blocks, block_affine
from fovnet.phantom.scanner.tissues import TISSUES

Bools = NDArray[np.bool_]

MASK_VOXEL_MM = 2.0
"""Masks are smooth at a scale of a few millimetres; finer voxels are merged first."""
VENTRICLE_MM = 11.0  # scale at which CSF surrounded by brain counts as a ventricle
IS_MATTER = np.array(["matter" in tissue.name for tissue in TISSUES])
IS_WATER = np.array(["cerebrospinal" in tissue.name for tissue in TISSUES])
TENTORIUM_SHARE = 0.535
"""Height of the tentorium's top, as a share of the way from the chin to the vertex."""
TENTORIUM_SLOPE = 0.24  # how much higher it is farther in front, mm per mm
TENTORIUM_TOP_BEHIND_MM = 27.0  # from the middle of the brain back to its top
BEAM_RADIUS_MM = 6.0  # about a ball's direction, where the surface of the brain is looked for
CEREBELLUM = "cerebellum"
LEFT = "left"
RIGHT = "right"


class SurfaceBall(NamedTuple):
    """A ball at the surface of the brain.

    x, y, z     its direction from the middle
    radius_mm   its size
    is_left_in  whether it is wrongly left, not removed
    """

    x: float
    y: float
    z: float
    radius_mm: float
    is_left_in: bool

    def find_voxels(self, brain_mask: Bools, offsets_mm: tuple[Floats, Floats, Floats]) -> Bools:
        """(i, j, k) the voxels in the ball, whose centre is the farthest voxel of the brain in its
        direction; `offsets_mm` are x, y, z (i, j, k) from the middle of the brain."""
        offset_x, offset_y, offset_z = offsets_mm
        axis_distance = self.x * offset_x + self.y * offset_y + self.z * offset_z
        squared_centre_distance = offset_x**2 + offset_y**2 + offset_z**2
        squared_axis_distance = squared_centre_distance - axis_distance * axis_distance
        is_in_beam = brain_mask & (squared_axis_distance < BEAM_RADIUS_MM**2)
        surface_mm = float(axis_distance[is_in_beam].max(initial=0.0))
        squared_ball_distance = squared_axis_distance + (axis_distance - surface_mm) ** 2
        return np.asarray(squared_ball_distance < self.radius_mm * self.radius_mm)


@dataclass(frozen=True)
class Stripping:
    """How a skull was removed.

    smooth_mm      width of the smoothing: narrow sulci are kept as CSF, optic nerves are lost
    reach_mm       how far the mask extends beyond grey matter, negative if it removes some of it
    surface_balls  wrongly removed or left
    missing_part   "cerebellum" (with the brainstem), "left" or "right" hemisphere, or "" for none
    """

    smooth_mm: float = 3.0
    reach_mm: float = 0.5
    surface_balls: tuple[SurfaceBall, ...] = ()
    missing_part: str = ""

    def find_kept_voxels(self, labels: NDArray[np.integer], grid: Grid, marks: Landmarks) -> Bools:
        """(i, j, k) the voxels of a head that remain."""
        spacing_mm = grid.spacing_mm
        factor_i, factor_j, factor_k = (
            max(1, round(MASK_VOXEL_MM / float(voxel_mm))) for voxel_mm in spacing_mm
        )
        factors = (factor_i, factor_j, factor_k)
        matter_shares = _block_shares(IS_MATTER[labels], factors)
        water_shares = _block_shares(IS_WATER[labels], factors)
        coarse_grid = Grid(matter_shares.shape, block_affine(grid.vox_to_ras, factors))
        smooth_voxels = self.smooth_mm / (spacing_mm * factors)
        ventricle_voxels = VENTRICLE_MM / (spacing_mm * factors)
        smooth_shares = gaussian_filter(matter_shares, smooth_voxels, truncate=2.5)
        is_kept = smooth_shares > ndtr(-self.reach_mm / self.smooth_mm)
        surrounding_shares = gaussian_filter(
            matter_shares, ventricle_voxels, truncate=1.5, mode="nearest"
        )
        is_kept |= (water_shares > 0.3) & (surrounding_shares > 0.5)
        if is_kept.any():
            is_kept = self._with_flaws(is_kept, coarse_grid, marks)
        size_i, size_j, size_k = labels.shape
        return np.asarray(
            is_kept.repeat(factor_i, axis=0)
            .repeat(factor_j, axis=1)
            .repeat(factor_k, axis=2)[:size_i, :size_j, :size_k]
        )

    def _with_flaws(self, is_kept: Bools, grid: Grid, marks: Landmarks) -> Bools:
        """The mask (i, j, k) without its missing part, and with the balls."""
        x, y, z = (
            np.broadcast_to(coordinates, is_kept.shape) for coordinates in grid.coordinates()
        )
        centre_x, centre_y, centre_z = (coordinates[is_kept].mean() for coordinates in (x, y, z))
        if self.missing_part == CEREBELLUM:
            tent_height = (
                marks.chin
                + TENTORIUM_SHARE * (marks.vertex - marks.chin)
                + TENTORIUM_SLOPE * (y - centre_y + TENTORIUM_TOP_BEHIND_MM)
            )
            is_kept = is_kept & ~((z < tent_height) & (y < centre_y))
        elif self.missing_part:
            is_kept = is_kept & ((x < centre_x) == (self.missing_part == RIGHT))
        brain_mask = is_kept.copy()
        for ball in self.surface_balls:
            offsets = (x - centre_x, y - centre_y, z - centre_z)
            is_in_ball = ball.find_voxels(brain_mask, offsets)
            is_kept = is_kept & ~is_in_ball
            if ball.is_left_in:
                is_kept = is_kept | is_in_ball
        return is_kept


def _block_shares(is_tissue: Bools, factors: tuple[int, int, int]) -> NDArray[np.float32]:
    """The share (i, j, k) of a tissue in blocks of `factors` voxels; blocks that the grid cuts off
    are filled with other tissue."""
    end_padding = [
        (0, -size % factor) for size, factor in zip(is_tissue.shape, factors, strict=True)
    ]
    return average_blocks(np.pad(is_tissue, end_padding).astype(np.float32), factors)


def draw_stripping(rng: np.random.Generator) -> Stripping:
    """Of ten masks six are good, two too wide, one has local errors, and one lacks a part of the
    brain."""
    fault_dice = rng.random()
    smooth_mm = rng.uniform(2.0, 5.0)
    reach_mm = rng.uniform(-0.4, 0.6) * smooth_mm
    surface_balls: tuple[SurfaceBall, ...] = ()
    missing_part = ""
    if fault_dice < 0.2:
        smooth_mm = rng.uniform(3.0, 6.0)
        reach_mm = rng.uniform(3.0, 9.0)
    elif fault_dice < 0.32:
        surface_balls = tuple(_draw_ball(rng) for _ in range(rng.integers(1, 5)))
    elif fault_dice < 0.4:
        missing_part = str(rng.choice([CEREBELLUM, CEREBELLUM, LEFT, RIGHT]))
    return Stripping(smooth_mm, reach_mm, surface_balls, missing_part)


def _draw_ball(rng: np.random.Generator) -> SurfaceBall:
    """A ball at the surface; those wrongly left are mostly at the base and in front, near eyes and
    neck."""
    is_left_in = rng.random() < 0.55
    direction = rng.normal(0, 1, 3)
    if is_left_in:
        direction += np.array([0.0, 0.7, -0.9])
    x, y, z = (direction / np.linalg.norm(direction)).tolist()
    return SurfaceBall(x, y, z, rng.uniform(9, 28), is_left_in)
