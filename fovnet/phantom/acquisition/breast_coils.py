"""Breast coils: rows of small elements in the wall of each opening, a few centimetres from the skin
of hanging breasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.breast_shapes import breast_shape
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import Coil

# radius of an element: arrays of 7 to 18 per breast have loops 2 to 7 cm in diameter
REACH_RANGE_MM = (10.0, 34.0)
SKIN_DISTANCE_RANGE_MM = (3.0, 20.0)  # from the skin to the elements
KNOT_SPACING_MM = 10.0  # sampling distance of the sensitivity: finer than the reach
NEAR_MM = 60.0  # elements farther outside a field of view are off
ACTIVE_SHARE = 0.875  # of the elements near a field of view
SIDE_COSINE = 0.85  # an element with a larger cosine of its angle lies at a side of the breast


def draw_breast_coil(
    person: Person, grid: Grid, isocentre_mm: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """Elements round each breast that the grid shows; their sensitivity at the skin is 1.3 to 4
    times that in the middle of the breast, and that in the chest a tenth to a half of that in the
    breast.

    For a prone woman with breasts of her own shape.  Rows lie round the base, the middle and the
    end with the nipple; half of the coils leave the sides open for a needle, one element of eight
    is off, and deep in the chest there is hardly any signal.
    """
    reach_mm = rng.uniform(*REACH_RANGE_MM)
    skin_distance_mm = rng.uniform(*SKIN_DISTANCE_RANGE_MM)
    row_shares = np.sort(rng.uniform(-0.1, 1.0, int(rng.integers(2, 5)))).tolist()
    elements_per_row = int(rng.integers(4, 9))
    first_angle = rng.uniform(0, 2 * np.pi)
    angles = (first_angle + np.arange(elements_per_row) * 2 * np.pi / elements_per_row).tolist()
    if rng.random() < 0.5:  # the sides are open
        angles = [angle for angle in angles if abs(np.cos(angle)) <= SIDE_COSINE]
    element_centres = [
        _element_centre_mm(person, side, row_share, angle, skin_distance_mm)
        for side in (1, -1)
        for row_share in row_shares
        for angle in angles
    ]
    active_centres = [
        centre
        for centre in element_centres
        if _is_near(centre, grid) and rng.random() < ACTIVE_SHARE
    ]
    centres_mm = (np.asarray(active_centres or element_centres) - isocentre_mm).tolist()
    element_share = rng.uniform(0.93, 1.0)
    element_power = rng.uniform(1.0, 1.5)
    return Coil(
        centres_mm,
        reach_mm,
        element_share,
        element_power=element_power,
        knot_spacing_mm=KNOT_SPACING_MM,
    )


def _element_centre_mm(
    person: Person, side: int, length_share: float, angle: float, skin_distance_mm: float
) -> NDArray[np.float64]:
    """(3,) mm of the person: `skin_distance_mm` outside the skin of a breast, at a share of its
    length and an angle round its axis, radians; past the end, in front of it."""
    breast = breast_shape(person, side)
    half_width_mm, half_height_mm = breast.half_size_mm
    side_plate_share, upper_plate_share = breast.plate_shares
    outline_index = int(np.clip(length_share, 0, 1) * (len(breast.squared_radii) - 1))
    radius_share = float(breast.squared_radii[outline_index]) ** 0.5
    radius_x = half_width_mm * min(radius_share, side_plate_share) + skin_distance_mm
    radius_z = half_height_mm * min(radius_share, upper_plate_share) + skin_distance_mm
    x, y, z = breast.point_at_shares(
        length_share,
        radius_x * float(np.cos(angle)) / half_width_mm,
        radius_z * float(np.sin(angle)) / half_height_mm,
    )
    # the last row lies in front of the nipple
    forward_mm = skin_distance_mm * max(0.0, length_share) ** 4
    width_factor, depth_factor = person.morph.trunk_factors
    return np.array([x * width_factor, (y + forward_mm) * depth_factor, person.morph.height_mm(z)])


def _is_near(centre_mm: NDArray[np.float64], grid: Grid) -> bool:
    """Whether a point lies in the grid or less than NEAR_MM outside it."""
    voxel_index = np.linalg.solve(grid.vox_to_ras[:3, :3], centre_mm - grid.vox_to_ras[:3, 3])
    margin_voxels = NEAR_MM / grid.spacing_mm
    is_above_start = voxel_index > -margin_voxels
    is_below_end = voxel_index < np.asarray(grid.shape) + margin_voxels
    return bool((is_above_start & is_below_end).all())
