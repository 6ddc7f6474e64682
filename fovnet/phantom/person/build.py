"""Regional differences in muscle: in the wall of the abdomen, in the loins, along the back and
around the hips.

`Person.brawn` is a person's overall muscle, relative to the average; a build says where there is
more and where less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fovnet.phantom.person.borders import clip_normal

WAIST_BY_HEIGHT = ((985.0, 0.0), (1060.0, 0.7), (1110.0, 1.0), (1170.0, 0.7), (1270.0, 0.0))
"""(height, share of `Build.waist_mm` there)."""

WALL_MM_BY_HEIGHT = ((1000.0, 0.0), (1045.0, 26.0), (1090.0, 24.0), (1150.0, 18.0), (1210.0, 0.0))
"""(height in the written anatomy, thickness in mm of the flat muscles at the side) between iliac
crest and ribs."""


@dataclass(frozen=True)
class Build:
    """Factors of the thickness of muscles, all 1 in a plain person, and the width of the waist.

    wall   the flat muscles of the abdomen, at its sides         front  the straight ones, and the sheets
        between them and the sides
    loin   psoas                                                 back   the erectors of the spine and the
        muscle beside them
    hips   gluteal muscles and iliacus                           waist_mm  added to either half of the waist
    """

    wall: float = 1.0
    front: float = 1.0
    loin: float = 1.0
    back: float = 1.0
    hips: float = 1.0
    waist_mm: float = 0.0

    def waist(self, z: float) -> float:
        """How much wider either half of trunk and cavity is at a height than in a plain person, mm."""
        heights, width_shares = zip(*WAIST_BY_HEIGHT, strict=True)
        return self.waist_mm * float(np.interp(z, heights, width_shares))

    def wall_mm(self, z: float) -> float:
        """How much thicker the wall is at either side at a height than in a plain person, mm; the
        cavity stays as wide."""
        heights, thicknesses_mm = zip(*WALL_MM_BY_HEIGHT, strict=True)
        return (self.wall - 1) * float(np.interp(z, heights, thicknesses_mm))


SPREAD_AND_LIMITS = {
    "wall": (0.30, 0.45, 1.6),
    "front": (0.30, 0.4, 1.3),
    "loin": (0.16, 0.6, 1.45),
    "back": (0.14, 0.7, 1.35),
    "hips": (0.12, 0.7, 1.35),
}
"""For each, the standard deviation of its logarithm in addition to the shared part, and the
smallest and largest factor."""
SHARED_LOG_SD = 0.12


def draw_build(rng: np.random.Generator) -> Build:
    """A random build: the sides of the abdomen 1 to 4 cm thick, its front from half the thickness
    to a third more, the others within about a third.

    Healthy people's flat muscles add up to 17 to 23 mm (Rankin, Stokes & Newham (2006), Muscle
    Nerve 34:320), athletes' to more, those of bedridden people to less; the psoas of men is 10 to
    17 cm² (Marras et al. (2001), Clin Biomech 16:38).
    """
    shared_log_factor = rng.normal(0, SHARED_LOG_SD)
    drawn_factors = {
        name: np.exp(shared_log_factor + rng.normal(0, log_sd))
        for name, (log_sd, _, _) in SPREAD_AND_LIMITS.items()
    }
    clipped_factors = {
        name: float(np.clip(drawn_factors[name], least_factor, most_factor))
        for name, (_, least_factor, most_factor) in SPREAD_AND_LIMITS.items()
    }
    return Build(**clipped_factors, waist_mm=clip_normal(rng, 0, 5, -10, 10))
