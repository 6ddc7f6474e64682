"""The loss that a rule is chosen by: counted by hand, and the same however thick the slices are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers

from fovnet.decision.fitting.objective import (
    FAR_BORDER_MM,
    border_errors,
    border_losses,
    extent_dice,
    loss_of_labels,
)

K, N = 7, 5


def labels(runs: list[tuple[int | None, int]], spine: bool = False) -> np.ndarray:
    """(s, 7) truth from (column, slices) runs; None is a slice of spine alone."""
    truth = np.zeros((sum(count for _, count in runs), K), dtype=bool)
    at = 0
    for column, count in runs:
        truth[at : at + count, N if column is None else column] = True
        at += count
    truth[:, N] |= spine & ~truth[:, K - 1]
    return truth


def edges(s: int, mm: float = 5.0) -> np.ndarray:
    return mm * np.arange(s + 1)


def test_a_border_two_slices_off_costs_those_millimetres() -> None:
    true, predicted = labels([(1, 10), (2, 10)]), labels([(1, 12), (2, 8)])
    assert border_errors(predicted, true, edges(20), N) == {(1, 2): 10.0}
    assert border_losses(predicted, true, edges(20), N) == [10.0 / FAR_BORDER_MM]
    assert extent_dice(predicted, true, np.full(20, 5.0)) == pytest.approx(2 * 90 / 200)
    assert loss_of_labels([predicted], [true], [edges(20)], N) == pytest.approx(
        0.5 * 0.1 + 0.5 * 10 / FAR_BORDER_MM
    )
    # a spine beside labelled regions hides none of their borders
    beside = labels([(1, 10), (2, 10)], spine=True)
    assert border_errors(predicted, beside, edges(20), N) == {(1, 2): 10.0}


def test_a_prediction_of_the_chain_beside_a_spine_that_alone_is_labelled_costs_nothing() -> None:
    """As in the evaluation; a spine that is not predicted costs its millimetres."""
    true, beside, missed = labels([(None, 12)]), labels([(2, 12)], spine=True), labels([(2, 12)])
    assert loss_of_labels([beside], [true], [edges(12)], N) == 0.0
    assert loss_of_labels([missed], [true], [edges(12)], N) == 0.5


def test_missed_and_invented_borders_cost_one_each() -> None:
    true, predicted = labels([(1, 10), (2, 10)]), labels([(1, 18), (6, 2)])
    assert border_errors(predicted, true, edges(20), N) == {(1, 2): None, (1, 6 - 1): None}
    assert border_losses(predicted, true, edges(20), N) == [1.0, 1.0]


def test_a_void_within_a_region_is_no_border_of_it() -> None:
    """A chest from 50 to 300 mm, in whose midst four slices are dark, begins at 50 mm and ends at 300."""
    true, predicted = (
        labels([(6, 10), (3, 50), (6, 5)]),
        labels([(6, 10), (3, 21), (6, 4), (3, 25), (6, 5)]),
    )
    assert (
        border_errors(predicted, true, edges(65), N)
        == border_errors(true, predicted, edges(65), N)
        == {(3, N): 0.0, (N, 3): 0.0}
    )


def test_slices_labelled_spine_alone_do_not_count_for_the_chain() -> None:
    """Neither the border inside them nor one at their end counts; the one above them does."""
    true = labels([(None, 10), (2, 10), (3, 4)])
    for pelvis in (8, 10):
        assert border_errors(
            labels([(1, pelvis), (2, 20 - pelvis), (3, 4)]), true, edges(24), N
        ) == {(2, 3): 0.0}


def test_air_called_air_is_perfect_and_air_called_head_is_not() -> None:
    air = labels([(6, 10)])
    assert loss_of_labels([air], [air], [edges(10)], N) == 0.0
    assert loss_of_labels([labels([(4, 10)])], [air], [edges(10)], N) == 0.5


@given(integers(0, 10**6), integers(2, 6))
def test_slices_cut_finer_lose_the_same(seed: int, finer: int) -> None:
    rng = np.random.default_rng(seed)
    predicted, true = (np.eye(K, dtype=bool)[np.sort(rng.integers(0, N, 12))] for _ in range(2))
    predicted[:, N] = rng.random(12) < 0.3
    coarse = loss_of_labels([predicted], [true], [edges(12, 6.0)], N)
    assert loss_of_labels(
        [predicted.repeat(finer, 0)], [true.repeat(finer, 0)], [edges(12 * finer, 6.0 / finer)], N
    ) == pytest.approx(coarse)
