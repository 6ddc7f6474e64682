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
from fovnet.phantom.scanner.scan import block_affine, block_means
from fovnet.phantom.scanner.tissues import TISSUES

Bools = NDArray[np.bool_]

MASK_VOXEL_MM = 2.0
"""Masks are smooth at a scale of a few millimetres; finer voxels are merged first."""
VENTRICLE_MM = 11.0  # scale at which CSF surrounded by brain counts as a ventricle
IS_MATTER = np.array(["matter" in tissue.name for tissue in TISSUES])
IS_WATER = np.array(["cerebrospinal" in tissue.name for tissue in TISSUES])
TENTORIUM_SHARE = 0.535
"""Height of the tentorium's top, as a share of the way from the chin to the vertex."""
CEREBELLUM = "cerebellum"
LEFT = "left"
RIGHT = "right"


class SurfaceBall(NamedTuple):
    """A ball at the surface of the brain.

    x, y, z    its direction from the middle
    radius_mm  its size
    is_left    whether it is left, not removed
    """

    x: float
    y: float
    z: float
    radius_mm: float
    is_left: bool


@dataclass(frozen=True)
class Stripping:
    """How a skull was removed.

    smooth_mm  width of the smoothing: narrow sulci are kept as CSF, optic nerves are lost
    reach_mm   how far the mask extends beyond grey matter, negative if it removes some of it
    balls      at the surface, wrongly removed or left
    gone       missing part: "cerebellum" (with the brainstem), "left" or "right" hemisphere, or "" for none
    """

    smooth_mm: float = 3.0
    reach_mm: float = 0.5
    balls: tuple[SurfaceBall, ...] = ()
    gone: str = ""

    def mask(self, labels: NDArray[np.integer], grid: Grid, marks: Landmarks) -> Bools:
        """(i, j, k) the voxels of a head that remain."""
        spacing_mm = grid.spacing_mm
        factor_i, factor_j, factor_k = (
            max(1, round(MASK_VOXEL_MM / float(voxel_mm))) for voxel_mm in spacing_mm
        )
        end_padding = [
            (0, -size % factor)
            for size, factor in zip(labels.shape, (factor_i, factor_j, factor_k), strict=True)
        ]
        matter_share = block_means(
            np.pad(IS_MATTER[labels], end_padding).astype(np.float32),
            (factor_i, factor_j, factor_k),
        )
        coarse_grid = Grid(
            matter_share.shape, block_affine(grid.vox_to_ras, (factor_i, factor_j, factor_k))
        )
        voxel_mm = spacing_mm * (factor_i, factor_j, factor_k)
        mask_level = ndtr(-self.reach_mm / self.smooth_mm)
        is_kept = (
            gaussian_filter(matter_share, self.smooth_mm / voxel_mm, truncate=2.5) > mask_level
        )
        is_water = (
            block_means(
                np.pad(IS_WATER[labels], end_padding).astype(np.float32),
                (factor_i, factor_j, factor_k),
            )
            > 0.3
        )
        is_among_brain = (
            gaussian_filter(matter_share, VENTRICLE_MM / voxel_mm, truncate=1.5, mode="nearest")
            > 0.5
        )
        is_kept |= is_water & is_among_brain
        if is_kept.any():
            is_kept = self._with_flaws(is_kept, coarse_grid, marks)
        size_i, size_j, size_k = labels.shape
        return np.asarray(
            is_kept.repeat(factor_i, axis=0)
            .repeat(factor_j, axis=1)
            .repeat(factor_k, axis=2)[:size_i, :size_j, :size_k]
        )

    def _with_flaws(self, is_kept: Bools, grid: Grid, marks: Landmarks) -> Bools:
        """The mask without its missing part, and with the balls."""
        x, y, z = (
            np.broadcast_to(coordinates, is_kept.shape) for coordinates in grid.coordinates()
        )
        brain_centre = np.array([coordinates[is_kept].mean() for coordinates in (x, y, z)])
        if self.gone == CEREBELLUM:
            tent_height = (
                marks.chin
                + TENTORIUM_SHARE * (marks.vertex - marks.chin)
                + 0.24 * (y - brain_centre[1] + 27)
            )
            is_kept = is_kept & ~((z < tent_height) & (y < brain_centre[1]))
        elif self.gone:
            is_kept = is_kept & ((x < brain_centre[0]) == (self.gone == RIGHT))
        brain_mask = is_kept.copy()
        for ball in self.balls:
            axis_distance = sum(
                component * (coordinates - centre_coordinate)
                for component, coordinates, centre_coordinate in zip(
                    ball[:3], (x, y, z), brain_centre, strict=True
                )
            )
            squared_centre_distance = (
                (x - brain_centre[0]) ** 2 + (y - brain_centre[1]) ** 2 + (z - brain_centre[2]) ** 2
            )
            squared_axis_distance = squared_centre_distance - axis_distance * axis_distance
            is_in_beam = brain_mask & (squared_axis_distance < 36)
            reach_mm = float(axis_distance[is_in_beam].max(initial=0.0))
            is_in_ball = (
                squared_axis_distance + (axis_distance - reach_mm) ** 2
                < ball.radius_mm * ball.radius_mm
            )
            is_kept = is_kept | is_in_ball if ball.is_left else is_kept & ~is_in_ball
        return is_kept


def draw_stripping(rng: np.random.Generator) -> Stripping:
    """Of ten masks six are good, two too wide, one has local errors, and one lacks a part of the
    brain."""
    kind_dice = rng.random()
    smooth_mm = rng.uniform(2.0, 5.0)
    reach_mm = rng.uniform(-0.4, 0.6) * smooth_mm
    balls: tuple[SurfaceBall, ...] = ()
    missing_part = ""
    if kind_dice < 0.2:
        smooth_mm = rng.uniform(3.0, 6.0)
        reach_mm = rng.uniform(3.0, 9.0)
    elif kind_dice < 0.32:
        balls = tuple(_draw_ball(rng) for _ in range(rng.integers(1, 5)))
    elif kind_dice < 0.4:
        missing_part = str(rng.choice([CEREBELLUM, CEREBELLUM, LEFT, RIGHT]))
    return Stripping(smooth_mm, reach_mm, balls, missing_part)


def _draw_ball(rng: np.random.Generator) -> SurfaceBall:
    """A ball at the surface; those wrongly left are mostly at the base and in front, near eyes and
    neck."""
    is_left = rng.random() < 0.55
    direction = rng.normal(0, 1, 3) + ((0.0, 0.7, -0.9) if is_left else (0.0, 0.0, 0.0))
    x, y, z = (direction / np.linalg.norm(direction)).tolist()
    return SurfaceBall(x, y, z, rng.uniform(9, 28), is_left)
