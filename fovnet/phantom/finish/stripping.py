"""Skull stripping as programs do it: tight or loose masks, some with a rim of dura, local errors or a missing
part.

Masks of different programs on the same head differ by some millimetres of CSF and dura at the convexity and
by centimetres at the worst place, mostly at the base: Iglesias et al. (2011), IEEE Trans Med Imaging 30:1617,
compare six of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.special import ndtr

from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.scanner.scan import averaged, averaged_affine
from fovnet.phantom.scanner.tissues import TISSUES

Bools = NDArray[np.bool_]

COARSE_MM = 2.0  # masks are smooth at a scale of a few millimetres; finer voxels are merged first
DEEP_MM = 11.0  # scale at which CSF surrounded by brain counts as a ventricle
MATTER = np.array(["matter" in tissue.name for tissue in TISSUES])
WATER = np.array(["cerebrospinal" in tissue.name for tissue in TISSUES])
TENT = 0.535  # height of the tentorium's top, as a share of the way from the chin to the vertex
CEREBELLUM, LEFT, RIGHT = "cerebellum", "left", "right"


@dataclass(frozen=True)
class Stripping:
    """How a skull was removed.

    smooth_mm  width of the smoothing: narrow sulci are kept as CSF, optic nerves are lost
    reach_mm   how far the mask extends beyond grey matter, negative if it removes some of it
    balls      (x, y, z, radius mm, kept) directions from the middle: a ball at the surface wrongly removed,
               or kept (1.0)
    gone       missing part: "cerebellum" (with the brainstem), "left" or "right" hemisphere, or "" for none
    """

    smooth_mm: float = 3.0
    reach_mm: float = 0.5
    balls: tuple[tuple[float, float, float, float, float], ...] = ()
    gone: str = ""

    def mask(self, labels: NDArray[np.integer], grid: Grid, marks: Landmarks) -> Bools:
        """(i, j, k) the voxels of a head that remain."""
        spacing = grid.spacing_mm
        a, b, c = (max(1, round(COARSE_MM / float(step))) for step in spacing)
        ends = [(0, -size % part) for size, part in zip(labels.shape, (a, b, c), strict=True)]
        matter = averaged(np.pad(MATTER[labels], ends).astype(np.float32), (a, b, c))
        coarse = Grid(matter.shape, averaged_affine(grid.vox_to_ras, (a, b, c)))
        step = spacing * (a, b, c)
        left = gaussian_filter(matter, self.smooth_mm / step, truncate=2.5) > ndtr(
            -self.reach_mm / self.smooth_mm
        )
        water = averaged(np.pad(WATER[labels], ends).astype(np.float32), (a, b, c)) > 0.3
        left |= water & (
            gaussian_filter(matter, DEEP_MM / step, truncate=1.5, mode="nearest") > 0.5
        )
        if left.any():
            left = self._spoilt(left, coarse, marks)
        i, j, k = labels.shape
        return np.asarray(left.repeat(a, axis=0).repeat(b, axis=1).repeat(c, axis=2)[:i, :j, :k])

    def _spoilt(self, left: Bools, grid: Grid, marks: Landmarks) -> Bools:
        x, y, z = (np.broadcast_to(values, left.shape) for values in grid.coordinates())
        middle = np.array([values[left].mean() for values in (x, y, z)])
        if self.gone == CEREBELLUM:
            tent = marks.chin + TENT * (marks.vertex - marks.chin) + 0.24 * (y - middle[1] + 27)
            left = left & ~((z < tent) & (y < middle[1]))
        elif self.gone:
            left = left & ((x < middle[0]) == (self.gone == RIGHT))
        whole = left.copy()
        for *towards, radius, kept in self.balls:
            along = sum(
                component * (values - at)
                for component, values, at in zip(towards, (x, y, z), middle, strict=True)
            )
            aside2 = (
                (x - middle[0]) ** 2 + (y - middle[1]) ** 2 + (z - middle[2]) ** 2 - along * along
            )
            beam = whole & (aside2 < 36)
            reach = float(along[beam].max(initial=0.0))
            ball = aside2 + (along - reach) ** 2 < radius * radius
            left = left | ball if kept else left & ~ball
        return left


def draw_stripping(rng: np.random.Generator) -> Stripping:
    """Of ten masks six are good, two too wide, one has local errors, and one lacks a part of the brain."""
    kind, smooth = rng.random(), rng.uniform(2.0, 5.0)
    reach = rng.uniform(-0.4, 0.6) * smooth
    balls: tuple[tuple[float, float, float, float, float], ...] = ()
    gone = ""
    if kind < 0.2:
        smooth, reach = rng.uniform(3.0, 6.0), rng.uniform(3.0, 9.0)
    elif kind < 0.32:
        balls = tuple(_ball(rng) for _ in range(rng.integers(1, 5)))
    elif kind < 0.4:
        gone = str(rng.choice([CEREBELLUM, CEREBELLUM, LEFT, RIGHT]))
    return Stripping(smooth, reach, balls, gone)


def _ball(rng: np.random.Generator) -> tuple[float, float, float, float, float]:
    """A ball at the surface; wrongly kept ones are mostly at the base and in front, near eyes and neck."""
    kept = rng.random() < 0.55
    towards = rng.normal(0, 1, 3) + ((0.0, 0.7, -0.9) if kept else (0.0, 0.0, 0.0))
    x, y, z = (towards / np.linalg.norm(towards)).tolist()
    return x, y, z, rng.uniform(9, 28), float(kept)
