"""Volumes without a body: the physics of each is what its name states."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.phantom.oddities import ODDITIES, make_oddity


@pytest.mark.parametrize("kind", ODDITIES)
def test_the_same_seed_gives_the_same_volume_and_another_another(kind: str) -> None:
    first, same, other = (make_oddity(kind, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.voxels, same.voxels)
    assert first.voxels.shape != other.voxels.shape or not np.array_equal(
        first.voxels, other.voxels
    )
    np.testing.assert_allclose(
        first.vox_to_ras @ [*(np.array(first.voxels.shape) - 1) / 2, 1], [0, 0, 0, 1], atol=1e-9
    )


def test_air_is_rayleigh_distributed() -> None:
    """Mean over standard deviation of a Rayleigh variable: √(π / (4 - π)) = 1.913."""
    voxels = make_oddity("air", np.random.default_rng(3)).voxels
    assert voxels.mean() / voxels.std() == pytest.approx(np.sqrt(np.pi / (4 - np.pi)), rel=0.01)


@pytest.mark.parametrize("seed", range(4))
def test_a_bottle_is_as_large_as_a_sphere_of_some_radius(seed: int) -> None:
    volume = make_oddity("sphere", np.random.default_rng(seed))
    bright = volume.voxels > 0.5 * np.quantile(volume.voxels, 0.999)
    shown = np.argwhere(bright) * volume.spacing_mm
    across_mm = np.ptp(shown, axis=0)
    inside_mm3 = bright.sum() * volume.spacing_mm.prod()
    # a short stack cuts its poles off
    height_mm = min(across_mm[0], volume.voxels.shape[2] * volume.spacing_mm[2])
    radius, half = across_mm[0] / 2, height_mm / 2
    assert 58 <= radius <= 112
    assert inside_mm3 == pytest.approx(np.pi * (2 * half * radius**2 - 2 * half**3 / 3), rel=0.08)


def test_rods_leave_four_fifths_of_the_insert_in_water() -> None:
    """One rod of 5 mm radius in every square of 20 mm: π 5² / 20² = 0.196 is missing, less what voxels blur
    away at the rim."""
    shares = []
    for seed in range(3):
        whole, rods = (
            make_oddity(kind, np.random.default_rng(seed))
            for kind in ("upright cylinder", "insert")
        )
        shares.append(rods.voxels.mean(dtype=float) / whole.voxels.mean(dtype=float))
    assert np.mean(shares) == pytest.approx(0.8, abs=0.12)


def test_cylinders_stand_and_lie() -> None:
    for kind, axis in (("upright cylinder", 2), ("lying cylinder", 0)):
        volume = make_oddity(kind, np.random.default_rng(5))
        bright = volume.voxels > 0.5 * np.quantile(volume.voxels, 0.999)
        along = bright.mean(axis=tuple(at for at in range(3) if at != axis))
        inner = along[int(0.25 * len(along)) : int(0.75 * len(along))]
        assert inner.std() < 0.02 * inner.mean()
        assert along[0] == along[-1] == 0
