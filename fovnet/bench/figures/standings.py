"""The standings of a race between search methods, as tables and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.bench.figures.race import RaceView, race_figure
from fovnet.bench.races import (
    Entry,
    Standing,
    chance_curve,
    compute_standings,
    contests_of,
    success_curve,
)
from fovnet.bench.replay import ReplayedSearch
from fovnet.bench.tables import RecordedTable
from fovnet.drawing.canvas import save_png
from fovnet.records import write_tsv

RUN_COLUMNS = (
    "table",
    "method",
    "seed",
    "setting",
    "best",
    "median",
    "draw",
    "row",
    "loss",
    "epochs",
    "spent",
)
"""Columns of runs.tsv: the table's lowest loss and the median of those that converged; of every
slot the row, its loss at the end of a full training, the epochs to which the slot has trained it,
and the epochs spent by then in all."""


def write_standings(
    folder: Path,
    tables: Mapping[Path, RecordedTable],
    results: Sequence[tuple[Entry, ReplayedSearch]],
) -> list[RaceView]:
    """The results of the race, one view per table; writes standings.tsv, runs.tsv and standings.png
    to `folder`."""
    all_standings: list[Standing] = []
    race_views = []
    for path, table in tables.items():
        contests = contests_of((entry, replay) for entry, replay in results if entry.table == path)
        table_standings = [
            standing
            for contest in contests
            for standing in compute_standings(table, contest.entry, contest.replays)
        ]
        success_curves = [
            success_curve(table, contest.entry, contest.replays) for contest in contests
        ]
        chance_draws = 0
        if table.full_epochs == 1:
            chance_draws = contests[0].entry.draws
        chance_shares = chance_curve(table, chance_draws)
        race_views.append(
            RaceView(
                name=table.name,
                row_count=len(table.space),
                chance_shares=chance_shares,
                curves=success_curves,
                standings=table_standings,
            )
        )
        all_standings += table_standings
    write_tsv(
        folder / "standings.tsv",
        [field.name for field in fields(Standing)],
        [asdict(standing) for standing in all_standings],
    )
    write_tsv(
        folder / "runs.tsv",
        RUN_COLUMNS,
        [
            line
            for entry, replay in results
            for line in _run_lines(tables[entry.table], entry, replay)
        ],
    )
    save_png(race_figure(race_views), folder / "standings.png")
    return race_views


def _run_lines(
    table: RecordedTable, entry: Entry, replay: ReplayedSearch
) -> Iterator[dict[str, Any]]:
    """A line of runs.tsv for every slot of a run."""
    median_loss = float(np.median(table.loss[np.isfinite(table.loss)]))
    slot_results = zip(replay.rows, replay.loss, replay.epochs, replay.epochs_spent, strict=True)
    for draw_number, (row, loss, epochs, spent) in enumerate(slot_results, start=1):
        yield {
            "table": entry.table.stem,
            "method": entry.contestant,
            "seed": entry.seed,
            "setting": entry.setting,
            "best": repr(table.best_loss),
            "median": repr(median_loss),
            "draw": draw_number,
            "row": int(row),
            "loss": repr(float(loss)),
            "epochs": int(epochs),
            "spent": int(spent),
        }
