"""From a RAS volume to slices: which way up, how large, how many, how bright."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers
from PIL import Image

from fovnet.volume.intensity import estimate_window, sample_lattice
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.resizing import SIDE_PIXELS, Resize, resize_weights
from fovnet.volume.slices.stack import GROUP_SLACK_SLICES, cut_slices, group_slices
from fovnet.volume.volume import Volume


def straight(voxels: np.ndarray, spacing=(1.0, 1.0, 3.0), origin=(0.0, 0.0, 0.0)) -> Volume:
    affine = np.diag([*spacing, 1.0])
    affine[:3, 3] = origin
    return Volume(np.asarray(voxels, dtype=np.float32), affine, "made")


def blob(spacing: tuple[float, float, float], extent_mm: float = 240.0) -> Volume:
    """A smooth body sampled on any grid over the same box: two Gaussians that drift with height."""
    shape = [round(extent_mm / mm) for mm in spacing]
    x, y, z = np.meshgrid(
        *[(np.arange(n) + 0.5) * mm - extent_mm / 2 for n, mm in zip(shape, spacing, strict=True)],
        indexing="ij",
    )
    body = np.exp(-(((x - z / 6) / 55) ** 2 + (y / 40) ** 2)) + 0.5 * np.exp(
        -(((x + 30) / 15) ** 2 + ((y - z / 10) / 20) ** 2)
    )
    return straight(1000 * body, spacing, origin=[(mm - extent_mm) / 2 for mm in spacing])


def test_the_patients_right_is_on_the_left_and_the_front_is_on_top():
    voxels = np.zeros((64, 64, 2))
    voxels[50:60, 50:60, :] = 100  # to the right and to the front of the patient
    voxels[5:8, 5:8, :] = 50  # to the left and back, smaller
    pixels = cut_slices(straight(voxels)).pixels[0].astype(int)
    assert pixels[: SIDE_PIXELS // 2, : SIDE_PIXELS // 2].max() == 255
    assert 0 < pixels[SIDE_PIXELS // 2 :, SIDE_PIXELS // 2 :].max() < 200
    assert (
        pixels[: SIDE_PIXELS // 2, SIDE_PIXELS // 2 :].max()
        == pixels[SIDE_PIXELS // 2 :, : SIDE_PIXELS // 2].max()
        == 0
    )


def test_slices_are_counted_from_the_feet():
    voxels = np.random.default_rng(0).random((8, 8, 5)) * np.arange(1, 6)
    stack = cut_slices(straight(voxels, (2, 2, 4), origin=(0, 0, -100)))
    assert stack.z_mm.tolist() == [-100, -96, -92, -88, -84]
    assert (np.diff(stack.pixels.mean(axis=(1, 2))) > 0).all()


@settings(max_examples=100)
@given(integers(1, 700), floats(0.05, 20), floats(0.5, 10))
def test_every_slice_is_in_exactly_one_group(slices, spacing_mm, target_mm):
    covers = group_slices(slices, spacing_mm, target_mm)
    assert np.array_equal(
        np.concatenate([np.arange(first, last + 1) for first, last in covers]), np.arange(slices)
    )


@settings(max_examples=50)
@given(integers(1, 40), floats(0.3, 12), floats(-500, 500))
def test_cuts_reach_from_the_lowest_face_to_the_topmost_without_gaps(slices, spacing_mm, bottom_mm):
    """Also where the last cut stands for more slices than the others, and where there is but one."""
    stack = cut_slices(
        straight(
            np.random.default_rng(0).random((4, 4, slices)), (2, 2, spacing_mm), (0, 0, bottom_mm)
        )
    )
    first, last = stack.slice_ranges.T
    np.testing.assert_allclose(
        stack.edges_mm[:-1], bottom_mm + (first - 0.5) * spacing_mm, atol=1e-5
    )
    np.testing.assert_allclose(stack.edges_mm[1:], bottom_mm + (last + 0.5) * spacing_mm, atol=1e-5)


@settings(max_examples=100)
@given(integers(2, 700), floats(0.05, 20))
def test_cuts_stand_at_least_three_millimetres_apart_less_a_tenth_of_a_slice(slices, spacing_mm):
    covers = group_slices(slices, spacing_mm, 3.0)
    apart_mm = np.diff(covers.mean(axis=1)) * spacing_mm
    assert (apart_mm > 0).all()
    assert (apart_mm >= 3.0 - GROUP_SLACK_SLICES * spacing_mm - 1e-9).all()
    sizes = covers[:, 1] - covers[:, 0] + 1
    assert (sizes[:-1] == sizes[0]).all() and (
        len(sizes) == 1 or sizes[0] <= sizes[-1] < 2 * sizes[0]
    )


@pytest.mark.parametrize(
    ("spacing_mm", "n"),
    [(0.5, 6), (1.0, 3), (1.2, 3), (1.5, 2), (2.0, 2), (2.8, 1), (3.0, 1), (5.0, 1), (10.0, 1)],
)
def test_so_many_slices_make_one_cut(spacing_mm, n):
    assert group_slices(120, spacing_mm, 3.0)[0].tolist() == [0, n - 1]


@pytest.mark.parametrize("thickness_mm", [0.5, 1.0, 5.0, 10.0])
def test_thin_and_thick_stacks_of_one_body_give_comparable_slices(thickness_mm):
    fine, other = cut_slices(blob((2.0, 2.0, 3.0))), cut_slices(blob((2.0, 2.0, thickness_mm)))
    nearest = np.abs(fine.z_mm[None] - other.z_mm[:, None]).argmin(axis=1)
    near = np.abs(fine.z_mm[nearest] - other.z_mm) < 1.0
    assert near.sum() >= 8
    difference = fine.pixels[nearest[near]].astype(int) - other.pixels[near]
    assert np.abs(difference).max() <= 6 and np.abs(difference).mean() < 1.0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("spacing_mm", [1.0, 5.0])
def test_cutting_leaves_the_volume_as_it_was_however_it_lies_in_memory(order, spacing_mm):
    voxels = np.asarray(
        np.random.default_rng(0).normal(100, 20, (9, 8, 12)).astype(np.float32), order=order
    )
    before = voxels.copy()
    voxels.flags.writeable = False
    volume = Volume(voxels, np.diag([3.0, 3.0, spacing_mm, 1.0]), "made")
    assert np.array_equal(cut_slices(volume).pixels, cut_slices(volume).pixels) and np.array_equal(
        voxels, before
    )


def test_averaging_a_group_leaves_the_mean_and_lowers_the_noise():
    noise = 500 + 100 * np.random.default_rng(1).standard_normal((128, 128, 60))
    one, three = cut_slices(straight(noise, (1, 1, 3))), cut_slices(straight(noise, (1, 1, 1)))
    assert three.slice_ranges[0].tolist() == [0, 2]
    assert three.pixels.std() == pytest.approx(one.pixels.std() / np.sqrt(3), rel=0.1)


@pytest.mark.parametrize(
    "shape", [(300, 300), (128, 128), (40, 40), (512, 128), (60, 250), (7, 101)]
)
def test_resizing_agrees_with_pillow(shape):
    """Pillow's antialiased BILINEAR on the picture padded to a square; both in float."""
    picture = np.random.default_rng(2).random(shape).astype(np.float32)
    side = max(shape)
    if (side - min(shape)) % 2:
        picture = picture[:, :-1] if shape[1] < shape[0] else picture[:-1]
    square = np.zeros((side, side), dtype=np.float32)
    top, left = (side - picture.shape[0]) // 2, (side - picture.shape[1]) // 2
    square[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    expected = np.asarray(
        Image.fromarray(square).resize((SIDE_PIXELS, SIDE_PIXELS), Image.Resampling.BILINEAR)
    )
    got = (
        resize_weights(picture.shape[0], 1.0, side)
        @ picture
        @ resize_weights(picture.shape[1], 1.0, side).T
    )
    np.testing.assert_allclose(got, expected, atol=2e-6)


@settings(max_examples=60)
@given(integers(1, 700), integers(1, 700), floats(0.1, 12), floats(1, 4))
def test_resizing_by_bands_is_the_whole_product(rows, columns, spacing_mm, widening):
    side_mm = max(rows * spacing_mm, columns) * widening
    down, across = resize_weights(rows, spacing_mm, side_mm), resize_weights(columns, 1.0, side_mm)
    plane = np.random.default_rng(rows).gamma(2.0, 100.0, (rows, columns)).astype(np.float32)
    expected = down.astype(float) @ plane.astype(float) @ across.T.astype(float)
    np.testing.assert_allclose(
        Resize(down, across)(plane), expected, rtol=3e-6, atol=3e-6 * plane.max()
    )


@settings(max_examples=100)
@given(integers(1, 600), floats(0.1, 12), floats(1, 5))
def test_weights_are_a_mean_and_keep_the_centre(pixels, spacing_mm, widening):
    weights = resize_weights(pixels, spacing_mm, pixels * spacing_mm * widening)
    assert np.isfinite(weights).all() and (weights >= 0).all()
    assert weights.sum(axis=1).max() <= 1 + 1e-5
    np.testing.assert_allclose(weights, weights[::-1, ::-1], atol=1e-5)


def test_padding_is_centred_in_millimetres_also_with_oblong_pixels():
    """A 200 × 100 mm box of 1 × 4 mm pixels fills the middle half of the rows and all columns."""
    box = np.random.default_rng(3).integers(500, 1000, (200, 25, 3)).astype(np.float32)
    box[::2, :, 0] = 0
    stack = cut_slices(straight(box, (1.0, 4.0, 5.0)))
    assert stack.side_mm == 200.0
    shown = stack.pixels[1] > 0
    assert shown[33:95].mean() > 0.9
    assert not shown[:30].any() and not shown[98:].any()


def test_a_ball_stays_round_whatever_the_pixels():
    for spacing in ((1.0, 1.0, 3.0), (1.0, 3.0, 3.0), (2.5, 0.8, 5.0)):
        shape = [round(180 / mm) for mm in spacing]
        x, y, z = np.meshgrid(
            *[(np.arange(n) + 0.5) * mm - 90 for n, mm in zip(shape, spacing, strict=True)],
            indexing="ij",
        )
        inside = (
            cut_slices(straight(np.hypot(np.hypot(x, y), z) < 50, spacing)).pixels[shape[2] // 2]
            > 127
        )
        height, width = inside.any(axis=1).sum(), inside.any(axis=0).sum()
        assert abs(int(height) - int(width)) <= 2
        assert width == pytest.approx(100 / 180 * SIDE_PIXELS, abs=3)


def test_the_window_is_the_stated_percentiles():
    voxels = np.random.default_rng(4).gamma(2.0, 100.0, (40, 40, 40)).astype(np.float32)
    mean = np.minimum(voxels, np.percentile(voxels, 99.5)).mean()
    black, white = estimate_window(voxels)
    assert black == pytest.approx(np.percentile(voxels, 1), rel=1e-6)
    assert white == pytest.approx(np.percentile(voxels[voxels > mean], 99), rel=1e-6)


def test_masked_air_is_black_and_one_bright_vessel_does_not_darken_the_rest():
    voxels = np.zeros((60, 60, 20), dtype=np.float32)
    voxels[20:40, 20:40] = np.random.default_rng(5).normal(500, 40, (20, 20, 20))
    assert estimate_window(voxels)[0] == 0
    plain = estimate_window(voxels)[1]
    voxels[30, 30, :10] = 1e6
    assert estimate_window(voxels)[1] == pytest.approx(plain, rel=0.05)


@settings(max_examples=30)
@given(floats(1e-4, 1e4))
def test_a_change_of_gain_does_not_change_the_slices(gain):
    body = blob((6.0, 6.0, 12.0))
    noise = np.random.default_rng(6).random(body.voxels.shape) * 20
    first = cut_slices(straight(body.voxels + noise, (6, 6, 12)))
    second = cut_slices(straight((body.voxels + noise) * gain, (6, 6, 12)))
    assert np.abs(first.pixels.astype(int) - second.pixels).max() <= 1


def test_the_sample_of_a_large_volume_stays_small_and_spares_thin_axes():
    sample = sample_lattice(np.zeros((300, 300, 7), dtype=np.float32), most=50_000)
    assert sample.size <= 50_000 and sample.size % 7 == 0


def test_a_volume_with_a_single_bright_voxel_still_has_a_window():
    voxels = np.zeros((200, 200, 30), dtype=np.float32)
    voxels[101, 33, 7] = 5.0
    assert estimate_window(voxels) == (0.0, 5.0)
    assert cut_slices(straight(voxels)).pixels[7].max() > 0


def test_straight_slices_are_what_to_ras_leaves_untouched():
    volume = blob((4.0, 4.0, 8.0))
    assert np.array_equal(cut_slices(to_ras(volume)).pixels, cut_slices(volume).pixels)
