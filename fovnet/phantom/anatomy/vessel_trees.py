"""The branching vessels of lungs and liver: dots and branches, bright in a dark lung if blood is bright,
faint in the liver.

Each vessel divides in two, towards the two halves of the region it supplies, and the cube of its width is
shared between them (Murray (1926), Proc Natl Acad Sci 12:207).  In a lung, ends are 2 to 3 mm in diameter, as
segments of the fifth or sixth order are, and the stem of 100 ends nine to fourteen, as lobar branches (Huang
et al. (1996), J Appl Physiol 81:2123).  In the liver they are 1.6 to 2.4 mm, stems 5 to 8.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.belly import dome_mm, lobes
from fovnet.phantom.anatomy.layers import Layer, Paints, paints
from fovnet.phantom.anatomy.thorax import apex_mm, lung
from fovnet.phantom.geometry.solids import Solid, tube
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import Person

LUNG_ENDS, LIVER_ENDS = 100, 36
"""Ends of the vessels of one lung (arteries and veins run side by side, with one label), and of the hepatic
or portal veins."""

HILUM_MM = (26.0, -22.0, 1366.0)
"""Where vessels enter the right lung, in the written anatomy; the left lung mirrors it."""

BELOW_DOME_MM = 60.0
"""Lowest level of the ends of the lung's vessels, below the liver's dome: behind it the lung reaches that
deep."""


def parts(person: Person) -> Paints:
    """The vessels of both lungs and of the liver, painted over these tissues only."""
    rng, top = person.generator(900), dome_mm(person)
    for side in (1, -1):
        within = lung(person, side).shrunk(8.0)
        (x0, y0, _), (x1, y1, _) = within.box.tolist()
        ends = _points(
            within, Box((x0, y0, top - BELOW_DOME_MM), (x1, y1, apex_mm(person))), LUNG_ENDS, rng
        )
        stems = forks(np.array(HILUM_MM) * (side, 1, 1), ends, rng.uniform(1.0, 1.5), rng)
        yield from paints(stems, "venous blood", Layer.CONTENT, over="lung")
    liver, room = next(lobes(person)).solid, Box((-70.0, -80.0, top - 150), (140.0, 90.0, top - 8))
    # hepatic veins to the vena cava, portal ones from the hilum
    for start in ((22.0, -6.0, top - 28), (26.0, 4.0, top - 105)):
        ends = _points(liver, room, LIVER_ENDS, rng)
        stems = forks(np.array(start), ends, rng.uniform(0.8, 1.2), rng)
        yield from paints(stems, "venous blood", Layer.CONTENT, over="liver")


def _points(solid: Solid, room: Box, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """(up to `count`, 3) mm: random points in the intersection of solid and room."""
    tried = rng.uniform(room.low, room.high, (6 * count, 3))
    x, y, z = tried.T.astype(np.float32)
    return tried[solid.inside(x, y, z)][:count]


def forks(
    start: NDArray[np.float64], ends: NDArray[np.float64], end_mm: float, rng: np.random.Generator
) -> list[Solid]:
    """The vessels from `start` to the ends (n, 3), whose radius is `end_mm`, by recursive bisection of the
    ends."""
    radius = end_mm * len(ends) ** (1 / 3)
    if len(ends) == 1:
        return [tube([start, ends[0]], [radius, 0.7 * radius])]
    fork = start + 0.45 * (ends.mean(axis=0) - start) + rng.normal(0, 3, 3)
    spread = ends - ends.mean(axis=0)
    order = np.argsort(spread @ np.linalg.svd(spread, full_matrices=False)[2][0])
    half = len(ends) // 2
    made: list[Solid] = [tube([start, fork], [radius, radius * 0.9])]
    return (
        made
        + forks(fork, ends[order[:half]], end_mm, rng)
        + forks(fork, ends[order[half:]], end_mm, rng)
    )
