"""The values lie on both sides of the background, as in maps (bars: `volume/both_signs.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.decision.checks.check import EVERY_REGION, Check, DecidedVolume
from fovnet.decision.rule import Rule


def measure(volume: DecidedVolume) -> bool:
    """Whether the volume has both signs."""
    return volume.stack.has_both_signs


def find_reasons(has_both_signs: bool, rule: Rule) -> Iterator[str]:
    """A sentence if it has."""
    if has_both_signs:
        signed = "a field map, a phase image or another map, by its negative values"
        yield f"{signed}: the networks were validated on no such pictures"


CHECK = Check(
    code="both-signs",
    words="values on both sides of the background",
    meaning="the background lies amid the values, as much below it as above, as in field maps "
    "(Hz), phase images, differences and statistic maps: the networks were not validated on such "
    "pictures",
    to_try="predict the magnitude image of the same visit",
    measure=measure,
    concerns=EVERY_REGION,
    find_reasons=find_reasons,
)
