"""Races on recorded tables: against what can be counted by hand, and faults told by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fovnet.bench.races import GOALS, Entry, goal_losses, race, standings
from fovnet.bench.replay import Replay, replay
from fovnet.bench.tables import Table, load_table
from fovnet.errors import SearchError


def arrays(rows: int = 30, seed: int = 0) -> dict[str, Any]:
    """A line of configurations with a smooth loss; costs differ tenfold."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.linspace(0, 1, rows), np.arange(rows) % 3]).astype(float)
    return {
        "X": X, "kinds": np.array(["ord", "cat"]), "names": np.array(["rate", "choice"]),
        "y": 1 + (X[:, 0] - 0.37) ** 2 + 0.05 * X[:, 1], "cost": rng.uniform(1, 10, rows),
    }  # fmt: skip


def saved(folder: Path, **changes: Any) -> Path:
    path = folder / "line.npz"
    np.savez(path, **{**arrays(), **changes})
    return path


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return load_table(saved(tmp_path))


def test_chance_draws_half_the_table_on_average_until_the_best_row(table: Table) -> None:
    """(M + 1) / 2 = 15.5 draws; the mean of 300 runs has a standard deviation of 0.5."""
    runs = [replay(table, "random", first_row=seed % 30, seed=seed, draws=30, initial=1) for seed in range(300)]
    needed = [run.draws_until(table.best) for run in runs]
    assert None not in needed
    assert np.mean(needed) == pytest.approx(15.5, abs=4 * 0.5)


def test_a_model_finds_the_best_of_a_smooth_line_in_a_third_of_that(table: Table) -> None:
    runs = [replay(table, "gp-ei", first_row=seed, seed=seed, draws=30, initial=3) for seed in range(6)]
    assert np.mean([run.draws_until(table.best) for run in runs]) < 15.5 / 1.5


@pytest.mark.parametrize("workers", [1, 3])
def test_no_row_is_drawn_twice_and_time_is_that_of_workers_taking_turns(table: Table, workers: int) -> None:
    run = replay(table, "random", first_row=4, seed=1, draws=12, initial=1, workers=workers)
    assert len(set(run.rows.tolist())) == len(run.rows)
    free = [0.0] * workers
    for row, end in zip(run.rows, run.ends, strict=True):
        free = sorted(free)
        free[0] += table.cost[row]
        assert end == pytest.approx(free[0])


def test_a_row_that_diverged_when_recorded_is_a_failure_and_no_score(tmp_path: Path) -> None:
    loss = arrays()["y"]
    loss[::4] = np.nan
    table = load_table(saved(tmp_path, y=loss))
    run = replay(table, "gp-ei", first_row=0, seed=0, draws=30, initial=3)
    assert np.isnan(run.loss[0])
    assert run.draws_until(table.best) is not None


def test_goals_are_counted_and_a_miss_counts_as_the_cap(table: Table) -> None:
    goals = goal_losses(table)
    assert tuple(goals) == GOALS
    assert goals["within 5 %"] == pytest.approx(1.05 * table.best)
    assert (table.loss <= goals["top 10 %"]).sum() == 3
    best = int(table.loss.argmin())
    found = Replay(np.array([0, best]), table.loss[[0, best]], np.array([1.0, 2.0]), np.array([0.1, 0.1]))
    missed = Replay(np.array([0]), table.loss[[0]], np.array([1.0]), np.array([0.1]))
    first = standings(table, "random", [found, missed], draws=50)[0]
    assert (first.goal, first.mean, first.worst, first.misses) == ("best", 26.0, 50, 1)


def test_the_race_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    entries = [Entry(saved(tmp_path), method, seed, 8, 3, 2) for method in ("gp-ei", "random") for seed in range(2)]
    alone, together = ([result.rows.tolist() for _, result in race(entries, processes)] for processes in (1, 2))
    assert alone == together


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"y": np.array(["a"] * 30)}, "table-value"), ({"y": np.full(30, np.nan)}, "table-value"), ({"y": np.ones(29)}, "table-shape"),
        ({"cost": np.zeros(30)}, "table-value"), ({"kinds": np.array(["ord", "any"])}, "table-value"),
        ({"X": np.zeros((30, 2))}, "table-repeats"), ({"X": np.full((30, 2), np.nan)}, "table-value"),
        ({"names": np.array(["rate"])}, "table-shape"), ({"y": np.array([{}] * 30)}, "table-damaged"),
    ],
)  # fmt: skip
def test_a_faulty_table_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(SearchError) as fault:
        load_table(saved(tmp_path, **changes))
    assert fault.value.code == code
    assert "line.npz" in fault.value.sentence


def test_a_missing_file_and_one_without_losses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="table-missing"):
        load_table(tmp_path / "nowhere.npz")
    np.savez(tmp_path / "half.npz", X=np.zeros((2, 1)))
    with pytest.raises(SearchError, match=r"lacks kinds, y, cost, names"):
        load_table(tmp_path / "half.npz")
