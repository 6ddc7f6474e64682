"""The body fits better upside down; the bar, `flipped_gain`, is fitted with the decision
(`tuning.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.decision.chain.spans import Decision
from fovnet.decision.checks.check import EVERY_REGION, Check
from fovnet.decision.rule import Rule


def find_reasons(decision: Decision, rule: Rule) -> Iterator[str]:
    """A sentence if the decision found the reversed order better by more than the bar."""
    if decision.is_flipped:
        yield "possibly flipped head to feet: the reversed order fits better"


CHECK = Check(
    code="flipped",
    words="possibly flipped head to feet",
    meaning="the answer fits better with the slices in reversed order; they were not reversed",
    to_try="check the orientation in a viewer, and convert the series again",
    concerns=EVERY_REGION,
    find_reasons=find_reasons,
)
