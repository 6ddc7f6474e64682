"""Echo-planar images, of functional and diffusion studies: distorted, and dark, near air.

    air        (i, j, k) share of each voxel that is air
    offset_hz  (i, j, k) off-resonance frequency

All lines of a slice are read after one excitation, so that a small offset moves signal by whole
voxels along the phase axis. Sources: Salomir et al. (2003), Concepts Magn Reson B 19:26, and
Marques & Bowtell (2005), Concepts Magn Reson B 25:65: the field of a susceptibility distribution,
F⁻¹[(1/3 - kz²/k²) F χ]; Jezzard & Balaban (1995), Magn Reson Med 34:65: the distortion, shift =
offset over bandwidth of a voxel; Reichenbach et al. (1997), J Magn Reson Imaging 7:266: intravoxel
dephasing, sinc(G d TE).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from fovnet.phantom.scanner.tissues import Tissue

Floats = NDArray[np.float32]

AIR_PPM = 9.4  # susceptibility of air minus that of water
HZ_PER_TESLA_PPM = 42.577
AIR_SHARE_BY_TISSUE = {"air": 1.0, "gas": 1.0, "lung": 0.75}
"""The fraction of air in a tissue."""

# parts of a voxel along the phase axis that are moved separately: otherwise stretched places have gaps
PARTS_PER_VOXEL = 4


@dataclass(frozen=True)
class EchoPlanar:
    """How the lines of a slice are read.

    phase_axis    along which signal is displaced
    slice_axis    across the slices
    bandwidth_hz  per voxel along the phase axis; its sign is the direction in which the lines are read
    te_ms         echo time of a gradient echo, with signal loss by dephasing; 0 for a spin echo, without
    """

    phase_axis: int
    slice_axis: int
    bandwidth_hz: float
    te_ms: float = 0.0


def list_air_shares(tissues: Sequence[Tissue]) -> Floats:
    """(t,) the fraction of air in each tissue."""
    return np.array(
        [AIR_SHARE_BY_TISSUE.get(tissue.name, 0.0) for tissue in tissues], dtype=np.float32
    )


def read_out(
    image: Floats,
    air_shares: Floats,
    vox_to_ras: NDArray[np.float64],
    echo_planar: EchoPlanar,
    field_strength_tesla: float,
) -> Floats:
    """The image (i, j, k) as read by an echo-planar sequence in a field along z: distorted, and
    after a gradient echo dark, near air (`air_shares` (i, j, k), 0 to 1)."""
    hz_per_ppm = np.float32(HZ_PER_TESLA_PPM * field_strength_tesla)
    offset_hz = shim_field(field_change_ppm(air_shares, vox_to_ras), air_shares) * hz_per_ppm
    if echo_planar.te_ms:
        slice_gradient_hz = np.gradient(offset_hz, axis=echo_planar.slice_axis)
        dephased_turns = slice_gradient_hz * (echo_planar.te_ms / 1000)
        image = image * np.abs(np.sinc(dephased_turns)).astype(np.float32)
    shift_voxels = offset_hz / np.float32(echo_planar.bandwidth_hz)
    return displace_signal(image, shift_voxels, echo_planar.phase_axis)


def field_change_ppm(air_shares: Floats, vox_to_ras: NDArray[np.float64]) -> Floats:
    """(i, j, k) relative change of the static field, in ppm, by air (`air_shares` (i, j, k), 0 to
    1) in water; the field of view is continued by its edge values.

    Outside a sphere of radius a it is 9.4 / 3 (a / r)³ (3 cos²θ - 1), inside 0.
    """
    margins = [max(4, axis_size // 4) for axis_size in air_shares.shape]
    padded_air = np.pad(air_shares, [(margin, margin) for margin in margins], mode="edge")
    spacing_mm = np.linalg.norm(vox_to_ras[:3, :3], axis=0)
    z_direction = vox_to_ras[2, :3] / spacing_mm  # the scanner's z along each axis of the grid
    frequencies = np.meshgrid(
        *(
            fft.fftfreq(size, voxel_mm)
            for size, voxel_mm in zip(padded_air.shape[:2], spacing_mm[:2], strict=True)
        ),
        fft.rfftfreq(padded_air.shape[2], spacing_mm[2]),
        indexing="ij",
        sparse=True,
    )
    z_frequency = sum(
        frequency * direction_share
        for frequency, direction_share in zip(frequencies, z_direction, strict=True)
    )
    squared_frequency = frequencies[0] ** 2 + frequencies[1] ** 2 + frequencies[2] ** 2
    squared_frequency[0, 0, 0] = 1.0
    dipole_kernel = (1 / 3 - z_frequency**2 / squared_frequency).astype(np.float32)
    dipole_kernel[0, 0, 0] = 0.0  # a constant offset is removed by tuning
    relative_field = fft.irfftn(fft.rfftn(padded_air) * dipole_kernel, padded_air.shape)
    unpadded_window = tuple(
        slice(margin, margin + axis_size)
        for margin, axis_size in zip(margins, air_shares.shape, strict=True)
    )
    return np.asarray(AIR_PPM * relative_field[unpadded_window])


def shim_field(field_ppm: Floats, air_shares: Floats) -> Floats:
    """The field (i, j, k) after second-order shimming: minus its least-squares polynomial over
    voxels that are mostly not air."""
    axis_positions = [np.linspace(-1, 1, size, dtype=np.float32) for size in field_ppm.shape]
    x, y, z = np.meshgrid(*axis_positions, indexing="ij", sparse=True)
    monomials = (x, y, z, x * y, x * z, y * z, x * x, y * y, z * z)
    polynomial_terms = [
        np.ones_like(field_ppm),
        *(np.broadcast_to(monomial, field_ppm.shape) for monomial in monomials),
    ]
    tissue_voxels = np.flatnonzero(air_shares.ravel() < 0.5)
    if len(tissue_voxels) <= len(polynomial_terms):
        return field_ppm
    # enough for ten coefficients
    sampled_voxels = tissue_voxels[:: max(1, len(tissue_voxels) // 5000)]
    term_values = np.stack([term.ravel()[sampled_voxels] for term in polynomial_terms], axis=1)
    sampled_field = field_ppm.ravel()[sampled_voxels]
    coefficients = np.linalg.lstsq(term_values, sampled_field, rcond=None)[0].astype(np.float32)
    polynomial = sum(
        coefficient * term for coefficient, term in zip(coefficients, polynomial_terms, strict=True)
    )
    return np.asarray(field_ppm - polynomial)


def displace_signal(image: Floats, shift_voxels: Floats, axis: int) -> Floats:
    """The image (i, j, k) with the signal of every voxel moved along an axis by its own
    `shift_voxels` (i, j, k).

    Signal is conserved, so it piles up where neighbours converge; what leaves at one end enters at
    the other.
    """
    image_lines, line_shifts = (
        np.moveaxis(values, axis, -1).reshape(-1, image.shape[axis])
        for values in (image, shift_voxels)
    )
    line_length = image_lines.shape[1]
    source_position = (np.arange(line_length * PARTS_PER_VOXEL) + 0.5) / PARTS_PER_VOXEL - 0.5
    lower_source = np.clip(np.floor(source_position).astype(int), 0, line_length - 2)
    upper_share = (source_position - lower_source).clip(0, 1).astype(np.float32)
    target_position = (
        source_position
        + line_shifts[:, lower_source] * (1 - upper_share)
        + line_shifts[:, lower_source + 1] * upper_share
    )
    part_signal = np.repeat(image_lines, PARTS_PER_VOXEL, axis=1) / np.float32(PARTS_PER_VOXEL)
    lower_target = np.floor(target_position).astype(np.int64)
    upper_target_share = (target_position - lower_target).astype(np.float32)
    line_start = (np.arange(len(image_lines)) * line_length)[:, None]
    displaced_signal = np.zeros(image_lines.size)
    for target_step, target_share in ((0, 1 - upper_target_share), (1, upper_target_share)):
        target_index = line_start + (lower_target + target_step) % line_length
        displaced_signal += np.bincount(
            target_index.ravel(), (part_signal * target_share).ravel(), minlength=image_lines.size
        )
    shape = np.moveaxis(image, axis, -1).shape
    displaced_image = np.moveaxis(displaced_signal.reshape(shape), -1, axis)
    return np.ascontiguousarray(displaced_image, dtype=np.float32)
