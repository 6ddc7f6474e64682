"""Contrasts beyond the table of relaxation times: diffusion, angiography, and tissues of any
brightness.

A network trained on any brightness in any tissue must rely on shape.  Source: Billot et al. (2023),
*SynthSeg: segmentation of brain MRI scans of any contrast and resolution without retraining*, Med
Image Anal 86:102789, section 3.2 (a random mean for each label).
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.scanner.sequence import Sequence
from fovnet.phantom.scanner.tissues import Tissue, visible_tissues

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FreeContrast:
    """How far a contrast departs from the physics of its sequence.

    share     of each tissue's brightness that is random, 0 to 1
    seed      of those random values
    gamma     exponent of the brightness
    inverted  dark and bright exchanged, except for air
    matter    factor on the difference of grey and white matter: 1 as by their relaxation times, 0 none,
              negative reverses it
    """

    share: float = 0.0
    seed: int = 0
    gamma: float = 1.0
    inverted: bool = False
    matter: float = 1.0

    def of(self, bright: Floats, tissues: Many[Tissue]) -> Floats:
        """The brightness (t,) of tissues whose signals are `bright` (t,); the brightest keeps its
        value, air stays black."""
        peak_signal = float(bright.max())
        if peak_signal <= 0:
            return bright
        is_visible = visible_tissues(tissues)
        if self.matter != 1.0:
            bright = self._scale_matter_contrast(bright, tissues)
        random_brightness = np.random.default_rng(self.seed).uniform(0.03, 1.0, len(bright))
        relative_brightness = (
            (1 - self.share) * bright / peak_signal + self.share * random_brightness
        ).clip(0, None)
        relative_brightness = relative_brightness / max(
            float(relative_brightness[is_visible].max(initial=0.0)), 1e-9
        )
        if self.inverted:
            relative_brightness = 1.03 - relative_brightness.clip(0, 1)
        return np.where(is_visible, peak_signal * relative_brightness**self.gamma, bright)

    def _scale_matter_contrast(self, tissue_signals: Floats, tissues: Many[Tissue]) -> Floats:
        """The brightness (t,), that of grey and white matter moved towards or beyond their mean."""
        is_matter = np.isin([tissue.name for tissue in tissues], ("grey matter", "white matter"))
        mean_matter = float(tissue_signals[is_matter].mean()) if is_matter.any() else 0.0
        return np.where(
            is_matter, mean_matter + self.matter * (tissue_signals - mean_matter), tissue_signals
        )


UNUSUAL_SEQUENCES: tuple[Sequence, ...] = (
    Sequence("diffusion, b 50", "spin echo", 4000, 65, fat="suppressed", b=50),
    Sequence("diffusion, b 800", "spin echo", 4000, 70, fat="suppressed", b=800),
    Sequence("diffusion, b 1000", "spin echo", 6000, 85, fat="suppressed", b=1000),
    Sequence("apparent diffusion coefficient", "diffusion coefficient", 4000, 70, fat="suppressed"),
    Sequence("time of flight", "inflow", 23, 4, flip_deg=22),
    Sequence(
        "contrast-enhanced angiography",
        "gradient echo",
        4,
        1.3,
        flip_deg=28,
        contrast=True,
        dose=5.0,
    ),
    Sequence("dynamic, early", "gradient echo", 5, 1.5, flip_deg=15, contrast=True, dose=2.0),
    Sequence(
        "dynamic, late, fat suppressed",
        "gradient echo",
        5,
        1.5,
        flip_deg=12,
        fat="suppressed",
        contrast=True,
        dose=1.5,
    ),
    Sequence("T1 FLAIR", "inversion recovery", 2200, 12, ti=860),
    Sequence("T2 balanced, fat suppressed", "balanced", 4.5, 2.2, flip_deg=70, fat="suppressed"),
    Sequence("turbo FLASH", "gradient echo", 5, 1.6, flip_deg=5),
    Sequence("proton density, fat suppressed", "spin echo", 3000, 30, fat="suppressed"),
)
"""Sequences that are rare in whole-body studies and found in archives."""


PREPARED_SEQUENCES: tuple[Sequence, ...] = (
    Sequence("MPRAGE", "magnetisation prepared", 2200, 3.2, ti=930, flip_deg=8, fat="half"),
    Sequence(
        "MPRAGE, water excited",
        "magnetisation prepared",
        2000,
        3.5,
        ti=950,
        flip_deg=9,
        fat="suppressed",
    ),
    Sequence(
        "MPRAGE, contrast",
        "magnetisation prepared",
        2000,
        3.2,
        ti=950,
        flip_deg=9,
        fat="half",
        contrast=True,
        dose=0.4,
    ),
)
"""The commonest image of heads: white matter 1, grey 0.6 to 0.75, CSF 0.1 to 0.25, and the scalp's
fat 0.4 to 1.5.

In spin-echo inversion recovery fat is at 2.7, so the brain looks dark.
"""

PREPARED_ODDS = (0.6, 0.27, 0.13)
PREPARED_SHARE = 0.75  # of the T1 inversion recoveries of heads, those replaced by a prepared one

HEAD_ONLY_SEQUENCES: tuple[Sequence, ...] = (
    Sequence(
        "T1 inversion recovery, water excited",
        "inversion recovery",
        2300,
        3.5,
        ti=900,
        fat="suppressed",
    ),
    *PREPARED_SEQUENCES[:2],
    Sequence(
        "T1 inversion recovery, contrast", "inversion recovery", 2000, 3.5, ti=900, contrast=True
    ),
    Sequence("T1 gradient echo, inflow", "inflow", 22, 5, flip_deg=28),
    Sequence(
        "T1 gradient echo, inflow, water excited", "inflow", 15, 4, flip_deg=20, fat="water only"
    ),
    Sequence("FLAIR, fat suppressed", "inversion recovery", 9000, 95, ti=2450, fat="suppressed"),
    Sequence("susceptibility", "gradient echo", 35, 20, flip_deg=15),
)
"""Common in archives of heads: inflowing blood is bright, or fat is dark, so that the brain is
brightest."""

REPLACED_SEQUENCE = "T1 inversion recovery"
LONG_TE_MS = 60.0  # longer echo times are T2-weighted

FADED_SHARE = 0.5
FADED_WATERY = 0.85
FADED_PREPARED = 0.15
"""Shares of heads whose grey-white contrast is lower than relaxation times give: in general, for T2
and FLAIR, for MPRAGE.

Echo trains and magnetisation transfer reduce it in T2 and FLAIR, incomplete myelination reverses it
in infants.  Source: Barkovich (2000), AJNR 21:1099.
"""


def draw_contrast(
    sequence: Sequence, rng: np.random.Generator, head: bool = False
) -> tuple[Sequence, FreeContrast | None]:
    """The sequence or an unusual one, and the change of its contrast, None for no change.

    Three in ten have tissues of random brightness.
    """
    unusual_sequences = (*UNUSUAL_SEQUENCES, *HEAD_ONLY_SEQUENCES) if head else UNUSUAL_SEQUENCES
    sequence, contrast = _draw_any_contrast(sequence, rng, unusual_sequences)
    if head and sequence.name == REPLACED_SEQUENCE and rng.random() < PREPARED_SHARE:
        prepared_sequence = PREPARED_SEQUENCES[rng.choice(len(PREPARED_SEQUENCES), p=PREPARED_ODDS)]
        tr_factor, te_factor, ti_factor = rng.uniform(0.92, 1.08, 3)
        sequence = replace(
            prepared_sequence,
            tr=prepared_sequence.tr * tr_factor,
            te=prepared_sequence.te * te_factor,
            ti=prepared_sequence.ti * ti_factor,
        )
    if head and rng.random() < _fading_share(sequence):
        contrast = replace(contrast or FreeContrast(), matter=rng.uniform(-0.3, 0.9))
    return sequence, contrast


def _fading_share(sequence: Sequence) -> float:
    """The share of heads with that sequence whose grey-white contrast is lower than usual."""
    if sequence.kind == "magnetisation prepared":
        return FADED_PREPARED
    return FADED_WATERY if sequence.te > LONG_TE_MS else FADED_SHARE


def _draw_any_contrast(
    sequence: Sequence, rng: np.random.Generator, unusual_sequences: tuple[Sequence, ...]
) -> tuple[Sequence, FreeContrast | None]:
    """The sequence, or in three of ten cases an unusual one, and the change of its contrast, None
    for no change."""
    if rng.random() < 0.3:
        sequence = unusual_sequences[rng.integers(len(unusual_sequences))]
        tr_factor, te_factor = rng.uniform(0.85, 1.15, 2)
        sequence = replace(sequence, tr=sequence.tr * tr_factor, te=sequence.te * te_factor)
    has_random_brightness = rng.random() < 0.3
    has_gamma = rng.random() < 0.25
    is_inverted = rng.random() < 0.06
    if not (has_random_brightness or has_gamma or is_inverted):
        return sequence, None
    random_share = rng.uniform(0.3, 1.0) if has_random_brightness else 0.0
    gamma = float(np.exp(rng.uniform(-0.7, 0.7))) if has_gamma else 1.0
    return sequence, FreeContrast(random_share, int(rng.integers(2**31)), gamma, is_inverted)
