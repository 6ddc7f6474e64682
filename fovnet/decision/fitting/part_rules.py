"""The rules for the parts of regions, fitted on the validation split after the rule for regions.

Only volumes count of which the region is surely shown, and of those only its rows: there the parts are
decided when a volume is answered.  Of each region, as for regions: smoothing, toll, evidence, heights
and stretch of intervals (`tuning.py`), and the calibration of the probability that a part is shown.
The bars of `yes` and of `no` are one pair for all parts, with the promise of `statement_bars.py`: an
error is a part said to be shown, or not, against the labels of the whole volume, so errors of the
region count too.  Where labels name only the region, or only a side region, nothing is known of parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import Answer
from fovnet.decision.chain.spans import Decision, slice_edges
from fovnet.decision.confidence_bar import GradedAnswer
from fovnet.decision.division import VolumeShares, state_parts
from fovnet.decision.fitting.objective import TuningExample, has_side_region_alone
from fovnet.decision.fitting.statement_bars import (
    BARS_AT_EVEN,
    RegionLabels,
    choose_statement_bars,
    fit_presence_line,
    grade_statements,
    region_labels,
    with_bars,
)
from fovnet.decision.fitting.thresholds import LabelledVolume
from fovnet.decision.fitting.tuning import fit_heights, fit_rule
from fovnet.decision.judge import Judge
from fovnet.decision.rule import Rule
from fovnet.decision.statements import NO, YES, Statement
from fovnet.regions import Vocabulary

Bools = NDArray[np.bool_]
LEAST_VOLUMES = 20
"""Fewest volumes of a region by whose parts a rule is fitted; with fewer nothing is said of them."""
NEVER_FLIPPED = 1e6
"""Log-evidence for the reverse order, above which parts would be upside down: their region's order is
judged, not theirs."""


@dataclass(frozen=True)
class DividedVolume:
    """A labelled volume of which a region is surely shown.

    statement  on the region
    decision   on the volume, region by region
    labels     what its labels say of the parts
    truth      (s, n + 1) the parts labelled, and none
    """

    subject: str
    shares: VolumeShares
    statement: Statement
    decision: Decision
    labels: RegionLabels
    truth: Bools

    def decide_parts(self, rule: Rule) -> Decision:
        """The decision on the parts by a rule."""
        return self.shares.decide_parts(self.statement.region, self.decision, rule)

    @property
    def tuning_example(self) -> TuningExample:
        """The region's rows, for tuning."""
        spans = [span for span in self.decision.spans if span.region == self.statement.region]
        rows = slice(spans[0].first, spans[-1].last + 1)
        shares = self.shares.of_region(self.statement.region)[rows]
        return TuningExample(
            np.column_stack([shares, np.zeros(len(shares))]),
            self.shares.z_mm[rows],
            self.truth[rows],
            edges_mm=self.shares.edges_mm[rows.start : rows.stop + 1],
        )


@dataclass(frozen=True)
class PartFit:
    """The rules for parts, by region, and how they were fitted."""

    rule_by_region: Mapping[str, Rule]
    facts: Mapping[str, Any]


def fit_part_rules(
    judge: Judge,
    volumes: Sequence[LabelledVolume],
    heights_and_truth: Sequence[tuple[NDArray[np.float64], Bools]],
    *,
    sigmas_mm: Sequence[float],
    widths: Sequence[float],
    statement_error: float,
    at_risk: float,
    seed: int,
) -> PartFit:
    """The rules for the parts of this judge's regions.

    volumes            of the validation split, with part_truth (s, q)
    heights_and_truth  heights (s,) and part_truth (s, q) of those of the training split
    A region with fewer than LEAST_VOLUMES volumes gets none, and nothing is said of its parts.
    """
    vocabulary = judge.network_vocabulary
    if vocabulary is None or not vocabulary.parts:
        return PartFit({}, {})
    answers = [judge.answer("", "", volume.outputs, volume.stack) for volume in volumes]
    rule_by_region = {}
    volumes_by_region = {}
    for region in vocabulary.parts:
        divided_volumes = _divide_volumes(judge, volumes, answers, vocabulary, region)
        if len(divided_volumes) < LEAST_VOLUMES:
            continue
        columns = _columns_of_parts(vocabulary, region)
        part_heights = [(z_mm, truth[:, columns]) for z_mm, truth in heights_and_truth]
        volumes_by_region[region] = divided_volumes
        rule_by_region[region] = _fit_rule_of_region(
            judge.rule,
            divided_volumes,
            vocabulary.part_vocabulary(region),
            fit_heights(part_heights, vocabulary.part_vocabulary(region)),
            sigmas_mm,
            widths,
        )
    return _fit_bars(rule_by_region, volumes_by_region, vocabulary, statement_error, at_risk, seed)


def _columns_of_parts(vocabulary: Vocabulary, region: str) -> list[int]:
    """The columns of a region's parts in part_truth."""
    return [vocabulary.part_names.index(part) for part in vocabulary.parts[region]]


def _divide_volumes(
    judge: Judge,
    volumes: Sequence[LabelledVolume],
    answers: Sequence[Answer],
    vocabulary: Vocabulary,
    region: str,
) -> list[DividedVolume]:
    """The volumes of which a region is surely shown, and whose labels tell of its parts."""
    columns = _columns_of_parts(vocabulary, region)
    divided_volumes = []
    for volume, answer in zip(volumes, answers, strict=True):
        shares = judge.part_shares(volume.outputs, volume.stack)
        statement = _statement_on(answer, region)
        if answer.decision is None or shares is None or volume.part_truth is None:
            continue
        part_labels = volume.part_truth[:, columns]
        if statement is None or (part_labels.sum(axis=1) > 1).any():
            continue
        is_no_part = ~part_labels.any(axis=1, keepdims=True)
        labels = region_labels(
            np.column_stack([part_labels, is_no_part]),
            slice_edges(volume.stack.z_mm, volume.stack.edges_mm),
            len(columns),
            judge.rule.min_extent_mm,
        )
        if has_side_region_alone(volume.truth, len(judge.vocabulary.chain)).any():
            labels = RegionLabels(labels.is_shown, labels.is_shown)
        divided_volumes.append(
            DividedVolume(
                subject=volume.subject,
                shares=shares,
                statement=statement,
                decision=answer.decision,
                labels=labels,
                truth=np.column_stack([part_labels, is_no_part]),
            )
        )
    return divided_volumes


def _statement_on(answer: Answer, region: str) -> Statement | None:
    """What is said of a region that is surely shown; None of any other."""
    for statement in answer.statements:
        if statement.region == region and statement.answer == YES:
            return statement
    return None


def _fit_rule_of_region(
    region_rule: Rule,
    volumes: Sequence[DividedVolume],
    parts: Vocabulary,
    heights: Sequence[Any],
    sigmas_mm: Sequence[float],
    widths: Sequence[float],
) -> Rule:
    """The rule for the parts of one region, without its bars."""
    rule, _ = fit_rule(
        [volume.tuning_example for volume in volumes],
        parts,
        sigmas_mm=sigmas_mm,
        thresholds=(Rule.side_threshold,),
        heights=heights,
        widths=widths,
        heights_for=region_rule.heights_for,
    )
    rule = replace(rule, min_extent_mm=region_rule.min_extent_mm, flipped_gain=NEVER_FLIPPED)
    presences = [(volume.decide_parts(rule).presence, volume.labels) for volume in volumes]
    return replace(rule, chain_line=fit_presence_line(presences, slice(0, len(parts.chain))))


def _fit_bars(
    rule_by_region: Mapping[str, Rule],
    volumes_by_region: Mapping[str, Sequence[DividedVolume]],
    vocabulary: Vocabulary,
    statement_error: float,
    at_risk: float,
    seed: int,
) -> PartFit:
    """The rules with their bars, the same for all parts, and the facts of these."""
    facts_of_volumes = {region: len(volumes) for region, volumes in volumes_by_region.items()}
    graded_by_kind = {
        kind: [
            graded_answer
            for region, rule in rule_by_region.items()
            for volume in volumes_by_region[region]
            for graded_answer in _grade_parts(rule, volume, vocabulary.parts[region], kind)
        ]
        for kind in (YES, NO)
        if rule_by_region
    }
    bars, facts = choose_statement_bars(
        graded_by_kind, stated_error=statement_error, at_risk=at_risk, seed=seed
    )
    return PartFit(
        {region: with_bars(rule, bars) for region, rule in rule_by_region.items()},
        {**facts, "volumes": facts_of_volumes},
    )


def _grade_parts(
    rule: Rule, volume: DividedVolume, parts: Sequence[str], kind: str
) -> list[GradedAnswer]:
    """The statements on parts more likely of this kind (YES or NO) than not, as they would be given
    from a probability of one half on, with their errors."""
    rule_at_even = with_bars(rule, BARS_AT_EVEN)
    statements = state_parts(
        volume.decide_parts(rule_at_even), volume.statement, parts, rule_at_even
    )
    return grade_statements(statements, volume.labels, volume.subject, kind)
