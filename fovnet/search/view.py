"""What a search method is shown when it fills a slot: this, and nothing else, decides the row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.search.space import Space
from fovnet.search.trial import Trial, configuration_is_to_blame


@dataclass(frozen=True, eq=False)
class View:
    """The search as slot `slot` sees it.

    seen      the trials finished in virtual time, by slot          pending  rows of the slots still running
    free      (M,) bool, rows that may be proposed: feasible and never proposed before; at least one
    initial   how many slots, the first included, are spread over the space before a model is asked
    seed      of the whole search
    """

    space: Space
    seen: tuple[Trial, ...]
    pending: tuple[int, ...]
    free: NDArray[np.bool_]
    slot: int
    seed: int
    initial: int

    @property
    def rng(self) -> np.random.Generator:
        """A fresh generator of this slot's own; the same numbers at each call."""
        return np.random.default_rng([self.seed, self.slot])

    @property
    def scored(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Rows and scores, (n,) each, of the trials that have one."""
        pairs = [(trial.proposal.row, trial.score) for trial in self.seen if trial.score is not None]
        return np.array([row for row, _ in pairs], dtype=np.int64), np.array([score for _, score in pairs], dtype=np.float64)

    @property
    def failed(self) -> NDArray[np.int64]:
        """Rows that failed because of their configuration."""
        rows = [trial.proposal.row for trial in self.seen if configuration_is_to_blame(trial.outcome.status)]
        return np.array(rows, dtype=np.int64)


Propose = Callable[[View], int]
"""Where to look next: a free row.  A pure function: the same view gives the same row, today and in a replay."""
