"""A region, or the whole answer, is less probable than it has to be.

A region has a fixed bar; that of the answer, `min_confidence`, keeps a stated error
(`confidence_bar.py`), and is fitted to the validation volumes that no other check doubts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fovnet.decision.chain.spans import Decision
from fovnet.decision.checks.check import EXTENTS_ALONE, Check, Reason
from fovnet.decision.checks.percent import percents_below_bar
from fovnet.decision.rule import Rule

LEAST_REGION_CONFIDENCE = 0.7
"""A region less probable than this may be the best guess, but is doubted."""


def find_region_reasons(decision: Decision, rule: Rule) -> Iterator[Reason]:
    """A reason to doubt for each span that is less probable than LEAST_REGION_CONFIDENCE."""
    for span in decision.spans:
        if span.confidence < LEAST_REGION_CONFIDENCE:
            confidence_percent, bar_percent = percents_below_bar(
                span.confidence, LEAST_REGION_CONFIDENCE
            )
            yield Reason(
                f"many of the slices called {span.region} may show something else",
                f"{confidence_percent} of the slices called {span.region} are expected to show "
                f"it, at least {bar_percent} wanted",
            )


def find_volume_reasons(decision: Decision, rule: Rule) -> Iterator[Reason]:
    """A reason to doubt if the volume's confidence is below the rule's bar."""
    if decision.volume_confidence < rule.min_confidence:
        confidence_percent, bar_percent = percents_below_bar(
            decision.volume_confidence, rule.min_confidence
        )
        yield Reason(
            "where regions begin and end is not sure",
            f"confidence {confidence_percent}, at least {bar_percent} wanted",
        )


CHECK = Check(
    code="low-confidence",
    words="not sure where regions begin and end",
    meaning="the volume's confidence is below the ensemble's bar, or a region of the answer is "
    "less probable than 0.7",
    to_try="look at the picture: the regions are the best guess",
    concerns=EXTENTS_ALONE,
    find_reasons=find_volume_reasons,
)
REGION_CHECK = replace(CHECK, find_reasons=find_region_reasons)
