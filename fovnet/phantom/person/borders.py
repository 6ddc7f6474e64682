"""Where the borders between regions are in people who lie, against the bones and the shoulders near
them.

Without this, people have the shoulders of someone who stands, below the tops of the lungs; an
ischium 2 cm too far below the hip; and every lung apex, iliac crest and liver dome at the same place along the
spine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WRITTEN_HIP_TO_ISCHIUM_MM = 102.0
"""From the middle of the femoral head down to the lower end of the ischium, as the anatomy is
written."""

SHOULDERS_MM = 25.0
SHOULDERS_SD_MM = 9.0
SHOULDERS_RANGE_MM = (3.0, 38.0)
"""Mean, standard deviation and limits by which the shoulder girdle of someone who lies is higher."""

MEN_HIP_TO_ISCHIUM_MM = 84.0
WOMEN_HIP_TO_ISCHIUM_MM = 80.0
HIP_TO_ISCHIUM_SD_MM = 6.0
HIP_TO_ISCHIUM_RANGE_MM = (68.0, 98.0)
"""Mean of men, of women, standard deviation and limits of that distance in people."""

APEX_SD_MM = 6.0
APEX_MOST_MM = 12.0
CREST_SD_MM = 8.0
CREST_MOST_MM = 16.0
DIAPHRAGM_SD_MM = 11.0
DIAPHRAGM_MOST_MM = 24.0
"""Standard deviations and largest values of what is 0 on average."""

MEDIAL_MM = 20.0
LATERAL_MM = 90.0
"""How far beside the middle the girdle begins to be raised, near the sternum, and is raised fully."""

RISE_BY_HEIGHT = (
    (1340.0, 0.0),
    (1385.0, 0.8),
    (1412.0, 1.0),
    (1450.0, 1.0),
    (1468.0, 0.8),
    (1490.0, 0.4),
    (1520.0, 0.0),
)
"""(height as written, share by which the sides and the back of the trunk rise with the shoulders)."""


@dataclass(frozen=True)
class Borders:
    """Shifts upwards in mm of the written anatomy; a plain person has `Borders()`.

    shoulder_rise_mm      of the shoulder girdle and the arms
    lung_apex_rise_mm     of the tops of the lungs
    iliac_crest_rise_mm   of the iliac crests
    diaphragm_rise_mm     of the diaphragm, in addition to the breath (`Person.breath_drop_mm`)

    The ischium is moved by `Morph.ischium_rise_mm`, together with all that is around it.
    """

    shoulder_rise_mm: float = 0.0
    lung_apex_rise_mm: float = 0.0
    iliac_crest_rise_mm: float = 0.0
    diaphragm_rise_mm: float = 0.0

    def side_rise_mm(self, z: float) -> float:
        """How much higher the side of the trunk that is written at `z` is."""
        heights, rise_shares = zip(*RISE_BY_HEIGHT, strict=True)
        return self.shoulder_rise_mm * float(np.interp(z, heights, rise_shares))

    def girdle_rise_mm(self, x: float) -> float:
        """How much higher a point of the shoulder girdle is that is written `x` mm beside the
        middle."""
        rise_share = (abs(x) - MEDIAL_MM) / (LATERAL_MM - MEDIAL_MM)
        return self.shoulder_rise_mm * float(np.clip(rise_share, 0.0, 1.0))


def draw_borders(rng: np.random.Generator, *, is_female: bool) -> tuple[Borders, float]:
    """The borders of a person, and `Morph.ischium_rise_mm`.

    Shoulders: supine, the clavicle is more elevated and lies higher than upright (Matsumura et al.
    (2020), J Orthop Surg Res 15:411); the slope of trapezius is then 2 to 3 cm above the apex of
    the lung, which itself is 1 to 4 cm above the medial third of the clavicle and at the upper part
    of the first thoracic vertebra (Bergman, Afifi & Jew, Atlas of Human Anatomy in Cross Section,
    with ten authors' values).

    Ischium: from the farthest point of the acetabular rim to the tuberosity are 103 ± 8 mm in men
    and 101 in women (Qaiser et al., Int J Curr Adv Res), 26 of them to the hip's centre; the
    ischium from where the bones meet in the acetabulum is 88 mm long in men and 78 in women
    (Washburn (1948), Am J Phys Anthropol 6:199).

    Crest: the line between the crests crosses the body of L4 or the disc below in four of five
    people, and lies from L3 / L4 to L5 / S1 in all (Render (1996), Anaesthesia 51:1070).  The dome
    of the diaphragm differs by a vertebra between people, besides their breath.
    """
    shoulder_rise_mm = clip_normal(rng, SHOULDERS_MM, SHOULDERS_SD_MM, *SHOULDERS_RANGE_MM)
    mean_ischium_mm = MEN_HIP_TO_ISCHIUM_MM
    if is_female:
        mean_ischium_mm = WOMEN_HIP_TO_ISCHIUM_MM
    hip_to_ischium_mm = clip_normal(
        rng, mean_ischium_mm, HIP_TO_ISCHIUM_SD_MM, *HIP_TO_ISCHIUM_RANGE_MM
    )
    borders = Borders(
        shoulder_rise_mm,
        lung_apex_rise_mm=clip_normal(rng, 0.0, APEX_SD_MM, -APEX_MOST_MM, APEX_MOST_MM),
        iliac_crest_rise_mm=clip_normal(rng, 0.0, CREST_SD_MM, -CREST_MOST_MM, CREST_MOST_MM),
        diaphragm_rise_mm=clip_normal(
            rng, 0.0, DIAPHRAGM_SD_MM, -DIAPHRAGM_MOST_MM, DIAPHRAGM_MOST_MM
        ),
    )
    return borders, WRITTEN_HIP_TO_ISCHIUM_MM - hip_to_ischium_mm


def clip_normal(
    rng: np.random.Generator, mean: float, sd: float, least: float, most: float
) -> float:
    """A normal number; one beyond the limits becomes the nearest limit."""
    return float(np.clip(rng.normal(mean, sd), least, most))
