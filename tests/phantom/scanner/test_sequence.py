"""Signal equations against their limits and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats

from fovnet.phantom.scanner.sequence import (
    PulseSequence,
    balanced_echo,
    compute_signals,
    gradient_echo,
    inversion_recovery,
    prepared_echo,
    spin_echo,
)
from fovnet.phantom.scanner.tissues import TISSUES, label_of

LONG, T1, T2 = 1e7, floats(100, 5000), floats(5, 2000)


def one(value: float) -> np.ndarray:
    return np.array([value])


@given(t1=T1, t2=T2)
def test_a_spin_echo_with_endless_repetition_and_no_echo_time_shows_proton_density(
    t1: float, t2: float
) -> None:
    assert spin_echo(one(0.7), one(t1), one(t2), LONG, 0.0) == pytest.approx(0.7)


@given(t1=T1, t2=T2)
def test_inversion_recovery_is_silent_at_t1_times_ln_2(t1: float, t2: float) -> None:
    assert inversion_recovery(
        one(1.0), one(t1), one(t2), LONG, 0.0, t1 * np.log(2)
    ) == pytest.approx(0.0, abs=1e-12)


@given(t1=T1, tr=floats(2, 1000))
def test_the_ernst_angle_gives_the_largest_spoiled_signal(t1: float, tr: float) -> None:
    ernst = np.rad2deg(np.arccos(np.exp(-tr / t1)))
    best = gradient_echo(one(1.0), one(t1), one(50.0), tr, 0.0, ernst)
    around = [
        gradient_echo(one(1.0), one(t1), one(50.0), tr, 0.0, angle)
        for angle in np.linspace(1, 179, 60)
    ]
    assert best >= max(around) - 1e-12


def test_a_spoiled_90_degree_gradient_echo_is_saturation_recovery() -> None:
    t1, tr, te, t2star = 800.0, 500.0, 6.0, 40.0
    assert gradient_echo(one(1.0), one(t1), one(t2star), tr, te, 90.0) == pytest.approx(
        (1 - np.exp(-tr / t1)) * np.exp(-te / t2star)
    )


def test_a_balanced_sequence_of_short_repetition_depends_on_t2_over_t1_alone() -> None:
    """The limit TR -> 0 is PD sin a / ((1 + cos a) + (1 - cos a) T1 / T2)  (Scheffler & Lehnhardt 2003, eq.
    3)."""
    t1, t2, flip = 1000.0, 80.0, np.deg2rad(50)
    limit = np.sin(flip) / ((1 + np.cos(flip)) + (1 - np.cos(flip)) * t1 / t2)
    assert balanced_echo(one(1.0), one(t1), one(t2), 1e-3, 0.0, 50.0) == pytest.approx(
        limit, rel=1e-4
    )


def contrast_of(
    sequence: PulseSequence, bright: str, dark: str, field_strength: float = 1.5
) -> float:
    seen = compute_signals(TISSUES, sequence, field_strength)
    return float(seen[label_of(bright)] / max(seen[label_of(dark)], 1e-9))


def test_t1_weighting_shows_white_matter_before_grey_before_water_and_t2_weighting_the_reverse() -> (
    None
):
    t1, t2 = PulseSequence("t1", "spin echo", 550, 12), PulseSequence("t2", "spin echo", 4500, 95)
    assert (
        contrast_of(t1, "white matter", "grey matter") > 1
        and contrast_of(t1, "grey matter", "cerebrospinal fluid") > 1
    )
    assert (
        contrast_of(t2, "grey matter", "white matter") > 1
        and contrast_of(t2, "cerebrospinal fluid", "grey matter") > 1
    )


def test_stir_and_fat_suppression_take_the_fat_away() -> None:
    assert (
        contrast_of(
            PulseSequence("stir", "inversion recovery", 5000, 55, ti_ms=165), "muscle", "fat"
        )
        > 1
    )
    plain = PulseSequence("t2", "spin echo", 4500, 95)
    assert contrast_of(plain, "fat", "muscle") > 5 * contrast_of(
        replace(plain, fat_mode="suppressed"), "fat", "muscle"
    )


def test_contrast_agent_brightens_the_kidney_in_t1_weighting() -> None:
    plain = PulseSequence("t1", "gradient echo", 5, 2.2, flip_deg=12)
    given_ = compute_signals(TISSUES, replace(plain, has_contrast_agent=True), 3.0)
    assert (
        given_[label_of("kidney cortex")]
        > 2 * compute_signals(TISSUES, plain, 3.0)[label_of("kidney cortex")]
    )


def test_in_a_balanced_cine_blood_of_both_sides_is_several_times_as_bright_as_the_muscle_of_the_heart() -> (
    None
):
    cine = PulseSequence("cine", "balanced cine", 3.2, 1.6, flip_deg=45)
    assert (
        contrast_of(cine, "arterial blood", "myocardium") > 3
        and contrast_of(cine, "venous blood", "arterial blood") > 0.8
    )


@pytest.mark.parametrize("field_strength", (1.5, 3.0))
def test_long_after_contrast_an_inversion_hides_the_muscle_of_the_heart_and_not_its_blood(
    field_strength: float,
) -> None:
    late = PulseSequence(
        "late enhancement", "inversion gradient echo", 700, 2.0, ti_ms=240, has_contrast_agent=True
    )
    assert contrast_of(late, "arterial blood", "myocardium", field_strength) > 2.5


def test_a_train_of_flips_long_after_an_inversion_reads_what_its_own_flips_leave() -> None:
    """With T1 far shorter than every wait the inversion is forgotten and M is the driven equilibrium of a
    spoiled train."""
    t1, flip = one(20.0), 8.0
    read = prepared_echo(one(1.0), t1, one(1e9), PulseSequence("", "", 5000.0, 0.0, 2000.0, flip))
    assert read == pytest.approx(gradient_echo(one(1.0), t1, one(1e9), 7.0, 0.0, flip), rel=1e-6)
