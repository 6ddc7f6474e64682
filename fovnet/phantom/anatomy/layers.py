"""The order in which an anatomy is painted, and common constructions of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import IntEnum
from functools import wraps
from typing import ParamSpec

import numpy as np

from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Solid, Tube
from fovnet.phantom.scanner.tissues import label_of


class Layer(IntEnum):
    """Painted from first to last: what comes later lies inside, or in front of, what came
    before."""

    SKIN = 0
    FAT = 1
    MUSCLE = 2
    SEAM = 3  # fat between muscles
    CAVITY = 4
    ORGAN = 5
    CONTENT = 6
    VESSEL = 7
    BONE = 8
    MARROW = 9
    DETAIL = 10


Paints = Iterator[Paint]
"""What each file of this room gives: within a layer, what comes later is painted over what came
before."""

Flat = Callable[[Solid, float], Solid]
"""The part of a solid that is at least so many mm above what the person lies on."""

P = ParamSpec("P")

LYMPH_NODE = "spleen"
"""The tissue of lymph nodes: T1 and T2 of lymphatic tissue are close to the spleen's."""

SKIN_MM = 1.8


def paint(solid: Solid, tissue: str, layer: Layer, over: str | tuple[str, ...] = ()) -> Paint:
    """The solid filled with a tissue by name, covering only the tissues `over` when some are
    named."""
    covered_tissues = (over,) if isinstance(over, str) else over
    return Paint(solid, label_of(tissue), layer, tuple(map(label_of, covered_tissues)))


def paints(
    solids: Iterable[Solid], tissue: str, layer: Layer, over: str | tuple[str, ...] = ()
) -> Paints:
    """Several solids of one tissue."""
    return (paint(solid, tissue, layer, over) for solid in solids)


def detail(solid: Solid, tissue: str, over: str | tuple[str, ...] = ()) -> Paint:
    """A solid painted over everything but later details."""
    return paint(solid, tissue, Layer.DETAIL, over)


def details(solids: Iterable[Solid], tissue: str, over: str | tuple[str, ...] = ()) -> Paints:
    """Several details of one tissue."""
    return paints(solids, tissue, Layer.DETAIL, over)


def seam(solid: Solid) -> Paint:
    """A plane of fat between muscles."""
    return paint(solid, "intermuscular fat", Layer.SEAM, over="muscle")


def on_side(right_paints: Paints, side: int) -> Paints:
    """Paints of the right side, or with `side` -1 their mirror images on the left."""
    if side > 0:
        return right_paints
    return (replace(stroke, solid=stroke.solid.mirror()) for stroke in right_paints)


def both_sides(paint_right: Callable[P, Paints]) -> Callable[P, Paints]:
    """What `paint_right` gives for the right side, then its mirror image on the left."""

    @wraps(paint_right)
    def paint_both(*args: P.args, **kwargs: P.kwargs) -> Paints:
        for side in (1, -1):
            yield from on_side(paint_right(*args, **kwargs), side)

    return paint_both


def bone(solid: Solid, cortex_mm: float, marrow: str = "red marrow") -> Paints:
    """A bone: dark cortex of that thickness around marrow."""
    yield paint(solid, "cortical bone", Layer.BONE)
    yield paint(solid.shrunk(cortex_mm), marrow, Layer.MARROW)


def cover(muscle: Solid, fat_mm: float, flatten: Flat = lambda solid, _: solid) -> Paints:
    """Fat of that thickness over a muscle, and skin; `flatten` presses both flat."""
    yield paint(flatten(muscle.shrunk(-fat_mm - SKIN_MM), 0.0), "skin", Layer.SKIN)
    yield paint(flatten(muscle.shrunk(-fat_mm), SKIN_MM), "fat", Layer.FAT)


def skin_fat_muscle(skin: Solid, fat_mm: float, muscle_mm: float) -> Paints:
    """Fat and muscle at those depths under the surface of the skin."""
    yield paint(skin, "skin", Layer.SKIN)
    yield paint(skin.shrunk(fat_mm), "fat", Layer.FAT)
    yield paint(skin.shrunk(muscle_mm), "muscle", Layer.MUSCLE)


def limb(muscle: Solid, fat_mm: float) -> Paints:
    """Muscle under a layer of fat under skin."""
    yield from cover(muscle, fat_mm)
    yield paint(muscle, "muscle", Layer.MUSCLE)


def shift_sideways(belly: Ellipsoid | Tube, mm: float, rng: np.random.Generator) -> Solid:
    """The belly of a muscle moved sideways by `mm`, which leaves a crescent uncovered: fat mostly
    lies on one side of a muscle."""
    direction = rng.uniform(0, 2 * np.pi)
    shift_x = mm * float(np.cos(direction))
    shift_y = mm * float(np.sin(direction))
    grown_belly = belly.shrunk(-0.2 * mm)
    if isinstance(grown_belly, Ellipsoid):
        x, y, z = grown_belly.centre
        return replace(grown_belly, centre=(x + shift_x, y + shift_y, z))
    return replace(
        grown_belly, points=tuple((x + shift_x, y + shift_y, z) for x, y, z in grown_belly.points)
    )
