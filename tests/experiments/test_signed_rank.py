"""The signed-rank test against the enumeration of all signs, and its laws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from signed_rank import signed_rank_p


def p_of_all_signs(differences: np.ndarray) -> float:
    """Two-sided, by trying every assignment of signs."""
    nonzero = differences[differences != 0]
    ranks = rankdata(np.abs(nonzero))
    signs = np.array([*product((0, 1), repeat=len(ranks))])
    sums = signs @ ranks
    won = ranks[nonzero > 0].sum()
    lower = min(won, ranks.sum() - won)
    return min(1.0, 2 * float((sums <= lower + 1e-9).mean()))


def drawn(seed: int) -> np.ndarray:
    """Up to nine differences in -3 .. 3: ties and zeros in most."""
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, size=int(rng.integers(1, 10))).astype(np.float64)


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_enumeration_of_all_signs(seed: int) -> None:
    differences = drawn(seed)
    assert signed_rank_p(differences) == pytest.approx(p_of_all_signs(differences), abs=1e-14)


@pytest.mark.parametrize("seed", range(40))
def test_a_difference_of_nothing_changes_nothing_nor_do_order_scale_and_side(seed: int) -> None:
    differences = drawn(seed)
    p = signed_rank_p(differences)
    assert signed_rank_p(np.append(differences, np.zeros(seed % 7 + 1))) == p
    assert signed_rank_p(-4 * differences[::-1]) == pytest.approx(p, abs=1e-14)


@pytest.mark.parametrize("seed", range(40))
def test_one_more_that_is_won_by_no_less_than_the_others_never_raises_p_of_who_is_ahead(
    seed: int,
) -> None:
    differences = drawn(seed)
    ranks = rankdata(np.abs(differences))
    side = 1.0 if (ranks * np.sign(differences)).sum() >= 0 else -1.0
    largest = float(np.abs(differences).max()) or 1.0
    for won_by in (largest, largest + 1):
        assert (
            signed_rank_p(np.append(differences, side * won_by))
            <= signed_rank_p(differences) + 1e-14
        )


@pytest.mark.parametrize("n", range(1, 30))
def test_ahead_everywhere_has_the_rarest_outcome_whatever_the_ties(n: int) -> None:
    for differences in (np.ones(n), np.arange(1.0, n + 1), np.minimum(np.arange(1.0, n + 1), 5.0)):
        assert signed_rank_p(differences) == pytest.approx(0.5 ** (n - 1))


@pytest.mark.parametrize("n", [5, 20, 51, 430])
def test_without_ties_it_is_scipys_exact_test(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.2, 1.0, n)
    assert signed_rank_p(differences) == pytest.approx(wilcoxon(differences, method="exact").pvalue)


def test_without_differences_p_is_1() -> None:
    assert signed_rank_p(np.zeros(6)) == 1.0 and signed_rank_p(np.empty(0)) == 1.0


def test_the_example_of_a_small_win_that_raises_p_is_as_it_says() -> None:
    before = np.array([-1, -2, -3, -4, -5, 6, 7, 8.0])
    assert signed_rank_p(before) == pytest.approx(0.742, abs=5e-4)
    assert signed_rank_p(np.append(before, 0.5)) == pytest.approx(0.820, abs=5e-4)
