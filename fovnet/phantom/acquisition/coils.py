"""Coils as found in archives: a single surface element, arrays on the skin, uncorrected bias
fields."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.protocols import Plan
from fovnet.phantom.anatomy.body import label_volume
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import Coil
from fovnet.phantom.scanner.tissues import AIR

# least width and depth of a field received by arrays on the skin: those of a trunk
LEAST_ARRAY_FIELD_MM = 260.0
ACTIVE_SHARE = 0.85  # of the elements of an array; the others are off
BODY_STEP_MM = 12.0  # voxel size, across the body, at which its extent is measured


def draw_surface_coil(
    coil: Coil, grid: Grid, isocentre_mm: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """One element at a side of the grid (three volumes in ten), the given coil with a fall along z
    (one in ten), arrays of small elements next to the skin (of large fields more than one in five),
    or the given coil; four in ten also have an uncorrected bias field."""
    coil_dice, bias_dice = rng.random(2)
    corners_mm = field_corners_mm(grid) - isocentre_mm
    low_mm = corners_mm.min(axis=0)
    high_mm = corners_mm.max(axis=0)
    width_mm, depth_mm, height_mm = high_mm - low_mm
    if coil_dice < 0.3:
        coil = _draw_single_element(low_mm, high_mm, rng)
    elif coil_dice > 0.78 and min(width_mm, depth_mm) > LEAST_ARRAY_FIELD_MM:
        coil = _draw_arrays(low_mm, high_mm, rng)
    elif coil_dice < 0.4 and height_mm < 700:
        coil = replace(coil, half_signal_mm=rng.uniform(110, 230))
    if bias_dice < 0.4:
        coil = replace(coil, bias_spread=rng.uniform(0.08, 0.4))
    return coil


def _draw_single_element(
    low_mm: NDArray[np.float64], high_mm: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """One element near a side of the box between two corners (3,), mostly in front of or behind
    it."""
    centre_mm = (low_mm + high_mm) / 2
    half_size_mm = (high_mm - low_mm) / 2
    axis = int(rng.choice([0, 1, 1]))
    sign = float(rng.choice([-1, 1]))
    centre_mm[axis] += sign * (min(half_size_mm[axis], 220.0) + rng.uniform(-30, 20))
    centre_mm[2] += rng.uniform(-0.3, 0.3) * min(half_size_mm[2], 150.0)
    return Coil([centre_mm.tolist()], rng.uniform(45, 130), rng.uniform(0.85, 1.0))


def _draw_arrays(
    low_mm: NDArray[np.float64], high_mm: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """Small elements in the table and in a mat on the body, side by side, for a field between two
    corners (3,); skin and fat next to them are bright, deep tissue is dark.

    Elements of 4 to 10 cm receive to a depth of about their radius; in three of ten arrays table or
    mat has none; one element of seven is off.
    """
    size_mm = high_mm - low_mm
    # depth of the skin below the edges of the field, mm
    back_mm, front_mm = rng.uniform(10, 55, 2)
    table_y = low_mm[1] + back_mm
    mat_y = high_mm[1] - front_mm
    rows_y = ((table_y, mat_y), (table_y,), (mat_y,))[rng.choice(3, p=[0.7, 0.2, 0.1])]
    step_mm = rng.uniform(80, 140)
    middle_mm = (low_mm + high_mm) / 2
    x_offsets = np.arange(-1.5, 2) * step_mm * min(1.0, size_mm[0] / (4 * step_mm)) + rng.normal(
        0, 12
    )
    half_height_mm = min(size_mm[2] / 2, 220.0)
    z_positions = np.arange(
        middle_mm[2] - half_height_mm, middle_mm[2] + half_height_mm + 1, step_mm
    )
    element_centres = [
        (float(middle_mm[0] + x_offset), float(y), float(z))
        for y in rows_y
        for x_offset in x_offsets
        for z in z_positions
    ]
    active_centres = [centre for centre in element_centres if rng.random() < ACTIVE_SHARE]
    return Coil(
        active_centres or element_centres,
        reach_mm=rng.uniform(20, 50),
        element_share=rng.uniform(0.85, 0.98),
        half_signal_mm=rng.uniform(180, 330),
    )


def brighten_middle(coil: Coil, plan: Plan, rng: np.random.Generator) -> Coil:
    """The coil for a head that is brightest in its middle, with the scalp at a half to four fifths
    of that."""
    middle_index = np.array([*((size - 1) / 2 for size in plan.grid.shape), 1.0])
    centre_mm = plan.grid.vox_to_ras[:3] @ middle_index - plan.isocentre_mm + rng.normal(0, 12, 3)
    return replace(
        coil,
        centres_mm=[centre_mm.tolist()],
        reach_mm=rng.uniform(70, 120),
        element_share=rng.uniform(0.5, 0.95),
    )


class SkinArrangement(NamedTuple):
    """Positions of elements on the skin.

    share         of the coils
    angle_ranges  in degrees, 0 at the right and 90 in front
    """

    share: float
    angle_ranges: tuple[tuple[float, float], ...]


SKIN_ARRANGEMENTS = (
    SkinArrangement(0.3, ((0, 360),)),  # around
    SkinArrangement(0.45, ((45, 135), (225, 315))),  # in front and behind
    SkinArrangement(0.15, ((220, 320),)),  # behind
    SkinArrangement(0.1, ((40, 140),)),  # in front
)


def draw_skin_coil(
    person: Person,
    grid: Grid,
    isocentre_mm: NDArray[np.float64],
    left_out: frozenset[str],
    rng: np.random.Generator,
) -> Coil:
    """Small elements a few centimetres off the skin of what the grid shows: on a ring around it, in
    front, behind, or both.

    Sensitivity at the skin next to an element is 3 to 10 times that in the middle; beyond the last
    row, inside the field or not, it falls off.  `left_out`: features of the body that the run
    leaves out.
    """
    middle_mm, half_size_mm = body_extent_mm(person, grid, left_out)
    reach_mm = float(np.clip(half_size_mm.mean() * rng.uniform(0.14, 0.36), 24, 60))
    radii_mm = half_size_mm + reach_mm * rng.uniform(0.2, 0.9, 2)
    arrangement_shares = [arrangement.share for arrangement in SKIN_ARRANGEMENTS]
    arrangement = SKIN_ARRANGEMENTS[rng.choice(len(SKIN_ARRANGEMENTS), p=arrangement_shares)]
    # mats are flat: their outline is between an ellipse and a box
    squareness = rng.uniform(2.0, 5.0)
    elements_all_round = int(rng.integers(5, 13))
    angles = _element_angles(arrangement, elements_all_round)
    ring_points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ring_points /= ((np.abs(ring_points) ** squareness).sum(axis=1) ** (1 / squareness))[:, None]
    row_heights = _draw_row_heights(grid, reach_mm, rng)
    element_centres = [
        np.array([*(middle_mm + radii_mm * ring_point), z]) - isocentre_mm + rng.normal(0, 6, 3)
        for ring_point in ring_points
        for z in row_heights
    ]
    active_centres = [centre for centre in element_centres if rng.random() < ACTIVE_SHARE]
    return Coil(
        np.stack(active_centres or element_centres).tolist(),
        reach_mm,
        element_share=rng.uniform(0.96, 1.0),
        element_power=rng.uniform(1.1, 1.6),
    )


def _element_angles(arrangement: SkinArrangement, elements_all_round: int) -> NDArray[np.float64]:
    """Angles of the elements of one row, radians: at least two in each range of the arrangement,
    half as dense again as `elements_all_round` in the full circle."""
    angles_deg: list[float] = []
    for first_deg, last_deg in arrangement.angle_ranges:
        range_deg = last_deg - first_deg
        element_count = max(2, round(elements_all_round * range_deg / 360 * 1.5))
        angles_deg += [
            first_deg + range_deg * (element_index + 0.5) / element_count
            for element_index in range(element_count)
        ]
    return np.deg2rad(angles_deg)


def _draw_row_heights(grid: Grid, reach_mm: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Heights of the rows of elements, mm of the person: about the middle of the grid, over 20 to
    60 cm or little less than the grid."""
    corners_z = field_corners_mm(grid)[:, 2]
    grid_half_mm = float(np.ptp(corners_z)) / 2
    half_height_mm = max(min(grid_half_mm + 20, rng.uniform(100, 300)), grid_half_mm - reach_mm)
    row_step_mm = np.clip(reach_mm * rng.uniform(1.6, 3.0), 45, 130)
    row_offsets = np.arange(-half_height_mm, half_height_mm + 1, row_step_mm)
    return np.asarray(row_offsets + corners_z.mean() + rng.normal(0, 15))


def body_extent_mm(
    person: Person, grid: Grid, left_out: frozenset[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle (x, y) of the body that a grid shows at half its height, and half its width and
    depth, mm; those of the grid if it shows none.  `left_out`: features of the body that the run
    leaves out."""
    corners_mm = field_corners_mm(grid)
    low_mm = corners_mm.min(axis=0)
    high_mm = corners_mm.max(axis=0)
    step_mm = np.array([BODY_STEP_MM, BODY_STEP_MM, (high_mm[2] - low_mm[2]) / 6])
    size_x, size_y, _ = np.maximum(((high_mm - low_mm) / step_mm).astype(int), 1).tolist()
    affine = np.diag([*step_mm, 1.0])
    affine[:3, 3] = low_mm + step_mm / 2 + [0, 0, 1.5 * step_mm[2]]
    coarse_grid = Grid((size_x, size_y, 3), affine)
    labels = label_volume(person, coarse_grid, left_out).labels
    body_points = np.argwhere(labels != AIR)[:, :2]
    if not len(body_points):
        return (low_mm + high_mm)[:2] / 2, (high_mm - low_mm)[:2] / 2
    first_mm, last_mm = (
        np.quantile(body_points, (0.01, 0.99), axis=0) * BODY_STEP_MM
        + low_mm[:2]
        + BODY_STEP_MM / 2
    )
    return (first_mm + last_mm) / 2, (last_mm - first_mm) / 2 + BODY_STEP_MM / 2


def field_corners_mm(grid: Grid) -> NDArray[np.float64]:
    """(8, 3) mm of the voxels in the corners of a grid."""
    corner_shares = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    corner_indices = corner_shares * (np.asarray(grid.shape) - 1)
    return np.asarray(corner_indices @ grid.vox_to_ras[:3, :3].T + grid.vox_to_ras[:3, 3])
