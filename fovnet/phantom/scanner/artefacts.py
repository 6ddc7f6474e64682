"""Artefacts between the coil and the disk; every flaw is a function of an image, and none is certain.

All operate on images (i, j, k) float32 of the acquired voxels.  Source of their appearance: McRobbie et al.,
*MRI from Picture to Proton* (2017), chapter 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft, ndimage

Floats = NDArray[np.float32]

ACROSS = {"axial": 2, "coronal": 1, "sagittal": 0}
"""The axis across the slices of each plane."""
PLANES = (*ACROSS, "isotropic")


@dataclass(frozen=True)
class Flaws:
    """The flaws of one image; by default none.

    phase        axis of the phase encoding, for ghosts, motion and wrap-around;  through  axis of the slices
    folded       voxels at each end along `phase` that are acquired only to fold over the opposite end
    shift_mm     chemical shift of fat along the frequency axis
    unsuppressed share of the field of view in which fat suppression fails
    voids        metal parts that leave a signal void with a bright rim
    ghost        relative intensity of ghosts, and how many copies share the field of view
    motion       voxels by which the body moves along `phase`;  begun  the share of that path travelled at the
        labels' position
    kept         share of the spatial frequencies along (phase, frequency) that was acquired; the rest is
                 filled with zeros
    spike        amplitude of a wave over the image, 1000 being white;  lines  of noise along the frequency
        axis
    uneven       standard deviation of the log brightness of slices
    ball         radius, as a share of the half diagonal of the field of view, beyond which gradients fail; 0:
                 never
    smear        (3,) Gaussian sigma in voxels of a filter after the noise
    """

    phase: int = 1
    through: int = 2
    folded: int = 0
    shift_mm: float = 0.0
    unsuppressed: float = 0.0
    voids: int = 0
    ghost: tuple[float, int] = (0.0, 2)
    motion: float = 0.0
    begun: float = 0.5
    kept: tuple[float, float] = (1.0, 1.0)
    spike: float = 0.0
    lines: int = 0
    uneven: float = 0.0
    ball: float = 0.0
    smear: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def frequency(self) -> int:
        """The frequency-encoding axis: neither that of the slices nor of the phase."""
        return 3 - self.phase - self.through


def before_noise(
    image: Floats, spacing_mm: NDArray[np.float64], flaws: Flaws, rng: np.random.Generator
) -> Floats:
    """The image (i, j, k) with the flaws of the signal."""
    for _ in range(flaws.voids):
        image = with_void(image, spacing_mm, rng)
    if flaws.uneven:
        gains = np.exp(flaws.uneven * rng.standard_normal(image.shape[flaws.through])).astype(
            np.float32
        )
        image = image * _along(gains, flaws.through)
    if flaws.ball:
        image = piled_up(image, spacing_mm, flaws.ball)
    if flaws.motion:
        image = smeared(image, flaws.motion, flaws.phase, flaws.begun)
    if flaws.ghost[0]:
        image = ghosted(image, *flaws.ghost, flaws.phase)
    if flaws.folded:
        image = wrapped(image, flaws.folded, flaws.phase)
    for share, axis in zip(flaws.kept, (flaws.phase, flaws.frequency), strict=True):
        if share < 1:
            image = zero_filled(image, share, axis)
    return image


def after_noise(image: Floats, flaws: Flaws, rng: np.random.Generator) -> Floats:
    """The image (i, j, k) with spikes and noise lines, and then filtered."""
    if flaws.spike:
        image = np.abs(image + flaws.spike * _wave(image.shape, flaws.through, rng))
    if flaws.lines:
        for at in rng.integers(0, image.shape[flaws.phase], flaws.lines).tolist():
            line = np.moveaxis(image, flaws.phase, 0)[at]
            line += np.abs(rng.standard_normal(line.shape, dtype=np.float32)) * np.float32(250)
    return (
        ndimage.gaussian_filter(image, flaws.smear, truncate=2.5) if max(flaws.smear) > 0 else image
    )


def moved(image: Floats, voxels: float, axis: int) -> Floats:
    """The image shifted by `voxels` towards higher indices, by linear interpolation; 0 enters from
    outside."""
    whole = int(np.floor(voxels))
    part = np.float32(voxels - whole)
    near = _by_whole(image, whole, axis)
    return near if part == 0 else (1 - part) * near + part * _by_whole(image, whole + 1, axis)


def _by_whole(image: Floats, voxels: int, axis: int) -> Floats:
    if voxels == 0:
        return image
    result = np.zeros_like(image)
    size = image.shape[axis]
    if abs(voxels) < size:
        to, of = np.moveaxis(result, axis, 0), np.moveaxis(image, axis, 0)
        to[max(voxels, 0) : size + min(voxels, 0)] = of[max(-voxels, 0) : size - max(voxels, 0)]
    return result


def wrapped(image: Floats, margin: int, axis: int) -> Floats:
    """The image without `margin` voxels at each end of an axis, which are added where they alias to: at the
    opposite end."""
    given = np.moveaxis(image, axis, 0)
    size = len(given) - 2 * margin
    folded = given[margin : margin + size].copy()
    for at in range(len(given)):
        if not margin <= at < margin + size:
            folded[(at - margin) % size] += given[at]
    return np.moveaxis(folded, 0, axis)


def ghosted(image: Floats, strength: float, copies: int, axis: int) -> Floats:
    """The image with `copies` - 1 shifted copies, evenly spaced over the field of view, of relative intensity
    `strength`, as from breathing."""
    size, whole = image.shape[axis], image
    for copy in range(1, copies):
        sign = -1.0 if copy % 2 else 1.0
        whole = whole + np.float32(sign * strength) * np.roll(
            image, round(copy * size / copies), axis
        )
    return np.abs(whole)


def smeared(image: Floats, voxels: float, axis: int, begun: float = 0.5) -> Floats:
    """The mean of the image at the start, middle and end of a path of `voxels`, of which the share `begun` is
    travelled at its own position."""
    return np.asarray(
        sum(moved(image, (share - begun) * voxels, axis) for share in (0.0, 0.5, 1.0))
        / np.float32(3)
    )


def zero_filled(image: Floats, share: float, axis: int) -> Floats:
    """The image from the lowest `share` of its spatial frequencies along an axis: coarser, with Gibbs ringing
    along edges; magnitude."""
    size = image.shape[axis]
    spectrum = fft.rfft(image, axis=axis)
    kept = max(2, int(np.ceil(share * (size // 2 + 1))))
    np.moveaxis(spectrum, axis, 0)[kept:] = 0
    return np.asarray(np.abs(fft.irfft(spectrum, size, axis=axis)))


def with_void(image: Floats, spacing_mm: NDArray[np.float64], rng: np.random.Generator) -> Floats:
    """The image with a signal void of 8 to 35 mm radius around a bright voxel, as from metal, and a rim in
    which the displaced signal piles up."""
    inside = np.argwhere(image[::4, ::4, ::4] > 0.3 * image.max()) * 4
    if not len(inside):
        return image
    middle, radius = inside[rng.integers(len(inside))], rng.uniform(8, 35)
    steps = [
        ((np.arange(size) - at) * mm * stretch).astype(np.float32)
        for size, at, mm, stretch in zip(
            image.shape, middle.tolist(), spacing_mm, rng.uniform(0.6, 1.6, 3), strict=True
        )
    ]
    away = _distance(steps) / np.float32(radius)
    gain = 1 / (1 + np.exp(-(away - 1) * 12)) + 0.8 * np.exp(-(((away - 1.15) / 0.12) ** 2))
    return np.asarray(image * gain)


def piled_up(image: Floats, spacing_mm: NDArray[np.float64], ball: float) -> Floats:
    """The image black beyond a ball about its middle, of radius `ball` half diagonals, and up to four times
    as bright just inside.

    Beyond some 20 cm gradients no longer increase: signal from there is encoded nearer, compressed to one
    place, in the corners of large fields.
    """
    half = [(size - 1) * mm / 2 for size, mm in zip(image.shape, spacing_mm, strict=True)]
    steps = [
        np.linspace(-h, h, size, dtype=np.float32)
        for h, size in zip(half, image.shape, strict=True)
    ]
    away = _distance(steps) / np.float32(ball * np.sqrt(sum(h * h for h in half)))
    gain = (1 + 3 * np.exp(-(((away - 0.97) / 0.035) ** 2))) / (
        1 + np.exp(np.clip((away - 1) * 80, -50, 50))
    )
    return np.asarray(image * gain)


def _distance(steps: list[Floats]) -> Floats:
    """The distance (i, j, k) from the zero of `steps`, the coordinates along each axis."""
    return np.sqrt(sum(_along(step, axis) ** 2 for axis, step in enumerate(steps)))


def smooth_field(
    shape: tuple[int, ...], spacing_mm: NDArray[np.float64], spread: float, rng: np.random.Generator
) -> Floats:
    """Gains (i, j, k) about 1 whose logarithm has standard deviation about `spread` and varies over some 12
    cm: an uncorrected bias field."""
    coarse = [
        max(2, int(np.ceil(size * mm / 120)) + 1)
        for size, mm in zip(shape, spacing_mm, strict=True)
    ]
    field = np.exp(spread * rng.standard_normal(coarse)).astype(np.float32)
    return stretched(field, shape)


def missed(
    shape: tuple[int, ...], spacing_mm: NDArray[np.float64], share: float, rng: np.random.Generator
) -> Floats:
    """How far (i, j, k), 0 to 1, fat suppression fails: at one side of the field of view, behind a front that
    winds over some 8 cm.

    The static field is off by the 3.4 ppm between fat and water far from the isocentre and at interfaces with
    air.
    """
    coarse = [
        max(3, int(np.ceil(size * mm / 80)) + 1) for size, mm in zip(shape, spacing_mm, strict=True)
    ]
    field = 0.35 * rng.standard_normal(coarse)
    slope = rng.normal(0, 1, 3)
    for axis, (size, along) in enumerate(zip(coarse, slope / np.linalg.norm(slope), strict=True)):
        field += _along(along * np.linspace(-1.5, 1.5, size), axis)
    whole = stretched(field.astype(np.float32), shape)
    edge = np.float32(np.quantile(whole[::4, ::4, ::4], 1 - share))
    return np.asarray(
        np.float32(rng.uniform(0.4, 1.0)) * np.clip((whole - edge) / np.float32(0.4), 0, 1)
    )


def stretched(coarse: Floats, shape: tuple[int, ...]) -> Floats:
    """Linear interpolation, axis by axis, to `shape`, keeping first and last values."""
    for axis, size in enumerate(shape):
        n = coarse.shape[axis]
        at = np.linspace(0, n - 1, size)
        low = np.minimum(at.astype(int), n - 2)
        t = _along((at - low).astype(np.float32), axis)
        coarse = coarse.take(low, axis) * (1 - t) + coarse.take(low + 1, axis) * t
    return coarse


def _along(values: NDArray[np.floating], axis: int) -> NDArray[Any]:
    return values.reshape([-1 if a == axis else 1 for a in range(3)])


def _wave(shape: tuple[int, ...], through: int, rng: np.random.Generator) -> Floats:
    """A plane wave of amplitude 1 across each slice, 3 to 30 periods over the image: one corrupted sample of
    k-space."""
    total = np.zeros((1, 1, 1), np.float32)
    for axis, size in enumerate(shape):
        turns = 0.0 if axis == through else rng.uniform(3, 30) * rng.choice([-1, 1])
        total = total + _along(
            (2 * np.pi * turns * np.arange(size) / size).astype(np.float32), axis
        )
    return np.cos(total)


def draw_flaws(plane: str, rng: np.random.Generator) -> Flaws:
    """The flaws of an image of that plane, in nearly half of the cases none: otherwise each of most kinds in
    about one of eight."""
    through = ACROSS.get(plane, 0)
    pair = [axis for axis in range(3) if axis != through]
    phase = int(rng.choice(pair))
    dice = rng.random(10)
    if rng.random() < 0.45:
        return Flaws(phase, through)
    sharp, also = rng.uniform(0.45, 0.9, 2).tolist()
    i, j, k = rng.uniform(0, 1.2, 3).tolist() if dice[8] < 0.3 else (0.0, 0.0, 0.0)
    return Flaws(
        phase,
        through,
        shift_mm=float(rng.uniform(1, 5) * rng.choice([-1, 1])) if dice[0] < 0.12 else 0.0,
        voids=int(rng.integers(1, 3)) if dice[1] < 0.1 else 0,
        ghost=(rng.uniform(0.04, 0.2), int(rng.integers(2, 5))) if dice[2] < 0.15 else (0.0, 2),
        motion=rng.uniform(1, 4) if dice[3] < 0.15 else 0.0,
        kept=(sharp, also if rng.random() < 0.5 else 1.0) if dice[4] < 0.25 else (1.0, 1.0),
        spike=rng.uniform(15, 90) if dice[5] < 0.05 else 0.0,
        lines=int(rng.integers(1, 5)) if dice[6] < 0.06 else 0,
        uneven=rng.uniform(0.03, 0.25) if dice[7] < 0.15 else 0.0,
        smear=(i, j, k),
    )
