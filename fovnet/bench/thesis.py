"""The experiment of a thesis, repeated on a table of recorded trainings: how many of them each
search method needs.

A run begins with a row of its own; the first rows are spread evenly over the table.  Every run is
kept in a file, so that the same call goes on after a kill.  Source: Bertrand, *Hyper-parameter
optimization in deep learning and transfer learning: applications to medical imaging* (2019): 600
networks, and from each of them one run of random search and one of Bayesian optimisation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.bench.peers import PEERS, THAWING_PEERS, is_installed
from fovnet.bench.races import (
    GOALS,
    Contest,
    Entry,
    compute_standings,
    contests_of,
    count_good_rows,
    entries_of,
    goal_losses,
    parse_contestant,
    run_entry,
)
from fovnet.bench.replay import ReplayedSearch
from fovnet.bench.tables import RecordedTable
from fovnet.bench.together import Progress, run_each
from fovnet.maths.draws import deviation_of_draws, expected_draws
from fovnet.records import checksum, digest, read_npz, write_npz
from fovnet.search.look.view import Modelling
from fovnet.search.methods import METHODS

DEFAULT_RUNS = 100
SOURCE = "Bertrand (2019)"
"""The table of published lines."""
THESIS_CONTESTANT = "thesis"
"""The contestant with the thesis's setting: raw targets, and a model from the second draw on."""
STOPPING_CONTESTANTS: tuple[str, ...] = (
    "random+one-epoch",
    "random+asha",
    "tpe+asha",
    "tpe+hyperband",
    "gp-ei+asha",
)
"""Contestants besides the methods by themselves, where trainings can be stopped early."""
COLUMNS = (
    "table",
    "method",
    "setting",
    "goal",
    "good",
    "runs",
    "misses",
    "draws",
    "draws_low",
    "draws_high",
    "draws_sd",
    "draws_worst",
    "full_trainings",
    "full_low",
    "full_high",
    "full_sd",
    "full_worst",
)
"""Of comparison.tsv, a line for each contestant and goal.  draws: rows begun; full_trainings:
epochs, those of a full training as one; a run that misses a goal counts with all that it has drawn,
or might have spent.
*_low, *_high: the 95 % interval of the mean."""
SECONDS_COLUMNS = ("method", "runs", "median", "mean", "run")
"""Columns of seconds.tsv, the lines of `summarise_seconds`."""
STORED_NAME_BY_FIELD = {
    "rows": "rows",
    "loss": "loss",
    "epochs": "epochs",
    "is_complete": "whole",
    "rows_begun": "drawn",
    "epochs_spent": "spent",
    "end_times": "ends",
    "proposal_seconds": "seconds",
    "idle_share": "idle",
}
"""{field of ReplayedSearch: name of its array in the file of a run}"""
# fmt: off
PUBLISHED: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "random": ((297, 171, 599), (146, 114, 554), (87, 75, 397), (54, 52, 296), (87, 75, 397),
               (18, 17, 106), (10, 10, 62)),
    "gp-ei": ((87, 64, 249), (26, 16, 120), (17, 11, 67), (15, 9, 44), (17, 11, 67),
              (10, 8, 38), (7, 7, 36)),
}
# fmt: on
"""Mean, standard deviation and worst of 600 runs, of each of GOALS, in the thesis."""


def comparable_contestants(table: RecordedTable) -> list[str]:
    """The names of all that can be compared on a table; those that stop or resume trainings (of
    THAWING_PEERS) only where it has learning curves."""
    has_curves = table.full_epochs > 1
    own_methods = [name for name, method in METHODS.items() if has_curves or method.spend == "full"]
    installed_peers = [
        name for name in PEERS if is_installed(name) and (has_curves or name not in THAWING_PEERS)
    ]
    stopping_contestants = STOPPING_CONTESTANTS
    if not has_curves:
        stopping_contestants = ()
    return [THESIS_CONTESTANT, *own_methods, *stopping_contestants, *installed_peers]


def make_entries(
    path: Path, table: RecordedTable, names: Sequence[str], runs: int | None, draws: int | None
) -> list[Entry]:
    """The runs of these contestants; without numbers 100 of each, or one from every row if these
    are fewer, of as many draws as there are rows.  Raises ConfigError and SearchError as
    `refuse_spending`."""
    row_count = len(table.space)
    usual_entry = Entry(table=path, method="", seed=0, draws=draws or row_count)
    thesis_modelling = Modelling(targets="raw", models="single")
    thesis_entry = replace(usual_entry, initial=1, modelling=thesis_modelling)
    run_count = runs or min(DEFAULT_RUNS, row_count)
    entries = []
    for name in names:
        template = usual_entry
        contestant = parse_contestant(name)
        if name == THESIS_CONTESTANT:
            template = thesis_entry
            contestant = parse_contestant("gp-ei")
        entries += entries_of(
            template, {path: table}, [contestant], run_count, every_row_first=True
        )
    return entries


def run_contests(
    entries: Sequence[Entry], folder: Path, processes: int = 1, progress: Progress | None = None
) -> list[Contest]:
    """The runs, grouped by contestant; `folder` holds those made so far, and only the others are
    made."""
    run_and_keep = partial(run_or_read, folder, checksum(entries[0].table))
    replays = run_each(run_and_keep, entries, processes, progress)
    return contests_of(zip(entries, replays, strict=True))


def run_or_read(folder: Path, table_checksum: str, entry: Entry) -> ReplayedSearch:
    """The run of an entry on the table with this checksum, read from `folder`, or made and left
    there."""
    entry_json = asdict(entry) | {"table": table_checksum, "setting": entry.setting}
    replay_path = folder / f"{entry.contestant}-{entry.seed:03d}-{digest(entry_json)[:12]}.npz"
    if replay_path.exists():
        stored_arrays: dict[str, Any] = read_npz(replay_path)
        return ReplayedSearch(
            **{field: stored_arrays[name] for field, name in STORED_NAME_BY_FIELD.items()}
        )
    replay = run_entry(entry)
    write_npz(
        replay_path,
        **{name: getattr(replay, field) for field, name in STORED_NAME_BY_FIELD.items()},
    )
    return replay


def compare_contests(table: RecordedTable, contests: Sequence[Contest]) -> list[dict[str, Any]]:
    """{column of COLUMNS: value} of each line of comparison.tsv: the thesis's numbers, what is known
    exactly, and the contests."""
    comparison_lines = [*_thesis_lines(), *_chance_lines(table), *_grid_lines(table)]
    for contest in contests:
        for standing in compute_standings(table, contest.entry, contest.replays):
            comparison_line = asdict(standing)
            comparison_line["good"] = count_good_rows(table, goal_losses(table)[standing.goal])
            comparison_line["draws"] = standing.mean
            for statistic in ("low", "high", "sd", "worst"):
                comparison_line[f"draws_{statistic}"] = comparison_line[statistic]
                comparison_line[f"full_{statistic}"] = (
                    comparison_line[f"epochs_{statistic}"] / table.full_epochs
                )
            comparison_lines.append(comparison_line)
    return comparison_lines


def _thesis_lines() -> Iterator[dict[str, Any]]:
    """A line of COLUMNS for each method and goal of the thesis."""
    for method, published_by_goal in PUBLISHED.items():
        for goal, (mean_draws, draws_deviation, worst_draws) in zip(
            GOALS, published_by_goal, strict=True
        ):
            yield {
                "table": SOURCE,
                "method": method,
                "goal": goal,
                "runs": 600,
                "misses": 0,
                "draws": float(mean_draws),
                "draws_sd": float(draws_deviation),
                "draws_worst": worst_draws,
            }


def _chance_lines(table: RecordedTable) -> Iterator[dict[str, Any]]:
    """Random search, exactly: until the last draw it trains rows that are not good, for so many
    epochs on average."""
    row_count = len(table.space)
    for goal, loss in goal_losses(table).items():
        is_bad = ~(table.loss <= loss)
        good_count = count_good_rows(table, loss)
        expected_draw_count = expected_draws(row_count, good_count)
        epochs_of_bad_row = 0.0
        if is_bad.any():
            epochs_of_bad_row = float(table.last_epochs[is_bad].mean())
        yield {
            **_line_of_goal(table, "random, exact", goal, good_count),
            "draws": expected_draw_count,
            "draws_worst": row_count - good_count + 1,
            "draws_sd": deviation_of_draws(row_count, good_count),
            "full_trainings": (expected_draw_count - 1) * epochs_of_bad_row / table.full_epochs + 1,
        }


def _grid_lines(table: RecordedTable) -> Iterator[dict[str, Any]]:
    """A grid gone through in nested loops, the first axis outermost, from every row on and from the
    last to the first."""
    nested_order = np.lexsort(table.space.rows.T[::-1])
    for goal, loss in goal_losses(table).items():
        good_places = np.flatnonzero(np.tile(table.loss[nested_order] <= loss, 2))
        start_places = np.arange(len(nested_order))
        draws_by_start = good_places[np.searchsorted(good_places, start_places)] - start_places + 1
        yield {
            **_line_of_goal(table, "nested loops, exact", goal, len(good_places) // 2),
            "draws": float(draws_by_start.mean()),
            "draws_sd": float(draws_by_start.std()),
            "draws_worst": int(draws_by_start.max()),
        }


def _line_of_goal(table: RecordedTable, method: str, goal: str, good_count: int) -> dict[str, Any]:
    return {"table": table.name, "method": method, "goal": goal, "good": good_count, "misses": 0}


def summarise_seconds(contests: Sequence[Contest]) -> list[dict[str, Any]]:
    """The median and the mean real seconds of a proposal, and those of a run, of each contest: by
    this computer's clock."""
    lines = []
    for contest in contests:
        seconds_by_run = [replay.proposal_seconds for replay in contest.replays]
        proposal_seconds = np.concatenate(seconds_by_run)
        lines.append(
            {
                "method": contest.name,
                "runs": len(seconds_by_run),
                "median": float(np.median(proposal_seconds)),
                "mean": float(proposal_seconds.mean()),
                "run": float(np.mean([run_seconds.sum() for run_seconds in seconds_by_run])),
            }
        )
    return lines
