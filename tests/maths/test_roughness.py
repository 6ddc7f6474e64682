"""The roughness of a stack against all pairs one by one, against random order, and against smooth bodies."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from fovnet.maths.roughness import LEAST_DISTANCE, LEAST_SLICES, drop_outliers, measure_roughness


@given(s=integers(LEAST_SLICES, 40), k=integers(2, 8), seed=integers(0, 10**6))
def test_it_is_the_ratio_of_the_more_alike_neighbours_to_all_pairs(
    s: int, k: int, seed: int
) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(k), s)
    kept = drop_outliers(p)
    distance = [np.abs(a - b).sum() / 2 for a, b in combinations(kept, 2)]
    neighbours = [
        np.mean([np.abs(a - b).sum() / 2 for a, b in zip(kept, kept[lag:], strict=False)])
        for lag in (1, 2)
    ]
    assert measure_roughness(p) == pytest.approx(
        min(neighbours) / max(np.mean(distance), LEAST_DISTANCE)
    )


@pytest.mark.parametrize("s", [10, 20, 40, 100])
def test_one_odd_slice_of_ten_is_no_disorder(s: int) -> None:
    """Cuts without signal, or ones that the networks take for another region: the others are in any order
    what they are."""
    p = np.tile([0.98, 0.01, 0.01], (s, 1))
    p[4::10] = [0.01, 0.98, 0.01]
    assert len(drop_outliers(p)) == s - s // 10 and measure_roughness(p) < 0.3
    assert measure_roughness(np.vstack([p, [0.01, 0.01, 0.98]])) < 0.6, "nor with air at the end"


def test_more_than_one_odd_slice_of_ten_are_not_all_left_out() -> None:
    """Three of twenty may be a region that comes and goes: two of them are taken for lone ones."""
    p = np.tile([0.98, 0.02], (20, 1))
    p[[4, 10, 16]] = [0.02, 0.98]
    assert len(drop_outliers(p)) == 18


@pytest.mark.parametrize("dim", [0.94, 0.9, 0.7, 0.4])
def test_slices_that_take_turns_are_no_disorder(dim: float) -> None:
    """Interleaved acquisitions: every other slice is darker, and the networks less sure of it."""
    share = np.where(np.arange(30) % 2, 0.97, dim)
    assert measure_roughness(np.column_stack([share, 1 - share])) < 0.1


def test_random_order_has_one_on_average_and_a_body_far_less() -> None:
    rng = np.random.default_rng(0)
    body = np.eye(5)[np.repeat(np.arange(5), 12)] * 0.8 + 0.2 * rng.dirichlet(np.ones(5), 60)
    assert measure_roughness(body) < 0.3
    assert np.mean(
        [measure_roughness(body[rng.permutation(60)]) for _ in range(2000)]
    ) == pytest.approx(0.97, abs=0.03)


def test_few_slices_and_slices_that_say_the_same_have_none() -> None:
    assert measure_roughness(np.eye(5)[: LEAST_SLICES - 1]) == 0.0
    assert measure_roughness(np.full((50, 4), 0.25)) == 0.0
    faint = np.full((50, 2), 0.5) + 0.001 * np.random.default_rng(0).choice([-1, 1], (50, 1)) * [
        1,
        -1,
    ]
    assert measure_roughness(faint) < 0.1
