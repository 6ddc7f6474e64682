"""The axilla near the breast: the axillary tail, and lymph nodes in fat."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, paint
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, mirrored, tube
from fovnet.phantom.person.breast_shapes import bust, of_a_kind
from fovnet.phantom.person.traits import Person

SOFT = ("fat", "intermuscular fat", "muscle")


def armpits(person: Person) -> list[Paint]:
    """For breasts `of_a_kind`: a tail of fat and gland up to each axilla, and one to five lymph nodes in its
    fat."""
    return [paint for side in (1, -1) for paint in _armpit(person, side)] if of_a_kind(person) else []


def _armpit(person: Person, side: int) -> list[Paint]:
    rng, both = person.generator(7330 + (side > 0)), bust(person)
    thick = 12.0 + 0.25 * person.fat_mm + 0.004 * both.volume_ml
    front = 60.0 + 0.5 * person.fat_mm
    line = [
        mirrored(p, side)
        for p in ((112.0, front, 1345.0), (132.0, front - 18, 1372.0), (146.0, front - 42, 1398.0))
    ]
    tail = tube(line, [1.2 * thick, thick, 0.6 * thick])
    made = [paint(tail.shrunk(-both.skin_mm), "skin", Layer.SKIN), paint(tail, "fat", Layer.FAT)]
    if both.gland_share > 0.15:
        made.append(paint(tail.shrunk(0.7 * thick), "gland", Layer.CAVITY, over=("fat",)))
    for _ in range(int(rng.integers(1, 6))):
        at = mirrored((rng.uniform(128, 152), rng.uniform(0, front - 35), rng.uniform(1365, 1408)), side)
        made += _node(
            at, float(np.exp(rng.uniform(np.log(3.0), np.log(9.0)))), tuple(rng.uniform(-60, 60, 3).tolist())
        )
    return made


def _node(at: tuple[float, float, float], half_mm: float, turn_deg: tuple[float, ...]) -> list[Paint]:
    """A lymph node in its fat: bean-shaped, 6 to 18 mm, with a fatty hilum."""
    a, b, c = turn_deg
    bean = Ellipsoid(at, (0.6 * half_mm, half_mm, 0.7 * half_mm), (a, b, c))
    hilum = Ellipsoid(at, (0.3 * half_mm, 0.75 * half_mm, 0.35 * half_mm), (a, b, c))
    return [
        paint(bean.shrunk(-3.0), "fat", Layer.SEAM, over=SOFT),
        paint(bean, "mucosa", Layer.CAVITY, over=SOFT),
        paint(hilum, "fat", Layer.ORGAN, over=("mucosa",)),
    ]
