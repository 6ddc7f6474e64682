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

from fovnet.phantom.anatomy.belly import liver_dome_height_mm, paint_varied_liver
from fovnet.phantom.anatomy.layers import Layer, Paints, paint_all
from fovnet.phantom.anatomy.thorax import lung_apex_height_mm, lung_solid
from fovnet.phantom.geometry.solids import Solid, tube
from fovnet.phantom.geometry.tissue_structure import Box
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

LUNG_END_COUNT = 100  # of one lung's vessels: arteries and veins run side by side, with one label
LIVER_END_COUNT = 36  # of the hepatic or the portal veins

HILUM_MM = (26.0, -22.0, 1366.0)
"""Where vessels enter the right lung, in the written anatomy; the left lung mirrors it."""

BELOW_DOME_MM = 60.0
"""Lowest level of the ends of the lung's vessels, below the liver's dome: behind it the lung
reaches that deep."""


def paint_vessel_trees(person: Person) -> Paints:
    """The vessels of both lungs and of the liver, painted over these tissues only."""
    rng = person.generator(Stream.VESSEL_TREES)
    dome_z = liver_dome_height_mm(person)
    for side in (1, -1):
        lung_core = lung_solid(person, side).shrink(8.0)
        (low_x, low_y, _), (high_x, high_y, _) = lung_core.box.tolist()
        lung_box = Box(
            (low_x, low_y, dome_z - BELOW_DOME_MM), (high_x, high_y, lung_apex_height_mm(person))
        )
        end_points = _draw_end_points(lung_core, lung_box, LUNG_END_COUNT, rng)
        hilum = np.array(HILUM_MM) * (side, 1, 1)
        vessels = branch_vessels(hilum, end_points, rng.uniform(1.0, 1.5), rng)
        yield from paint_all(vessels, "venous blood", Layer.CONTENT, replaced_tissues="lung")
    liver = next(paint_varied_liver(person)).solid
    liver_box = Box((-70.0, -80.0, dome_z - 150), (140.0, 90.0, dome_z - 8))
    hepatic_start = np.array((22.0, -6.0, dome_z - 28))  # at the inferior vena cava
    portal_start = np.array((26.0, 4.0, dome_z - 105))  # at the hilum of the liver
    for start in (hepatic_start, portal_start):
        end_points = _draw_end_points(liver, liver_box, LIVER_END_COUNT, rng)
        vessels = branch_vessels(start, end_points, rng.uniform(0.8, 1.2), rng)
        yield from paint_all(vessels, "venous blood", Layer.CONTENT, replaced_tissues="liver")


def _draw_end_points(
    solid: Solid, box: Box, count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Up to `count` random points (n, 3) mm in the intersection of solid and box."""
    candidates = rng.uniform(box.low_corner, box.high_corner, (6 * count, 3))
    x, y, z = candidates.T.astype(np.float32)
    return candidates[solid.contains(x, y, z)][:count]


def branch_vessels(
    start: NDArray[np.float64],
    end_points: NDArray[np.float64],
    end_radius_mm: float,
    rng: np.random.Generator,
) -> list[Solid]:
    """The vessels from a point (3,) to end points (n, 3): a stem, which divides towards the two
    halves of the end points, and so on; at an end they have that radius."""
    radius_mm = end_radius_mm * len(end_points) ** (1 / 3)
    if len(end_points) == 1:
        return [tube([start, end_points[0]], [radius_mm, 0.7 * radius_mm])]
    middle = end_points.mean(axis=0)
    fork = start + 0.45 * (middle - start) + rng.normal(0, 3, 3)
    offsets = end_points - middle
    longest_axis = np.linalg.svd(offsets, full_matrices=False)[2][0]
    ordered_ends = end_points[np.argsort(offsets @ longest_axis)]
    half_count = len(end_points) // 2
    stem = tube([start, fork], [radius_mm, radius_mm * 0.9])
    first_half = branch_vessels(fork, ordered_ends[:half_count], end_radius_mm, rng)
    second_half = branch_vessels(fork, ordered_ends[half_count:], end_radius_mm, rng)
    return [stem, *first_half, *second_half]
