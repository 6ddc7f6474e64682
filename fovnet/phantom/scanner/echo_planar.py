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

from collections.abc import Sequence as Many
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from fovnet.phantom.scanner.tissues import Tissue

Floats = NDArray[np.float32]

AIR_PPM = 9.4  # susceptibility of air minus that of water
HZ_A_TESLA_PPM = 42.577
AIRY = {"air": 1.0, "gas": 1.0, "lung": 0.75}
"""The fraction of air in a tissue."""

# parts of a voxel along the phase axis that are moved separately: otherwise stretched places have gaps
FINER = 4


@dataclass(frozen=True)
class EchoPlanar:
    """How the lines of a slice are read.

    phase         axis along which signal is displaced
    through       axis of the slices
    bandwidth_hz  per voxel along the phase axis; its sign is the direction in which the lines are read
    te_ms         echo time of a gradient echo, with signal loss by dephasing; 0 for a spin echo, without
    """

    phase: int
    through: int
    bandwidth_hz: float
    te_ms: float = 0.0


def air_share(tissues: Many[Tissue]) -> Floats:
    """(t,) the fraction of air in each tissue."""
    return np.array([AIRY.get(tissue.name, 0.0) for tissue in tissues], dtype=np.float32)


def read_out(
    image: Floats,
    air: Floats,
    vox_to_ras: NDArray[np.float64],
    planar: EchoPlanar,
    field_strength: float,
) -> Floats:
    """The image (i, j, k) as read by an echo-planar sequence, at `field_strength` tesla along z."""
    hz_a_ppm = np.float32(HZ_A_TESLA_PPM * field_strength)
    offset_hz = shim(field_ppm(air, vox_to_ras), air) * hz_a_ppm
    if planar.te_ms:
        across_hz = np.gradient(offset_hz, axis=planar.through)
        image = image * np.abs(np.sinc(across_hz * (planar.te_ms / 1000))).astype(np.float32)
    return displace(image, offset_hz / np.float32(planar.bandwidth_hz), planar.phase)


def field_ppm(air: Floats, vox_to_ras: NDArray[np.float64]) -> Floats:
    """(i, j, k) relative field change by air in water, in ppm; the field of view is continued by
    its edge values.

    Outside a sphere of radius a it is 9.4 / 3 (a / r)³ (3 cos²θ - 1), inside 0.
    """
    margin = [max(4, size // 4) for size in air.shape]
    padded = np.pad(air, [(m, m) for m in margin], mode="edge")
    axes = np.linalg.norm(vox_to_ras[:3, :3], axis=0)
    up = vox_to_ras[2, :3] / axes  # the scanner's z along each axis of the grid
    k = np.meshgrid(
        *(fft.fftfreq(n, mm) for n, mm in zip(padded.shape[:2], axes[:2], strict=True)),
        fft.rfftfreq(padded.shape[2], axes[2]),
        indexing="ij",
        sparse=True,
    )
    along = sum(part * share for part, share in zip(k, up, strict=True))
    square = k[0] ** 2 + k[1] ** 2 + k[2] ** 2
    square[0, 0, 0] = 1.0
    kernel = (1 / 3 - along**2 / square).astype(np.float32)
    kernel[0, 0, 0] = 0.0  # a constant offset is removed by tuning
    field = fft.irfftn(fft.rfftn(padded) * kernel, padded.shape)
    inner = tuple(slice(m, m + size) for m, size in zip(margin, air.shape, strict=True))
    return np.asarray(AIR_PPM * field[inner])


def shim(field: Floats, air: Floats) -> Floats:
    """The field after second-order shimming: minus its least-squares polynomial over voxels that
    are not air."""
    along = [np.linspace(-1, 1, size, dtype=np.float32) for size in field.shape]
    x, y, z = np.meshgrid(*along, indexing="ij", sparse=True)
    terms = [
        np.ones_like(field),
        *(
            np.broadcast_to(t, field.shape)
            for t in (x, y, z, x * y, x * z, y * z, x * x, y * y, z * z)
        ),
    ]
    body = np.flatnonzero(air.ravel() < 0.5)
    if len(body) <= len(terms):
        return field
    sample = body[:: max(1, len(body) // 5000)]  # enough for ten coefficients
    design = np.stack([term.ravel()[sample] for term in terms], axis=1)
    weights = np.linalg.lstsq(design, field.ravel()[sample], rcond=None)[0].astype(np.float32)
    polynomial = sum(weight * term for weight, term in zip(weights, terms, strict=True))
    return np.asarray(field - polynomial)


def displace(image: Floats, voxels: Floats, axis: int) -> Floats:
    """The image (i, j, k) with the signal of every voxel moved by `voxels` (i, j, k) along an axis.

    Signal is conserved, so it piles up where neighbours converge; what leaves at one end enters at
    the other.
    """
    lines, moves = (
        np.moveaxis(values, axis, -1).reshape(-1, image.shape[axis]) for values in (image, voxels)
    )
    size = lines.shape[1]
    source = (np.arange(size * FINER) + 0.5) / FINER - 0.5
    low = np.clip(np.floor(source).astype(int), 0, size - 2)
    t = (source - low).clip(0, 1).astype(np.float32)
    target = source + moves[:, low] * (1 - t) + moves[:, low + 1] * t
    signal = np.repeat(lines, FINER, axis=1) / np.float32(FINER)
    lower_index = np.floor(target).astype(np.int64)
    part = (target - lower_index).astype(np.float32)
    line_start = (np.arange(len(lines)) * size)[:, None]
    result = np.zeros(lines.size)
    for step, share in ((0, 1 - part), (1, part)):
        index = line_start + (lower_index + step) % size
        result += np.bincount(index.ravel(), (signal * share).ravel(), minlength=lines.size)
    shape = np.moveaxis(image, axis, -1).shape
    return np.ascontiguousarray(np.moveaxis(result.reshape(shape), -1, axis), dtype=np.float32)
