"""The networks of the ensemble give the same slices different regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fovnet.decision.checks.check import Check, Concern, DecidedVolume, Floats, Reason, StatedRegion
from fovnet.decision.checks.percent import percents_below_bar
from fovnet.decision.confidence_bar import conformal_floor
from fovnet.decision.rule import Rule
from fovnet.maths.agreement import measure_agreement


def measure(volume: DecidedVolume) -> Floats:
    """(s,) agreement of the members on each slice, 0 to 1."""
    return measure_agreement(volume.member_probabilities, volume.member_weights)


def fit_bar(agreements: Sequence[Floats]) -> float:
    """The agreement that few unseen volumes fall below, if they are like these; 0 if these are too
    few."""
    return conformal_floor(
        np.array([float(slice_agreement.mean()) for slice_agreement in agreements])
    )


def find_reasons(slice_agreement: Floats, rule: Rule) -> Iterator[Reason]:
    """A reason to doubt if the mean agreement of the slices (s,) is below the rule's bar."""
    mean_agreement = float(slice_agreement.mean())
    if mean_agreement < rule.least_agreement:
        agreement_percent, bar_percent = percents_below_bar(mean_agreement, rule.least_agreement, 1)
        yield Reason(
            "the networks disagree about what the slices show",
            f"agreement {agreement_percent}, at least {bar_percent} wanted",
        )


def do_members_disagree(slice_agreement: Floats, rule: Rule, region: StatedRegion) -> bool:
    """Whether the region is in the answer, and the mean over its slices is below the bar.

    What is not shown is sure in spite of it: of 45 such statements on 439 simulated volumes 44 were
    right.
    """
    return region.is_shown and float(slice_agreement[region.rows].mean()) < rule.least_agreement


CHECK = Check(
    code="members-disagree",
    words="the networks disagree",
    meaning="the networks of the ensemble predict different regions of the same slices",
    to_try="look at the picture",
    measure=measure,
    bar_setting="least_agreement",
    fit_bar=fit_bar,
    concerns=Concern("regions shown where they disagree", do_members_disagree),
    find_reasons=find_reasons,
)
