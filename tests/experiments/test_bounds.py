"""What chance needs: against scipy's hypergeometric distribution, and numbers that everybody can
check."""

from __future__ import annotations

from math import ceil, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers
from scipy.stats import hypergeom

from bounds import app, bounds, draws_with_replacement, draws_without_replacement, good_of
from fovnet.errors import ConfigError
from fovnet.records import read_tsv
from tests.typed_words import output_of


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
            assert draws_without_replacement(600, good_of(600, share), certainty) <= endless
            assert draws_without_replacement(10**6, good_of(10**6, share), certainty) == endless


def test_a_tenth_of_thirty_rows_is_three_of_them() -> None:
    assert [good_of(rows, 0.1) for rows in (30, 31, 34300)] == [3, 4, 3430]
    # 0.07 * 700 is 49.00000000000001 in floats
    assert good_of(700, 0.07) == 49


@pytest.mark.parametrize("certainty", [0.0, 1.0, -0.1, float("nan")])
def test_certainty_is_no_certainty_and_no_nonsense(certainty: float) -> None:
    with pytest.raises(ValueError, match="certainty"):
        draws_with_replacement(0.1, certainty)
    with pytest.raises(ValueError, match="good rows"):
        draws_without_replacement(10, 0, 0.5)


def test_bounds_hold_for_the_papers_space() -> None:
    """The top 1 % are 343 of 34,300: 69 draws for better than even, with or without replacement."""
    found = {(bound.share, bound.certainty): bound for bound in bounds(34_300)}
    assert found[0.01, 0.5].good == 343
    assert (found[0.01, 0.5].with_replacement, found[0.01, 0.5].without_replacement) == (69, 69)
    assert (found[0.05, 0.95].with_replacement, found[0.05, 0.95].without_replacement) == (59, 59)


def test_the_bound_of_chance_is_printed_and_kept(tmp_path: Path) -> None:
    for _ in range(2):  # its own table is written anew
        output = output_of(app, "--rows", 600, "--out", tmp_path / "bound.tsv")
    # C(534, 6) / C(600, 6) is the first below a half
    assert "66 (69)" in output
    assert len(read_tsv(tmp_path / "bound.tsv")) == 9


def test_a_table_of_the_users_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "bound.tsv").write_text("draws of my own\n")
    with pytest.raises(ConfigError, match="would be overwritten"):
        output_of(app, "--out", tmp_path / "bound.tsv")
