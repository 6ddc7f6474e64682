"""grid: an even lattice over the space, in an order of its own: no seed, no scores, every beginning
of it as even as can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.search.look.uniform import choose_nearest
from fovnet.search.look.view import Choice, View

Floats = NDArray[np.float64]

ROOT_ITERATIONS = 60
"""After which φ no longer changes."""


def choose_on_lattice(view: View) -> Choice:
    """The free row nearest to the point of the number of rows begun; a space is exhausted after as
    many as it has rows."""
    return choose_nearest(view, lattice_point(view.begun_count, len(view.space.axes)))


def lattice_point(slot: int, dimension_count: int) -> Floats:
    """Point (d,) in [0, 1) of slot 0, the centre, or of a later one: ½ + slot · φ⁻ʲ on axis j =
    1..d, without its whole part.

    φ is the root of x^(d+1) = x + 1, the golden ratio for d = 1: no other additive sequence is
    known to leave smaller gaps.  Nested loops would begin in a corner, with the smallest or the
    largest networks, and come to the first axis last.
    Source: Roberts, *The unreasonable effectiveness of quasirandom sequences* (2018).
    """
    phi = 2.0
    for _ in range(ROOT_ITERATIONS):
        phi = (1.0 + phi) ** (1.0 / (dimension_count + 1))
    return np.asarray((0.5 + slot * np.cumprod(np.full(dimension_count, 1.0 / phi))) % 1.0)
