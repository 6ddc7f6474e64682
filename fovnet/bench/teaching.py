"""What a table of recorded trainings teaches about its space: which axes matter, which go together,
and where trainings diverge or learn nothing.

Shares and expected losses are of the model that `fovnet search explain` shows, fitted to all rows
of the table, over every combination of the levels, trained or not; where these are too many, over
its rows alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.replay import Slot, outcome_of
from fovnet.bench.tables import RecordedTable
from fovnet.machine.threads import one_thread
from fovnet.records import read_npz
from fovnet.search.explain.importance import AxisEffect, Matter, what_matters
from fovnet.search.search import Search
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Proposal, Trial

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_ROWS = 100_000
"""Combinations of levels over which means are taken; the model then takes half a gigabyte with 600
rows."""
AT_GUESSING = 0.98
"""A training whose loss is above this share of the loss of guessing has learned nothing."""
COLUMNS = (
    "axis",
    "other",
    "level",
    "share",
    "loss",
    "loss_low",
    "loss_high",
    "rows",
    "diverged",
    "nothing_learned",
    "learned",
    "best",
)
"""Of effects.tsv: axes with their share of the variance and, level by level, the expected loss with
its 95 % band, the rows, how many of these diverged or learned nothing, the share that learned, and
the lowest loss; then pairs of axes."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """The model's effects, and of every row of the table (M,) its levels (M, d) and whether it
    diverged or learned nothing."""

    matter: Matter
    levels: Integers
    loss: NDArray[np.float64]
    diverged: Mask
    nothing: Mask

    @property
    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines of COLUMNS."""
        for axis, levels in zip(self.matter.axes, self.levels.T, strict=True):
            yield {"axis": axis.name, "share": axis.share}
            yield from self._levels(axis, levels)
        for pair in self.matter.pairs:
            yield {"axis": pair.axes[0], "other": pair.axes[1], "share": pair.share}

    def _levels(self, axis: AxisEffect, levels: Integers) -> Iterator[dict[str, Any]]:
        for number, effect in enumerate(axis.levels):
            at_level = levels == number
            rows = int(at_level.sum())
            diverged = int(self.diverged[at_level].sum())
            nothing = int(self.nothing[at_level].sum())
            yield {
                "axis": axis.name,
                "level": f"{effect.level}",
                "loss": effect.score,
                "loss_low": effect.low,
                "loss_high": effect.high,
                "rows": rows,
                "diverged": diverged,
                "nothing_learned": nothing,
                "learned": (rows - diverged - nothing) / rows if rows else None,
                "best": float(self.loss[at_level].min()) if rows > diverged else None,
            }


def lesson(path: Path, table: RecordedTable) -> Lesson:
    """What the table in this file teaches."""
    space, levels = _space_of_levels(path, table)
    size = len(space)
    rows = np.arange(size)
    if space.table is None:
        rows = np.ravel_multi_index(tuple(levels.T), [len(axis.levels) for axis in space.axes])
    search = Search(
        space,
        "gp-ei",
        seed=0,
        workers=1,
        start=int(rows[0]),
        initial=None,
        predicted_seconds=np.ones(size),
        feasible=np.ones(size, dtype=bool),
    )
    outcomes = [outcome_of(table, Slot(number, 0, table.epochs)) for number in range(len(rows))]
    trials = [
        Trial(Proposal(number, row, space.configuration(row), 0, (), (), 1.0), outcome)
        for number, (row, outcome) in enumerate(zip(rows.tolist(), outcomes, strict=True))
    ]
    diverged = ~np.isfinite(table.loss)
    loss = np.where(diverged, np.inf, table.loss)
    with one_thread():
        matter = what_matters(search, trials)
    return Lesson(matter, levels, loss, diverged, nothing_learned(table))


def nothing_learned(table: RecordedTable) -> Mask:
    """(M,) the rows that did not diverge, and are at the loss of guessing or above; none where that
    is unknown."""
    guess = np.inf if table.guess is None else table.guess
    return np.isfinite(table.loss) & (table.loss > AT_GUESSING * guess)


def _space_of_levels(path: Path, table: RecordedTable) -> tuple[Space, Integers]:
    """The space of all combinations of the axes' levels, or of the table's rows, and the levels (M,
    d) of the rows."""
    arrays = read_npz(path)
    axes = table.space.axes
    levels = table.space.rows
    if "values" in arrays:
        values = [tuple(json.loads(text)) for text in arrays["values"].tolist()]
        axes = tuple(
            Axis(axis.name, axis_values, axis.kind)
            for axis, axis_values in zip(axes, values, strict=True)
        )
        columns = zip(axes, arrays["X"].T, strict=True)
        levels = np.column_stack([_nearest_level(axis, column) for axis, column in columns])
    is_small = math.prod(len(axis.levels) for axis in axes) <= MOST_ROWS
    return Space(axes, None if is_small else levels), levels


def _nearest_level(axis: Axis, column: NDArray[np.float64]) -> Integers:
    """The level of each place (M,) of an ordinal axis, or of each code of a category."""
    if axis.kind == "categorical":
        return column.astype(np.int64)
    return np.asarray(np.abs(column[:, None] - axis.columns[:, 0]).argmin(axis=1))
