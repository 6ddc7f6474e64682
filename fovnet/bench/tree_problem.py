"""A problem of a race over trees: a tree, and what a training of a configuration gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fovnet.search.tree.costs import Costs
from fovnet.search.tree.tree import Configuration, Tree


class Answer(NamedTuple):
    """What a training of a configuration gives: its loss, None if it failed, and the share of test
    pictures that the network is right about, None where there are none."""

    loss: float | None
    test_accuracy: float | None = None


@dataclass(frozen=True)
class TreeProblem:
    """A tree, and the loss of its points.

    train   the answer for a configuration and a seed
    counts  the losses after so many trainings are compared; the last one is how many a run has
    runs    of each method, unless another number is asked for
    data    facts that tell its pictures from others
    """

    name: str
    tree: Tree
    costs: Costs
    train: Callable[[Configuration, int], Answer]
    counts: tuple[int, ...]
    runs: int
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """As JSON: all that the losses of its points depend on."""
        return {
            "problem": self.name,
            "tree": self.tree.facts,
            "costs": dict(self.costs.facts),
            "data": dict(self.data),
        }
