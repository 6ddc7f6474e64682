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
    NO,
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
from fovnet.report.content.parts import VolumeParts
from fovnet.report.content.wording import whole_mm
from fovnet.words import join_names

STATUS_IN_WORDS = {
    "uncertain": "uncertain",
    "refused": "refused",
    "partly": "partly answered",
    "ok": "answered",
}
"""The status of a volume, in words; those that need a look first."""
GUESS_EXPLANATION = (
    "A best guess is one run of neighbouring regions in the order of the body, and a spine beside "
    "them; so a region that it leaves out may be more probable than one that it has."
)
ENDS_IN_WORDS = "where regions begin and end"
"""What a doubt makes unsure that leaves every statement as it is."""


@dataclass(frozen=True)
class RegionChip:
    """A chip: the answer on one region.

    answer    "yes", "no" or "unsure"
    percent   probability that the region is shown; None without one
    colour    of the region
    is_guess  whether it is in the best guess
    whole     the region that it is a part of; "" for a region
    extent    of a part that may be shown, from its lower to its upper end; "" for a region
    """

    region: str
    answer: str
    percent: int | None
    colour: str
    is_guess: bool
    whole: str = ""
    extent: str = ""


@dataclass(frozen=True)
class DoubtGroup:
    """Doubts that make the same part of an answer unsure.

    unsure_part  names the regions, or their ends; "" where nothing is said region by region
    sentences    one for each doubt; none where `unsure_part` says it all
    figures      (doubt in words, its figure) of each doubt that has one
    """

    unsure_part: str
    sentences: tuple[str, ...]
    figures: tuple[tuple[str, str], ...] = ()


def chips_of_statements(
    statements: Sequence[Statement], vocabulary: Vocabulary
) -> tuple[RegionChip, ...]:
    """A chip for each statement, in their order."""
    guessed_regions = best_guess(statements)
    return tuple(
        RegionChip(
            statement.region,
            statement.answer,
            percent=round(100 * statement.probability),
            colour=vocabulary.colour(statement.region),
            is_guess=statement.region in guessed_regions,
        )
        for statement in statements
    )


def chips_of_parts(
    statement: Statement, parts: VolumeParts, vocabulary: Vocabulary
) -> tuple[RegionChip, ...]:
    """A chip for each part of the region of a statement; none of one that is surely not shown."""
    part_statements = parts.of(statement)
    guessed_parts = best_guess(part_statements)
    return tuple(
        RegionChip(
            part.region,
            part.answer,
            percent=round(100 * part.probability),
            colour=vocabulary.colour(part.region),
            is_guess=part.region in guessed_parts,
            whole=statement.region,
            extent=_extent_of_part(part),
        )
        for part in part_statements
    )


def _extent_of_part(part: Statement) -> str:
    """ "−40 to 75 mm": where a part that may be shown begins and ends; else ""."""
    if part.answer == NO or part.lower is None or part.upper is None:
        return ""
    return f"{whole_mm(part.lower.mm)} to {whole_mm(part.upper.mm)}\N{NO-BREAK SPACE}mm"


def chips_of_spans(
    regions: Sequence[str], status: str, vocabulary: Vocabulary
) -> tuple[RegionChip, ...]:
    """A chip for each region that has a span, where nothing is said region by region: yes if the
    status is ok, else unsure."""
    answer = UNSURE
    if status == "ok":
        answer = YES
    return tuple(
        RegionChip(region, answer, percent=None, colour=vocabulary.colour(region), is_guess=True)
        for region in regions
    )


def answer_sentence(
    statements: Sequence[Statement], regions: Sequence[str], status: str, parts: VolumeParts
) -> str:
    """What is said of a volume, in plain words; "" of a refused one.

    regions  those with a span, which are told where nothing is said region by region
    """
    if statements:
        return statement_sentences(statements, parts.name_regions(statements))
    if status == "refused":
        return ""
    region_names = join_names(regions) or NO_REGION
    if status == "ok":
        return f"Shows {region_names}."
    return f"Best guess: {region_names}."


def is_only_guess(statements: Sequence[Statement], status: str) -> bool:
    """Whether all that is predicted is a guess: nothing is surely shown, nor surely nothing."""
    return status != "ok" and all(statement.answer != YES for statement in statements)


def is_guess_unsure(statements: Sequence[Statement]) -> bool:
    """Whether a region of the best guess is unsure."""
    guessed_regions = best_guess(statements)
    return any(
        statement.answer == UNSURE and statement.region in guessed_regions
        for statement in statements
    )


def find_unsure_regions(
    statements: Sequence[Statement], regions: Sequence[str], status: str
) -> tuple[str, ...]:
    """The regions whose spans are drawn as guesses: those of unsure statements; without statements,
    all `regions` that have a span if the status is uncertain."""
    if statements:
        return tuple(statement.region for statement in statements if statement.answer == UNSURE)
    if status == "uncertain":
        return tuple(regions)
    return ()


def group_doubts(
    volume_json: Mapping[str, Any], statements: Sequence[Statement]
) -> tuple[DoubtGroup, ...]:
    """What is unsure of a volume, each with its doubts: first the regions that are unsure by their
    probability alone, then those that doubts in its JSON make unsure, last the ends of regions. An
    uncertain or refused volume without a doubt has its message."""
    doubts_by_unsure_part: dict[str, list[Mapping[str, Any]]] = {}
    for doubt in volume_json.get("doubts") or ():
        if doubt.get("sentence") and doubt.get("code") != NONE:
            unsure_part = _what_doubt_makes_unsure(str(doubt.get("code")), statements)
            doubts_by_unsure_part.setdefault(unsure_part, []).append(doubt)
    message = volume_json.get("message")
    has_no_doubt = not doubts_by_unsure_part and not statements
    if has_no_doubt and message and volume_json.get("status") != "ok":
        doubts_by_unsure_part = {"": [{"sentence": message}]}
    ordered_parts = sorted(doubts_by_unsure_part, key=lambda part: part == ENDS_IN_WORDS)
    groups = [_doubt_group(part, doubts_by_unsure_part[part]) for part in ordered_parts]
    sentence = unsure_sentence(statements)
    if sentence:
        undecided_regions = [
            statement.region
            for statement in statements
            if not (statement.is_sure or statement.doubts)
        ]
        unsure_part = _names_or_every_region(undecided_regions, statements)
        groups.insert(0, DoubtGroup(unsure_part, (sentence,)))
    return tuple(groups)


def _doubt_group(unsure_part: str, doubts: Sequence[Mapping[str, Any]]) -> DoubtGroup:
    """The doubts, as in a volume's JSON, that make one part unsure; without sentences that only say
    that the ends are unsure, as the heading of the group does."""
    sentences = [str(doubt["sentence"]) for doubt in doubts]
    if unsure_part == ENDS_IN_WORDS:
        sentences = [sentence for sentence in sentences if not sentence.startswith(ENDS_IN_WORDS)]
    figures = tuple(
        (doubt_in_words(str(doubt.get("code"))), str(doubt["figures"]))
        for doubt in doubts
        if doubt.get("figures")
    )
    return DoubtGroup(unsure_part, tuple(sentences), figures)


def _what_doubt_makes_unsure(doubt_code: str, statements: Sequence[Statement]) -> str:
    """The regions that a doubt makes unsure, in words, or ENDS_IN_WORDS; "" where nothing is said
    region by region."""
    if not statements:
        return ""
    doubted_regions = [
        statement.region for statement in statements if doubt_code in statement.doubts
    ]
    return _names_or_every_region(doubted_regions, statements) or ENDS_IN_WORDS


def _names_or_every_region(regions: Sequence[str], statements: Sequence[Statement]) -> str:
    """The names of these regions, or that they are all of which something is said."""
    if len(regions) == len(statements):
        return "every region"
    return join_names(regions)
