"""Settings fitted on the validation split after tuning: calibrations, and when not to answer.

    beta, line      calibrations of the labels' confidences, and of the probability of the set of
                    regions
    least_*         the bars of checks, each by its own `fit_bar`
    min_confidence  the bar for the stated error, among the volumes that no other doubt withholds

The bar's promise takes the rest of the rule as given, although a dozen of its numbers were tuned on
the same subjects, which the promise does not account for.  The test split shows the effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import IDENTITY_LINE, Beta, Line, fit_beta, fit_line
from fovnet.decision.chain.margins import find_signal_rows
from fovnet.decision.chain.spans import Decision, class_of_labels, slice_edges, slice_probabilities
from fovnet.decision.checks import phantom
from fovnet.decision.confidence_bar import GradedAnswer, choose_bar, risk_coverage
from fovnet.decision.doubts import CHECKS, Signs, are_reasons, find_doubts, measure_signs
from fovnet.decision.fitting.objective import has_side_region_alone
from fovnet.decision.fitting.statement_bars import (
    LabelledDecision,
    fit_statement_bars,
    region_labels,
)
from fovnet.decision.fitting.tuning import are_classes_right
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.volume.slices.stack import SliceStack


@dataclass(frozen=True)
class LabelledVolume:
    """A labelled volume of the validation split: subject, members' outputs, slices, their truth (s,
    k), and that of the parts of regions (s, q), None where regions have none."""

    subject: str
    outputs: MemberOutputs
    stack: SliceStack
    truth: NDArray[np.bool_]
    part_truth: NDArray[np.bool_] | None = None


def fit_thresholds(
    judge: Judge,
    volumes: Sequence[LabelledVolume],
    *,
    stated_error: float,
    at_risk: float,
    seed: int,
    statement_error: float = 0.02,
) -> tuple[Judge, dict[str, Any], dict[str, Any]]:
    """The judge with the fitted rule, and how it was fitted: the facts of volumes (bar, promise,
    risk-coverage curve), and of statements on regions (`fit_statement_bars`)."""
    chain_region_count = len(judge.vocabulary.chain)
    judge = replace(judge, rule=replace(judge.rule, beta=_fit_beta(judge, volumes)))
    judge = replace(judge, rule=replace(judge.rule, line=_fit_line(judge, volumes)))
    decisions = [_decide(volume, judge) for volume in volumes]
    signs_by_volume = [
        _measure_signs(volume, decision, judge)
        for volume, decision in zip(volumes, decisions, strict=True)
    ]
    judge = replace(judge, rule=replace(judge.rule, **_fit_bars(signs_by_volume)))
    graded_answers = [
        GradedAnswer(
            subject=volume.subject,
            confidence=decision.volume_confidence,
            is_withheld=_is_withheld(decision, volume_signs, judge.rule),
            error=_slice_error(volume, decision, chain_region_count),
        )
        for volume, decision, volume_signs in zip(volumes, decisions, signs_by_volume, strict=True)
    ]
    bar = choose_bar(graded_answers, stated_error, at_risk, seed)
    facts = {
        "stated_error": stated_error,
        "at_risk": at_risk,
        **asdict(bar),
        "volumes": len(volumes),
        "curve": risk_coverage(graded_answers),
    }
    rule = replace(judge.rule, min_confidence=bar.min_confidence)
    labelled_decisions = [
        LabelledDecision(
            subject=volume.subject,
            decision=decision,
            signs=volume_signs,
            labels=region_labels(
                volume.truth, _volume_edges_mm(volume), chain_region_count, rule.min_extent_mm
            ),
        )
        for volume, decision, volume_signs in zip(volumes, decisions, signs_by_volume, strict=True)
    ]
    rule, facts_of_statements = fit_statement_bars(
        rule,
        labelled_decisions,
        judge.vocabulary,
        stated_error=statement_error,
        at_risk=at_risk,
        seed=seed,
    )
    return replace(judge, rule=rule), facts, facts_of_statements


def _volume_edges_mm(volume: LabelledVolume) -> NDArray[np.float64]:
    """(s + 1,) where the slices of a volume begin and end."""
    return slice_edges(volume.stack.z_mm, volume.stack.edges_mm)


def _decide(volume: LabelledVolume, judge: Judge) -> Decision:
    """A judge's decision on a volume."""
    is_air = judge.picture_of(volume.outputs, volume.stack).is_air
    return judge.decide(volume.outputs, volume.stack.z_mm, volume.stack.edges_mm, is_air)


def _measure_signs(volume: LabelledVolume, decision: Decision, judge: Judge) -> Signs:
    """What a judge measures on a volume besides its decision.

    That it resembles a phantom, and its own slices before it was resampled, are left out: the bar's
    promise has never counted what these two withhold.
    """
    unresampled_stack = replace(volume.stack, label_slices=None, label_slice_count=None)
    value_by_code = measure_signs(
        judge.make_decided_volume(volume.outputs, unresampled_stack, decision)
    ).value_by_code
    return Signs(
        {code: value for code, value in value_by_code.items() if code != phantom.CHECK.code}
    )


def _fit_bars(signs: Sequence[Signs]) -> dict[str, Any]:
    """The bars that checks fit to what was measured on these volumes, by the rule's names."""
    value_by_bar = {}
    for check in CHECKS:
        if check.fit_bar is not None:
            measured_values = (signs_of_volume.value_of(check) for signs_of_volume in signs)
            value_by_bar[check.bar_setting] = check.fit_bar(
                [value for value in measured_values if value is not None]
            )
    return value_by_bar


def _fit_beta(judge: Judge, volumes: Sequence[LabelledVolume]) -> Beta:
    """The calibration of the labels' confidences, by the decisions of this judge."""
    chain_region_count = len(judge.vocabulary.chain)
    confidences = []
    shares_of_slices = []
    are_labels_right = []
    for volume in volumes:
        decision = _decide(volume, judge)
        signal_rows = find_signal_rows(judge.picture_of(volume.outputs, volume.stack).is_air)
        # margins have confidence 1 by definition: no data
        confidences.append(decision.slice_confidence[signal_rows])
        shares_of_slices.append(_predicted_class_shares(decision, chain_region_count)[signal_rows])
        are_labels_right.append(
            _are_labels_right(volume, decision, chain_region_count)[signal_rows]
        )
    return fit_beta(
        np.concatenate(confidences),
        np.concatenate(shares_of_slices),
        np.concatenate(are_labels_right),
    )


def _fit_line(judge: Judge, volumes: Sequence[LabelledVolume]) -> Line:
    """The calibration of the probability of the set of regions, by the decisions of this judge.

    Its confidences of slices are calibrated already.
    """
    set_observations = []
    for volume in volumes:
        decision = _decide(volume, judge)
        if decision.spans:
            least_span_confidence = min(span.confidence for span in decision.spans)
            set_observations.append(
                (
                    decision.set_probability,
                    least_span_confidence,
                    _is_exact(decision, volume, judge),
                )
            )
    if not set_observations:
        return IDENTITY_LINE
    set_probability, least_confidence, is_exact = np.array(set_observations).T
    return fit_line(set_probability, least_confidence, is_exact > 0)


def _is_withheld(decision: Decision, signs: Signs, rule: Rule) -> bool:
    """Whether the answer is doubted for a reason other than the confidence bar."""
    return are_reasons(find_doubts(decision, signs, replace(rule, min_confidence=0.0)))


def _is_exact(decision: Decision, volume: LabelledVolume, judge: Judge) -> bool:
    """Whether the predicted set of regions is the true one.

    If a side region is predicted without any chain region, side regions alone are compared.  If any
    slice's truth names a side region alone, chain regions that are predicted and not true do not
    count as wrong.
    """
    chain_region_count = len(judge.vocabulary.chain)
    predicted_regions = np.asarray(decision.decided_labels[:, :-1].any(axis=0))
    true_regions = np.asarray(volume.truth[:, :-1].any(axis=0))
    has_predicted_side_region = predicted_regions[chain_region_count:].any()
    has_predicted_chain_region = predicted_regions[:chain_region_count].any()
    first_compared = 0
    if has_predicted_side_region and not has_predicted_chain_region:
        first_compared = chain_region_count
    if has_side_region_alone(volume.truth, chain_region_count).any():
        predicted_regions[:chain_region_count] &= true_regions[:chain_region_count]
    return bool((predicted_regions[first_compared:] == true_regions[first_compared:]).all())


def _predicted_class_shares(decision: Decision, chain_region_count: int) -> NDArray[np.float64]:
    """(s,) probability of each slice's predicted class, from the slice alone."""
    share_of_class = slice_probabilities(
        decision.smoothed_probabilities, decision.decided_labels, chain_region_count
    )
    predicted = class_of_labels(decision.decided_labels, chain_region_count)
    return np.take_along_axis(share_of_class, predicted[:, None], axis=1)[:, 0]


def _are_labels_right(
    volume: LabelledVolume, decision: Decision, chain_region_count: int
) -> NDArray[np.bool_]:
    """(s,) whether each slice is decided as it was labelled."""
    return are_classes_right(
        class_of_labels(decision.decided_labels, chain_region_count), volume.truth
    )


def _slice_error(volume: LabelledVolume, decision: Decision, chain_region_count: int) -> float:
    """Share of the slices that are not decided as they were labelled."""
    return float(1.0 - _are_labels_right(volume, decision, chain_region_count).mean())
