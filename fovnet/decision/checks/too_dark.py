"""Slices that seem to show nothing show a region once they are brightened (bars:
`dark_slices.py`)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fovnet.decision.checks.check import REGIONS_NOT_SHOWN, Check, DecidedVolume
from fovnet.decision.dark_slices import HiddenRegion, find_hidden_region
from fovnet.decision.rule import Rule


def measure(volume: DecidedVolume) -> HiddenRegion | None:
    """What slices that are decided to be none show when brightened.

    None if nothing, or if none of them is dark.
    """
    if volume.brightened_probabilities is None:
        return None
    shows_nothing = volume.decision.decided_labels[:, -1]
    return find_hidden_region(
        shows_nothing, volume.brightened_probabilities, volume.stack.edges_mm, volume.classes
    )


def find_reasons(hidden_region: HiddenRegion, rule: Rule) -> Iterator[str]:
    """A sentence, always."""
    height_text = (
        f"{math.floor(hidden_region.extent_mm):.0f} mm of slices that seem to show nothing"
    )
    yield f"too dark in part: {height_text} show {hidden_region.region} when they are brightened"


CHECK = Check(
    code="too-dark",
    words="partly too dark",
    meaning="slices that seem to show nothing are much darker than the others, and show a region "
    "once they are brightened: stations joined without matching their brightness, or signal lost "
    "beyond the coil",
    to_try="give all parts the same brightness (normalise each station), or predict each by itself",
    measure=measure,
    concerns=REGIONS_NOT_SHOWN,
    find_reasons=find_reasons,
)
