"""Volumes of noise alone, as of an empty coil, a failed reconstruction or a test file: of any
distribution, grain, size and background."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.phantom.bodiless.thing import log_uniform
from fovnet.volume.volume import Volume

PURE_NOISE = "pure noise"
Voxels = NDArray[np.float32]
SIDE_RANGE = (32, 192)  # voxels along an axis of the slices
SLICE_RANGE = (8, 96)
PIXEL_RANGE_MM = (0.8, 6.0)
STEP_RANGE_MM = (1.0, 9.0)
GRAINY_SHARE = 0.5  # of volumes; in the others neighbours are independent
GRAIN_RANGE_VOXELS = (0.5, 6.0)
FRAMED_SHARE = 0.4  # black beyond a circle or a box
SHADED_SHARE = 0.4  # brighter on one side, or along the slices

Draw = Callable[[np.random.Generator, tuple[int, int, int]], NDArray[np.float64]]
DISTRIBUTIONS: tuple[Draw, ...] = (
    lambda rng, shape: rng.rayleigh(1.0, shape),
    lambda rng, shape: rng.uniform(0.0, 1.0, shape),
    lambda rng, shape: np.abs(rng.normal(1.0, rng.uniform(0.05, 0.5), shape)),
    lambda rng, shape: rng.normal(0.0, 1.0, shape),
    lambda rng, shape: rng.exponential(1.0, shape),
    lambda rng, shape: rng.integers(0, 2 ** rng.integers(1, 12), shape).astype(float),
)
"""Of a magnitude; uniform; about a mean; with both signs; of an intensity; of whole numbers."""


def make_noise_volume(rng: np.random.Generator) -> Volume:
    """A volume of noise, axes RAS+, its middle at the isocentre; the same generator gives the same."""
    width, depth = rng.integers(*SIDE_RANGE, 2).tolist()
    shape = (width, depth, int(rng.integers(*SLICE_RANGE)))
    pixel_mm = log_uniform(*PIXEL_RANGE_MM, rng)
    spacing_mm = np.array([pixel_mm, pixel_mm, log_uniform(*STEP_RANGE_MM, rng)])
    voxels = DISTRIBUTIONS[rng.integers(len(DISTRIBUTIONS))](rng, shape).astype(np.float32)
    if rng.random() < GRAINY_SHARE:
        grain_voxels = log_uniform(*GRAIN_RANGE_VOXELS, rng) * rng.uniform(0.3, 1.0, 3)
        voxels = np.asarray(ndimage.gaussian_filter(voxels, grain_voxels))
    voxels -= min(float(voxels.min()), 0.0)
    if rng.random() < SHADED_SHARE:
        voxels *= _draw_shading(shape, rng)
    if rng.random() < FRAMED_SHARE:
        voxels *= _draw_frame(shape, rng)
    affine = np.diag([*spacing_mm, 1.0])
    affine[:3, 3] = -spacing_mm * (np.array(shape) - 1) / 2
    return Volume(voxels, affine, PURE_NOISE)


def _draw_shading(shape: tuple[int, int, int], rng: np.random.Generator) -> Voxels:
    """Gains (i, j, k) that fall up to tenfold in one direction."""
    fall: NDArray[np.float64] = np.zeros(shape)
    for axis, axis_fall in enumerate(rng.uniform(-1.3, 1.3, 3).tolist()):
        axis_shape = [1, 1, 1]
        axis_shape[axis] = -1
        fall = fall + axis_fall * np.linspace(-0.5, 0.5, shape[axis]).reshape(axis_shape)
    return np.asarray(np.exp(fall), dtype=np.float32)


def _draw_frame(shape: tuple[int, int, int], rng: np.random.Generator) -> Voxels:
    """1 within an ellipse, or a box, about the middle of each slice; 0 beyond."""
    half_i, half_j = rng.uniform(0.5, 1.0, 2).tolist()
    i = np.abs(np.linspace(-1, 1, shape[0]))[:, None] / half_i
    j = np.abs(np.linspace(-1, 1, shape[1]))[None, :] / half_j
    is_inside = np.maximum(i, j) <= 1
    if rng.random() < 0.5:
        is_inside = np.hypot(i, j) <= 1
    return np.asarray(is_inside[:, :, None], dtype=np.float32)
