"""Contrasts beyond the table of relaxation times: diffusion, angiography, and tissues of any
brightness.

A network trained on any brightness in any tissue must rely on shape.  Source: Billot et al. (2023),
*SynthSeg: segmentation of brain MRI scans of any contrast and resolution without retraining*, Med
Image Anal 86:102789, section 3.2 (a random mean for each label).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.scanner.sequence import PulseSequence
from fovnet.phantom.scanner.tissues import Tissue, find_visible_tissues

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FreeContrast:
    """How far a contrast departs from the physics of its sequence.

    random_share     of each tissue's brightness, 0 to 1
    seed             of those random values
    gamma            exponent of the brightness
    is_inverted      dark and bright exchanged, except for air
    matter_contrast  factor on the difference of grey and white matter: 1 as by their relaxation times,
                     0 none, negative reverses it
    """

    random_share: float = 0.0
    seed: int = 0
    gamma: float = 1.0
    is_inverted: bool = False
    matter_contrast: float = 1.0

    def change_signals(self, tissue_signals: Floats, tissues: Sequence[Tissue]) -> Floats:
        """The signals (t,) of the tissues, changed by this contrast; the brightest keeps its value, air
        stays black."""
        peak_signal = float(tissue_signals.max())
        if peak_signal <= 0:
            return tissue_signals
        is_visible = find_visible_tissues(tissues)
        if self.matter_contrast != 1.0:
            tissue_signals = self._scale_matter_contrast(tissue_signals, tissues)
        random_brightness = np.random.default_rng(self.seed).uniform(0.03, 1.0, len(tissue_signals))
        brightness = (
            (1 - self.random_share) * tissue_signals / peak_signal
            + self.random_share * random_brightness
        ).clip(0, None)
        peak_brightness = max(float(brightness[is_visible].max(initial=0.0)), 1e-9)
        brightness = brightness / peak_brightness
        if self.is_inverted:
            brightness = 1.03 - brightness.clip(0, 1)
        return np.where(is_visible, peak_signal * brightness**self.gamma, tissue_signals)

    def _scale_matter_contrast(self, tissue_signals: Floats, tissues: Sequence[Tissue]) -> Floats:
        """The signals (t,), those of grey and white matter moved towards or beyond their mean."""
        is_matter = np.isin([tissue.name for tissue in tissues], ("grey matter", "white matter"))
        if not is_matter.any():
            return tissue_signals
        mean_signal = float(tissue_signals[is_matter].mean())
        return np.where(
            is_matter,
            mean_signal + self.matter_contrast * (tissue_signals - mean_signal),
            tissue_signals,
        )


UNUSUAL_SEQUENCES: tuple[PulseSequence, ...] = (
    PulseSequence("diffusion, b 50", "spin echo", 4000, 65, fat_mode="suppressed", b_value=50),
    PulseSequence("diffusion, b 800", "spin echo", 4000, 70, fat_mode="suppressed", b_value=800),
    PulseSequence("diffusion, b 1000", "spin echo", 6000, 85, fat_mode="suppressed", b_value=1000),
    PulseSequence(
        "apparent diffusion coefficient", "diffusion coefficient", 4000, 70, fat_mode="suppressed"
    ),
    PulseSequence("time of flight", "inflow", 23, 4, flip_deg=22),
    PulseSequence(
        "contrast-enhanced angiography",
        "gradient echo",
        4,
        1.3,
        flip_deg=28,
        has_contrast_agent=True,
        contrast_dose=5.0,
    ),
    PulseSequence(
        "dynamic, early",
        "gradient echo",
        5,
        1.5,
        flip_deg=15,
        has_contrast_agent=True,
        contrast_dose=2.0,
    ),
    PulseSequence(
        "dynamic, late, fat suppressed",
        "gradient echo",
        5,
        1.5,
        flip_deg=12,
        fat_mode="suppressed",
        has_contrast_agent=True,
        contrast_dose=1.5,
    ),
    PulseSequence("T1 FLAIR", "inversion recovery", 2200, 12, ti_ms=860),
    PulseSequence(
        "T2 balanced, fat suppressed", "balanced", 4.5, 2.2, flip_deg=70, fat_mode="suppressed"
    ),
    PulseSequence("turbo FLASH", "gradient echo", 5, 1.6, flip_deg=5),
    PulseSequence("proton density, fat suppressed", "spin echo", 3000, 30, fat_mode="suppressed"),
)
"""Sequences that are rare in whole-body studies and found in archives."""

PREPARED_SEQUENCES: tuple[PulseSequence, ...] = (
    PulseSequence(
        "MPRAGE", "magnetisation prepared", 2200, 3.2, ti_ms=930, flip_deg=8, fat_mode="half"
    ),
    PulseSequence(
        "MPRAGE, water excited",
        "magnetisation prepared",
        2000,
        3.5,
        ti_ms=950,
        flip_deg=9,
        fat_mode="suppressed",
    ),
    PulseSequence(
        "MPRAGE, contrast",
        "magnetisation prepared",
        2000,
        3.2,
        ti_ms=950,
        flip_deg=9,
        fat_mode="half",
        has_contrast_agent=True,
        contrast_dose=0.4,
    ),
)
"""The commonest image of heads: white matter 1, grey 0.6 to 0.75, CSF 0.1 to 0.25, and the scalp's
fat 0.4 to 1.5.

In spin-echo inversion recovery fat is at 2.7, so the brain looks dark.
"""

PREPARED_ODDS = (0.6, 0.27, 0.13)
PREPARED_SHARE = 0.75  # of the T1 inversion recoveries of heads, those replaced by a prepared one

HEAD_ONLY_SEQUENCES: tuple[PulseSequence, ...] = (
    PulseSequence(
        "T1 inversion recovery, water excited",
        "inversion recovery",
        2300,
        3.5,
        ti_ms=900,
        fat_mode="suppressed",
    ),
    *PREPARED_SEQUENCES[:2],
    PulseSequence(
        "T1 inversion recovery, contrast",
        "inversion recovery",
        2000,
        3.5,
        ti_ms=900,
        has_contrast_agent=True,
    ),
    PulseSequence("T1 gradient echo, inflow", "inflow", 22, 5, flip_deg=28),
    PulseSequence(
        "T1 gradient echo, inflow, water excited",
        "inflow",
        15,
        4,
        flip_deg=20,
        fat_mode="water only",
    ),
    PulseSequence(
        "FLAIR, fat suppressed", "inversion recovery", 9000, 95, ti_ms=2450, fat_mode="suppressed"
    ),
    PulseSequence("susceptibility", "gradient echo", 35, 20, flip_deg=15),
)
"""Common in archives of heads: inflowing blood is bright, or fat is dark, so that the brain is
brightest."""

REPLACED_SEQUENCE = "T1 inversion recovery"
LONG_TE_MS = 60.0  # longer echo times are T2-weighted

FADED_SHARE = 0.5
FADED_WATERY_SHARE = 0.85
FADED_PREPARED_SHARE = 0.15
"""Shares of heads whose grey-white contrast is lower than relaxation times give: in general, for T2
and FLAIR, for MPRAGE.

Echo trains and magnetisation transfer reduce it in T2 and FLAIR, incomplete myelination reverses it
in infants.  Source: Barkovich (2000), AJNR 21:1099.
"""


def draw_contrast(
    sequence: PulseSequence, rng: np.random.Generator, *, is_of_head: bool = False
) -> tuple[PulseSequence, FreeContrast | None]:
    """The sequence or an unusual one, and the change of its contrast, None for no change.

    Three in ten have tissues of random brightness.  Images of heads have more unusual sequences,
    mostly an MPRAGE in place of a T1 inversion recovery, and often a weaker contrast between grey
    and white matter.
    """
    unusual_sequences = UNUSUAL_SEQUENCES
    if is_of_head:
        unusual_sequences = (*UNUSUAL_SEQUENCES, *HEAD_ONLY_SEQUENCES)
    sequence, contrast = _draw_any_contrast(sequence, rng, unusual_sequences)
    if not is_of_head:
        return sequence, contrast
    if sequence.name == REPLACED_SEQUENCE and rng.random() < PREPARED_SHARE:
        sequence = _draw_prepared_sequence(rng)
    if rng.random() < _fading_share(sequence):
        contrast = replace(contrast or FreeContrast(), matter_contrast=rng.uniform(-0.3, 0.9))
    return sequence, contrast


def _draw_prepared_sequence(rng: np.random.Generator) -> PulseSequence:
    """One of PREPARED_SEQUENCES, by PREPARED_ODDS, its times varied by up to 8 %."""
    sequence = PREPARED_SEQUENCES[rng.choice(len(PREPARED_SEQUENCES), p=PREPARED_ODDS)]
    tr_factor, te_factor, ti_factor = rng.uniform(0.92, 1.08, 3)
    return replace(
        sequence,
        tr_ms=sequence.tr_ms * tr_factor,
        te_ms=sequence.te_ms * te_factor,
        ti_ms=sequence.ti_ms * ti_factor,
    )


def _fading_share(sequence: PulseSequence) -> float:
    """The share of heads with that sequence whose grey-white contrast is lower than usual."""
    if sequence.kind == "magnetisation prepared":
        return FADED_PREPARED_SHARE
    if sequence.te_ms > LONG_TE_MS:
        return FADED_WATERY_SHARE
    return FADED_SHARE


def _draw_any_contrast(
    sequence: PulseSequence, rng: np.random.Generator, unusual_sequences: tuple[PulseSequence, ...]
) -> tuple[PulseSequence, FreeContrast | None]:
    """The sequence, or in three of ten cases an unusual one, and the change of its contrast, None
    for no change."""
    if rng.random() < 0.3:
        sequence = unusual_sequences[rng.integers(len(unusual_sequences))]
        tr_factor, te_factor = rng.uniform(0.85, 1.15, 2)
        sequence = replace(
            sequence, tr_ms=sequence.tr_ms * tr_factor, te_ms=sequence.te_ms * te_factor
        )
    has_random_brightness = rng.random() < 0.3
    has_gamma = rng.random() < 0.25
    is_inverted = rng.random() < 0.06
    if not (has_random_brightness or has_gamma or is_inverted):
        return sequence, None
    random_share = 0.0
    if has_random_brightness:
        random_share = rng.uniform(0.3, 1.0)
    gamma = 1.0
    if has_gamma:
        gamma = float(np.exp(rng.uniform(-0.7, 0.7)))
    return sequence, FreeContrast(random_share, int(rng.integers(2**31)), gamma, is_inverted)
