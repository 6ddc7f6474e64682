"""Neither how thick the slices are, nor what else the picture shows, moves a border: laws on bodies simulated
as curves of probability.

The curves of a body are smooth over 6 mm, and their noise over 15 mm: a network's scores of two slices a
millimetre apart are the same.  A thick slice has the mean of the scores within it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from
from scipy.ndimage import gaussian_filter1d

from fovnet.decision.chain.spans import Decision, decide_volume
from fovnet.decision.rule import Rule
from fovnet.maths.ladder import Height
from fovnet.regions import DEFAULT

N, K = len(DEFAULT.chain), len(DEFAULT.classes)
KNOWN = Height(175.0, 35.0)
RULES = (
    Rule(sigma_mm=0.0, border_toll=1.0),
    Rule(sigma_mm=6.0, border_toll=1.0),
    Rule(sigma_mm=6.0, border_toll=1.0, heights=(None, KNOWN, KNOWN, KNOWN, None)),
    Rule(
        sigma_mm=6.0,
        border_toll=1.0,
        heights=(None, KNOWN, KNOWN, KNOWN, None),
        heights_for="presence",
    ),
)


def scores(seed: int) -> np.ndarray:
    """(1100, 7) scores of a body at every millimetre, 120 to 220 mm a region, none below it and in most cases
    above."""
    rng = np.random.default_rng(seed)
    borders = np.cumsum(np.concatenate([[rng.uniform(40, 100)], rng.uniform(120, 180, N)]))
    rung = np.searchsorted(borders, np.arange(1100) + 0.5) - 1
    truth = np.eye(K)[np.where((rung >= 0) & (rung < N), rung, K - 1)]
    noise = gaussian_filter1d(rng.normal(size=truth.shape), 15.0, axis=0)
    return 5.0 * gaussian_filter1d(truth, 6.0, axis=0) + noise / noise.std()


def stack(body: np.ndarray, slice_mm: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (s, 7) and heights (s,) of the body in slices so thick."""
    s = len(body) // slice_mm
    p = np.exp(body[: s * slice_mm].reshape(s, slice_mm, K).mean(axis=1))
    return p / p.sum(axis=1, keepdims=True), (np.arange(s) + 0.5) * slice_mm


def borders(decision: Decision) -> dict[tuple[str, str], float]:
    return {(border.below, border.above): border.mm for border in decision.boundaries}


@settings(max_examples=40)
@given(seed=integers(0, 10**6), rule=sampled_from(RULES), slice_mm=sampled_from([3, 10]))
def test_thick_slices_are_decided_like_thin_ones(seed: int, rule: Rule, slice_mm: int) -> None:
    """The same borders, each within one thick slice of where 1 mm slices put it."""
    fine = borders(decide_volume(*stack(scores(seed), 1), DEFAULT, rule))
    thick = borders(decide_volume(*stack(scores(seed), slice_mm), DEFAULT, rule))
    assert thick.keys() == fine.keys()
    assert all(abs(thick[kind] - mm) <= slice_mm for kind, mm in fine.items())


@settings(max_examples=100)
@given(
    seed=integers(0, 10**6),
    rule=sampled_from(RULES),
    slice_mm=sampled_from([3, 10]),
    data=integers(0, 10**6),
)
def test_what_is_cut_away_moves_no_border_that_is_left(
    seed: int, rule: Rule, slice_mm: int, data: int
) -> None:
    """By more than one slice; a border is left where 30 mm of either side are."""
    p, z_mm = stack(scores(seed), slice_mm)
    low, high = sorted(np.random.default_rng(data).choice(len(p) + 1, 2, replace=False))
    cropped = borders(decide_volume(p[low:high], z_mm[low:high], DEFAULT, rule))
    for kind, mm in borders(decide_volume(p, z_mm, DEFAULT, rule)).items():
        if z_mm[low] + 30 <= mm <= z_mm[high - 1] - 30:
            assert cropped[kind] == pytest.approx(mm, abs=slice_mm + 1e-6)


@settings(max_examples=50)
@given(seed=integers(0, 10**6), rule=sampled_from(RULES))
def test_where_the_scanner_has_its_origin_is_of_no_account(seed: int, rule: Rule) -> None:
    p, z_mm = stack(scores(seed), 5)
    here, there = (
        decide_volume(p, z_mm, DEFAULT, rule),
        decide_volume(p, z_mm - 1234.5, DEFAULT, rule),
    )
    np.testing.assert_array_equal(here.decided_labels, there.decided_labels)
    for mine, theirs in zip(here.boundaries, there.boundaries, strict=True):
        assert (theirs.low_mm + 1234.5, theirs.high_mm + 1234.5) == pytest.approx(
            (mine.low_mm, mine.high_mm), abs=1e-3
        )
