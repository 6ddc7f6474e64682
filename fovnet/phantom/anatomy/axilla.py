"""The axilla near an individually shaped breast: its axillary tail, and lymph nodes in fat."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.layers import Layer, Paints, paint
from fovnet.phantom.geometry.solids import Ellipsoid, Point, mirror_point, tube
from fovnet.phantom.person.breast_shapes import draw_bust
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

NODE_TISSUE = "mucosa"
"""The tissue of these lymph nodes: its T1 is that of `layers.LYMPH_NODE`, the tissue of nodes in
shoulder and groin, its T2 is a seventh longer.  Another label would make other people."""

SOFT_TISSUES = ("fat", "intermuscular fat", "muscle")


def paint_axillae(person: Person) -> Paints:
    """For individually shaped breasts: on both sides a tail of fat and gland up to the axilla, and
    one to five lymph nodes in its fat."""
    for side in (1, -1):
        yield from _paint_axillary_tail(person, side)


def _paint_axillary_tail(person: Person, side: int) -> Paints:
    """The tail of the breast on one side (1 right, -1 left) towards its axilla, and the lymph nodes
    there."""
    rng = person.side_generator(Stream.LEFT_AXILLARY_TAIL, side)
    breasts = draw_bust(person)
    radius_mm = 12.0 + 0.25 * person.fat_mm + 0.004 * breasts.volume_ml
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
    yield paint(tail.shrink(-breasts.skin_mm), "skin", Layer.SKIN)
    yield paint(tail, "fat", Layer.FAT)
    if breasts.gland_share > 0.15:
        yield paint(tail.shrink(0.7 * radius_mm), "gland", Layer.CAVITY, replaced_tissues="fat")
    node_count = rng.integers(1, 6)
    for _ in range(node_count):
        x, y, z = rng.uniform((128, 0, 1365), (152, front_y - 35, 1408)).tolist()
        half_length_mm = float(np.exp(rng.uniform(np.log(3.0), np.log(9.0))))
        turn_deg = tuple(rng.uniform(-60, 60, 3).tolist())
        yield from _paint_lymph_node((side * x, y, z), half_length_mm, turn_deg)


def _paint_lymph_node(centre: Point, half_length_mm: float, turn_deg: Point) -> Paints:
    """A lymph node, twice `half_length_mm` long, with a fatty hilum, in 3 mm of fat."""
    node_axes = (0.6 * half_length_mm, half_length_mm, 0.7 * half_length_mm)
    hilum_axes = (0.3 * half_length_mm, 0.75 * half_length_mm, 0.35 * half_length_mm)
    node = Ellipsoid(centre, node_axes, turn_deg)
    hilum = Ellipsoid(centre, hilum_axes, turn_deg)
    yield paint(node.shrink(-3.0), "fat", Layer.SEAM, replaced_tissues=SOFT_TISSUES)
    yield paint(node, NODE_TISSUE, Layer.CAVITY, replaced_tissues=SOFT_TISSUES)
    yield paint(hilum, "fat", Layer.ORGAN, replaced_tissues=NODE_TISSUE)
