"""Volumes without a body, as a scanner would store them, in which no network should name a region.

    air               nothing in the coil: Rician noise with no signal
    noise             Gaussian, 30 % of its mean
    smooth noise      noise after interpolation and filtering, Gaussian sigma of 0.7 to 3 voxels
    sphere, upright cylinder, lying cylinder
                      bottles of doped water, 120 to 220 mm in diameter, as scanned for quality
                      assurance
    insert            an upright cylinder with rods in it, as in a resolution test
    small bottles     three to six, 20 to 70 mm in diameter

Doped water as in the ACR phantom, 10 mmol / L nickel chloride: T1 and T2 of some hundred
milliseconds (Kraft et al. (1987), Magn Reson Med 5:555).  Field of view, slices, sequence and noise
vary as they do for people; sequences in which such water is dark are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.phantom.acquisition.protocols import SEQUENCES
from fovnet.phantom.scanner.scan import Acquisition, LabelVolume, scan
from fovnet.phantom.scanner.tissues import AIR, TISSUES, Tissue
from fovnet.volume.volume import Volume

WATER_TISSUES = (
    TISSUES[AIR],
    Tissue(
        "doped water", 1.0, (300.0, 320.0), (250.0, 240.0), (200.0, 190.0), texture_variation=0.0
    ),
)
BOTTLES = ("sphere", "upright cylinder", "lying cylinder")
INSERT = "insert"
SMALL_BOTTLES = "small bottles"
ODDITIES = ("air", "noise", "smooth noise", *BOTTLES, INSERT, SMALL_BOTTLES)
BRIGHT_SEQUENCES = tuple(
    sequence
    for sequence in SEQUENCES
    if sequence.kind != "inversion recovery" and sequence.fat_mode != "fat only"
)
VOXELS_ACROSS = 128  # voxels across


def make_oddity(kind: str, rng: np.random.Generator) -> Volume:
    """A volume of one of ODDITIES, axes RAS+, its middle at the isocentre."""
    pixel_mm = rng.uniform(1.9, 3.5)
    spacing_mm = np.array([pixel_mm, pixel_mm, rng.uniform(3.0, 9.0)])
    shape = (VOXELS_ACROSS, VOXELS_ACROSS, int(rng.integers(20, 60)))
    affine = np.diag([*spacing_mm, 1.0])
    affine[:3, 3] = -spacing_mm * (np.array(shape) - 1) / 2
    if kind == "noise":
        return Volume(np.abs(rng.normal(100, 30, shape)).astype(np.float32), affine, kind)
    if kind == "smooth noise":
        smooth_noise = ndimage.gaussian_filter(
            rng.normal(size=shape), rng.uniform(0.7, 3.0)
        ).astype(np.float32)
        return Volume(smooth_noise - smooth_noise.min(), affine, kind)
    sequence = BRIGHT_SEQUENCES[rng.integers(len(BRIGHT_SEQUENCES))]
    radius_mm = rng.uniform(60, 110)
    if kind == SMALL_BOTTLES:
        is_water = _is_in_small_bottles(shape, spacing_mm, rng)
    else:
        is_water = _is_in_water(kind, shape, spacing_mm, radius_mm)
    return scan(
        LabelVolume(is_water.astype(np.uint8), affine),
        sequence,
        Acquisition(snr=rng.uniform(20, 60)),
        rng,
        WATER_TISSUES,
        kind,
    )


def _is_in_small_bottles(
    shape: tuple[int, int, int], spacing_mm: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """(i, j, k) whether a voxel is in one of three to six upright bottles near the middle."""
    x, y, z = _positions_mm(shape, spacing_mm)
    is_water = np.zeros(shape, dtype=bool)
    for _ in range(rng.integers(3, 7)):
        centre_x, centre_y, relative_z = rng.uniform(-80, 80, 3)
        radius_mm = rng.uniform(10, 35)
        half_height_mm = rng.uniform(15, 60)
        centre_z = relative_z * shape[2] * spacing_mm[2] / 400
        is_in_circle = (x - centre_x) ** 2 + (y - centre_y) ** 2 < radius_mm**2
        is_water |= is_in_circle & (np.abs(z - centre_z) < half_height_mm)
    return is_water


def _positions_mm(
    shape: tuple[int, int, int], spacing_mm: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """x, y, z in mm from the middle, broadcastable to the shape."""
    axes_mm = (
        (np.arange(axis_size) - (axis_size - 1) / 2) * voxel_mm
        for axis_size, voxel_mm in zip(shape, spacing_mm, strict=True)
    )
    return tuple(np.meshgrid(*axes_mm, indexing="ij", sparse=True))


def _is_in_water(
    kind: str, shape: tuple[int, int, int], spacing_mm: NDArray[np.float64], radius_mm: float
) -> NDArray[np.bool_]:
    """(i, j, k) whether a voxel is in the water of a thing of that kind about the middle; cylinders
    leave a tenth of the field of view free at both ends."""
    x, y, z = _positions_mm(shape, spacing_mm)
    half_width_mm, _, half_height_mm = 0.4 * np.array(shape) * spacing_mm
    is_in_cylinder = (x**2 + y**2 < radius_mm**2) & (np.abs(z) < half_height_mm)
    # rods of 10 mm diameter, 20 mm apart
    is_in_rod = (x % 20 - 10) ** 2 + (y % 20 - 10) ** 2 <= 25
    water_by_kind = {
        "air": np.zeros(shape, dtype=bool),
        "sphere": x**2 + y**2 + z**2 < radius_mm**2,
        "upright cylinder": is_in_cylinder,
        INSERT: is_in_cylinder & ~is_in_rod,
        "lying cylinder": (y**2 + z**2 < radius_mm**2) & (np.abs(x) < half_width_mm),
    }
    return np.asarray(water_by_kind[kind])
