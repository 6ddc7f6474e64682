"""Counts with their nouns, and lists, in one form for output, reports and errors."""

from __future__ import annotations

from collections.abc import Iterable


def several(count: int, one: str, many: str = "") -> str:
    """ "1 volume", "1,204 volumes"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Iterable[str], join: str = "and") -> str:
    """ "chest", "chest and head", "abdomen, chest and head": each name once; "" for none."""
    *first, last = dict.fromkeys(names) or [""]
    return f" {join} ".join(filter(None, (", ".join(first), last)))


def first_few(names: Iterable[object], most: int = 3) -> str:
    """ "t1, t2, t3, ...": the first of many."""
    words = [*map(str, names)]
    return ", ".join(words[:most]) + (", ..." if words[most:] else "")
