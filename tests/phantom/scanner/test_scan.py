"""The scanner on label volumes of its own and of others."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.phantom.scanner.scan import (
    Acquisition,
    Coil,
    LabelVolume,
    add_rician_noise,
    average_blocks,
    compute_sensitivity,
    scan,
)
from fovnet.phantom.scanner.sequence import PulseSequence, compute_signals
from fovnet.phantom.scanner.tissues import TISSUES, Tissue, label_of

PD = PulseSequence("PD", "spin echo", 1e7, 0.0)
WATER = (
    Tissue("nothing", 0.0, (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), texture_variation=0.0),
    Tissue(
        "water", 1.0, (3000.0, 3000.0), (2000.0, 2000.0), (1000.0, 1000.0), texture_variation=0.0
    ),
)


def clean(average: tuple[int, int, int] = (1, 1, 1)) -> Acquisition:
    return Acquisition(labels_per_voxel=average, snr=1e9, blur_voxels=0.0, has_texture=False)


def test_noise_in_air_has_the_rayleigh_mean_and_deviation() -> None:
    air = add_rician_noise(np.zeros((60, 60, 60), np.float32), 10.0, np.random.default_rng(0))
    assert air.mean() == pytest.approx(10 * np.sqrt(np.pi / 2), rel=0.01)
    assert air.std() == pytest.approx(10 * np.sqrt(2 - np.pi / 2), rel=0.01)


def test_noise_on_a_strong_signal_is_gaussian() -> None:
    bright = add_rician_noise(
        np.full((60, 60, 60), 1000.0, np.float32), 10.0, np.random.default_rng(0)
    )
    assert bright.mean() == pytest.approx(
        1000 + 10**2 / 2000, abs=0.1
    ) and bright.std() == pytest.approx(10, rel=0.01)


def test_a_voxel_half_full_of_water_is_half_as_bright() -> None:
    labels = np.zeros((4, 4, 8), np.uint8)
    labels[:, :, :5] = 1  # of slices of 2 label voxels: two full, one half, one empty
    image = scan(
        LabelVolume(labels, np.eye(4)), PD, clean((1, 1, 2)), np.random.default_rng(0), WATER
    )
    full, also, half, empty = image.voxels[0, 0]
    assert (
        full == also
        and half == pytest.approx(full / 2, rel=1e-4)
        and empty == pytest.approx(0, abs=1e-3)
    )


def test_averaging_moves_the_origin_to_the_middle_of_the_first_block() -> None:
    affine = np.diag([1.0, 1.0, 2.0, 1.0])
    image = scan(
        LabelVolume(np.ones((4, 4, 8), np.uint8), affine),
        PD,
        clean((2, 1, 4)),
        np.random.default_rng(0),
        WATER,
    )
    assert image.voxels.shape == (2, 4, 2) and image.spacing_mm == pytest.approx([2, 1, 8])
    assert image.vox_to_ras[:3, 3] == pytest.approx([0.5, 0, 3])


def test_averages_equal_means_over_reshaped_blocks() -> None:
    fine = np.random.default_rng(0).random((6, 8, 10)).astype(np.float32)
    assert average_blocks(fine, (3, 2, 5)) == pytest.approx(
        fine.reshape(2, 3, 4, 2, 2, 5).mean(axis=(1, 3, 5)), rel=1e-5
    )


def test_a_foreign_label_volume_with_its_own_table_is_scanned() -> None:
    labels = np.random.default_rng(1).integers(0, 3, (20, 24, 10)).astype(np.int32)
    table = (
        *WATER,
        Tissue(
            "oil",
            0.9,
            (260.0, 300.0),
            (80.0, 80.0),
            (60.0, 60.0),
            fat_fraction=1.0,
            texture_variation=0.0,
        ),
    )
    sequence = PulseSequence("T1", "gradient echo", 20, 3, flip_deg=30)
    image = scan(LabelVolume(labels, np.eye(4)), sequence, clean(), np.random.default_rng(0), table)
    seen, wanted = (
        np.array([image.voxels[labels == label].mean() for label in range(3)]),
        compute_signals(table, sequence, 1.5),
    )
    assert seen / seen.max() == pytest.approx(wanted / wanted.max(), rel=1e-3, abs=1e-4)


def test_a_label_outside_the_table_is_refused_by_name() -> None:
    labels = np.full((4, 4, 4), len(TISSUES), np.int16)
    with pytest.raises(VolumeError, match="label-outside-table"):
        scan(LabelVolume(labels, np.eye(4)), PD, clean(), np.random.default_rng(0))


def test_a_surface_coil_hears_what_is_near_it_and_a_uniform_one_everything() -> None:
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    near = compute_sensitivity((40, 40, 40), affine, Coil(((0.0, 0.0, 0.0),), 60.0, 1.0))
    assert near[0, 0, 0] == pytest.approx(1.0) and np.all(np.diff(near[:, 0, 0]) < 0)
    assert compute_sensitivity((40, 40, 40), affine, Coil()) == pytest.approx(np.ones((40, 40, 40)))


def test_an_empty_field_of_view_is_noise_alone() -> None:
    image = scan(
        LabelVolume(np.zeros((10, 10, 10), np.uint8), np.eye(4)),
        PD,
        Acquisition(),
        np.random.default_rng(0),
    )
    assert np.isfinite(image.voxels).all() and image.voxels.std() > 0


def test_where_fat_points_against_water_a_voxel_of_both_is_dark() -> None:
    """The India ink line of balanced imaging; Hargreaves (2012), J Magn Reson Imaging 36:1300."""
    labels = np.full((1, 1, 12), label_of("fat"))
    labels[..., 6:] = label_of("arterial blood")
    labels[..., 5] = label_of("arterial blood")  # half of the third voxel
    sequence = PulseSequence("cine", "balanced cine", 3.2, 1.6, flip_deg=45, fat_mode="cancelling")
    received = Acquisition(labels_per_voxel=(1, 1, 2), snr=1e6, blur_voxels=0.0, has_texture=False)
    fat, _, border, _, blood, _ = scan(
        LabelVolume(labels, np.eye(4)), sequence, received, np.random.default_rng(0)
    ).voxels[0, 0]
    assert border < 0.3 * fat and border < 0.3 * blood
