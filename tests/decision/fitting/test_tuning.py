"""Tuning finds what was planted, and uses nothing but the examples it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss

from fovnet.decision.chain.boundaries import INTERVAL_COVERAGE
from fovnet.decision.chain.spans import class_of_labels, decide_volume, slice_edges
from fovnet.decision.fitting.objective import TuningExample, border_errors, loss_of_labels
from fovnet.decision.fitting.tuning import (
    BORDER_TOLL_CANDIDATES,
    EVIDENCE_CANDIDATES_MM,
    LEAST_FLIPPED_GAIN,
    LEAST_USUAL_MISFIT,
    LEAST_WHOLE_VOLUMES,
    USUAL_ROUGHNESS_BOUNDS,
    TuningVolumes,
    are_classes_right,
    fit_heights,
    fit_rule,
)
from fovnet.decision.rule import Rule
from fovnet.regions import DEFAULT, NONE

Bodies = Callable[..., TuningExample]


def test_the_first_pair_loses_least_and_among_equals_smooths_least(bodies: Bodies) -> None:
    """Loss and slice error counted again for every pair; on clean slices all sigmas do equally well and none
    is chosen."""
    options = {"sigmas_mm": [20.0, 0.0, 10.0], "thresholds": [0.5, 0.3]}
    assert (
        fit_rule([bodies(seed, noise=0.1) for seed in range(4)], DEFAULT, **options)[0].sigma_mm
        == 0.0
    )
    examples = [bodies(seed, noise=3.5) for seed in range(6)]
    truths, edges_mm = (
        [example.truth for example in examples],
        [slice_edges(example.z_mm) for example in examples],
    )
    rule, tried = fit_rule(examples, DEFAULT, **options)
    assert len({(row["sigma_mm"], row["side_threshold"]) for row in tried}) == 6
    for row in tried:
        pair = Rule(
            temperature=rule.temperature,
            sigma_mm=row["sigma_mm"],
            side_threshold=row["side_threshold"],
            border_toll=1.0,
        )
        decided = [
            decide_volume(example.probabilities, example.z_mm, DEFAULT, pair).decided_labels
            for example in examples
        ]
        hits = [
            are_classes_right(class_of_labels(one, 5), truth)
            for one, truth in zip(decided, truths, strict=True)
        ]
        assert row["slice_error"] == pytest.approx(1 - np.concatenate(hits).mean())
        assert row["loss"] == pytest.approx(loss_of_labels(decided, truths, edges_mm, 5))


def test_the_rule_is_no_worse_than_any_that_differs_in_one_setting(bodies: Bodies) -> None:
    """What the last sweep was to find: no other toll, no other share, and not the rule without heights loses
    less."""
    examples = [bodies(seed, noise=3.5) for seed in range(5)] + [
        bodies(seed, spine=True, noise=2.0) for seed in range(3)
    ]
    heights = fit_heights([(example.z_mm, example.truth) for example in examples], DEFAULT)
    rule, _ = fit_rule(examples, DEFAULT, sigmas_mm=[6.0], thresholds=[0.3], heights=heights)
    loss_of = TuningVolumes(examples, DEFAULT).loss
    assert loss_of(rule) <= min(
        loss_of(replace(rule, border_toll=toll)) for toll in BORDER_TOLL_CANDIDATES
    )
    assert loss_of(rule) < loss_of(replace(rule, sigma_mm=60.0))
    assert loss_of(rule) <= loss_of(
        Rule(temperature=rule.temperature, sigma_mm=6.0, border_toll=1.0)
    )


def test_heights_vary_as_many_times_as_much_as_one_of_the_widths_given(bodies: Bodies) -> None:
    examples = [bodies(seed, noise=3.5) for seed in range(5)]
    heights = fit_heights([(example.z_mm, example.truth) for example in examples], DEFAULT)
    rule, _ = fit_rule(
        examples, DEFAULT, sigmas_mm=[6.0], thresholds=[0.3], heights=heights, widths=[3.0]
    )
    assert rule.heights and all(
        (tuned is None) == (usual is None)
        and (usual is None or tuned.sd_mm == pytest.approx(3 * usual.sd_mm))
        for tuned, usual in zip(rule.heights, heights, strict=True)
    )


def test_intervals_are_stretched_until_nine_in_ten_borders_lie_in_them(bodies: Bodies) -> None:
    """On the examples themselves, whatever the evidence was taken for: with a stretch of 1 they would hold
    too often or too seldom."""
    examples = [bodies(seed, noise=3.0) for seed in range(30)]
    rule, _ = fit_rule(examples, DEFAULT, sigmas_mm=[0.0], thresholds=[0.3])
    for stretched in (rule, replace(rule, evidence_mm=rule.evidence_mm * 3)):
        again = TuningVolumes(examples, DEFAULT).fit_bars(stretched)
        held = []
        for example in examples:
            for border in decide_volume(
                example.probabilities, example.z_mm, DEFAULT, again
            ).boundaries:
                true = next(
                    (mm for mm in 97.5 + 150.0 * np.arange(6) if abs(mm - border.mm) < 60), None
                )
                if true is not None:
                    held.append(border.low_mm <= true <= border.high_mm)
        assert np.mean(held) == pytest.approx(0.9, abs=0.08)


def test_observations_come_as_often_as_makes_the_stated_confidences_likeliest(
    bodies: Bodies,
) -> None:
    """By scikit-learn's log loss over all slices, which a long volume has more of."""
    examples = [bodies(seed, noise=3.5) for seed in range(3)]
    short = [bodies(seed, noise=6.0) for seed in range(3, 9)]
    examples += [
        TuningExample(one.probabilities[:20], one.z_mm[:20], one.truth[:20]) for one in short
    ]
    rule, _ = fit_rule(examples, DEFAULT, sigmas_mm=[0.0], thresholds=[0.3])
    usual = {
        name: getattr(Rule(), name) for name in ("usual_misfit", "usual_roughness", "flipped_gain")
    }

    def log_loss_of(evidence_mm: float) -> float:
        tried = replace(rule, evidence_mm=evidence_mm, **usual)
        answers = [decide_volume(one.probabilities, one.z_mm, DEFAULT, tried) for one in examples]
        hits = [
            are_classes_right(class_of_labels(answer.decided_labels, 5), one.truth)
            for answer, one in zip(answers, examples, strict=True)
        ]
        return log_loss(
            np.concatenate(hits),
            np.concatenate([answer.slice_confidence for answer in answers]).clip(1e-3, 1 - 1e-3),
        )

    losses = {mm: log_loss_of(mm) for mm in EVIDENCE_CANDIDATES_MM}
    assert losses[rule.evidence_mm] == min(losses.values()) < losses[1.0] - 0.01


def test_bars_are_no_lower_than_where_a_body_merely_short_of_evidence_would_exceed_them(
    bodies: Bodies,
) -> None:
    """Bodies without noise cost nothing, are smooth and the right way up, and set none of the three bars by
    that."""
    rule = TuningVolumes([bodies(seed, noise=0.1) for seed in range(3)], DEFAULT).fit_bars(Rule())
    assert (rule.usual_misfit, rule.usual_roughness, rule.flipped_gain) == (
        LEAST_USUAL_MISFIT,
        USUAL_ROUGHNESS_BOUNDS[0],
        LEAST_FLIPPED_GAIN,
    )


def test_of_the_borders_that_are_predicted_and_true_nine_in_ten_or_more_lie_in_their_intervals(
    bodies: Bodies,
) -> None:
    """Of 18 borders, 17 or more: 16 would be too few."""
    for seed in range(0, 12, 3):
        examples = [bodies(at, noise=3.0) for at in range(seed, seed + 3)]
        rule = TuningVolumes(examples, DEFAULT).fit_bars(Rule(sigma_mm=0.0))
        held = []
        for example in examples:
            decision = decide_volume(example.probabilities, example.z_mm, DEFAULT, rule)
            true = border_errors(
                decision.decided_labels, example.truth, slice_edges(example.z_mm), 5
            )
            names = (*DEFAULT.chain, NONE)
            for border in decision.boundaries:
                error = true[names.index(border.below), names.index(border.above)]
                if error is not None:
                    held.append(border.low_mm - 1e-6 <= border.mm - error <= border.high_mm + 1e-6)
        assert len(held) >= 12 and np.mean(held) >= INTERVAL_COVERAGE


def test_what_a_volume_seen_turned_over_gains_sets_the_bar_for_flipped_ones(bodies: Bodies) -> None:
    """Networks that see their volume more clearly upside down: each gains by that, and one in a hundred may
    gain more."""
    examples = [
        replace(bodies(seed, noise=3.0), turned_probabilities=bodies(seed, noise=0.5).probabilities)
        for seed in range(4)
    ]
    gains = [
        decide_volume(
            one.probabilities, one.z_mm, DEFAULT, Rule(), one.turned_probabilities
        ).flipped_gain
        for one in examples
    ]
    assert (
        TuningVolumes(examples, DEFAULT).fit_bars(Rule()).flipped_gain
        == pytest.approx(np.quantile(gains, 0.99))
        and min(gains) > 1
    )


def test_what_a_rule_loses_is_counted_in_the_millimetres_that_a_file_gives() -> None:
    """Three thin slices and two thick ones in a chest, the last called spine; where none is labelled, 30 mm
    of 136 are wrong."""
    edges_mm = np.cumsum([0.0, 1, 1, 1, 20, 30])
    spine, chest = DEFAULT.classes.index("spine"), DEFAULT.classes.index("chest")
    p = np.full((5, len(DEFAULT.classes)), 1e-6)
    p[:, spine] = 0.5, 0.5, 0.5, 0.2, 0.6
    p[:, chest] = 1 - p[:, spine]
    truth = np.eye(len(DEFAULT.classes), dtype=bool)[np.full(5, chest)]
    example = TuningExample(
        p / p.sum(axis=1, keepdims=True),
        (edges_mm[1:] + edges_mm[:-1]) / 2,
        truth,
        edges_mm=edges_mm,
    )
    assert TuningVolumes([example], DEFAULT).loss(Rule(sigma_mm=0.0)) == pytest.approx(
        0.5 * (1 - 2 * 53 / 136)
    )


def stack_of(
    mm: tuple[float, float, float], none_above: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Heights and truth of 5 mm slices that show legs, pelvis and abdomen so high each, and nothing above
    them if asked."""
    shown = np.repeat(
        ["legs", "pelvis", "abdomen", "none"], [*(int(h / 5) for h in mm), 4 if none_above else 0]
    )
    return 5.0 * np.arange(len(shown)), np.array(
        [[name == one for one in DEFAULT.classes] for name in shown]
    )


def test_usual_heights_are_those_of_regions_seen_between_two_others() -> None:
    """The pelvis lies between legs and abdomen; the abdomen goes on above the picture, so its height is not
    known."""
    seen = [200.0, 210.0, 220.0, 230.0, 240.0]
    heights = fit_heights([stack_of((100, mm, 50)) for mm in seen], DEFAULT)
    pelvis = heights[DEFAULT.classes.index("pelvis")]
    assert pelvis is not None
    assert pelvis.mean_mm == pytest.approx(220.0)
    assert pelvis.sd_mm == pytest.approx(np.std(seen, ddof=1) * np.sqrt(1 + 1 / 5))
    assert [height for height in heights if height] == [pelvis]
    assert not any(
        fit_heights([stack_of((100, mm, 50)) for mm in seen[: LEAST_WHOLE_VOLUMES - 1]], DEFAULT)
    )


def test_heights_are_taken_where_they_help_and_left_where_they_do_not(bodies: Bodies) -> None:
    examples = [bodies(seed, noise=3.5) for seed in range(8)]
    options = {"sigmas_mm": [0.0], "thresholds": [0.3]}
    helpful = fit_heights([(example.z_mm, example.truth) for example in examples], DEFAULT)
    assert any(helpful)
    rule, _ = fit_rule(examples, DEFAULT, **options, heights=helpful)
    absurd = tuple(height and replace(height, mean_mm=5.0, sd_mm=1.0) for height in helpful)
    assert rule.heights == helpful
    assert fit_rule(examples, DEFAULT, **options, heights=absurd)[0].heights == ()


def test_a_slice_that_shows_two_things_may_be_called_either() -> None:
    truth = np.array([[True, False, True], [False, True, False]])
    assert are_classes_right(np.array([0, 0]), truth).tolist() == [True, False]
    assert are_classes_right(np.array([2, 1]), truth).tolist() == [True, True]
