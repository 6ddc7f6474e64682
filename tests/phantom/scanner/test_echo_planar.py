"""Echo-planar images: the field about a sphere of air is known in closed form, and signal that moves is not
lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.phantom.scanner.echo_planar import (
    AIR_PPM,
    EchoPlanar,
    displace_signal,
    field_change_ppm,
    read_out,
    shim_field,
)

SIZE, MIDDLE, RADIUS_MM = 64, 31.5, 12.0


def sphere_of_air(spacing_mm: float = 2.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Air share, affine, and coordinates (3, i, j, k) in mm from the middle of the sphere; edges of voxels
    are shared out."""
    affine = np.diag([spacing_mm, spacing_mm, spacing_mm, 1.0])
    places = (np.stack(np.meshgrid(*[np.arange(SIZE)] * 3, indexing="ij")) - MIDDLE) * spacing_mm
    away = np.sqrt((places**2).sum(axis=0))
    return ((RADIUS_MM - away) / spacing_mm + 0.5).clip(0, 1).astype(np.float32), affine, places


@pytest.mark.parametrize("up", [2, 1])
def test_the_field_about_a_sphere_is_that_of_a_dipole(up: int) -> None:
    """9.4 / 3 (a / r)³ (3 cos²θ - 1), at most 6.3 at the poles: within 0.4 a voxel or two from them, 0.05 on
    average."""
    air, affine, places = sphere_of_air()
    # the scanner's z along another axis of the grid
    turned = affine[:, [0, 2, 1, 3]] if up == 1 else affine
    found = field_change_ppm(air, turned)
    away = np.sqrt((places**2).sum(axis=0))
    wanted = AIR_PPM / 3 * (RADIUS_MM / away) ** 3 * (3 * (places[up] / away) ** 2 - 1)
    outside = (away > RADIUS_MM + 4) & (away < 45)
    assert np.abs(found - wanted)[outside].max() < 0.4
    assert np.abs(found - wanted)[outside].mean() < 0.05
    assert np.abs(found[away < RADIUS_MM - 4]).max() < 0.4  # nothing within a sphere


def test_shims_leave_nothing_of_a_field_of_the_second_order() -> None:
    x, y, z = np.meshgrid(
        *[np.linspace(-1, 1, n, dtype=np.float32) for n in (12, 14, 9)], indexing="ij"
    )
    field = 3 + 2 * x - y + 0.5 * z + x * y - 2 * z * z
    assert np.abs(shim_field(field, np.zeros_like(field))).max() < 1e-4


@given(seed=st.integers(0, 10_000), axis=st.integers(0, 2), size=st.floats(0, 6))
def test_moved_signal_is_neither_made_nor_lost(seed: int, axis: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    image = rng.random((6, 7, 8), dtype=np.float32)
    moves = (size * rng.standard_normal(image.shape)).astype(np.float32)
    moved = displace_signal(image, moves, axis)
    np.testing.assert_allclose(moved.sum(axis=axis), image.sum(axis=axis), rtol=1e-5)


def test_a_shift_by_whole_voxels_moves_the_image_and_none_leaves_it() -> None:
    """But for the four parts of each voxel, at ±1/8 and ±3/8 of it, being shared with its neighbours: an
    eighth to either side."""
    image = np.zeros((3, 16, 2), np.float32)
    image[:, 5] = 1.0
    for voxels in (0, 3, -2):
        moved = displace_signal(image, np.full(image.shape, voxels, np.float32), 1)
        np.testing.assert_allclose(
            moved[0, 4 + voxels : 7 + voxels, 0], [0.125, 0.75, 0.125], atol=1e-6
        )


def test_a_gradient_echo_loses_signal_beside_air_and_a_spin_echo_does_not() -> None:
    air, affine, places = sphere_of_air()
    image, away = 1 - air, np.sqrt((places**2).sum(axis=0))
    lost, kept = (
        read_out(image, air, affine, EchoPlanar(1, 2, 40.0, te_ms), 3.0) for te_ms in (35.0, 0.0)
    )
    near = (away > RADIUS_MM) & (away < RADIUS_MM + 8)
    assert lost[near].mean() < 0.7 * kept[near].mean()
    assert lost[away > 50].mean() > 0.95 * kept[away > 50].mean()
    np.testing.assert_allclose(kept.sum(), image.sum(), rtol=1e-4)
