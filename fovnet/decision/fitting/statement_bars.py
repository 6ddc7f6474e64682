"""The bars of yes and of no, chosen so that statements on people never seen err no more often than
stated.

    a statement's error  1 if it is wrong, else 0
    a subject's error    mean of that over the subject's statements of one kind (all its `yes`, or
                         all its `no`) that are given; subjects without any do not count
    risk                 the mean error of subjects

For each kind the bar is chosen as that of a volume's confidence (`confidence_bar.py`), with half of
`at_risk`: the promises on `yes` and on `no` then fail together for at most `at_risk` of all
validation splits.  A statement that a doubt makes unsure, or the spans, is not given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import Line, fit_line
from fovnet.decision.chain.presence import Presence
from fovnet.decision.chain.spans import Decision
from fovnet.decision.confidence_bar import GradedAnswer, choose_bar
from fovnet.decision.doubts import Signs
from fovnet.decision.fitting.objective import has_side_region_alone
from fovnet.decision.rule import EVEN_PROBABILITY, Rule
from fovnet.decision.statements import NO, YES, Statement, make_statements
from fovnet.maths.chain_recursion import ROUNDING_MM
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CANDIDATE_BARS = (0.995, 0.99, 0.98, 0.95, 0.9, 0.85, 0.8, 0.7)
"""Those that are tested, in descending order; a statement at less than the last is a guess."""
TEST_STARTS = ((4, 0.8), (1, 0.2))
"""Index in CANDIDATE_BARS at which each sequence of tests starts (0.9 and 0.99), and its share of
the risk."""
BARS_AT_EVEN = {YES: EVEN_PROBABILITY, NO: EVEN_PROBABILITY}
"""With which statements are graded: given from a probability of one half on."""


class RegionLabels(NamedTuple):
    """Of each region (r,): whether the labels show it, and whether they tell."""

    is_shown: Bools
    is_known: Bools


@dataclass(frozen=True)
class LabelledDecision:
    """A labelled, decided volume: subject, decision, what was measured besides; what its labels say
    of each region."""

    subject: str
    decision: Decision
    signs: Signs
    labels: RegionLabels


def region_labels(
    truth: Bools, edges_mm: Floats, chain_region_count: int, min_extent_mm: float
) -> RegionLabels:
    """Whether at least min_extent_mm of each region are labelled (r,), and whether the labels tell
    (r,), from the truth (s, k) of slices between edges_mm (s + 1,).

    Where a slice is labelled with a side region alone, as in a narrow cut-out of the spine, whether
    the chain regions that it does not name are shown is not told.
    """
    height_mm = np.diff(edges_mm)
    least_mm = min(min_extent_mm, float(height_mm.sum())) - ROUNDING_MM
    is_shown = height_mm @ truth[:, :-1] >= least_mm
    is_known = np.ones_like(is_shown)
    if has_side_region_alone(truth, chain_region_count).any():
        is_known[:chain_region_count] = is_shown[:chain_region_count]
    return RegionLabels(is_shown, is_known)


def fit_statement_bars(
    rule: Rule,
    volumes: Sequence[LabelledDecision],
    vocabulary: Vocabulary,
    *,
    stated_error: float,
    at_risk: float,
    seed: int,
) -> tuple[Rule, dict[str, Any]]:
    """The rule with calibrated probabilities of regions and bars for them, and the facts of how
    these were found: of each kind its bar, whether it is promised, and how many subjects and
    statements it was chosen from."""
    chain_region_count = len(vocabulary.chain)
    presences = [(volume.decision.presence, volume.labels) for volume in volumes]
    rule = replace(
        rule,
        chain_line=fit_presence_line(presences, slice(0, chain_region_count)),
        side_line=fit_presence_line(presences, slice(chain_region_count, None)),
    )
    bars, facts = choose_statement_bars(
        {kind: _grade_statements(rule, volumes, vocabulary, kind) for kind in (YES, NO)},
        stated_error=stated_error,
        at_risk=at_risk,
        seed=seed,
    )
    return with_bars(rule, bars), facts


def choose_statement_bars(
    graded_by_kind: Mapping[str, Sequence[GradedAnswer]],
    *,
    stated_error: float,
    at_risk: float,
    seed: int,
) -> tuple[dict[str, float], dict[str, Any]]:
    """The bar of each kind (YES, NO), chosen from its graded statements, and the facts of these."""
    facts: dict[str, Any] = {"stated_error": stated_error, "at_risk": at_risk}
    bar_by_kind = {}
    for kind, graded_answers in graded_by_kind.items():
        bar = choose_bar(
            graded_answers,
            stated_error,
            at_risk / 2,
            seed,
            bars=CANDIDATE_BARS,
            starts=TEST_STARTS,
        )
        facts[kind] = {**asdict(bar), "statements": len(graded_answers)}
        bar_by_kind[kind] = bar.min_confidence
    return bar_by_kind, facts


def with_bars(rule: Rule, bar_by_kind: Mapping[str, float]) -> Rule:
    """The rule with these bars of YES and NO."""
    return replace(rule, yes_bar=bar_by_kind[YES], no_bar=bar_by_kind[NO])


def fit_presence_line(volumes: Sequence[tuple[Presence, RegionLabels]], columns: slice) -> Line:
    """The calibration of these columns' probabilities, on all statements whose truth is known."""
    is_known = np.concatenate([labels.is_known[columns] for _, labels in volumes])
    is_shown = np.concatenate([labels.is_shown[columns] for _, labels in volumes])
    body_probability = np.concatenate(
        [presence.body_probability[columns] for presence, _ in volumes]
    )
    slice_probability = np.concatenate(
        [presence.slice_probability[columns] for presence, _ in volumes]
    )
    return fit_line(body_probability[is_known], slice_probability[is_known], is_shown[is_known])


def _grade_statements(
    rule: Rule, volumes: Sequence[LabelledDecision], vocabulary: Vocabulary, kind: str
) -> list[GradedAnswer]:
    """The statements more likely of this kind (YES or NO) than not, as they would be given from a
    probability of one half on, with their errors."""
    rule_at_even = with_bars(rule, BARS_AT_EVEN)
    return [
        graded_answer
        for volume in volumes
        for graded_answer in grade_statements(
            make_statements(volume.decision, volume.signs, rule_at_even, vocabulary),
            volume.labels,
            volume.subject,
            kind,
        )
    ]


def grade_statements(
    statements: Sequence[Statement], labels: RegionLabels, subject: str, kind: str
) -> list[GradedAnswer]:
    """Those of one volume's statements, made with BARS_AT_EVEN, that are more likely of this kind (YES
    or NO) than not and of which its labels tell, with their errors."""
    is_yes = kind == YES
    graded_answers = []
    for statement, is_shown, is_known in zip(statements, *labels, strict=True):
        is_yes_likelier = statement.probability >= EVEN_PROBABILITY
        if not is_known or is_yes_likelier != is_yes:
            continue
        graded_answer = GradedAnswer(
            subject=subject,
            confidence=statement.probability if is_yes else 1.0 - statement.probability,
            is_withheld=statement.answer != kind,
            error=float(is_shown != is_yes),
        )
        graded_answers.append(graded_answer)
    return graded_answers
