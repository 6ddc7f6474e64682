"""How many random draws find a good row, exactly: the baseline that any search has to beat.

    M  rows        g  good ones among them, or their share        n  draws        p  the certainty wanted
Without replacement P(none of the n draws is good) = C(M - n, g) / C(M, g); with replacement it is (1 -
share)ⁿ.

Shares and certainties are read as decimals and compared in whole numbers: the float 0.1 is slightly more than
a tenth, so that a tenth of 30 rows would become four of them.
Source: Bergstra & Bengio, *Random search for hyper-parameter optimization* (JMLR 2012); Johnson, Kemp & Kotz,
*Univariate discrete distributions* (2005), chapter 6: the negative hypergeometric, whose mean is (M + 1) / (g
+ 1).
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, comb, floor, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def share_of(rows: int, share: float) -> int:
    """How many rows are the best `share` of all, rounded up.  Raises ValueError unless 0 < share < 1."""
    return ceil(_decimal(share, "share") * rows)


def draws_with_replacement(share: float, certainty: float) -> int:
    """The fewest draws n with 1 - (1 - share)ⁿ > certainty, strictly.  Raises ValueError unless both lie
    between 0 and 1.

    That is ceil(log(1 - p) / log(1 - share)), and one more where the quotient is whole: one throw of a coin
    is heads with 0.5, no more.
    """
    miss, doubt = 1 - _decimal(share, "share"), 1 - _decimal(certainty, "certainty")
    # at most two below; the rest is settled exactly
    n = max(0, floor(log1p(-certainty) / log1p(-share)) - 1)
    while miss**n >= doubt:
        n += 1
    return n


def draws_without_replacement(rows: int, good: int, certainty: float) -> int:
    """The fewest draws n from `rows`, of which `good` are good, that hold a good one with more than
    `certainty`, strictly.

    At most rows - good + 1, where one is certain.  Raises ValueError unless 1 <= good <= rows and 0 <
    certainty < 1.
    """
    _refuse_counts(rows, good)
    doubt = 1 - _decimal(certainty, "certainty")
    low, high = 0, rows - good + 1  # low is too few, high is enough
    # with replacement it takes no fewer; 2 for the rounding
    if good < rows:
        high = min(high, floor(log1p(-certainty) / log1p(-good / rows)) + 2)
    while high - low > 1:
        middle = (low + high) // 2
        missed, every = _none_good(rows, good, middle)
        if missed * doubt.denominator < every * doubt.numerator:
            high = middle
        else:
            low = middle
    return high


def chance_found(rows: int, good: int, draws: int) -> Floats:
    """P(a good row is among the first n draws without replacement), (draws,), for n = 1 .. draws.  Raises
    ValueError as above."""
    _refuse_counts(rows, good)
    left = np.arange(rows, rows - min(draws, rows), -1)
    found = 1.0 - np.cumprod(np.maximum(left - good, 0) / left)
    return np.concatenate([found, np.ones(draws - len(found))])


def expected_draws(rows: int, good: int, most: int | None = None) -> float:
    """Mean draws without replacement until the first good row, (M + 1) / (g + 1); a run of `most` draws
    without one counts as `most`.

    Raises ValueError unless 1 <= good <= rows.
    """
    _refuse_counts(rows, good)
    if most is None or most >= rows:
        return (rows + 1) / (good + 1)
    # E min(T, m) = Σ P(T > n) over n < m
    return 1.0 + float((1.0 - chance_found(rows, good, most - 1)).sum())


def deviation_of_draws(rows: int, good: int) -> float:
    """Standard deviation of the same, √(g (M + 1) (M - g) / (g + 2)) / (g + 1).  Raises ValueError as
    `expected_draws`."""
    _refuse_counts(rows, good)
    return sqrt(good * (rows + 1) * (rows - good) / (good + 2)) / (good + 1)


def _none_good(rows: int, good: int, draws: int) -> tuple[int, int]:
    """The number of samples without a good row, and of all samples; of the equal ratios C(M - n, g) / C(M, g)
    = C(M - g, n) / C(M, n) the one with the smaller numbers."""
    if draws < good:
        return comb(rows - good, draws), comb(rows, draws)
    return comb(rows - draws, good), comb(rows, good)


def _decimal(value: float, name: str) -> Fraction:
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name} {value}: must be a number between 0 and 1, exclusive")
    return Fraction(repr(float(value)))


def _refuse_counts(rows: int, good: int) -> None:
    if not 1 <= good <= rows:
        raise ValueError(f"{good} good rows among {rows}: must be at least one and at most all")
