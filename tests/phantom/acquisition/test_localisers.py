"""Localisers: how many, how thick, what they are heard by, and what stays as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.acquisition.coils import body_extent_mm, draw_skin_coil
from fovnet.phantom.acquisition.field_kinds import ScanRequest, choose_field_kinds
from fovnet.phantom.acquisition.localisers import (
    LEAST_SNR,
    LOCALISER_FIELDS,
    combine_flaws,
    draw_quick_sequence,
    draw_stack_grid,
    is_localiser,
    to_localiser,
)
from fovnet.phantom.acquisition.protocols import SITES, Plan, draw_plan
from fovnet.phantom.acquisition.regrid import find_slice_axis
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.traits import sample_person
from fovnet.phantom.scanner.artefacts import Flaws, darken_corners
from fovnet.phantom.scanner.scan import Coil, compute_sensitivity
from fovnet.phantom.scanner.sequence import PulseSequence, compute_signals, prepared_echo
from fovnet.phantom.scanner.tissues import AIR, TISSUES, label_of
from fovnet.phantom.variety import vary_plan

PERSON = sample_person((4, 2))
MARKS = landmarks(PERSON)


def plain(at: int) -> Plan:
    field_kind = choose_field_kinds(at + 1, np.random.default_rng(3))[at]
    return draw_plan(PERSON, MARKS, field_kind, SITES[0], np.random.default_rng(1))


def pelvis(cells_mm: tuple[float, float, float] = (8.0, 8.0, 20.0)) -> Grid:
    """The middle 20 cm of the pelvis, wide and deep enough for anybody."""
    affine = np.diag([*cells_mm, 1.0])
    affine[:3, 3] = -240, -180, (MARKS.ischium + MARKS.iliac_crest) / 2 - 100
    return Grid(
        (round(480 / cells_mm[0]), round(360 / cells_mm[1]), round(200 / cells_mm[2])), affine
    )


def test_one_volume_in_ten_is_a_localiser_and_the_first_of_a_person_covers_several_regions() -> (
    None
):
    first, second = plain(0), plain(1)
    made = [
        vary_plan(usual, PERSON, MARKS, (9, number, at))
        for number in range(150)
        for at, usual in ((0, first), (1, second))
    ]
    scouts = [plan for plan in made if is_localiser(plan)]
    assert 16 < len(scouts) < 46  # 30 give or take three standard deviations
    assert all(
        plan.field_kind.is_long == (at % 2 == 0)
        for at, plan in enumerate(made)
        if is_localiser(plan)
    )
    assert all(plan.acquisition.snr >= LEAST_SNR for plan in scouts)
    assert not any(
        is_localiser(
            vary_plan(first, PERSON, MARKS, (9, number, 0), frozenset({"stacked localisers"}))
        )
        for number in range(20)
    )


def test_what_the_dice_leave_alone_is_the_plan_itself() -> None:
    request = ScanRequest(PERSON, MARKS, 1, frozenset())
    same = [
        to_localiser(usual, request, np.random.default_rng(seed)) is usual
        for usual in [plain(1)]
        for seed in range(40)
    ]
    assert 20 < sum(same) < 40


@pytest.mark.parametrize("plane", ["axial", "coronal", "sagittal"])
def test_localisers_are_straight_stacks_of_thick_slices_within_their_field(plane: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        acquired = replace(
            draw_plan(PERSON, MARKS, LOCALISER_FIELDS[seed], SITES[1], rng), plane=plane
        )
        grid = draw_stack_grid(acquired, rng)
        spacing, through = (
            np.diag(grid.vox_to_ras)[:3],
            find_slice_axis(replace(acquired, grid=grid)),
        )
        assert through == {"sagittal": 0, "coronal": 1, "axial": 2}[plane]
        assert np.array_equal(grid.vox_to_ras[:3, :3], np.diag(spacing))
        assert 5 <= spacing[through] <= 20 and 3 <= grid.shape[through] <= 60
        assert all(1.6 <= spacing[axis] <= 4.0 for axis in range(3) if axis != through)
        before = np.linalg.norm(acquired.grid.vox_to_ras[:3, :3], axis=0) * acquired.grid.shape
        assert (spacing * grid.shape <= before + 1e-6).all() or grid.shape[through] == 3


def test_sensitivity_at_the_skin_beside_an_element_is_several_times_that_of_the_middle() -> None:
    grid = pelvis()
    body = label_volume(PERSON, grid).labels != AIR
    middle, _ = body_extent_mm(PERSON, grid, frozenset())
    i, j = ((middle - grid.vox_to_ras[:2, 3]) / 8).round().astype(int)
    ratios = []
    for seed in range(20):
        profile = compute_sensitivity(
            grid.shape,
            grid.vox_to_ras,
            draw_skin_coil(PERSON, grid, np.zeros(3), frozenset(), np.random.default_rng(seed)),
        )
        ratios.append(
            np.quantile(profile[body], 0.99) / profile[i - 2 : i + 3, j - 2 : j + 3, 3:7].mean()
        )
    assert min(ratios) > 1.7 and 3.5 < np.median(ratios) < 10


def test_an_outline_holds_the_body_and_touches_it() -> None:
    grid = pelvis((4.0, 4.0, 20.0))
    seen = (
        np.argwhere((label_volume(PERSON, grid).labels != AIR)[:, :, 2:8].any(axis=2)) * 4.0
        + grid.vox_to_ras[:2, 3]
    )
    middle, half = body_extent_mm(PERSON, grid, frozenset())
    assert middle - half == pytest.approx(
        seen.min(axis=0), abs=24
    ) and middle + half == pytest.approx(seen.max(axis=0), abs=24)
    air = Grid((20, 20, 4), grid.vox_to_ras + np.outer([0, 0, 4000.0, 0], [0, 0, 0, 1]))
    assert body_extent_mm(PERSON, air, frozenset())[1] == pytest.approx([38, 38])


def test_the_sensitivity_of_a_loop_along_its_axis_is_that_of_biot_and_savart() -> None:
    """(1 + (d / a)²)^(-3/2) of its field in the middle, d along the axis of a loop of radius a."""
    affine = np.diag([24.0, 24.0, 24.0, 1.0])
    profile = compute_sensitivity(
        (11, 2, 2), affine, Coil(((0.0, 0.0, 0.0),), 50.0, 1.0, element_power=1.5)
    )
    assert profile[:, 0, 0] == pytest.approx((1 + (np.arange(11) * 24 / 50) ** 2) ** -1.5, rel=1e-5)


def test_a_single_small_flip_reads_recovery_from_nothing_or_from_upside_down() -> None:
    unit, t1, train = np.array([1.0]), np.array([800.0]), (1, 0.001)
    for ti in (200.0, 600.0, 1500.0):
        sequence = PulseSequence("", "", 1e6, 0.0, ti, 0.01, flip_train=train)
        read = [
            float(prepared_echo(unit, t1, unit * 1e9, sequence, left)[0]) for left in (0.0, -1.0)
        ]
        saturated, inverted = read / np.sin(np.deg2rad(0.01))
        assert saturated == pytest.approx(1 - np.exp(-ti / 800), rel=1e-3)
        assert inverted == pytest.approx(abs(1 - 2 * np.exp(-ti / 800)), rel=1e-3, abs=1e-3)


def test_a_late_train_after_a_saturation_is_flatter_than_an_early_one() -> None:
    def spread(ti: float) -> float:
        sequence = PulseSequence(
            "", "saturation prepared", ti + 500, 1.4, ti, 8.0, flip_train=(64, 3.0)
        )
        fat, muscle = compute_signals(TISSUES, sequence, 1.5)[[label_of("fat"), label_of("muscle")]]
        return float(fat / muscle)

    assert 1 < spread(3000) < 1.6 < spread(300)


def test_sequences_of_localisers_are_quick() -> None:
    drawn = [draw_quick_sequence(np.random.default_rng(seed)) for seed in range(200)]
    assert {sequence.kind for sequence, _ in drawn} == {
        "magnetisation prepared",
        "saturation prepared",
        "spin echo",
        "balanced",
        "gradient echo",
    }
    for sequence, single_shot in drawn:
        assert single_shot == (sequence.kind == "spin echo") and (
            single_shot or sequence.te_ms <= 2.5
        )
        if sequence.kind.endswith("prepared"):
            flips, flip_ms = sequence.flip_train
            assert (
                300 <= sequence.ti_ms <= 3500
                and flips * flip_ms / 2 <= sequence.ti_ms <= sequence.tr_ms - flips * flip_ms / 2
            )


def test_signal_past_a_ball_is_lost_and_piles_up_just_within_it() -> None:
    image = np.ones((41, 31, 21), np.float32)
    piled = darken_corners(image, np.array([10.0, 10.0, 10.0]), 0.9)
    assert (
        piled[20, 15, 10] == pytest.approx(1, abs=0.01)
        and piled[0, 0, 0] < 0.01
        and 2 < piled.max() < 4.01
    )
    assert min(piled[0, 15, 10], piled[20, 0, 10], piled[20, 15, 0]) > 0.9


def test_other_flaws_leave_a_localisers_own_as_they_are() -> None:
    own = Flaws(0, 2, folded_voxels=7, gradient_radius=0.8)
    both = combine_flaws(Flaws(1, 2, spike_amplitude=20.0, motion_voxels=2.0), own)
    assert both == Flaws(
        0, 2, folded_voxels=7, gradient_radius=0.8, spike_amplitude=20.0, motion_voxels=2.0
    )
