"""Disagreement is scipy's Jensen-Shannon distance, generalised, and is zero where all agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from scipy.spatial.distance import jensenshannon

from fovnet.maths.agreement import divergence, measure_agreement


def forecasts(seed: int, p: int, s: int = 5, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(k, 0.4), size=(p, s)), rng.dirichlet(np.ones(p))


@given(integers(0, 10**6))
def test_for_two_of_equal_weight_it_is_scipys_distance_squared(seed: int) -> None:
    each, _ = forecasts(seed, 2)
    expected = jensenshannon(each[0], each[1], axis=1) ** 2
    np.testing.assert_allclose(divergence(each, np.array([0.5, 0.5])), expected, atol=1e-12)


@given(integers(0, 10**6), integers(2, 7))
def test_it_is_the_mutual_information_of_answer_and_member(seed: int, p: int) -> None:
    """I(answer; member) = mean Kullback-Leibler divergence of the members from their mixture."""
    each, weights = forecasts(seed, p)
    mixture = np.einsum("p,psk->sk", weights, each)
    information = np.einsum("p,psk->s", weights, each * np.log(np.maximum(each, 1e-300) / mixture))
    np.testing.assert_allclose(divergence(each, weights), information, atol=1e-9)


@given(integers(0, 10**6), integers(1, 7))
def test_agreement_is_a_share_and_the_order_of_members_does_not_matter(seed: int, p: int) -> None:
    each, weights = forecasts(seed, p)
    value = measure_agreement(each, weights)
    assert ((value >= 0) & (value <= 1)).all()
    np.testing.assert_allclose(measure_agreement(each[::-1], weights[::-1]), value, atol=1e-12)


def test_the_ends_are_full_agreement_and_each_certain_of_something_else() -> None:
    one = np.eye(3)[[0, 1]]
    assert measure_agreement(np.stack([one, one]), np.array([0.3, 0.7])) == pytest.approx([1, 1])
    apart = np.stack([np.eye(3)[[0, 0]], np.eye(3)[[1, 1]]])
    for weight in (0.5, 0.05, 1e-4):
        assert measure_agreement(apart, np.array([weight, 1 - weight])) == pytest.approx(
            [0, 0], abs=1e-9
        )
    # a forecaster of weight 0 does not count
    assert measure_agreement(apart, np.array([1.0, 0.0])) == pytest.approx([1, 1])


@pytest.mark.parametrize(("p", "k"), [(2, 2), (4, 2), (9, 3), (3, 7)])
def test_where_all_classes_are_sworn_to_alike_nobody_could_disagree_more(p: int, k: int) -> None:
    """Four members cannot keep more than two opinions apart on two classes; three on seven classes have
    three."""
    sworn = np.eye(k)[np.arange(p) % k][:, None]
    assert measure_agreement(sworn, np.full(p, 1 / p)) == pytest.approx([0.0], abs=1e-9)
