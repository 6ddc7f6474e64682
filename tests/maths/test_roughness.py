"""The roughness of a stack against all pairs one by one, against random order, and against smooth bodies."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from fovnet.maths.roughness import LEAST_SLICES, roughness, without_lone


@given(s=integers(LEAST_SLICES, 40), k=integers(2, 8), seed=integers(0, 10**6))
def test_it_is_the_ratio_of_neighbours_to_all_pairs_but_for_the_lone_ones(s: int, k: int, seed: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.ones(k), s)
    kept = without_lone(p)
    distance = [np.abs(a - b).sum() / 2 for a, b in combinations(kept, 2)]
    neighbours = [np.abs(a - b).sum() / 2 for a, b in pairwise(kept)]
    assert roughness(p) == pytest.approx(np.mean(neighbours) / np.mean(distance))


@pytest.mark.parametrize("s", [10, 20, 40, 100])
def test_one_odd_slice_of_ten_is_no_disorder(s: int) -> None:
    """Cuts without signal, or ones that the networks take for another region: the others are in any order what they are."""
    p = np.tile([0.98, 0.01, 0.01], (s, 1))
    p[4::10] = [0.01, 0.98, 0.01]
    assert len(without_lone(p)) == s - s // 10 and roughness(p) < 0.3
    p[4::5] = [0.01, 0.98, 0.01]
    assert roughness(p) > 0.9, "of two in ten nobody can tell"


def test_random_order_has_one_on_average_and_a_body_far_less() -> None:
    rng = np.random.default_rng(0)
    body = np.eye(5)[np.repeat(np.arange(5), 12)] * 0.8 + 0.2 * rng.dirichlet(np.ones(5), 60)
    assert roughness(body) < 0.3
    assert np.mean([roughness(body[rng.permutation(60)]) for _ in range(2000)]) == pytest.approx(1.0, abs=0.01)


def test_few_slices_and_slices_that_say_the_same_have_none() -> None:
    assert roughness(np.eye(5)[: LEAST_SLICES - 1]) == 0.0
    assert roughness(np.full((50, 4), 0.25)) == 0.0
    faint = np.full((50, 2), 0.5) + 0.001 * np.random.default_rng(0).choice([-1, 1], (50, 1)) * [1, -1]
    assert roughness(faint) < 0.1
