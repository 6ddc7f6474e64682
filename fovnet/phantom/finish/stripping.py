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

COARSE_MM = 2.0  # masks are smooth at a scale of a few millimetres; finer voxels are merged first
DEEP_MM = 11.0  # scale at which CSF surrounded by brain counts as a ventricle
MATTER = np.array(["matter" in tissue.name for tissue in TISSUES])
WATER = np.array(["cerebrospinal" in tissue.name for tissue in TISSUES])
TENT = 0.535  # height of the tentorium's top, as a share of the way from the chin to the vertex
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
        spacing = grid.spacing_mm
        a, b, c = (max(1, round(COARSE_MM / float(step))) for step in spacing)
        ends = [(0, -size % part) for size, part in zip(labels.shape, (a, b, c), strict=True)]
        matter = block_means(np.pad(MATTER[labels], ends).astype(np.float32), (a, b, c))
        coarse = Grid(matter.shape, block_affine(grid.vox_to_ras, (a, b, c)))
        step = spacing * (a, b, c)
        level = ndtr(-self.reach_mm / self.smooth_mm)
        mask = gaussian_filter(matter, self.smooth_mm / step, truncate=2.5) > level
        water = block_means(np.pad(WATER[labels], ends).astype(np.float32), (a, b, c)) > 0.3
        deep = gaussian_filter(matter, DEEP_MM / step, truncate=1.5, mode="nearest") > 0.5
        mask |= water & deep
        if mask.any():
            mask = self._spoil(mask, coarse, marks)
        i, j, k = labels.shape
        return np.asarray(mask.repeat(a, axis=0).repeat(b, axis=1).repeat(c, axis=2)[:i, :j, :k])

    def _spoil(self, mask: Bools, grid: Grid, marks: Landmarks) -> Bools:
        """The mask without its missing part, and with the balls."""
        x, y, z = (np.broadcast_to(values, mask.shape) for values in grid.coordinates())
        middle = np.array([values[mask].mean() for values in (x, y, z)])
        if self.gone == CEREBELLUM:
            tent = marks.chin + TENT * (marks.vertex - marks.chin) + 0.24 * (y - middle[1] + 27)
            mask = mask & ~((z < tent) & (y < middle[1]))
        elif self.gone:
            mask = mask & ((x < middle[0]) == (self.gone == RIGHT))
        brain = mask.copy()
        for ball in self.balls:
            along = sum(
                component * (values - centre)
                for component, values, centre in zip(ball[:3], (x, y, z), middle, strict=True)
            )
            from_middle2 = (x - middle[0]) ** 2 + (y - middle[1]) ** 2 + (z - middle[2]) ** 2
            from_axis2 = from_middle2 - along * along
            beam = brain & (from_axis2 < 36)
            reach_mm = float(along[beam].max(initial=0.0))
            inside = from_axis2 + (along - reach_mm) ** 2 < ball.radius_mm * ball.radius_mm
            mask = mask | inside if ball.is_left else mask & ~inside
        return mask


def draw_stripping(rng: np.random.Generator) -> Stripping:
    """Of ten masks six are good, two too wide, one has local errors, and one lacks a part of the
    brain."""
    kind = rng.random()
    smooth = rng.uniform(2.0, 5.0)
    reach = rng.uniform(-0.4, 0.6) * smooth
    balls: tuple[SurfaceBall, ...] = ()
    gone = ""
    if kind < 0.2:
        smooth = rng.uniform(3.0, 6.0)
        reach = rng.uniform(3.0, 9.0)
    elif kind < 0.32:
        balls = tuple(_ball(rng) for _ in range(rng.integers(1, 5)))
    elif kind < 0.4:
        gone = str(rng.choice([CEREBELLUM, CEREBELLUM, LEFT, RIGHT]))
    return Stripping(smooth, reach, balls, gone)


def _ball(rng: np.random.Generator) -> SurfaceBall:
    """A ball at the surface; those wrongly left are mostly at the base and in front, near eyes and
    neck."""
    is_left = rng.random() < 0.55
    direction = rng.normal(0, 1, 3) + ((0.0, 0.7, -0.9) if is_left else (0.0, 0.0, 0.0))
    x, y, z = (direction / np.linalg.norm(direction)).tolist()
    return SurfaceBall(x, y, z, rng.uniform(9, 28), is_left)
