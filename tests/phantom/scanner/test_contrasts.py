"""Contrasts: free ones keep air black and order where they should; diffusion is an exponential."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.phantom.scanner.contrasts import PREPARED_SEQUENCES, UNUSUAL_SEQUENCES, FreeContrast
from fovnet.phantom.scanner.sequence import PulseSequence, compute_signals, estimate_diffusion
from fovnet.phantom.scanner.tissues import AIR, TISSUES, label_of

T1 = PulseSequence("T1", "spin echo", 550, 12)


@given(st.floats(0, 1), st.integers(0, 2**31 - 1), st.floats(0.4, 2.5), st.booleans())
def test_air_stays_black_and_brightness_in_range(
    share: float, seed: int, gamma: float, inverted: bool
) -> None:
    bright = compute_signals(TISSUES, T1, 1.5)
    made = FreeContrast(share, seed, gamma, inverted).change_signals(bright, TISSUES)
    assert (
        made[AIR] == made[label_of("gas")] == 0
        and made.min() >= 0
        and made.max() <= 1.05**gamma * bright.max()
    )
    assert np.array_equal(
        made, FreeContrast(share, seed, gamma, inverted).change_signals(bright, TISSUES)
    )


def test_gamma_keeps_the_order_and_inversion_turns_it() -> None:
    bright = compute_signals(TISSUES, T1, 1.5)
    tissue = np.array([each.pd > 0.05 for each in TISSUES])
    assert FreeContrast().change_signals(bright, TISSUES) == pytest.approx(bright)
    order = np.argsort(bright[tissue], kind="stable")
    assert np.all(
        np.diff(FreeContrast(gamma=2.0).change_signals(bright, TISSUES)[tissue][order]) >= 0
    )
    assert np.all(
        np.diff(FreeContrast(is_inverted=True).change_signals(bright, TISSUES)[tissue][order])
        <= 1e-12
    )


def test_two_diffusion_weightings_give_back_the_coefficient() -> None:
    weak, strong = (
        compute_signals(TISSUES, PulseSequence("", "spin echo", 4000, 70, b_value=b), 1.5)
        for b in (100.0, 900.0)
    )
    known = weak > 0
    assert np.log(weak[known] / strong[known]) / 0.8 == pytest.approx(
        estimate_diffusion(TISSUES)[known]
    )


def test_vessels_are_brightest_in_angiography() -> None:
    angiography = [
        sequence
        for sequence in UNUSUAL_SEQUENCES
        if sequence.name in ("time of flight", "contrast-enhanced angiography")
    ]
    assert len(angiography) == 2
    for sequence in angiography:
        assert int(compute_signals(TISSUES, sequence, 1.5).argmax()) == label_of("arterial blood")


def test_more_contrast_agent_shortens_t1_more() -> None:
    kidney = label_of("kidney cortex")
    doses = (
        PulseSequence(
            "",
            "gradient echo",
            5,
            1.5,
            flip_deg=15,
            has_contrast_agent=dose > 0,
            contrast_dose=dose,
        )
        for dose in (0, 1, 3)
    )
    seen = [compute_signals(TISSUES, sequence, 1.5)[kidney] for sequence in doses]
    assert seen[0] < seen[1] < seen[2]


@pytest.mark.parametrize(("apart", "sign"), [(0.4, 1), (-0.3, -1)])
def test_grey_and_white_matter_come_nearer_or_change_places_and_nothing_else_moves(
    apart: float, sign: int
) -> None:
    bright = compute_signals(TISSUES, PulseSequence("T2", "spin echo", 4500, 95), 1.5)
    grey, white = label_of("grey matter"), label_of("white matter")
    moved = FreeContrast(matter_contrast=apart).change_signals(bright, TISSUES)
    assert (
        moved[grey] - moved[white] == pytest.approx(apart * (bright[grey] - bright[white]))
        and sign * (moved[grey] - moved[white]) > 0
    )
    np.testing.assert_allclose(np.delete(moved, [grey, white]), np.delete(bright, [grey, white]))


@pytest.mark.parametrize("field_strength", [1.5, 3.0])
def test_mprage_shows_white_matter_then_grey_then_water_and_fat_not_far_above(
    field_strength: float,
) -> None:
    for sequence in PREPARED_SEQUENCES[:2]:
        seen = compute_signals(TISSUES, sequence, field_strength)
        white, grey, water, fat = (
            seen[label_of(name)]
            for name in ("white matter", "grey matter", "cerebrospinal fluid", "fat")
        )
        assert 0.6 < grey / white < 0.8 and water / white < 0.3 and 0.35 < fat / white < 1.6
