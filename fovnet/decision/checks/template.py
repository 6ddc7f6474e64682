"""The header gives positions in the coordinates of a template, and none in the scanner's."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.decision.checks.check import EXTENTS_ALONE, Check, DecidedVolume
from fovnet.decision.rule import Rule


def measure(volume: DecidedVolume) -> bool:
    """Whether heights are in a template's coordinates."""
    return volume.stack.is_in_template


def find_reasons(is_in_template: bool, rule: Rule) -> Iterator[str]:
    """A sentence if they are."""
    if is_in_template:
        millimetres = "its millimetres are those of a template (MNI 152, Talairach)"
        yield f"{millimetres}: the body was stretched and moved to fit"


CHECK = Check(
    code="template",
    words="a template's millimetres",
    meaning="the header gives positions in the coordinates of a template (MNI 152, Talairach), to "
    "which the body was stretched and moved, and not in the scanner's: heights and lengths are not "
    "those of the person",
    to_try="predict the image as it was before normalisation",
    measure=measure,
    concerns=EXTENTS_ALONE,
    find_reasons=find_reasons,
)
