"""The input and output of a search method for one slot of a search over a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.search.look.view import (
    POLLING,
    RECOMMENDED,
    Modelling,
    Polling,
    RowLosses,
    losses_of_trials,
)
from fovnet.search.tree.costs import Costs
from fovnet.search.tree.moves import Ground
from fovnet.search.tree.tree import Tree
from fovnet.search.trial import Forecast, Trial, latest_trials

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeView:
    """The search as slot `slot` sees it.

    points         (b, d) those begun before, by row
    trials         those finished in virtual time, by slot
    pending_rows   rows still running for the first time
    stopped_rows   rows stopped early that may be taken up again
    seed           of the whole search
    initial_count  number of points, the first included, drawn before a model is used
    rung_epochs    as in `View`
    """

    tree: Tree
    costs: Costs
    points: Floats
    trials: tuple[Trial, ...]
    pending_rows: tuple[int, ...]
    stopped_rows: tuple[int, ...]
    slot: int
    seed: int
    initial_count: int
    modelling: Modelling = RECOMMENDED
    polling: Polling = POLLING
    rung_epochs: tuple[int, ...] = ()

    @cached_property
    def ground(self) -> Ground:
        """Where a new point may be: not on one begun, but for those that may be taken up."""
        taken = {point.tobytes() for point in self.points}
        taken -= {self.points[row].tobytes() for row in self.stopped_rows}
        return Ground(self.tree, self.costs, taken)

    @cached_property
    def latest_trials(self) -> tuple[Trial, ...]:
        """The latest trial of each row, in the order in which the rows were begun."""
        return tuple(latest_trials(self.trials))

    @cached_property
    def all_losses(self) -> RowLosses:
        """Rows and scores of all latest trials but those that the machine ended; a failure's is
        infinite."""
        return losses_of_trials(self.latest_trials)


class TreeChoice(NamedTuple):
    """What a TreeLook chooses: a free point (d,); forecast and step as in `Choice`."""

    point: Floats
    forecast: Forecast | None = None
    step: str = ""


TreeLook = Callable[[TreeView], TreeChoice | None]
"""Where a search method looks in a tree; None where it finds nothing free.  A pure function."""
