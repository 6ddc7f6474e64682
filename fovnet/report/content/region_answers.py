"""What is said of each region, as the pages show it: chips, a sentence, and what a doubt makes
unsure.

An ensemble that was tuned by an earlier fovnet says nothing region by region: its spans then stand
for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fovnet.decision.statements import (
    NO_REGION,
    UNSURE,
    YES,
    Statement,
    best_guess,
    statement_sentences,
    unsure_sentence,
)
from fovnet.regions import NONE, Vocabulary
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.words import join_names

ANSWERS = {
    "uncertain": "uncertain",
    "refused": "refused",
    "partly": "partly answered",
    "ok": "answered",
}
"""The status of a volume, in words; those that need a look first."""
GUESS_SENTENCES = (
    "A best guess is one run of neighbouring regions in the order of the body, and a spine beside "
    "them; so a region that it leaves out may be more probable than one that it has."
)
ENDS = "where regions begin and end"
"""What a doubt makes unsure that leaves every statement as it is."""


@dataclass(frozen=True)
class RegionChip:
    """A chip: the answer on one region.

    answer    "yes", "no" or "unsure"
    percent   probability that the region is shown; None without one
    colour    of the region
    is_guess  whether it is in the best guess
    """

    region: str
    answer: str
    percent: int | None
    colour: str
    is_guess: bool


@dataclass(frozen=True)
class DoubtGroup:
    """Doubts that make the same unsure.

    unsure     names the regions, or their ends; "" where nothing is said region by region
    sentences  one for each doubt; none where `unsure` says it all
    figures    those behind the doubts, each with the doubt in words
    """

    unsure: str
    sentences: tuple[str, ...]
    figures: tuple[tuple[str, str], ...] = ()


def chips(statements: Sequence[Statement], vocabulary: Vocabulary) -> tuple[RegionChip, ...]:
    """One for each statement."""
    guess = best_guess(statements)
    return tuple(
        RegionChip(
            statement.region,
            statement.answer,
            round(100 * statement.probability),
            vocabulary.colour(statement.region),
            statement.region in guess,
        )
        for statement in statements
    )


def chips_of_spans(
    regions: Sequence[str], status: str, vocabulary: Vocabulary
) -> tuple[RegionChip, ...]:
    """One for each region that has a span, where nothing is said region by region."""
    answer = YES if status == "ok" else UNSURE
    return tuple(
        RegionChip(name, answer, percent=None, colour=vocabulary.colour(name), is_guess=True)
        for name in regions
    )


def answer_sentence(statements: Sequence[Statement], regions: Sequence[str], status: str) -> str:
    """What is said of a volume, in plain words; "" of a refused one.

    regions  those with a span, which are told where nothing is said region by region
    """
    if statements:
        return statement_sentences(statements)
    if status == "refused":
        return ""
    names = join_names(regions) or NO_REGION
    return f"Shows {names}." if status == "ok" else f"Best guess: {names}."


def is_only_guess(statements: Sequence[Statement], status: str) -> bool:
    """Whether all that is predicted is a guess: nothing is surely shown, nor surely nothing."""
    return status != "ok" and all(statement.answer != YES for statement in statements)


def is_guess_unsure(statements: Sequence[Statement]) -> bool:
    """Whether a region of the best guess is unsure."""
    guess = best_guess(statements)
    return any(statement.answer == UNSURE and statement.region in guess for statement in statements)


def unsure_regions(
    statements: Sequence[Statement], regions: Sequence[str], status: str
) -> tuple[str, ...]:
    """Those whose spans are drawn as guesses."""
    if statements:
        return tuple(statement.region for statement in statements if statement.answer == UNSURE)
    return tuple(regions) if status == "uncertain" else ()


def doubt_groups(
    facts: Mapping[str, Any], statements: Sequence[Statement]
) -> tuple[DoubtGroup, ...]:
    """The regions unsure by their probability alone, then the doubts in a volume's JSON, those
    about its regions before those about their ends; the message of an uncertain or refused answer
    that lists none."""
    doubts_of_part: dict[str, list[Mapping[str, Any]]] = {}
    for doubt in facts.get("doubts") or ():
        if doubt.get("sentence") and doubt.get("code") != NONE:
            doubts_of_part.setdefault(_unsure_part(str(doubt.get("code")), statements), []).append(
                doubt
            )
    if not (doubts_of_part or statements) and facts.get("message") and facts.get("status") != "ok":
        doubts_of_part = {"": [{"sentence": facts["message"]}]}
    ordered_parts = sorted(doubts_of_part.items(), key=lambda entry: entry[0] == ENDS)
    groups = [_doubt_group(part, doubts) for part, doubts in ordered_parts]
    if sentence := unsure_sentence(statements):
        regions = [
            statement.region
            for statement in statements
            if not (statement.is_sure or statement.doubts)
        ]
        groups.insert(0, DoubtGroup(_region_names(regions, statements), (sentence,)))
    return tuple(groups)


def _doubt_group(part: str, doubts: Sequence[Mapping[str, Any]]) -> DoubtGroup:
    """Without a sentence that says of the ends what the heading says."""
    sentences = [str(doubt["sentence"]) for doubt in doubts]
    figures = [
        (doubt_in_words(str(doubt.get("code"))), str(doubt["figures"]))
        for doubt in doubts
        if doubt.get("figures")
    ]
    telling_sentences = [text for text in sentences if part != ENDS or not text.startswith(ENDS)]
    return DoubtGroup(part, tuple(telling_sentences), tuple(figures))


def _unsure_part(code: str, statements: Sequence[Statement]) -> str:
    if not statements:
        return ""
    return (
        _region_names(
            [statement.region for statement in statements if code in statement.doubts], statements
        )
        or ENDS
    )


def _region_names(regions: Sequence[str], statements: Sequence[Statement]) -> str:
    return "every region" if len(regions) == len(statements) else join_names(regions)
