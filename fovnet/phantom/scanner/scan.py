"""The scanner: from tissue labels on any grid to the magnitude image an MRI scanner would store.

It is independent of the simulated body: any label volume with a table of its tissues can be
scanned.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
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
    fat_suppression_failure,
    shift_image,
    smooth_field,
    stretch,
)
from fovnet.phantom.scanner.contrasts import FreeContrast
from fovnet.phantom.scanner.echo_planar import EchoPlanar, air_share, read_out
from fovnet.phantom.scanner.sequence import Sequence, signals
from fovnet.phantom.scanner.tissues import TISSUES, Tissue
from fovnet.volume.volume import Volume

Floats = NDArray[np.float32]


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
    """Receive sensitivity of a coil: centres (c, 3) in mm of its elements, each with a reach of
    about `reach_mm`; `depth` 0 is uniform.

    fall_mm   distance from the isocentre (z = 0) at which the signal along z has dropped to a half; 1e6: no
              fall
    bias      standard deviation of the logarithm of an additional smooth field
    power     steepness of an element's sensitivity: (1 + (d / reach)²)^-power; 1.5 is a loop of that radius
              along its axis
    known_mm  spacing of the points at which the sensitivity is computed; it has no detail below that
    """

    centres_mm: Many[Many[float]] = ()
    reach_mm: float = 200.0
    depth: float = 0.0
    fall_mm: float = 1e6
    bias: float = 0.0
    power: float = 1.0
    known_mm: float = 24.0


@dataclass(frozen=True)
class Acquisition:
    """How the signal is received.

    field_strength  tesla
    average         (3,) label voxels that make one voxel
    snr             mean signal of the brighter half of the tissue over sigma
    coil            receive sensitivity
    blur            Gaussian sigma in acquired voxels
    mottled         whether tissues show their own texture
    contrast        departure from physics, or None
    flaws           artefacts of the image
    planar          echo-planar readout, or None
    """

    field_strength: float = 1.5
    average: tuple[int, int, int] = (1, 1, 1)
    snr: float = 40.0
    coil: Coil = Coil()
    blur: float = 0.45
    mottled: bool = True
    contrast: FreeContrast | None = None
    flaws: Flaws = Flaws()  # noqa: RUF009  (frozen)
    planar: EchoPlanar | None = None


def scan(
    body: LabelVolume,
    sequence: Sequence,
    acquisition: Acquisition,
    rng: np.random.Generator,
    tissues: tuple[Tissue, ...] = TISSUES,
    source: str = "simulated",
) -> Volume:
    """The magnitude image of a label volume, intensities 0 to about 1000, on the label grid divided
    by `acquisition.average`, without voxels that fold over.

    Signal by the sequence's equation, texture, mean over the label voxels of a voxel (so a voxel
    half of fat is half as bright), point spread, coil sensitivity, Rician noise.  Trailing label
    voxels that do not fill a voxel are dropped. Raises VolumeError "label-outside-table" for a
    label the table does not have.
    """
    _refuse_unknown_labels(body, tissues, source)
    flaws = acquisition.flaws
    image, affine = _receive_signal(body, sequence, acquisition, tissues, rng)
    if acquisition.blur > 0:
        image = ndimage.gaussian_filter(image, acquisition.blur, truncate=2.5)
    image = image * sensitivity(image.shape, affine, acquisition.coil)
    spacing_mm = np.linalg.norm(affine[:3, :3], axis=0)
    if acquisition.coil.bias:
        image = image * smooth_field(image.shape, spacing_mm, acquisition.coil.bias, rng)
    if acquisition.planar is not None:
        air_shares = block_means(air_share(tissues)[body.labels], acquisition.average)
        image = read_out(image, air_shares, affine, acquisition.planar, acquisition.field_strength)
    image = image * np.float32(1000 / max(_bright_tissue_mean(image) * 1.6, 1e-6))
    image = apply_signal_flaws(image, spacing_mm, flaws, rng)
    if flaws.folded:
        affine[:3, 3] += affine[:3, flaws.phase] * flaws.folded
    noise_sigma = 1000 / 1.6 / acquisition.snr
    return Volume(
        apply_noise_flaws(add_rician_noise(image, noise_sigma, rng), flaws, rng), affine, source
    )


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
    sequence: Sequence,
    acquisition: Acquisition,
    tissues: tuple[Tissue, ...],
    rng: np.random.Generator,
) -> tuple[Floats, NDArray[np.float64]]:
    """The signal (i, j, k) of every voxel, and the affine (4, 4) of these voxels; with chemical
    shift of fat and failed fat suppression, if any."""
    flaws = acquisition.flaws
    tissue_signals = signals(tissues, sequence, acquisition.field_strength)
    if acquisition.contrast is not None:
        tissue_signals = acquisition.contrast.of(tissue_signals, tissues)
    if sequence.fat == "cancelling":
        tissue_signals = tissue_signals * [-1 if tissue.fat > 0.5 else 1 for tissue in tissues]
    label_signals = tissue_signals.astype(np.float32)[body.labels]
    texture = _tissue_texture(body, tissues, rng) if acquisition.mottled else np.float32(1)
    label_signals *= texture
    image = block_means(label_signals, acquisition.average)
    affine = block_affine(body.vox_to_ras, acquisition.average)
    if flaws.unsuppressed and sequence.fat == "suppressed":
        in_phase_signals = signals(
            tissues, replace(sequence, fat="in phase"), acquisition.field_strength
        )
        suppressed_signals = in_phase_signals - signals(
            tissues, sequence, acquisition.field_strength
        )
        suppressed_image = suppressed_signals.astype(np.float32)[body.labels] * texture
        spacing_mm = np.linalg.norm(affine[:3, :3], axis=0)
        failure_shares = fat_suppression_failure(image.shape, spacing_mm, flaws.unsuppressed, rng)
        image = image + block_means(suppressed_image, acquisition.average) * failure_shares
    if flaws.shift_mm:
        fat_image = (tissue_signals * [tissue.fat for tissue in tissues]).astype(np.float32)[
            body.labels
        ] * texture
        fat_image = block_means(fat_image, acquisition.average)
        shift_voxels = flaws.shift_mm / float(np.linalg.norm(affine[:3, flaws.frequency]))
        image = image - fat_image + shift_image(fat_image, shift_voxels, flaws.frequency)
    if sequence.fat == "cancelling":
        image = np.abs(image)
    return image, affine


def block_means(fine: Floats, factors: tuple[int, int, int]) -> Floats:
    """Means over blocks of `factors` voxels: partial volume.  A block cut off at the end is
    dropped."""
    for axis, factor in enumerate(factors):
        if factor > 1:
            block_count = fine.shape[axis] // factor
            fine = np.moveaxis(fine, axis, 0)[: block_count * factor]
            block_sum = fine[0::factor].copy()
            for block_offset in range(1, factor):
                block_sum += fine[block_offset::factor]
            fine = np.moveaxis(block_sum / np.float32(factor), 0, axis)
    return fine


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


def sensitivity(shape: tuple[int, ...], vox_to_ras: NDArray[np.float64], coil: Coil) -> Floats:
    """Receive sensitivity (i, j, k), 1 at its maximum: root of the sum of squares of (1 + (d /
    reach)²)^-power over elements.

    Computed every `coil.known_mm` and interpolated: mostly it has no detail below centimetres.
    """
    spacing_mm = np.linalg.norm(vox_to_ras[:3, :3], axis=0)
    knot_counts = [
        max(2, int(np.ceil(size * step_mm / coil.known_mm)))
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
    profile = np.ones_like(x)
    if coil.depth > 0 and coil.centres_mm:
        exponent = 2 * coil.power
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
        profile = np.sqrt(np.sum(squared_sensitivities, axis=0))
        profile = (1 - coil.depth) + coil.depth * profile / profile.max()
    profile = profile / (1 + (np.abs(z) / coil.fall_mm) ** 6)
    return stretch((profile / profile.max()).astype(np.float32), shape)


def _bright_tissue_mean(image: Floats) -> float:
    """Mean signal of the brighter half of everything except air; 0 for an empty image."""
    sampled_voxels = image.ravel()[:: max(1, image.size // 200_000)]
    tissue_voxels = sampled_voxels[sampled_voxels > 0.02 * max(float(sampled_voxels.max()), 1e-9)]
    return (
        float(tissue_voxels[tissue_voxels >= np.median(tissue_voxels)].mean())
        if tissue_voxels.size
        else 0.0
    )


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


def _tissue_texture(
    body: LabelVolume, tissues: tuple[Tissue, ...], rng: np.random.Generator
) -> Floats:
    """Texture (i, j, k) about 1, each tissue with its own coefficient of variation, in grains of
    about 5 mm."""
    tiles_per_voxel = np.linalg.norm(body.vox_to_ras[:3, :3], axis=0) / TILE_MM
    tile_starts = rng.integers(0, TILE_VOXELS, 3)
    i, j, k = (
        (tile_start + (np.arange(size) * voxel_tiles).astype(np.intp)) % TILE_VOXELS
        for tile_start, size, voxel_tiles in zip(
            tile_starts.tolist(), body.labels.shape, tiles_per_voxel, strict=True
        )
    )
    texture = np.array([tissue.mottle for tissue in tissues], dtype=np.float32)[body.labels]
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
