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


def chance_of_finding(row_count: int, good_count: int, draw_count: int) -> Floats:
    """P(a good row is among the first n draws without replacement), (draw_count,), for n = 1 ..
    draw_count.  Raises ValueError unless 1 <= good_count <= row_count."""
    refuse_counts(row_count, good_count)
    remaining_rows = np.arange(row_count, row_count - min(draw_count, row_count), -1)
    chance_by_draw = 1.0 - np.cumprod(np.maximum(remaining_rows - good_count, 0) / remaining_rows)
    return np.concatenate([chance_by_draw, np.ones(draw_count - len(chance_by_draw))])


def expected_draws(row_count: int, good_count: int, greatest_draws: int | None = None) -> float:
    """Mean draws without replacement until the first good row, (M + 1) / (g + 1) with M rows,
    g of them good; a run of `greatest_draws` without one counts as `greatest_draws`.

    Raises ValueError unless 1 <= good_count <= row_count.
    """
    refuse_counts(row_count, good_count)
    if greatest_draws is None or greatest_draws >= row_count:
        return (row_count + 1) / (good_count + 1)
    # E min(T, m) = Σ P(T > n) over n < m
    return 1.0 + float((1.0 - chance_of_finding(row_count, good_count, greatest_draws - 1)).sum())


def deviation_of_draws(row_count: int, good_count: int) -> float:
    """Standard deviation of the same, √(g (M + 1) (M - g) / (g + 2)) / (g + 1).  Raises ValueError
    as `expected_draws`."""
    refuse_counts(row_count, good_count)
    return sqrt(good_count * (row_count + 1) * (row_count - good_count) / (good_count + 2)) / (
        good_count + 1
    )


def refuse_counts(row_count: int, good_count: int) -> None:
    """Raise ValueError unless 1 <= good_count <= row_count."""
    if not 1 <= good_count <= row_count:
        raise ValueError(
            f"{good_count} good rows among {row_count}: must be at least one and at most all"
        )
