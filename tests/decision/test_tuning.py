"""Tuning finds what was planted, and uses nothing but the examples it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fovnet.decision.spans import Rule, decide, said
from fovnet.decision.tuning import LEAST_SEEN, Example, right, tune, usual_heights
from fovnet.regions import DEFAULT

Bodies = Callable[..., Example]


def test_the_pair_chosen_errs_least_and_among_equals_smooths_least(bodies: Bodies) -> None:
    """Counted again by hand over every pair; on clean slices all sigmas do equally well and none is chosen."""
    options = {"sigmas_mm": [20.0, 0.0, 10.0], "thresholds": [0.5, 0.3]}
    assert tune([bodies(seed, noise=0.1) for seed in range(4)], DEFAULT, **options)[0].sigma_mm == 0.0
    examples = [bodies(seed, noise=3.5) for seed in range(6)]
    rule, tried = tune(examples, DEFAULT, **options)
    errors = {}
    for row in tried:
        pair = row["sigma_mm"], row["protocol_threshold"]
        candidate = Rule(temperature=rule.temperature, sigma_mm=pair[0], protocol_threshold=pair[1])
        answers = [decide(example.probabilities, example.z_mm, DEFAULT, candidate) for example in examples]
        hits = [right(said(answer.decided, 5), example.truth) for answer, example in zip(answers, examples, strict=True)]
        errors[pair] = 1 - np.concatenate(hits).mean()
        assert row["slice_error"] == pytest.approx(errors[pair])
    assert len(errors) == 6
    assert errors[rule.sigma_mm, rule.protocol_threshold] == min(errors.values())


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
