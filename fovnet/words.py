"""Counts with their nouns, in one form for output, reports and errors."""

from __future__ import annotations


def several(count: int, one: str, many: str = "") -> str:
    """ "1 volume", "1,204 volumes"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
