"""Fields of view of hanging breasts `of_a_kind`: of one, close or with its surroundings, and of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.person.breast_shapes import shaped
from fovnet.phantom.person.traits import Person

CLOSE_SHARE = (
    0.6  # of fields of one breast: they end at its edges; the others are boxes of 14 to 22 cm
)
# of fields of both: they end in front of the middle of the chest, the others behind it
FRONT_SHARE = 0.5
SAGITTAL, ANY = "sssa", "sssaci"


class Field(NamedTuple):
    """A box: lowest and highest corner (3,), x and y in mm of the written anatomy's trunk, z in mm of the
    person; and its planes."""

    low_mm: NDArray[np.float64]
    high_mm: NDArray[np.float64]
    planes: str


def field_about(person: Person, one: bool, rng: np.random.Generator) -> Field:
    """The field of view of one breast, or both, of a prone woman with breasts `of_a_kind`; 0.5 to 6 cm of air
    in front."""
    right, left = shaped(person, 1), shaped(person, -1)
    whole = (
        (right if rng.random() < 0.5 else left)
        if one
        else (right if right.length > left.length else left)
    )
    close = rng.random() < CLOSE_SHARE and one
    planes, above, below = (
        (SAGITTAL if close else ANY) if one else "aaaic",
        *_heights(whole.half[1], close, rng),
    )
    middle = whole.base[2] + whole.lean[1] / 2
    low, high = person.morph.height_mm(middle - below), person.morph.height_mm(middle + above)
    back = whole.base[1] - (rng.uniform(-8, 110) if one else _behind(rng))
    front = whole.tip[1] + rng.uniform(5, 60)
    x, half = (
        (whole.base[0] + whole.lean[0] / 2, _half_width(whole.half[0], close, rng))
        if one
        else (0.0, rng.uniform(140, 200))
    )
    x += rng.uniform(-12, 12)
    return Field(np.array([x - half, back, low]), np.array([x + half, front, high]), planes)


def _heights(half_mm: float, close: bool, rng: np.random.Generator) -> tuple[float, float]:
    """How far above and below the middle of a breast its field ends: if close, 0 to 3 cm beyond nine tenths
    of its half height or 4.5 cm, whichever is more; else 7 to 11 cm."""
    return (
        tuple(max(half_mm * 0.9, 45.0) + rng.uniform(0, 30, 2))
        if close
        else tuple(rng.uniform(70, 110, 2))
    )


def _half_width(half_mm: float, close: bool, rng: np.random.Generator) -> float:
    """From 12 mm within the edge of the breast to 35 mm beyond it if close; else 6 to 11 cm, which include
    the edge of the other breast."""
    return max(half_mm + rng.uniform(-12, 35), 32.0) if close else rng.uniform(60, 110)


def _behind(rng: np.random.Generator) -> float:
    """How far a field of both breasts reaches behind their base, mm: it shows ribs only, or heart and
    lungs."""
    return rng.uniform(5, 70) if rng.random() < FRONT_SHARE else rng.uniform(70, 160)
