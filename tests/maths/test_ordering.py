"""Von Neumann's ratio: 2 for what is in no order, by counting all orders."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from fovnet.maths.ordering import PASS_COUNTS, detect_passes, neighbour_ratio


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


@pytest.mark.parametrize("number", PASS_COUNTS)
@given(seed=integers(0, 10**6), s=integers(16, 60), first=integers(0, 3))
def test_a_smooth_course_taken_in_passes_is_told_from_one_in_its_order(
    number: int, seed: int, s: int, first: int
) -> None:
    """Either way along it, whichever pass came first, and with noise a tenth as large as the course."""
    rng = np.random.default_rng(seed)
    turn = rng.uniform(0, np.pi, 8) + np.linspace(0, 4, s)[:, None]
    x = np.cos(turn) + 0.07 * rng.normal(size=(s, 8))
    order = np.concatenate(
        [np.arange((first + later) % number, s, number) for later in range(number)]
    )
    assert detect_passes(x[order]) == detect_passes(x[::-1][order]) == number
    assert detect_passes(x) == detect_passes(x[::-1]) == 1


def test_what_is_in_no_order_or_few_lies_in_no_passes() -> None:
    """Of a few things some order fits better by chance: 9 of 9 would have to fit."""
    rng = np.random.default_rng(0)
    assert {detect_passes(rng.normal(size=(s, 256))) for s in range(2, 120)} == {1}
    assert detect_passes(np.arange(9.0)[:, None][[0, 2, 4, 6, 8, 1, 3, 5, 7]]) == 1
    assert detect_passes(np.ones((20, 3))) == 1
    # ten are enough
    assert detect_passes(np.arange(10.0)[:, None][[0, 2, 4, 6, 8, 1, 3, 5, 7, 9]]) == 2
