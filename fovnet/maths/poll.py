"""The directions of a poll: an orthogonal basis and its negatives, which positively span the space,
and their sizes.

    n  ordinal axes        k  rung, from the coarsest
Sources: Abramson, Audet, Dennis & Le Digabel, *OrthoMADS* (SIAM J. Optim. 2009), section 3, with a
random normal in place of a Halton one; the sizes are those of NOMAD 4, {1, 2, 5} · 10^b.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIZES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Half the width of the frame on each rung, as a share of an axis."""


def reflection(normal_vector: Floats) -> Floats:
    """(n, n), orthogonal and symmetric: Householder's matrix I - 2vvᵀ of a normal (n,) of any
    length but 0."""
    unit_normal = normal_vector / np.linalg.norm(normal_vector)
    return np.asarray(np.eye(len(unit_normal)) - 2.0 * np.outer(unit_normal, unit_normal))


def directions(basis: Floats, rng: np.random.Generator) -> Floats:
    """(2n, n): the columns of a basis (n, n) in a random order, each scaled to a largest component
    of ±1, and with its negative, either first."""
    scaled_columns = (basis / np.abs(basis).max(axis=0)).T
    signed_columns = [
        sign * scaled_columns[column_index]
        for column_index in rng.permutation(len(scaled_columns))
        for sign in rng.permutation([1.0, -1.0])
    ]
    return np.array(signed_columns).reshape(-1, len(scaled_columns))
