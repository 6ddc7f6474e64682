"""Fields of view as they are set on the patient: up to the skin, beside the patient, or of any size about an organ.

A family has its usual size; a network that sees how large a field is learns that fields of 15 cm are of prostates, and calls a heart in one
pelvis.  Sizes drawn alike for all organs tell nothing of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.body import label_volume
from fovnet.phantom.person import Person
from fovnet.phantom.protocols import Plan, trunk_width_mm
from fovnet.phantom.raster import Grid
from fovnet.phantom.regrid import about_its_middle, recut, regridded, slice_axis
from fovnet.phantom.tissues import AIR

FITTED_SHARE = 0.5              # of fields across the trunk
CLOSE_SHARE = 0.65              # of the ends of those that are fitted; the others leave air, up to AIR_MM of it
CLOSE_MM, AIR_MM = 20.0, 140.0
FREED_SHARE = 1 / 3             # of fields about one organ
SIZES_MM = (90.0, 420.0)        # the larger side of a picture, each ratio as likely
LATTICE_MM, LATTICE, HEIGHTS = 12.0, (61, 45), 5     # how the outline is found
ARMLESS_SHARE = 0.6             # of fitted fields: they end with the trunk, not with the arms beside it
LEAST_MM = 120.0                # of a fitted field: where little body is to be seen, nothing is fitted to it


def fitted(plain: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """The plan with a field that is fitted to the body, where it goes across all of it, or one of any size, where it is about one organ.

    Fields about breasts, which a coil holds, and cut-outs of the spine, which are called so for being narrow, stay as they are.
    """
    family, dice = plain.family, rng.random()
    if family.protocol or family.hanging:
        return plain
    if not family.wide[1]:
        return _to_the_skin(plain, person, rng) if dice < FITTED_SHARE else plain
    return _of_any_size(plain, rng) if dice < FREED_SHARE and not family.long else plain


def _to_the_skin(plain: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """The field from side to side and from back to front ending within 2 cm of the body on either side of the skin, or well beyond it."""
    grid = plain.grid
    outline = outline_mm(person, grid)
    if outline is None:
        return plain
    if rng.random() < ARMLESS_SHARE:
        outline[0] = np.clip(outline[0], -trunk_width_mm(person) / 2, trunk_width_mm(person) / 2)
    for axis in (0, 1):
        step = float(np.linalg.norm(grid.vox_to_ras[:3, axis]))
        close = rng.random(2) < CLOSE_SHARE
        beyond = np.where(close, rng.uniform(-CLOSE_MM, CLOSE_MM, 2), rng.uniform(CLOSE_MM, AIR_MM, 2))
        edge = _edge_mm(grid, axis)
        low, high = outline[axis][0] - beyond[0], outline[axis][1] + beyond[1]
        if high - low >= LEAST_MM:
            grid = recut(grid, axis, low - edge, max(4, round((high - low) / step)), step)
    return regridded(plain, grid)


def outline_mm(person: Person, grid: Grid) -> NDArray[np.float64] | None:
    """(2, 2) where the body begins and ends along x and y, mm, at five heights of the grid, arms included; None where it shows none."""
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * (np.asarray(grid.shape) - 1)
    z = (corners @ grid.vox_to_ras[:3, :3].T + grid.vox_to_ras[:3, 3])[:, 2]
    affine = np.diag([LATTICE_MM, LATTICE_MM, max(1.0, np.ptp(z) / HEIGHTS), 1.0])
    affine[:3, 3] = -(LATTICE[0] // 2) * LATTICE_MM, -(LATTICE[1] // 2) * LATTICE_MM, z.min() + affine[2, 2] / 2
    places = np.argwhere(label_volume(person, Grid((*LATTICE, HEIGHTS), affine)).labels != AIR)
    if not len(places):
        return None
    ends = np.stack([places.min(axis=0)[:2] - 0.5, places.max(axis=0)[:2] + 0.5], axis=1)
    return np.asarray(ends * LATTICE_MM + affine[:2, 3:])


def _edge_mm(grid: Grid, axis: int) -> float:
    """Where the grid begins along that axis of the body, at its middle: its axes lie within 8° of the body's."""
    middle = (np.asarray(grid.shape, dtype=float) - 1) / 2
    middle[axis] = -0.5
    return float((grid.vox_to_ras[:3, :3] @ middle + grid.vox_to_ras[:3, 3])[axis])


def _of_any_size(plain: Plan, rng: np.random.Generator) -> Plan:
    """The same slices with pictures of another size, as many pixels as before, the middle up to a tenth of the size beside the old one."""
    through = slice_axis(plain)
    inside = [axis for axis in range(3) if axis != through]
    axes = plain.grid.vox_to_ras[:3, :3].copy()
    sizes = np.linalg.norm(axes, axis=0) * plain.grid.shape
    wanted = float(np.exp(rng.uniform(*np.log(SIZES_MM))))
    axes[:, inside] *= wanted / sizes[inside].max()
    grid = about_its_middle(plain.grid, axes)
    affine = grid.vox_to_ras.copy()
    for axis in inside:
        affine[:3, 3] += axes[:, axis] * grid.shape[axis] * rng.uniform(-0.1, 0.1)
    return regridded(plain, Grid(grid.shape, affine))
