"""Images, or whatever else, that share a value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)


def group_by_key(values: Iterable[Value], keys: Iterable[Key]) -> dict[Key, list[Value]]:
    """The values by their keys, of which there are as many; both in the order in which they come
    first."""
    groups: dict[Key, list[Value]] = {}
    for value, key in zip(values, keys, strict=True):
        groups.setdefault(key, []).append(value)
    return groups
