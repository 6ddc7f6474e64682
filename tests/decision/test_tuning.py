"""Tuning finds what was planted, and uses nothing but the examples it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fovnet.decision.objective import loss
from fovnet.decision.spans import Rule, decide, outer_edges, said
from fovnet.decision.tuning import (
    BORDER_TOLLS,
    LEAST_SEEN,
    Example,
    _with_bars,
    right,
    rule_loss,
    tune,
    usual_heights,
)
from fovnet.regions import DEFAULT

Bodies = Callable[..., Example]


def test_the_first_pair_loses_least_and_among_equals_smooths_least(bodies: Bodies) -> None:
    """Loss and slice error counted again for every pair; on clean slices all sigmas do equally well and none is chosen."""
    options = {"sigmas_mm": [20.0, 0.0, 10.0], "thresholds": [0.5, 0.3]}
    assert tune([bodies(seed, noise=0.1) for seed in range(4)], DEFAULT, **options)[0].sigma_mm == 0.0
    examples = [bodies(seed, noise=3.5) for seed in range(6)]
    truths, edges_mm = [example.truth for example in examples], [outer_edges(example.z_mm) for example in examples]
    rule, tried = tune(examples, DEFAULT, **options)
    assert len({(row["sigma_mm"], row["protocol_threshold"]) for row in tried}) == 6
    for row in tried:
        pair = Rule(temperature=rule.temperature, sigma_mm=row["sigma_mm"], protocol_threshold=row["protocol_threshold"], border_toll=1.0)
        decided = [decide(example.probabilities, example.z_mm, DEFAULT, pair).decided for example in examples]
        hits = [right(said(one, 5), truth) for one, truth in zip(decided, truths, strict=True)]
        assert row["slice_error"] == pytest.approx(1 - np.concatenate(hits).mean())
        assert row["loss"] == pytest.approx(loss(decided, truths, edges_mm, 5))


def test_the_rule_is_no_worse_than_any_that_differs_in_one_setting(bodies: Bodies) -> None:
    """What the last sweep was to find: no other toll, no other share, and not the rule without heights loses less."""
    examples = [bodies(seed, noise=3.5) for seed in range(5)] + [bodies(seed, spine=True, noise=2.0) for seed in range(3)]
    heights = usual_heights([(example.z_mm, example.truth) for example in examples], DEFAULT)
    rule, _ = tune(examples, DEFAULT, sigmas_mm=[6.0], thresholds=[0.3], heights=heights)
    best = rule_loss(examples, DEFAULT, rule)
    assert best <= min(rule_loss(examples, DEFAULT, replace(rule, border_toll=toll)) for toll in BORDER_TOLLS)
    assert best < rule_loss(examples, DEFAULT, replace(rule, sigma_mm=60.0))
    assert best <= rule_loss(examples, DEFAULT, Rule(temperature=rule.temperature, sigma_mm=6.0, border_toll=1.0))


def test_heights_vary_as_many_times_as_much_as_one_of_the_widths_told(bodies: Bodies) -> None:
    examples = [bodies(seed, noise=3.5) for seed in range(5)]
    heights = usual_heights([(example.z_mm, example.truth) for example in examples], DEFAULT)
    rule, _ = tune(examples, DEFAULT, sigmas_mm=[6.0], thresholds=[0.3], heights=heights, widths=[3.0])
    assert rule.heights and all(
        (told is None) == (usual is None) and (usual is None or told.sd_mm == pytest.approx(3 * usual.sd_mm))
        for told, usual in zip(rule.heights, heights, strict=True)
    )


def test_intervals_are_stretched_until_nine_in_ten_borders_lie_in_them(bodies: Bodies) -> None:
    """On the examples themselves, whatever the evidence was taken for: with a stretch of 1 they would hold too often or too seldom."""
    examples = [bodies(seed, noise=3.0) for seed in range(30)]
    rule, _ = tune(examples, DEFAULT, sigmas_mm=[0.0], thresholds=[0.3])
    for stretched in (rule, replace(rule, evidence_mm=rule.evidence_mm * 3)):
        again = _with_bars(examples, DEFAULT, stretched)
        held = []
        for example in examples:
            for border in decide(example.probabilities, example.z_mm, DEFAULT, again).boundaries:
                true = next((mm for mm in 97.5 + 150.0 * np.arange(6) if abs(mm - border.mm) < 60), None)
                if true is not None:
                    held.append(border.low_mm <= true <= border.high_mm)
        assert np.mean(held) == pytest.approx(0.9, abs=0.08)


def stack_of(mm: tuple[float, float, float], none_above: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Heights and truth of 5 mm slices that show legs, pelvis and abdomen so high each, and nothing above them if asked."""
    shown = np.repeat(["legs", "pelvis", "abdomen", "none"], [*(int(h / 5) for h in mm), 4 if none_above else 0])
    return 5.0 * np.arange(len(shown)), np.array([[name == one for one in DEFAULT.classes] for name in shown])


def test_usual_heights_are_those_of_regions_seen_between_two_others() -> None:
    """The pelvis lies between legs and abdomen; the abdomen goes on above the picture, so its height is not known."""
    seen = [200.0, 210.0, 220.0, 230.0, 240.0]
    heights = usual_heights([stack_of((100, mm, 50)) for mm in seen], DEFAULT)
    pelvis = heights[DEFAULT.classes.index("pelvis")]
    assert pelvis is not None
    assert pelvis.mean_mm == pytest.approx(220.0)
    assert pelvis.sd_mm == pytest.approx(np.std(seen, ddof=1) * np.sqrt(1 + 1 / 5))
    assert [height for height in heights if height] == [pelvis]
    assert not any(usual_heights([stack_of((100, mm, 50)) for mm in seen[: LEAST_SEEN - 1]], DEFAULT))


def test_heights_are_taken_where_they_help_and_left_where_they_do_not(bodies: Bodies) -> None:
    examples = [bodies(seed, noise=3.5) for seed in range(8)]
    options = {"sigmas_mm": [0.0], "thresholds": [0.3]}
    helpful = usual_heights([(example.z_mm, example.truth) for example in examples], DEFAULT)
    assert any(helpful)
    rule, _ = tune(examples, DEFAULT, **options, heights=helpful)
    absurd = tuple(height and replace(height, mean_mm=5.0, sd_mm=1.0) for height in helpful)
    assert rule.heights == helpful
    assert tune(examples, DEFAULT, **options, heights=absurd)[0].heights == ()


def test_a_slice_that_shows_two_things_may_be_called_either() -> None:
    truth = np.array([[True, False, True], [False, True, False]])
    assert right(np.array([0, 0]), truth).tolist() == [True, False]
    assert right(np.array([2, 1]), truth).tolist() == [True, True]
