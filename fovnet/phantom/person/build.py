"""Regional differences in muscle: in the wall of the abdomen, in the loins, along the back and
around the hips.

`Person.muscle_factor` is a person's overall muscle, relative to the average; a build says where there is
more and where less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fovnet.phantom.person.borders import clip_normal

WAIST_BY_HEIGHT = ((985.0, 0.0), (1060.0, 0.7), (1110.0, 1.0), (1170.0, 0.7), (1270.0, 0.0))
"""(height, share of `Build.waist_width_mm` there)."""

WALL_MM_BY_HEIGHT = ((1000.0, 0.0), (1045.0, 26.0), (1090.0, 24.0), (1150.0, 18.0), (1210.0, 0.0))
"""(height in the written anatomy, thickness in mm of the flat muscles at the side) between iliac
crest and ribs."""


@dataclass(frozen=True)
class Build:
    """Factors of the thickness of muscles, all 1 in a plain person, and the width of the waist.

    wall_factor     the flat muscles of the abdomen, at its sides
    front_factor    the straight muscles, and the sheets between them and the sides
    loin_factor     psoas
    back_factor     the erectors of the spine and the muscle beside them
    hip_factor      gluteal muscles and iliacus
    waist_width_mm  added to either half of the waist
    """

    wall_factor: float = 1.0
    front_factor: float = 1.0
    loin_factor: float = 1.0
    back_factor: float = 1.0
    hip_factor: float = 1.0
    waist_width_mm: float = 0.0

    def extra_width_mm(self, z: float) -> float:
        """How much wider either half of trunk and cavity is at a height than in a plain person, mm."""
        heights, width_shares = zip(*WAIST_BY_HEIGHT, strict=True)
        return self.waist_width_mm * float(np.interp(z, heights, width_shares))

    def extra_wall_mm(self, z: float) -> float:
        """How much thicker the wall is at either side at a height than in a plain person, mm; the
        cavity stays as wide."""
        heights, thicknesses_mm = zip(*WALL_MM_BY_HEIGHT, strict=True)
        return (self.wall_factor - 1) * float(np.interp(z, heights, thicknesses_mm))


class FactorSpread(NamedTuple):
    """How a factor of a build varies: the standard deviation of its logarithm in addition to the
    part that all share, and the smallest and the largest factor."""

    log_sd: float
    least_factor: float
    most_factor: float


WALL_SPREAD = FactorSpread(0.30, 0.45, 1.6)
FRONT_SPREAD = FactorSpread(0.30, 0.4, 1.3)
LOIN_SPREAD = FactorSpread(0.16, 0.6, 1.45)
BACK_SPREAD = FactorSpread(0.14, 0.7, 1.35)
HIP_SPREAD = FactorSpread(0.12, 0.7, 1.35)
SHARED_LOG_SD = 0.12  # of the part that the logarithms of all factors share


def draw_build(rng: np.random.Generator) -> Build:
    """A random build: the sides of the abdomen 1 to 4 cm thick, its front from half the thickness
    to a third more, the others within about a third.

    Healthy people's flat muscles add up to 17 to 23 mm (Rankin, Stokes & Newham (2006), Muscle
    Nerve 34:320), athletes' to more, those of bedridden people to less; the psoas of men is 10 to
    17 cm² (Marras et al. (2001), Clin Biomech 16:38).
    """
    shared_log_factor = rng.normal(0, SHARED_LOG_SD)

    def draw_factor(spread: FactorSpread) -> float:
        factor = np.exp(shared_log_factor + rng.normal(0, spread.log_sd))
        return float(np.clip(factor, spread.least_factor, spread.most_factor))

    return Build(
        wall_factor=draw_factor(WALL_SPREAD),
        front_factor=draw_factor(FRONT_SPREAD),
        loin_factor=draw_factor(LOIN_SPREAD),
        back_factor=draw_factor(BACK_SPREAD),
        hip_factor=draw_factor(HIP_SPREAD),
        waist_width_mm=clip_normal(rng, 0, 5, -10, 10),
    )
