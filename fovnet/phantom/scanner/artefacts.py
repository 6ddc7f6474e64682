"""Artefacts between the coil and the disk; every flaw is a function of an image, and none is
certain.

All operate on images (i, j, k) float32 of the acquired voxels.  Source of their appearance:
McRobbie et al., *MRI from Picture to Proton* (2017), chapter 7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

Floats = NDArray[np.float32]

SLICE_AXIS_BY_PLANE = {"axial": 2, "coronal": 1, "sagittal": 0}
"""The axis across the slices of each plane."""
PLANES = (*SLICE_AXIS_BY_PLANE, "isotropic")

NOISE_LINE_LEVEL = np.float32(250)  # mean level of the noise of a line, white being 1000
BIAS_KNOT_MM = 120.0  # between the points at which a bias field is drawn
FRONT_KNOT_MM = 80.0  # the same for the front behind which fat suppression fails


class Ghosts(NamedTuple):
    """Copies of an image, as from breathing: their intensity relative to it, and how many images,
    evenly spaced, then share the field of view, the image itself included."""

    strength: float = 0.0
    copy_count: int = 2


@dataclass(frozen=True)
class Flaws:
    """The flaws of one image; by default none.

    phase_axis          of the phase encoding, for ghosts, motion and wrap-around
    slice_axis          across the slices
    folded_voxels       at each end of the phase axis, acquired only to fold over the opposite end
    fat_shift_mm        chemical shift of fat along the frequency axis
    unsuppressed_share  of the field of view, in which fat suppression fails
    void_count          metal parts that leave a signal void with a bright rim
    ghosts              copies of the image along the phase axis
    motion_voxels       by which the body moves along the phase axis
    motion_start_share  of that path, travelled at the position of the labels
    acquired_shares     of the spatial frequencies along the phase and the frequency axis; the rest is
                        filled with zeros
    spike_amplitude     of a wave over the image, 1000 being white
    noise_line_count    lines of noise along the frequency axis
    slice_gain_spread   standard deviation of the logarithm of the slices' brightness
    gradient_radius     as a share of the half diagonal of the field of view, beyond which gradients
                        fail; 0: never
    smear_voxels        (3,) Gaussian sigma of a filter after the noise
    """

    phase_axis: int = 1
    slice_axis: int = 2
    folded_voxels: int = 0
    fat_shift_mm: float = 0.0
    unsuppressed_share: float = 0.0
    void_count: int = 0
    ghosts: Ghosts = Ghosts()  # noqa: RUF009  (immutable)
    motion_voxels: float = 0.0
    motion_start_share: float = 0.5
    acquired_shares: tuple[float, float] = (1.0, 1.0)
    spike_amplitude: float = 0.0
    noise_line_count: int = 0
    slice_gain_spread: float = 0.0
    gradient_radius: float = 0.0
    smear_voxels: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def frequency_axis(self) -> int:
        """The frequency-encoding axis: neither that of the slices nor of the phase."""
        return 3 - self.phase_axis - self.slice_axis


def apply_signal_flaws(
    image: Floats, spacing_mm: NDArray[np.float64], flaws: Flaws, rng: np.random.Generator
) -> Floats:
    """The image (i, j, k) with the flaws of the signal: voids, uneven slices, dark corners, motion,
    ghosts, wrap-around and missing spatial frequencies."""
    for _ in range(flaws.void_count):
        image = add_void(image, spacing_mm, rng)
    if flaws.slice_gain_spread:
        slice_count = image.shape[flaws.slice_axis]
        log_gains = flaws.slice_gain_spread * rng.standard_normal(slice_count)
        slice_gains = np.exp(log_gains).astype(np.float32)
        image = image * _spread_along_axis(slice_gains, flaws.slice_axis)
    if flaws.gradient_radius:
        image = darken_corners(image, spacing_mm, flaws.gradient_radius)
    if flaws.motion_voxels:
        image = blur_by_motion(
            image, flaws.motion_voxels, flaws.phase_axis, flaws.motion_start_share
        )
    if flaws.ghosts.strength:
        image = add_ghosts(image, flaws.ghosts, flaws.phase_axis)
    if flaws.folded_voxels:
        image = fold_over(image, flaws.folded_voxels, flaws.phase_axis)
    phase_share, frequency_share = flaws.acquired_shares
    if phase_share < 1:
        image = zero_fill(image, phase_share, flaws.phase_axis)
    if frequency_share < 1:
        image = zero_fill(image, frequency_share, flaws.frequency_axis)
    return image


def apply_noise_flaws(image: Floats, flaws: Flaws, rng: np.random.Generator) -> Floats:
    """The image (i, j, k) with spikes and noise lines, and then filtered."""
    if flaws.spike_amplitude:
        spike_wave = _draw_plane_wave(image.shape, flaws.slice_axis, rng)
        image = np.abs(image + flaws.spike_amplitude * spike_wave)
    if flaws.noise_line_count:
        phase_size = image.shape[flaws.phase_axis]
        for line_index in rng.integers(0, phase_size, flaws.noise_line_count).tolist():
            line = np.moveaxis(image, flaws.phase_axis, 0)[line_index]
            line += np.abs(rng.standard_normal(line.shape, dtype=np.float32)) * NOISE_LINE_LEVEL
    if max(flaws.smear_voxels) > 0:
        return np.asarray(ndimage.gaussian_filter(image, flaws.smear_voxels, truncate=2.5))
    return image


def shift_image(image: Floats, shift_voxels: float, axis: int) -> Floats:
    """The image shifted along an axis towards higher indices, by linear interpolation between two
    whole shifts; 0 enters from outside."""
    lower_shift = int(np.floor(shift_voxels))
    upper_share = np.float32(shift_voxels - lower_shift)
    lower_image = _shift_whole_voxels(image, lower_shift, axis)
    if upper_share == 0:
        return lower_image
    return (1 - upper_share) * lower_image + upper_share * _shift_whole_voxels(
        image, lower_shift + 1, axis
    )


def _shift_whole_voxels(image: Floats, shift_voxels: int, axis: int) -> Floats:
    """The image shifted along an axis by a whole number of voxels; 0 enters from outside."""
    if shift_voxels == 0:
        return image
    shifted_image = np.zeros_like(image)
    axis_length = image.shape[axis]
    if abs(shift_voxels) < axis_length:
        target_planes = np.moveaxis(shifted_image, axis, 0)[
            max(shift_voxels, 0) : axis_length + min(shift_voxels, 0)
        ]
        target_planes[:] = np.moveaxis(image, axis, 0)[
            max(-shift_voxels, 0) : axis_length - max(shift_voxels, 0)
        ]
    return shifted_image


def fold_over(image: Floats, margin_voxels: int, axis: int) -> Floats:
    """The image without its margins at both ends of an axis; the signal of each margin is added
    where it aliases to, at the opposite end."""
    planes = np.moveaxis(image, axis, 0)
    kept_count = len(planes) - 2 * margin_voxels
    kept_planes = planes[margin_voxels : margin_voxels + kept_count].copy()
    for plane_index in range(len(planes)):
        if not margin_voxels <= plane_index < margin_voxels + kept_count:
            kept_planes[(plane_index - margin_voxels) % kept_count] += planes[plane_index]
    return np.moveaxis(kept_planes, 0, axis)


def add_ghosts(image: Floats, ghosts: Ghosts, axis: int) -> Floats:
    """The image (i, j, k) and its ghosts: copies shifted along an axis, alternately subtracted and
    added; magnitude."""
    axis_length = image.shape[axis]
    ghosted = image
    sign = -1.0
    for copy_index in range(1, ghosts.copy_count):
        ghost = np.roll(image, round(copy_index * axis_length / ghosts.copy_count), axis)
        ghosted = ghosted + np.float32(sign * ghosts.strength) * ghost
        sign = -sign
    return np.abs(ghosted)


def blur_by_motion(
    image: Floats, path_voxels: float, axis: int, start_share: float = 0.5
) -> Floats:
    """The mean of the image at the start, the middle and the end of a path along an axis; the
    image's own position is at the share `start_share` of the path."""
    path_shares = (0.0, 0.5, 1.0)
    image_sum = sum(
        shift_image(image, (path_share - start_share) * path_voxels, axis)
        for path_share in path_shares
    )
    return np.asarray(image_sum / np.float32(3))


def zero_fill(image: Floats, kept_share: float, axis: int) -> Floats:
    """The image from the lowest `kept_share` of its spatial frequencies along an axis: coarser,
    with Gibbs ringing along edges; magnitude."""
    axis_length = image.shape[axis]
    spectrum = fft.rfft(image, axis=axis)
    kept_count = max(2, int(np.ceil(kept_share * (axis_length // 2 + 1))))
    np.moveaxis(spectrum, axis, 0)[kept_count:] = 0
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
    axis_positions_mm = [
        ((np.arange(size) - centre_index) * voxel_mm * axis_factor).astype(np.float32)
        for size, centre_index, voxel_mm, axis_factor in zip(
            image.shape, centre_voxel, spacing_mm, axis_factors, strict=True
        )
    ]
    relative_distance = _distances_from_zero(axis_positions_mm) / np.float32(radius_mm)
    void_gain = 1 / (1 + np.exp(-(relative_distance - 1) * 12))
    signal_gain = void_gain + 0.8 * np.exp(-(((relative_distance - 1.15) / 0.12) ** 2))
    return np.asarray(image * signal_gain)


def darken_corners(image: Floats, spacing_mm: NDArray[np.float64], radius_share: float) -> Floats:
    """The image black beyond a ball about its middle, and up to four times as bright just inside;
    the ball's radius is given as a share of the field's half diagonal.

    Beyond some 20 cm gradients no longer increase: signal from there is encoded nearer, compressed
    to one place, in the corners of large fields.
    """
    half_extents_mm = [
        (size - 1) * voxel_mm / 2 for size, voxel_mm in zip(image.shape, spacing_mm, strict=True)
    ]
    axis_positions_mm = [
        np.linspace(-half_mm, half_mm, size, dtype=np.float32)
        for half_mm, size in zip(half_extents_mm, image.shape, strict=True)
    ]
    half_diagonal_mm = np.sqrt(sum(half_mm * half_mm for half_mm in half_extents_mm))
    radius_mm = np.float32(radius_share * half_diagonal_mm)
    relative_distance = _distances_from_zero(axis_positions_mm) / radius_mm
    rim_gain = 1 + 3 * np.exp(-(((relative_distance - 0.97) / 0.035) ** 2))
    signal_gain = rim_gain / (1 + np.exp(np.clip((relative_distance - 1) * 80, -50, 50)))
    return np.asarray(image * signal_gain)


def _distances_from_zero(axis_positions: list[Floats]) -> Floats:
    """The distance (i, j, k) of each voxel from the origin, by its position along each axis (one
    array an axis)."""
    return np.sqrt(
        sum(
            _spread_along_axis(positions, axis) ** 2
            for axis, positions in enumerate(axis_positions)
        )
    )


def draw_smooth_gains(
    shape: tuple[int, ...],
    spacing_mm: NDArray[np.float64],
    log_spread: float,
    rng: np.random.Generator,
) -> Floats:
    """Gains (i, j, k) about 1, an uncorrected bias field: their logarithm has a standard deviation
    of about `log_spread` and varies over some 12 cm."""
    knot_counts = [
        max(2, int(np.ceil(size * voxel_mm / BIAS_KNOT_MM)) + 1)
        for size, voxel_mm in zip(shape, spacing_mm, strict=True)
    ]
    knot_gains = np.exp(log_spread * rng.standard_normal(knot_counts)).astype(np.float32)
    return stretch(knot_gains, shape)


def draw_suppression_failure(
    shape: tuple[int, ...],
    spacing_mm: NDArray[np.float64],
    failing_share: float,
    rng: np.random.Generator,
) -> Floats:
    """How far (i, j, k), 0 to 1, fat suppression fails: in about `failing_share` of the field of
    view, at one side of it, behind a front that winds over some 8 cm.

    The static field is off by the 3.4 ppm between fat and water far from the isocentre and at
    interfaces with air.
    """
    knot_counts = [
        max(3, int(np.ceil(size * voxel_mm / FRONT_KNOT_MM)) + 1)
        for size, voxel_mm in zip(shape, spacing_mm, strict=True)
    ]
    coarse_field = 0.35 * rng.standard_normal(knot_counts)
    front_direction = rng.normal(0, 1, 3)
    front_direction /= np.linalg.norm(front_direction)
    for axis, (knot_count, axis_slope) in enumerate(zip(knot_counts, front_direction, strict=True)):
        coarse_field += _spread_along_axis(axis_slope * np.linspace(-1.5, 1.5, knot_count), axis)
    field_offset = stretch(coarse_field.astype(np.float32), shape)
    failing_offset = np.float32(np.quantile(field_offset[::4, ::4, ::4], 1 - failing_share))
    failure = np.clip((field_offset - failing_offset) / np.float32(0.4), 0, 1)
    return np.asarray(np.float32(rng.uniform(0.4, 1.0)) * failure)


def stretch(knot_values: Floats, shape: tuple[int, ...]) -> Floats:
    """Values at the knots of a coarse grid, interpolated linearly, axis by axis, to an array of
    `shape`; the first and the last knot of an axis are its ends."""
    for axis, target_size in enumerate(shape):
        knot_count = knot_values.shape[axis]
        knot_position = np.linspace(0, knot_count - 1, target_size)
        lower_knot = np.minimum(knot_position.astype(int), knot_count - 2)
        upper_share = _spread_along_axis((knot_position - lower_knot).astype(np.float32), axis)
        knot_values = (
            knot_values.take(lower_knot, axis) * (1 - upper_share)
            + knot_values.take(lower_knot + 1, axis) * upper_share
        )
    return knot_values


def _spread_along_axis(values: NDArray[np.floating], axis: int) -> NDArray[Any]:
    """The values (n,) along one axis of three, the others of length 1, to be broadcast."""
    shape = [1, 1, 1]
    shape[axis] = -1
    return values.reshape(shape)


def _draw_plane_wave(shape: tuple[int, ...], slice_axis: int, rng: np.random.Generator) -> Floats:
    """A plane wave (i, j, k) of amplitude 1 across each slice, 3 to 30 periods over the image: one
    corrupted sample of k-space."""
    phase_angle = np.zeros((1, 1, 1), np.float32)
    for axis, size in enumerate(shape):
        period_count = 0.0
        if axis != slice_axis:
            period_count = rng.uniform(3, 30) * rng.choice([-1, 1])
        axis_angle = (2 * np.pi * period_count * np.arange(size) / size).astype(np.float32)
        phase_angle = phase_angle + _spread_along_axis(axis_angle, axis)
    return np.cos(phase_angle)


def motion_start_share(is_placed_exactly: bool) -> float:
    """The share of a motion's path that is travelled at the position of the labels: half of it; for
    people of recipes before 16, which are not placed exactly, none."""
    if is_placed_exactly:
        return 0.5
    return 0.0


def draw_flaws(plane: str, rng: np.random.Generator) -> Flaws:
    """The flaws of an image of that plane, in nearly half of the cases none: otherwise each of most
    kinds in about one of eight."""
    slice_axis = SLICE_AXIS_BY_PLANE.get(plane, 0)
    phase_axis = int(rng.choice([axis for axis in range(3) if axis != slice_axis]))
    (
        fat_shift_dice,
        void_dice,
        ghost_dice,
        motion_dice,
        share_dice,
        spike_dice,
        line_dice,
        gain_dice,
        smear_dice,
        _,
    ) = rng.random(10)
    flaws = Flaws(phase_axis, slice_axis)
    if rng.random() < 0.45:
        return flaws
    phase_share, frequency_share = rng.uniform(0.45, 0.9, 2).tolist()
    if smear_dice < 0.3:
        sigma_i, sigma_j, sigma_k = rng.uniform(0, 1.2, 3).tolist()
        flaws = replace(flaws, smear_voxels=(sigma_i, sigma_j, sigma_k))
    if fat_shift_dice < 0.12:
        flaws = replace(flaws, fat_shift_mm=float(rng.uniform(1, 5) * rng.choice([-1, 1])))
    if void_dice < 0.1:
        flaws = replace(flaws, void_count=int(rng.integers(1, 3)))
    if ghost_dice < 0.15:
        flaws = replace(flaws, ghosts=Ghosts(rng.uniform(0.04, 0.2), int(rng.integers(2, 5))))
    if motion_dice < 0.15:
        flaws = replace(flaws, motion_voxels=rng.uniform(1, 4))
    if share_dice < 0.25:
        if rng.random() >= 0.5:
            frequency_share = 1.0
        flaws = replace(flaws, acquired_shares=(phase_share, frequency_share))
    if spike_dice < 0.05:
        flaws = replace(flaws, spike_amplitude=rng.uniform(15, 90))
    if line_dice < 0.06:
        flaws = replace(flaws, noise_line_count=int(rng.integers(1, 5)))
    if gain_dice < 0.15:
        flaws = replace(flaws, slice_gain_spread=rng.uniform(0.03, 0.25))
    return flaws
