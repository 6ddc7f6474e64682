"""Wilcoxon's signed-rank test, exactly: with ties, with zeros, and for any number of differences.

    d  (n,)  differences of which none is 0
    r  (n,)  mid-ranks of |d|, so that 2 r are whole numbers
    W  Σ r over d > 0, and T = Σ r; under the null every sign is a fair coin
    p  2 P(W <= min(W, T - W)), 1 at most

The distribution of 2 W is that of a sum of independent steps, each 0 or 2 r: n convolutions with
two points each give it, in n · T additions (40 million for n = 430).

`scipy.stats.wilcoxon` (1.17.1) takes the normal approximation from 14 differences on as soon as two
are alike or one is 0: 14 of 14 won, two by the same, has 0.00098 for 0.00012; five of five has
0.0625, and with nine of 0 more 0.0431.

Sources: Wilcoxon, *Biometrics Bulletin* 1 (1945) 80-83, who leaves out zeros; Lehmann,
*Nonparametrics* (1975), section 3.1, for mid-ranks under the conditional null distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]


def signed_rank_p(differences: Floats) -> float:
    """The two-sided p value of differences (n,); those that are 0 count for nothing, and without
    others p is 1.

    Differences are tied where their absolute values are equal to the bit: round them before.  One
    more that is won by no less than any other never raises p of who is ahead.  One that is won by
    little may, as it moves the ranks of all others: ranks 6, 7 and 8 of 8 won have p = 0.742, and
    0.820 once a ninth and smallest one is won.
    """
    nonzero = differences[differences != 0]
    steps = np.rint(2 * rankdata(np.abs(nonzero))).astype(np.int64)
    doubled = int(steps[nonzero > 0].sum())
    lower = min(doubled, int(steps.sum()) - doubled)
    chance = np.zeros(lower + 1)
    chance[0] = 1.0
    # sums above `lower` are never needed, as no step leads down
    for step in steps:
        moved = chance[: max(lower + 1 - step, 0)]
        chance *= 0.5
        chance[step:] += moved
    return min(1.0, 2.0 * float(chance.sum()))
