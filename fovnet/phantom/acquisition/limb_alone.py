"""An arm alone in the field of view: anatomy that belongs to no region."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fovnet.phantom.acquisition.families import Family, ends_at_heights, field_offsets
from fovnet.phantom.acquisition.protocols import Plan, Site, draw_plan
from fovnet.phantom.anatomy import limbs
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.geometry.raster import Grid, Pieces, pieces_of, rasterise
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import LabelVolume
from fovnet.phantom.scanner.tissues import AIR

STEP_MM = 15.0


def arm_alone(person: Person, grid: Grid, with_small_parts: bool = True) -> LabelVolume:
    """The labels of the person's arms on the grid, without the rest of the body; `with_small_parts`
    as for `limbs.arms`."""
    return LabelVolume(
        rasterise(_arm_pieces(person, with_small_parts), grid, person.morph), grid.vox_to_ras
    )


def arm_plan(
    person: Person,
    marks: Landmarks,
    site: Site,
    rng: np.random.Generator,
    with_small_parts: bool = True,
) -> Plan:
    """The plan of a field of 10 to 24 cm about a point of one arm: a hand, a wrist, an elbow."""
    affine = np.diag([STEP_MM, STEP_MM, STEP_MM, 1.0])
    affine[:3, 3] = 0, -300, 300
    coarse_grid = Grid((50, 41, 140), affine)
    arm_points = np.argwhere(arm_alone(person, coarse_grid, with_small_parts).labels != AIR)
    middle_mm = arm_points[rng.integers(len(arm_points))] * STEP_MM + affine[:3, 3]
    half_height_mm, width_mm, depth_mm = rng.uniform(100, 240, 3) / [2, 1, 1]
    x, y, z = middle_mm.tolist()
    offset_x_mm, offset_y_mm = field_offsets(person, x, y)
    family = Family(
        "arm",
        *ends_at_heights(z - half_height_mm, z + half_height_mm),
        width_mm=(width_mm, width_mm),
        depth_mm=(depth_mm, depth_mm),
        planes="aasc",
        offset_x_mm=offset_x_mm,
        offset_y_mm=offset_y_mm,
    )
    return draw_plan(person, marks, family, site, rng)


@lru_cache(maxsize=1)
def _arm_pieces(person: Person, with_small_parts: bool) -> Pieces:
    """Both arms of the person, ready for painting."""
    return pieces_of(limbs.paint_arms(person, with_small_parts))
