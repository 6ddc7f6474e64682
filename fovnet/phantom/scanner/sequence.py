"""Signal equations: the signal of a tissue of given PD, T1, T2, T2* in a pulse sequence.

    tr, te, ti   repetition, echo and inversion time, ms
    flip_deg     excitation angle
Sources: Haacke et al., *Magnetic Resonance Imaging: Physical Principles and Sequence Design* (1999): spin
    echo eq. 26.3, inversion recovery eq. 8.29, spoiled gradient echo eq. 18.14, balanced steady state eq.
    18.57. Ernst & Anderson (1966), Rev Sci Instrum 37:93: the angle arccos exp(-TR/T1) of the largest spoiled
    signal. Stejskal & Tanner (1965), J Chem Phys 42:288: diffusion weighting by e^{-b D}.
    Wang et al. (2014), PLoS One 9:e96899: MPRAGE and its usual times; its equation here follows from those of
    inversion and spoiled echoes. Haase (1990), Magn Reson Med 13:77: turbo FLASH, the same after an inversion
    or a saturation, with a train of some 0.3 s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.scanner.tissues import FIELD_STRENGTHS, Tissue

Floats = NDArray[np.float64]

RELAXIVITY = 4.3
"""Longitudinal relaxivity of a gadolinium chelate in plasma, L / (mmol s), at 1.5 T.  Rohrer et al.
(2005), Invest Radiol 40:715."""


@dataclass(frozen=True)
class PulseSequence:
    """The weighting of an image.

    kind                "spin echo", "inversion recovery", "gradient echo" (spoiled), "balanced",
                        "inflow" (a gradient echo in which moving blood is always unsaturated),
                        "balanced cine" (balanced, part of the blood unsaturated), "inversion gradient
                        echo" (inversion recovery read by gradient echoes: moving blood keeps its
                        signal), "magnetisation prepared" (inversion, then a train of small flips with
                        its middle at `ti_ms`: MPRAGE), "saturation prepared" (a saturation before the
                        train instead), or "diffusion coefficient" (a map of it)
    tr_ms               repetition time
    te_ms               echo time
    ti_ms               inversion time
    fat_mode            "in phase", "opposed phase", "suppressed", "water only", "fat only", "half"
                        (0.42 of it is left: chosen so that the scalp of an MPRAGE is 1.2 to 1.5 times
                        white matter), or "cancelling" (fat opposed to water in every voxel, so that
                        borders between the two are dark)
    has_contrast_agent  whether one was given
    contrast_dose       its amount: 1 is the uptake in the tissue table
    b_value             diffusion weighting, s / mm²
    flip_train          number of flips of a prepared train, and ms from one to the next
    """

    name: str
    kind: str
    tr_ms: float
    te_ms: float
    ti_ms: float = 0.0
    flip_deg: float = 90.0
    fat_mode: str = "in phase"
    has_contrast_agent: bool = False
    contrast_dose: float = 1.0
    b_value: float = 0.0
    flip_train: tuple[int, float] = (150, 7.0)


def spin_echo(pd: Floats, t1: Floats, t2: Floats, tr: float, te: float) -> Floats:
    """PD (1 - 2 e^{-(TR - TE/2)/T1} + e^{-TR/T1}) e^{-TE/T2}: excitation at 0, refocusing at TE/2."""
    return np.asarray(
        pd * (1 - 2 * np.exp(-(tr - te / 2) / t1) + np.exp(-tr / t1)) * np.exp(-te / t2)
    )


def inversion_recovery(
    pd: Floats, t1: Floats, t2: Floats, tr: float, te: float, ti: float
) -> Floats:
    """PD |1 - 2 e^{-TI/T1} + e^{-TR/T1}| e^{-TE/T2}, magnitude; nulled at TI = T1 ln 2 for long TR."""
    return np.asarray(pd * np.abs(1 - 2 * np.exp(-ti / t1) + np.exp(-tr / t1)) * np.exp(-te / t2))


def gradient_echo(
    pd: Floats, t1: Floats, t2star: Floats, tr: float, te: float, flip_deg: float
) -> Floats:
    """PD sin α (1 - E1) / (1 - E1 cos α) e^{-TE/T2*}, spoiled, steady state."""
    flip_angle = np.deg2rad(flip_deg)
    e1 = np.exp(-tr / t1)
    return np.asarray(
        pd * np.sin(flip_angle) * (1 - e1) / (1 - e1 * np.cos(flip_angle)) * np.exp(-te / t2star)
    )


def balanced_echo(
    pd: Floats, t1: Floats, t2: Floats, tr: float, te: float, flip_deg: float
) -> Floats:
    """PD sin α (1 - E1) / (1 - (E1 - E2) cos α - E1 E2) e^{-TE/T2}, balanced steady state on
    resonance."""
    flip_angle = np.deg2rad(flip_deg)
    e1 = np.exp(-tr / t1)
    e2 = np.exp(-tr / t2)
    return np.asarray(
        pd
        * np.sin(flip_angle)
        * (1 - e1)
        / (1 - (e1 - e2) * np.cos(flip_angle) - e1 * e2)
        * np.exp(-te / t2)
    )


def prepared_echo(
    pd: Floats, t1: Floats, t2star: Floats, sequence: PulseSequence, kept_factor: float = -1.0
) -> Floats:
    """PD |M| sin α e^{-TE/T2*}, M at the middle of the train of flips α, `ti_ms` after the
    preparation, every `tr_ms`; steady state.

    The preparation multiplies M by `kept_factor`: -1 for an inversion, 0 for a saturation.  In the
    train M approaches (1 - E) / (1 - E cos α), with the factor E cos α on the difference per flip,
    E = e^{-τ/T1}; outside it M approaches 1.
    """
    flip_count, flip_ms = sequence.flip_train
    flip_angle = np.deg2rad(sequence.flip_deg)
    e1 = np.exp(-flip_ms / t1)
    half_train_ms = flip_count * flip_ms / 2
    train_decay = (e1 * np.cos(flip_angle)) ** (flip_count / 2)
    steady_state = (1 - e1) / (1 - e1 * np.cos(flip_angle))
    inversion_decay = np.exp(-max(sequence.ti_ms - half_train_ms, 0.0) / t1)
    delay_decay = np.exp(-max(sequence.tr_ms - sequence.ti_ms - half_train_ms, 0.0) / t1)
    # The signal is a + b M, M before the preparation; M results from it after the rest of the train
    # and the delay: M = c + d M.
    a = (1 - inversion_decay) * train_decay + steady_state * (1 - train_decay)
    b = kept_factor * inversion_decay * train_decay
    c = (a * train_decay + steady_state * (1 - train_decay)) * delay_decay + 1 - delay_decay
    d = b * train_decay * delay_decay
    magnetisation = np.abs(a + b * c / (1 - d))
    return np.asarray(pd * magnetisation * np.sin(flip_angle) * np.exp(-sequence.te_ms / t2star))


def compute_signals(
    tissues: tuple[Tissue, ...], sequence: PulseSequence, field_strength: float
) -> Floats:
    """Signal (t,) of each tissue at a field strength in tesla, 1 for PD = 1 fully relaxed; KeyError
    for a `kind` or `fat_mode` that is not one of PulseSequence's."""
    strength_index = int(np.argmin(np.abs(np.asarray(FIELD_STRENGTHS) - field_strength)))
    pd = np.array([tissue.pd for tissue in tissues])
    flow_shares = np.array([tissue.flow_share for tissue in tissues])
    fat_fractions = np.array([tissue.fat_fraction for tissue in tissues])
    t1 = np.array([tissue.t1_ms[strength_index] for tissue in tissues])
    t2 = np.array([tissue.t2_ms[strength_index] for tissue in tissues])
    t2star = np.array([tissue.t2star_ms[strength_index] for tissue in tissues])
    if sequence.has_contrast_agent:
        uptakes_mmol = np.array([tissue.uptake_mmol for tissue in tissues])
        t1 = 1 / (1 / t1 + RELAXIVITY * uptakes_mmol * sequence.contrast_dose / 1000)
    tr = sequence.tr_ms
    te = sequence.te_ms
    ti = sequence.ti_ms
    signal_by_kind: dict[str, Callable[[], Floats]] = {
        "spin echo": lambda: spin_echo(pd, t1, t2, tr, te),
        "inversion recovery": lambda: inversion_recovery(pd, t1, t2, tr, te, ti),
        "gradient echo": lambda: gradient_echo(pd, t1, t2star, tr, te, sequence.flip_deg),
        "balanced": lambda: balanced_echo(pd, t1, t2, tr, te, sequence.flip_deg),
        "inflow": lambda: _inflow(flow_shares, pd, t1, t2star, sequence),
        "balanced cine": lambda: _cine_echo(flow_shares, pd, t1, t2, sequence),
        "inversion gradient echo": lambda: inversion_recovery(pd, t1, t2star, tr, te, ti),
        "magnetisation prepared": lambda: prepared_echo(pd, t1, t2star, sequence),
        "saturation prepared": lambda: prepared_echo(pd, t1, t2star, sequence, 0.0),
        "diffusion coefficient": lambda: np.where(
            pd > 0, estimate_diffusion(tissues) / FREE_WATER, 0.0
        ),
    }
    signal = signal_by_kind[sequence.kind]()
    if sequence.b_value:
        signal = signal * np.exp(-sequence.b_value * estimate_diffusion(tissues) / 1000)
    visible_shares = _visible_shares(fat_fractions, sequence.fat_mode)
    return signal * visible_shares * _flow_factors(flow_shares, sequence)


def _inflow(
    flow_shares: Floats, pd: Floats, t1: Floats, t2star: Floats, sequence: PulseSequence
) -> Floats:
    """Signal (t,) of a gradient echo with inflow: stationary tissue is saturated, as with any short
    TR; inflowing blood is excited for the first time, PD sin α e^{-TE/T2*}."""
    te = sequence.te_ms
    stationary_signal = gradient_echo(pd, t1, t2star, sequence.tr_ms, te, sequence.flip_deg)
    inflow_signal = flow_shares * pd * np.sin(np.deg2rad(sequence.flip_deg)) * np.exp(-te / t2star)
    return np.asarray((1 - flow_shares) * stationary_signal + inflow_signal)


FRESH_BLOOD_SHARE = 0.1
"""Share of the largest signal, PD sin α, that unsaturated blood adds in a balanced cine; blood is
then about as bright as fat.

Source for the order of brightness: Markl et al. (2003), Magn Reson Med 50:892: inflow raises
balanced signals of blood.
"""


def _cine_echo(
    flow_shares: Floats, pd: Floats, t1: Floats, t2: Floats, sequence: PulseSequence
) -> Floats:
    """Signal (t,) of a balanced cine; blood in both sides of the heart moves on with every beat, so
    venous blood is nearly as unsaturated as arterial."""
    saturated_signal = balanced_echo(pd, t1, t2, sequence.tr_ms, sequence.te_ms, sequence.flip_deg)
    fresh_blood = FRESH_BLOOD_SHARE * flow_shares**0.25
    return np.asarray(saturated_signal + fresh_blood * pd * np.sin(np.deg2rad(sequence.flip_deg)))


FREE_WATER = 3.0
"""Diffusion coefficient of free water at body heat, µm² / ms.  Holz, Heil & Sacco (2000), Phys Chem
Chem Phys 2:4740, table 2: 3.04."""

BOUND_WATER_T2_MS = 60.0


def estimate_diffusion(tissues: Sequence[Tissue]) -> Floats:
    """Diffusion coefficient (t,), µm² / ms, estimated from T2 at 1.5 T: water with long T2 also
    diffuses freely.

    0.5 to 1.5 in solid organs, 3 in urine and cerebrospinal fluid, almost 0 in fat; a rank order
    rather than a table.
    """
    t2 = np.array([tissue.t2_ms[0] for tissue in tissues])
    fat_fractions = np.array([tissue.fat_fraction for tissue in tissues])
    coefficient = FREE_WATER * t2 / (t2 + 2 * BOUND_WATER_T2_MS)
    return coefficient * (1 - 0.97 * fat_fractions)


def _visible_shares(fat_fractions: Floats, fat_mode: str) -> Floats:
    """The visible share (t,) of each tissue's signal, by its fraction of fat (t,) and what the
    sequence does with fat; suppression leaves a tenth of it, as in practice."""
    shares_by_mode: dict[str, Floats] = {
        "in phase": np.ones_like(fat_fractions),
        "opposed phase": np.abs(1 - 2 * fat_fractions),
        "suppressed": 1 - 0.9 * fat_fractions,
        "water only": 1 - 0.96 * fat_fractions,
        "fat only": fat_fractions,
        "half": 1 - 0.58 * fat_fractions,
        "cancelling": np.abs(1 - 2 * fat_fractions),
    }
    return shares_by_mode[fat_mode]


def _flow_factors(flow_shares: Floats, sequence: PulseSequence) -> Floats:
    """Factor (t,) of each tissue's signal by its flow: blood that leaves the slice between
    excitation and refocusing is dark; unsaturated blood in a gradient echo is bright."""
    if sequence.kind in ("spin echo", "inversion recovery"):
        return 1 - 0.85 * flow_shares
    if sequence.kind == "gradient echo":
        return 1 + 0.9 * flow_shares
    return np.ones_like(flow_shares)
