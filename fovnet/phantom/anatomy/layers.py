"""The order in which an anatomy is painted, and common constructions of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import IntEnum
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Solid, Tube
from fovnet.phantom.person.traits import Person
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
"""What each painter of this room yields: within a layer, a later paint covers an earlier one."""

Flatten = Callable[[Solid, float], Solid]
"""Gives the part of a solid that is at least so many mm above what the person lies on."""

P = ParamSpec("P")
SolidT = TypeVar("SolidT", bound=Solid)


class LoftRow(NamedTuple):
    """One cross-section of a `Loft`, in mm: its height, its middle, and how far it reaches from
    there to both sides, to the front and to the back."""

    z: float
    centre_x: float
    centre_y: float
    half_width_mm: float
    front_mm: float
    back_mm: float


LYMPH_NODE = "spleen"
"""The tissue of lymph nodes: T1 and T2 of lymphatic tissue are close to the spleen's."""

NERVE = "spinal cord"
"""The tissue of peripheral nerves and nerve roots, which have none of their own."""

ERECTILE_TISSUE = "gonad"
"""The tissue of corpora cavernosa and spongiosum and of the vestibular bulbs: as bright as gonads
on T2-weighted images."""

SKIN_MM = 1.8

ADULT_YEARS = 15.0
"""From this age on muscles and organs have the size of an adult's."""

GROWTH_PLATE_YEARS = 20.0
"""Until this age growth plates are cartilage; later a scar remains."""


def paint(
    solid: Solid, tissue: str, layer: Layer, *, replaced_tissues: str | tuple[str, ...] = ()
) -> Paint:
    """The solid filled with a tissue by name; when some are named, only `replaced_tissues` are
    painted over."""
    if isinstance(replaced_tissues, str):
        replaced_tissues = (replaced_tissues,)
    return Paint(solid, label_of(tissue), layer, tuple(map(label_of, replaced_tissues)))


def paint_all(
    solids: Iterable[Solid],
    tissue: str,
    layer: Layer,
    *,
    replaced_tissues: str | tuple[str, ...] = (),
) -> Paints:
    """Several solids of one tissue, each as by `paint`."""
    return (paint(solid, tissue, layer, replaced_tissues=replaced_tissues) for solid in solids)


def paint_detail(
    solid: Solid, tissue: str, *, replaced_tissues: str | tuple[str, ...] = ()
) -> Paint:
    """A solid of the last layer: only later details can cover it."""
    return paint(solid, tissue, Layer.DETAIL, replaced_tissues=replaced_tissues)


def paint_details(
    solids: Iterable[Solid], tissue: str, *, replaced_tissues: str | tuple[str, ...] = ()
) -> Paints:
    """Several details of one tissue, each as by `paint_detail`."""
    return paint_all(solids, tissue, Layer.DETAIL, replaced_tissues=replaced_tissues)


def paint_fat_plane(solid: Solid) -> Paint:
    """A plane of fat between muscles; it replaces muscle only."""
    return paint(solid, "intermuscular fat", Layer.SEAM, replaced_tissues="muscle")


def place_solid(right_solid: SolidT, side: int) -> SolidT:
    """A solid of the right side, or with `side` -1 its mirror image on the left."""
    if side > 0:
        return right_solid
    return cast(SolidT, right_solid.mirror())


def place_paints(right_paints: Paints, side: int) -> Paints:
    """Paints of the right side, or with `side` -1 their mirror images on the left."""
    if side > 0:
        return right_paints
    return (replace(right_paint, solid=right_paint.solid.mirror()) for right_paint in right_paints)


def on_both_sides(paint_right: Callable[P, Paints]) -> Callable[P, Paints]:
    """Decorates a painter of the right side: it then paints that, and its mirror image on the
    left."""

    @wraps(paint_right)
    def paint_both(*args: P.args, **kwargs: P.kwargs) -> Paints:
        for side in (1, -1):
            yield from place_paints(paint_right(*args, **kwargs), side)

    return paint_both


def factor_of_women(person: Person, factor: float) -> float:
    """That factor for a woman, 1 for a man: the anatomy is written for a man."""
    if person.is_female:
        return factor
    return 1.0


def factor_of_children(person: Person, factor: float) -> float:
    """That factor before ADULT_YEARS, 1 from then on: the anatomy is written for an adult."""
    if person.age < ADULT_YEARS:
        return factor
    return 1.0


def growth_plate_tissue(person: Person) -> str:
    """The tissue of a growth plate, or of the scar that remains of it in an adult."""
    if person.age > GROWTH_PLATE_YEARS:
        return "red marrow"
    return "cartilage"


def paint_bone(solid: Solid, cortex_mm: float, marrow: str = "red marrow") -> Paints:
    """A bone: a dark cortex of that thickness around marrow of that tissue."""
    yield paint(solid, "cortical bone", Layer.BONE)
    yield paint(solid.shrink(cortex_mm), marrow, Layer.MARROW)


def paint_fat_and_skin(
    muscle: Solid, fat_mm: float, flatten: Flatten = lambda solid, _: solid
) -> Paints:
    """Fat of that thickness over a muscle, and skin over the fat; `flatten` presses both flat."""
    skin = muscle.shrink(-fat_mm - SKIN_MM)
    fat = muscle.shrink(-fat_mm)
    yield paint(flatten(skin, 0.0), "skin", Layer.SKIN)
    yield paint(flatten(fat, SKIN_MM), "fat", Layer.FAT)


def paint_skin_fat_muscle(skin: Solid, fat_depth_mm: float, muscle_depth_mm: float) -> Paints:
    """A solid of skin, in it fat and muscle that begin at those depths under its surface."""
    yield paint(skin, "skin", Layer.SKIN)
    yield paint(skin.shrink(fat_depth_mm), "fat", Layer.FAT)
    yield paint(skin.shrink(muscle_depth_mm), "muscle", Layer.MUSCLE)


def paint_limb(muscle: Solid, fat_mm: float) -> Paints:
    """Muscle under fat of that thickness, and skin over it."""
    yield from paint_fat_and_skin(muscle, fat_mm)
    yield paint(muscle, "muscle", Layer.MUSCLE)


def shift_sideways(
    muscle: Ellipsoid | Tube, shift_mm: float, rng: np.random.Generator
) -> Ellipsoid | Tube:
    """A muscle's fat: the muscle's shape, a little larger, moved by `shift_mm` in a random
    horizontal direction.

    Under the muscle it shows as a crescent, as fat mostly lies on one side of a muscle.
    """
    direction_rad = rng.uniform(0, 2 * np.pi)
    shift_x = shift_mm * float(np.cos(direction_rad))
    shift_y = shift_mm * float(np.sin(direction_rad))
    grown_muscle = muscle.shrink(-0.2 * shift_mm)
    if isinstance(grown_muscle, Ellipsoid):
        x, y, z = grown_muscle.centre
        return replace(grown_muscle, centre=(x + shift_x, y + shift_y, z))
    shifted_points = tuple((x + shift_x, y + shift_y, z) for x, y, z in grown_muscle.points)
    return replace(grown_muscle, points=shifted_points)
