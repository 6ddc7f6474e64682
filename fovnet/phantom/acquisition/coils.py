"""Coils as found in archives: a single surface element, arrays on the skin, uncorrected bias fields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.protocols import Plan
from fovnet.phantom.anatomy.body import label_volume
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.scan import Coil
from fovnet.phantom.scanner.tissues import AIR

# least width and depth of a field received by arrays on the skin: those of a trunk
ARRAY_MM = 260.0


def fallen_off(
    coil: Coil, grid: Grid, isocentre_mm: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """One element at a side of the grid (three volumes in ten), the given coil with a fall along z (one in
    ten), arrays of small elements next to the skin (of large fields more than one in five), or the given
    coil; four in ten also have an uncorrected bias field."""
    dice = rng.random(2)
    places = _corners(grid) - isocentre_mm
    low, high = places.min(axis=0), places.max(axis=0)
    if dice[0] < 0.3:
        middle, half = (low + high) / 2, (high - low) / 2
        side, sign = int(rng.choice([0, 1, 1])), float(rng.choice([-1, 1]))
        middle[side] += sign * (min(half[side], 220.0) + rng.uniform(-30, 20))
        middle[2] += rng.uniform(-0.3, 0.3) * min(half[2], 150.0)
        coil = Coil([middle.tolist()], rng.uniform(45, 130), rng.uniform(0.85, 1.0))
    elif dice[0] > 0.78 and min(high[0] - low[0], high[1] - low[1]) > ARRAY_MM:
        coil = _arrays(low, high, rng)
    elif dice[0] < 0.4 and high[2] - low[2] < 700:
        coil = replace(coil, fall_mm=rng.uniform(110, 230))
    if dice[1] < 0.4:
        coil = replace(coil, bias=rng.uniform(0.08, 0.4))
    return coil


def _arrays(low: NDArray[np.float64], high: NDArray[np.float64], rng: np.random.Generator) -> Coil:
    """Small elements in the table and in a mat on the body, side by side; skin and fat next to them are
    bright, deep tissue is dark.

    Elements of 4 to 10 cm receive to a depth of about their radius; in three of ten arrays table or mat has
    none; one element of seven is off.
    """
    # depth of the skin below the edges of the field, mm
    size, (back, front) = high - low, rng.uniform(10, 55, 2)
    rows = [low[1] + back, high[1] - front][
        slice(*((0, 2), (0, 1), (1, 2))[rng.choice(3, p=[0.7, 0.2, 0.1])])
    ]
    step, middle = rng.uniform(80, 140), (low + high) / 2
    across = np.arange(-1.5, 2) * step * min(1.0, size[0] / (4 * step)) + rng.normal(0, 12)
    along = np.arange(
        middle[2] - min(size[2] / 2, 220.0), middle[2] + min(size[2] / 2, 220.0) + 1, step
    )
    places = [
        (float(middle[0] + x), float(y), float(z)) for y in rows for x in across for z in along
    ]
    kept = [place for place in places if rng.random() < 0.85] or places
    return Coil(kept, rng.uniform(20, 50), rng.uniform(0.85, 0.98), rng.uniform(180, 330))


def bright_within(coil: Coil, plain: Plan, rng: np.random.Generator) -> Coil:
    """The coil for a head that is brightest in its middle, with the scalp at a half to four fifths of
    that."""
    middle = np.array([*((size - 1) / 2 for size in plain.grid.shape), 1.0])
    centre = plain.grid.vox_to_ras[:3] @ middle - plain.isocentre_mm + rng.normal(0, 12, 3)
    reach, depth = rng.uniform(70, 120), rng.uniform(0.5, 0.95)
    return replace(coil, centres_mm=[centre.tolist()], reach_mm=reach, depth=depth)


SIDES: dict[str, tuple[float, tuple[tuple[float, float], ...]]] = {
    "around": (0.3, ((0, 360),)),
    "front and back": (0.45, ((45, 135), (225, 315))),
    "back": (0.15, ((220, 320),)),
    "front": (0.1, ((40, 140),)),
}
"""Positions of elements on the skin: how often, and the ranges of their angles in degrees, 0 at the right and
90 in front."""


def at_the_skin(
    person: Person, grid: Grid, isocentre_mm: NDArray[np.float64], rng: np.random.Generator
) -> Coil:
    """Small elements a few centimetres off the skin of what the grid shows: on a ring around it, in front,
    behind, or both.

    Sensitivity at the skin next to an element is 3 to 10 times that in the middle; beyond the last row,
    inside the field or not, it falls off.
    """
    middle, half = girth_mm(person, grid)
    reach = float(np.clip(half.mean() * rng.uniform(0.14, 0.36), 24, 60))
    across = half + reach * rng.uniform(0.2, 0.9, 2)
    turns = SIDES[str(rng.choice(list(SIDES), p=[odds for odds, _ in SIDES.values()]))][1]
    # mats are flat: their outline is between an ellipse and a box
    square, most = rng.uniform(2.0, 5.0), int(rng.integers(5, 13))
    angles = np.deg2rad(
        [
            first + (last - first) * (at + 0.5) / count
            for first, last in turns
            for count in [max(2, round(most * (last - first) / 360 * 1.5))]
            for at in range(count)
        ]
    )
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ring /= ((np.abs(ring) ** square).sum(axis=1) ** (1 / square))[:, None]
    half_z = float(np.ptp(_corners(grid)[:, 2])) / 2
    half_z = max(min(half_z + 20, rng.uniform(100, 300)), half_z - reach)
    rows = (
        np.arange(-half_z, half_z + 1, np.clip(reach * rng.uniform(1.6, 3.0), 45, 130))
        + _corners(grid)[:, 2].mean()
        + rng.normal(0, 15)
    )
    places = [
        np.array([*(middle + across * at), z]) - isocentre_mm + rng.normal(0, 6, 3)
        for at in ring
        for z in rows
    ]
    kept = [place for place in places if rng.random() < 0.85] or places
    return Coil(np.stack(kept).tolist(), reach, rng.uniform(0.96, 1.0), power=rng.uniform(1.1, 1.6))


def girth_mm(person: Person, grid: Grid) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle (x, y) of the body that a grid shows at half its height, and half its width and depth; those
    of the grid if it shows no body.

    From three heights, on a lattice of 12 mm; the outermost hundredth at each side is ignored.
    """
    low, high = _corners(grid).min(axis=0), _corners(grid).max(axis=0)
    step = np.array([12.0, 12.0, (high[2] - low[2]) / 6])
    size = np.maximum(((high - low) / step).astype(int), 1)
    affine = np.diag([*step, 1.0])
    affine[:3, 3] = low + step / 2 + [0, 0, 1.5 * step[2]]
    seen = np.argwhere(
        label_volume(person, Grid((int(size[0]), int(size[1]), 3), affine)).labels != AIR
    )[:, :2]
    if not len(seen):
        return (low + high)[:2] / 2, (high - low)[:2] / 2
    first, last = np.quantile(seen, (0.01, 0.99), axis=0) * 12 + low[:2] + 6
    return (first + last) / 2, (last - first) / 2 + 6


def _corners(grid: Grid) -> NDArray[np.float64]:
    """(8, 3) mm of the voxels in the corners of a grid."""
    index = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * (
        np.asarray(grid.shape) - 1
    )
    return np.asarray(index @ grid.vox_to_ras[:3, :3].T + grid.vox_to_ras[:3, 3])
