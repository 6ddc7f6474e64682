"""What is said of each region: that the volume shows it, that it does not, or that neither is sure.

    yes     at least `min_extent_mm` of it are in the picture, with a probability of `yes_bar` or
            more
    no      that much is not in the picture, with a probability of `no_bar` or more
    unsure  neither; or a doubt concerns the region (`Check.concerns`); or the spans say otherwise:
            the volume may show it

The bars are chosen on the validation split so that of the `yes`, and of the `no`, of people never
seen at most a stated share is wrong (`fitting/statement_bars.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import calibrate_by_line
from fovnet.decision.chain.presence import Presence
from fovnet.decision.chain.spans import Decision
from fovnet.decision.checks.check import Code, StatedRegion
from fovnet.decision.doubts import Signs, find_codes_of_regions
from fovnet.decision.rule import Rule
from fovnet.regions import NONE, Vocabulary
from fovnet.words import join_names

Floats = NDArray[np.float64]
YES = "yes"
NO = "no"
UNSURE = "unsure"
NO_REGION = f"{NONE} of the regions"
SOME_UNSURE = Code(
    code="regions-unsure",
    words="some regions unsure",
    meaning="these regions are neither probable nor improbable enough for an answer; the message "
    "names each with its probability",
    to_try="look at the picture, mostly at its ends; the other regions are as sure as stated",
    status="partly",
)
"""Of an answer of which some statements are unsure, but not because of a doubt."""


@dataclass(frozen=True)
class RegionEnd:
    """One end of a region, and its 90 % interval; without one where the picture ends, or beside a
    side region."""

    mm: float
    low_mm: float | None = None
    high_mm: float | None = None


@dataclass(frozen=True)
class Statement:
    """What is said of one region.

    answer        "yes", "no" or "unsure"
    probability   that at least `min_extent_mm` of it are shown
    doubts        codes of the doubts because of which it is unsure
    lower, upper  its ends in scanner millimetres; None where no span is given it
    """

    region: str
    answer: str
    probability: float
    doubts: tuple[str, ...] = ()
    lower: RegionEnd | None = None
    upper: RegionEnd | None = None

    @property
    def is_sure(self) -> bool:
        """Whether it is "yes" or "no"."""
        return self.answer != UNSURE


def make_statements(
    decision: Decision, signs: Signs, rule: Rule, vocabulary: Vocabulary
) -> tuple[Statement, ...]:
    """The statement on each region, in the order of the classes; empty if the rule has no bars for
    them, as one tuned by an earlier fovnet."""
    if not rule.states_regions:
        return ()
    probability_by_region = region_probabilities(
        decision.presence, rule, len(vocabulary.chain)
    ).tolist()
    stated_regions = [
        _region_of_statement(decision, region_index, probability)
        for region_index, probability in enumerate(probability_by_region)
    ]
    doubt_codes = find_codes_of_regions(stated_regions, decision, signs, rule)
    region_statements = []
    for region, probability, region_codes in zip(
        vocabulary.classes[:-1], probability_by_region, doubt_codes, strict=True
    ):
        lower_end, upper_end = find_region_ends(decision, region)
        answer = UNSURE
        if not region_codes:
            answer = answer_from_probability(probability, rule, lower_end, upper_end)
        region_statements.append(
            Statement(region, answer, probability, region_codes, lower_end, upper_end)
        )
    return tuple(region_statements)


def volume_status(volume_statements: Sequence[Statement]) -> str:
    """ "ok" if every statement is sure, "partly" if one is, else "uncertain"."""
    sure_count = sum(statement.is_sure for statement in volume_statements)
    if sure_count == len(volume_statements):
        return "ok"
    return "partly" if sure_count else "uncertain"


def unsure_sentence(volume_statements: Sequence[Statement]) -> str:
    """Which regions are unsure by their probability alone; "" if there is none."""
    unsure_texts = [
        f"{statement.region} ({statement.probability:.2f})"
        for statement in volume_statements
        if not (statement.is_sure or statement.doubts)
    ]
    return f"unsure whether it shows {join_names(unsure_texts, 'or')}" if unsure_texts else ""


def best_guess(volume_statements: Sequence[Statement]) -> tuple[str, ...]:
    """The regions of the best guess, sure or not: those that have a span, without any that is
    surely not shown."""
    return tuple(
        statement.region
        for statement in volume_statements
        if statement.lower is not None and statement.answer != NO
    )


def is_guess_sure(volume_statements: Sequence[Statement], status: str) -> bool:
    """Whether every region of the best guess is surely shown, or surely none is: only then its
    confidence is told.  Without statements, whether the status is "ok"."""
    regions = best_guess(volume_statements)
    if not regions:
        return status == "ok"
    return all(statement.is_sure for statement in volume_statements if statement.region in regions)


def statement_sentences(
    volume_statements: Sequence[Statement],
    names_by_region: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """What is said, in a sentence or two: "Shows abdomen. Perhaps also pelvis and chest."

    names_by_region  what regions that are surely shown are called, if not by their own names
    All regions named are the best guess; "Best guess: ..." where none of them is sure.
    """
    sure_regions = [statement.region for statement in volume_statements if statement.answer == YES]
    guesses = [region for region in best_guess(volume_statements) if region not in sure_regions]
    if sure_regions:
        sure_names = [
            name for region in sure_regions for name in names_by_region.get(region, (region,))
        ]
        guess_sentence = f" Perhaps also {join_names(guesses)}." if guesses else ""
        return f"Shows {join_names(sure_names)}.{guess_sentence}"
    if volume_status(volume_statements) == "ok":
        return "Shows none of the regions."
    return f"Best guess: {join_names(guesses) or NO_REGION}."


def region_probabilities(presence: Presence, rule: Rule, chain_region_count: int) -> Floats:
    """(r,) probability that each region is shown, the first `chain_region_count` those of the
    chain: calibrated by the rule's lines."""
    line_by_region = [rule.chain_line] * chain_region_count + [rule.side_line] * (
        len(presence.body_probability) - chain_region_count
    )
    return np.array(
        [
            calibrate_by_line(float(body_probability), float(slice_probability), line)
            for body_probability, slice_probability, line in zip(
                presence.body_probability, presence.slice_probability, line_by_region, strict=True
            )
        ]
    )


def answer_from_probability(
    probability: float, rule: Rule, lower_end: RegionEnd | None, upper_end: RegionEnd | None
) -> str:
    """The answer at a probability, if no doubt concerns the region.

    It agrees with the spans: a region without a span is not said to be shown, nor one with
    min_extent_mm or more said not to be.
    """
    extent_mm = 0.0
    if lower_end and upper_end:
        extent_mm = upper_end.mm - lower_end.mm
    if probability >= rule.yes_bar and lower_end:
        return YES
    if 1.0 - probability >= rule.no_bar and extent_mm < rule.min_extent_mm:
        return NO
    return UNSURE


def _region_of_statement(decision: Decision, region_index: int, probability: float) -> StatedRegion:
    """The region of a column, shown with this chance; its rows are those of its spans, or where it
    has none the one at which it is most probable."""
    is_shown_slice = decision.decided_labels[:, region_index]
    if is_shown_slice.any():
        return StatedRegion(is_shown=True, rows=is_shown_slice, probability=probability)
    is_likeliest_slice = (
        np.arange(len(is_shown_slice)) == decision.smoothed_probabilities[:, region_index].argmax()
    )
    return StatedRegion(is_shown=False, rows=is_likeliest_slice, probability=probability)


def find_region_ends(
    decision: Decision, region: str
) -> tuple[RegionEnd, RegionEnd] | tuple[None, None]:
    """The lower and the upper end of a region's spans; None without any."""
    spans = [span for span in decision.spans if span.region == region]
    if not spans:
        return None, None
    low_mm = min(span.from_mm for span in spans)
    high_mm = max(span.to_mm for span in spans)
    lower_end = RegionEnd(low_mm)
    upper_end = RegionEnd(high_mm)
    for boundary in decision.boundaries:
        if boundary.above == region and boundary.mm == low_mm:
            lower_end = RegionEnd(low_mm, boundary.low_mm, boundary.high_mm)
        if boundary.below == region and boundary.mm == high_mm:
            upper_end = RegionEnd(high_mm, boundary.low_mm, boundary.high_mm)
    return lower_end, upper_end
