"""The answer is not sure, and along a region another one is nearly as probable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.decision.chain.spans import Decision, Span
from fovnet.decision.checks.check import EXTENTS_ALONE, Check, DecidedVolume
from fovnet.decision.rule import Rule

LEAST_RIVAL_SHARE = 0.7
"""Ratio of two classes' mean probabilities along a span from which on either may be right."""


@dataclass(frozen=True)
class Rivals:
    """The volume's confidence, and each region with the class that is nearly as probable along
    it."""

    volume_confidence: float
    region_pairs: tuple[tuple[str, str], ...]


def measure(volume: DecidedVolume) -> Rivals:
    """The pairs, feet to head; one for each span that has a rival."""
    return find_rivals(volume.decision, volume.classes)


def find_rivals(decision: Decision, classes: Sequence[str]) -> Rivals:
    """The rivals of a decision with these classes: each span's region with the class nearly as
    probable along it, if there is one."""
    region_rival_pairs = []
    for span in decision.spans:
        own_probability, rival, rival_probability = _strongest_rival(decision, span, classes)
        if rival_probability >= LEAST_RIVAL_SHARE * own_probability:
            region_rival_pairs.append((span.region, rival))
    return Rivals(decision.volume_confidence, tuple(region_rival_pairs))


def find_reasons(volume_rivals: Rivals, rule: Rule) -> Iterator[str]:
    """A sentence for each pair, if the volume's confidence is below its bar."""
    if volume_rivals.volume_confidence < rule.min_confidence:
        for region, rival in volume_rivals.region_pairs:
            yield f"two answers are nearly equal: {region} or {rival}"


def _strongest_rival(
    decision: Decision, span: Span, classes: Sequence[str]
) -> tuple[float, str, float]:
    """Mean probability of a span's region along it; the most probable class that labels none of its
    slices, and its mean probability."""
    span_rows = slice(span.first, span.last + 1)
    mean_by_class = decision.smoothed_probabilities[span_rows].mean(axis=0)
    own_probability = float(mean_by_class[classes.index(span.region)])
    other_means = np.where(decision.decided_labels[span_rows].any(axis=0), -1.0, mean_by_class)
    rival_index = int(other_means.argmax())
    return own_probability, classes[rival_index], float(other_means[rival_index])


CHECK = Check(
    code="two-answers",
    words="two answers nearly equal",
    meaning="the confidence is below the bar, and along a span another region is nearly as "
    "probable as the predicted one; the message names both",
    to_try="look at the picture",
    measure=measure,
    concerns=EXTENTS_ALONE,
    find_reasons=find_reasons,
)
