"""No region is shown: an answer, not a reason for doubt."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.decision.chain.spans import Decision
from fovnet.decision.checks.check import EXTENTS_ALONE, Check
from fovnet.decision.rule import Rule


def find_reasons(decision: Decision, rule: Rule) -> Iterator[str]:
    """A sentence where no region is shown."""
    if not decision.spans:
        yield "shows none of the regions"


CHECK = Check(
    code="none",
    status="ok",
    words="shows none of the regions",
    meaning="air, noise, a phantom, or a part of the body that is in no region, such as an arm",
    to_try="nothing: it is an answer",
    concerns=EXTENTS_ALONE,
    find_reasons=find_reasons,
)
