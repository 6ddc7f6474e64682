"""Cropping moves no border that the slices show, and moves one that only the usual heights place."""

from __future__ import annotations

import numpy as np

from fovnet.bench.cropping import STAYED, cropped
from fovnet.bench.flip_and_shuffle import LabelledVolume
from fovnet.decision.rule import Rule
from fovnet.maths.ladder_with_heights import Height
from fovnet.regions import DEFAULT
from tests.bench.test_flip_and_shuffle import N, body

KNOWN = Height(150.0, 10.0)
RULE = Rule(sigma_mm=0.0, heights=(None, KNOWN, KNOWN, KNOWN, None))


def vague(seed: int) -> LabelledVolume:
    """A body whose slices, from the middle of the chest down to the middle of the pelvis, give all three alike."""
    clear = body(seed, N)
    at = (clear.z_mm > 200) & (clear.z_mm < 550)
    p = clear.probabilities.copy()
    p[at] = np.where(np.isin(np.arange(p.shape[1]), [1, 2, 3]), 1 / 3, 1e-9)
    return LabelledVolume(p / p.sum(axis=1, keepdims=True), clear.z_mm, clear.truth)


def test_clear_borders_stay() -> None:
    shares = cropped([body(seed, N) for seed in range(4)], DEFAULT, RULE, seed=1)
    uses = ("usual heights", "for presence", "no heights")
    assert [share.what for share in shares] == [f"{use}: {what}" for use in uses for what in STAYED]
    assert all(share.of > 20 and share.count == share.of for share in shares if "slice" in share.what)


def test_a_border_placed_by_heights_alone_moves_when_the_region_is_cut() -> None:
    shares = {share.what: share for share in cropped([vague(seed) for seed in range(4)], DEFAULT, RULE, seed=1)}
    assert 0 < shares["usual heights: within a slice"].count < shares["usual heights: within a slice"].of
    assert shares["usual heights: farther"].count > 0


def test_the_windows_are_those_of_the_seed() -> None:
    volumes = [vague(0)]
    assert cropped(volumes, DEFAULT, RULE, seed=1) == cropped(volumes, DEFAULT, RULE, seed=1)
    assert cropped(volumes, DEFAULT, RULE, seed=1) != cropped(volumes, DEFAULT, RULE, seed=2)


def test_a_rule_without_heights_is_counted_once() -> None:
    assert len(cropped([body(0, N)], DEFAULT, Rule(sigma_mm=0.0), seed=1)) == len(STAYED)
