"""The share of new weights is chosen on subjects that were left out, and not on those it is judged on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from fovnet.decision.fitting.blending import CANDIDATE_SHARES, index_of_best_share, subject_loss


def test_where_no_share_is_better_the_networks_stay_as_they_were() -> None:
    assert CANDIDATE_SHARES[index_of_best_share(np.ones((len(CANDIDATE_SHARES), 4)))] == 0.0


def test_the_loss_of_certainty_is_that_of_a_coin_for_a_coin() -> None:
    coin, truth = np.full((6, 2), 0.5), np.eye(2, dtype=bool)[[0, 1, 0, 1, 1, 0]]
    assert subject_loss([coin], [truth]) == pytest.approx(np.log(2))
    assert subject_loss([truth.astype(float)], [truth]) == 0.0


def test_a_long_volume_counts_as_much_as_a_short_one() -> None:
    sure, coin = np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])
    first = np.array([[True, False]])
    volumes = [np.repeat(sure, 90, axis=0), coin], [np.repeat(first, 90, axis=0), first]
    assert subject_loss(*volumes) == pytest.approx(np.log(2) / 2)


@given(seed=integers(0, 999))
def test_what_subjects_lose_who_do_not_count_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses, without = rng.random((len(CANDIDATE_SHARES), 8)), rng.random(8) < 0.4
    without[0] = False
    other = np.where(without, rng.random((len(CANDIDATE_SHARES), 8)) * 100, losses)
    assert index_of_best_share(losses, without) == index_of_best_share(other, without)
    assert index_of_best_share(losses, without) == int(np.argmin(losses[:, ~without].sum(axis=1)))
