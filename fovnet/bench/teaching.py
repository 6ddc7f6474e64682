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
from fovnet.search.explain.importance import AxisEffect, Importance, measure_importance
from fovnet.search.search import Search
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Proposal, Trial

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

MOST_COMBINATIONS = 100_000
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
    """What a table teaches.

    importance            the model's effects of axes and of pairs of axes
    levels                (M, d) the level numbers of every row
    loss                  (M,), infinite where the training diverged
    has_diverged          (M,)
    has_learned_nothing   (M,)
    """

    importance: Importance
    levels: Integers
    loss: NDArray[np.float64]
    has_diverged: Mask
    has_learned_nothing: Mask

    @property
    def lines(self) -> Iterator[dict[str, Any]]:
        """{column of COLUMNS: value} of each line of effects.tsv."""
        for axis, levels in zip(self.importance.axes, self.levels.T, strict=True):
            yield {"axis": axis.name, "share": axis.share}
            yield from self._level_lines(axis, levels)
        for pair in self.importance.pairs:
            yield {"axis": pair.axes[0], "other": pair.axes[1], "share": pair.share}

    def _level_lines(self, axis: AxisEffect, levels: Integers) -> Iterator[dict[str, Any]]:
        """A line of COLUMNS for each level of one axis; `levels` (M,) are those of the rows."""
        for level_index, level_effect in enumerate(axis.levels):
            is_at_level = levels == level_index
            row_count = int(is_at_level.sum())
            diverged_count = int(self.has_diverged[is_at_level].sum())
            nothing_count = int(self.has_learned_nothing[is_at_level].sum())
            learned_share = None
            lowest_loss = None
            if row_count:
                learned_share = (row_count - diverged_count - nothing_count) / row_count
            if row_count > diverged_count:
                lowest_loss = float(self.loss[is_at_level].min())
            yield {
                "axis": axis.name,
                "level": f"{level_effect.level}",
                "loss": level_effect.score,
                "loss_low": level_effect.low_score,
                "loss_high": level_effect.high_score,
                "rows": row_count,
                "diverged": diverged_count,
                "nothing_learned": nothing_count,
                "learned": learned_share,
                "best": lowest_loss,
            }


def learn_lesson(path: Path, table: RecordedTable) -> Lesson:
    """What the table in this file teaches; `table` is what was read from it."""
    space, levels = _space_of_levels(path, table)
    row_count = len(space)
    space_rows = np.arange(row_count)
    if space.table is None:
        space_rows = np.ravel_multi_index(
            tuple(levels.T), [len(axis.levels) for axis in space.axes]
        )
    search = Search(
        space,
        "gp-ei",
        seed=0,
        workers=1,
        start=int(space_rows[0]),
        initial=None,
        predicted_seconds=np.ones(row_count),
        feasible=np.ones(row_count, dtype=bool),
    )
    outcomes = [
        outcome_of(table, Slot(slot, 0, table.full_epochs)) for slot in range(len(space_rows))
    ]
    trials = [
        Trial(
            Proposal(
                slot=slot,
                row=row,
                configuration=space.configuration(row),
                seed=0,
                seen_slots=(),
                pending_slots=(),
                predicted_seconds=1.0,
            ),
            outcome,
        )
        for slot, (row, outcome) in enumerate(zip(space_rows.tolist(), outcomes, strict=True))
    ]
    is_diverged = ~np.isfinite(table.loss)
    loss_or_infinity = np.where(is_diverged, np.inf, table.loss)
    with one_thread():
        importance = measure_importance(search, trials)
    return Lesson(
        importance=importance,
        levels=levels,
        loss=loss_or_infinity,
        has_diverged=is_diverged,
        has_learned_nothing=has_learned_nothing(table),
    )


def has_learned_nothing(table: RecordedTable) -> Mask:
    """(M,) whether a row did not diverge, and is at the loss of guessing or above; False where that
    loss is unknown."""
    if table.guessing_loss is None:
        return np.zeros(len(table.loss), dtype=bool)
    return np.isfinite(table.loss) & (table.loss > AT_GUESSING * table.guessing_loss)


def _space_of_levels(path: Path, table: RecordedTable) -> tuple[Space, Integers]:
    """(space, levels): the space of all combinations of the axes' levels, or of the table's rows
    alone where these are too many, and the levels (M, d) of the rows."""
    arrays = read_npz(path)
    axes = table.space.axes
    levels = table.space.rows
    if "values" in arrays:
        levels_by_axis = [tuple(json.loads(text)) for text in arrays["values"].tolist()]
        axes = tuple(
            Axis(axis.name, axis_values, axis.kind)
            for axis, axis_values in zip(axes, levels_by_axis, strict=True)
        )
        axes_with_columns = zip(axes, arrays["X"].T, strict=True)
        levels = np.column_stack(
            [_nearest_level(axis, column) for axis, column in axes_with_columns]
        )
    combination_count = math.prod(len(axis.levels) for axis in axes)
    if combination_count > MOST_COMBINATIONS:
        return Space(axes, levels), levels
    return Space(axes, None), levels


def _nearest_level(axis: Axis, column: NDArray[np.float64]) -> Integers:
    """The level of each place (M,) of an ordinal axis, or of each code of a category."""
    if axis.kind == "categorical":
        return column.astype(np.int64)
    return np.asarray(np.abs(column[:, None] - axis.columns[:, 0]).argmin(axis=1))
