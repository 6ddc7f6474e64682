"""The volume looks unlike the training slices, in the networks' features (`novelty.py`).

It leaves the statements on regions unchanged: of 77 such statements on simulated people and real
volumes none was wrong, and of 207 volumes that show no body, of kinds never trained on, as many
surely show a region with it as without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.decision import novelty
from fovnet.decision.checks.check import EXTENTS_ALONE, Check, DecidedVolume, Floats, Reason
from fovnet.decision.checks.percent import percents_below_bar
from fovnet.decision.confidence_bar import conformal_floor
from fovnet.decision.rule import Rule


@dataclass(frozen=True)
class Novelty:
    """The share of validation slices at least as unusual as the volume, and as each of its slices
    (s,)."""

    volume_p_value: float
    slice_p_values: Floats


def measure(volume: DecidedVolume) -> Novelty | None:
    """How unusual the volume and its slices are; None if the ensemble has no novelty reference."""
    if volume.p_values is None:
        return None
    return Novelty(novelty.volume_novelty(volume.p_values, volume.probabilities), volume.p_values)


def fit_bar(novelties: Sequence[Novelty]) -> float:
    """The share that few unseen volumes fall below, if they are like these; 0 if these are too
    few."""
    return conformal_floor(
        np.array([novelty_of_volume.volume_p_value for novelty_of_volume in novelties])
    )


def find_reasons(volume_novelty: Novelty, rule: Rule) -> Iterator[Reason]:
    """A reason to doubt if the volume's novelty p-value is below the rule's bar."""
    if volume_novelty.volume_p_value < rule.least_novelty:
        novelty_percent, bar_percent = percents_below_bar(
            volume_novelty.volume_p_value, rule.least_novelty, 1
        )
        yield Reason(
            "unlike most of what the networks know",
            f"{novelty_percent} of the validation slices are as unusual, at least {bar_percent} "
            "wanted",
        )


CHECK = Check(
    code="unlike-training",
    words="unlike what the networks know",
    meaning="too few of the slices that the networks were validated on look as unusual as this "
    "volume's",
    to_try="look at the picture; for such volumes, use networks trained (or trained further) on "
    "them",
    measure=measure,
    bar_setting="least_novelty",
    fit_bar=fit_bar,
    concerns=EXTENTS_ALONE,
    find_reasons=find_reasons,
)
