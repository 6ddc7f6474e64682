"""The picture is much smaller than all that the networks were validated on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fovnet.decision.checks.check import EVERY_REGION, Check, DecidedVolume
from fovnet.decision.confidence_bar import FALSE_ALARM_SHARE
from fovnet.decision.rule import Rule

SMALLEST_EXTENT_SHARE = 0.75
"""Share of the smallest validation extent: volumes a little smaller were mostly right; mice, a
tenth of people's size, were labelled spine with high confidence."""


def measure(volume: DecidedVolume) -> float:
    """The picture's largest extent along an axis, in mm."""
    return volume.picture.extent_mm


def fit_bar(extents_mm: Sequence[float]) -> float:
    """SMALLEST_EXTENT_SHARE times the smallest of n extents, in mm; 0 if too few.

    A new volume is below the smallest with probability 1/(n + 1), which may not exceed
    FALSE_ALARM_SHARE.
    """
    are_enough = FALSE_ALARM_SHARE * (len(extents_mm) + 1) >= 1
    if not are_enough:
        return 0.0
    return SMALLEST_EXTENT_SHARE * min(extents_mm)


def find_reasons(extent_mm: float, rule: Rule) -> Iterator[str]:
    """A sentence if the volume's extent is below the rule's bar."""
    if extent_mm < rule.least_extent_mm:
        written_extent_mm = math.floor(10 * extent_mm) / 10
        written_bar_mm = math.ceil(10 * rule.least_extent_mm) / 10
        extent_and_bar = f"{written_extent_mm:g} mm along its longest side, at least {written_bar_mm:g} mm wanted"
        yield f"much smaller than anything the networks were validated on: {extent_and_bar}"


CHECK = Check(
    code="too-small",
    words="smaller than what the networks know",
    meaning="along every axis the picture is shorter than three quarters of the smallest volume "
    "that the networks were validated on: an animal, a small part, or voxel sizes in another unit",
    to_try="check the voxel sizes; if they are right, use networks trained on such volumes",
    measure=measure,
    bar_setting="least_extent_mm",
    fit_bar=fit_bar,
    concerns=EVERY_REGION,
    find_reasons=find_reasons,
)
