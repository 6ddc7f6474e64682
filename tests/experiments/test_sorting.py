"""Networks that learn to sort: that they do, and what keeps them from it."""

from dataclasses import replace

import numpy as np
import pytest

from sorting import RUNS, Study, share_sorted

KNOWN = Study(30, 150, (1.0, 100.0), 0.005, 0.0, batch=8, within=None)


@pytest.mark.parametrize("bounds", [(1.0, 100.0), (-100.0, -1.0)])
def test_at_a_falling_rate_without_range_control_every_list_is_sorted(bounds):
    assert share_sorted(replace(KNOWN, bounds=bounds)) == 1.0


def test_networks_that_learned_nothing_sort_some_runs_and_not_others():
    """A network as drawn rises or falls almost everywhere: half of them sort, none sorts half."""
    share = share_sorted(replace(KNOWN, rate=1e-12, epochs=1, size=3))
    assert 0.05 < share < 0.95


@pytest.mark.parametrize("within", [None, 2.0])
def test_the_slope_is_that_of_a_difference_quotient(within):
    from fovnet.maths.ranking_losses import list_mle

    study, step = replace(KNOWN, size=4, batch=3, within=within), 1e-6
    s = np.random.default_rng(1).normal(0.0, 30.0, (RUNS, 12))

    def loss(s):
        bent = (s if within is None else within * np.tanh(s / 100.0)).reshape(RUNS * 3, 4)
        return list_mle(bent, np.ones(4), np.arange(4))[0].reshape(RUNS, 3).sum(axis=1) / 12

    for i in range(12):
        moved = step * (np.arange(12) == i)
        assert study.slope(s)[:, i] == pytest.approx(
            (loss(s + moved) - loss(s - moved)) / (2 * step), abs=1e-8
        )
