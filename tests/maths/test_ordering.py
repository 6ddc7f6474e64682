"""Von Neumann's ratio: 2 for what is in no order, by counting all orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from fovnet.maths.ordering import neighbour_ratio


@given(integers(0, 10**6), integers(3, 6), integers(1, 4))
def test_the_mean_over_all_orders_is_two(seed: int, s: int, d: int) -> None:
    x = np.random.default_rng(seed).normal(size=(s, d)) ** 3
    ratios = [neighbour_ratio(x[list(order)]) for order in permutations(range(s))]
    assert np.mean(ratios) == pytest.approx(2.0)


def test_a_straight_course_has_its_closed_form() -> None:
    """Steps of 1 on 0..s-1: (s - 1) / (s (s² - 1) / 12) = 12 / (s (s + 1))."""
    for s in (3, 10, 50):
        assert neighbour_ratio(np.arange(s)[:, None]) == pytest.approx(12 / (s * (s + 1)))


def test_nothing_speaks_against_too_few_or_equal_things() -> None:
    assert neighbour_ratio(np.array([[1.0], [9.0]])) == 0
    assert neighbour_ratio(np.ones((10, 3))) == 0
