"""An arm alone in the field of view: anatomy that belongs to no region."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fovnet.phantom.acquisition.families import Family, as_offsets, ends
from fovnet.phantom.acquisition.protocols import Plan, Site, plan
from fovnet.phantom.anatomy import limbs
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.geometry.raster import Grid, Pieces, pieces_of, rasterise
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import LabelVolume
from fovnet.phantom.scanner.tissues import AIR

STEP_MM = 15.0


def arm_alone(person: Person, grid: Grid, fine: bool = True) -> LabelVolume:
    """The labels of the person's arms on the grid, without the rest of the body; `fine` as for
    `limbs.arms`."""
    return LabelVolume(rasterise(_arms(person, fine), grid, person.morph), grid.vox_to_ras)


def arm_plan(
    person: Person, marks: Landmarks, site: Site, rng: np.random.Generator, fine: bool = True
) -> Plan:
    """An acquisition of 10 to 24 cm about a point of one arm: a hand, a wrist, an elbow."""
    affine = np.diag([STEP_MM, STEP_MM, STEP_MM, 1.0])
    affine[:3, 3] = 0, -300, 300
    coarse = Grid((50, 41, 140), affine)
    places = np.argwhere(arm_alone(person, coarse, fine).labels != AIR)
    middle = places[rng.integers(len(places))] * STEP_MM + affine[:3, 3]
    half, wide, deep = rng.uniform(100, 240, 3) / [2, 1, 1]
    x, y, z = middle.tolist()
    offset_x, offset_y = as_offsets(person, x, y)
    family = Family(
        "arm",
        *ends(z - half, z + half),
        (wide, wide),
        (deep, deep),
        "aasc",
        offset_x=offset_x,
        offset_y=offset_y,
    )
    return plan(person, marks, family, site, rng)


@lru_cache(maxsize=1)
def _arms(person: Person, fine: bool) -> Pieces:
    return pieces_of(limbs.arms(person, fine))
