"""The branching vessels of lungs and liver: dots and branches, bright in a dark lung if blood is
bright, faint in the liver.

Each vessel divides in two, towards the two halves of the region it supplies, and the cube of its
width is shared between them (Murray (1926), Proc Natl Acad Sci 12:207).  In a lung, ends are 2 to 3
mm in diameter, as segments of the fifth or sixth order are, and the stem of 100 ends nine to
fourteen, as lobar branches (Huang et al. (1996), J Appl Physiol 81:2123).  In the liver they are
1.6 to 2.4 mm, stems 5 to 8.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.belly import paint_varied_liver, written_liver_dome_mm
from fovnet.phantom.anatomy.layers import Layer, Paints, paint_all
from fovnet.phantom.anatomy.thorax import lung_solid, written_lung_apex_mm
from fovnet.phantom.geometry.solids import Solid, tube
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.traits import Person

LUNG_ENDS = 100
LIVER_ENDS = 36
"""Ends of the vessels of one lung (arteries and veins run side by side, with one label), and of the
hepatic or portal veins."""

HILUM_MM = (26.0, -22.0, 1366.0)
"""Where vessels enter the right lung, in the written anatomy; the left lung mirrors it."""

BELOW_DOME_MM = 60.0
"""Lowest level of the ends of the lung's vessels, below the liver's dome: behind it the lung
reaches that deep."""


def paint_vessel_trees(person: Person) -> Paints:
    """The vessels of both lungs and of the liver, painted over these tissues only."""
    rng = person.generator(900)
    dome_z = written_liver_dome_mm(person)
    for side in (1, -1):
        lung_core = lung_solid(person, side).shrink(8.0)
        (low_x, low_y, _), (high_x, high_y, _) = lung_core.box.tolist()
        end_points = _draw_end_points(
            lung_core,
            Box(
                (low_x, low_y, dome_z - BELOW_DOME_MM),
                (high_x, high_y, written_lung_apex_mm(person)),
            ),
            LUNG_ENDS,
            rng,
        )
        vessels = branch_vessels(
            np.array(HILUM_MM) * (side, 1, 1), end_points, rng.uniform(1.0, 1.5), rng
        )
        yield from paint_all(vessels, "venous blood", Layer.CONTENT, replaced_tissues="lung")
    liver = next(paint_varied_liver(person)).solid
    liver_box = Box((-70.0, -80.0, dome_z - 150), (140.0, 90.0, dome_z - 8))
    # hepatic veins to the vena cava, portal ones from the hilum
    for stem_start in ((22.0, -6.0, dome_z - 28), (26.0, 4.0, dome_z - 105)):
        end_points = _draw_end_points(liver, liver_box, LIVER_ENDS, rng)
        vessels = branch_vessels(np.array(stem_start), end_points, rng.uniform(0.8, 1.2), rng)
        yield from paint_all(vessels, "venous blood", Layer.CONTENT, replaced_tissues="liver")


def _draw_end_points(
    solid: Solid, box: Box, count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """(up to `count`, 3) mm: random points in the intersection of solid and box."""
    candidates = rng.uniform(box.low_corner, box.high_corner, (6 * count, 3))
    x, y, z = candidates.T.astype(np.float32)
    return candidates[solid.contains(x, y, z)][:count]


def branch_vessels(
    start: NDArray[np.float64], ends: NDArray[np.float64], end_mm: float, rng: np.random.Generator
) -> list[Solid]:
    """The vessels from `start` to the ends (n, 3), whose radius is `end_mm`, by recursive bisection
    of the ends."""
    radius_mm = end_mm * len(ends) ** (1 / 3)
    if len(ends) == 1:
        return [tube([start, ends[0]], [radius_mm, 0.7 * radius_mm])]
    fork = start + 0.45 * (ends.mean(axis=0) - start) + rng.normal(0, 3, 3)
    offsets = ends - ends.mean(axis=0)
    end_order = np.argsort(offsets @ np.linalg.svd(offsets, full_matrices=False)[2][0])
    half_count = len(ends) // 2
    stem: list[Solid] = [tube([start, fork], [radius_mm, radius_mm * 0.9])]
    return (
        stem
        + branch_vessels(fork, ends[end_order[:half_count]], end_mm, rng)
        + branch_vessels(fork, ends[end_order[half_count:]], end_mm, rng)
    )
