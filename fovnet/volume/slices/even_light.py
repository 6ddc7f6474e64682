"""Shading divided out: brightness that varies over centimetres, as next to the elements of a coil.

    light   the mean brightness of the body about a point: a Gaussian of REACH_MM over the blocks of voxels that
            are body, so that air beside the skin does not darken it; air has the light of the body near it

Where the light is below LEAST_LIGHT_SHARE of its mean, it is taken to be that: what is left there is
mostly noise.  A volume longer than its coil then shows grey noise at its ends, not bright noise.

Source: homomorphic unsharp masking, Axel, Costantini & Listerud (1987), AJR 148:418; restricted to
the body, Brinkmann, Manduca & Robb (1998), IEEE Trans Med Imaging 17:161.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.machine.threads import one_thread
from fovnet.volume.volume import Volume

REACH_MM = 35.0  # sigma: with 20 mm, organs are divided out as well
BLOCK_MM = 9.0  # at most so wide are the blocks in which the light is computed
BODY_SHARE = 0.06  # of the window: what is darker is air
LEAST_LIGHT_SHARE = 0.12  # a gain of eight: coils fall off about tenfold
GREATEST_BRIGHTNESS = 1000.0  # windows: a voxel 1e35 times as bright is white as well
FAR_WEIGHT = 1e-3  # of the mean light, which is that of air farther away than three times the reach

Floats32 = NDArray[np.float32]


def divide_light(volume: Volume, black: float, white: float) -> Volume:
    """The volume with this window, its brightness above black divided by the light relative to its
    mean; the volume itself if it shows no body."""
    voxels = volume.voxels
    block_sizes = np.maximum(BLOCK_MM // volume.spacing_mm, 1).astype(int)
    above_black = np.clip(_block_means(voxels, block_sizes) - black, 0, white - black)
    is_body = above_black > BODY_SHARE * (white - black)
    if not is_body.any():
        return volume
    light = _measure_light(above_black, is_body, REACH_MM / (block_sizes * volume.spacing_mm))
    rows, columns, layers = (
        _interpolation_weights(size, block_size)
        for size, block_size in zip(voxels.shape, block_sizes.tolist(), strict=True)
    )
    brightest = np.float32(GREATEST_BRIGHTNESS * (white - black))
    even_voxels = np.empty_like(voxels, dtype=np.float32)  # in its layout
    with one_thread():
        for slice_index, layer_weights in enumerate(layers):
            plane_light = rows @ (light @ layer_weights) @ columns.T
            plane = np.minimum(voxels[:, :, slice_index] - np.float32(black), brightest)
            even_voxels[:, :, slice_index] = plane / plane_light + np.float32(black)
    return replace(volume, voxels=even_voxels)


def _measure_light(
    brightness: Floats32, is_body: NDArray[np.bool_], reach_blocks: NDArray[np.float64]
) -> Floats32:
    """The light (i, j, k) at the middle of every block, its mean over the body 1."""
    from scipy import ndimage

    def blur(values: Floats32) -> Floats32:
        return np.asarray(ndimage.gaussian_filter(values, reach_blocks, mode="constant"))

    mean_brightness = brightness[is_body].mean(dtype=np.float64)
    body_brightness = (np.where(is_body, brightness, 0) / mean_brightness).astype(np.float32)
    body_weights = is_body.astype(np.float32)
    light = (blur(body_brightness) + FAR_WEIGHT) / (blur(body_weights) + FAR_WEIGHT)
    light /= light[is_body].mean(dtype=np.float64)
    return np.maximum(light, LEAST_LIGHT_SHARE).astype(np.float32)


def _block_means(voxels: Floats32, block_sizes: NDArray[np.intp]) -> Floats32:
    """The means over blocks of so many voxels along each axis; the last block may be smaller."""
    rows, columns, layers = (
        _mean_weights(size, block_size)
        for size, block_size in zip(voxels.shape, block_sizes.tolist(), strict=True)
    )
    means = np.zeros((len(rows), len(columns), len(layers)), dtype=np.float32)
    with one_thread():
        for slice_index in range(voxels.shape[2]):
            # one layout, so that the result does not depend on that of the volume
            plane = np.ascontiguousarray(voxels[:, :, slice_index], dtype=np.float32)
            layer = slice_index // block_sizes[2]
            means[:, :, layer] += rows @ plane @ columns.T * layers[layer, slice_index]
    return means


def _mean_weights(size: int, block_size: int) -> Floats32:
    """(blocks, size) weights whose products are the means of blocks."""
    block_indices = np.arange(size) // block_size
    is_in_block = block_indices == np.arange(block_indices[-1] + 1)[:, None]
    weights = is_in_block / is_in_block.sum(axis=1, keepdims=True)
    return np.asarray(weights, dtype=np.float32)


def _interpolation_weights(size: int, block_size: int) -> Floats32:
    """(size, blocks) weights that interpolate between the middles of blocks, linearly; beyond the
    outermost middles the outermost value."""
    starts = np.arange(0, size, block_size)
    middles = (starts + np.minimum(starts + block_size, size) - 1) / 2
    block_positions = np.interp(np.arange(size), middles, np.arange(len(starts)))
    distances = np.abs(block_positions[:, None] - np.arange(len(starts)))
    return np.asarray(np.maximum(1 - distances, 0), dtype=np.float32)
