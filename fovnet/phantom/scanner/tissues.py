"""MR properties of tissues as data: proton density and relaxation times.

Sources (mean values, rounded to three digits):
    Stanisz et al. (2005), Magn Reson Med 54:507, table 1: brain, cord, muscle, heart, liver, cartilage,
    blood. de Bazelaire et al. (2004), Radiology 230:652, tables 2-3: kidney, spleen, pancreas, marrow of L4,
    uterus, prostate. Gold et al. (2004), AJR 183:343, table 2: fat, yellow marrow, synovial fluid.
    Wansapura et al. (1999), J Magn Reson Imaging 9:531: T2* of grey and white matter at 3 T.
    Bojorquez et al. (2017), Magn Reson Imaging 35:69 (review): tissues that the others leave out.
    Peripheral zone of the prostate, disc nucleus, silicone, lesions: values that keep the known order of
    brightness, not measurements. Mixed marrow, of the adult pelvis, lies between red and yellow.
    T2* elsewhere follows 1/T2* = 1/T2 + R2', with R2' = 12 / s at 1.5 T and 24 / s at 3 T, and far more in
    lung and bone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIELD_STRENGTHS = (1.5, 3.0)
"""The two field strengths of the table, in tesla."""


@dataclass(frozen=True)
class Tissue:
    """One tissue, with times in ms as (at 1.5 T, at 3 T).

    pd                 proton density, water = 1
    t2star_ms          with field inhomogeneity
    fat_fraction       of the signal, that comes from fat
    flow_share         of the full flow effect: 1 for arterial blood, 0 without flow
    uptake_mmol        contrast agent taken up, mmol / L
    texture_variation  coefficient of variation of the tissue's own texture
    """

    name: str
    pd: float
    t1_ms: tuple[float, float]
    t2_ms: tuple[float, float]
    t2star_ms: tuple[float, float]
    fat_fraction: float = 0.0
    flow_share: float = 0.0
    uptake_mmol: float = 0.0
    texture_variation: float = 0.05


def _tissue(
    name: str,
    pd: float,
    t1: tuple[float, float],
    t2: tuple[float, float],
    *,
    fat: float = 0.0,
    flow: float = 0.0,
    uptake: float = 0.0,
    mottle: float = 0.05,
    dephasing: tuple[float, float] = (0.012, 0.024),
) -> Tissue:
    """A tissue whose T2* follows from T2 and R2' (`dephasing`, 1 / ms)."""
    t2star = (1 / (1 / t2[0] + dephasing[0]), 1 / (1 / t2[1] + dephasing[1]))
    return Tissue(
        name=name,
        pd=pd,
        t1_ms=t1,
        t2_ms=t2,
        t2star_ms=t2star,
        fat_fraction=fat,
        flow_share=flow,
        uptake_mmol=uptake,
        texture_variation=mottle,
    )


TISSUES: tuple[Tissue, ...] = (
    Tissue("air", 0.0, (1000.0, 1000.0), (10.0, 10.0), (1.0, 1.0), texture_variation=0.0),
    _tissue("skin", 0.70, (350, 400), (30, 28), uptake=0.1),
    _tissue("fat", 1.00, (288, 371), (165, 133), fat=0.92, mottle=0.06),
    _tissue("visceral fat", 0.98, (288, 371), (150, 125), fat=0.85, mottle=0.08),
    _tissue("intermuscular fat", 0.95, (320, 400), (150, 120), fat=0.75, mottle=0.1),
    _tissue("muscle", 0.80, (1008, 1412), (44, 40), fat=0.03, uptake=0.1, mottle=0.09),
    _tissue("tendon", 0.45, (500, 600), (8, 7), dephasing=(0.2, 0.3)),
    _tissue("cortical bone", 0.12, (250, 230), (1.0, 0.8), dephasing=(0.8, 1.2)),
    _tissue(
        "red marrow",
        0.85,
        (549, 586),
        (60, 55),
        fat=0.45,
        uptake=0.1,
        mottle=0.12,
        dephasing=(0.03, 0.06),
    ),
    _tissue(
        "yellow marrow", 0.95, (288, 365), (165, 133), fat=0.88, mottle=0.07, dephasing=(0.02, 0.04)
    ),
    _tissue(
        "mixed marrow",
        0.90,
        (400, 460),
        (95, 82),
        fat=0.68,
        uptake=0.05,
        mottle=0.1,
        dephasing=(0.025, 0.05),
    ),
    _tissue("cartilage", 0.75, (1024, 1168), (36, 32)),
    _tissue("disc", 0.85, (1050, 1250), (85, 75), mottle=0.12),
    _tissue("cerebrospinal fluid", 1.00, (4000, 4300), (1600, 1400), mottle=0.03),
    _tissue("grey matter", 0.82, (1124, 1500), (95, 99), mottle=0.04, dephasing=(0.008, 0.012)),
    _tissue("white matter", 0.70, (700, 950), (74, 69), mottle=0.03, dephasing=(0.006, 0.008)),
    _tissue("spinal cord", 0.75, (745, 993), (74, 78), mottle=0.03),
    _tissue("vitreous", 1.00, (4000, 4300), (1500, 1200), mottle=0.02),
    _tissue("lung", 0.22, (1200, 1270), (40, 38), mottle=0.25, uptake=0.2, dephasing=(0.5, 1.2)),
    _tissue("arterial blood", 0.95, (1441, 1932), (290, 275), flow=1.0, uptake=0.8, mottle=0.05),
    _tissue("venous blood", 0.95, (1441, 1932), (180, 130), flow=0.6, uptake=0.8, mottle=0.05),
    _tissue("myocardium", 0.80, (1030, 1471), (44, 47), uptake=0.4),
    _tissue(
        "liver",
        0.75,
        (576, 812),
        (46, 40),
        fat=0.04,
        uptake=0.4,
        mottle=0.05,
        dephasing=(0.02, 0.03),
    ),
    _tissue("spleen", 0.82, (1057, 1328), (79, 61), uptake=0.5),
    _tissue("kidney cortex", 0.85, (966, 1142), (87, 76), uptake=1.0),
    _tissue("kidney medulla", 0.90, (1412, 1545), (95, 85), uptake=0.5),
    _tissue("pancreas", 0.78, (584, 725), (50, 46), fat=0.10, uptake=0.4, mottle=0.12),
    _tissue("bile", 1.00, (2400, 2600), (700, 600), mottle=0.02),
    _tissue("stomach content", 0.95, (1600, 1800), (250, 220), mottle=0.2),
    _tissue("bowel wall", 0.80, (950, 1200), (60, 55), uptake=0.4),
    _tissue("bowel fluid", 0.95, (1500, 1700), (220, 200), mottle=0.2),
    _tissue("stool", 0.70, (500, 560), (45, 42), fat=0.1, mottle=0.3, dephasing=(0.06, 0.12)),
    Tissue("gas", 0.0, (1000.0, 1000.0), (10.0, 10.0), (1.0, 1.0), texture_variation=0.0),
    _tissue("urine", 1.00, (3500, 3700), (1200, 1000), mottle=0.02),
    _tissue("prostate", 0.88, (1317, 1597), (95, 84), uptake=0.4, mottle=0.15),
    _tissue("myometrium", 0.85, (1309, 1514), (80, 72), uptake=0.5),
    _tissue("endometrium", 0.92, (1450, 1600), (170, 150), uptake=0.3),
    _tissue("gonad", 0.92, (1500, 1700), (160, 140), uptake=0.2),
    _tissue("gland", 0.85, (900, 1150), (65, 58), fat=0.15, uptake=0.4, mottle=0.1),
    _tissue("mucosa", 0.88, (1100, 1300), (90, 80), uptake=0.5, mottle=0.1),
    _tissue("joint fluid", 0.98, (2850, 3600), (1210, 770), mottle=0.03),
    _tissue("disc nucleus", 0.95, (1200, 1400), (135, 115), mottle=0.1),
    _tissue("peripheral zone", 0.95, (1500, 1800), (165, 145), uptake=0.3, mottle=0.1),
    Tissue("metal", 0.0, (1000.0, 1000.0), (10.0, 10.0), (1.0, 1.0), texture_variation=0.0),
    _tissue("silicone", 0.90, (900, 1000), (230, 200), mottle=0.02),
    _tissue("tumour", 0.90, (1150, 1550), (95, 85), uptake=0.8, mottle=0.2),
    _tissue("fluid of a lesion", 0.98, (2500, 2800), (500, 420), mottle=0.08),
    _tissue("bruise", 0.90, (400, 480), (110, 85), mottle=0.2, dephasing=(0.03, 0.06)),
    _tissue(
        "oedematous white matter",
        0.88,
        (1250, 1600),
        (150, 140),
        uptake=0.15,
        mottle=0.06,
        dephasing=(0.006, 0.008),
    ),
    _tissue("watery tumour", 0.95, (1700, 2100), (210, 180), uptake=0.6, mottle=0.2),
)
"""The tissues of the simulated body; a label is an index into this tuple, and 0 is air."""

AIR = 0

_LABEL_BY_NAME = {tissue.name: index for index, tissue in enumerate(TISSUES)}

DARK_PD = 0.05
"""Tissues with lower proton density, air and gas, stay black in every contrast."""


def find_visible_tissues(tissues: Sequence[Tissue]) -> NDArray[np.bool_]:
    """(t,) which tissues are not black in every contrast."""
    return np.array([tissue.pd > DARK_PD for tissue in tissues])


def label_of(name: str) -> int:
    """The label of a tissue of `TISSUES`; KeyError for an unknown name."""
    return _LABEL_BY_NAME[name]
