"""The vessels of the lungs, from the hilum out to 8 mm under the pleura: what is bright in a dark lung where blood is bright.

Each vessel forks in two, towards the two halves of the lung that it feeds, and the cube of its width is shared between them (Murray
(1926), Proc Natl Acad Sci 12:207).  Ends are 2 to 3 mm across, as segments of the fifth or sixth order are, and the stem of a lung
of 100 ends nine to fourteen (Huang et al. (1996), J Appl Physiol 81:2123: orders 9 to 10 measure 2 to 5 mm, the main branches more).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.belly import dome_mm
from fovnet.phantom.layers import Layer, paint
from fovnet.phantom.person import Person
from fovnet.phantom.raster import Paint
from fovnet.phantom.solids import Solid, tube
from fovnet.phantom.thorax import APEX_MM, lung

ENDS = 100
"""Of the vessels of one lung; arteries and veins run side by side and are not told apart."""

HILUM_MM = (26.0, -22.0, 1366.0)
"""Where they enter the right lung, in the written anatomy; the left lung mirrors it."""

BELOW_DOME_MM = 60.0
"""How far below the liver's dome ends are still sought: behind it the lung reaches that deep."""


def parts(person: Person) -> list[Paint]:
    """The vessels of both lungs, painted over lung alone."""
    rng = person.generator(900)
    made = []
    for side in (1, -1):
        end_mm = float(rng.uniform(1.0, 1.5))
        for stem in _forks(np.array(HILUM_MM) * (side, 1, 1), _ends(person, side, rng), end_mm, rng):
            made.append(paint(stem, "venous blood", Layer.CONTENT, over=("lung",)))
    return made


def _ends(person: Person, side: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(ENDS, 3) mm: points of one lung, all as likely, 8 mm within its surface."""
    within = lung(person, side).shrunk(8.0)
    (x0, y0, _), (x1, y1, _) = within.box
    tried = rng.uniform((x0, y0, dome_mm(person) - BELOW_DOME_MM), (x1, y1, APEX_MM), (6 * ENDS, 3))
    x, y, z = tried.T.astype(np.float32)
    return tried[within.inside(x, y, z)][:ENDS]


def _forks(start: NDArray[np.float64], ends: NDArray[np.float64], end_mm: float, rng: np.random.Generator) -> list[Solid]:
    """The vessels from `start` to the ends (n, 3), whose radius is `end_mm`; each piece leads to the ends of one half of what is left."""
    radius = end_mm * len(ends) ** (1 / 3)
    if len(ends) == 1:
        return [tube([start, ends[0]], [radius, 0.7 * radius])]
    fork = start + 0.45 * (ends.mean(axis=0) - start) + rng.normal(0, 3, 3)
    spread = ends - ends.mean(axis=0)
    along = spread @ np.linalg.svd(spread, full_matrices=False)[2][0]
    order = np.argsort(along)
    half = len(ends) // 2
    made: list[Solid] = [tube([start, fork], [radius, radius * 0.9])]
    for some in (order[:half], order[half:]):
        made += _forks(fork, ends[some], end_mm, rng)
    return made
