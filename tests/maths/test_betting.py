"""The p-value is valid: where the mean is at the limit it rejects no more often than it may, whatever the
distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, lists
from scipy.stats import binom

from fovnet.maths.betting import GREATEST_STAKE_SHARE, p_value_of_reaching

LIMIT, LEVEL, STUDIES = 0.05, 0.1, 2000


@pytest.mark.parametrize("kind", ["all or nothing", "beta", "two sizes"])
def test_a_mean_at_the_limit_is_rejected_no_more_often_than_stated(kind: str) -> None:
    rng = np.random.default_rng(3)
    draw = {
        "all or nothing": lambda: (rng.random(100) < LIMIT).astype(float),
        "beta": lambda: rng.beta(0.5, 9.5, 100),
        "two sizes": lambda: np.where(rng.random(100) < 0.2, 0.2, 0.0125),
    }[kind]
    rejected = sum(p_value_of_reaching(LIMIT, draw()) <= LEVEL for _ in range(STUDIES))
    assert rejected <= binom.ppf(0.999, STUDIES, LEVEL)


def test_without_a_fault_the_wealth_grows_by_what_may_be_staked() -> None:
    """By 1 + 0.99 · limit / (1 - limit) an observation, a cautious beginning apart; no valid test can pass (1
    - limit)^n."""
    p = p_value_of_reaching(LIMIT, np.zeros(60))
    assert (
        (1 - LIMIT) ** 60
        < (1 + GREATEST_STAKE_SHARE * LIMIT / (1 - LIMIT)) ** -60
        <= p
        < 1.1 * (1 + GREATEST_STAKE_SHARE * LIMIT / (1 - LIMIT)) ** -60
    )


@given(lists(floats(0, 1), max_size=40), floats(0.01, 0.5))
def test_it_is_a_probability_and_faults_alone_convince_nobody(x: list[float], limit: float) -> None:
    assert 0 < p_value_of_reaching(limit, np.array(x)) <= 1
    assert p_value_of_reaching(limit, np.ones(len(x))) == 1
