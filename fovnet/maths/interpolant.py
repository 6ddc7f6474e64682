"""Interpolation of scattered values in a few dimensions: smooth through all of them, or between
their extremes.

    n  known points, (n, D)        m  points asked about, (m, D)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]

QUERY_BLOCK = 4096
"""Points asked about at once: with 300 known ones a block of distances takes 10 MB."""
SMOOTHING = 1e-6  # with it points of which two are the same can be solved for
AFFINE_RIDGE = 1e-9  # with it points in a plane can be solved for


def interpolate_cubic(points: Floats, values: Floats, queries: Floats) -> Floats:
    """(m,) the interpolant Σ w_i |x - x_i|³ + a + b·x through values (n,), the smoothest in three
    dimensions.

    Exact for affine values.  Source: Wendland, *Scattered data approximation* (2005), section 11.2.
    """
    affine_columns = _affine_terms(points)
    point_count = len(points)
    affine_count = affine_columns.shape[1]
    system = np.empty((point_count + affine_count, point_count + affine_count))
    system[:point_count, :point_count] = cdist(points, points) ** 3 + SMOOTHING * np.eye(
        point_count
    )
    system[:point_count, point_count:] = affine_columns
    system[point_count:, :point_count] = affine_columns.T
    system[point_count:, point_count:] = -AFFINE_RIDGE * np.eye(affine_count)
    weights = np.linalg.solve(system, np.concatenate([values, np.zeros(affine_count)]))
    blocks = [
        cdist(block, points) ** 3 @ weights[:point_count]
        + _affine_terms(block) @ weights[point_count:]
        for block in np.array_split(queries, 1 + len(queries) // QUERY_BLOCK)
    ]
    return np.concatenate(blocks)


def interpolate_by_distance(points: Floats, values: Floats, queries: Floats) -> Floats:
    """(m,) the mean of the values (n,), weighted by 1/(|x - x_i|² + 0.001)²: near a known point its
    value, far from all their mean.

    Source: Shepard, *A two-dimensional interpolation function for irregularly-spaced data* (1968).
    """
    weights = (cdist(queries, points, "sqeuclidean") + 1e-3) ** -2
    return np.asarray(weights @ values / weights.sum(axis=1))


def nearest_squared_gap(points: Floats, queries: Floats) -> Floats:
    """(m,) the squared distance to the nearest known point."""
    blocks = np.array_split(queries, 1 + len(queries) // QUERY_BLOCK)
    return np.concatenate([cdist(block, points, "sqeuclidean").min(axis=1) for block in blocks])


def _affine_terms(points: Floats) -> Floats:
    """(n, 1 + d) a column of ones, and the points (n, d)."""
    return np.column_stack([np.ones(len(points)), points])
