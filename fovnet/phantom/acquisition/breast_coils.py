"""Breast coils: rows of small elements in the wall of each opening, a few centimetres from the skin of
hanging breasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.breast_shapes import shaped
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import Coil

# radius of an element: arrays of 7 to 18 per breast have loops 2 to 7 cm in diameter
REACH_MM = (10.0, 34.0)
OFF_MM = (3.0, 20.0)  # from the skin to the elements
KNOWN_MM = 10.0  # sampling distance of the sensitivity: finer than the reach
NEAR_MM = 60.0  # elements farther outside a field of view are off


def cups(
    person: Person, grid: Grid, isocentre_mm: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """Elements round each breast that the grid shows; their sensitivity at the skin is 1.3 to 4 times that in
    the middle of the breast, and that in the chest a tenth to a half of that in the breast.

    For a prone woman with breasts `of_a_kind`.  Rows lie round the base, the middle and the end with the
    nipple; half of the coils leave the sides open for a needle, one element of eight is off, and deep in the
    chest there is hardly any signal.
    """
    reach, off = rng.uniform(*REACH_MM), rng.uniform(*OFF_MM)
    rows = np.sort(rng.uniform(-0.1, 1.0, int(rng.integers(2, 5)))).tolist()
    around, first, open_to_the_sides = (
        int(rng.integers(4, 9)),
        rng.uniform(0, 2 * np.pi),
        rng.random() < 0.5,
    )
    places = []
    for side in (1, -1):
        for row in rows:
            for turn in (first + np.arange(around) * 2 * np.pi / around).tolist():
                if not (open_to_the_sides and abs(np.cos(turn)) > 0.85):
                    places.append(_element(person, side, row, turn, off))
    seen = [place for place in places if _is_near(place, grid) and rng.random() < 0.875] or places
    centres = (np.asarray(seen) - isocentre_mm).tolist()
    depth, power = rng.uniform(0.93, 1.0), rng.uniform(1.0, 1.5)
    return Coil(centres, reach, depth, power=power, known_mm=KNOWN_MM)


def _element(
    person: Person, side: int, row: float, turn: float, off_mm: float
) -> NDArray[np.float64]:
    """(3,) mm of the person: `off_mm` outside the skin of a breast at a share `row` of its length and an
    angle `turn`; past the end, in front of it."""
    whole = shaped(person, side)
    wide = float(whole.squared[int(np.clip(row, 0, 1) * (len(whole.squared) - 1))]) ** 0.5
    a, c = (
        half * min(wide, plate) + off_mm
        for half, plate in zip(whole.half, whole.plates, strict=True)
    )
    x, y, z = whole.within_mm(
        row, a * float(np.cos(turn)) / whole.half[0], c * float(np.sin(turn)) / whole.half[1]
    )
    beyond = off_mm * max(0.0, row) ** 4  # the last row lies in front of the nipple
    return np.array(
        [x * person.morph.trunk[0], (y + beyond) * person.morph.trunk[1], person.morph.height_mm(z)]
    )


def _is_near(place_mm: NDArray[np.float64], grid: Grid) -> bool:
    """Whether a point lies in the grid or less than NEAR_MM outside it."""
    index = np.linalg.solve(grid.vox_to_ras[:3, :3], place_mm - grid.vox_to_ras[:3, 3])
    room = NEAR_MM / grid.spacing_mm
    return bool(((index > -room) & (index < np.asarray(grid.shape) + room)).all())
