"""The axilla near the breast: the axillary tail, and lymph nodes in fat."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.geometry.solids import Ellipsoid, Point, mirrored, tube
from fovnet.phantom.person.breast_shapes import bust
from fovnet.phantom.person.traits import Person

SOFT = ("fat", "intermuscular fat", "muscle")


def armpits(person: Person) -> Paints:
    """For breasts `of_a_kind`: a tail of fat and gland up to each axilla, and one to five lymph nodes in its
    fat."""
    for side in (1, -1):
        yield from _armpit(person, side)


def _armpit(person: Person, side: int) -> Paints:
    rng, both = person.generator(7330 + (side > 0)), bust(person)
    thick = 12.0 + 0.25 * person.fat_mm + 0.004 * both.volume_ml
    front = 60.0 + 0.5 * person.fat_mm
    line = ((112.0, front, 1345.0), (132.0, front - 18, 1372.0), (146.0, front - 42, 1398.0))
    tail = tube([mirrored(point, side) for point in line], [1.2 * thick, thick, 0.6 * thick])
    yield paint(tail.shrunk(-both.skin_mm), "skin", Layer.SKIN)
    yield paint(tail, "fat", Layer.FAT)
    if both.gland_share > 0.15:
        yield paint(tail.shrunk(0.7 * thick), "gland", Layer.CAVITY, over="fat")
    for _ in range(rng.integers(1, 6)):
        x, y, z = rng.uniform((128, 0, 1365), (152, front - 35, 1408)).tolist()
        half_mm = float(np.exp(rng.uniform(np.log(3.0), np.log(9.0))))
        yield from _node((side * x, y, z), half_mm, tuple(rng.uniform(-60, 60, 3).tolist()))


def _node(at: Point, half_mm: float, turn_deg: Point) -> Paints:
    """A lymph node in its fat: bean-shaped, 6 to 18 mm, with a fatty hilum."""
    bean = Ellipsoid(at, (0.6 * half_mm, half_mm, 0.7 * half_mm), turn_deg)
    hilum = Ellipsoid(at, (0.3 * half_mm, 0.75 * half_mm, 0.35 * half_mm), turn_deg)
    yield paint(bean.shrunk(-3.0), "fat", Layer.SEAM, over=SOFT)
    yield paint(bean, "mucosa", Layer.CAVITY, over=SOFT)
    yield paint(hilum, "fat", Layer.ORGAN, over="mucosa")
