"""Main effects of the axes of a finite table and their pairwise interactions: the functional
analysis of variance, exactly.

    f      (M,)    a value for each row
    rows   (M, d)  the level of each axis, counted from 0
    counts (d,)    how many levels each axis has
    f0     mean of f over all rows
    fj     (counts_j,)          mean of f over the rows with that level of axis j
    fjk    (counts_j, counts_k)  mean of f over the rows with both levels
    V      variance of f;   Vj = mean (fj - f0)²;   Vjk = mean (fjk - fj - fk + f0)²

All rows have equal weight.  On a full grid the variances of all 2^d - 1 parts add up to V, and each
is a share of it.  In a table that lacks some combinations the parts are not orthogonal: the means
remain valid, Vj / V is then the correlation ratio over rows, and Vjk is not defined.

Source: Sobol', *Sensitivity estimates for nonlinear mathematical models* (1993), for the
decomposition. Hutter, Hoos & Leyton-Brown, *An efficient approach for assessing hyperparameter
importance* (ICML 2014), known as fANOVA, compute it from a random forest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from fovnet.maths.growing import CHUNK, Growing

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Effects:
    """The parts of first and second order of a table's values.

    mean, variance  f0 and V
    main            d arrays fj, NaN at a level that no row has
    pairs           {(j, k): fjk}, j < k, NaN where no row has both
    main_variance   (d,) Vj
    pair_variance   {(j, k): Vjk}, empty where the table is no full grid
    """

    mean: float
    variance: float
    main: tuple[Floats, ...]
    pairs: dict[tuple[int, int], Floats]
    main_variance: Floats
    pair_variance: dict[tuple[int, int], float]


def decompose(values: Floats, rows: Integers, level_counts: Sequence[int]) -> Effects:
    """Main and pairwise effects of the values (M,) of a table, whose rows (M, d)
    have so many levels an axis."""
    mean = float(values.mean())
    axis_count = len(level_counts)
    main_effects = tuple(
        _mean_by_levels(values, rows[:, [j]], [level_counts[j]]) for j in range(axis_count)
    )
    pair_effects = {
        (j, k): _mean_by_levels(values, rows[:, [j, k]], [level_counts[j], level_counts[k]])
        for j, k in combinations(range(axis_count), 2)
    }
    main_variances = [
        np.nan_to_num((main_effect[rows[:, j]] - mean) ** 2).mean()
        for j, main_effect in enumerate(main_effects)
    ]
    pair_variances = {}
    if is_full_grid(rows, level_counts):
        pair_variances = {
            (j, k): float(
                ((pair_effect - main_effects[j][:, None] - main_effects[k] + mean) ** 2).mean()
            )
            for (j, k), pair_effect in pair_effects.items()
        }
    return Effects(
        mean=mean,
        variance=float(values.var()),
        main=main_effects,
        pairs=pair_effects,
        main_variance=np.array(main_variances),
        pair_variance=pair_variances,
    )


def is_full_grid(rows: Integers, level_counts: Sequence[int]) -> bool:
    """Whether every combination of levels is a row of the table (M, d), once."""
    return len(rows) == math.prod(level_counts) == len(np.unique(rows, axis=0))


def deviations_of_level_means(
    process: Growing, observed_rows: Integers, rows: Integers, level_counts: Sequence[int]
) -> tuple[Floats, ...]:
    """Posterior standard deviations of each fj: d arrays (counts_j,), given observations at
    `observed_rows`. Full grids only.

    The mean over the rows with one level is linear in the function, so its variance is wᵀKw - |L⁻¹
    K(observed, ·) w|², where w spreads 1 over these rows.  On a full grid wᵀKw is a sum over the
    gaps that occur along each other axis.
    """
    first_columns = np.concatenate([[0], np.cumsum(level_counts)])
    # K(observed, ·) w, a column for each level
    weighted_covariance = np.zeros((len(observed_rows), first_columns[-1]))
    for first_row in range(0, len(rows), CHUNK):
        chunk_rows = slice(first_row, first_row + CHUNK)
        covariance = process.prior_covariance(observed_rows, chunk_rows)
        level_weights = np.zeros((covariance.shape[1], first_columns[-1]))
        for axis_index, first_column in enumerate(first_columns[:-1]):
            level_weights[
                np.arange(len(level_weights)), first_column + rows[chunk_rows, axis_index]
            ] = level_counts[axis_index] / len(rows)
        weighted_covariance += covariance @ level_weights
    solved_covariance = solve_triangular(
        process.factor(observed_rows), weighted_covariance, lower=True, check_finite=False
    )
    explained_variances = np.split((solved_covariance**2).sum(axis=0), first_columns[1:-1])
    gaps_by_axis = [
        _distinct_gaps(
            process.scaled_cube[:, process.scales.share[:, axis_index] > 0],
            rows[:, axis_index],
            level_count,
        )
        for axis_index, level_count in enumerate(level_counts)
    ]
    prior_variances = [
        _mean_covariance(process, [*gaps_by_axis[:axis_index], *gaps_by_axis[axis_index + 1 :]])
        for axis_index in range(len(level_counts))
    ]
    return tuple(
        np.sqrt(np.maximum(prior_variance - explained_variance, 0.0))
        for prior_variance, explained_variance in zip(
            prior_variances, explained_variances, strict=True
        )
    )


def _mean_by_levels(values: Floats, levels: Integers, level_counts: Sequence[int]) -> Floats:
    """The mean of the values (M,) at each combination of levels (M, k), of shape `level_counts`;
    NaN where there is no row."""
    cell_of_row = np.ravel_multi_index(tuple(levels.T), tuple(level_counts))
    cell_count = int(np.prod(level_counts))
    sum_by_cell = np.bincount(cell_of_row, values, cell_count)
    row_count_by_cell = np.bincount(cell_of_row, minlength=cell_count)
    return np.where(
        row_count_by_cell > 0, sum_by_cell / np.maximum(row_count_by_cell, 1), np.nan
    ).reshape(level_counts)


def _distinct_gaps(columns: Floats, levels: Integers, level_count: int) -> tuple[Floats, Floats]:
    """The distinct squared gaps (g,) between levels of one axis, ascending, and the share (g,) of
    all pairs of levels that has each."""
    _, first_row_of_level = np.unique(levels, return_index=True)
    pair_distances = cdist(
        columns[first_row_of_level], columns[first_row_of_level], "sqeuclidean"
    ).ravel()
    # rounded, so that evenly spaced levels share gaps
    gaps, pair_counts = np.unique(pair_distances.round(12), return_counts=True)
    return gaps, pair_counts / level_count**2


def _mean_covariance(process: Growing, gaps_by_axis: Sequence[tuple[Floats, Floats]]) -> float:
    """The mean covariance over all pairs of points of a grid, from the gaps along each of its
    axes."""
    squared_distances = np.zeros(1)
    pair_weights = np.ones(1)
    for axis_gaps, gap_shares in gaps_by_axis:
        squared_distances = np.add.outer(squared_distances, axis_gaps).ravel()
        pair_weights = np.multiply.outer(pair_weights, gap_shares).ravel()
    return float(process.signal_variance * (process.kernel(squared_distances)[0] @ pair_weights))
