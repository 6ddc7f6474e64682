"""Noise around the body is as bright as the body, and was made black (bars:
`volume/slices/noisy_air.py`)."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.decision.checks.check import EVERY_REGION, Check, DecidedVolume
from fovnet.decision.rule import Rule


def measure(volume: DecidedVolume) -> bool:
    """Whether noise was made black."""
    return volume.stack.is_noise_blackened


def find_reasons(is_noise_blackened: bool, rule: Rule) -> Iterator[str]:
    """A sentence if it was."""
    if is_noise_blackened:
        noisy = "a map or a phase image, by the noise around it"
        yield f"{noisy}: the networks were validated on no such pictures"


CHECK = Check(
    code="noisy-air",
    words="noise around the body",
    meaning="noise around the body is as bright as the body, as in phase images and in maps "
    "computed without a mask (ADC, T1, T2); it was made black, and the regions are the best guess: "
    "the networks were not validated on such pictures",
    to_try="predict the magnitude image of the same visit, or mask the map",
    measure=measure,
    concerns=EVERY_REGION,
    find_reasons=find_reasons,
)
