"""What chance needs: against enumeration, scipy's hypergeometric distribution, and numbers that everybody can
check."""

from __future__ import annotations

from itertools import permutations
from math import ceil, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers
from scipy.stats import hypergeom

from fovnet.maths.draws import (
    chance_found,
    deviation_of_draws,
    draws_with_replacement,
    draws_without_replacement,
    expected_draws,
    share_of,
)


@pytest.mark.parametrize(
    ("certainty", "wanted"), [(0.5, (69, 14, 7)), (0.95, (299, 59, 29)), (0.99, (459, 90, 44))]
)
def test_the_top_percent_takes_69_299_and_459_draws_with_replacement(
    certainty: float, wanted: tuple[int, ...]
) -> None:
    """ceil(log(1 - p) / log(1 - share)): none of the nine quotients is whole.  59 draws for the top 5 % are
    folklore."""
    assert tuple(draws_with_replacement(share, certainty) for share in (0.01, 0.05, 0.1)) == wanted
    assert tuple(ceil(log(1 - certainty) / log(1 - share)) for share in (0.01, 0.05, 0.1)) == wanted


@pytest.mark.parametrize(
    ("share", "certainty", "draws"),
    [(0.5, 0.5, 2), (0.5, 0.75, 3), (0.1, 0.19, 3), (0.1, 0.1, 2), (0.1, 0.0999, 1)],
)
def test_more_than_a_certainty_is_meant_strictly(
    share: float, certainty: float, draws: int
) -> None:
    """A coin shows heads in two throws with 3/4; floats hold 1 - 0.9² and 0.19 a last bit apart."""
    assert draws_with_replacement(share, certainty) == draws


@given(rows=integers(1, 200), good=integers(1, 200), certainty=floats(0.01, 0.999))
def test_without_replacement_the_draws_are_the_fewest_that_scipy_calls_enough(
    rows: int, good: int, certainty: float
) -> None:
    good = min(good, rows)
    n = draws_without_replacement(rows, good, certainty)
    miss = hypergeom.pmf(0, rows, good, np.arange(n + 1))
    assert miss[n] < 1 - certainty + 1e-9
    assert miss[n - 1] >= 1 - certainty - 1e-9


@pytest.mark.parametrize(
    ("rows", "good", "certainty", "draws"),
    [(2, 1, 0.5, 2), (4, 1, 0.5, 3), (4, 1, 0.49, 2), (10, 9, 0.9, 2), (7, 7, 0.99, 1)],
)
def test_an_even_chance_is_not_more_than_even(
    rows: int, good: int, certainty: float, draws: int
) -> None:
    assert draws_without_replacement(rows, good, certainty) == draws


def test_a_finite_space_needs_fewer_draws_and_an_endless_one_as_many() -> None:
    for share in (0.01, 0.05, 0.1):
        for certainty in (0.5, 0.95, 0.99):
            endless = draws_with_replacement(share, certainty)
            assert draws_without_replacement(600, share_of(600, share), certainty) <= endless
            assert draws_without_replacement(10**6, share_of(10**6, share), certainty) == endless


def test_chance_equals_all_orders_of_six_rows() -> None:
    firsts = np.array([1 + min(order.index(0), order.index(1)) for order in permutations(range(6))])
    assert chance_found(6, 2, 8) == pytest.approx([(firsts <= n).mean() for n in range(1, 9)])
    assert expected_draws(6, 2) == pytest.approx(firsts.mean()) == pytest.approx(7 / 3)
    assert deviation_of_draws(6, 2) == pytest.approx(firsts.std())
    for most in range(1, 8):
        assert expected_draws(6, 2, most) == pytest.approx(np.minimum(firsts, most).mean())


@given(rows=integers(1, 500), good=integers(1, 500))
def test_the_mean_is_the_sum_of_its_tail(rows: int, good: int) -> None:
    good = min(good, rows)
    assert 1 + (1 - chance_found(rows, good, rows)).sum() == pytest.approx((rows + 1) / (good + 1))


def test_a_tenth_of_thirty_rows_is_three_of_them() -> None:
    assert [share_of(rows, 0.1) for rows in (30, 31, 34300)] == [3, 4, 3430]
    # 0.07 * 700 is 49.00000000000001 in floats
    assert share_of(700, 0.07) == 49


@pytest.mark.parametrize("certainty", [0.0, 1.0, -0.1, float("nan")])
def test_certainty_is_no_certainty_and_no_nonsense(certainty: float) -> None:
    with pytest.raises(ValueError, match="certainty"):
        draws_with_replacement(0.1, certainty)
    with pytest.raises(ValueError, match="good rows"):
        draws_without_replacement(10, 0, 0.5)
