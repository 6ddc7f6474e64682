"""Settings fitted on the validation split after tuning: calibrations, and when not to answer.

    beta, line      calibrations of the labels' confidences, and of the probability of the set of
                    regions
    least_*         the bars of checks, each by its own `fit`
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

from fovnet.decision.calibrations import STRAIGHT, Beta, Line, best_beta, best_line
from fovnet.decision.chain.margins import air_slices, lit_rows
from fovnet.decision.chain.spans import Decision, outer_edges, predicted_class, shares
from fovnet.decision.checks import phantom
from fovnet.decision.confidence_bar import GradedAnswer, choose_bar, risk_coverage
from fovnet.decision.doubts import CHECKS, Signs, are_reasons, doubts, measure_signs
from fovnet.decision.fitting.objective import side_region_alone
from fovnet.decision.fitting.statement_bars import (
    LabelledDecision,
    region_labels,
    settle_statements,
)
from fovnet.decision.fitting.tuning import are_right
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.volume.slices.stack import SliceStack


@dataclass(frozen=True)
class LabelledVolume:
    """A labelled volume of the validation split: subject, members' outputs, slices, their truth (s,
    k)."""

    subject: str
    outputs: MemberOutputs
    stack: SliceStack
    truth: NDArray[np.bool_]


def settle(
    judge: Judge,
    volumes: Sequence[LabelledVolume],
    *,
    stated_error: float,
    at_risk: float,
    seed: int,
    statement_error: float = 0.02,
) -> tuple[Judge, dict[str, Any], dict[str, Any]]:
    """The judge with a settled rule, and the facts of settling: of volumes (bar, promise,
    risk-coverage curve), and of statements on regions (`statement_bars.settle_statements`)."""
    n = len(judge.vocabulary.chain)
    judge = replace(judge, rule=replace(judge.rule, beta=_beta(judge, volumes)))
    judge = replace(judge, rule=replace(judge.rule, line=_line(judge, volumes)))
    decisions = [_decide(volume, judge) for volume in volumes]
    signs = [
        _measure_signs(volume, decision, judge)
        for volume, decision in zip(volumes, decisions, strict=True)
    ]
    judge = replace(judge, rule=replace(judge.rule, **_bars(signs)))
    answers = [
        GradedAnswer(
            subject=volume.subject,
            confidence=decision.sure,
            is_withheld=_is_withheld(decision, volume_signs, judge.rule),
            error=_error(volume, decision, n),
        )
        for volume, decision, volume_signs in zip(volumes, decisions, signs, strict=True)
    ]
    bar = choose_bar(answers, stated_error, at_risk, seed)
    facts = {
        "stated_error": stated_error,
        "at_risk": at_risk,
        **asdict(bar),
        "volumes": len(volumes),
        "curve": risk_coverage(answers),
    }
    rule = replace(judge.rule, min_confidence=bar.min_confidence)
    labelled_decisions = [
        LabelledDecision(
            subject=volume.subject,
            decision=decision,
            signs=volume_signs,
            labels=region_labels(volume.truth, _edges(volume), n, rule.min_extent_mm),
        )
        for volume, decision, volume_signs in zip(volumes, decisions, signs, strict=True)
    ]
    rule, facts_of_statements = settle_statements(
        rule,
        labelled_decisions,
        judge.vocabulary,
        stated_error=statement_error,
        at_risk=at_risk,
        seed=seed,
    )
    return replace(judge, rule=rule), facts, facts_of_statements


def _edges(volume: LabelledVolume) -> NDArray[np.float64]:
    """(s + 1,) where the slices of a volume begin and end."""
    return outer_edges(volume.stack.z_mm, volume.stack.edges_mm)


def _decide(volume: LabelledVolume, judge: Judge) -> Decision:
    """A judge's decision on a volume."""
    return judge.decision(
        volume.outputs, volume.stack.z_mm, volume.stack.edges_mm, air_slices(volume.stack.pixels)
    )


def _measure_signs(volume: LabelledVolume, decision: Decision, judge: Judge) -> Signs:
    """What a judge measures on a volume besides its decision.

    That it resembles a phantom, and its own slices before it was resampled, are left out: the bar's
    promise has never counted what these two withhold.
    """
    cuts = replace(volume.stack, counted=None, counted_slices=None)
    values = measure_signs(judge.volume_for_checks(volume.outputs, cuts, decision)).values
    return Signs({code: value for code, value in values.items() if code != phantom.CHECK.code})


def _bars(signs: Sequence[Signs]) -> dict[str, Any]:
    """The bars that checks fit to what was measured on these volumes, by the rule's names."""
    bars = {}
    for check in CHECKS:
        if check.fit is not None:
            values = (signs_of_volume.of(check) for signs_of_volume in signs)
            bars[check.bar] = check.fit([value for value in values if value is not None])
    return bars


def _beta(judge: Judge, volumes: Sequence[LabelledVolume]) -> Beta:
    """The calibration of the labels' confidences, by the decisions of this judge."""
    n = len(judge.vocabulary.chain)
    confidences = []
    shares_of_slices = []
    hits = []
    for volume in volumes:
        decision = _decide(volume, judge)
        rows = lit_rows(air_slices(volume.stack.pixels))
        # margins have confidence 1 by definition: no data
        confidences.append(decision.confidence[rows])
        shares_of_slices.append(_share(decision, n)[rows])
        hits.append(_hits(volume, decision, n)[rows])
    return best_beta(
        np.concatenate(confidences), np.concatenate(shares_of_slices), np.concatenate(hits)
    )


def _line(judge: Judge, volumes: Sequence[LabelledVolume]) -> Line:
    """The calibration of the probability of the set of regions, by the decisions of this judge.

    Its confidences of slices are calibrated already.
    """
    rows = []
    for volume in volumes:
        decision = _decide(volume, judge)
        if decision.spans:
            least = min(span.confidence for span in decision.spans)
            rows.append((decision.set_probability, least, _is_exact(decision, volume, judge)))
    if not rows:
        return STRAIGHT
    set_probability, least_confidence, is_exact = np.array(rows).T
    return best_line(set_probability, least_confidence, is_exact > 0)


def _is_withheld(decision: Decision, signs: Signs, rule: Rule) -> bool:
    """Whether the answer is doubted for a reason other than the confidence bar."""
    return are_reasons(doubts(decision, signs, replace(rule, min_confidence=0.0)))


def _is_exact(decision: Decision, volume: LabelledVolume, judge: Judge) -> bool:
    """Whether the predicted set of regions is the true one.

    If a side region is predicted without any chain region, side regions alone are compared.  If any
    slice's truth names a side region alone, chain regions that are predicted and not true do not
    count as wrong.
    """
    n = len(judge.vocabulary.chain)
    predicted = np.asarray(decision.decided[:, :-1].any(axis=0))
    true = np.asarray(volume.truth[:, :-1].any(axis=0))
    first = n if predicted[n:].any() and not predicted[:n].any() else 0
    if side_region_alone(volume.truth, n).any():
        predicted[:n] &= true[:n]
    return bool((predicted[first:] == true[first:]).all())


def _share(decision: Decision, n: int) -> NDArray[np.float64]:
    """(s,) probability of each slice's predicted class, from the slice alone."""
    share_of_class = shares(decision.smoothed, decision.decided, n)
    predicted = predicted_class(decision.decided, n)
    return np.take_along_axis(share_of_class, predicted[:, None], axis=1)[:, 0]


def _hits(volume: LabelledVolume, decision: Decision, n: int) -> NDArray[np.bool_]:
    """(s,) whether each slice is decided as it was labelled, the first n classes the chain's."""
    return are_right(predicted_class(decision.decided, n), volume.truth)


def _error(volume: LabelledVolume, decision: Decision, n: int) -> float:
    """Share of the slices that are not decided as they were labelled."""
    return float(1.0 - _hits(volume, decision, n).mean())
