"""An arm alone in the field of view: anatomy that belongs to no region."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fovnet.phantom.acquisition.field_kinds import FieldKind, ends_at_heights, field_offsets
from fovnet.phantom.acquisition.protocols import Plan, Site, draw_plan
from fovnet.phantom.anatomy import limbs
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.geometry.raster import Grid, Pieces, cut_into_pieces, rasterise
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import LabelVolume
from fovnet.phantom.scanner.tissues import AIR

STEP_MM = 15.0


def label_arms(person: Person, grid: Grid, with_small_parts: bool = True) -> LabelVolume:
    """The labels of the person's arms on the grid, without the rest of the body; with or without
    the small parts of their joints."""
    arm_pieces = _arm_pieces(person, with_small_parts)
    return LabelVolume(rasterise(arm_pieces, grid, person.morph), grid.vox_to_ras)


def draw_arm_plan(
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
    arm_points = np.argwhere(label_arms(person, coarse_grid, with_small_parts).labels != AIR)
    middle_mm = arm_points[rng.integers(len(arm_points))] * STEP_MM + affine[:3, 3]
    height_mm, width_mm, depth_mm = rng.uniform(100, 240, 3)
    x, y, z = middle_mm.tolist()
    offset_x_range_mm, offset_y_range_mm = field_offsets(person, x, y)
    arm_field = FieldKind(
        "arm",
        *ends_at_heights(z - height_mm / 2, z + height_mm / 2),
        width_range_mm=(width_mm, width_mm),
        depth_range_mm=(depth_mm, depth_mm),
        plane_letters="aasc",
        offset_x_range_mm=offset_x_range_mm,
        offset_y_range_mm=offset_y_range_mm,
    )
    return draw_plan(person, marks, arm_field, site, rng)


@lru_cache(maxsize=1)
def _arm_pieces(person: Person, with_small_parts: bool) -> Pieces:
    """Both arms of the person, ready for painting."""
    return cut_into_pieces(limbs.paint_arms(person, with_small_parts))
