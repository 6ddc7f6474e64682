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
REACH_MM = (10.0, 34.0)
SKIN_DISTANCE_MM = (3.0, 20.0)  # from the skin to the elements
SAMPLING_MM = 10.0  # sampling distance of the sensitivity: finer than the reach
NEAR_MM = 60.0  # elements farther outside a field of view are off


def draw_breast_coil(
    person: Person, grid: Grid, isocentre_mm: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """Elements round each breast that the grid shows; their sensitivity at the skin is 1.3 to 4
    times that in the middle of the breast, and that in the chest a tenth to a half of that in the
    breast.

    For a prone woman with breasts `of_a_kind`.  Rows lie round the base, the middle and the end
    with the nipple; half of the coils leave the sides open for a needle, one element of eight is
    off, and deep in the chest there is hardly any signal.
    """
    reach_mm = rng.uniform(*REACH_MM)
    distance_mm = rng.uniform(*SKIN_DISTANCE_MM)
    row_shares = np.sort(rng.uniform(-0.1, 1.0, int(rng.integers(2, 5)))).tolist()
    elements_per_row = int(rng.integers(4, 9))
    first_angle = rng.uniform(0, 2 * np.pi)
    sides_are_open = rng.random() < 0.5
    element_centres = []
    for side in (1, -1):
        for row_share in row_shares:
            for angle in (
                first_angle + np.arange(elements_per_row) * 2 * np.pi / elements_per_row
            ).tolist():
                if not (sides_are_open and abs(np.cos(angle)) > 0.85):
                    element_centres.append(
                        _element_centre_mm(person, side, row_share, angle, distance_mm)
                    )
    active_centres = [
        centre for centre in element_centres if _is_near(centre, grid) and rng.random() < 0.875
    ] or element_centres
    centres_mm = (np.asarray(active_centres) - isocentre_mm).tolist()
    depth = rng.uniform(0.93, 1.0)
    power = rng.uniform(1.0, 1.5)
    return Coil(centres_mm, reach_mm, depth, power=power, known_mm=SAMPLING_MM)


def _element_centre_mm(
    person: Person, side: int, row_share: float, angle: float, distance_mm: float
) -> NDArray[np.float64]:
    """(3,) mm of the person: `distance_mm` outside the skin of a breast at a share `row_share` of its
    length and an angle `angle`; past the end, in front of it."""
    breast = breast_shape(person, side)
    width_share = (
        float(breast.squared[int(np.clip(row_share, 0, 1) * (len(breast.squared) - 1))]) ** 0.5
    )
    radius_x, radius_z = (
        half_axis * min(width_share, plate_share) + distance_mm
        for half_axis, plate_share in zip(breast.half, breast.plates, strict=True)
    )
    x, y, z = breast.within_mm(
        row_share,
        radius_x * float(np.cos(angle)) / breast.half[0],
        radius_z * float(np.sin(angle)) / breast.half[1],
    )
    ahead_mm = distance_mm * max(0.0, row_share) ** 4  # the last row lies in front of the nipple
    return np.array(
        [
            x * person.morph.trunk[0],
            (y + ahead_mm) * person.morph.trunk[1],
            person.morph.height_mm(z),
        ]
    )


def _is_near(centre_mm: NDArray[np.float64], grid: Grid) -> bool:
    """Whether a point lies in the grid or less than NEAR_MM outside it."""
    voxel_index = np.linalg.solve(grid.vox_to_ras[:3, :3], centre_mm - grid.vox_to_ras[:3, 3])
    margin_voxels = NEAR_MM / grid.spacing_mm
    return bool(
        (
            (voxel_index > -margin_voxels) & (voxel_index < np.asarray(grid.shape) + margin_voxels)
        ).all()
    )
