"""The regions that Body Part Examined (0018,0015) stands for, read tolerantly: archives contain codes, old
codes, shorthand and free text.

Codes of single regions, combined terms, synonyms in any case, and several of them in one text
("CHEST/ABDOMEN", "ABD_PELV", "L SPINE") are recognised, together with the words of `header_words.tsv`. Only
known terms are returned, never the text itself, because free text may contain anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fovnet.records import read_tsv
from fovnet.regions import DEFAULT, ELSEWHERE, NONE, TOGETHER, Vocabulary
from fovnet.volume.collection.tables import region_named

OTHER = "OTHER"
WORDS = Path(__file__).with_name("header_words.tsv")
LONGEST_PHRASE = 4              # words: LOWER EXTREMITY, CHEST TO PELVIS
SHORTEST_PART = 3               # letters, of a word written together with others
CUT = 15                        # characters: scanners cut texts to the 16 of a code string, or to 15


@dataclass(frozen=True)
class Reading:
    """What a header's text stands for.

    regions    in the vocabulary's order; empty for a part of the body in no region, None if no word names one
    is_whole   whether every word is understood: what another word may add is not known otherwise
    """

    regions: tuple[str, ...] | None
    is_whole: bool


def read_body_part(text: str, vocabulary: Vocabulary = DEFAULT) -> Reading:
    """What a text stands for, phrase by phrase; the last word of a text that may have been cut is completed
    by what all words with its beginning mean."""
    words = [word for word in re.split(r"[\W\d_]+", text.upper()) if word]
    meanings = list(_meanings(words, vocabulary))
    if meanings and meanings[-1] is None and len(text.strip()) >= CUT:
        meanings[-1] = _completed(words[-1], vocabulary)
    parts = [meaning for meaning in meanings if meaning is not None and meaning != SAYS_NOTHING]
    together = frozenset().union(*parts)
    regions = tuple(name for name in vocabulary.classes if name in together) if parts else None
    return Reading(regions, None not in meanings)


def regions_named(text: str, vocabulary: Vocabulary = DEFAULT) -> tuple[str, ...] | None:
    """The regions that a header's text stands for, in the vocabulary's order; empty for a body part outside
    them, None if unknown.

    Unknown words among several are skipped: "LIVER DYNAMIC" is the abdomen.
    """
    return read_body_part(text, vocabulary).regions


def body_part(text: str) -> str:
    """The text as DICOM terms, for tables: the term itself if it is a known one (a region, several, or a body
    part outside them), else the terms of its regions (SPINE for CSPINE); OTHER for an unknown text, empty for
    none."""
    whole = "".join(text.upper().replace("_", " ").split())
    if whole in {term.body_part for term in TOGETHER.values()} | ELSEWHERE | {
        region.body_part for region in DEFAULT.regions
    }:
        return whole
    if not whole:
        return ""
    regions = regions_named(text)
    if regions is None:
        return OTHER
    return " ".join(region.body_part for region in DEFAULT.regions if region.name in regions) or OTHER


Meaning = frozenset[str]
SAYS_NOTHING: Meaning = frozenset({""})
"""The meaning of a word beside the point: a side, a contrast agent, a plane."""


def _meanings(words: list[str], vocabulary: Vocabulary) -> Iterator[Meaning | None]:
    """The meaning of each phrase, the longest first, None for a word that is not understood."""
    start = 0
    while start < len(words):
        for stop in range(min(start + LONGEST_PHRASE, len(words)), start, -1):
            meaning = _meaning(words[start:stop], vocabulary)
            if meaning is not None:
                break
        else:
            meaning = _parted(words[start], vocabulary)
        yield meaning
        start = stop


def _meaning(phrase: list[str], vocabulary: Vocabulary) -> Meaning | None:
    """The regions that one term, of one word or several, stands for."""
    region = region_named(" ".join(phrase), vocabulary)
    if region is not None:
        return frozenset({region} - {NONE})
    return _known_words(vocabulary).get("".join(phrase))


def _parted(word: str, vocabulary: Vocabulary) -> Meaning | None:
    """The meaning of a word of several written together, such as ABDPELVIS; None if a part is unknown."""
    for stop in range(len(word) - SHORTEST_PART, SHORTEST_PART - 1, -1):
        first = _meaning([word[:stop]], vocabulary)
        if first is None:
            continue
        rest = _meaning([word[stop:]], vocabulary) or _parted(word[stop:], vocabulary)
        if rest is not None:
            return (first | rest) - SAYS_NOTHING or SAYS_NOTHING
    return None


def _completed(beginning: str, vocabulary: Vocabulary) -> Meaning | None:
    """What all words with this beginning that name a region have in common; None if that is nothing."""
    words = _known_words(vocabulary)
    meanings = [words[word] for word in words if word.startswith(beginning) and words[word] != SAYS_NOTHING]
    return frozenset.intersection(*meanings) or None if meanings else None


@cache
def _known_words(vocabulary: Vocabulary) -> dict[str, Meaning]:
    """The meaning of every word without blanks: of `header_words.tsv`, as far as the vocabulary has regions
    of the same codes, of DICOM's terms, and of the vocabulary's own words, which win."""
    name_by_code = {region.sct: region.name for region in vocabulary.regions if region.sct}
    code_by_name = {region.name: region.sct for region in DEFAULT.regions}
    words: dict[str, Meaning] = {}
    for row in read_tsv(WORDS):
        codes = [code_by_name[name] for name in row["regions"].split()]
        names = frozenset(name_by_code[code] for code in codes if code in name_by_code)
        if names or not codes:
            words[row["word"]] = names or SAYS_NOTHING
    words |= dict.fromkeys(ELSEWHERE, frozenset())
    words |= {term.body_part: vocabulary.named_by(term) for term in TOGETHER.values()}
    for region in vocabulary.regions:
        words |= {word.replace(" ", ""): frozenset({region.name}) for word in region.words}
    return words
