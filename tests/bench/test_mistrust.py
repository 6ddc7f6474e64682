"""Turned, shuffled and empty: counted on bodies of which it is known what they are."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.bench.mistrust import Labelled, Share, mistrusted
from fovnet.decision.spans import Rule
from fovnet.regions import DEFAULT

N = len(DEFAULT.chain)


def body(seed: int, regions: int) -> Labelled:
    """So many regions of 150 mm from the legs up, in slices of 5 mm, with 60 mm of air at both ends."""
    rng = np.random.default_rng(seed)
    z_mm = np.arange(-60.0, regions * 150 + 60.0, 5.0)
    rung = np.floor(z_mm / 150).astype(int)
    column = np.where((rung >= 0) & (rung < regions), rung, len(DEFAULT.classes) - 1)
    truth = np.arange(len(DEFAULT.classes)) == column[:, None]
    p = np.exp(5.0 * truth + rng.normal(size=truth.shape))
    return Labelled(p / p.sum(axis=1, keepdims=True), z_mm, truth)


def test_clear_bodies_are_told_from_what_was_done_to_them() -> None:
    """Of one region alone nobody can say which way up it is, and nobody is asked."""
    volumes = [body(seed, regions) for seed, regions in enumerate([1, 1, 2, 3, 5, 5])]
    upright, turned, shuffled, air = mistrusted(volumes, DEFAULT, Rule(sigma_mm=0.0, min_confidence=0.7), seed=1)
    assert (upright.count, upright.of) == (0, 6)
    assert (turned.count, turned.of) == (4, 4)
    assert (shuffled.count, shuffled.of) == (0, 4)
    assert air.of == 6 * 24 and air.count == 0


def test_air_that_a_network_takes_for_a_head_is_counted() -> None:
    whole = body(0, N)
    air = np.flatnonzero(whole.truth[:, -1] & (whole.z_mm > 0))
    p = whole.probabilities.copy()
    p[air] = p[air[0] - 1]                                     # what it said of the topmost slice of the head
    *_, named = mistrusted([Labelled(p, whole.z_mm, whole.truth)], DEFAULT, Rule(sigma_mm=0.0), seed=1)
    assert named.count == len(air)


def test_pixels_tell_a_shuffled_volume_whose_answer_looks_sound() -> None:
    """Networks that call every slice legs do so in any order; that neighbours no longer resemble each other is seen in the pixels."""
    whole = body(0, 2)
    p = np.full_like(whole.probabilities, 0.001)
    p[:, 0] = 0.994                                            # the networks call every slice legs
    told = Labelled(p, whole.z_mm, whole.truth)
    ramp = np.arange(len(whole.z_mm))[:, None, None] + np.zeros((1, 128, 128))
    wedge = (np.arange(128)[None, :, None] < 128 * ramp / len(whole.z_mm)).astype(np.uint8) * 200
    assert mistrusted([told], DEFAULT, Rule(sigma_mm=0.0), seed=1)[2].count == 1
    assert mistrusted([Labelled(p, whole.z_mm, whole.truth, wedge)], DEFAULT, Rule(sigma_mm=0.0), seed=1)[2].count == 0


def test_a_share_has_an_interval_and_none_of_nothing_has_none() -> None:
    row = Share("x", 3, 10).row
    assert row["share"] == pytest.approx(0.3) and row["low"] < 0.3 < row["high"]
    assert Share("x", 0, 0).row["share"] is None
