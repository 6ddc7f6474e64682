"""Artefacts between the coil and the disk; every flaw is a function of an image, and none is
certain.

All operate on images (i, j, k) float32 of the acquired voxels.  Source of their appearance:
McRobbie et al., *MRI from Picture to Proton* (2017), chapter 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

Floats = NDArray[np.float32]

SLICE_AXIS_BY_PLANE = {"axial": 2, "coronal": 1, "sagittal": 0}
"""The axis across the slices of each plane."""
PLANES = (*SLICE_AXIS_BY_PLANE, "isotropic")


@dataclass(frozen=True)
class Flaws:
    """The flaws of one image; by default none.

    phase           axis of the phase encoding, for ghosts, motion and wrap-around
    through         axis of the slices
    folded          voxels at each end along `phase` that are acquired only to fold over the opposite end
    shift_mm        chemical shift of fat along the frequency axis
    unsuppressed    share of the field of view in which fat suppression fails
    voids           metal parts that leave a signal void with a bright rim
    ghost           relative intensity of ghosts, and how many copies share the field of view
    motion          voxels by which the body moves along `phase`
    motion_start    the share of that path travelled at the labels' position
    acquired_share  of the spatial frequencies along (phase, frequency); the rest is filled with zeros
    spike           amplitude of a wave over the image, 1000 being white
    lines           of noise along the frequency axis
    uneven          standard deviation of the log brightness of slices
    ball            radius, as a share of the half diagonal of the field of view, beyond which gradients
                    fail; 0: never
    smear           (3,) Gaussian sigma in voxels of a filter after the noise
    """

    phase: int = 1
    through: int = 2
    folded: int = 0
    shift_mm: float = 0.0
    unsuppressed: float = 0.0
    voids: int = 0
    ghost: tuple[float, int] = (0.0, 2)
    motion: float = 0.0
    motion_start: float = 0.5
    acquired_share: tuple[float, float] = (1.0, 1.0)
    spike: float = 0.0
    lines: int = 0
    uneven: float = 0.0
    ball: float = 0.0
    smear: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def frequency(self) -> int:
        """The frequency-encoding axis: neither that of the slices nor of the phase."""
        return 3 - self.phase - self.through


def apply_signal_flaws(
    image: Floats, spacing_mm: NDArray[np.float64], flaws: Flaws, rng: np.random.Generator
) -> Floats:
    """The image (i, j, k) with the flaws of the signal."""
    for _ in range(flaws.voids):
        image = add_void(image, spacing_mm, rng)
    if flaws.uneven:
        slice_count = image.shape[flaws.through]
        slice_gains = np.exp(flaws.uneven * rng.standard_normal(slice_count)).astype(np.float32)
        image = image * _spread_along_axis(slice_gains, flaws.through)
    if flaws.ball:
        image = pile_up(image, spacing_mm, flaws.ball)
    if flaws.motion:
        image = blur_by_motion(image, flaws.motion, flaws.phase, flaws.motion_start)
    if flaws.ghost[0]:
        image = add_ghosts(image, *flaws.ghost, flaws.phase)
    if flaws.folded:
        image = fold_over(image, flaws.folded, flaws.phase)
    for share, axis in zip(flaws.acquired_share, (flaws.phase, flaws.frequency), strict=True):
        if share < 1:
            image = zero_fill(image, share, axis)
    return image


def apply_noise_flaws(image: Floats, flaws: Flaws, rng: np.random.Generator) -> Floats:
    """The image (i, j, k) with spikes and noise lines, and then filtered."""
    if flaws.spike:
        image = np.abs(image + flaws.spike * _plane_wave(image.shape, flaws.through, rng))
    if flaws.lines:
        for line_index in rng.integers(0, image.shape[flaws.phase], flaws.lines).tolist():
            line = np.moveaxis(image, flaws.phase, 0)[line_index]
            line += np.abs(rng.standard_normal(line.shape, dtype=np.float32)) * np.float32(250)
    if max(flaws.smear) > 0:
        return np.asarray(ndimage.gaussian_filter(image, flaws.smear, truncate=2.5))
    return image


def shift_image(image: Floats, voxels: float, axis: int) -> Floats:
    """The image shifted by `voxels` towards higher indices, by linear interpolation; 0 enters from
    outside."""
    lower_shift = int(np.floor(voxels))
    upper_share = np.float32(voxels - lower_shift)
    lower_image = _shift_whole_voxels(image, lower_shift, axis)
    if upper_share == 0:
        return lower_image
    return (1 - upper_share) * lower_image + upper_share * _shift_whole_voxels(
        image, lower_shift + 1, axis
    )


def _shift_whole_voxels(image: Floats, voxels: int, axis: int) -> Floats:
    """The image shifted by a whole number of voxels; 0 enters from outside."""
    if voxels == 0:
        return image
    shifted = np.zeros_like(image)
    axis_length = image.shape[axis]
    if abs(voxels) < axis_length:
        shifted_part = np.moveaxis(shifted, axis, 0)[max(voxels, 0) : axis_length + min(voxels, 0)]
        shifted_part[:] = np.moveaxis(image, axis, 0)[
            max(-voxels, 0) : axis_length - max(voxels, 0)
        ]
    return shifted


def fold_over(image: Floats, margin: int, axis: int) -> Floats:
    """The image without `margin` voxels at each end of an axis, which are added where they alias
    to: at the opposite end."""
    planes = np.moveaxis(image, axis, 0)
    kept_count = len(planes) - 2 * margin
    kept_planes = planes[margin : margin + kept_count].copy()
    for plane_index in range(len(planes)):
        if not margin <= plane_index < margin + kept_count:
            kept_planes[(plane_index - margin) % kept_count] += planes[plane_index]
    return np.moveaxis(kept_planes, 0, axis)


def add_ghosts(image: Floats, strength: float, copies: int, axis: int) -> Floats:
    """The image with `copies` - 1 shifted copies, evenly spaced over the field of view, of relative
    intensity `strength`, as from breathing."""
    axis_length = image.shape[axis]
    ghosted = image
    for copy_index in range(1, copies):
        sign = -1.0 if copy_index % 2 else 1.0
        ghost = np.roll(image, round(copy_index * axis_length / copies), axis)
        ghosted = ghosted + np.float32(sign * strength) * ghost
    return np.abs(ghosted)


def blur_by_motion(image: Floats, voxels: float, axis: int, start: float = 0.5) -> Floats:
    """The mean of the image at the start, middle and end of a path of `voxels`, of which the share
    `start` is travelled at its own position."""
    path_shares = (0.0, 0.5, 1.0)
    image_sum = sum(
        shift_image(image, (path_share - start) * voxels, axis) for path_share in path_shares
    )
    return np.asarray(image_sum / np.float32(3))


def zero_fill(image: Floats, share: float, axis: int) -> Floats:
    """The image from the lowest `share` of its spatial frequencies along an axis: coarser, with
    Gibbs ringing along edges; magnitude."""
    axis_length = image.shape[axis]
    spectrum = fft.rfft(image, axis=axis)
    lowest_count = max(2, int(np.ceil(share * (axis_length // 2 + 1))))
    np.moveaxis(spectrum, axis, 0)[lowest_count:] = 0
    return np.asarray(np.abs(fft.irfft(spectrum, axis_length, axis=axis)))


def add_void(image: Floats, spacing_mm: NDArray[np.float64], rng: np.random.Generator) -> Floats:
    """The image with a signal void of 8 to 35 mm radius around a bright voxel, as from metal, and a
    rim in which the displaced signal piles up."""
    bright_voxels = np.argwhere(image[::4, ::4, ::4] > 0.3 * image.max()) * 4
    if not len(bright_voxels):
        return image
    centre_voxel = bright_voxels[rng.integers(len(bright_voxels))].tolist()
    radius_mm = rng.uniform(8, 35)
    axis_factors = rng.uniform(0.6, 1.6, 3)
    steps_mm = [
        ((np.arange(size) - centre_index) * voxel_mm * axis_factor).astype(np.float32)
        for size, centre_index, voxel_mm, axis_factor in zip(
            image.shape, centre_voxel, spacing_mm, axis_factors, strict=True
        )
    ]
    relative_distance = _distances(steps_mm) / np.float32(radius_mm)
    void_gain = 1 / (1 + np.exp(-(relative_distance - 1) * 12))
    signal_gain = void_gain + 0.8 * np.exp(-(((relative_distance - 1.15) / 0.12) ** 2))
    return np.asarray(image * signal_gain)


def pile_up(image: Floats, spacing_mm: NDArray[np.float64], ball: float) -> Floats:
    """The image black beyond a ball about its middle, of radius `ball` half diagonals, and up to
    four times as bright just inside.

    Beyond some 20 cm gradients no longer increase: signal from there is encoded nearer, compressed
    to one place, in the corners of large fields.
    """
    half_extents_mm = [
        (size - 1) * voxel_mm / 2 for size, voxel_mm in zip(image.shape, spacing_mm, strict=True)
    ]
    steps_mm = [
        np.linspace(-half_mm, half_mm, size, dtype=np.float32)
        for half_mm, size in zip(half_extents_mm, image.shape, strict=True)
    ]
    radius_mm = np.float32(ball * np.sqrt(sum(half_mm * half_mm for half_mm in half_extents_mm)))
    relative_distance = _distances(steps_mm) / radius_mm
    rim_gain = 1 + 3 * np.exp(-(((relative_distance - 0.97) / 0.035) ** 2))
    signal_gain = rim_gain / (1 + np.exp(np.clip((relative_distance - 1) * 80, -50, 50)))
    return np.asarray(image * signal_gain)


def _distances(steps: list[Floats]) -> Floats:
    """The distance (i, j, k) from the zero of `steps`, the coordinates along each axis."""
    return np.sqrt(
        sum(_spread_along_axis(axis_steps, axis) ** 2 for axis, axis_steps in enumerate(steps))
    )


def smooth_field(
    shape: tuple[int, ...], spacing_mm: NDArray[np.float64], spread: float, rng: np.random.Generator
) -> Floats:
    """Gains (i, j, k) about 1 whose logarithm has standard deviation about `spread` and varies over
    some 12 cm: an uncorrected bias field."""
    knot_counts = [
        max(2, int(np.ceil(size * voxel_mm / 120)) + 1)
        for size, voxel_mm in zip(shape, spacing_mm, strict=True)
    ]
    coarse_gains = np.exp(spread * rng.standard_normal(knot_counts)).astype(np.float32)
    return stretch(coarse_gains, shape)


def fat_suppression_failure(
    shape: tuple[int, ...], spacing_mm: NDArray[np.float64], share: float, rng: np.random.Generator
) -> Floats:
    """How far (i, j, k), 0 to 1, fat suppression fails: at one side of the field of view, behind a
    front that winds over some 8 cm.

    The static field is off by the 3.4 ppm between fat and water far from the isocentre and at
    interfaces with air.
    """
    knot_counts = [
        max(3, int(np.ceil(size * voxel_mm / 80)) + 1)
        for size, voxel_mm in zip(shape, spacing_mm, strict=True)
    ]
    coarse_field = 0.35 * rng.standard_normal(knot_counts)
    front_direction = rng.normal(0, 1, 3)
    front_direction /= np.linalg.norm(front_direction)
    for axis, (knot_count, axis_slope) in enumerate(zip(knot_counts, front_direction, strict=True)):
        coarse_field += _spread_along_axis(axis_slope * np.linspace(-1.5, 1.5, knot_count), axis)
    fine_field = stretch(coarse_field.astype(np.float32), shape)
    failure_threshold = np.float32(np.quantile(fine_field[::4, ::4, ::4], 1 - share))
    failure_share = np.clip((fine_field - failure_threshold) / np.float32(0.4), 0, 1)
    return np.asarray(np.float32(rng.uniform(0.4, 1.0)) * failure_share)


def stretch(coarse: Floats, shape: tuple[int, ...]) -> Floats:
    """Linear interpolation, axis by axis, to `shape`, keeping first and last values."""
    for axis, target_size in enumerate(shape):
        knot_count = coarse.shape[axis]
        knot_position = np.linspace(0, knot_count - 1, target_size)
        lower_knot = np.minimum(knot_position.astype(int), knot_count - 2)
        upper_share = _spread_along_axis((knot_position - lower_knot).astype(np.float32), axis)
        coarse = (
            coarse.take(lower_knot, axis) * (1 - upper_share)
            + coarse.take(lower_knot + 1, axis) * upper_share
        )
    return coarse


def _spread_along_axis(values: NDArray[np.floating], axis: int) -> NDArray[Any]:
    """The values (n,) along one axis of three, the others of length 1, to be broadcast."""
    return values.reshape([-1 if a == axis else 1 for a in range(3)])


def _plane_wave(shape: tuple[int, ...], through: int, rng: np.random.Generator) -> Floats:
    """A plane wave of amplitude 1 across each slice, 3 to 30 periods over the image: one corrupted
    sample of k-space."""
    phase_angle = np.zeros((1, 1, 1), np.float32)
    for axis, size in enumerate(shape):
        periods = 0.0 if axis == through else rng.uniform(3, 30) * rng.choice([-1, 1])
        axis_angle = (2 * np.pi * periods * np.arange(size) / size).astype(np.float32)
        phase_angle = phase_angle + _spread_along_axis(axis_angle, axis)
    return np.cos(phase_angle)


def draw_flaws(plane: str, rng: np.random.Generator) -> Flaws:
    """The flaws of an image of that plane, in nearly half of the cases none: otherwise each of most
    kinds in about one of eight."""
    slice_axis = SLICE_AXIS_BY_PLANE.get(plane, 0)
    phase_axis = int(rng.choice([axis for axis in range(3) if axis != slice_axis]))
    flaw_dice = rng.random(10)
    if rng.random() < 0.45:
        return Flaws(phase_axis, slice_axis)
    phase_share, frequency_share = rng.uniform(0.45, 0.9, 2).tolist()
    sigma_i, sigma_j, sigma_k = (
        rng.uniform(0, 1.2, 3).tolist() if flaw_dice[8] < 0.3 else (0.0, 0.0, 0.0)
    )
    return Flaws(
        phase_axis,
        slice_axis,
        shift_mm=float(rng.uniform(1, 5) * rng.choice([-1, 1])) if flaw_dice[0] < 0.12 else 0.0,
        voids=int(rng.integers(1, 3)) if flaw_dice[1] < 0.1 else 0,
        ghost=(rng.uniform(0.04, 0.2), int(rng.integers(2, 5)))
        if flaw_dice[2] < 0.15
        else (0.0, 2),
        motion=rng.uniform(1, 4) if flaw_dice[3] < 0.15 else 0.0,
        acquired_share=(
            (phase_share, frequency_share if rng.random() < 0.5 else 1.0)
            if flaw_dice[4] < 0.25
            else (1.0, 1.0)
        ),
        spike=rng.uniform(15, 90) if flaw_dice[5] < 0.05 else 0.0,
        lines=int(rng.integers(1, 5)) if flaw_dice[6] < 0.06 else 0,
        uneven=rng.uniform(0.03, 0.25) if flaw_dice[7] < 0.15 else 0.0,
        smear=(sigma_i, sigma_j, sigma_k),
    )
