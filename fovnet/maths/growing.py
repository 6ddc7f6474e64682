"""A Gaussian process that is extended with every trial, evaluated at all M rows of a finite space.

    rows       (n,)    the evaluated rows, in the order they came
    unit_cube  (M, D)  the space on the unit cube
    L          (n, n)  lower Cholesky factor of K(rows, rows) + noise·I, grown by k rows in O(n²k);
                       kept by STRIP_ROWS rows, without the zeros
    V          (n, M)  L⁻¹ K(rows, all), grown by k rows in O(nkM); 274 MB for n = 1,000 and
                       M = 34,300
    mean               Vᵀ L⁻¹ y
    variance           signal_variance - Σ V²

The first `settled_count` rows are added in blocks of BLOCK_ROWS, as matrix products; each row after
them singly, once. Where the blocks end follows from `settled_count` alone, so with one thread on
one processor a result is to the bit a function of (unit_cube, theta, settled_count, returned_count,
rows, y), independent of earlier calls.  Between processors, and between two values of
`returned_count`, it differs by rounding: OpenBLAS sums the columns that are left over from whole
tiles in another order.  With AVX-512, columns 96 to 99 of 100 differ by 1e-13 from the same ones of
300.

Source: Bertrand (2019), thesis, chapter "Hyper-parameter optimization": the bordered Cholesky
factor; R&W eqs 2.25 and 2.26.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dtrtrs
from scipy.spatial.distance import cdist

from fovnet.maths.kernels import Kernel, draw_frequencies, matern52
from fovnet.maths.scales import Scales

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BLOCK_ROWS = 32
"""Number of settled rows in a block."""
CHUNK = 2048
"""Rows of the space taken at once: temporary arrays are (k, CHUNK), half a megabyte, instead of a
second (k, M)."""
STRIP_ROWS = 128
"""Rows of L kept in one array (STRIP_ROWS, up to the diagonal), so that LAPACK copies no more than
it needs."""
DRAW_CHUNK_ROWS = 256
"""Rows of the space drawn at once, a megabyte of cosines: larger temporary arrays would stay with
the process as unused memory."""


class FactorBlock(NamedTuple):
    """The rows of L (k, ...) of a block of observations: left of the diagonal, and on it."""

    left: Floats
    diagonal: Floats


@dataclass
class Growing:
    """The process with one theta over one space, and the rows of L and V computed so far.

    unit_cube       (M, D) the rows of the space
    scales, theta   as in maths/gp.py
    settled_count   rows that are added in blocks, the first of those evaluated
    returned_count  M of what is returned: the first rows of the cube, where not all of it (None);
                    the others are only observed
    rows            (n,) the evaluated rows whose part of L and V is computed
    factor_strips   L, by STRIP_ROWS rows
    factor_blocks   the same, by blocks of observations: another cube's V begins with them
    V               (capacity, M), its first n rows are computed
    squared_sums    (M,) Σ V² over the first n rows
    """

    unit_cube: Floats
    scales: Scales
    theta: Floats
    kernel: Kernel = matern52
    settled_count: int = 0
    returned_count: int | None = None
    rows: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    factor_strips: list[Floats] = field(default_factory=list)
    factor_blocks: list[FactorBlock] = field(default_factory=list)
    V: Floats = field(init=False)
    squared_sums: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.signal_variance = float(np.exp(self.theta[-2]))
        self.noise = float(np.exp(self.theta[-1]))
        self.scaled_cube = self.unit_cube / self.scales.lengthscales(self.theta)
        if self.returned_count is None:
            self.returned_count = len(self.unit_cube)
        self.squared_sums = np.zeros(self.returned_count)
        self._reserve_rows(self.settled_count + self.settled_count // 8 + BLOCK_ROWS)

    def posterior(self, rows: Integers, y: Floats, pending_rows: Integers) -> tuple[Floats, Floats]:
        """Mean (M,) and variance (M,) of the noise-free function at every row of the space.

        Pending rows are taken as observed at their posterior mean: the mean is unchanged, and the
        variance around them shrinks. Source: Ginsbourger et al., *Kriging is well-suited to
        parallelize optimization* (2010), section 4.2.
        """
        self._compute_rows(rows)
        row_count = len(rows)
        pending_count = len(pending_rows)
        solved_y = self._solve_forward(y[:, None])[:, 0]
        mean = solved_y @ self.V[:row_count]
        squared_sums = self.squared_sums
        if pending_count:
            self._append_rows(pending_rows)
            squared_sums = squared_sums + _squared_column_sums(
                self.V[row_count : row_count + pending_count]
            )
        return mean, np.maximum(self.signal_variance - squared_sums, 0.0)

    def prior_covariance(self, rows: Integers, columns: Integers | slice) -> Floats:
        """Covariance (a, b) of the noise-free function at rows (a,) and rows (b,) of the space,
        before any observation."""
        squared_distances = cdist(self.scaled_cube[rows], self.scaled_cube[columns], "sqeuclidean")
        correlation, _ = self.kernel(squared_distances)
        return np.asarray(self.signal_variance * correlation)

    def covariance(self, rows: Integers, pending_rows: Integers, points: Integers) -> Floats:
        """Covariance (c, c) of the noise-free function at the rows `points` (c,) of the space, its
        diagonal as in `posterior`."""
        self._compute_rows(rows)
        if len(pending_rows):
            self._append_rows(pending_rows)
        solved_covariance = self.V[: len(rows) + len(pending_rows), points]
        return np.asarray(
            self.prior_covariance(points, points) - solved_covariance.T @ solved_covariance
        )

    def factor(self, rows: Integers) -> Floats:
        """L (n, n), the lower Cholesky factor of the noisy covariance of these rows."""
        self._compute_rows(rows)
        row_count = len(rows)
        return np.vstack(
            [np.pad(strip, ((0, 0), (0, row_count)))[:, :row_count] for strip in self.factor_strips]
        )[:row_count]

    def draw_prior(self, rng: np.random.Generator, feature_count: int = 512) -> Floats:
        """A function (M,) drawn from the process before any observation, as a sum of random
        cosines."""
        cosine_frequencies = draw_frequencies(
            self.kernel, feature_count, self.scaled_cube.shape[1], rng
        )
        phases = rng.uniform(0.0, 2.0 * np.pi, feature_count)
        amplitudes = rng.standard_normal(feature_count)
        function_values = np.empty(len(self.scaled_cube))
        for first_row in range(0, len(function_values), DRAW_CHUNK_ROWS):
            chunk_rows = slice(first_row, first_row + DRAW_CHUNK_ROWS)
            function_values[chunk_rows] = (
                np.cos(self.scaled_cube[chunk_rows] @ cosine_frequencies.T + phases) @ amplitudes
            )
        return np.asarray(np.sqrt(2.0 * self.signal_variance / feature_count) * function_values)

    def _compute_rows(self, rows: Integers) -> None:
        """Compute `rows` and keep them, reusing the kept blocks with which `rows` begins."""
        block_ends = self._block_ends(len(rows))
        former_ends = self._block_ends(len(self.rows))
        shared_count = _shared_row_count(self.rows, rows)
        reusable_ends = [
            block_end
            for block_end, former_end in zip(block_ends, former_ends, strict=False)
            if block_end == former_end <= shared_count
        ]
        if len(reusable_ends) < len(former_ends):
            del self.factor_blocks[len(reusable_ends) :]
            self.rows = self.rows[: max(reusable_ends, default=0)]
            self.squared_sums = np.zeros(len(self.squared_sums))
            for block_begin, block_end in zip([0, *reusable_ends], reusable_ends, strict=False):
                self._add_to_squared_sums(block_begin, block_end)
        for block_end in block_ends[len(reusable_ends) :]:
            block_begin = len(self.rows)
            block = self._append_rows(rows[block_begin:block_end])
            self.factor_blocks.append(block)
            self.rows = rows[:block_end]
            self._add_to_squared_sums(block_begin, block_end)

    def _add_to_squared_sums(self, block_begin: int, block_end: int) -> None:
        """Adds the squares of a block of rows of V."""
        block = self.V[block_begin:block_end]
        self.squared_sums = self.squared_sums + _squared_column_sums(block)

    def _block_ends(self, row_count: int) -> list[int]:
        """The row at which each block of so many rows ends, ascending."""
        settled_count = min(self.settled_count, row_count)
        block_ends = [*range(BLOCK_ROWS, settled_count, BLOCK_ROWS)]
        if settled_count:
            block_ends.append(settled_count)
        return [*block_ends, *range(settled_count + 1, row_count + 1)]

    def with_cube(self, unit_cube: Floats) -> Growing:
        """The process over another cube (M, D), all of which is returned.  L is not computed again if
        the observed points are the same there."""
        other = Growing(unit_cube, self.scales, self.theta, self.kernel, self.settled_count)
        is_same = self.rows.max(initial=0) < len(unit_cube) and np.array_equal(
            unit_cube[self.rows], self.unit_cube[self.rows]
        )
        if not is_same:
            return other
        other.factor_strips = [strip.copy() for strip in self.factor_strips]
        if len(self.rows) > len(other.V):
            other._reserve_rows(len(self.V))
        for chunk_columns in other._column_chunks():
            covariance = other.prior_covariance(self.rows, chunk_columns)
            block_begin = 0
            for block in self.factor_blocks:
                block_end = block_begin + len(block.diagonal)
                other._solve_columns(block, covariance[block_begin:block_end], chunk_columns)
                block_begin = block_end
        block_begin = 0
        for block in self.factor_blocks:
            block_end = block_begin + len(block.diagonal)
            other._add_to_squared_sums(block_begin, block_end)
            block_begin = block_end
        other.rows = self.rows
        other.factor_blocks = list(self.factor_blocks)
        return other

    def _append_rows(self, new_rows: Integers) -> FactorBlock:
        """Compute rows of L and V for k more rows of the space after the kept ones; the caller
        marks them as kept."""
        kept_count = len(self.rows)
        new_count = len(new_rows)
        if kept_count + new_count > len(self.V):
            self._reserve_rows(2 * (kept_count + new_count))
        left_block = np.zeros((new_count, kept_count))
        if kept_count:
            left_block = self._solve_forward(self.prior_covariance(new_rows, self.rows).T).T
        diagonal_block = cholesky(
            self.prior_covariance(new_rows, new_rows)
            + self.noise * np.eye(new_count)
            - left_block @ left_block.T,
            lower=True,
            check_finite=False,
        )
        for row_index, factor_row in enumerate(
            np.hstack([left_block, diagonal_block]), start=kept_count
        ):
            strip_index, row_in_strip = divmod(row_index, STRIP_ROWS)
            if strip_index == len(self.factor_strips):
                self.factor_strips.append(np.zeros((STRIP_ROWS, (strip_index + 1) * STRIP_ROWS)))
            self.factor_strips[strip_index][row_in_strip, : row_index + 1] = factor_row[
                : row_index + 1
            ]
        block = FactorBlock(left_block, diagonal_block)
        for chunk_columns in self._column_chunks():
            covariance = self.prior_covariance(new_rows, chunk_columns)
            self._solve_columns(block, covariance, chunk_columns)
        return block

    def _column_chunks(self) -> Iterator[slice]:
        """All columns of V, by chunks of which temporary arrays fit the cache."""
        for first_column in range(0, len(self.squared_sums), CHUNK):
            yield slice(first_column, min(first_column + CHUNK, len(self.squared_sums)))

    def _solve_columns(self, block: FactorBlock, covariance: Floats, columns: slice) -> None:
        """Compute these columns of a block's rows of V, given the covariance (k, columns)."""
        new_count, kept_count = block.left.shape
        right_side = covariance - block.left @ self.V[:kept_count, columns]
        self.V[kept_count : kept_count + new_count, columns], _ = dtrtrs(
            block.diagonal, right_side, lower=1, overwrite_b=1
        )

    def _solve_forward(self, right_side: Floats) -> Floats:
        """L⁻¹ B (n, k) for a right side B (n, k), strip by strip."""
        solution = np.empty_like(right_side)
        for strip, strip_begin in zip(
            self.factor_strips, range(0, len(right_side), STRIP_ROWS), strict=False
        ):
            strip_end = min(strip_begin + STRIP_ROWS, len(right_side))
            remainder = (
                right_side[strip_begin:strip_end]
                - strip[: strip_end - strip_begin, :strip_begin] @ solution[:strip_begin]
            )
            solution[strip_begin:strip_end] = solve_triangular(
                strip[: strip_end - strip_begin, strip_begin:strip_end],
                remainder,
                lower=True,
                check_finite=False,
            )
        return solution

    def _reserve_rows(self, capacity: int) -> None:
        """Reallocate V for `capacity` rows; pages not yet written take no memory."""
        row_count = len(self.rows)
        V = np.empty((capacity, len(self.squared_sums)))
        if row_count:
            V[:row_count] = self.V[:row_count]
        self.V = V


def _squared_column_sums(block: Floats) -> Floats:
    """(M,) sum over the rows of a block."""
    return np.asarray(np.einsum("km,km->m", block, block))


def _shared_row_count(former_rows: Integers, rows: Integers) -> int:
    """How many rows both begin with."""
    compared_count = min(len(former_rows), len(rows))
    differing_indices = np.flatnonzero(former_rows[:compared_count] != rows[:compared_count])
    if not len(differing_indices):
        return compared_count
    return int(differing_indices[0])
