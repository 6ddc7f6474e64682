"""Counts with their nouns, lists, and what a misspelt word may mean, in one form for output,
reports and errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

SHORT_LETTERS = 8
"""Letters below which words that share 3 of 4 letters are often other words: hand and head, ear and
heart."""
# shares of letters in common, by `difflib`, from which two words are alike
LEAST_SIMILARITY = 0.75
LEAST_SIMILARITY_OF_SHORT = 0.8


def several(count: int, singular: str, plural: str = "") -> str:
    """ "1 volume", "1,204 volumes"."""
    noun = plural or f"{singular}s"
    if count == 1:
        noun = singular
    return f"{count:,} {noun}"


def is_or_are(count: float | None) -> str:
    """The verb for so many things."""
    if count == 1:
        return "is"
    return "are"


def yes_or_no(is_so: bool) -> str:
    """A truth value in a table."""
    if is_so:
        return "yes"
    return "no"


def join_names(names: Iterable[str], join: str = "and") -> str:
    """ "chest", "chest and head", "abdomen, chest and head": each name once; "" for none."""
    *first_names, last_name = dict.fromkeys(names) or [""]
    return f" {join} ".join(filter(None, (", ".join(first_names), last_name)))


def first_few(names: Iterable[object], most: int = 3) -> str:
    """ "t1, t2, t3, ...": the first of many."""
    words = [*map(str, names)]
    if len(words) > most:
        words[most:] = ["..."]
    return ", ".join(words)


def near_spelling(word: str, names: Iterable[str]) -> str | None:
    """The known word of which another may be a misspelling, in any case; None if there is none.

    Two words are alike by the share of letters in common (`difflib`): 0.75, of short ones 0.8 and
    as many letters but for one.  Of 260 words for parts of the body in twelve languages none is
    then taken for another part (of difflib's own 0.6: 45).  Names with other numbers, as sub-01 and
    sub-02, are other names.
    """
    is_short = len(word) < SHORT_LETTERS
    name_by_spelling = {
        name.casefold(): name
        for name in names
        if _numbers_in(name) == _numbers_in(word)
        and (not is_short or abs(len(name) - len(word)) <= 1)
    }
    least_similarity = LEAST_SIMILARITY
    if is_short:
        least_similarity = LEAST_SIMILARITY_OF_SHORT
    matches = get_close_matches(word.casefold(), name_by_spelling, 1, least_similarity)
    if not matches:
        return None
    return name_by_spelling[matches[0]]


def did_you_mean(word: str, names: Iterable[str], otherwise: str = "") -> str:
    """ "did you mean 'trials'?" for the known word of which another may be a misspelling; else
    `otherwise`, which should say what is wanted."""
    name = near_spelling(word, names)
    if not name:
        return otherwise
    return f"did you mean {name!r}?"


def _numbers_in(name: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"[0-9]{1,18}", name)]
