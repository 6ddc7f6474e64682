"""Levels on a logarithmic scale: as many as were asked for, from end to end, each as many times the one
before."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.levels import even_ratios


@pytest.mark.parametrize(
    ("low", "high", "levels"), [(1e-5, 1e-1, 9), (1.0, 1000.0, 4), (0.5, 3.0, 7)]
)
def test_each_level_is_as_many_times_the_one_before(low: float, high: float, levels: int) -> None:
    made = even_ratios(low, high, levels)
    assert len(made) == levels and (made[0], made[-1]) == (low, high)
    assert np.divide(made[1:], made[:-1]) == pytest.approx(
        (high / low) ** (1 / (levels - 1)), rel=1e-3
    )


def test_a_level_has_four_digits() -> None:
    assert even_ratios(1.0, 10.0, 4) == (1.0, 2.154, 4.642, 10.0)
    assert even_ratios(1.23456, 1.23456, 1) == (1.235,)


def test_levels_of_too_narrow_a_range_are_alike() -> None:
    assert len(set(even_ratios(1.0, 1.0004, 9))) < 9
