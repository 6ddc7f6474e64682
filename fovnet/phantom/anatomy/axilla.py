"""The axilla near the breast: the axillary tail, and lymph nodes in fat."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.geometry.solids import Ellipsoid, Point, mirror_point, tube
from fovnet.phantom.person.breast_shapes import bust
from fovnet.phantom.person.traits import Person

SOFT_TISSUES = ("fat", "intermuscular fat", "muscle")


def paint_axillae(person: Person) -> Paints:
    """For breasts `of_a_kind`: a tail of fat and gland up to each axilla, and one to five lymph
    nodes in its fat."""
    for side in (1, -1):
        yield from _paint_axillary_tail(person, side)


def _paint_axillary_tail(person: Person, side: int) -> Paints:
    """The tail of one breast towards the axilla, and the lymph nodes there."""
    rng = person.generator(7330 + (side > 0))
    bust_shape = bust(person)
    radius_mm = 12.0 + 0.25 * person.fat_mm + 0.004 * bust_shape.volume_ml
    front_y = 60.0 + 0.5 * person.fat_mm
    tail_points = (
        (112.0, front_y, 1345.0),
        (132.0, front_y - 18, 1372.0),
        (146.0, front_y - 42, 1398.0),
    )
    tail = tube(
        [mirror_point(point, side) for point in tail_points],
        [1.2 * radius_mm, radius_mm, 0.6 * radius_mm],
    )
    yield paint(tail.shrunk(-bust_shape.skin_mm), "skin", Layer.SKIN)
    yield paint(tail, "fat", Layer.FAT)
    if bust_shape.gland_share > 0.15:
        yield paint(tail.shrunk(0.7 * radius_mm), "gland", Layer.CAVITY, replaced_tissues="fat")
    for _ in range(rng.integers(1, 6)):
        x, y, z = rng.uniform((128, 0, 1365), (152, front_y - 35, 1408)).tolist()
        half_mm = float(np.exp(rng.uniform(np.log(3.0), np.log(9.0))))
        yield from _paint_lymph_node(
            (side * x, y, z), half_mm, tuple(rng.uniform(-60, 60, 3).tolist())
        )


def _paint_lymph_node(centre: Point, half_mm: float, turn_deg: Point) -> Paints:
    """A lymph node in its fat: bean-shaped, 6 to 18 mm, with a fatty hilum."""
    bean = Ellipsoid(centre, (0.6 * half_mm, half_mm, 0.7 * half_mm), turn_deg)
    hilum = Ellipsoid(centre, (0.3 * half_mm, 0.75 * half_mm, 0.35 * half_mm), turn_deg)
    yield paint(bean.shrunk(-3.0), "fat", Layer.SEAM, replaced_tissues=SOFT_TISSUES)
    yield paint(bean, "mucosa", Layer.CAVITY, replaced_tissues=SOFT_TISSUES)
    yield paint(hilum, "fat", Layer.ORGAN, replaced_tissues="mucosa")
