"""What is said of each region, as the pages show it: chips, a sentence, and what a doubt makes unsure.

An ensemble that was tuned by an earlier fovnet says nothing region by region: its spans then stand for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fovnet.decision.statements import NO_REGION, UNSURE, YES, Statement, best_guess, in_words
from fovnet.regions import NONE, Vocabulary
from fovnet.words import listed

ANSWERS = {
    "uncertain": "uncertain", "refused": "refused", "partly": "partly answered", "ok": "answered",
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
    nothing is said region by region.  `figures` are those behind the sentences that lack them."""

    unsure: str
    sentences: tuple[str, ...]
    figures: tuple[str, ...] = ()


def chips(made: Sequence[Statement], vocabulary: Vocabulary) -> tuple[Said, ...]:
    """One for each statement."""
    guessed = best_guess(made)
    return tuple(
        Said(
            one.region, one.answer, round(100 * one.probability), vocabulary.colour(one.region),
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
        return in_words(made)
    if status == "refused":
        return ""
    shown = listed(regions) or NO_REGION
    return f"Shows {shown}." if status == "ok" else f"Best guess: {shown}."


def is_only_guess(made: Sequence[Statement], status: str) -> bool:
    """Whether all that is predicted is a guess: nothing is surely shown, nor surely nothing."""
    return status != "ok" and all(one.answer != YES for one in made)


def is_guess_unsure(made: Sequence[Statement]) -> bool:
    """Whether a region of the best guess is unsure."""
    guessed = best_guess(made)
    return any(one.answer == UNSURE and one.region in guessed for one in made)


def unsure_regions(made: Sequence[Statement], regions: Sequence[str], status: str) -> tuple[str, ...]:
    """Those whose spans are drawn as guesses."""
    if made:
        return tuple(one.region for one in made if one.answer == UNSURE)
    return tuple(regions) if status == "uncertain" else ()


def doubted(body: Mapping[str, Any], made: Sequence[Statement]) -> tuple[Doubted, ...]:
    """The doubts in a volume's JSON, those about its regions before those about their ends; the message of an
    uncertain or refused answer that lists none."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for doubt in body.get("doubts") or ():
        if doubt.get("sentence") and doubt.get("code") != NONE:
            groups.setdefault(_made_unsure(str(doubt.get("code")), made), []).append(doubt)
    if not (groups or made) and body.get("message") and body.get("status") != "ok":
        groups = {"": [{"sentence": body["message"]}]}
    ordered = sorted(groups.items(), key=lambda group: group[0] == ENDS)
    return tuple(Doubted(unsure, *_sentences_and_figures(doubts)) for unsure, doubts in ordered)


def _sentences_and_figures(doubts: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    figures = [str(doubt["figures"]) for doubt in doubts if doubt.get("figures")]
    return tuple(str(doubt["sentence"]) for doubt in doubts), tuple(figures)


def _made_unsure(code: str, made: Sequence[Statement]) -> str:
    if not made:
        return ""
    regions = [one.region for one in made if code in one.doubts]
    return "every region" if len(regions) == len(made) else listed(regions) or ENDS
