"""The standings of a race between search methods, as tables and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.bench.figures.race import RaceView, race_figure
from fovnet.bench.races import Entry, Standing, chance_curve, contests_of, curve, standings
from fovnet.bench.replay import ReplayedSearch
from fovnet.bench.tables import RecordedTable
from fovnet.drawing.canvas import save_png
from fovnet.records import write_tsv

RUNS = (
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
    rows: list[Standing] = []
    views = []
    for path, table in tables.items():
        contests = contests_of((entry, replay) for entry, replay in results if entry.table == path)
        table_rows = [
            row for contest in contests for row in standings(table, contest.entry, contest.replays)
        ]
        curves = [curve(table, contest.entry, contest.replays) for contest in contests]
        chance = chance_curve(table, contests[0].entry.draws if table.epochs == 1 else 0)
        views.append(RaceView(table.name, len(table.space), chance, curves, table_rows))
        rows += table_rows
    write_tsv(
        folder / "standings.tsv",
        [field.name for field in fields(Standing)],
        [asdict(row) for row in rows],
    )
    write_tsv(
        folder / "runs.tsv",
        RUNS,
        [line for entry, replay in results for line in _lines(tables[entry.table], entry, replay)],
    )
    save_png(race_figure(views), folder / "standings.png")
    return views


def _lines(table: RecordedTable, entry: Entry, replay: ReplayedSearch) -> Iterator[dict[str, Any]]:
    """A line of runs.tsv for every slot of a run."""
    median = float(np.median(table.loss[np.isfinite(table.loss)]))
    numbers = zip(replay.rows, replay.loss, replay.epochs, replay.spent, strict=True)
    for draw, (row, loss, epochs, spent) in enumerate(numbers, start=1):
        yield {
            "table": entry.table.stem,
            "method": entry.contestant,
            "seed": entry.seed,
            "setting": entry.setting,
            "best": repr(table.best),
            "median": repr(median),
            "draw": draw,
            "row": int(row),
            "loss": repr(float(loss)),
            "epochs": int(epochs),
            "spent": int(spent),
        }
