"""The exact set of regions in the answer is less likely than not."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.decision.chain.spans import Decision
from fovnet.decision.checks.check import EXTENTS_ALONE, Check, Reason
from fovnet.decision.checks.percent import percents_below_bar
from fovnet.decision.rule import EVEN_PROBABILITY, Rule
from fovnet.words import join_names


def find_reasons(decision: Decision, rule: Rule) -> Iterator[Reason]:
    """A reason to doubt a set of regions less probable than EVEN_PROBABILITY; none where nothing is
    shown: it was 0.01 to 0.05 on eight volumes that were right."""
    if decision.spans and decision.set_probability < EVEN_PROBABILITY:
        probability_percent, _ = percents_below_bar(decision.set_probability, EVEN_PROBABILITY)
        region_names = join_names(span.region for span in decision.spans)
        yield Reason(
            "more likely than not, the regions shown are not exactly these",
            # it may be above the probability of one of its regions
            f"{probability_percent} that it shows {region_names} and nothing else, where a single "
            "slice of a region counts; calibrated apart from the probability of each region",
        )


CHECK = Check(
    code="other-regions",
    words="perhaps not exactly these regions",
    meaning="the exact set of predicted regions is less likely than not",
    to_try="look at both ends of the volume, where regions begin and end",
    concerns=EXTENTS_ALONE,
    find_reasons=find_reasons,
)
