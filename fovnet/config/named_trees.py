"""The trees that `search.space` names by a word: each a YAML file, with the start that belongs to it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from fovnet.config.reading import read_yaml

TREE_NAMES = ("layers", "hypernomad")
TREES_FOLDER = Path(__file__).parent / "trees"


class NamedTree(NamedTuple):
    """The space, and what a search over it begins with unless `search.start` says otherwise."""

    space: dict[str, Any]
    start: dict[str, Any]


@lru_cache(maxsize=len(TREE_NAMES))
def named_tree(name: str) -> NamedTree:
    """The tree of a word among TREE_NAMES."""
    return NamedTree(**read_yaml(TREES_FOLDER / f"{name}.yaml"))
