"""Fields of view of hanging breasts `of_a_kind`: of one, close or with its surroundings, and of
both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.person.breast_shapes import breast_shape
from fovnet.phantom.person.traits import Person

CLOSE_SHARE = 0.6
"""Of fields of one breast: they end at its edges; the others are boxes of 14 to 22 cm."""
FRONT_SHARE = 0.5
"""Of fields of both: they end in front of the middle of the chest, the others behind it."""
SAGITTAL_PLANES = "sssa"
ANY_PLANES = "sssaci"
PLANES_OF_BOTH = "aaaic"


class BreastField(NamedTuple):
    """A box.

    low_mm   its lowest corner (3,): x and y in mm of the written anatomy's trunk, z in mm of the
             person
    high_mm  its highest corner
    planes   as in `Family`
    """

    low_mm: NDArray[np.float64]
    high_mm: NDArray[np.float64]
    planes: str


def draw_breast_field(person: Person, is_of_one: bool, rng: np.random.Generator) -> BreastField:
    """The field of view of one breast, or both, of a prone woman with breasts `of_a_kind`; 0.5 to 6
    cm of air in front."""
    right_breast = breast_shape(person, 1)
    left_breast = breast_shape(person, -1)
    shown_breast = right_breast if right_breast.length > left_breast.length else left_breast
    if is_of_one:
        shown_breast = right_breast if rng.random() < 0.5 else left_breast
    is_close = rng.random() < CLOSE_SHARE and is_of_one
    above_mm, below_mm = _draw_heights(shown_breast.half[1], is_close, rng)
    middle_z = shown_breast.base[2] + shown_breast.lean[1] / 2
    low_mm = person.morph.height_mm(middle_z - below_mm)
    high_mm = person.morph.height_mm(middle_z + above_mm)
    back_mm = shown_breast.base[1] - (
        rng.uniform(-8, 110) if is_of_one else _draw_depth_behind(rng)
    )
    front_mm = shown_breast.tip[1] + rng.uniform(5, 60)
    if is_of_one:
        middle_x = shown_breast.base[0] + shown_breast.lean[0] / 2
        half_width_mm = _draw_half_width(shown_breast.half[0], is_close, rng)
        planes = SAGITTAL_PLANES if is_close else ANY_PLANES
    else:
        middle_x = 0.0
        half_width_mm = rng.uniform(140, 200)
        planes = PLANES_OF_BOTH
    middle_x += rng.uniform(-12, 12)
    return BreastField(
        np.array([middle_x - half_width_mm, back_mm, low_mm]),
        np.array([middle_x + half_width_mm, front_mm, high_mm]),
        planes,
    )


def _draw_heights(
    half_height_mm: float, is_close: bool, rng: np.random.Generator
) -> tuple[float, float]:
    """How far above and below the middle of a breast its field ends: if close, 0 to 3 cm beyond
    nine tenths of its half height or 4.5 cm, whichever is more; else 7 to 11 cm."""
    if is_close:
        above_mm, below_mm = max(half_height_mm * 0.9, 45.0) + rng.uniform(0, 30, 2)
    else:
        above_mm, below_mm = rng.uniform(70, 110, 2)
    return above_mm, below_mm


def _draw_half_width(half_width_mm: float, is_close: bool, rng: np.random.Generator) -> float:
    """From 12 mm within the edge of the breast to 35 mm beyond it if close; else 6 to 11 cm, which
    include the edge of the other breast."""
    if is_close:
        return max(half_width_mm + rng.uniform(-12, 35), 32.0)
    return rng.uniform(60, 110)


def _draw_depth_behind(rng: np.random.Generator) -> float:
    """How far a field of both breasts reaches behind their base, mm: it shows ribs only, or heart
    and lungs."""
    return rng.uniform(5, 70) if rng.random() < FRONT_SHARE else rng.uniform(70, 160)
