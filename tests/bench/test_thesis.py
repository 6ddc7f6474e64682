"""A thesis's experiment on a made table: what is known exactly, runs kept after a kill, and what a table
teaches."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.bench.figures.thesis import losses_figure
from fovnet.bench.races import GOALS, goal_losses
from fovnet.bench.tables import RecordedTable, load_table, own_table_path
from fovnet.bench.teaching import learn_lesson
from fovnet.bench.thesis import (
    PUBLISHED,
    THESIS_CONTESTANT,
    comparable_contestants,
    compare_contests,
    make_entries,
    run_contests,
)
from fovnet.cli import app
from fovnet.errors import SearchError
from fovnet.maths.draws import deviation_of_draws, expected_draws
from fovnet.records import read_tsv
from fovnet.search.space import paper_space

RATES, DEPTHS, KINDS = [-5, -4, -3, -2, -1], [1, 2, 3], ["a", "b"]
EPOCHS = 9
GRID = np.array(list(product(range(5), range(3), range(2))))
GUESS = 2.0
PICTURES = ("losses.png", "draws.png", "share-draws.png", "share-epochs.png")
FILES = ("thesis.md", "comparison.tsv", "effects.tsv", *PICTURES)


def saved(folder: Path, scale: float = 1.0) -> Path:
    """All 30 combinations: the loss falls with the rate, the lowest rate learns nothing, the highest diverges
    with kind b; depth matters a tenth as much."""
    rate, depth, kind = GRID.T
    ends = scale * (1.8 - 0.3 * rate + 0.03 * depth + 0.001 * kind)
    curves = ends[:, None] + 0.5 * np.exp(-np.arange(EPOCHS + 1))
    curves[rate == 0] = GUESS
    curves[(rate == 4) & (kind == 1), 4:] = np.nan
    path = folder / "made.npz"
    np.savez(
        path,
        X=GRID / np.array([4.0, 2.0, 1.0]),
        kinds=np.array(["ord", "ord", "cat"]),
        y=curves[:, -1],
        curves=curves,
        values=np.array([json.dumps(levels) for levels in (RATES, DEPTHS, KINDS)]),
        cost=np.ones(30),
        names=np.array(["rate", "depth", "kind"]),
        rule=np.array("last"),
        guess=np.array(GUESS),
    )
    return path


@pytest.fixture
def table(tmp_path: Path) -> RecordedTable:
    return load_table(saved(tmp_path))


def replayed(table: Path, folder: Path, *words: str) -> str:
    methods = [
        word for name in (THESIS_CONTESTANT, "random", "gp-ei+asha") for word in ("--method", name)
    ]
    called = ["bench", "thesis", str(table), "--out", str(folder), "--runs", "3", *methods, *words]
    done = CliRunner().invoke(app, called, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_random_search_of_the_thesis_is_chance() -> None:
    """1, 3, 6, 10, 6, 30 and 60 good rows of 600."""
    for (mean, deviation, _), good in zip(
        PUBLISHED["random"], (1, 3, 6, 10, 6, 30, 60), strict=True
    ):
        assert mean == pytest.approx(expected_draws(600, good), rel=0.1)
        assert deviation == pytest.approx(deviation_of_draws(600, good), rel=0.1)


def test_nested_loops_and_chance_are_those_of_a_count_by_hand(table: RecordedTable) -> None:
    lines = {(line["method"], line["goal"]): line for line in compare_contests(table, [])}
    order = sorted(range(30), key=lambda row: tuple(table.space.rows[row]))
    for goal, loss in goal_losses(table).items():
        met = [table.loss[row] <= loss for row in order]
        needed = [next(n for n in range(1, 31) if met[(start + n - 1) % 30]) for start in range(30)]
        line = lines["nested loops, exact", goal]
        assert (line["draws"], line["draws_worst"]) == (pytest.approx(np.mean(needed)), max(needed))
    rng, costs = np.random.default_rng(0), []
    for _ in range(4000):
        drawn = rng.permutation(30)
        until = int(np.flatnonzero(table.loss[drawn] == table.best_loss)[0])
        costs.append(table.last_epochs[drawn[: until + 1]].sum() / EPOCHS)
    assert lines["random, exact", "best"]["full_trainings"] == pytest.approx(
        np.mean(costs), rel=0.03
    )


def test_first_rows_are_spread_and_what_stops_trainings_needs_curves(
    table: RecordedTable, tmp_path: Path
) -> None:
    path = tmp_path / "made.npz"
    made = make_entries(path, table, ["random", THESIS_CONTESTANT], 10, None)
    assert [entry.first for entry in made] == 2 * list(range(0, 30, 3))
    assert {entry.setting for entry in made[10:]} == {"initial=1 models=single targets=raw"}
    ends = RecordedTable("ends", table.space, table.loss, table.cost)
    assert "gp-ei+asha" in comparable_contestants(table)
    assert not {"gp-ei+asha", "hyperband", "dehb"} & set(comparable_contestants(ends))


def test_a_killed_comparison_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    """One run is lost; only it is made again, and every file is the same."""
    path = saved(tmp_path)
    replayed(path, tmp_path / "out")
    before = {name: (tmp_path / "out" / name).read_bytes() for name in FILES}
    runs = sorted((tmp_path / "out" / "runs").iterdir())
    dates = {run: run.stat().st_mtime_ns for run in runs}
    runs[4].unlink()
    replayed(path, tmp_path / "out", "--jobs", "1")
    assert {run for run in runs if run.stat().st_mtime_ns != dates[run]} == {runs[4]}
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == before


def test_runs_of_another_table_are_made_anew(tmp_path: Path) -> None:
    for scale in (1.0, -1.0):
        path = saved(tmp_path, scale)
        table = load_table(path)
        run_contests(make_entries(path, table, ["random"], 2, None), tmp_path / "runs")
    assert len(list((tmp_path / "runs").iterdir())) == 4


def test_the_page_has_the_thesis_numbers_and_a_cell_for_every_goal(tmp_path: Path) -> None:
    replayed(saved(tmp_path), tmp_path / "out")
    text = (tmp_path / "out" / "thesis.md").read_text()
    lines = [
        line
        for line in text.splitlines()
        if line.startswith("| `") or line.startswith("| Bertrand")
    ]
    assert {line.count("|") for line in lines} == {len(GOALS) + 2}
    assert "| Bertrand (2019), gp-ei | 87.0 ± 64 (249) | 26.0 ± 16 (120) |" in text
    assert "| Bertrand (2019), gp-ei | 0.29 | 0.18 |" in text
    assert "3 diverged, 6 learned nothing" in text
    rows = read_tsv(tmp_path / "out" / "comparison.tsv")
    asha = next(row for row in rows if row["method"] == "gp-ei+asha" and row["goal"] == "best")
    chance = next(row for row in rows if row["method"] == "random, exact" and row["goal"] == "best")
    assert (
        float(asha["full_trainings"]) < float(chance["full_trainings"]) and int(asha["runs"]) == 3
    )


@pytest.mark.parametrize("diverged", [np.nan, np.inf])
def test_trainings_that_diverged_are_counted_and_not_drawn(
    table: RecordedTable, diverged: float
) -> None:
    loss = np.where(np.isfinite(table.loss), table.loss, diverged)
    (axis,) = losses_figure(replace(table, loss=loss, curves=None, guessing_loss=None)).axes
    assert "3 diverged" in axis.get_title("left")
    assert sum(bar.get_height() for bar in axis.patches) == 27


def test_a_table_teaches_which_axis_matters_and_where_trainings_fail(
    table: RecordedTable, tmp_path: Path
) -> None:
    taught = learn_lesson(tmp_path / "made.npz", table)
    shares = {axis.name: axis.share or 0.0 for axis in taught.importance.axes}
    assert max(shares, key=lambda name: shares[name]) == "rate" and shares["rate"] > 0.8
    lines = {(line["axis"], line.get("level")): line for line in taught.lines}
    assert lines["rate", "-1"]["diverged"] == 3 == lines["kind", "b"]["diverged"]
    assert lines["rate", "-5"]["nothing_learned"] == 6 and lines["rate", "-5"]["learned"] == 0
    assert lines["rate", "-1"]["best"] == table.best_loss and lines["rate", "-3"]["learned"] == 1


def test_a_table_that_lacks_combinations_teaches_of_all_of_them(
    table: RecordedTable, tmp_path: Path
) -> None:
    """Levels that it has lost keep their names, and have no rows."""
    path = tmp_path / "made.npz"
    with np.load(path) as arrays:
        whole = dict(arrays)
    some = {
        name: value[GRID[:, 1] != 1] for name, value in whole.items() if value.shape[:1] == (30,)
    }
    np.savez(path, **(whole | some))
    taught = learn_lesson(path, load_table(path))
    depths = [line for line in taught.lines if line["axis"] == "depth" and "level" in line]
    rows = {line["level"]: line["rows"] for line in depths}
    assert rows == {"1": 10, "2": 0, "3": 10} and taught.importance.is_full_grid


def test_an_installation_without_its_table_says_how_to_record_one(tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="fovnet bench table") as fault:
        own_table_path(tmp_path / "absent.npz")
    assert fault.value.code == "table-absent"


def test_the_table_that_comes_with_the_package_is_the_papers_space_with_whole_curves() -> None:
    """Its rows are rows of that space, none twice; a status for each, and what ended well has 27 finite
    losses."""
    table = load_table(own_table_path())
    taught = learn_lesson(own_table_path(), table)
    ours, papers = (
        [len(axis.levels) for axis in axes] for axes in (taught.importance.axes, paper_space().axes)
    )
    assert ours == papers
    with np.load(own_table_path()) as arrays:
        whole = np.isfinite(arrays["curves"][:, 1:]).all(axis=1)
        assert (
            whole == (arrays["status"] == "completed")
        ).all() and table.full_epochs == EPOCHS * 3
    assert (np.isfinite(table.loss) == whole).all() and table.guessing_loss == pytest.approx(
        np.log(7), rel=0.02
    )


def test_a_race_without_a_table_is_run_on_that_one(tmp_path: Path) -> None:
    words = [
        "bench",
        "search",
        "--out",
        str(tmp_path),
        "--runs",
        "1",
        "--draws",
        "3",
        "--method",
        "random",
    ]
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
    assert {row["table"] for row in read_tsv(tmp_path / "runs.tsv")} == {"fov-600"}
