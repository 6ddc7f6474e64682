"""The order in which an anatomy is painted, and common constructions of its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum

import numpy as np

from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Solid, Tube
from fovnet.phantom.scanner.tissues import label_of


class Layer(IntEnum):
    """Painted from first to last: what comes later lies inside, or in front of, what came before."""

    SKIN = 0
    FAT = 1
    MUSCLE = 2
    SEAM = 3          # fat between muscles
    CAVITY = 4
    ORGAN = 5
    CONTENT = 6
    VESSEL = 7
    BONE = 8
    MARROW = 9
    DETAIL = 10


def paint(solid: Solid, tissue: str, layer: Layer, over: tuple[str, ...] = ()) -> Paint:
    """The solid filled with a tissue by name, covering only the tissues `over` when some are named."""
    return Paint(solid, label_of(tissue), int(layer), tuple(label_of(name) for name in over))


def on_both_sides(make: Callable[[int], list[Paint]]) -> list[Paint]:
    """The paints for the right side (`make(1)`) and the left side (`make(-1)`)."""
    return make(1) + make(-1)


def bone(solid: Solid, cortex_mm: float, marrow: str = "red marrow") -> list[Paint]:
    """A bone: dark cortex of that thickness around marrow."""
    return [paint(solid, "cortical bone", Layer.BONE), paint(solid.shrunk(cortex_mm), marrow, Layer.MARROW)]


def limb(muscle: Solid, fat_mm: float, skin_mm: float = 1.8) -> list[Paint]:
    """Muscle under a layer of fat under skin."""
    return [
        paint(muscle.shrunk(-fat_mm - skin_mm), "skin", Layer.SKIN),
        paint(muscle.shrunk(-fat_mm), "fat", Layer.FAT),
        paint(muscle, "muscle", Layer.MUSCLE),
    ]


def hollow(solid: Solid, wall_mm: float, wall: str, content: str) -> list[Paint]:
    """An organ with a wall of that thickness and a content."""
    return [paint(solid, wall, Layer.ORGAN), paint(solid.shrunk(wall_mm), content, Layer.CONTENT)]


def beside(belly: Ellipsoid | Tube, mm: float, rng: np.random.Generator) -> Solid:
    """The belly of a muscle moved sideways by `mm`, which leaves a crescent uncovered: fat mostly lies on one
    side of a muscle."""
    turn = float(rng.uniform(0, 2 * np.pi))
    right, ahead = mm * float(np.cos(turn)), mm * float(np.sin(turn))
    grown = belly.shrunk(-0.2 * mm)
    if isinstance(grown, Ellipsoid):
        x, y, z = grown.centre
        return replace(grown, centre=(x + right, y + ahead, z))
    return replace(grown, points=tuple((x + right, y + ahead, z) for x, y, z in grown.points))
