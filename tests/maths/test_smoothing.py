"""Smoothing in millimetres, temperature, and the best stretch, against scipy, closed forms and brute
force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers, lists
from scipy.ndimage import gaussian_filter1d

from fovnet.maths.smoothing import best_stretch, smooth_along_body, temper


def rows(s: int, k: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(k), size=s)


@given(s=integers(1, 40), sigma_mm=floats(0, 100), seed=integers(0, 99))
def test_rows_still_sum_to_one(s: int, sigma_mm: float, seed: int) -> None:
    z_mm = np.sort(np.random.default_rng(seed).uniform(0, 500, s))
    np.testing.assert_allclose(smooth_along_body(rows(s, 7, seed), z_mm, sigma_mm).sum(axis=1), 1.0)


def test_far_from_the_ends_it_is_the_sampled_gaussian_of_scipy() -> None:
    p, spacing_mm = rows(81, 3, 0), 2.5
    ours = smooth_along_body(p, spacing_mm * np.arange(81), 10.0)
    theirs = gaussian_filter1d(p, 10.0 / spacing_mm, axis=0, truncate=9)
    np.testing.assert_allclose(ours[40], theirs[40], atol=1e-9)


@given(lists(floats(0.1, 300.0), min_size=1, max_size=12), floats(0.05, 30.0), integers(0, 999))
def test_of_slices_however_far_apart_each_weighs_by_its_own_distance(
    gaps_mm: list[float], sigma_mm: float, seed: int
) -> None:
    """Written out as the normalised convolution: a gap between two stations is no reason to smooth
    neither."""
    z_mm = np.concatenate([[0.0], np.cumsum(gaps_mm)])
    p = np.random.default_rng(seed).dirichlet(np.ones(3), len(z_mm))
    weights = np.exp(-0.5 * (np.subtract.outer(z_mm, z_mm) / sigma_mm) ** 2)
    np.testing.assert_allclose(
        smooth_along_body(p, z_mm, sigma_mm),
        weights @ p / weights.sum(axis=1, keepdims=True),
        atol=1e-12,
    )


def test_twice_the_slices_of_the_same_body_smooth_to_the_same_curve() -> None:
    """sigma is in millimetres: 3 mm and 1.5 mm stacks of one smooth curve agree."""
    fine, coarse = np.arange(0, 600, 1.5), np.arange(0, 600, 3.0)

    def curve(z_mm: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(-(z_mm - 300) / 20))
        return np.column_stack([p, 1 - p])

    a = smooth_along_body(curve(fine), fine, 12.0)[::2]
    b = smooth_along_body(curve(coarse), coarse, 12.0)
    np.testing.assert_allclose(a[20:-20], b[20:-20], atol=2e-3)


def test_temperature_one_changes_nothing_and_infinity_forgets_everything() -> None:
    p = rows(5, 4, 1)
    np.testing.assert_allclose(temper(p, 1.0), p, atol=1e-12)
    np.testing.assert_allclose(temper(p, 1e9), 0.25, atol=1e-6)


def test_tempering_is_the_softmax_of_divided_scores() -> None:
    scores = np.random.default_rng(2).normal(size=(6, 5))
    softmax = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    cooled = np.exp(scores / 1.7) / np.exp(scores / 1.7).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(temper(softmax, 1.7), cooled, atol=1e-10)


@given(lists(floats(-5, 5), min_size=1, max_size=12))
def test_the_best_stretch_is_the_best_of_all_stretches(gain: list[float]) -> None:
    sums = [sum(gain[a : b + 1]) for a in range(len(gain)) for b in range(a, len(gain))]
    first, last, total = best_stretch(np.array(gain))
    assert total == pytest.approx(max(0.0, *sums), abs=1e-9)
    assert total == pytest.approx(sum(gain[first : last + 1]), abs=1e-9)


def test_a_stretch_that_gains_nothing_is_none_and_nothing_is_taken_in_that_gains_nothing() -> None:
    assert best_stretch(np.zeros(3)) == best_stretch(np.array([-1.0, 0.0])) == (0, -1, 0.0)
    assert best_stretch(np.array([0.0, 1.0, 2.0, 0.0])) == (1, 2, 3.0)
