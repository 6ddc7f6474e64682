"""Main effects of the axes of a finite table and their pairwise interactions: the functional
analysis of variance, exactly.

    f      (M,)    a value for each row             rows    (M, d)  the level of each axis, counted from 0
    f0     mean of f over all rows                  counts  (d,)    how many levels each axis has
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

    mean, variance   f0 and V                     main   d arrays fj, NaN at a level that no row has
    pairs            {(j, k): fjk}, j < k, NaN where no row has both
    main_variance    (d,) Vj                      pair_variance  {(j, k): Vjk}, empty where the table is no
        full grid
    """

    mean: float
    variance: float
    main: tuple[Floats, ...]
    pairs: dict[tuple[int, int], Floats]
    main_variance: Floats
    pair_variance: dict[tuple[int, int], float]


def effects(f: Floats, rows: Integers, counts: Sequence[int]) -> Effects:
    """Main and pairwise effects of `f` over its table."""
    mean = float(f.mean())
    d = len(counts)
    main = tuple(_means(f, rows[:, [j]], [counts[j]]) for j in range(d))
    pairs = {
        (j, k): _means(f, rows[:, [j, k]], [counts[j], counts[k]])
        for j, k in combinations(range(d), 2)
    }
    spread = [np.nan_to_num((fj[rows[:, j]] - mean) ** 2).mean() for j, fj in enumerate(main)]
    mixed = {}
    if is_full_grid(rows, counts):
        mixed = {
            (j, k): float(((fjk - main[j][:, None] - main[k] + mean) ** 2).mean())
            for (j, k), fjk in pairs.items()
        }
    return Effects(mean, float(f.var()), main, pairs, np.array(spread), mixed)


def is_full_grid(rows: Integers, counts: Sequence[int]) -> bool:
    """Whether every combination of levels is a row, once."""
    return len(rows) == math.prod(counts) == len(np.unique(rows, axis=0))


def deviations_of_level_means(
    process: Growing, observed_rows: Integers, rows: Integers, counts: Sequence[int]
) -> tuple[Floats, ...]:
    """Posterior standard deviations of each fj: d arrays (counts_j,), given observations at
    `observed_rows`. Full grids only.

    The mean over the rows with one level is linear in the function, so its variance is wᵀKw - |L⁻¹
    K(observed, ·) w|², where w spreads 1 over these rows.  On a full grid wᵀKw is a sum over the
    gaps that occur along each other axis.
    """
    starts = np.concatenate([[0], np.cumsum(counts)])
    # K(observed, ·) w, a column for each level
    crossed = np.zeros((len(observed_rows), starts[-1]))
    for first in range(0, len(rows), CHUNK):
        part = slice(first, first + CHUNK)
        covariance = (
            process.s2
            * process.kernel(
                cdist(process.scaled[observed_rows], process.scaled[part], "sqeuclidean")
            )[0]
        )
        belongs = np.zeros((covariance.shape[1], starts[-1]))
        for j, start in enumerate(starts[:-1]):
            belongs[np.arange(len(belongs)), start + rows[part, j]] = counts[j] / len(rows)
        crossed += covariance @ belongs
    learned = (
        solve_triangular(process.factor(observed_rows), crossed, lower=True, check_finite=False)
        ** 2
    ).sum(axis=0)
    gaps = [
        _gaps(process.scaled[:, process.scales.share[:, j] > 0], rows[:, j], count)
        for j, count in enumerate(counts)
    ]
    prior = [
        _mean_of_kernel(process, [gap for k, gap in enumerate(gaps) if k != j])
        for j in range(len(counts))
    ]
    return tuple(
        np.sqrt(np.maximum(prior[j] - learned[start : start + count], 0.0))
        for j, (start, count) in enumerate(zip(starts[:-1], counts, strict=True))
    )


def _means(f: Floats, levels: Integers, counts: Sequence[int]) -> Floats:
    """The mean of f (M,) at each combination of levels (M, k), of shape `counts`; NaN where there
    is no row."""
    cell = np.ravel_multi_index(tuple(levels.T), tuple(counts))
    size = int(np.prod(counts))
    total = np.bincount(cell, f, size)
    count = np.bincount(cell, minlength=size)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(counts)


def _gaps(columns: Floats, levels: Integers, count: int) -> tuple[Floats, Floats]:
    """The distinct squared gaps (g,) between levels of one axis, and the share of all pairs of
    levels that has each."""
    _, first = np.unique(levels, return_index=True)
    between = cdist(columns[first], columns[first], "sqeuclidean").ravel()
    # rounded, so that evenly spaced levels share gaps
    gaps, pairs = np.unique(between.round(12), return_counts=True)
    return gaps, pairs / count**2


def _mean_of_kernel(process: Growing, gaps: Sequence[tuple[Floats, Floats]]) -> float:
    """The mean of s2·k over all pairs of points of a grid, from the gaps along each of its axes."""
    r2 = np.zeros(1)
    weight = np.ones(1)
    for gap, share in gaps:
        r2 = np.add.outer(r2, gap).ravel()
        weight = np.multiply.outer(weight, share).ravel()
    return float(process.s2 * (process.kernel(r2)[0] @ weight))
