"""Settings fitted on the validation split after tuning: calibrations, and when not to answer.

    beta, line      calibrations of the labels' confidences, and of the probability of the set of regions
    least_*         the bars of checks, each by its own `fit`
    min_confidence  the bar for the stated error, among the volumes that no other doubt withholds

The bar's promise takes the rest of the rule as given, although a dozen of its numbers were tuned on the same
subjects, which the promise does not account for.  The test split shows the effect.
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
    """A labelled volume of the validation split: subject, members' outputs, slices, their truth (s, k)."""

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
    """The judge with a settled rule, and the facts of settling: of volumes (bar, promise, risk-coverage
    curve), and of statements on regions (`statement_bars.settle_statements`)."""
    n = len(judge.vocabulary.chain)
    judge = replace(judge, rule=replace(judge.rule, beta=_beta(judge, volumes)))
    judge = replace(judge, rule=replace(judge.rule, line=_line(judge, volumes)))
    decisions = [_decided(one, judge) for one in volumes]
    signs = [_signs(one, decision, judge) for one, decision in zip(volumes, decisions, strict=True)]
    judge = replace(judge, rule=replace(judge.rule, **_bars(signs)))
    graded = [
        GradedAnswer(
            one.subject,
            decision.sure,
            _is_withheld(decision, seen, judge.rule),
            _error(one, decision, n),
        )
        for one, decision, seen in zip(volumes, decisions, signs, strict=True)
    ]
    found = choose_bar(graded, stated_error, at_risk, seed)
    facts = {
        "stated_error": stated_error,
        "at_risk": at_risk,
        **asdict(found),
        "volumes": len(volumes),
        "curve": risk_coverage(graded),
    }
    rule = replace(judge.rule, min_confidence=found.min_confidence)
    told = [
        LabelledDecision(
            one.subject,
            decision,
            seen,
            *region_labels(one.truth, _edges(one), n, rule.min_extent_mm),
        )
        for one, decision, seen in zip(volumes, decisions, signs, strict=True)
    ]
    rule, by_region = settle_statements(
        rule, told, judge.vocabulary, stated_error=statement_error, at_risk=at_risk, seed=seed
    )
    return replace(judge, rule=rule), facts, by_region


def _edges(one: LabelledVolume) -> NDArray[np.float64]:
    """(s + 1,) where the slices of a volume begin and end."""
    return outer_edges(one.stack.z_mm, one.stack.edges_mm)


def _decided(one: LabelledVolume, judge: Judge) -> Decision:
    """A judge's decision on a volume."""
    return judge.decision(
        one.outputs, one.stack.z_mm, one.stack.edges_mm, air_slices(one.stack.pixels)
    )


def _signs(one: LabelledVolume, decision: Decision, judge: Judge) -> Signs:
    """What a judge measures on a volume besides its decision.

    That it resembles a phantom, and its own slices before it was resampled, are left out: the bar's promise
    has never counted what these two withhold.
    """
    cuts = replace(one.stack, counted=None, counted_slices=None)
    values = measure_signs(judge.volume_for_checks(one.outputs, cuts, decision)).values
    return Signs({code: value for code, value in values.items() if code != phantom.CHECK.code})


def _bars(signs: Sequence[Signs]) -> dict[str, Any]:
    """The bars that checks fit to what was measured on these volumes, by the rule's names."""
    bars = {}
    for check in CHECKS:
        if check.fit is not None:
            seen = (one.of(check) for one in signs)
            bars[check.bar] = check.fit([value for value in seen if value is not None])
    return bars


def _beta(judge: Judge, volumes: Sequence[LabelledVolume]) -> Beta:
    """The calibration of the labels' confidences, by the decisions of this judge."""
    n, stated, alone, hits = len(judge.vocabulary.chain), [], [], []
    for one in volumes:
        decision, rows = _decided(one, judge), lit_rows(air_slices(one.stack.pixels))
        stated.append(decision.confidence[rows])  # margins have confidence 1 by definition: no data
        alone.append(_share(decision, n)[rows])
        hits.append(_hits(one, decision, n)[rows])
    return best_beta(np.concatenate(stated), np.concatenate(alone), np.concatenate(hits))


def _line(judge: Judge, volumes: Sequence[LabelledVolume]) -> Line:
    """The calibration of the probability of the set of regions, by the decisions of this judge.

    Its confidences of slices are calibrated already.
    """
    sets = []
    for one in volumes:
        decision = _decided(one, judge)
        if decision.spans:
            least = min(span.confidence for span in decision.spans)
            sets.append((decision.set_probability, least, _is_exact(decision, one, judge)))
    if not sets:
        return STRAIGHT
    chances, leasts, exact = np.array(sets).T
    return best_line(chances, leasts, exact > 0)


def _is_withheld(decision: Decision, signs: Signs, rule: Rule) -> bool:
    """Whether the answer is doubted for a reason other than the confidence bar."""
    return are_reasons(doubts(decision, signs, replace(rule, min_confidence=0.0)))


def _is_exact(decision: Decision, one: LabelledVolume, judge: Judge) -> bool:
    """Whether the predicted set of regions is the true one.

    If a side region is predicted without any chain region, side regions alone are compared.  If any slice's
    truth names a side region alone, chain regions that are predicted and not true do not count as wrong.
    """
    n = len(judge.vocabulary.chain)
    predicted, true = (
        np.asarray(shown[:, :-1].any(axis=0)) for shown in (decision.decided, one.truth)
    )
    first = n if predicted[n:].any() and not predicted[:n].any() else 0
    if side_region_alone(one.truth, n).any():
        predicted[:n] &= true[:n]
    return bool((predicted[first:] == true[first:]).all())


def _share(decision: Decision, n: int) -> NDArray[np.float64]:
    """(s,) probability of each slice's predicted class, from the slice alone."""
    each = shares(decision.smoothed, decision.decided, n)
    return np.take_along_axis(each, predicted_class(decision.decided, n)[:, None], axis=1)[:, 0]


def _hits(one: LabelledVolume, decision: Decision, n: int) -> NDArray[np.bool_]:
    """(s,) whether each slice is decided as it was labelled, the first n classes the chain's."""
    return are_right(predicted_class(decision.decided, n), one.truth)


def _error(one: LabelledVolume, decision: Decision, n: int) -> float:
    """Share of the slices that are not decided as they were labelled."""
    return float(1.0 - _hits(one, decision, n).mean())
