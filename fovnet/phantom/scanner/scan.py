"""The scanner: from tissue labels on any grid to the magnitude image an MRI scanner would store.

It is independent of the simulated body: any label volume with a table of its tissues can be
scanned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.errors import VolumeError
from fovnet.phantom.scanner.artefacts import (
    Flaws,
    apply_noise_flaws,
    apply_signal_flaws,
    draw_smooth_gains,
    draw_suppression_failure,
    shift_image,
    stretch,
)
from fovnet.phantom.scanner.contrasts import FreeContrast
from fovnet.phantom.scanner.echo_planar import EchoPlanar, list_air_shares, read_out
from fovnet.phantom.scanner.sequence import PulseSequence, compute_signals
from fovnet.phantom.scanner.tissues import TISSUES, Tissue
from fovnet.volume.volume import Volume

Floats = NDArray[np.float32]

WHITE_LEVEL = 1000
"""The intensity that counts as white in a simulated image."""
WHITE_OVER_BRIGHT_MEAN = 1.6
"""White over the mean signal of the brighter half of the tissue."""


@dataclass(frozen=True)
class LabelVolume:
    """Tissue labels.

    labels      (i, j, k) indices into a tissue table
    vox_to_ras  (4, 4) voxel index to mm, RAS+
    """

    labels: NDArray[np.integer]
    vox_to_ras: NDArray[np.float64]


@dataclass(frozen=True)
class Coil:
    """Receive sensitivity of a coil.

    centres_mm       (c, 3) of its elements
    reach_mm         about how far each element receives
    element_share    of the sensitivity, that depends on the elements; 0: it is uniform
    half_signal_mm   distance from the isocentre (z = 0) at which the signal along z has dropped to a
                     half; 1e6: it does not drop
    bias_spread      standard deviation of the logarithm of an additional smooth field
    element_power    steepness of an element's sensitivity: (1 + (d / reach)²)^-power; 1.5 is a loop of
                     that radius along its axis
    knot_spacing_mm  of the points at which the sensitivity is computed; it has no detail below that
    """

    centres_mm: Sequence[Sequence[float]] = ()
    reach_mm: float = 200.0
    element_share: float = 0.0
    half_signal_mm: float = 1e6
    bias_spread: float = 0.0
    element_power: float = 1.0
    knot_spacing_mm: float = 24.0


@dataclass(frozen=True)
class Acquisition:
    """How the signal is received.

    labels_per_voxel  (3,) label voxels that make one voxel, along each axis
    snr               mean signal of the brighter half of the tissue over sigma
    coil              receive sensitivity
    blur_voxels       Gaussian sigma, in acquired voxels
    has_texture       whether tissues show their own texture
    free_contrast     departure from physics, or None
    flaws             artefacts of the image
    echo_planar       readout, or None
    """

    field_strength_tesla: float = 1.5
    labels_per_voxel: tuple[int, int, int] = (1, 1, 1)
    snr: float = 40.0
    coil: Coil = Coil()
    blur_voxels: float = 0.45
    has_texture: bool = True
    free_contrast: FreeContrast | None = None
    flaws: Flaws = Flaws()  # noqa: RUF009  (frozen)
    echo_planar: EchoPlanar | None = None


def scan(
    body: LabelVolume,
    sequence: PulseSequence,
    acquisition: Acquisition,
    rng: np.random.Generator,
    tissues: tuple[Tissue, ...] = TISSUES,
    source: str = "simulated",
) -> Volume:
    """The magnitude image of a label volume, intensities 0 to about 1000, on the label grid divided
    by `acquisition.labels_per_voxel`, without voxels that fold over.

    Signal by the sequence's equation, texture, mean over the label voxels of a voxel (so a voxel
    half of fat is half as bright), point spread, coil sensitivity, Rician noise.  Trailing label
    voxels that do not fill a voxel are dropped. Raises VolumeError "label-outside-table" for a
    label the table does not have.
    """
    _refuse_unknown_labels(body, tissues, source)
    flaws = acquisition.flaws
    coil = acquisition.coil
    image, affine = _receive_signal(body, sequence, acquisition, tissues, rng)
    if acquisition.blur_voxels > 0:
        image = ndimage.gaussian_filter(image, acquisition.blur_voxels, truncate=2.5)
    image = image * compute_sensitivity(image.shape, affine, coil)
    spacing_mm = np.linalg.norm(affine[:3, :3], axis=0)
    if coil.bias_spread:
        image = image * draw_smooth_gains(image.shape, spacing_mm, coil.bias_spread, rng)
    if acquisition.echo_planar is not None:
        air_shares = average_blocks(
            list_air_shares(tissues)[body.labels], acquisition.labels_per_voxel
        )
        image = read_out(
            image, air_shares, affine, acquisition.echo_planar, acquisition.field_strength_tesla
        )
    bright_mean = max(_bright_tissue_mean(image) * WHITE_OVER_BRIGHT_MEAN, 1e-6)
    image = image * np.float32(WHITE_LEVEL / bright_mean)
    image = apply_signal_flaws(image, spacing_mm, flaws, rng)
    if flaws.folded_voxels:
        affine[:3, 3] += affine[:3, flaws.phase_axis] * flaws.folded_voxels
    noise_sigma = WHITE_LEVEL / WHITE_OVER_BRIGHT_MEAN / acquisition.snr
    noisy_image = add_rician_noise(image, noise_sigma, rng)
    return Volume(apply_noise_flaws(noisy_image, flaws, rng), affine, source)


def _refuse_unknown_labels(body: LabelVolume, tissues: tuple[Tissue, ...], source: str) -> None:
    """Raises VolumeError "label-outside-table" for a label that the table does not have."""
    if not body.labels.size:
        return
    lowest_label = body.labels.min()
    highest_label = body.labels.max()
    if not 0 <= int(lowest_label) <= int(highest_label) < len(tissues):
        raise VolumeError(
            "label-outside-table",
            f"{source}: labels {lowest_label} to {highest_label}, but the table has tissues "
            f"0 to {len(tissues) - 1}. Map the labels to the table, or pass the table that belongs "
            "to them.",
        )


def _receive_signal(
    body: LabelVolume,
    sequence: PulseSequence,
    acquisition: Acquisition,
    tissues: tuple[Tissue, ...],
    rng: np.random.Generator,
) -> tuple[Floats, NDArray[np.float64]]:
    """The signal (i, j, k) of every voxel, and the affine (4, 4) of these voxels; with chemical
    shift of fat and failed fat suppression, if any."""
    flaws = acquisition.flaws
    labels_per_voxel = acquisition.labels_per_voxel
    tissue_signals = compute_signals(tissues, sequence, acquisition.field_strength_tesla)
    if acquisition.free_contrast is not None:
        tissue_signals = acquisition.free_contrast.change_signals(tissue_signals, tissues)
    fat_fractions = np.array([tissue.fat_fraction for tissue in tissues])
    if sequence.fat_mode == "cancelling":
        tissue_signals = np.where(fat_fractions > 0.5, -tissue_signals, tissue_signals)
    label_signals = tissue_signals.astype(np.float32)[body.labels]
    texture: Floats | np.float32 = np.float32(1)
    if acquisition.has_texture:
        texture = _draw_texture(body, tissues, rng)
    label_signals *= texture
    image = average_blocks(label_signals, labels_per_voxel)
    affine = block_affine(body.vox_to_ras, labels_per_voxel)
    if flaws.unsuppressed_share and sequence.fat_mode == "suppressed":
        suppressed_signals = _signals_lost_to_suppression(tissues, sequence, acquisition)
        suppressed_image = suppressed_signals.astype(np.float32)[body.labels] * texture
        spacing_mm = np.linalg.norm(affine[:3, :3], axis=0)
        failure = draw_suppression_failure(image.shape, spacing_mm, flaws.unsuppressed_share, rng)
        image = image + average_blocks(suppressed_image, labels_per_voxel) * failure
    if flaws.fat_shift_mm:
        fat_signals = (tissue_signals * fat_fractions).astype(np.float32)
        fat_image = average_blocks(fat_signals[body.labels] * texture, labels_per_voxel)
        voxel_mm = float(np.linalg.norm(affine[:3, flaws.frequency_axis]))
        shift_voxels = flaws.fat_shift_mm / voxel_mm
        image = image - fat_image + shift_image(fat_image, shift_voxels, flaws.frequency_axis)
    if sequence.fat_mode == "cancelling":
        image = np.abs(image)
    return image, affine


def _signals_lost_to_suppression(
    tissues: tuple[Tissue, ...], sequence: PulseSequence, acquisition: Acquisition
) -> NDArray[np.float64]:
    """The signal (t,) that the sequence's fat suppression takes from each tissue."""
    field_strength = acquisition.field_strength_tesla
    in_phase_signals = compute_signals(
        tissues, replace(sequence, fat_mode="in phase"), field_strength
    )
    return in_phase_signals - compute_signals(tissues, sequence, field_strength)


def average_blocks(fine_values: Floats, factors: tuple[int, int, int]) -> Floats:
    """Means over blocks of `factors` voxels: partial volume.  A block cut off at the end is
    dropped."""
    means = fine_values
    for axis, factor in enumerate(factors):
        if factor > 1:
            block_count = means.shape[axis] // factor
            planes = np.moveaxis(means, axis, 0)[: block_count * factor]
            block_sums = planes[0::factor].copy()
            for offset in range(1, factor):
                block_sums += planes[offset::factor]
            means = np.moveaxis(block_sums / np.float32(factor), 0, axis)
    return means


def add_rician_noise(image: Floats, sigma: float, rng: np.random.Generator) -> Floats:
    """The magnitude of the image with Gaussian noise of `sigma` in both channels; air has mean
    sigma·√(π/2).

    Source: Gudbjartsson & Patz (1995), Magn Reson Med 34:910, eqs 1-4.
    """
    real_channel = rng.standard_normal(image.shape, dtype=np.float32)
    real_channel *= np.float32(sigma)
    real_channel += image
    imaginary_channel = rng.standard_normal(image.shape, dtype=np.float32)
    imaginary_channel *= np.float32(sigma)
    return np.sqrt(real_channel * real_channel + imaginary_channel * imaginary_channel)


def compute_sensitivity(
    shape: tuple[int, ...], vox_to_ras: NDArray[np.float64], coil: Coil
) -> Floats:
    """Receive sensitivity (i, j, k), 1 at its maximum: root of the sum of squares of (1 + (d /
    reach)²)^-power over elements.

    Computed every `coil.knot_spacing_mm` and interpolated: mostly it has no detail below
    centimetres.
    """
    spacing_mm = np.linalg.norm(vox_to_ras[:3, :3], axis=0)
    knot_counts = [
        max(2, int(np.ceil(size * step_mm / coil.knot_spacing_mm)))
        for size, step_mm in zip(shape, spacing_mm, strict=True)
    ]
    knot_indices = np.meshgrid(
        *(
            np.linspace(0, size - 1, knot_count)
            for size, knot_count in zip(shape, knot_counts, strict=True)
        ),
        indexing="ij",
    )
    x, y, z = (np.tensordot(row[:3], np.stack(knot_indices), 1) + row[3] for row in vox_to_ras[:3])
    knot_values = np.ones_like(x)
    if coil.element_share > 0 and coil.centres_mm:
        exponent = 2 * coil.element_power
        squared_sensitivities = [
            1
            / (
                1
                + ((x - centre_x) ** 2 + (y - centre_y) ** 2 + (z - centre_z) ** 2)
                / coil.reach_mm**2
            )
            ** exponent
            for centre_x, centre_y, centre_z in coil.centres_mm
        ]
        knot_values = np.sqrt(np.sum(squared_sensitivities, axis=0))
        even_share = 1 - coil.element_share
        knot_values = even_share + coil.element_share * knot_values / knot_values.max()
    knot_values = knot_values / (1 + (np.abs(z) / coil.half_signal_mm) ** 6)
    return stretch((knot_values / knot_values.max()).astype(np.float32), shape)


def _bright_tissue_mean(image: Floats) -> float:
    """Mean signal of the brighter half of everything except air; 0 for an empty image."""
    sampled_signals = image.ravel()[:: max(1, image.size // 200_000)]
    air_limit = 0.02 * max(float(sampled_signals.max()), 1e-9)
    tissue_signals = sampled_signals[sampled_signals > air_limit]
    if not tissue_signals.size:
        return 0.0
    return float(tissue_signals[tissue_signals >= np.median(tissue_signals)].mean())


def block_affine(
    vox_to_ras: NDArray[np.float64], factors: tuple[int, int, int]
) -> NDArray[np.float64]:
    """The affine of blocks of `factors` voxels."""
    block_shape = np.asarray(factors)
    affine = vox_to_ras.copy()
    affine[:3, :3] = vox_to_ras[:3, :3] * block_shape
    affine[:3, 3] = vox_to_ras[:3, 3] + vox_to_ras[:3, :3] @ ((block_shape - 1) / 2)
    return affine


TILE_VOXELS = 96
"""Voxels of TILE_MM: texture grains repeat after 19 cm, more than the size of most organs."""
TILE_MM = 2.0


def _draw_texture(
    body: LabelVolume, tissues: tuple[Tissue, ...], rng: np.random.Generator
) -> Floats:
    """Texture (i, j, k) about 1, each tissue with its own coefficient of variation, in grains of
    about 5 mm."""
    tiles_per_voxel = np.linalg.norm(body.vox_to_ras[:3, :3], axis=0) / TILE_MM
    tile_starts = rng.integers(0, TILE_VOXELS, 3)
    i, j, k = (
        (tile_start + (np.arange(size) * axis_step).astype(np.intp)) % TILE_VOXELS
        for tile_start, size, axis_step in zip(
            tile_starts.tolist(), body.labels.shape, tiles_per_voxel, strict=True
        )
    )
    variations = np.array([tissue.texture_variation for tissue in tissues], dtype=np.float32)
    texture = variations[body.labels]
    texture *= _texture_tile()[np.ix_(i, j, k)]
    texture += 1
    return np.asarray(np.maximum(texture, 0, out=texture))


@cache
def _texture_tile() -> Floats:
    """(TILE_VOXELS,) * 3 of standard deviation 1, the same for all volumes, which start at
    different places in it: this saves 0.06 s."""
    white_noise = (
        np.random.default_rng(0)
        .standard_normal((TILE_VOXELS, TILE_VOXELS, TILE_VOXELS))
        .astype(np.float32)
    )
    fine_grains = ndimage.gaussian_filter(white_noise, 1.4, mode="wrap")
    coarse_grains = ndimage.gaussian_filter(white_noise, 4.5, mode="wrap")
    grains = fine_grains + 3.6 * coarse_grains
    return np.asarray(grains / grains.std())
