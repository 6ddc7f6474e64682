"""A thing in its own millimetres, upright along z about its middle, and what it is filled with.

Labels up to LABEL_COUNT - 1 are of the thing's own table of tissues: 0 air, 1 the wall, the
others its contents. Animals and hands have the tissues of the simulated body instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.raster import Paint, Pieces, cut_into_pieces
from fovnet.phantom.geometry.solids import Loft, Solid
from fovnet.phantom.scanner.tissues import Tissue

Point = tuple[float, float, float]

ORIGIN: Point = (0.0, 0.0, 0.0)
AIR, WALL, FILLING, SECOND_FILLING, THIRD_FILLING, FOURTH_FILLING, FIFTH_FILLING, SIXTH_FILLING = (
    range(8)
)
LABEL_COUNT = 8


@dataclass(frozen=True)
class Thing:
    """What is painted, in the given order, and the tissues that its labels count."""

    paints: tuple[Paint, ...]
    tissues: tuple[Tissue, ...]

    @property
    def pieces(self) -> Pieces:
        """Ready for painting."""
        return cut_into_pieces(self.paints)

    @property
    def box_mm(self) -> NDArray[np.float64]:
        """(2, 3) corners that enclose it."""
        piece_boxes = np.array([paint.solid.box for paint in self.paints])
        return np.stack([piece_boxes[:, 0].min(axis=0), piece_boxes[:, 1].max(axis=0)])


def paint_vessel(inner: Solid, label: int, wall_mm: float = 2.0) -> list[Paint]:
    """The solid filled with one of the thing's own materials, and its wall."""
    return [Paint(inner.shrink(-wall_mm), WALL), Paint(inner, label)]


def log_uniform(low: float, high: float, rng: np.random.Generator) -> float:
    """A number of any order of magnitude between two."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def on_circle(radius: float, angle: float) -> tuple[float, float]:
    """x and y of the point of a circle about the axis at that angle, radians, from the right to the
    front."""
    return radius * float(np.cos(angle)), radius * float(np.sin(angle))


def column(
    width_mm: float,
    height_mm: float,
    *,
    centre: Point = ORIGIN,
    depth_mm: float = 0.0,
    squareness: float = 0.0,
    top_width_share: float = 1.0,
) -> Loft:
    """A column about `centre`, `depth_mm` from front to back if given: a cylinder, a box with a
    `squareness` near 1, a cone if its top has another width than its bottom."""
    x, y, z = centre
    half_width = width_mm / 2
    half_depth = (depth_mm or width_mm) / 2
    half_height = height_mm / 2
    top_half_width = top_width_share * half_width
    top_half_depth = top_width_share * half_depth
    return Loft(
        (
            (z - half_height, x, y, half_width, half_depth, half_depth),
            (z + half_height, x, y, top_half_width, top_half_depth, top_half_depth),
        ),
        squareness=squareness,
    )
