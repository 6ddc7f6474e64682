"""So few slices, or so thin a slab, that nothing could contradict an answer.

What is said of its regions is as sure as in other volumes: of 77 statements on 439 simulated
volumes 75 were right.  Where they end is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fovnet.decision.checks.check import EXTENTS_ALONE, Check, DecidedVolume
from fovnet.decision.rule import OBSERVATION_MM, Rule

LEAST_SLICES = 5
LEAST_OBSERVATIONS = 2.0
"""Slices, and independent observations (see OBSERVATION_MM).  Three slices in random order are in
the body's order, either way up, with probability 1/3, four with 1/12, five with 1/60; slices within
20 mm show the same thing."""


@dataclass(frozen=True)
class Slab:
    """The slices of a volume, or those before it was resampled if fewer, and its independent
    observations."""

    slice_count: int
    observation_count: float


def measure(volume: DecidedVolume) -> Slab:
    """The slab that was decided on."""
    cuts = len(volume.decision.slice_confidence)
    return Slab(
        min(cuts, volume.stack.label_slice_count or cuts), volume.decision.observation_count
    )


def find_reasons(slab: Slab, rule: Rule) -> Iterator[str]:
    """A sentence if the slab has too few slices or too few observations."""
    if slab.slice_count < LEAST_SLICES:
        yield f"too few slices, thin neighbours averaged: {slab.slice_count}, at least {LEAST_SLICES} wanted"
    elif slab.observation_count < LEAST_OBSERVATIONS:
        depth_mm = math.floor(10 * OBSERVATION_MM * slab.observation_count) / 10
        least_mm = OBSERVATION_MM * LEAST_OBSERVATIONS
        yield f"too thin a slab: {depth_mm:g} mm, at least {least_mm:.0f} mm wanted"


CHECK = Check(
    code="too-few-slices",
    words="too few slices",
    meaning="fewer than 5 slices, thin neighbours averaged, or a slab thinner than 20 mm: nothing "
    "could contradict an answer",
    to_try="predict a series of the same visit that covers more",
    measure=measure,
    concerns=EXTENTS_ALONE,
    find_reasons=find_reasons,
)
