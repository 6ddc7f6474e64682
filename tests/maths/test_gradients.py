"""Histograms of oriented gradients, against the definition pixel by pixel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fovnet.maths.gradients import (
    BINS,
    CELL_PIXELS,
    NOISE_ENERGY,
    move_histograms,
    orientation_histograms,
)
from fovnet.maths.turns import MOVES


def by_hand(picture):
    """(rows, columns, BINS) of one picture, a vote at a time, then divided by the cells about it."""
    h, w = picture.shape
    votes = np.zeros((h // CELL_PIXELS, w // CELL_PIXELS, BINS))
    for y in range(h):
        for x in range(w):
            down = picture[y + 1, x] - picture[y - 1, x] if 0 < y < h - 1 else 0.0
            across = picture[y, x + 1] - picture[y, x - 1] if 0 < x < w - 1 else 0.0
            at = (np.arctan2(down, across) % np.pi) / np.pi * BINS
            low = int(at)
            votes[y // CELL_PIXELS, x // CELL_PIXELS, low % BINS] += np.hypot(across, down) * (
                1 - (at - low)
            )
            votes[y // CELL_PIXELS, x // CELL_PIXELS, (low + 1) % BINS] += np.hypot(
                across, down
            ) * (at - low)
    made = np.zeros_like(votes)
    for i, j in np.ndindex(votes.shape[:2]):
        about = sum(
            (votes[a, b] ** 2).sum()
            for a in range(max(0, i - 1), min(len(votes), i + 2))
            for b in range(max(0, j - 1), min(votes.shape[1], j + 2))
        )
        made[i, j] = votes[i, j] / np.sqrt(about / 9 + NOISE_ENERGY)
    return made


@given(seed=st.integers(0, 999), rows=st.integers(1, 3), columns=st.integers(1, 3))
@settings(max_examples=15)
def test_every_pixel_votes_for_the_two_nearest_directions(seed, rows, columns):
    picture = (
        np.random.default_rng(seed)
        .random((rows * CELL_PIXELS, columns * CELL_PIXELS))
        .astype(np.float32)
    )
    np.testing.assert_allclose(
        orientation_histograms(picture[None])[0],
        by_hand(picture.astype(float)),
        rtol=1e-3,
        atol=1e-4,
    )


@given(seed=st.integers(0, 999), move=st.sampled_from(MOVES))
@settings(max_examples=20)
def test_those_of_a_moved_picture_are_those_of_the_picture_moved(seed, move):
    pictures = np.random.default_rng(seed).random((2, 24, 24)).astype(np.float32)
    transposed, rows, columns = move
    laid = pictures.swapaxes(1, 2) if transposed else pictures
    laid = laid[:, :: -1 if rows else 1, :: -1 if columns else 1]
    np.testing.assert_allclose(
        orientation_histograms(np.ascontiguousarray(laid)),
        move_histograms(orientation_histograms(pictures), move),
        rtol=1e-4,
        atol=1e-5,
    )


def test_a_picture_in_negative_has_the_same_ones():
    """Fat is bright in one weighting and dark in another."""
    picture = np.random.default_rng(1).random((1, 32, 32)).astype(np.float32)
    np.testing.assert_allclose(
        orientation_histograms(1 - picture), orientation_histograms(picture), rtol=1e-3, atol=1e-5
    )


@pytest.mark.parametrize(("turn", "which"), [(0, 0), (1, BINS // 2)])
def test_an_edge_that_runs_down_points_across_and_one_that_runs_across_points_down(turn, which):
    edge = np.zeros((16, 16), np.float32)
    edge[:, 8:] = 1
    found = orientation_histograms(np.rot90(edge, turn)[None].copy())[0].sum(axis=(0, 1))
    assert found[which] > 0
    assert np.delete(found, which) == pytest.approx(0)


def test_a_flat_picture_has_none():
    assert not orientation_histograms(np.full((1, 16, 24), 0.7, np.float32)).any()
