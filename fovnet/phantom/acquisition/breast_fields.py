"""Fields of view of hanging breasts that are individually shaped: of one, close or with its
surroundings, and of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.person.breast_shapes import BreastShape, breast_shape
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

    low_mm         its lowest corner (3,): x and y in mm of the written anatomy's trunk, z in mm of
                   the person
    high_mm        its highest corner
    plane_letters  of the planes it may be acquired in, as in `FieldKind`
    """

    low_mm: NDArray[np.float64]
    high_mm: NDArray[np.float64]
    plane_letters: str


def draw_breast_field(person: Person, is_of_one: bool, rng: np.random.Generator) -> BreastField:
    """The field of view of one breast, or both, of a prone woman with breasts of her own shape; 0.5
    to 6 cm of air in front."""
    right_breast = breast_shape(person, 1)
    left_breast = breast_shape(person, -1)
    shown_breast = max(left_breast, right_breast, key=lambda breast: breast.length_mm)
    if is_of_one:
        shown_breast = right_breast
        if rng.random() >= 0.5:
            shown_breast = left_breast
    is_close = rng.random() < CLOSE_SHARE and is_of_one
    _, half_height_mm = shown_breast.half_size_mm
    above_mm, below_mm = _draw_heights(half_height_mm, is_close, rng)
    middle_z = shown_breast.base[2] + shown_breast.lean_mm[1] / 2
    low_z = person.morph.height_mm(middle_z - below_mm)
    high_z = person.morph.height_mm(middle_z + above_mm)
    back_y = shown_breast.base[1] - _draw_depth_behind(is_of_one, rng)
    front_y = shown_breast.nipple[1] + rng.uniform(5, 60)
    middle_x = 0.0
    if is_of_one:
        middle_x = shown_breast.base[0] + shown_breast.lean_mm[0] / 2
    half_width_mm, plane_letters = _draw_width_and_planes(shown_breast, is_of_one, is_close, rng)
    middle_x += rng.uniform(-12, 12)
    return BreastField(
        np.array([middle_x - half_width_mm, back_y, low_z]),
        np.array([middle_x + half_width_mm, front_y, high_z]),
        plane_letters,
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


def _draw_width_and_planes(
    shown_breast: BreastShape, is_of_one: bool, is_close: bool, rng: np.random.Generator
) -> tuple[float, str]:
    """Half the width of a field, mm, and the letters of the planes it may be acquired in.

    A field of both breasts is 28 to 40 cm wide.  A close one of one breast ends from 12 mm within
    its edge to 35 mm beyond it; any other 6 to 11 cm from its middle, so that the edge of the other
    breast is included.
    """
    if not is_of_one:
        return rng.uniform(140, 200), PLANES_OF_BOTH
    if is_close:
        breast_half_width_mm, _ = shown_breast.half_size_mm
        return max(breast_half_width_mm + rng.uniform(-12, 35), 32.0), SAGITTAL_PLANES
    return rng.uniform(60, 110), ANY_PLANES


def _draw_depth_behind(is_of_one: bool, rng: np.random.Generator) -> float:
    """How far a field reaches behind the base of a breast, mm: one of both breasts shows ribs only,
    or heart and lungs; one of one breast may end 8 mm in front of the base."""
    if is_of_one:
        return rng.uniform(-8, 110)
    if rng.random() < FRONT_SHARE:
        return rng.uniform(5, 70)
    return rng.uniform(70, 160)
