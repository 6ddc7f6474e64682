"""What is said of each region, as the pages show it: chips, a sentence, and what a doubt makes unsure.

An ensemble that was tuned by an earlier fovnet says nothing region by region: its spans then stand for it.
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
GUESS_WORDS = (
    "A best guess is one run of neighbouring regions in the order of the body, and a spine beside them; so a "
    "region that it leaves out may be more probable than one that it has."
)
ENDS = "where regions begin and end"
"""What a doubt makes unsure that leaves every statement as it is."""


@dataclass(frozen=True)
class Said:
    """A chip: the answer on one region, "yes", "no" or "unsure", the probability that it is shown, in percent
    or None without one, the region's colour, and whether it is in the best guess."""

    region: str
    answer: str
    percent: int | None
    colour: str
    is_guess: bool


@dataclass(frozen=True)
class Doubted:
    """Doubts, a sentence each, that make the same unsure: `unsure` names the regions, or their ends; "" where
    nothing is said region by region.  `sentences` may be empty where `unsure` says it all;  `figures` are
    those behind the doubts, each with the doubt in words."""

    unsure: str
    sentences: tuple[str, ...]
    figures: tuple[tuple[str, str], ...] = ()


def chips(made: Sequence[Statement], vocabulary: Vocabulary) -> tuple[Said, ...]:
    """One for each statement."""
    guessed = best_guess(made)
    return tuple(
        Said(
            one.region,
            one.answer,
            round(100 * one.probability),
            vocabulary.colour(one.region),
            one.region in guessed,
        )
        for one in made
    )


def chips_of_spans(regions: Sequence[str], status: str, vocabulary: Vocabulary) -> tuple[Said, ...]:
    """One for each region that has a span, where nothing is said region by region."""
    answer = YES if status == "ok" else UNSURE
    return tuple(Said(name, answer, None, vocabulary.colour(name), True) for name in regions)


def sentence(made: Sequence[Statement], regions: Sequence[str], status: str) -> str:
    """What is said of a volume, in plain words; "" of a refused one.

    regions  those with a span, which are told where nothing is said region by region
    """
    if made:
        return statement_sentences(made)
    if status == "refused":
        return ""
    shown = join_names(regions) or NO_REGION
    return f"Shows {shown}." if status == "ok" else f"Best guess: {shown}."


def is_only_guess(made: Sequence[Statement], status: str) -> bool:
    """Whether all that is predicted is a guess: nothing is surely shown, nor surely nothing."""
    return status != "ok" and all(one.answer != YES for one in made)


def is_guess_unsure(made: Sequence[Statement]) -> bool:
    """Whether a region of the best guess is unsure."""
    guessed = best_guess(made)
    return any(one.answer == UNSURE and one.region in guessed for one in made)


def unsure_regions(
    made: Sequence[Statement], regions: Sequence[str], status: str
) -> tuple[str, ...]:
    """Those whose spans are drawn as guesses."""
    if made:
        return tuple(one.region for one in made if one.answer == UNSURE)
    return tuple(regions) if status == "uncertain" else ()


def doubted(body: Mapping[str, Any], made: Sequence[Statement]) -> tuple[Doubted, ...]:
    """The regions unsure by their probability alone, then the doubts in a volume's JSON, those about its
    regions before those about their ends; the message of an uncertain or refused answer that lists none."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for doubt in body.get("doubts") or ():
        if doubt.get("sentence") and doubt.get("code") != NONE:
            groups.setdefault(_made_unsure(str(doubt.get("code")), made), []).append(doubt)
    if not (groups or made) and body.get("message") and body.get("status") != "ok":
        groups = {"": [{"sentence": body["message"]}]}
    ordered = sorted(groups.items(), key=lambda group: group[0] == ENDS)
    found = [_told(unsure, doubts) for unsure, doubts in ordered]
    if sentence := unsure_sentence(made):
        regions = [one.region for one in made if not (one.is_sure or one.doubts)]
        found.insert(0, Doubted(_named(regions, made), (sentence,)))
    return tuple(found)


def _told(unsure: str, doubts: Sequence[Mapping[str, Any]]) -> Doubted:
    """Without a sentence that says of the ends what the heading says."""
    sentences = [str(doubt["sentence"]) for doubt in doubts]
    figures = [
        (doubt_in_words(str(doubt.get("code"))), str(doubt["figures"]))
        for doubt in doubts
        if doubt.get("figures")
    ]
    further = [one for one in sentences if unsure != ENDS or not one.startswith(ENDS)]
    return Doubted(unsure, tuple(further), tuple(figures))


def _made_unsure(code: str, made: Sequence[Statement]) -> str:
    if not made:
        return ""
    return _named([one.region for one in made if code in one.doubts], made) or ENDS


def _named(regions: Sequence[str], made: Sequence[Statement]) -> str:
    return "every region" if len(regions) == len(made) else join_names(regions)
