"""Each flaw is what its name states, against a closed form or another library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage, stats

from fovnet.phantom.scanner.artefacts import (
    Flaws,
    Ghosts,
    add_ghosts,
    add_void,
    blur_by_motion,
    draw_flaws,
    draw_smooth_gains,
    fold_over,
    shift_image,
    zero_fill,
)
from fovnet.phantom.scanner.scan import Acquisition, LabelVolume, add_rician_noise, scan
from fovnet.phantom.scanner.sequence import PulseSequence
from fovnet.phantom.scanner.tissues import Tissue

PD = PulseSequence("PD", "spin echo", 1e7, 0.0)
TABLE = (
    Tissue("nothing", 0.0, (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), texture_variation=0.0),
    Tissue(
        "water", 1.0, (3000.0, 3000.0), (2000.0, 2000.0), (1000.0, 1000.0), texture_variation=0.0
    ),
    Tissue(
        "oil",
        1.0,
        (3000.0, 3000.0),
        (2000.0, 2000.0),
        (1000.0, 1000.0),
        fat_fraction=1.0,
        texture_variation=0.0,
    ),
)

CLEAN = Acquisition(snr=1e9, blur_voxels=0.0, has_texture=False)


def noise(seed: int, shape: tuple[int, int, int] = (12, 14, 10)) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


@pytest.mark.parametrize("signal", [0.0, 5.0, 30.0, 200.0])
def test_noise_is_rice_distributed(signal: float) -> None:
    seen = add_rician_noise(
        np.full((30, 30, 30), signal, np.float32), 20.0, np.random.default_rng(3)
    ).ravel()
    assert stats.kstest(seen, stats.rice(signal / 20, scale=20).cdf).pvalue > 0.01


@given(st.floats(-4, 4), st.integers(0, 2), st.tuples(*[st.integers(6, 13)] * 3))
def test_what_moved_during_a_scan_is_on_average_where_its_labels_are(
    voxels: float, axis: int, at: tuple[int, int, int]
) -> None:
    image = np.zeros((20, 20, 20), np.float32)
    image[at] = 1
    seen = blur_by_motion(image, voxels, axis)
    assert ndimage.center_of_mass(seen) == pytest.approx(
        at, abs=1e-5
    ) and seen.sum() == pytest.approx(1, rel=1e-5)
    # as if it had set out from there
    before = ndimage.center_of_mass(blur_by_motion(image, voxels, axis, start_share=0.0))
    assert before[axis] - at[axis] == pytest.approx(voxels / 2, abs=1e-5)


@settings(max_examples=40)
@given(st.integers(0, 9), st.floats(-20, 20, width=32), st.integers(0, 2))
def test_moving_is_the_linear_shift_of_scipy(seed: int, voxels: float, axis: int) -> None:
    by = [voxels if at == axis else 0.0 for at in range(3)]
    # scipy cuts half voxels at an edge
    wanted = ndimage.shift(np.pad(noise(seed), 1), by, order=1, mode="constant")[1:-1, 1:-1, 1:-1]
    assert shift_image(noise(seed), voxels, axis) == pytest.approx(wanted, abs=1e-4)


@given(st.integers(0, 9), st.integers(1, 4), st.integers(0, 2))
def test_what_folds_over_comes_back_on_the_other_side_and_nothing_is_lost(
    seed: int, margin: int, axis: int
) -> None:
    image = np.moveaxis(noise(seed), axis, 0)
    folded = np.moveaxis(fold_over(noise(seed), margin, axis), axis, 0)
    size = len(image) - 2 * margin
    assert folded.shape[0] == size and folded.sum() == pytest.approx(image.sum(), rel=1e-4)
    if size >= 2 * margin:
        # just outside the near edge
        assert folded[-1] == pytest.approx(image[margin + size - 1] + image[margin - 1], abs=1e-5)
        assert folded[0] == pytest.approx(image[margin] + image[margin + size], abs=1e-5)


def test_a_folded_scan_stays_where_it_was() -> None:
    labels = np.zeros((20, 30, 6), np.uint8)
    labels[8:12, 10:20] = 1
    plain, folded = (
        scan(LabelVolume(labels, np.diag([2.0, 2, 2, 1])), PD, one, np.random.default_rng(0), TABLE)
        for one in (CLEAN, replace(CLEAN, flaws=Flaws(phase_axis=1, folded_voxels=5)))
    )
    assert folded.voxels.shape == (20, 20, 6)
    assert folded.vox_to_ras[:3, 3] == pytest.approx((plain.vox_to_ras @ [0, 5, 0, 1])[:3])
    # nothing lies outside, nothing folds
    assert folded.voxels == pytest.approx(plain.voxels[:, 5:25], rel=1e-4, abs=0.01)


@pytest.mark.parametrize("shift_mm", [-6.0, 2.5, 4.0])
def test_chemical_shift_moves_fat_alone_by_the_stated_millimetres(shift_mm: float) -> None:
    for label, wanted_mm in ((1, 0.0), (2, shift_mm)):
        labels = np.zeros((40, 16, 8), np.uint8)
        labels[15:25, 5:11, 2:6] = label
        flaws = Flaws(phase_axis=1, slice_axis=2, fat_shift_mm=shift_mm)
        affine = np.diag([2.0, 2.0, 2.0, 1.0])
        made = [
            scan(
                LabelVolume(labels, affine),
                PD,
                replace(CLEAN, flaws=one),
                np.random.default_rng(0),
                TABLE,
            )
            for one in (Flaws(), flaws)
        ]
        middles = [np.array(ndimage.center_of_mass(volume.voxels)) * 2 for volume in made]
        assert middles[1] - middles[0] == pytest.approx([wanted_mm, 0, 0], abs=0.02)


def test_zero_filling_keeps_low_frequencies_and_leaves_no_high_ones() -> None:
    # far from 0, so that the magnitude changes nothing
    image = 5 + noise(1, (64, 8, 4))
    spectrum, filled = (np.fft.rfft(one, axis=0) for one in (image, zero_fill(image, 0.5, 0)))
    assert (
        filled[:17] == pytest.approx(spectrum[:17], rel=1e-3, abs=1e-3)
        and np.abs(filled[17:]).max() < 1e-3
    )


def test_an_edge_rings_by_nine_per_cent() -> None:
    """Gibbs: the overshoot of a truncated Fourier series is 0.0895 of the step."""
    step = np.full((512, 1, 1), 1.0, np.float32)
    step[128:384] = 2.0
    assert zero_fill(step, 0.2, 0).max() - 2 == pytest.approx(0.0895, abs=0.005)


def test_a_ghost_stands_half_the_field_of_view_away() -> None:
    image = np.zeros((20, 8, 4), np.float32)
    image[3, 2, 1] = 100
    ghost = add_ghosts(image, Ghosts(0.1, 2), 0)
    assert (
        ghost[3, 2, 1] == 100
        and ghost[13, 2, 1] == pytest.approx(10)
        and np.count_nonzero(ghost) == 2
    )


def test_metal_leaves_a_hole_and_nothing_far_away_changes() -> None:
    image = np.full((60, 60, 60), 100, np.float32)
    holed = add_void(image, np.full(3, 4.0), np.random.default_rng(2))
    assert holed.min() < 1 and holed.max() > 120 and np.median(holed) == pytest.approx(100, abs=0.1)


def test_an_uncorrected_field_is_smooth() -> None:
    field = draw_smooth_gains((100, 80, 60), np.full(3, 3.0), 0.3, np.random.default_rng(0))
    assert (
        field.min() > 0
        and np.ptp(field) > 0.1
        and max(np.abs(np.diff(field, axis=axis)).max() for axis in range(3)) < 0.08
    )


def test_flaws_lie_along_axes_of_the_plane_and_many_images_have_none() -> None:
    drawn = [
        draw_flaws(plane, np.random.default_rng(seed))
        for seed in range(300)
        for plane in ("axial", "coronal", "sagittal")
    ]
    assert all(
        {flaws.phase_axis, flaws.slice_axis, flaws.frequency_axis} == {0, 1, 2} for flaws in drawn
    )
    assert (
        0.4 < np.mean([flaws == Flaws(flaws.phase_axis, flaws.slice_axis) for flaws in drawn]) < 0.7
    )


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_suppression_misses_fat_alone_in_about_the_stated_share_of_the_field(share: float) -> None:
    tissues = (
        Tissue(
            "fat",
            1.0,
            (300.0, 300.0),
            (100.0, 100.0),
            (50.0, 50.0),
            fat_fraction=1.0,
            texture_variation=0.0,
        ),
        Tissue("water", 0.8, (900.0, 900.0), (60.0, 60.0), (40.0, 40.0), texture_variation=0.0),
    )
    labels = np.zeros((40, 40, 40), np.uint8)
    labels[:, ::2] = 1
    sequence, quiet = (
        PulseSequence("T1", "spin echo", 500, 10, fat_mode="suppressed"),
        Acquisition(snr=1e6, blur_voxels=0.0, has_texture=False),
    )
    images = [
        scan(
            LabelVolume(labels, np.diag([5.0, 5, 5, 1])),
            sequence,
            replace(quiet, flaws=Flaws(unsuppressed_share=missed)),
            np.random.default_rng(3),
            tissues,
        ).voxels
        for missed in (0.0, share)
    ]
    # each image has its own brightness
    plain, flawed = (image / image[:, ::2].mean() for image in images)
    assert np.allclose(plain[:, ::2], flawed[:, ::2], atol=1e-3)
    assert np.mean(flawed[:, 1::2] > 1.02 * plain[:, 1::2]) == pytest.approx(share, abs=0.06)
