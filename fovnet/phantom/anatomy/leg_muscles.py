"""The positions of the muscles of thigh and calf in their compartment, and the fat between them.

Ovals are rows of leg_muscles.tsv, for every belly of a muscle one at each height.  They are written
for a right leg in units of the outline of its muscle: `lateral` towards the outer side, `front`,
and half widths, 1 on the surface; the larger, the more of its surroundings a muscle occupies.  The
femur is near (0.25, 0.15), the tibia near (-0.1, 0.75).  A muscle without a belly at a height has
an oval of 0.02 there. Source of the arrangement: Gray's *Anatomy of the Human Body* (1918), figures
432 and 440 (cross-sections of the thigh and the leg).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from fovnet.phantom.anatomy.layers import Paints, paint_fat_plane, place_solid
from fovnet.phantom.geometry.bundles import FatPlanes, Outline, Oval
from fovnet.phantom.person.traits import Person
from fovnet.records import read_tsv

MuscleOvals = tuple[tuple[Oval, ...], ...]

_MUSCLE_ROWS = read_tsv(Path(__file__).with_name("leg_muscles.tsv"))


def _segment_heights(segment: str) -> tuple[float, ...]:
    """The heights of the ovals of "thigh" or "calf", mm."""
    return tuple(
        dict.fromkeys(float(row["height_mm"]) for row in _MUSCLE_ROWS if row["segment"] == segment)
    )


def _segment_muscles(segment: str) -> dict[str, MuscleOvals]:
    """The muscles of "thigh" or "calf" by name, in the order of the table."""
    ovals_by_muscle: dict[str, dict[str, list[Oval]]] = defaultdict(lambda: defaultdict(list))
    for row in _MUSCLE_ROWS:
        if row["segment"] == segment:
            oval = (
                float(row["lateral"]),
                float(row["front"]),
                float(row["half_width"]),
                float(row["half_depth"]),
            )
            ovals_by_muscle[row["muscle"]][row["belly"]].append(oval)
    return {
        muscle_name: tuple(map(tuple, ovals_by_belly.values()))
        for muscle_name, ovals_by_belly in ovals_by_muscle.items()
    }


THIGH_HEIGHTS_MM = _segment_heights("thigh")
CALF_HEIGHTS_MM = _segment_heights("calf")
THIGH_MUSCLES = _segment_muscles("thigh")
CALF_MUSCLES = _segment_muscles("calf")


def paint_leg_fat_planes(person: Person, outline: Outline, side: int) -> Paints:
    """The fat between the muscles of a leg, of which `outline` is the right one's: thin in lean and
    muscular people, wide with muscle atrophy."""
    atrophy_mm = (
        0.7 + 4.0 * person.marbled_share + 0.015 * person.fat_mm + 2.0 * (1 - person.muscle_factor)
    )
    thickness_mm = float(np.clip(atrophy_mm, 0.7, 3.2))
    for segment_index, (heights, muscles) in enumerate(
        ((THIGH_HEIGHTS_MM, THIGH_MUSCLES), (CALF_HEIGHTS_MM, CALF_MUSCLES))
    ):
        # the muscles of a person are the same on both sides, but for small shifts
        common_rng = person.generator(710 + 10 * segment_index)
        side_stream = 711 + 2 * segment_index + (side > 0)
        common_muscles = [_vary_muscle(muscle, common_rng, 0.045) for muscle in muscles.values()]
        # recipes before 16 restarted the generator for every muscle: all moved alike
        side_rng = person.generator(side_stream)
        varied_muscles = tuple(
            _vary_muscle(
                muscle,
                side_rng if person.is_placed_exactly else person.generator(side_stream),
                0.03,
            )
            for muscle in common_muscles
        )
        side_outline = place_solid(outline, side)
        yield paint_fat_plane(FatPlanes(side_outline, side, heights, varied_muscles, thickness_mm))


def _vary_muscle(muscle: MuscleOvals, rng: np.random.Generator, mobility: float) -> MuscleOvals:
    """A muscle moved as a whole by about `mobility` of the half width, and its size changed by
    about three times that share."""
    shift_x, shift_y = rng.normal(0, mobility, 2).tolist()
    growth = float(np.exp(rng.normal(0, 3 * mobility)))
    return tuple(
        tuple(
            (x + shift_x, y + shift_y, half_width * growth, half_depth * growth)
            for x, y, half_width, half_depth in belly
        )
        for belly in muscle
    )
