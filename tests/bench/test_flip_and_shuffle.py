"""Turned, shuffled and empty: counted on bodies of which it is known what they are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from fovnet.bench.flip_and_shuffle import LabelledVolume, flipped_and_shuffled, rerun_of
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.rule import Rule
from fovnet.net.architecture import Architecture
from fovnet.net.model import build
from fovnet.regions import DEFAULT
from fovnet.volume.slices import SliceStack

N = len(DEFAULT.chain)


def body(seed: int, regions: int) -> LabelledVolume:
    """So many regions of 150 mm from the legs up, in slices of 5 mm, with 60 mm of air at both ends."""
    rng = np.random.default_rng(seed)
    z_mm = np.arange(-60.0, regions * 150 + 60.0, 5.0)
    rung = np.floor(z_mm / 150).astype(int)
    column = np.where((rung >= 0) & (rung < regions), rung, len(DEFAULT.classes) - 1)
    truth = np.arange(len(DEFAULT.classes)) == column[:, None]
    p = np.exp(5.0 * truth + rng.normal(size=truth.shape))
    return LabelledVolume(p / p.sum(axis=1, keepdims=True), z_mm, truth)


def test_clear_bodies_are_distinguished_from_turned_and_shuffled_ones() -> None:
    """A single region does not show which way up it is, and is not counted."""
    volumes = [body(seed, regions) for seed, regions in enumerate([1, 1, 2, 3, 5, 5])]
    upright, turned, shuffled, air = flipped_and_shuffled(volumes, DEFAULT, Rule(sigma_mm=0.0, min_confidence=0.7), seed=1)
    assert (upright.count, upright.of) == (0, 6)
    assert (turned.count, turned.of) == (4, 4)
    assert (shuffled.count, shuffled.of) == (0, 4)
    assert air.of == 6 * 24 and air.count == 0


def test_air_that_a_network_takes_for_a_head_is_counted() -> None:
    whole = body(0, N)
    air = np.flatnonzero(whole.truth[:, -1] & (whole.z_mm > 0))
    p = whole.probabilities.copy()
    p[air] = p[air[0] - 1]                                     # the probabilities of the topmost slice of the head
    *_, named = flipped_and_shuffled([LabelledVolume(p, whole.z_mm, whole.truth)], DEFAULT, Rule(sigma_mm=0.0), seed=1)
    assert named.count == len(air)


def test_pixels_show_a_shuffled_volume_whose_answer_looks_sound() -> None:
    """Networks that call every slice legs do so in any order; that neighbours no longer resemble each other is seen in the pixels."""
    whole = body(0, 2)
    p = np.full_like(whole.probabilities, 0.001)
    p[:, 0] = 0.994                                            # the networks call every slice legs
    without_pixels = LabelledVolume(p, whole.z_mm, whole.truth)
    ramp = np.arange(len(whole.z_mm))[:, None, None] + np.zeros((1, 128, 128))
    wedge = (np.arange(128)[None, :, None] < 128 * ramp / len(whole.z_mm)).astype(np.uint8) * 200
    assert flipped_and_shuffled([without_pixels], DEFAULT, Rule(sigma_mm=0.0), seed=1)[2].count == 1
    assert flipped_and_shuffled([LabelledVolume(p, whole.z_mm, whole.truth, wedge)], DEFAULT, Rule(sigma_mm=0.0), seed=1)[2].count == 0


def test_networks_that_see_the_whole_volume_are_asked_anew() -> None:
    """Those that name the lowest slices legs and the highest head, whatever these show, let no turned volume be noticed; those that find
    their way up easier than down do."""
    whole = body(4, N)
    s = len(whole.z_mm)
    asked = []

    def by_height(slices: np.ndarray, z_mm: np.ndarray) -> np.ndarray:
        asked.append((slices.tolist(), z_mm.tolist()))
        return whole.probabilities

    def unsure_upside_down(slices: np.ndarray, z_mm: np.ndarray) -> np.ndarray:
        return 0.6 * whole.probabilities + 0.4 / whole.probabilities.shape[1]

    def counts_with(by: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> list[int]:
        one = LabelledVolume(whole.probabilities, whole.z_mm, whole.truth, None, by)
        return [share.count for share in flipped_and_shuffled([one], DEFAULT, Rule(sigma_mm=0.0, min_confidence=0.7), seed=1)[:2]]

    assert counts_with(by_height) == [0, 0]
    assert asked[0] == ([*range(s)][::-1], (-whole.z_mm[::-1]).tolist())
    assert sorted(asked[1][0]) == [*range(s)] != asked[1][0] and asked[1][1] == whole.z_mm.tolist()
    assert counts_with(unsure_upside_down) == [0, 1]


def test_an_ensemble_is_asked_anew_where_a_slice_is_not_all_it_is_shown() -> None:
    """The same slices get the same probabilities; a slice alone gets others, as it is another volume."""
    rng = np.random.default_rng(0)
    pixels = (rng.integers(0, 256, (9, 128, 128)) * (np.arange(1, 10)[:, None, None] / 9) ** 2).astype(np.uint8)
    pixels[:4, :, :64] = 255
    stack = SliceStack(pixels, 5.0 * np.arange(9), np.repeat(np.arange(9), 2).reshape(9, 2), 300.0, np.eye(4), "", "")

    def of(*inputs: str) -> Ensemble:
        member = build(Architecture(4, 1, 2, 3, False, 7, "small", inputs=inputs, stride=2), torch.Generator().manual_seed(1)).eval()
        return Ensemble(DEFAULT, {}, Rule(), (member,), torch.device("cpu"), "")

    assert rerun_of(of("slice", "millimetres"), stack) is None
    ensemble = of("slice", "sections")
    asked, whole = rerun_of(ensemble, stack), ensemble.probabilities(pixels, placing=stack.placing)
    assert asked is not None
    assert asked(np.arange(9), stack.z_mm) == pytest.approx(whole)
    assert of("slice", "millimetres").outputs_on(stack).turned is None
    seen = ensemble.outputs_on(stack).turned                   # the network, which was never trained, names several regions
    assert seen is not None
    assert seen[0] == pytest.approx(asked(np.arange(9)[::-1], -stack.z_mm[::-1]))
    assert np.abs(asked(np.array([4]), stack.z_mm[4:5]) - whole[4]).max() > 1e-4
