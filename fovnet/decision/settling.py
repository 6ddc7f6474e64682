"""Settings fitted on the validation split after tuning: the calibration of confidences, and when not to answer.

    beta, line       calibrations of the decided labels' confidences, and of the probability of the set of regions
    least_novelty    such that at most ALLOWANCE of unseen volumes like the validation ones fall below it
    least_agreement  such that the members' agreement falls below it on at most ALLOWANCE of them
    least_upright    such that at most FALSE_ALARMS of those whose headers state their axes fall below it; at most MOST_UPRIGHT
    least_extent_mm  SMALLER times the smallest extent among them; 0 if more than FALSE_ALARMS of unseen ones may be below the smallest
    min_confidence   the bar for the stated error, among the volumes that no other doubt withholds

The bar's promise takes the rest of the rule as given, although a dozen of its numbers were tuned on the same subjects, which the promise
does not account for.  The test split shows the effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.abstaining import Graded, bar, floor, risk_coverage
from fovnet.decision.calibrating import STRAIGHT, Line, best_beta, best_line
from fovnet.decision.doubting import Signs, doubts
from fovnet.decision.judging import Judge, MemberOutputs
from fovnet.decision.margins import empty, lit
from fovnet.decision.objective import protocol_alone
from fovnet.decision.orientation import Bearing
from fovnet.decision.spans import Decision, predicted_class, shares
from fovnet.decision.tuning import FALSE_ALARMS, right

MOST_UPRIGHT = 0.2
"""Upper limit of least_upright: there are five directions of slices, so that below 1/5 another one is more probable."""
SMALLER = 0.75
"""Share of the smallest validation extent: volumes a little smaller were mostly right; mice, a tenth of people's size, were labelled
spine with high confidence."""


@dataclass(frozen=True)
class Shown:
    """One labelled volume of the validation split: its subject, the members' outputs, its slices, their heights and truth.

    edges_mm  (s + 1,) where the slices begin and end, as in `spans.decide`
    bearing   the body's orientation, None if unknown                states_axes  whether its header states the directions of its axes
    extent_mm  its picture's largest extent along an axis; None if it was not measured
    noisy_air  whether noise around the body was made black          in_template  whether heights are in a template's coordinates
    """

    subject: str
    outputs: MemberOutputs
    pixels: NDArray[np.uint8]
    z_mm: NDArray[np.float64]
    truth: NDArray[np.bool_]
    edges_mm: NDArray[np.float64] | None = None
    bearing: Bearing | None = None
    states_axes: bool = True
    extent_mm: float | None = None
    noisy_air: bool = False
    in_template: bool = False


def settle(judge: Judge, volumes: Sequence[Shown], *, stated_error: float, at_risk: float, seed: int) -> tuple[Judge, dict[str, Any]]:
    """The judge with a settled rule, and the facts of settling: the bar, its promise, the risk-coverage curve."""
    decisions = [_decided(one, judge) for one in volumes]
    seen = [lit(empty(one.pixels)) for one in volumes]          # margins have confidence 1 by definition: no data for a calibration
    signs = [_signs(one, decision, judge) for one, decision in zip(volumes, decisions, strict=True)]
    hits = [_hits(one, decision, len(judge.vocabulary.chain)) for one, decision in zip(volumes, decisions, strict=True)]
    known = np.array([sign.novelty for sign in signs if sign.novelty is not None])
    labelled = zip(decisions, (_share(one, judge) for one in decisions), hits, seen, strict=True)
    stated, alone, right = zip(*((one.confidence[rows], share[rows], hit[rows]) for one, share, hit, rows in labelled), strict=True)
    rule = replace(
        judge.rule,
        beta=best_beta(np.concatenate(stated), np.concatenate(alone), np.concatenate(right)),
        least_novelty=floor(known),
        least_agreement=floor(np.array([sign.agreement for sign in signs])),
        least_upright=min(MOST_UPRIGHT, floor(_uprights(volumes, decisions), FALSE_ALARMS)),
        least_extent_mm=_smallest([one.extent_mm for one in volumes if one.extent_mm is not None]),
    )
    rule = replace(rule, line=_line(replace(judge, rule=rule), volumes))
    settled = replace(judge, rule=rule)
    graded = [
        Graded(one.subject, decision.sure, _is_withheld(decision, sign, settled), float(1.0 - hit.mean()))
        for one, sign, hit in zip(volumes, signs, hits, strict=True)
        for decision in [_decided(one, settled)]
    ]
    found = bar(graded, stated_error, at_risk, seed)
    facts = {"stated_error": stated_error, "at_risk": at_risk, **asdict(found), "volumes": len(volumes), "curve": risk_coverage(graded)}
    return replace(settled, rule=replace(rule, min_confidence=found.min_confidence)), facts


def _decided(one: Shown, judge: Judge) -> Decision:
    """A judge's decision on a volume."""
    return judge.decision(one.outputs, one.z_mm, one.edges_mm, empty(one.pixels))


def _signs(one: Shown, decision: Decision, judge: Judge) -> Signs:
    """What a judge measures on a volume besides its decision."""
    hidden = judge.hidden(one.outputs, decision, one.z_mm, one.edges_mm)
    return judge.signs(one.outputs, one.pixels, one.bearing, one.extent_mm, hidden, one.noisy_air, one.in_template)


def _uprights(volumes: Sequence[Shown], decisions: Sequence[Decision]) -> NDArray[np.float64]:
    """The probability that slices run from feet to head, of each volume that shows a region and whose header states its axes."""
    known = (one for one, decision in zip(volumes, decisions, strict=True) if decision.spans and one.states_axes)
    return np.array([one.bearing.upright for one in known if one.bearing is not None])


def _smallest(extents_mm: Sequence[float]) -> float:
    """SMALLER times the smallest of n extents, below which a new one lies with probability 1/(n + 1); 0 if that exceeds FALSE_ALARMS."""
    return SMALLER * min(extents_mm) if FALSE_ALARMS * (len(extents_mm) + 1) >= 1 else 0.0


def _line(judge: Judge, volumes: Sequence[Shown]) -> Line:
    """The calibration of the probability of the set of regions, by the decisions of this judge, whose slice confidences are calibrated."""
    pairs = ((_decided(one, judge), one) for one in volumes)
    sets = [
        (decision.set_probability, min(span.confidence for span in decision.spans), _is_exact(decision, one, judge))
        for decision, one in pairs if decision.spans
    ]
    if not sets:
        return STRAIGHT
    chance, least, right = np.array(sets).T
    return best_line(chance, least, right > 0)


def _is_withheld(decision: Decision, signs: Signs, judge: Judge) -> bool:
    """Whether the answer is doubted for a reason other than the confidence bar."""
    without = replace(judge.rule, min_confidence=0.0)
    return any(doubt.code != "none" for doubt in doubts(decision, signs, without, judge.vocabulary))


def _is_exact(decision: Decision, one: Shown, judge: Judge) -> bool:
    """Whether the predicted set of regions is the true one; if a protocol is predicted without any chain region, of protocols alone.

    If any slice's truth names a protocol alone, chain regions that are predicted and not true do not count as wrong.
    """
    n = len(judge.vocabulary.chain)
    predicted, true = (np.asarray(shown[:, :-1].any(axis=0)) for shown in (decision.decided, one.truth))
    first = n if predicted[n:].any() and not predicted[:n].any() else 0
    if protocol_alone(one.truth, n).any():
        predicted[:n] &= true[:n]
    return bool((predicted[first:] == true[first:]).all())


def _share(decision: Decision, judge: Judge) -> NDArray[np.float64]:
    """(s,) probability of each slice's predicted class, from the slice alone."""
    n = len(judge.vocabulary.chain)
    each = shares(decision.smoothed, decision.decided, n)
    return np.take_along_axis(each, predicted_class(decision.decided, n)[:, None], axis=1)[:, 0]


def _hits(one: Shown, decision: Decision, n: int) -> NDArray[np.bool_]:
    return right(predicted_class(decision.decided, n), one.truth)
