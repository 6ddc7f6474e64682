"""Main effects and interactions of a finite table, against definitions written out as loops."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists
from scipy.spatial.distance import cdist

from fovnet.maths.effects import decompose, deviations_of_level_means, is_full_grid
from fovnet.maths.growing import Growing
from fovnet.maths.kernels import KERNELS
from fovnet.search.space import Axis, Space

COUNTS = lists(integers(1, 4), min_size=2, max_size=4)


def grid(counts):
    return np.array(list(product(*map(range, counts))), dtype=np.int64)


def part(f, rows, axes):
    """The part of the axes' own, (M,): the mean over all other axes, less the parts of every smaller set.
    Straight from the definition."""
    same = (rows[:, None, axes] == rows[None, :, axes]).all(axis=2)
    mean = (same * f).sum(axis=1) / same.sum(axis=1)
    return mean - sum(
        (
            part(f, rows, list(fewer))
            for size in range(len(axes))
            for fewer in combinations(axes, size)
        ),
        np.zeros(len(f)),
    )


@given(counts=COUNTS, seed=integers(0, 99))
@settings(max_examples=40)
def test_the_variances_of_all_parts_add_up_and_ours_are_those_of_the_definition(counts, seed):
    rows = grid(counts)
    f = np.random.default_rng(seed).normal(3.0, 2.0, len(rows))
    found, d = decompose(f, rows, counts), len(counts)
    variance = {
        axes: part(f, rows, list(axes)).var()
        for size in range(1, d + 1)
        for axes in combinations(range(d), size)
    }
    assert np.isclose(sum(variance.values()), found.variance)
    np.testing.assert_allclose(found.main_variance, [variance[j,] for j in range(d)], atol=1e-12)
    assert found.pair_variance.keys() == {axes for axes in variance if len(axes) == 2}
    assert all(
        np.isclose(found.pair_variance[axes], variance[axes]) for axes in found.pair_variance
    )


@given(counts=COUNTS, seed=integers(0, 99))
@settings(max_examples=40)
def test_a_sum_of_functions_of_one_axis_has_no_interactions(counts, seed):
    rng, rows = np.random.default_rng(seed), grid(counts)
    curves = [rng.normal(size=count) for count in counts]
    found = decompose(sum(curve[rows[:, j]] for j, curve in enumerate(curves)), rows, counts)
    for j, curve in enumerate(curves):
        np.testing.assert_allclose(found.main[j] - found.mean, curve - curve.mean(), atol=1e-12)
    assert (
        np.isclose(found.main_variance.sum(), found.variance)
        and max(found.pair_variance.values()) < 1e-25
    )


def test_a_product_of_two_centred_axes_is_all_interaction():
    rows = grid([3, 5, 2])
    found = decompose((rows[:, 0] - 1.0) * (rows[:, 1] - 2.0), rows, [3, 5, 2])
    assert found.main_variance.max() < 1e-25 and np.isclose(
        found.pair_variance[0, 1], found.variance
    )


@given(counts=COUNTS, seed=integers(0, 99))
@settings(max_examples=40)
def test_means_of_a_table_with_holes_are_those_of_the_rows_it_has(counts, seed):
    rng, rows = np.random.default_rng(seed), grid(counts)
    rows = rows[rng.permutation(len(rows))[: max(1, len(rows) // 2)]]
    f = rng.normal(size=len(rows))
    found = decompose(f, rows, counts)
    for (j, k), means in found.pairs.items():
        for a, b in product(range(counts[j]), range(counts[k])):
            here = f[(rows[:, j] == a) & (rows[:, k] == b)]
            assert np.isnan(means[a, b]) if not len(here) else np.isclose(means[a, b], here.mean())
        here = f[rows[:, j] == rows[0, j]]
        assert np.isclose(found.main[j][rows[0, j]], here.mean())
    within = [
        sum(f[rows[:, j] == a].var() * (rows[:, j] == a).sum() for a in np.unique(rows[:, j]))
        / len(f)
        for j in range(len(counts))
    ]
    # between + within = all
    np.testing.assert_allclose(found.main_variance + within, found.variance, atol=1e-12)
    assert is_full_grid(rows, counts) == bool(found.pair_variance)


def test_a_grid_with_a_row_missing_or_twice_is_no_full_grid():
    rows = grid([2, 3])
    assert is_full_grid(rows[::-1], [2, 3])
    assert not is_full_grid(rows[1:], [2, 3]) and not is_full_grid(
        np.vstack([rows[1:], rows[1]]), [2, 3]
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_deviation_of_a_level_mean_is_that_of_the_whole_covariance_matrix(kernel):
    """Some 72 rows are few enough for the posterior covariance of all of them; uneven places and a category
    are among the axes."""
    uneven = Axis("a", tuple(range(4)), places=(0.0, 0.2, 0.3, 1.0))
    space = Space(
        (uneven, *Space.of({"b": ["x", "y", "z"], "c": [False, True], "d": range(3)}).axes)
    )
    # three of them of the category's levels
    theta = np.log([0.7, 1.3, 0.4, 5.0, 0.6, 1.0, 2.0, 1.7, 0.05])
    process, known = (
        Growing(space.unit_cube, space.scales, theta, KERNELS[kernel]),
        np.array([3, 70, 11, 42, 8, 55]),
    )
    process.posterior(known, np.zeros(6), known[:0])
    K = (
        process.signal_variance
        * process.kernel(cdist(process.scaled_cube, process.scaled_cube, "sqeuclidean"))[0]
    )
    covariance = K - K[:, known] @ np.linalg.solve(
        K[np.ix_(known, known)] + process.noise * np.eye(6), K[known]
    )
    found = deviations_of_level_means(process, known, space.rows, [4, 3, 2, 3])
    for j, deviations in enumerate(found):
        for level, deviation in enumerate(deviations):
            w = (space.rows[:, j] == level) / (space.rows[:, j] == level).sum()
            assert np.isclose(deviation, np.sqrt(w @ covariance @ w), rtol=1e-9)
