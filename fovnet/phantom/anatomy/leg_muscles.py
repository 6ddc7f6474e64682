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
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person
from fovnet.records import read_tsv

MuscleOvals = tuple[tuple[Oval, ...], ...]
"""The bellies of one muscle: for each, an oval at every height of its segment."""

_MUSCLE_ROWS = read_tsv(Path(__file__).with_name("leg_muscles.tsv"))


def _segment_heights(segment: str) -> tuple[float, ...]:
    """The heights of the ovals of a segment of the leg ("thigh" or "calf"), mm."""
    return tuple(
        dict.fromkeys(float(row["height_mm"]) for row in _MUSCLE_ROWS if row["segment"] == segment)
    )


def _segment_muscles(segment: str) -> dict[str, MuscleOvals]:
    """The ovals of the muscles of a segment of the leg ("thigh" or "calf"), by the muscle's name, in
    the order of the table."""
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
    """The planes of fat between the muscles of one leg (side 1 right, -1 left): thin in lean and
    muscular people, wide with muscle atrophy.

    `outline` is that of the muscle of the right leg.
    """
    usual_mm = (
        0.7 + 4.0 * person.marbled_share + 0.015 * person.fat_mm + 2.0 * (1 - person.muscle_factor)
    )
    thickness_mm = float(np.clip(usual_mm, 0.7, 3.2))
    for heights, muscles, stream, left_stream in (
        (THIGH_HEIGHTS_MM, THIGH_MUSCLES, Stream.THIGH_MUSCLES, Stream.LEFT_THIGH_MUSCLES),
        (CALF_HEIGHTS_MM, CALF_MUSCLES, Stream.CALF_MUSCLES, Stream.LEFT_CALF_MUSCLES),
    ):
        # the muscles of a person are the same on both sides, but for small shifts
        common_rng = person.generator(stream)
        side_rng = person.side_generator(left_stream, side)
        common_muscles = [_vary_muscle(muscle, common_rng, 0.045) for muscle in muscles.values()]
        varied_muscles = []
        for muscle in common_muscles:
            if not person.is_placed_exactly:  # recipes before 16: all muscles moved alike
                side_rng = person.side_generator(left_stream, side)
            varied_muscles.append(_vary_muscle(muscle, side_rng, 0.03))
        side_outline = place_solid(outline, side)
        planes = FatPlanes(side_outline, side, heights, tuple(varied_muscles), thickness_mm)
        yield paint_fat_plane(planes)


def _vary_muscle(muscle: MuscleOvals, rng: np.random.Generator, mobility: float) -> MuscleOvals:
    """A muscle moved as a whole by about `mobility`, a share of the half width of its segment, and
    its size changed by about three times that share."""
    shift_x, shift_y = rng.normal(0, mobility, 2).tolist()
    size_factor = float(np.exp(rng.normal(0, 3 * mobility)))
    return tuple(
        tuple(
            (x + shift_x, y + shift_y, half_width * size_factor, half_depth * size_factor)
            for x, y, half_width, half_depth in belly
        )
        for belly in muscle
    )
