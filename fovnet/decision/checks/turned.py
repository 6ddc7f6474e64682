"""Judging by the pictures, slices do not run from feet to head as the header says
(`orientation.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.decision.checks.check import EVERY_REGION, Check, DecidedVolume, Reason
from fovnet.decision.checks.percent import percents_below_bar
from fovnet.decision.confidence_bar import FALSE_ALARM_SHARE, conformal_floor
from fovnet.decision.orientation import Bearing
from fovnet.decision.rule import Rule
from fovnet.volume.slices.planes import states_axes

MOST_UPRIGHT = 0.2
"""Upper limit of the bar: of the five directions of slices another is more probable below 1/5."""
LEAST_WRITTEN_SHARE = 0.001  # a probability below it is not written as 0.0 %


@dataclass(frozen=True)
class JudgedAxes:
    """The body's orientation judged by the pictures, and whether the header states the directions
    of its axes."""

    bearing: Bearing
    are_stated: bool = True


def measure(volume: DecidedVolume) -> JudgedAxes | None:
    """The orientation of the body's axes; None if no region is shown, the volume is too thin to
    tell, or the ensemble has no network for it."""
    if not volume.decision.spans:
        return None
    bearing = volume.picture.bearing
    if bearing is None:
        return None
    return JudgedAxes(bearing, states_axes(volume.stack))


def fit_bar(axes_of_volumes: Sequence[JudgedAxes]) -> float:
    """The probability that FALSE_ALARM_SHARE of the volumes whose headers state their axes fall
    below.

    At most MOST_UPRIGHT; 0 if there are too few.
    """
    upright_probabilities = np.array(
        [axes.bearing.upright_probability for axes in axes_of_volumes if axes.are_stated]
    )
    return min(MOST_UPRIGHT, conformal_floor(upright_probabilities, FALSE_ALARM_SHARE))


def find_reasons(axes: JudgedAxes, rule: Rule) -> Iterator[Reason]:
    """A reason to doubt if the probability of upright axes is below the rule's bar."""
    upright = axes.bearing.upright_probability
    if upright < rule.least_upright:
        upright_percent, bar_percent = percents_below_bar(upright, rule.least_upright, 1)
        share_text = upright_percent
        if upright < LEAST_WRITTEN_SHARE:
            share_text = f"under {LEAST_WRITTEN_SHARE:.1%}"
        yield Reason(
            "its axes look wrong: judging by the picture, slices do not run from feet to head, as "
            f"the header has it, but from {axes.bearing.direction}",
            f"{share_text} that slices run from feet to head, at least {bar_percent} wanted",
        )


CHECK = Check(
    code="turned",
    words="axes perhaps wrong",
    meaning="judging by the pictures, slices do not run from feet to head as the header says: the "
    "extents would be along another axis; nothing was turned",
    to_try="check the orientation in a viewer, and convert the original series again",
    measure=measure,
    bar_setting="least_upright",
    fit_bar=fit_bar,
    concerns=EVERY_REGION,
    find_reasons=find_reasons,
)
