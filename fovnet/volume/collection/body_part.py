"""The regions that Body Part Examined (0018,0015) stands for, read tolerantly: archives contain codes, old
codes and free text.

Codes of single regions, combined terms, synonyms in any case, and several of them in one text
("CHEST/ABDOMEN", "L SPINE") are recognised. Only known terms are returned, never the text itself, because
free text may contain anything.
"""

from __future__ import annotations

import re

from fovnet.regions import DEFAULT, ELSEWHERE, NONE, TOGETHER, Vocabulary
from fovnet.volume.collection.tables import region_named

OTHER = "OTHER"


def regions_named(text: str, vocabulary: Vocabulary = DEFAULT) -> tuple[str, ...] | None:
    """The regions that a header's text stands for, in the vocabulary's order; empty for a body part outside
    them, None if unknown.

    Unknown words among several are skipped: "LIVER DYNAMIC" is the abdomen.
    """
    whole = " ".join(text.upper().replace("_", " ").split())
    if not whole:
        return None
    found = _named(whole, vocabulary)
    if found is None:
        each = [
            named
            for word in re.split(r"[^A-Z]+", whole)
            if word and (named := _named(word, vocabulary)) is not None
        ]
        found = None if not each else set().union(*each)
    return None if found is None else tuple(name for name in vocabulary.classes if name in found)


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


def _named(word: str, vocabulary: Vocabulary) -> set[str] | None:
    """The regions that one word or term stands for; empty for a body part outside all of them, None if
    unknown."""
    one = region_named(word, vocabulary)
    if one is not None:
        return {one} - {NONE}
    several = next((term for term in TOGETHER.values() if term.body_part == word.replace(" ", "")), None)
    if several is not None:
        return set(vocabulary.named_by(several))
    return set() if word in ELSEWHERE else None
