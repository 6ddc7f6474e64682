"""Pictures of three planes: of bodies of blocks, of which it is known where each stands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers

from fovnet.volume.slices.outlines import OUTLINE_SHAPE, compute_outlines
from fovnet.volume.slices.planes import (
    LEAST_EXTENT_MM,
    make_pictures,
    measure_extents_mm,
    states_axes,
)
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.volume.slices.stack import SliceStack, cut_slices
from fovnet.volume.volume import Volume

AXIAL, SAGITTAL, CORONAL = range(3)


def volume(
    boxes: dict[tuple[int, int, int], int],
    shape: tuple[int, int, int] = (60, 50, 70),
    mm: float = 4.0,
) -> Volume:
    """Blocks of 12 voxels a side, by the corner each begins at, in a block of 40 that fills the middle; 0 mm
    in the middle."""
    voxels = np.zeros(shape, np.float32)
    voxels[10:50, 5:45, 10:60] = 400
    for (x, y, z), grey in boxes.items():
        voxels[x : x + 12, y : y + 12, z : z + 12] = grey
    affine = np.diag([mm, mm, mm, 1.0])
    affine[:3, 3] = -mm * (np.array(shape) - 1) / 2
    return Volume(voxels, affine, "blocks")


def stack(boxes: dict[tuple[int, int, int], int], **how: object) -> SliceStack:
    return cut_slices(volume(boxes, **how), target_spacing_mm=4.0)  # type: ignore[arg-type]


def quarter(picture: np.ndarray) -> tuple[str, str]:
    """In which half, from top to bottom and from left to right, the brightest part of a picture lies."""
    bright = np.argwhere(picture > 0.8 * picture.max())
    down, across = bright.mean(axis=0) - (SIDE_PIXELS - 1) / 2
    return "top" if down < 0 else "bottom", "left" if across < 0 else "right"


@pytest.mark.parametrize(
    ("corner", "axial", "sagittal", "coronal"),
    [
        ((32, 30, 46), ("top", "left"), ("top", "left"), ("top", "left")),  # right, front, high
        (
            (14, 8, 12),
            ("bottom", "right"),
            ("bottom", "right"),
            ("bottom", "right"),
        ),  # left, back, low
    ],
)
def test_the_front_or_the_head_is_on_top_and_the_right_side_on_the_left(
    corner, axial, sagittal, coronal
) -> None:
    """RAS voxels grow to the right: what begins at a large x is on the patient's right, as a radiologist sees
    it on the left."""
    shown = make_pictures(stack({corner: 4000}))
    brightest = [max(plane, key=lambda one: int(one.max())) for plane in shown]
    assert [quarter(one) for one in brightest] == [axial, sagittal, coronal]


def test_a_block_is_as_large_in_every_plane_as_it_is() -> None:
    """40 × 40 × 50 voxels of 4 mm: pixels of a picture are 4 mm too, and the middle place cuts the middle."""
    shown = make_pictures(stack({}))[:, 1]
    sizes = np.array(
        [[(picture.max(axis=axis) > 100).sum() for axis in (1, 0)] for picture in shown]
    )
    np.testing.assert_allclose(sizes, [(40, 40), (50, 40), (50, 40)], atol=2)


@given(shift=integers(-4, 4), axis=integers(0, 2))
@settings(max_examples=12)
def test_where_a_body_lies_in_its_volume_does_not_matter(shift: int, axis: int) -> None:
    """But for a pixel, by which the middles of pictures are rounded."""
    whole = volume({(30, 30, 40): 1200})
    there = np.roll(whole.voxels, shift, axis)
    before, after = (
        make_pictures(cut_slices(Volume(voxels, whole.vox_to_ras, "blocks"), target_spacing_mm=4.0))
        for voxels in (whole.voxels, there)
    )
    for plane in range(3):
        for place in range(3):
            a, b = before[plane, place].astype(float), after[plane, place].astype(float)
            nearest = min(
                np.abs(a - np.roll(b, (i, j), (0, 1))).mean()
                for i in (-1, 0, 1)
                for j in (-1, 0, 1)
            )
            assert nearest < 1.0


@pytest.mark.parametrize("spacing_mm", [4.0, 8.0])
def test_a_body_longer_than_a_picture_shows_its_bright_middle(spacing_mm: float) -> None:
    voxels = np.zeros((60, 60, 400), np.float32)
    voxels[20:40, 20:40, 200:390] = 1000
    tall = Volume(voxels, np.diag([4.0, 4.0, 4.0, 1.0]), "tall")
    coronal = make_pictures(cut_slices(tall, target_spacing_mm=spacing_mm))[CORONAL, 1]
    assert (coronal.max(axis=1) > 100).sum() == SIDE_PIXELS  # 190 rows of body in 128


@pytest.mark.parametrize("begin", [(5, 5), (120, 60), (200, 150)])
def test_a_body_beside_the_middle_of_a_wide_frame_is_shown(begin: tuple[int, int]) -> None:
    """1,000 mm across, as where a long series' slices are called axial: the 512 mm about the body are shown,
    not those of the frame."""
    voxels = np.zeros((250, 250, 40), np.float32)
    voxels[begin[0] : begin[0] + 40, begin[1] : begin[1] + 60] = 1000
    wide = Volume(voxels, np.diag([4.0, 4.0, 5.0, 1.0]), "wide")
    shown = make_pictures(cut_slices(wide, target_spacing_mm=5.0))[:, 1] > 100
    sizes = [[picture.any(axis=axis).sum() for axis in (1, 0)] for picture in shown]
    np.testing.assert_allclose(sizes, [(60, 40), (50, 60), (50, 40)], atol=3)


def test_extents_are_those_of_the_picture_and_black_counts_for_nothing() -> None:
    # 40 voxels across; 50 slices of 70 are lit
    assert measure_extents_mm(stack({})) == pytest.approx((160, 160, 200), abs=8)
    thin = cut_slices(volume({}, shape=(60, 50, 70), mm=4.0), target_spacing_mm=4.0)
    rows = slice(20, 30)
    few = SliceStack(
        thin.pixels[rows],
        thin.z_mm[rows],
        thin.slice_ranges[rows],
        thin.side_mm,
        thin.vox_to_ras,
        "few",
        "",
    )
    assert (
        measure_extents_mm(few)[2] == pytest.approx(40)
        and min(measure_extents_mm(few)) < LEAST_EXTENT_MM
    )
    dark = replace(
        thin, pixels=thin.pixels * ((np.arange(70) >= 20) & (np.arange(70) < 30))[:, None, None]
    )
    assert measure_extents_mm(dark)[2] == pytest.approx(40)


def test_a_header_of_voxel_sizes_alone_states_no_axes() -> None:
    plain = volume({})
    shifted = plain.vox_to_ras.copy()
    # a table position: the scanner knew where the body lay
    shifted[2, 3] += 30
    tilted = plain.vox_to_ras.copy()
    tilted[:3, :3] = np.array([[1, 0, 0], [0, 0.995, -0.0999], [0, 0.0999, 0.995]]) * 4
    volumes = [
        Volume(plain.voxels, affine, "header") for affine in (plain.vox_to_ras, shifted, tilted)
    ]
    stated = [states_axes(cut_slices(one, target_spacing_mm=4.0)) for one in volumes]
    assert stated == [False, True, True]


@pytest.mark.parametrize("corner", [(0, 0, 0), (-236, -196, 0)])
def test_nor_does_one_whose_corner_is_at_0(corner: tuple[int, int, int]) -> None:
    """As ITK writes where nothing is known, in its own axes, which run to the left and to the back, or in
    these."""
    plain = volume({})
    affine = plain.vox_to_ras.copy()
    affine[:3, 3] = corner
    assert not states_axes(
        cut_slices(Volume(plain.voxels, affine, "header"), target_spacing_mm=4.0)
    )


def test_a_volume_without_anything_has_black_pictures() -> None:
    covers = np.stack([np.arange(20)] * 2, axis=1)
    nothing = SliceStack(
        np.zeros((20, SIDE_PIXELS, SIDE_PIXELS), np.uint8),
        np.arange(20.0),
        covers,
        200.0,
        np.eye(4),
        "",
        "",
    )
    assert not make_pictures(nothing).any() and measure_extents_mm(nothing) == (0, 0, 0)
    assert not compute_outlines(make_pictures(nothing).reshape(-1, SIDE_PIXELS, SIDE_PIXELS)).any()


@given(gain=floats(0.4, 1.0), seed=integers(0, 99))
@settings(max_examples=10)
def test_how_bright_a_picture_is_as_a_whole_does_not_change_its_outlines(
    gain: float, seed: int
) -> None:
    picture = (
        np.random.default_rng(seed)
        .integers(100, 256, (1, SIDE_PIXELS, SIDE_PIXELS))
        .astype(np.float32)
    )
    found, dimmed = compute_outlines(picture), compute_outlines(picture * np.float32(gain))
    assert found.shape == (1, *OUTLINE_SHAPE)
    np.testing.assert_allclose(dimmed, found, rtol=1e-3, atol=1e-4)
