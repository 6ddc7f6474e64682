"""Sections through a volume, told from its slices: sizes in millimetres whatever the stack, every slice in
its own row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.sections import (
    PIXEL_MM,
    find_brightness_centre,
    make_sections,
    make_sections_of_slices,
    row_weights_and_rows,
)

SPHERE_MM = 90.0


def ball(
    side_mm: float, step_mm: float, at_mm: tuple[float, float] = (0.0, 0.0)
) -> tuple[np.ndarray, np.ndarray]:
    """Slices of a white ball of 90 mm radius, its middle so far down and to the right of theirs; their
    heights from the ball's middle."""
    z_mm = np.arange(-120.0, 120.0 + step_mm / 2, step_mm)
    across = (np.arange(128) + 0.5) / 128 * side_mm - side_mm / 2
    far = np.sqrt(
        (across[:, None] - at_mm[0]) ** 2 + (across - at_mm[1]) ** 2 + z_mm[:, None, None] ** 2
    )
    return (255 * np.clip((SPHERE_MM - far) / 3 + 0.5, 0, 1)).astype(np.uint8), z_mm


def of_one(side_mm: float, z_mm: np.ndarray) -> Placing:
    return Placing(np.full(len(z_mm), side_mm), np.zeros(len(z_mm), dtype=np.int64), z_mm)


@settings(max_examples=20)
@given(
    side_mm=st.floats(250, 700),
    step_mm=st.floats(2, 9),
    down_mm=st.floats(-30, 30),
    right_mm=st.floats(-30, 30),
)
def test_both_sections_of_a_ball_are_discs_of_its_size(
    side_mm: float, step_mm: float, down_mm: float, right_mm: float
) -> None:
    """π 90² mm² in pixels of 4 x 4 mm, whatever the field of view, the spacing and the place; the middle of 9
    pixels' mean is smaller."""
    pixels, z_mm = ball(side_mm, step_mm, (down_mm, right_mm))
    found = make_sections(pixels, of_one(side_mm, z_mm)).pixels / 255.0
    slab = (np.arange(-4, 5) * side_mm / 128) ** 2
    expected = np.pi * np.clip(SPHERE_MM**2 - slab, 0, None).mean()
    assert found.sum(axis=(1, 2)) * PIXEL_MM**2 == pytest.approx([expected, expected], rel=0.04)
    weight = found.sum(axis=1)
    places = (weight * (np.arange(128) - 63.5)).sum(axis=1) / weight.sum(axis=1) * PIXEL_MM
    # sagittal columns run to the back, coronal ones to the left
    assert places == pytest.approx([down_mm, right_mm], abs=2.0)


@settings(max_examples=40)
@given(steps=st.lists(st.floats(0.5, 20), min_size=1, max_size=40), bottom=st.floats(-900, 900))
def test_every_slice_stands_in_the_row_that_holds_its_height(
    steps: list[float], bottom: float
) -> None:
    z_mm = bottom + np.cumsum([0.0, *steps])
    weights, row = row_weights_and_rows(z_mm)
    low = z_mm[0] - np.median(np.diff(z_mm)) / 2
    assert weights.sum(axis=1) == pytest.approx(np.ones(len(weights)), rel=1e-5)
    assert (np.diff(row) >= 0).all() and row[-1] < len(weights)
    # the last row is whatever is left of 4 mm
    inside = row < len(weights) - 1
    assert (
        np.abs(low + (row[inside] + 0.5) * PIXEL_MM - z_mm[inside]) <= PIXEL_MM / 2 + 1e-6
    ).all()


def test_slices_four_millimetres_apart_and_pixels_of_four_are_taken_as_they_are() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 128, 128), dtype=np.uint8)
    pixels[:, 50, 90] = 255
    y, x = find_brightness_centre(pixels)
    found = make_sections(pixels, of_one(512.0, PIXEL_MM * np.arange(20)))
    assert np.array_equal(found.row_of_slice, np.arange(20))
    assert np.abs(found.pixels[0] - pixels[:, :, x - 4 : x + 5].mean(axis=2)).max() <= 0.51
    assert np.abs(found.pixels[1] - pixels[:, y - 4 : y + 5].mean(axis=1)).max() <= 0.51


def test_the_middle_is_where_the_brightness_is_and_a_black_volume_has_one_too() -> None:
    pixels = np.zeros((3, 128, 128), np.uint8)
    assert find_brightness_centre(pixels) == (64, 64)
    pixels[:, 20:31, 90:101] = 200
    assert find_brightness_centre(pixels) == (25, 95)
    assert make_sections(pixels[:1], of_one(300.0, np.zeros(1))).pixels.shape == (2, 1, 128)


lengths = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@settings(max_examples=25)
@given(lengths=lengths, seed=st.integers(0, 99))
def test_sections_of_some_slices_are_those_of_all(lengths: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    volume = np.repeat(rng.permutation(len(lengths)), lengths)
    n = len(volume)
    placing = Placing(
        np.repeat(rng.uniform(150, 600, len(lengths)), lengths), volume, np.arange(n) * 5.0
    )
    pixels = rng.integers(0, 256, (n, 128, 128), dtype=np.uint8)
    rows = np.unique(rng.integers(0, n, 4))
    whole, some = make_sections(pixels, placing), make_sections_of_slices(pixels, rows, placing)
    for at, row in enumerate(rows):
        mine, theirs = (
            slice(some.first_row_of_volume[at], some.row_after_volume[at]),
            slice(whole.first_row_of_volume[row], whole.row_after_volume[row]),
        )
        assert np.array_equal(some.pixels[:, mine], whole.pixels[:, theirs])
        assert (
            some.row_of_slice[at] - some.first_row_of_volume[at]
            == whole.row_of_slice[row] - whole.first_row_of_volume[row]
        )


def test_every_slice_of_a_thin_stack_counts_alike_in_its_section():
    """Each stands in the rows with the same weight, but for the two ends."""
    along, _ = row_weights_and_rows(np.arange(0.0, 120.0, 1.0))
    np.testing.assert_allclose(along.sum(axis=0)[6:-6], 0.25, atol=0.02)
