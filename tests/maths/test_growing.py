"""A process that grows block by block: against the whole computed at once, and against itself with another
past."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist

from fovnet.maths import gp
from fovnet.maths.growing import BLOCK_ROWS, Growing
from fovnet.maths.kernels import KERNELS, matern52
from fovnet.maths.scales import Scales


def process(M: int, seed: int, noise: float = 0.01, settled: int = 0) -> Growing:
    rng = np.random.default_rng(seed)
    theta = np.concatenate([np.log(rng.uniform(0.3, 1.5, 4)), [0.2, np.log(noise)]])
    return Growing(rng.random((M, 4)), Scales.plain(4), theta, settled_count=settled)


@pytest.mark.parametrize("settled", [0, 700])
def test_the_factor_grown_by_a_thousand_rows_is_the_one_computed_at_once(settled: int) -> None:
    growing = process(1200, 0, settled=settled)
    rows = np.random.default_rng(1).permutation(1200)[:1000]
    for n in (1, 30, 33, 97, 500, 501, 1000):
        L = growing.factor(rows[:n])
    X = growing.scaled_cube[rows]
    whole = cholesky(
        growing.signal_variance * matern52(cdist(X, X, "sqeuclidean"))[0]
        + growing.noise * np.eye(1000),
        lower=True,
    )
    assert np.abs(L - whole).max() < 1e-9


@pytest.mark.parametrize("n", [1, BLOCK_ROWS - 1, BLOCK_ROWS, 3 * BLOCK_ROWS + 5])
def test_mean_and_variance_are_those_of_the_textbook(n: int) -> None:
    growing, rng = process(400, n, settled=2 * BLOCK_ROWS), np.random.default_rng(n)
    rows, y = rng.permutation(400)[:n], rng.normal(size=n)
    mean, variance = growing.posterior(rows, y, rows[:0])
    expected = gp.posterior(growing.unit_cube, growing.unit_cube[rows], y, growing.theta)
    np.testing.assert_allclose(mean, expected[0], atol=1e-9)
    np.testing.assert_allclose(variance, expected[1], atol=1e-9)


@pytest.mark.parametrize("pending", [0, 3])
def test_the_covariance_of_some_rows_is_that_of_the_textbook_and_its_diagonal_the_variance(
    pending: int,
) -> None:
    growing, rng = process(300, 9, settled=BLOCK_ROWS), np.random.default_rng(9)
    order, y = rng.permutation(300), rng.normal(size=60)
    known, running, points = order[:60], order[60 : 60 + pending], order[50:90]
    covariance = growing.covariance(known, running, points)
    given = order[: 60 + pending]
    K = (
        growing.signal_variance
        * matern52(cdist(growing.scaled_cube, growing.scaled_cube, "sqeuclidean"))[0]
    )
    solved = np.linalg.solve(
        K[np.ix_(given, given)] + growing.noise * np.eye(len(given)), K[np.ix_(given, points)]
    )
    np.testing.assert_allclose(
        covariance, K[np.ix_(points, points)] - K[np.ix_(points, given)] @ solved, atol=1e-9
    )
    np.testing.assert_allclose(
        np.diag(covariance), growing.posterior(known, y, running)[1][points], atol=1e-12
    )


def test_pending_rows_keep_the_mean_and_take_away_uncertainty() -> None:
    growing, rng = process(300, 5), np.random.default_rng(5)
    order, y = rng.permutation(300), rng.normal(size=40)
    rows, pending = order[:40], order[40:44]
    alone, before = growing.posterior(rows, y, pending[:0])
    believed, after = growing.posterior(rows, y, pending)
    np.testing.assert_allclose(alone, believed, atol=1e-9)
    assert (after <= before).all()
    assert after[pending].max() < growing.noise


@pytest.mark.parametrize("settled", [0, 64, 100, 150, 190])
def test_an_answer_does_not_depend_on_what_was_asked_before(settled: int) -> None:
    """To the last bit: after other rows, after more rows, after fewer, in pieces or at once."""
    rng = np.random.default_rng(9)
    order, y = rng.permutation(500), rng.normal(size=200)
    rows, pending = order[:150], order[200:203]
    fresh = process(500, 9, settled=settled).posterior(rows, y[:150], pending)
    for past in (
        [order[300:420]],
        [order[:200]],
        [order[:70], order[:71]],
        [np.concatenate([order[:100], order[250:300]])],
    ):
        used = process(500, 9, settled=settled)
        for asked in past:
            used.posterior(asked, rng.normal(size=len(asked)), order[:0])
        for ours, theirs in zip(used.posterior(rows, y[:150], pending), fresh, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_draw_from_the_prior_has_the_covariance_of_the_process(kernel: str) -> None:
    """4,000 draws of 12 rows: an entry of their covariance is within 0.1 s2 in all but one of 1,000 cases of
    the worst kind."""
    rng = np.random.default_rng(2)
    growing = Growing(
        rng.random((12, 3)), Scales.plain(3), np.log([0.6, 0.9, 1.4, 1.5, 0.01]), KERNELS[kernel]
    )
    draws = np.array([growing.draw_prior(rng) for _ in range(4000)])
    expected = (
        growing.signal_variance
        * KERNELS[kernel](cdist(growing.scaled_cube, growing.scaled_cube, "sqeuclidean"))[0]
    )
    assert np.abs(draws.mean(axis=0)).max() < 0.1
    assert np.abs(np.cov(draws.T) - expected).max() < 0.1 * growing.signal_variance


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_textbook_agrees_for_every_kernel(kernel: str) -> None:
    rng = np.random.default_rng(8)
    growing = Growing(
        rng.random((90, 3)), Scales.plain(3), np.log([0.6, 0.9, 1.4, 1.5, 0.01]), KERNELS[kernel]
    )
    rows, y = rng.permutation(90)[:40], rng.normal(size=40)
    expected = gp.posterior(
        growing.unit_cube, growing.unit_cube[rows], y, growing.theta, kernel=KERNELS[kernel]
    )
    np.testing.assert_allclose(growing.posterior(rows, y, rows[:0]), expected, atol=1e-9)


@pytest.mark.parametrize("asked", [1, 3, 4, 7, 16, 24, 25, 48, 96, 97, 100, 128, 255, 256, 299])
@pytest.mark.parametrize("settled", [0, 2 * BLOCK_ROWS])
@pytest.mark.parametrize("pending", [0, 3])
def test_asked_about_the_first_rows_only_it_answers_as_about_all(
    settled: int, pending: int, asked: int
) -> None:
    """But for rounding, with observations among the rows asked about and among the others.  Not to the bit:
    a kernel of OpenBLAS computes whole tiles of columns otherwise than those left over."""
    whole, rng = process(300, 7, settled=settled), np.random.default_rng(7)
    part = Growing(
        whole.unit_cube, whole.scales, whole.theta, settled_count=settled, returned_count=asked
    )
    order, y = np.concatenate([[0, 299], 1 + rng.permutation(298)]), rng.normal(size=90)
    rows, running = order[:90], order[90 : 90 + pending]
    assert (rows < asked).any() and (rows >= asked).any() and part.V.shape[1] == asked
    for mine, expected in zip(
        part.posterior(rows, y, running), whole.posterior(rows, y, running), strict=True
    ):
        np.testing.assert_allclose(mine, expected[:asked], rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("moved_point", [None, 5])
def test_over_another_cube_it_answers_as_a_new_process_to_the_bit(moved_point: int | None) -> None:
    """With what it knows of the observed points, also where one of them is another there."""
    growing = process(300, 0, settled=70)
    rng = np.random.default_rng(1)
    rows, y, pending = np.arange(90), rng.normal(size=90), np.array([95, 96])
    growing.posterior(rows, y, pending)
    cube = np.concatenate([growing.unit_cube[:100], rng.random((60, 4))])
    if moved_point is not None:
        cube[moved_point] = rng.random(4)
    new = Growing(cube, growing.scales, growing.theta, settled_count=70)
    again = growing.with_cube(cube)
    for known, asked in ((90, pending), (80, pending[:0]), (90, pending[:1])):
        expected = new.posterior(rows[:known], y[:known], asked)
        assert np.array_equal(again.posterior(rows[:known], y[:known], asked), expected)
