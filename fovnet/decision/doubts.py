"""Reasons not to trust an answer: the checks in their order, what they measure, and what they
doubt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fovnet.decision.chain.spans import Decision
from fovnet.decision.checks import (
    both_signs,
    flipped,
    low_confidence,
    members_disagree,
    noisy_air,
    none,
    other_regions,
    out_of_order,
    phantom,
    sform_of_ones,
    template,
    too_dark,
    too_few_slices,
    too_small,
    turned,
    two_answers,
    unlike_training,
)
from fovnet.decision.checks.check import Check, DecidedVolume, Reason, StatedRegion, Value
from fovnet.decision.rule import Rule

CHECKS: tuple[Check[Any], ...] = (
    none.CHECK,
    # of the picture
    unlike_training.CHECK,
    members_disagree.CHECK,
    too_small.CHECK,
    too_dark.CHECK,
    noisy_air.CHECK,
    both_signs.CHECK,
    phantom.CHECK,
    template.CHECK,
    sform_of_ones.CHECK,
    too_few_slices.CHECK,
    out_of_order.CHECK,
    flipped.CHECK,
    turned.CHECK,
    # of the answer
    low_confidence.REGION_CHECK,
    other_regions.CHECK,
    two_answers.CHECK,
    low_confidence.CHECK,
)
"""In the order in which an answer names them."""


@dataclass(frozen=True)
class Doubt:
    """One reason: its code, its sentence, and the figures behind it, "" where the sentence has
    them.  "none" states that no region is shown, and is no reason."""

    code: str
    sentence: str
    figures: str = ""

    @classmethod
    def from_reason(cls, code: str, reason: str | Reason) -> Doubt:
        """As a check gives it."""
        if isinstance(reason, Reason):
            return cls(code, reason.sentence, reason.figures)
        return cls(code, reason)


@dataclass(frozen=True)
class Signs:
    """What was measured on a volume besides its decision: by code, the value of each check that can
    judge."""

    value_by_code: Mapping[str, Any]

    def value_of(self, check: Check[Value]) -> Value | None:
        """The value of a check; None if it was not measured, or cannot be judged."""
        return self.value_by_code.get(check.code)


def measure_signs(volume: DecidedVolume) -> Signs:
    """What every check measures on a volume."""
    values = {check.code: check.measure(volume) for check in CHECKS if check.measure is not None}
    return Signs({code: value for code, value in values.items() if value is not None})


def find_doubts(decision: Decision, signs: Signs, rule: Rule) -> tuple[Doubt, ...]:
    """Every reason to doubt the decision on a volume, in the order of CHECKS."""
    return tuple(
        Doubt.from_reason(check.code, reason)
        for check in CHECKS
        for reason in _find_reasons(check, decision, signs, rule)
    )


def find_codes_of_regions(
    regions: Sequence[StatedRegion], decision: Decision, signs: Signs, rule: Rule
) -> list[tuple[str, ...]]:
    """For each of these regions, the codes of the doubts that make the statement on it unsure, in
    the order of CHECKS."""
    raised_checks = [check for check in CHECKS if any(_find_reasons(check, decision, signs, rule))]
    value_by_check = [(check, _checked_value(check, decision, signs)) for check in raised_checks]
    return [
        tuple(
            dict.fromkeys(
                check.code
                for check, value in value_by_check
                if check.concerns.affects(value, rule, region)
            )
        )
        for region in regions
    ]


def are_reasons(doubts_of_answer: Iterable[Doubt]) -> bool:
    """Whether any of these is a reason not to trust the answer."""
    return any(doubt.code != none.CHECK.code for doubt in doubts_of_answer)


def _find_reasons(
    check: Check[Any], decision: Decision, signs: Signs, rule: Rule
) -> Iterable[str | Reason]:
    """The reasons of one check to doubt; none where its value is unknown."""
    value = _checked_value(check, decision, signs)
    if value is None:
        return ()
    return check.find_reasons(value, rule)


def _checked_value(check: Check[Any], decision: Decision, signs: Signs) -> Any:
    """What a check judges: what it measured, or the decision; None where it could not be
    measured."""
    if check.measure is None:
        return decision
    return signs.value_of(check)
