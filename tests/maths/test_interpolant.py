"""Interpolants against scipy's, and against what they must reproduce."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from fovnet.maths.interpolant import interpolate_by_distance, interpolate_cubic, nearest_squared_gap

rng = np.random.default_rng(0)
KNOWN, ASKED = rng.random((30, 4)), rng.random((5000, 4))
VALUES = np.sin(3 * KNOWN).sum(axis=1)


def test_the_cubic_interpolant_is_scipys():
    oracle = RBFInterpolator(KNOWN, VALUES, kernel="cubic", degree=1, smoothing=1e-6)
    assert np.allclose(interpolate_cubic(KNOWN, VALUES, ASKED), oracle(ASKED), atol=1e-4)
    assert np.allclose(interpolate_cubic(KNOWN, VALUES, KNOWN), VALUES, atol=1e-5)


def test_the_cubic_interpolant_is_exact_for_affine_values_and_solvable_where_points_lie_in_a_plane():
    slope = np.array([1.0, -2.0, 0.5, 3.0])
    assert np.allclose(
        interpolate_cubic(KNOWN, KNOWN @ slope + 2.0, ASKED), ASKED @ slope + 2.0, atol=1e-5
    )
    flat = np.column_stack([KNOWN[:, :2], np.ones((30, 2))])
    assert (
        np.isfinite(interpolate_cubic(flat, VALUES, ASKED)).all()
        and np.isfinite(interpolate_cubic(KNOWN[:1], VALUES[:1], ASKED)).all()
    )


def test_shepards_mean_is_the_value_near_a_point_and_lies_between_the_extremes():
    assert interpolate_by_distance(KNOWN[:1], VALUES[:1], KNOWN[:1]) == pytest.approx(
        VALUES[:1], abs=1e-3
    )
    mean = interpolate_by_distance(KNOWN, VALUES, ASKED)
    assert VALUES.min() <= mean.min() and mean.max() <= VALUES.max()
    assert np.argmin(interpolate_by_distance(KNOWN, VALUES, KNOWN)) == np.argmin(VALUES)


def test_the_nearest_gap_is_that_of_brute_force():
    brute = [min(((known - point) ** 2).sum() for known in KNOWN) for point in ASKED[:50]]
    assert (
        np.allclose(nearest_squared_gap(KNOWN, ASKED)[:50], brute)
        and (nearest_squared_gap(KNOWN, KNOWN) == 0.0).all()
    )
