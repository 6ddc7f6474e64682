"""NOMAD, the reference of mesh-adaptive direct search, as a contestant that owns its loop.

Every axis is an integer, a category too, for which its Python interface has no type.  A point
becomes the nearest row that was not trained yet, ties by lot, and NOMAD is told that row's loss; it
may end before its trainings are spent. Two faults of PyNomadBBO 4.6.0 are kept away: its default
directions (ORTHO N+1 QUAD) crash on integers by chance, and in one process a seed equal to that of
the run before has no effect, so that each run is a process of its own.
"""

from __future__ import annotations

import os
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import Any

import numpy as np

from fovnet.bench.replay import ReplayedSearch, Slot, replay_in_succession, trains_best_row
from fovnet.bench.tables import RecordedTable
from fovnet.bench.together import run_alone
from fovnet.errors import SearchError
from fovnet.search.space import Space, draw_nearest_free, row_places

NOMAD_OPTIONS = ("BB_OUTPUT_TYPE OBJ", "DISPLAY_DEGREE 0", "DIRECTION_TYPE ORTHO 2N")
DIVERGED_LOSS = 1e20
"""The loss that stands for none: where the first point is reported as failed, NOMAD ends."""


def replay_nomad(table: RecordedTable, *, first_row: int, seed: int, cap: int) -> ReplayedSearch:
    """The run of NOMAD from a first row, cut where it draws the best one; it proposes in no time
    that could be told from its own.  Raises SearchError "peer-crashed" if its process ends without
    an answer."""
    try:
        drawn_rows = run_alone(draw_rows, table, first_row, seed, cap // table.full_epochs)
    except BrokenProcessPool as broken_pool:
        raise SearchError(
            "peer-crashed",
            f"nomad, seed {seed} on {table.name}: its process ended without an answer; leave it "
            "out, or give another number of --runs",
        ) from broken_pool
    slots: list[Slot] = []
    for row in drawn_rows:
        slots.append(Slot(row, 0, table.full_epochs))
        if trains_best_row(table, slots[-1]):
            break
    return replay_in_succession(table, slots, [0.0] * len(slots))


def draw_rows(table: RecordedTable, first_row: int, seed: int, draws: int) -> list[int]:
    """The rows that NOMAD trains, at most `draws`, in a process without an earlier run of it.

    What it prints there goes nowhere: it cannot be told to keep quiet about its limits.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    place_by_row = row_places(table.space)
    rng = np.random.default_rng([seed, len(table.space)])
    free_axes = [
        axis_index for axis_index, axis in enumerate(table.space.axes) if len(axis.levels) > 1
    ]
    is_row_free = np.ones(len(table.space), dtype=bool)
    drawn_rows: list[int] = []

    def train_nearest_row(point: Any) -> int:
        """NOMAD's callback: tells it the loss of the free row nearest to its point; returns whether
        that was evaluated, 1 or 0."""
        if len(drawn_rows) == min(draws, len(is_row_free)):
            return 0
        levels = table.space.rows[first_row].copy()
        levels[free_axes] = [
            round(point.get_coord(axis_index)) for axis_index in range(point.size())
        ]
        point_places = row_places(Space(table.space.axes, levels[None]))[0]
        free_row = first_row
        if drawn_rows:
            free_row = draw_nearest_free(table.space, place_by_row, point_places, is_row_free, rng)
        is_row_free[free_row] = False
        drawn_rows.append(free_row)
        loss = float(table.loss[free_row])
        if not np.isfinite(loss):
            loss = DIVERGED_LOSS
        point.setBBO(repr(loss).encode())
        return 1

    highest_levels = [len(table.space.axes[axis_index].levels) - 1 for axis_index in free_axes]
    input_types = f"BB_INPUT_TYPE ( {' '.join('I' for _ in free_axes)} )"
    import_module("PyNomad").optimize(
        train_nearest_row,
        table.space.rows[first_row][free_axes].tolist(),
        [0] * len(free_axes),
        highest_levels,
        [input_types, f"MAX_BB_EVAL {draws}", f"SEED {seed + 1}", *NOMAD_OPTIONS],
    )
    return drawn_rows
