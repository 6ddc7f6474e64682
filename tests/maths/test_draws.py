"""What chance needs: against enumeration."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from fovnet.maths.draws import chance_of_finding, deviation_of_draws, expected_draws


def test_chance_equals_all_orders_of_six_rows() -> None:
    firsts = np.array([1 + min(order.index(0), order.index(1)) for order in permutations(range(6))])
    assert chance_of_finding(6, 2, 8) == pytest.approx([(firsts <= n).mean() for n in range(1, 9)])
    assert expected_draws(6, 2) == pytest.approx(firsts.mean()) == pytest.approx(7 / 3)
    assert deviation_of_draws(6, 2) == pytest.approx(firsts.std())
    for most in range(1, 8):
        assert expected_draws(6, 2, most) == pytest.approx(np.minimum(firsts, most).mean())


@given(rows=integers(1, 500), good=integers(1, 500))
def test_the_mean_is_the_sum_of_its_tail(rows: int, good: int) -> None:
    good = min(good, rows)
    assert 1 + (1 - chance_of_finding(rows, good, rows)).sum() == pytest.approx(
        (rows + 1) / (good + 1)
    )
