"""Reasons not to trust an answer, each with a stable code and a sentence.

    agreement  (s,) of the members on each slice, 0 to 1               unusual  (s,) share of validation slices at least as unusual
    disorder   dissimilarity of neighbouring slices: about 2 for a shuffled stack, near 0 for a body in thin slices
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.dark_slices import Hidden
from fovnet.decision.orientation import Bearing
from fovnet.decision.rule import EVEN, OBSERVATION_MM, Rule
from fovnet.decision.spans import Decision, Span
from fovnet.maths.ordering import neighbour_ratio, passes
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]
DISORDERED = 1.2
"""160 simulated volumes had at most 0.87, and at least 1.48 with their slices shuffled."""
FEWEST, LEAST_OBSERVATIONS = 5, 2.0
"""Slices, and independent observations (see OBSERVATION_MM), below which nothing could contradict an answer.  Three slices in random order
are in the body's order, either way up, with probability 1/3, four with 1/12, five with 1/60; slices within 20 mm show the same thing."""
LIKELY = 0.7
"""A region less probable than this may be the best guess, but is doubted; a set of regions is doubted below EVEN."""
NEAR = 0.7
"""Ratio of two classes' mean probabilities along a span from which on either may be right."""
FAINT = 0.001       # a probability below it is not written as 0.0 %
BLOCKS = 16         # a slice is compared with its neighbours as 16 x 16 block means, in which noise has averaged out


@dataclass(frozen=True)
class Doubt:
    """One reason: its code and its sentence.  The code "none" states that no region is shown, and is no reason for doubt."""

    code: str
    sentence: str


@dataclass(frozen=True)
class Signs:
    """What was measured on a volume besides its decision.  `novelty` is None if the ensemble has no novelty
    reference, `bearing` if the body's orientation cannot be found or nothing is shown.  `passes` as in
    `interleaved`; `extent_mm` is the picture's largest extent along an axis, None if it was not measured;
    `hidden` is what dark slices show when brightened, None if nothing; `noisy_air` is whether bright noise
    around the body was made black; `in_template` whether heights are in the coordinates of a template;
    `own_slices` is the number of slices before a volume was resampled, None if it was not; `phantom` is
    whether the picture resembles one."""

    agreement: float
    disorder: float
    novelty: float | None = None
    slice_agreement: Floats | None = None
    slice_unusual: Floats | None = None
    bearing: Bearing | None = None
    passes: int = 1
    extent_mm: float | None = None
    hidden: Hidden | None = None
    noisy_air: bool = False
    own_slices: int | None = None
    phantom: bool = False
    in_template: bool = False


def disorder(pixels: NDArray[np.uint8]) -> float:
    """Dissimilarity of neighbouring slices (s, side, side), with brightness and contrast of each slice normalised."""
    return neighbour_ratio(_standardised(pixels))


def interleaved(pixels: NDArray[np.uint8]) -> int:
    """Number of interleaved passes if slices (s, side, side) seem to be stored in order of acquisition, not of the body; else 1."""
    return passes(_standardised(pixels))


def _standardised(pixels: NDArray[np.uint8]) -> Floats:
    """(s, 256) block means of slices, with brightness and contrast of each slice normalised."""
    s, side, _ = pixels.shape
    block = side // BLOCKS
    means = pixels[:, : block * BLOCKS, : block * BLOCKS].reshape(s, BLOCKS, block, BLOCKS, block).mean(axis=(2, 4)).reshape(s, -1)
    means = means - means.mean(axis=1, keepdims=True)
    return np.asarray(means / np.maximum(means.std(axis=1, keepdims=True), 1.0))


def doubts(decision: Decision, signs: Signs, rule: Rule, vocabulary: Vocabulary) -> tuple[Doubt, ...]:
    """Every reason to doubt the decision on a volume: of the picture, then of the answer.  "none" comes first if nothing is shown."""
    found = (*_of_the_picture(decision, signs, rule), *_of_the_answer(decision, rule, vocabulary))
    return found if decision.spans else (Doubt("none", "shows none of the regions"), *found)


def _of_the_picture(decision: Decision, signs: Signs, rule: Rule) -> Iterator[Doubt]:
    """Doubts about the volume itself.  The order of slices and the axes are judged only if a region is shown: noise has no order."""
    if signs.novelty is not None and signs.novelty < rule.least_novelty:
        seen, wanted = _below(signs.novelty, rule.least_novelty, 1)
        share = f"{seen} of the validation slices are as unusual"
        yield Doubt("unlike-training", f"unlike most of what the networks know: {share}, at least {wanted} wanted")
    if signs.agreement < rule.least_agreement:
        percent, wanted = _below(signs.agreement, rule.least_agreement, 1)
        yield Doubt("members-disagree", f"the networks disagree: agreement {percent}, at least {wanted} wanted")
    if signs.extent_mm is not None and signs.extent_mm < rule.least_extent_mm:
        reach, least = math.floor(10 * signs.extent_mm) / 10, math.ceil(10 * rule.least_extent_mm) / 10
        size = f"{reach:g} mm along its longest side, at least {least:g} mm wanted"
        yield Doubt("too-small", f"much smaller than anything the networks were validated on: {size}")
    if signs.hidden is not None:
        height = f"{math.floor(signs.hidden.extent_mm):.0f} mm of slices that seem to show nothing"
        yield Doubt("too-dark", f"too dark in part: {height} show {signs.hidden.region} when they are brightened")
    if signs.noisy_air:
        yield Doubt("noisy-air", "a map or a phase image, by the noise around it: the networks were validated on no such pictures")
    if signs.phantom:
        yield Doubt("phantom", "looks like a phantom: smooth inside as water is, or round as a bottle")
    if signs.in_template:
        yield Doubt("template", "its millimetres are those of a template (MNI 152, Talairach): the body was stretched and moved to fit")
    slices = min(len(decision.confidence), signs.own_slices or FEWEST)
    if slices < FEWEST:
        yield Doubt("too-few-slices", f"too few slices, thin neighbours averaged: {slices}, at least {FEWEST} wanted")
    elif decision.observations < LEAST_OBSERVATIONS:
        deep = math.floor(10 * OBSERVATION_MM * decision.observations) / 10
        yield Doubt("too-few-slices", f"too thin a slab: {deep:g} mm, at least {OBSERVATION_MM * LEAST_OBSERVATIONS:.0f} mm wanted")
    if decision.spans and signs.disorder > DISORDERED:
        yield Doubt("out-of-order", "neighbouring slices do not resemble each other: they may be in the wrong order")
    elif decision.spans and signs.passes > 1:
        acquired = f"as they were acquired, in {signs.passes} interleaved passes"
        yield Doubt("out-of-order", f"slices seem to lie {acquired}, and not in their order")
    if decision.flipped:
        yield Doubt("flipped", "possibly flipped head to feet: the reversed order fits better")
    if decision.spans and signs.bearing is not None and signs.bearing.upright < rule.least_upright:
        upright = signs.bearing.upright
        percent, wanted = _below(upright, rule.least_upright, 1)
        share = f"{percent if upright >= FAINT else f'under {FAINT:.1%}'} that slices run from feet to head"
        rather = f", as the header has it, at least {wanted} wanted; by the picture rather from {signs.bearing.rather}"
        yield Doubt("turned", f"its axes look wrong: {share}{rather}")


def _of_the_answer(decision: Decision, rule: Rule, vocabulary: Vocabulary) -> Iterator[Doubt]:
    """Doubts about the answer: regions of low probability, a set of regions that is probably another, or a confidence below the bar, then
    preceded by any class that is nearly as probable."""
    for span in decision.spans:
        if span.confidence < LIKELY:
            percent, wanted = _below(span.confidence, LIKELY)
            why = f"{percent} of the slices called so are expected to show it, at least {wanted} wanted"
            yield Doubt("low-confidence", f"{span.region} is only the best guess: {why}")
    if decision.spans and decision.set_probability < EVEN:         # without spans it is too low: 0.01 to 0.05 on eight right volumes
        chance, _ = _below(decision.set_probability, EVEN)
        only = f"{chance} that it shows {_listed([span.region for span in decision.spans])} and nothing else"
        yield Doubt("other-regions", f"more likely than not, it shows a region more, or one less: {only}")
    if decision.sure < rule.min_confidence:
        yield from _rivals(decision, vocabulary)
        percent, bar = _below(decision.sure, rule.min_confidence)
        yield Doubt("low-confidence", f"not sure enough: confidence {percent}, a volume's answer counts from {bar} on")


def _below(share: float, bar: float, digits: int = 0) -> tuple[str, str]:
    """A share below a bar, and the bar, in percent with so many decimals.  If both would read the same, they get one more decimal where
    needed, the share rounded down and the bar up: 69.9% and 70%."""
    percent, wanted = f"{share:.{digits}%}", f"{bar:.{digits}%}"
    if percent != wanted:
        return percent, wanted
    finer = 10 ** (digits + 3)
    if round(bar, digits + 2) != bar:
        wanted = f"{math.ceil(round(finer * bar, 6)) / finer:.{digits + 1}%}"
    return f"{math.floor(finer * share) / finer:.{digits + 1}%}", wanted


def _listed(names: list[str]) -> str:
    """ "chest", "chest and head", "abdomen, chest and head": each name once."""
    names = list(dict.fromkeys(names))
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _rivals(decision: Decision, vocabulary: Vocabulary) -> Iterator[Doubt]:
    """Spans along which another class is nearly as probable as the predicted one."""
    for span in decision.spans:
        mine, rival, other = _second(decision, span, vocabulary)
        if other >= NEAR * mine:
            yield Doubt("two-answers", f"two answers are nearly equal: {span.region} or {rival}")


def _second(decision: Decision, span: Span, vocabulary: Vocabulary) -> tuple[float, str, float]:
    """Mean probability of a span's region along it; the most probable class that labels none of its slices, and its mean probability."""
    rows = slice(span.first, span.last + 1)
    means = decision.smoothed[rows].mean(axis=0)
    own = float(means[vocabulary.classes.index(span.region)])
    others = np.where(decision.decided[rows].any(axis=0), -1.0, means)
    at = int(others.argmax())
    return own, vocabulary.classes[at], float(others[at])
