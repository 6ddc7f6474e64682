"""Gradients that are weaker far from the middle of the scanner: what lies at the edge of a wide field
is shown nearer to the middle than it is.

Uncorrected, points 25 cm from the middle are shown 1 to 6 cm nearer (Doran et al. (2005), Phys Med
Biol 50:1343: more than 25 mm in an area of 32 × 34 cm).  Only the left-right axis is bent, so that
every landmark stays at its height.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.geometry.raster import PointMapping
from fovnet.phantom.geometry.solids import Floats

STRAIGHT_MM = 150.0  # from the middle, without bend
FULL_BEND_MM = 75.0  # beyond it the bend has its full amount, which it exceeds farther out
HEIGHT_SHARE = 0.5  # of the squared height in the squared distance from the middle
MOST_BEND_MM = 120.0  # what lies farther out is black


@dataclass(frozen=True)
class EdgeBend:
    """A bend of the edges of a field.

    bend_mm      how much nearer points are shown that lie 225 mm beside the middle
    middle_z_mm  height of the scanner's middle, mm of the person
    """

    bend_mm: float
    middle_z_mm: float

    def true_x(self, x: Floats, z: Floats) -> Floats:
        """The x of what is shown at x, at heights z, both mm of the person."""
        distance = np.sqrt(x * x + np.float32(HEIGHT_SHARE) * (z - self.middle_z_mm) ** 2)
        beyond = np.maximum(distance - STRAIGHT_MM, 0) / FULL_BEND_MM
        bend = np.minimum(self.bend_mm * beyond * beyond, MOST_BEND_MM)
        return np.asarray(x * (1 + bend / np.maximum(distance, 1)), dtype=np.float32)


@dataclass(frozen=True)
class BentPoints:
    """A `PointMapping` seen with a bend of the edges."""

    mapping: PointMapping
    edge_bend: EdgeBend

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """The points of the anatomy shown at x, y, z (mm) of the person."""
        return self.mapping.to_anatomy(self.edge_bend.true_x(x, z), y, z)

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) that enclose what is shown of boxes (n, 2, 3) of the anatomy."""
        shown_boxes = self.mapping.enclose(boxes)
        low_x = shown_boxes[:, 0, 0]
        high_x = shown_boxes[:, 1, 0]
        shown_boxes[:, 0, 0] = np.where(low_x > 0, np.maximum(low_x - MOST_BEND_MM, 0), low_x)
        shown_boxes[:, 1, 0] = np.where(high_x < 0, np.minimum(high_x + MOST_BEND_MM, 0), high_x)
        return shown_boxes
