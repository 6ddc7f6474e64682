"""Ranks are those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from fovnet.maths.ranks import mean_ranks, mean_ranks_by_row


@pytest.mark.parametrize("seed", range(20))
def test_ranks_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(rng.integers(1, 6), rng.integers(1, 40))).round(seed % 3)
    assert np.array_equal(mean_ranks_by_row(scores), rankdata(scores, axis=1))
    assert np.array_equal(mean_ranks(scores[0]), rankdata(scores[0]))
