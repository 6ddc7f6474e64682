"""How many random draws find a good row, exactly: the baseline that any search has to beat.

    M  rows        g  good ones among them        n  draws without replacement
P(none of the n draws is good) = C(M - n, g) / C(M, g).
Source: Bergstra & Bengio, *Random search for hyper-parameter optimization* (JMLR 2012); Johnson,
Kemp & Kotz, *Univariate discrete distributions* (2005), chapter 6: the negative hypergeometric,
whose mean is (M + 1) / (g + 1).
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def chance_found(rows: int, good: int, draws: int) -> Floats:
    """P(a good row is among the first n draws without replacement), (draws,), for n = 1 .. draws.
    Raises ValueError unless 1 <= good <= rows."""
    refuse_counts(rows, good)
    remaining_rows = np.arange(rows, rows - min(draws, rows), -1)
    success_chances = 1.0 - np.cumprod(np.maximum(remaining_rows - good, 0) / remaining_rows)
    return np.concatenate([success_chances, np.ones(draws - len(success_chances))])


def expected_draws(rows: int, good: int, most: int | None = None) -> float:
    """Mean draws without replacement until the first good row, (M + 1) / (g + 1); a run of `most`
    draws without one counts as `most`.

    Raises ValueError unless 1 <= good <= rows.
    """
    refuse_counts(rows, good)
    if most is None or most >= rows:
        return (rows + 1) / (good + 1)
    # E min(T, m) = Σ P(T > n) over n < m
    return 1.0 + float((1.0 - chance_found(rows, good, most - 1)).sum())


def deviation_of_draws(rows: int, good: int) -> float:
    """Standard deviation of the same, √(g (M + 1) (M - g) / (g + 2)) / (g + 1).  Raises ValueError
    as `expected_draws`."""
    refuse_counts(rows, good)
    return sqrt(good * (rows + 1) * (rows - good) / (good + 2)) / (good + 1)


def refuse_counts(rows: int, good: int) -> None:
    """Raise ValueError unless 1 <= good <= rows."""
    if not 1 <= good <= rows:
        raise ValueError(f"{good} good rows among {rows}: must be at least one and at most all")
