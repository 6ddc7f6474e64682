"""Close fields of view of organs of the trunk and of parts of the legs: mostly inside the body, with little
or no skin.

Kidneys, bile ducts, the rectum or the sacroiliac joints are planned so that the organ fills the image.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.acquisition.families import Family, one_of
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.anatomy.head import VERTEX_MM

ORGANS: tuple[Family, ...] = (
    Family(
        "kidneys",
        ("iliac_crest", -10, 50),
        ("liver_dome", -90, -10),
        (180, 270),
        (110, 190),
        "aaaci",
        2.0,
        offset_y=(-40, -2),
    ),
    Family(
        "kidney, one",
        ("iliac_crest", 0, 50),
        ("liver_dome", -90, -20),
        (90, 160),
        (90, 160),
        "aacs",
        1.0,
        offset_x=(40, 85),
        offset_y=(-45, -10),
    ),
    Family(
        "liver",
        ("iliac_crest", 20, 100),
        ("liver_dome", -25, 20),
        (170, 280),
        (140, 220),
        "aaaci",
        1.5,
        offset_x=(20, 70),
        offset_y=(-15, 20),
        either_side=False,
    ),
    Family(
        "upper left abdomen",
        ("iliac_crest", 20, 100),
        ("liver_dome", -40, 15),
        (120, 210),
        (120, 200),
        "aaci",
        0.8,
        offset_x=(-85, -40),
        offset_y=(-25, 25),
    ),
    Family(
        "bile ducts",
        ("iliac_crest", 20, 90),
        ("liver_dome", -80, -15),
        (150, 260),
        (50, 130),
        "cccai",
        1.0,
        offset_x=(5, 45),
        offset_y=(-10, 35),
        either_side=False,
    ),
    Family(
        "bowel",
        ("iliac_crest", -70, 30),
        ("iliac_crest", 90, 160),
        (170, 290),
        (90, 190),
        "aaci",
        1.0,
        offset_y=(5, 45),
    ),
    Family(
        "rectum",
        ("ischium", 10, 60),
        ("ischium", 110, 190),
        (110, 200),
        (110, 190),
        "aaassc",
        1.2,
        offset_y=(-65, -20),
    ),
    Family(
        "uterus and bladder",
        ("ischium", 30, 80),
        ("iliac_crest", -80, 5),
        (140, 240),
        (140, 210),
        "aassci",
        1.2,
        offset_y=(-20, 20),
    ),
    Family(
        "joints of the sacrum",
        ("ischium", 80, 135),
        ("iliac_crest", -60, 20),
        (150, 250),
        (90, 160),
        "aacc",
        0.8,
        offset_y=(-80, -40),
    ),
    Family(
        "groin",
        ("ischium", -60, 10),
        ("ischium", 70, 150),
        (130, 260),
        (90, 170),
        "aac",
        0.7,
        offset_x=(15, 70),
        offset_y=(20, 55),
    ),
    Family(
        "great vessels",
        ("liver_dome", -40, 40),
        ("lung_apex", -70, 10),
        (110, 220),
        (120, 220),
        "aassci",
        1.3,
        offset_x=(-25, 25),
    ),
    Family(
        "lung, one",
        ("liver_dome", -60, 20),
        ("lung_apex", -70, 10),
        (110, 190),
        (130, 220),
        "aac",
        0.8,
        offset_x=(55, 105),
    ),
    Family(
        "sternum and ribs",
        ("liver_dome", -30, 40),
        ("lung_apex", -80, 0),
        (120, 260),
        (60, 130),
        "aac",
        0.6,
        offset_y=(45, 85),
    ),
    Family(
        "flesh of a thigh",
        ("knee", 70, 200),
        ("ischium", -120, 20),
        (90, 170),
        (90, 170),
        "aaacs",
        1.2,
        offset_x=(75, 120),
    ),
    Family(
        "calf, one",
        ("ankle", 20, 150),
        ("knee", -110, -10),
        (90, 180),
        (100, 190),
        "aacs",
        1.0,
        offset_x=(80, 115),
    ),
    Family(
        "ankle",
        ("sole", -15, 30),
        ("ankle", 40, 130),
        (90, 150),
        (100, 180),
        "sssaac",
        1.0,
        offset_x=(80, 115),
        offset_y=(-10, 40),
    ),
)
"""The fields of view for a stature of 175 cm, with their weights."""


def organ_field(marks: Landmarks, rng: np.random.Generator) -> Family:
    """One of ORGANS, its lengths scaled with the person's stature."""
    family = one_of(ORGANS, rng)
    share = marks.vertex / VERTEX_MM
    low, high, wide, deep = (
        (a * share, b * share) for *_, a, b in (family.low, family.high, family.wide, family.deep)
    )
    return replace(
        family, low=(family.low[0], *low), high=(family.high[0], *high), wide=wide, deep=deep
    )
