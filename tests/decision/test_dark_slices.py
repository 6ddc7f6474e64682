"""Dark slices that seem to show nothing are looked at again, and a region that then appears is a reason for
doubt."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.strategies import booleans, floats, integers, lists, tuples

from fovnet.decision.dark_slices import (
    LEAST_CLEAR_PROBABILITY,
    LEAST_GREY,
    LEAST_LIT_WHITE,
    LEAST_STRETCH_MM,
    HiddenRegion,
    brighten,
    find_dark_rows,
    find_hidden_region,
)
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.judge import MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.inference.torch_engine import TorchEngine
from fovnet.regions import DEFAULT
from tests.decision.measured import stack_of

K = len(DEFAULT.classes)
CHEST, NONE = DEFAULT.classes.index("chest"), K - 1


def highest(rows: list[bool], heights_mm: list[float]) -> float:
    """The height of the highest contiguous stretch, by listing all."""
    stretches = groupby(zip(rows, heights_mm, strict=True), key=lambda pair: pair[0])
    return max((sum(mm for _, mm in stretch) for among, stretch in stretches if among), default=0.0)


def bodies(seed: int, slices: int, brightest: int) -> np.ndarray:
    """Slices (s, 128, 128) of a smooth pattern up to about this grey value."""
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(128) / rng.uniform(5, 20)) + np.cos(
        np.arange(128)[:, None] / rng.uniform(5, 20)
    )
    return np.repeat(np.rint((wave + 2) / 4 * brightest).astype(np.uint8)[None], slices, axis=0)


@given(lists(tuples(booleans(), floats(1, 20)), min_size=1, max_size=12))
def test_what_is_looked_at_again_is_a_stretch_as_high_as_the_least_by_listing_all_stretches(
    rows: list[tuple[bool, float]],
) -> None:
    nothing, heights_mm = [one for one, _ in rows], [mm for _, mm in rows]
    edges_mm = np.cumsum([-100.0, *heights_mm])
    asked = find_dark_rows(bodies(1, len(rows), 20), np.array(nothing), edges_mm)
    high = highest(nothing, heights_mm)
    if abs(high - LEAST_STRETCH_MM) > 1e-6:
        assert asked.tolist() == (
            np.flatnonzero(nothing).tolist() if high > LEAST_STRETCH_MM else []
        )


@pytest.mark.parametrize(
    ("brightest", "asked"),
    [
        (LEAST_GREY - 1, False),
        (LEAST_GREY + 1, True),
        (60, True),
        (round(LEAST_LIT_WHITE) + 5, False),
        (255, False),
    ],
)
def test_only_slices_that_are_dark_and_not_black_are_looked_at_again(
    brightest: int, asked: bool
) -> None:
    everything = np.ones(10, dtype=bool)
    assert len(find_dark_rows(bodies(2, 10, brightest), everything, np.arange(11) * 5.0)) == (
        10 if asked else 0
    )
    assert len(find_dark_rows(bodies(2, 10, brightest), ~everything, np.arange(11) * 5.0)) == 0


@given(integers(0, 999), integers(4, 12), integers(1, 20))
def test_a_brightened_slice_is_the_same_however_bright_it_was(
    seed: int, brightest: int, factor: int
) -> None:
    pixels = np.random.default_rng(seed).integers(0, brightest, (2, 128, 128)).astype(np.uint8)
    once, again = brighten(pixels), brighten(np.asarray(pixels * factor))
    assert np.abs(once.astype(int) - again).max() <= 1  # halves round either way
    assert (once.max(axis=(1, 2)) == 255).all() and (once[pixels == 0] == 0).all()


def test_slices_of_one_grey_value_stay_as_they_are() -> None:
    pixels = np.stack([np.zeros((128, 128), np.uint8), np.full((128, 128), 7, np.uint8)])
    np.testing.assert_array_equal(brighten(pixels), pixels)


def test_the_longest_clear_stretch_is_named_and_slices_not_looked_at_are_never_clear() -> None:
    p = np.full((12, K), np.nan)
    p[:10] = 0.01 / (K - 2)
    p[:10, NONE], p[:10, CHEST] = 1 - LEAST_CLEAR_PROBABILITY - 0.01, LEAST_CLEAR_PROBABILITY
    edges_mm, nothing = np.arange(13) * 5.0, np.ones(12, dtype=bool)
    assert find_hidden_region(nothing, p, edges_mm, DEFAULT.classes) == HiddenRegion("chest", 50.0)
    # decided to be a region: 20 and 25 mm are left
    nothing[4] = False
    assert find_hidden_region(nothing, p, edges_mm, DEFAULT.classes) is None
    p[:10, NONE], p[:10, CHEST] = 1 - LEAST_CLEAR_PROBABILITY + 0.02, LEAST_CLEAR_PROBABILITY - 0.03
    assert find_hidden_region(np.ones(12, dtype=bool), p, edges_mm, DEFAULT.classes) is None


def test_the_networks_see_dark_slices_as_they_would_see_them_bright() -> None:
    """Members are asked about the slices as brightened, among their brightened neighbours; about no
    others."""
    inputs = ("slice", "sections")
    members = [
        build_network(
            Architecture(4, 1, 2, 3, False, K, "small", inputs=inputs, stride=2),
            torch.Generator().manual_seed(seed),
        ).eval()
        for seed in (1, 2)
    ]
    ensemble = Ensemble(DEFAULT, {}, Rule(), TorchEngine(members, torch.device("cpu")), "")
    stack = stack_of(np.concatenate([bodies(3, 6, 9), bodies(4, 8, 255)]))
    outputs = ensemble.compute_volume_outputs(stack)
    bright = ensemble.compute_outputs(
        brighten(stack.pixels), placing=stack.placing
    ).member_probabilities
    assert outputs.brightened_probabilities is not None
    np.testing.assert_allclose(outputs.brightened_probabilities[:, :6], bright[:, :6], atol=1e-6)
    assert np.isnan(outputs.brightened_probabilities[:, 6:]).all()
    assert (
        ensemble.compute_volume_outputs(
            replace(stack, pixels=brighten(stack.pixels))
        ).brightened_probabilities
        is None
    )


@pytest.mark.parametrize("clear", [True, False])
def test_what_dark_slices_hide_makes_an_answer_uncertain(clear: bool) -> None:
    members = np.full((1, 20, K), 0.001, dtype=np.float32)
    members[:, :8, NONE], members[:, 8:, CHEST] = 0.994, 0.994
    second = np.full((1, 20, K), np.nan, dtype=np.float32)
    second[:, :8] = 0.001
    second[:, :8, CHEST if clear else NONE] = 0.994
    outputs = MemberOutputs(members, brightened_probabilities=second)
    judge = Ensemble(DEFAULT, {}, Rule(), TorchEngine([], torch.device("cpu")), "").judge
    answer = judge.answer(
        "v", "v.nii", outputs, stack_of(np.concatenate([bodies(5, 8, 9), bodies(6, 12, 255)]))
    )
    assert ("too-dark" in answer.code_text.split()) == clear
    assert answer.status == ("uncertain" if clear else "ok")
    if clear:
        assert (
            "64 mm of slices that seem to show nothing show chest when they are brightened"
            in answer.message
        )
