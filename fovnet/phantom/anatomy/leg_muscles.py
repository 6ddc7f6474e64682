"""The positions of the muscles of thigh and calf in their compartment, and the fat between them.

Ovals are written for a right leg in units of the outline of its muscle: x towards the outer side, y to the
front, 1 on the surface.  The femur is near (0.25, 0.15), the tibia near (-0.1, 0.75).  A muscle without a
belly at a height has an oval of 0.02 there. Source of the arrangement: Gray's *Anatomy of the Human Body*
(1918), figures 432 and 440 (cross-sections of the thigh and the leg).
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy.layers import Paints, seam
from fovnet.phantom.geometry.bundles import Outline, Oval, Planes
from fovnet.phantom.person.traits import Person

Muscle = tuple[tuple[Oval, ...], ...]

THIGH_MM = (515.0, 570.0, 700.0, 830.0, 868.0)
THIGH: dict[str, Muscle] = {
    # half widths: the larger, the more of its surroundings a muscle occupies
    "vastus lateralis": (
        (
            (0.8, 0.3, 0.2, 0.3),
            (0.72, 0.35, 0.26, 0.42),
            (0.72, 0.3, 0.27, 0.45),
            (0.82, 0.22, 0.2, 0.4),
            (0.85, 0.1, 0.15, 0.3),
        ),
        (
            (0.7, 0.05, 0.1, 0.15),
            (0.7, 0.0, 0.18, 0.25),
            (0.66, -0.12, 0.24, 0.26),
            (0.75, -0.15, 0.18, 0.25),
            (0.8, -0.2, 0.1, 0.2),
        ),
    ),
    "vastus intermedius": (
        (
            (0.05, 0.7, 0.3, 0.1),
            (0.12, 0.6, 0.38, 0.18),
            (0.25, 0.45, 0.34, 0.22),
            (0.42, 0.3, 0.26, 0.24),
            (0.42, 0.25, 0.15, 0.15),
        ),
        (
            (0.3, 0.4, 0.2, 0.1),
            (0.4, 0.3, 0.2, 0.2),
            (0.42, 0.18, 0.2, 0.22),
            (0.5, 0.05, 0.2, 0.22),
            (0.5, 0.0, 0.1, 0.1),
        ),
    ),
    "vastus medialis": (
        (
            (-0.72, 0.2, 0.3, 0.45),
            (-0.6, 0.35, 0.34, 0.44),
            (-0.32, 0.42, 0.28, 0.32),
            (0.12, 0.22, 0.14, 0.18),
            (0.15, 0.2, 0.05, 0.05),
        ),
    ),
    "rectus femoris": (
        (
            (0.0, 0.95, 0.2, 0.06),
            (0.02, 0.93, 0.24, 0.1),
            (0.1, 0.8, 0.34, 0.2),
            (0.26, 0.74, 0.25, 0.22),
            (0.3, 0.72, 0.18, 0.2),
        ),
    ),
    "tensor": (
        (
            (0.85, 0.6, 0.02, 0.02),
            (0.85, 0.6, 0.02, 0.02),
            (0.86, 0.55, 0.03, 0.05),
            (0.72, 0.66, 0.18, 0.18),
            (0.7, 0.68, 0.22, 0.2),
        ),
    ),
    "sartorius": (
        (
            (-0.92, -0.45, 0.09, 0.16),
            (-0.88, -0.3, 0.1, 0.18),
            (-0.66, 0.62, 0.2, 0.13),
            (-0.14, 0.88, 0.2, 0.12),
            (0.1, 0.95, 0.18, 0.1),
        ),
    ),
    "gracilis": (
        (
            (-0.8, -0.6, 0.08, 0.1),
            (-0.82, -0.58, 0.09, 0.12),
            (-0.95, -0.08, 0.08, 0.2),
            (-0.95, 0.05, 0.08, 0.24),
            (-0.95, 0.1, 0.08, 0.2),
        ),
    ),
    "adductor longus": (
        (
            (-0.3, 0.0, 0.02, 0.02),
            (-0.25, 0.05, 0.03, 0.03),
            (-0.5, 0.12, 0.26, 0.18),
            (-0.52, 0.48, 0.3, 0.2),
            (-0.6, 0.5, 0.3, 0.2),
        ),
    ),
    "adductor brevis": (
        (
            (-0.2, 0.0, 0.02, 0.02),
            (-0.2, 0.05, 0.02, 0.02),
            (-0.2, 0.05, 0.05, 0.05),
            (-0.4, 0.18, 0.3, 0.14),
            (-0.5, 0.2, 0.3, 0.15),
        ),
    ),
    "adductor magnus": (
        (
            (-0.6, -0.2, 0.05, 0.05),
            (-0.55, -0.12, 0.12, 0.1),
            (-0.42, -0.26, 0.42, 0.28),
            (-0.4, -0.2, 0.5, 0.3),
            (-0.5, -0.2, 0.4, 0.3),
        ),
        (
            (0.05, -0.2, 0.02, 0.02),
            (0.05, -0.15, 0.02, 0.02),
            (0.05, -0.15, 0.15, 0.12),
            (0.15, -0.18, 0.2, 0.15),
            (0.1, -0.2, 0.2, 0.15),
        ),
    ),
    "semimembranosus": (
        (
            (-0.55, -0.65, 0.28, 0.24),
            (-0.48, -0.62, 0.32, 0.26),
            (-0.5, -0.72, 0.26, 0.2),
            (-0.2, -0.52, 0.1, 0.1),
            (-0.2, -0.5, 0.05, 0.05),
        ),
    ),
    "semitendinosus": (
        (
            (-0.3, -0.9, 0.06, 0.06),
            (-0.22, -0.9, 0.14, 0.1),
            (-0.1, -0.82, 0.24, 0.18),
            (-0.16, -0.68, 0.2, 0.14),
            (-0.2, -0.6, 0.1, 0.1),
        ),
    ),
    "biceps, long head": (
        (
            (0.62, -0.65, 0.22, 0.22),
            (0.5, -0.7, 0.28, 0.24),
            (0.34, -0.7, 0.27, 0.24),
            (0.1, -0.62, 0.16, 0.14),
            (0.1, -0.6, 0.1, 0.1),
        ),
    ),
    "biceps, short head": (
        (
            (0.72, -0.4, 0.16, 0.18),
            (0.58, -0.3, 0.17, 0.18),
            (0.46, -0.32, 0.14, 0.14),
            (0.45, -0.3, 0.02, 0.02),
            (0.4, -0.3, 0.02, 0.02),
        ),
    ),
    "gluteus": (
        (
            (0.9, -0.8, 0.02, 0.02),
            (0.9, -0.8, 0.02, 0.02),
            (0.8, -0.7, 0.03, 0.03),
            (0.55, -0.72, 0.48, 0.26),
            (0.45, -0.75, 0.6, 0.3),
        ),
    ),
}

CALF_MM = (118.0, 170.0, 300.0, 400.0, 435.0)
CALF: dict[str, Muscle] = {
    "gastrocnemius, medial head": (
        (
            (-0.2, -0.98, 0.02, 0.02),
            (-0.3, -0.95, 0.04, 0.03),
            (-0.46, -0.68, 0.42, 0.24),
            (-0.46, -0.62, 0.4, 0.32),
            (-0.45, -0.6, 0.4, 0.34),
        ),
    ),
    "gastrocnemius, lateral head": (
        (
            (0.2, -0.98, 0.02, 0.02),
            (0.25, -0.95, 0.04, 0.03),
            (0.4, -0.74, 0.34, 0.18),
            (0.44, -0.64, 0.36, 0.28),
            (0.45, -0.62, 0.38, 0.3),
        ),
    ),
    "soleus": (
        (
            (-0.05, -0.65, 0.35, 0.24),
            (0.0, -0.52, 0.52, 0.32),
            (0.1, -0.3, 0.62, 0.22),
            (0.4, -0.2, 0.34, 0.14),
            (0.5, -0.2, 0.1, 0.06),
        ),
    ),
    "popliteus": (
        (
            (-0.2, 0.0, 0.02, 0.02),
            (-0.2, 0.1, 0.02, 0.02),
            (-0.25, 0.15, 0.03, 0.03),
            (-0.25, -0.02, 0.32, 0.14),
            (-0.1, -0.02, 0.34, 0.14),
        ),
    ),
    "deep flexor of the toes": (
        (
            (-0.55, -0.2, 0.16, 0.18),
            (-0.52, 0.0, 0.2, 0.18),
            (-0.46, 0.18, 0.2, 0.12),
            (-0.4, 0.1, 0.05, 0.04),
            (-0.4, 0.1, 0.02, 0.02),
        ),
    ),
    "deep flexor of the big toe": (
        (
            (0.3, -0.3, 0.26, 0.22),
            (0.34, -0.1, 0.24, 0.18),
            (0.46, -0.02, 0.16, 0.12),
            (0.5, 0.0, 0.03, 0.03),
            (0.5, 0.0, 0.02, 0.02),
        ),
    ),
    "tibialis posterior": (
        (
            (-0.2, 0.0, 0.14, 0.12),
            (-0.05, 0.12, 0.2, 0.16),
            (0.08, 0.18, 0.24, 0.17),
            (0.18, 0.14, 0.16, 0.12),
            (0.2, 0.1, 0.05, 0.05),
        ),
    ),
    "tibialis anterior": (
        (
            (0.2, 0.78, 0.2, 0.16),
            (0.3, 0.74, 0.24, 0.2),
            (0.4, 0.68, 0.24, 0.27),
            (0.5, 0.62, 0.24, 0.26),
            (0.5, 0.6, 0.2, 0.2),
        ),
    ),
    "extensor of the toes": (
        (
            (0.55, 0.55, 0.18, 0.18),
            (0.62, 0.5, 0.16, 0.2),
            (0.74, 0.4, 0.14, 0.2),
            (0.78, 0.35, 0.1, 0.14),
            (0.75, 0.35, 0.06, 0.08),
        ),
    ),
    "peronei": (
        (
            (0.75, -0.2, 0.14, 0.18),
            (0.8, -0.02, 0.14, 0.22),
            (0.88, 0.02, 0.12, 0.24),
            (0.88, 0.02, 0.12, 0.2),
            (0.85, 0.0, 0.1, 0.15),
        ),
    ),
}


def planes(person: Person, outline: Outline, side: int) -> Paints:
    """The fat between the muscles of a leg, of which `outline` is the right one's: thin in lean and muscular
    people, wide with muscle atrophy."""
    atrophied = 0.7 + 4.0 * person.marbling + 0.015 * person.fat_mm + 2.0 * (1 - person.brawn)
    thick = float(np.clip(atrophied, 0.7, 3.2))
    for number, (heights, muscles) in enumerate(((THIGH_MM, THIGH), (CALF_MM, CALF))):
        # the muscles of a person are the same on both sides, but for small shifts
        common, place = person.generator(710 + 10 * number), 711 + 2 * number + (side > 0)
        # recipes before 16 restarted the generator for every muscle: all moved alike
        rng = person.generator(place)
        drawn = tuple(
            _drawn(muscle, rng if person.placed else person.generator(place), 0.03)
            for muscle in [_drawn(muscle, common, 0.045) for muscle in muscles.values()]
        )
        between = Planes(outline if side > 0 else outline.mirror(), side, heights, drawn, thick)
        yield seam(between)


def _drawn(muscle: Muscle, rng: np.random.Generator, mobile: float) -> Muscle:
    """A muscle moved as a whole by about `mobile` of the half width, and its size changed by about three
    times that share."""
    dx, dy = rng.normal(0, mobile, 2).tolist()
    grown = float(np.exp(rng.normal(0, 3 * mobile)))
    return tuple(
        tuple((x + dx, y + dy, a * grown, b * grown) for x, y, a, b in oval) for oval in muscle
    )
