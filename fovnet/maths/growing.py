"""A Gaussian process that is extended with every trial, evaluated at all M rows of a finite space.

    rows   (n,)   the evaluated rows, in the order they came      cube  (M, D)  the space on the unit cube
    L      (n, n) lower Cholesky factor of K(rows, rows) + noise·I, grown by k rows in O(n²k); kept
           by STRIP rows, without the zeros
    V      (n, M) L⁻¹ K(rows, all), grown by k rows in O(nkM); 274 MB for n = 1,000 and M = 34,300
    mean = Vᵀ L⁻¹ y          variance = s2 - Σ V²

The first `settled` rows are added in blocks of BLOCK, as matrix products; each row after them
singly, once. Where the blocks end follows from `settled` alone, so with one thread on one processor
a result is to the bit a function of (cube, theta, settled, asked, rows, y), independent of earlier
calls.  Between processors, and between two values of `asked`, it differs by rounding: OpenBLAS sums
the columns that are left over from whole tiles in another order.  With AVX-512, columns 96 to 99 of
100 differ by 1e-13 from the same ones of 300.

Source: Bertrand (2019), thesis, chapter "Hyper-parameter optimization": the bordered Cholesky
factor; R&W eqs 2.25 and 2.26.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial.distance import cdist

from fovnet.maths.kernels import Kernel, frequencies, matern52
from fovnet.maths.scales import Scales

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BLOCK = 32
"""Number of settled rows in a block."""
CHUNK = 2048
"""Rows of the space taken at once: temporary arrays are (k, CHUNK), half a megabyte, instead of a
second (k, M)."""
STRIP = 128
"""Rows of L kept in one array (STRIP, up to the diagonal), so that LAPACK copies no more than it
needs."""
DRAWN = 256
"""Rows of the space drawn at once, a megabyte of cosines: larger temporary arrays would stay with
the process as unused memory."""


@dataclass
class Growing:
    """The process with one theta over one space, and the rows of L and V computed so far.

    asked  M of what is returned: the first rows of the cube, where not all of it (None); the others
           are only observed
    """

    cube: Floats
    scales: Scales
    theta: Floats
    kernel: Kernel = matern52
    settled: int = 0
    asked: int | None = None
    rows: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    strips: list[Floats] = field(default_factory=list)
    V: Floats = field(init=False)
    squares: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.s2 = float(np.exp(self.theta[-2]))
        self.noise = float(np.exp(self.theta[-1]))
        self.scaled = self.cube / self.scales.lengthscales(self.theta)
        self.asked = len(self.cube) if self.asked is None else self.asked
        self.squares = np.zeros(self.asked)
        self._make_room(self.settled + self.settled // 8 + BLOCK)

    def posterior(self, rows: Integers, y: Floats, pending: Integers) -> tuple[Floats, Floats]:
        """Mean (M,) and variance (M,) of the noise-free function at every row of the space.

        Pending rows are taken as observed at their posterior mean: the mean is unchanged, and the
        variance around them shrinks. Source: Ginsbourger et al., *Kriging is well-suited to
        parallelize optimization* (2010), section 4.2.
        """
        self._keep(rows)
        n = len(rows)
        k = len(pending)
        z = self._forward(y[:, None])[:, 0]
        mean = z @ self.V[:n]
        squares = self.squares
        if k:
            self._grow(pending)
            squares = squares + _squares(self.V[n : n + k])
        return mean, np.maximum(self.s2 - squares, 0.0)

    def covariance(self, rows: Integers, pending: Integers, points: Integers) -> Floats:
        """Covariance (c, c) of the noise-free function at some rows of the space, its diagonal as
        in `posterior`."""
        self._keep(rows)
        if len(pending):
            self._grow(pending)
        V = self.V[: len(rows) + len(pending), points]
        return np.asarray(self._kernel(points, points) - V.T @ V)

    def factor(self, rows: Integers) -> Floats:
        """L (n, n) of these rows."""
        self._keep(rows)
        n = len(rows)
        return np.vstack([np.pad(strip, ((0, 0), (0, n)))[:, :n] for strip in self.strips])[:n]

    def prior_draw(self, rng: np.random.Generator, features: int = 512) -> Floats:
        """A function (M,) drawn from the process before any observation, as a sum of random
        cosines."""
        omega = frequencies(self.kernel, features, self.scaled.shape[1], rng)
        phase = rng.uniform(0.0, 2.0 * np.pi, features)
        weight = rng.standard_normal(features)
        draw = np.empty(len(self.scaled))
        for first in range(0, len(draw), DRAWN):
            part = slice(first, first + DRAWN)
            draw[part] = np.cos(self.scaled[part] @ omega.T + phase) @ weight
        return np.asarray(np.sqrt(2.0 * self.s2 / features) * draw)

    def _keep(self, rows: Integers) -> None:
        """Compute `rows` and keep them, reusing the kept blocks with which `rows` begins."""
        ends = self._ends(len(rows))
        shared = _common_prefix(self.rows, rows)
        trusted = [
            end
            for end, block_end in zip(ends, self._ends(len(self.rows)), strict=False)
            if end == block_end <= shared
        ]
        if len(trusted) < len(self._ends(len(self.rows))):
            self.rows = self.rows[: trusted[-1] if trusted else 0]
            self.squares = np.zeros(len(self.squares))
            for first, end in zip([0, *trusted], trusted, strict=False):
                self.squares = self.squares + _squares(self.V[first:end])
        for end in ends[len(trusted) :]:
            first_row = len(self.rows)
            self._grow(rows[first_row:end])
            self.rows = rows[:end]
            self.squares = self.squares + _squares(self.V[first_row:end])

    def _ends(self, n: int) -> list[int]:
        """Where the blocks of n rows end."""
        settled = min(self.settled, n)
        return [
            *range(BLOCK, settled, BLOCK),
            *([settled] if settled else []),
            *range(settled + 1, n + 1),
        ]

    def _grow(self, new: Integers) -> None:
        """Compute k more rows of L and V after the kept ones; the caller marks them as kept."""
        n = len(self.rows)
        k = len(new)
        if n + k > len(self.V):
            self._make_room(2 * (n + k))
        border = np.zeros((k, n))
        if n:
            border = self._forward(self._kernel(new, self.rows).T).T
        corner = cholesky(
            self._kernel(new, new) + self.noise * np.eye(k) - border @ border.T,
            lower=True,
            check_finite=False,
        )
        for number, row in enumerate(np.hstack([border, corner]), start=n):
            strip, line = divmod(number, STRIP)
            if strip == len(self.strips):
                self.strips.append(np.zeros((STRIP, (strip + 1) * STRIP)))
            self.strips[strip][line, : number + 1] = row[: number + 1]
        # temporary arrays fit the cache
        for first in range(0, len(self.squares), CHUNK):
            part = slice(first, min(first + CHUNK, len(self.squares)))
            right_side = self._kernel(new, part) - border @ self.V[:n, part]
            self.V[n : n + k, part] = solve_triangular(
                corner, right_side, lower=True, overwrite_b=True, check_finite=False
            )

    def _forward(self, B: Floats) -> Floats:
        """L⁻¹ B (n, k), strip by strip."""
        X = np.empty_like(B)
        for strip, first in zip(self.strips, range(0, len(B), STRIP), strict=False):
            end = min(first + STRIP, len(B))
            rest = B[first:end] - strip[: end - first, :first] @ X[:first]
            X[first:end] = solve_triangular(
                strip[: end - first, first:end], rest, lower=True, check_finite=False
            )
        return X

    def _make_room(self, capacity: int) -> None:
        """Reallocate V for `capacity` rows; pages not yet written take no memory."""
        n = len(self.rows)
        earlier_rows = self.V if len(self.rows) else None
        self.V = np.empty((capacity, len(self.squares)))
        if earlier_rows is not None:
            self.V[:n] = earlier_rows[:n]

    def _kernel(self, rows: Integers, columns: Integers | slice) -> Floats:
        return np.asarray(
            self.s2 * self.kernel(cdist(self.scaled[rows], self.scaled[columns], "sqeuclidean"))[0]
        )


def _squares(block: Floats) -> Floats:
    """(M,) sum over the rows of a block."""
    return np.asarray(np.einsum("km,km->m", block, block))


def _common_prefix(former_rows: Integers, rows: Integers) -> int:
    """How many rows both begin with."""
    n = min(len(former_rows), len(rows))
    differ = np.flatnonzero(former_rows[:n] != rows[:n])
    return int(differ[0]) if len(differ) else n
