"""The standings of a race between search methods, as tables and as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from fovnet.bench.races import Standing, chance_curve, curve, standings
from fovnet.records import write_tsv
from fovnet.report.canvas import save_png
from fovnet.report.racing import RaceView, race_figure


def write_standings(folder: Path, tables: Mapping[Path, Any], results: list[Any]) -> list[RaceView]:
    """The results of the race, one view per table; writes standings.tsv, runs.tsv and standings.png to `folder`."""
    rows: list[Standing] = []
    views = []
    for path, table in tables.items():
        runs: dict[str, list[Any]] = {}
        for entry, replay in results:
            if entry.table == path:
                runs.setdefault(entry.method, []).append((entry, replay))
        mine = [(same[0][0], [replay for _, replay in same]) for same in runs.values()]
        stood = [row for entry, replays in mine for row in standings(table, entry, replays)]
        curves = [curve(table, entry, replays) for entry, replays in mine]
        views.append(RaceView(table.name, len(table.space), chance_curve(table, mine[0][0].draws), curves, stood))
        rows += stood
    write_tsv(folder / "standings.tsv", [field.name for field in fields(Standing)], [asdict(row) for row in rows])
    lines = [
        {"table": entry.table.stem, "method": entry.method, "seed": entry.seed, "draw": draw, "row": int(row), "loss": repr(float(loss))}
        for entry, replay in results
        for draw, (row, loss) in enumerate(zip(replay.rows, replay.loss, strict=True), start=1)
    ]
    write_tsv(folder / "runs.tsv", ["table", "method", "seed", "draw", "row", "loss"], lines)
    save_png(race_figure(views), folder / "standings.png")
    return views
