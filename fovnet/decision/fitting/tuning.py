"""Tuning the rule on the validation split: subjects on whom no network was trained, and for whom no
results are reported.

    temperature                   the maximum-likelihood one on the validation slices
    sigma_mm, side_threshold, chain_share_in_side, border_toll, heights
                                  in turn, each minimising the loss of `objective.py` given the
                                  others, until nothing changes or GREATEST_SWEEP_COUNT are done;
                                  ties go to the least smoothing and the lowest toll; heights are
                                  those of the training split times a width, or none
    evidence_mm                   the one that minimises the negative log-likelihood of the decided
                                  slices' stated confidences
    usual_misfit, usual_roughness, flipped_gain
                                  the quantiles that FALSE_ALARM_SHARE of the volumes exceed, within
                                  bounds
    interval_stretch              such that INTERVAL_COVERAGE of the borders lie in their intervals

The members are weighted before (member_weights.py); when to abstain is settled afterwards
(thresholds.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import fit_temperature
from fovnet.decision.chain.boundaries import INTERVAL_COVERAGE
from fovnet.decision.chain.spans import (
    Decision,
    class_of_labels,
    cut_ends,
    decide_labels,
    decide_volume,
    slice_edges,
)
from fovnet.decision.confidence_bar import FALSE_ALARM_SHARE
from fovnet.decision.fitting.objective import TuningExample, border_errors, loss_of_labels
from fovnet.decision.rule import Rule
from fovnet.maths.ladder import Height
from fovnet.regions import NONE, Vocabulary

Floats = NDArray[np.float64]
BORDER_TOLL_CANDIDATES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
CHAIN_SHARE_CANDIDATES = (0.02, 0.05, 0.1, 0.2)
GREATEST_SWEEP_COUNT = 2
LEAST_WHOLE_VOLUMES = 5
"""Fewest volumes showing a whole region for which its usual height is estimated."""
EVIDENCE_CANDIDATES_MM = (1.0, 3.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0, 300.0)
LEAST_FLIPPED_GAIN = 0.4
LEAST_USUAL_MISFIT = 0.1
"""Lower bounds of flipped_gain and usual_misfit: few volumes or very good networks would give bars
that a body with little evidence exceeds."""
USUAL_ROUGHNESS_BOUNDS = (0.7, 0.9)
"""Bounds of usual_roughness: a random order has 1 ± 0.1, a body in thick slices up to 0.5."""


def fit_rule(
    examples: Sequence[TuningExample],
    vocabulary: Vocabulary,
    *,
    sigmas_mm: Sequence[float],
    thresholds: Sequence[float],
    heights: Sequence[Height | None] = (),
    widths: Sequence[float] = (1.0,),
    method: str = "exact",
    heights_for: str = "all",
) -> tuple[Rule, list[dict[str, float]]]:
    """The rule for these examples, and loss and slice error of every candidate pair (sigma_mm,
    side_threshold) tried first.

    heights  of the regions in the training split, their deviations multiplied by one of `widths`;
             the rule has them only if they lower the loss on these examples
    """
    temperature = fit_temperature(
        [example.probabilities for example in examples], [example.truth for example in examples]
    )
    rule = Rule(
        temperature=temperature,
        border_toll=1.0,
        heights=tuple(heights) if any(heights) else (),
        method=method,
        heights_for=heights_for,
    )
    volumes = TuningVolumes(examples, vocabulary)
    rule, pair_results = volumes.choose_best_pair(rule, sigmas_mm, thresholds)
    heights_by_width = [
        tuple(height and Height(height.mean_mm, width * height.sd_mm) for height in rule.heights)
        for width in widths
    ]
    for sweep in range(GREATEST_SWEEP_COUNT):
        rule_before = rule
        rule = volumes.choose_best(
            [replace(rule, heights=heights) for heights in dict.fromkeys([(), *heights_by_width])]
        )
        rule = volumes.choose_best(
            [
                replace(rule, chain_share_in_side=chain_share)
                for chain_share in CHAIN_SHARE_CANDIDATES
            ]
        )
        rule = volumes.choose_best(
            [replace(rule, border_toll=toll) for toll in BORDER_TOLL_CANDIDATES]
        )
        if rule == rule_before or sweep == GREATEST_SWEEP_COUNT - 1:
            break
        rule, _ = volumes.choose_best_pair(rule, sigmas_mm, thresholds)
    rule = min(
        (replace(rule, evidence_mm=evidence_mm) for evidence_mm in EVIDENCE_CANDIDATES_MM),
        key=volumes.negative_log_likelihood,
    )
    return volumes.fit_bars(rule), pair_results


@dataclass(frozen=True, eq=False)
class TuningVolumes:
    """Labelled volumes by which rules are judged."""

    examples: Sequence[TuningExample]
    vocabulary: Vocabulary

    def loss(self, rule: Rule) -> float:
        """The loss of the rule's decisions, as `objective.py` defines it."""
        return self._loss_of_labels(self._decide_labels(rule))

    def slice_error(self, rule: Rule) -> float:
        """Share of all slices for which the rule's predicted class is wrong."""
        return self._slice_error_of_labels(self._decide_labels(rule))

    def choose_best(self, candidates: Sequence[Rule]) -> Rule:
        """The candidate with the least loss; the first of equals."""
        return min(candidates, key=self.loss)

    def choose_best_pair(
        self, rule: Rule, sigmas_mm: Sequence[float], thresholds: Sequence[float]
    ) -> tuple[Rule, list[dict[str, float]]]:
        """The rule with the pair of smoothing and side region threshold of least loss, and the
        results of every pair, a row each; ties: least smoothing."""
        candidates = []
        results = []
        for sigma_mm, threshold in product(sorted(sigmas_mm), sorted(thresholds)):
            candidate = replace(rule, sigma_mm=sigma_mm, side_threshold=threshold)
            labels = self._decide_labels(candidate)
            result = {
                "sigma_mm": sigma_mm,
                "side_threshold": threshold,
                "loss": self._loss_of_labels(labels),
                "slice_error": self._slice_error_of_labels(labels),
            }
            candidates.append(candidate)
            results.append(result)
        return candidates[int(np.argmin([result["loss"] for result in results]))], results

    def negative_log_likelihood(self, rule: Rule) -> float:
        """Mean negative log-likelihood of "this slice is right" under the stated confidences."""
        losses = []
        for example in self.examples:
            decision = self._decide(example, rule)
            predicted = class_of_labels(decision.decided_labels, len(self.vocabulary.chain))
            is_right = are_classes_right(predicted, example.truth)
            confidence = np.clip(decision.slice_confidence, 1e-3, 1 - 1e-3)
            losses.append(-np.log(np.where(is_right, confidence, 1 - confidence)))
        return float(np.concatenate(losses).mean())

    def fit_bars(self, rule: Rule) -> Rule:
        """The rule with its bars (`usual_*`, flipped_gain) and the stretch of the borders'
        intervals fitted to these volumes."""
        rule = replace(rule, interval_stretch=1.0)
        narrowest_rule = replace(rule, interval_stretch=0.0)
        decisions = [self._decide(example, rule) for example in self.examples]
        narrowest_decisions = [self._decide(example, narrowest_rule) for example in self.examples]
        decided_volumes = zip(self.examples, decisions, narrowest_decisions, strict=True)
        needed_stretches = np.array(
            [
                needed_stretch
                for volume in decided_volumes
                for needed_stretch in self._needed_stretches(*volume)
            ]
        )
        roughness = _false_alarm_quantile([decision.roughness for decision in decisions])
        misfit = _false_alarm_quantile([decision.misfit for decision in decisions])
        flipped_gain = _false_alarm_quantile([decision.flipped_gain for decision in decisions])
        interval_stretch = 1.0
        if len(needed_stretches):
            interval_stretch = float(
                np.quantile(needed_stretches, INTERVAL_COVERAGE, method="higher")
            )
        return replace(
            rule,
            usual_roughness=float(np.clip(roughness, *USUAL_ROUGHNESS_BOUNDS)),
            usual_misfit=max(LEAST_USUAL_MISFIT, misfit),
            flipped_gain=max(LEAST_FLIPPED_GAIN, flipped_gain),
            interval_stretch=interval_stretch,
        )

    def _decide_labels(self, rule: Rule) -> list[NDArray[np.bool_]]:
        """The labels (s, k) that a rule decides for each volume."""
        return [
            decide_labels(
                example.probabilities, example.z_mm, self.vocabulary, rule, example.edges_mm
            ).decided_labels
            for example in self.examples
        ]

    def _loss_of_labels(self, labels_by_volume: Sequence[NDArray[np.bool_]]) -> float:
        """The loss of labels decided for these volumes, (s, k) each, against their truth."""
        edges_mm = [slice_edges(example.z_mm, example.edges_mm) for example in self.examples]
        truths = [example.truth for example in self.examples]
        return loss_of_labels(labels_by_volume, truths, edges_mm, len(self.vocabulary.chain))

    def _slice_error_of_labels(self, labels_by_volume: Sequence[NDArray[np.bool_]]) -> float:
        """Share of all slices whose predicted class, of labels decided for these volumes, is
        wrong."""
        chain_region_count = len(self.vocabulary.chain)
        is_right_by_example = [
            are_classes_right(class_of_labels(labels, chain_region_count), example.truth)
            for labels, example in zip(labels_by_volume, self.examples, strict=True)
        ]
        return float(1.0 - np.concatenate(is_right_by_example).mean())

    def _decide(self, example: TuningExample, rule: Rule) -> Decision:
        """The decision on one labelled volume by a rule."""
        return decide_volume(
            example.probabilities,
            example.z_mm,
            self.vocabulary,
            rule,
            example.turned_probabilities,
            example.edges_mm,
        )

    def _needed_stretches(
        self, example: TuningExample, decision: Decision, narrowest_decision: Decision
    ) -> list[float]:
        """Error of each border that is both predicted and true, over the half-width of its interval
        on the true border's side: the stretch that it needs.

        `decision` has the intervals with a stretch of 1, `narrowest_decision` those with 0, the
        smallest possible: a border within the latter needs no stretch, and counts as 0.
        """
        chain = self.vocabulary.chain
        region_names = (*chain, NONE)
        edges_mm = slice_edges(example.z_mm, example.edges_mm)
        error_mm_by_border = border_errors(
            decision.decided_labels, example.truth, edges_mm, len(chain)
        )
        stretches = []
        for border, narrowest_border in zip(
            decision.boundaries, narrowest_decision.boundaries, strict=True
        ):
            border_error_mm = error_mm_by_border.get(
                (region_names.index(border.below), region_names.index(border.above))
            )
            if border_error_mm is None:
                continue
            if border_error_mm > 0:
                interval_half_mm = border.mm - border.low_mm
                narrowest_half_mm = narrowest_border.mm - narrowest_border.low_mm
            else:
                interval_half_mm = border.high_mm - border.mm
                narrowest_half_mm = narrowest_border.high_mm - narrowest_border.mm
            needed_stretch = 0.0
            if abs(border_error_mm) > narrowest_half_mm:
                needed_stretch = abs(border_error_mm) / max(interval_half_mm, 1e-9)
            stretches.append(needed_stretch)
        return stretches


def _false_alarm_quantile(volume_values: Sequence[float]) -> float:
    """The quantile that FALSE_ALARM_SHARE of the values exceed, linearly interpolated."""
    return float(np.quantile(volume_values, 1.0 - FALSE_ALARM_SHARE))


def fit_heights(
    volumes: Sequence[tuple[Floats, NDArray[np.bool_]]], vocabulary: Vocabulary
) -> tuple[Height | None, ...]:
    """The height of each chain region in the body, from volumes (heights z_mm (s,), truth (s, k))
    that show it between its neighbours.

    None for a region that fewer than LEAST_WHOLE_VOLUMES volumes show whole, and for the outermost
    two, which have only one neighbour.  The standard deviation is the predictive one of a new body,
    √(1 + 1/n) times the sample's.
    """
    heights_mm_by_rung: list[list[float]] = [[] for _ in vocabulary.chain]
    for z_mm, truth in volumes:
        lower_mm, upper_mm = cut_ends(z_mm)
        for rung in range(1, len(heights_mm_by_rung) - 1):
            shown_slices = np.flatnonzero(truth[:, rung])
            if (
                len(shown_slices)
                and truth[: shown_slices[0], rung - 1].any()
                and truth[shown_slices[-1] :, rung + 1].any()
            ):
                heights_mm_by_rung[rung].append(
                    float(upper_mm[shown_slices[-1]] - lower_mm[shown_slices[0]])
                )
    return tuple(_height_of_new_body(mm) for mm in heights_mm_by_rung)


def _height_of_new_body(heights_mm: Sequence[float]) -> Height | None:
    """The height of a region in a new body, from its heights in mm in others; None if these are too
    few."""
    if len(heights_mm) < LEAST_WHOLE_VOLUMES:
        return None
    return Height(
        float(np.mean(heights_mm)),
        float(np.std(heights_mm, ddof=1) * np.sqrt(1 + 1 / len(heights_mm))),
    )


def are_classes_right(
    decided_class: NDArray[np.int64], truth: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(s,) whether the predicted class is among the true ones; a spine slice at chest height may be
    labelled as either."""
    return np.asarray(np.take_along_axis(truth, decided_class[:, None], axis=1)[:, 0])
