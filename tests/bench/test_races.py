"""Races on recorded tables: against what can be counted by hand, and faults reported by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fovnet.bench.figures.race import RaceView, race_figure
from fovnet.bench.races import (
    GOALS,
    Entry,
    chance_curve,
    compute_standings,
    goal_losses,
    modelling_of,
    race,
    ranking_of,
    refuse_idle_options,
    refuse_methods,
    spread_rows,
    success_curve,
)
from fovnet.bench.replay import ReplayedSearch, Slot, replay, replay_from_slots
from fovnet.bench.spending import ReplaySpending
from fovnet.bench.tables import RecordedTable, load_table
from fovnet.drawing.canvas import png
from fovnet.errors import ConfigError, SearchError
from fovnet.search.look.view import Modelling, Ranking


def arrays(rows: int = 30, seed: int = 0) -> dict[str, Any]:
    """A line of configurations with a smooth loss; costs differ tenfold."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.linspace(0, 1, rows), np.arange(rows) % 3]).astype(float)
    return {
        "X": X,
        "kinds": np.array(["ord", "cat"]),
        "names": np.array(["rate", "choice"]),
        "y": 1 + (X[:, 0] - 0.37) ** 2 + 0.05 * X[:, 1],
        "cost": rng.uniform(1, 10, rows),
    }


def saved(folder: Path, **changes: Any) -> Path:
    path = folder / "line.npz"
    np.savez(path, **{**arrays(), **changes})
    return path


def ran(table: RecordedTable, rows: list[int], ends: list[float]) -> ReplayedSearch:
    """A run that trained these rows to the end, each in 0.1 s of proposing."""
    return replay_from_slots(
        table, [Slot(row, 0, table.full_epochs) for row in rows], np.array(ends), [0.1] * len(rows)
    )


@pytest.fixture
def table(tmp_path: Path) -> RecordedTable:
    return load_table(saved(tmp_path))


def test_chance_draws_half_the_table_on_average_until_the_best_row(table: RecordedTable) -> None:
    """(M + 1) / 2 = 15.5 draws; the mean of 300 runs has a standard deviation of 0.5."""
    runs = [
        replay(table, "random", first_row=seed % 30, seed=seed, draws=30, initial=1)
        for seed in range(300)
    ]
    needed = [run.draws_until(table.best_loss) for run in runs]
    assert None not in needed
    assert np.mean(needed) == pytest.approx(15.5, abs=4 * 0.5)


def test_a_model_finds_the_best_of_a_smooth_line_in_a_third_of_that(table: RecordedTable) -> None:
    runs = [
        replay(table, "gp-ei", first_row=seed, seed=seed, draws=30, initial=3) for seed in range(6)
    ]
    assert np.mean([run.draws_until(table.best_loss) for run in runs]) < 15.5 / 1.5


@pytest.mark.parametrize("workers", [1, 3])
def test_no_row_is_drawn_twice_and_time_is_that_of_workers_taking_turns(
    table: RecordedTable, workers: int
) -> None:
    run = replay(
        table, "random", first_row=4, seed=1, draws=12, initial=1, workers=workers, lead=1.0
    )
    assert len(set(run.rows.tolist())) == len(run.rows)
    free = [0.0] * workers
    for row, end in zip(run.rows, run.end_times, strict=True):
        free = sorted(free)
        free[0] += table.cost[row]
        assert end == pytest.approx(free[0])


def test_a_row_that_diverged_when_recorded_is_a_failure_and_no_score(tmp_path: Path) -> None:
    loss = arrays()["y"]
    loss[::4] = np.nan
    table = load_table(saved(tmp_path, y=loss))
    run = replay(table, "gp-ei", first_row=0, seed=0, draws=30, initial=3)
    assert np.isnan(run.loss[0])
    assert run.draws_until(table.best_loss) is not None


def test_goals_are_counted_and_a_miss_counts_as_the_cap(table: RecordedTable) -> None:
    goals = goal_losses(table)
    assert tuple(goals) == GOALS
    assert goals["within 5 %"] == pytest.approx(1.05 * table.best_loss)
    assert (table.loss <= goals["top 10 %"]).sum() == 3
    best = int(table.loss.argmin())
    found, missed = ran(table, [0, best], [1.0, 2.0]), ran(table, [0], [1.0])
    first = compute_standings(table, Entry(Path(), "random", 0, draws=50), [found, missed])[0]
    assert (first.goal, first.mean, first.worst, first.misses) == ("best", 26.0, 50, 1)
    # two runs, resampled: both, either, both
    assert (first.low, first.high, first.chance) == (2.0, 50.0, pytest.approx(15.5))


@pytest.mark.parametrize("diverged", [np.inf, np.nan])
def test_a_training_that_diverged_meets_no_goal(tmp_path: Path, diverged: float) -> None:
    """Of 30 rows two have a loss: the best three do not."""
    loss = np.full(30, diverged)
    loss[[4, 9]] = 1.0, 2.0
    table = load_table(saved(tmp_path, y=loss))
    assert goal_losses(table)["top 10 %"] == 2.0 and goal_losses(table)["top 1 %"] == 1.0
    run = replay(table, "random", first_row=0, seed=1, draws=30)
    assert (run.draws_until(goal_losses(table)["top 10 %"]) or 0) > 1


def test_a_run_that_misses_has_taken_until_its_last_worker_ends(table: RecordedTable) -> None:
    assert (
        compute_standings(
            table,
            Entry(Path(), "random", 0, draws=2, workers=2),
            [ran(table, [0, 1], [500.0, 2.0])],
        )[0].time
        == 500.0
    )


def test_a_curve_counts_the_runs_that_have_found_it_by_then(table: RecordedTable) -> None:
    """1 of 2 by draw 2, and never more; Wilson's interval for 1 of 2 is 9-91 %."""
    best = int(table.loss.argmin())
    found, missed = ran(table, [0, best], [1.0, 2.0]), ran(table, [0], [1.0])
    drawn = success_curve(table, Entry(Path(), "random", 0, draws=4), [found, missed])
    assert drawn.share.tolist() == [0.0, 0.5, 0.5, 0.5]
    assert (drawn.low[2], drawn.high[2]) == (
        pytest.approx(0.0945, abs=1e-4),
        pytest.approx(0.9055, abs=1e-4),
    )


def test_chance_follows_its_exact_curve(table: RecordedTable) -> None:
    """By draw n, n/30 of all runs have the best row: after 15 draws a half, within four standard deviations
    of 300 runs."""
    entry = Entry(Path(), "random", 0, draws=30)
    runs = [
        replay(table, "random", first_row=seed % 30, seed=seed, draws=30, initial=1)
        for seed in range(300)
    ]
    exact = chance_curve(table, 30)
    assert exact == pytest.approx(np.arange(1, 31) / 30)
    assert np.abs(success_curve(table, entry, runs).share - exact).max() < 4 * 0.5 / np.sqrt(300)


def test_the_thesis_starts_once_from_every_row_and_asks_the_model_from_the_second_draw(
    tmp_path: Path,
) -> None:
    assert spread_rows(30, 30) == list(range(30))
    assert spread_rows(30, 3) == [0, 10, 20] and spread_rows(3, 5) == [0, 1, 2]
    path = saved(tmp_path)
    thesis = Entry(path, "gp-ei", 0, 4, 1, modelling=Modelling(targets="raw"), first=7)
    (_, mine), (_, plain) = race([thesis, replace(thesis, initial=4)])
    assert mine.rows[0] == plain.rows[0] == 7
    # asked at once, and spread by a sequence
    assert mine.rows[1] != plain.rows[1]
    assert thesis.setting == "initial=1 targets=raw"
    assert (
        replace(thesis, method="random").setting
        == replace(thesis, initial=None, modelling=Modelling()).setting
        == ""
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [(("half", "matern52", "map"), "--targets half"), (("raw", "rbf", "map"), "--kernel rbf")],
)
def test_another_word_for_a_model_is_refused_with_those_that_are_known(
    words: tuple[str, str, str], code: str
) -> None:
    with pytest.raises(ConfigError, match=code):
        modelling_of(**dict(zip(("targets", "kernel", "hyperparameters"), words, strict=True)))
    assert modelling_of(targets="raw", hyperparameters="sampled") == Modelling(
        "raw", hyperparameters="sampled"
    )


@pytest.mark.parametrize("target", [float("nan"), float("inf")])
def test_a_target_that_no_loss_can_reach_or_that_has_no_distance_is_refused(target: float) -> None:
    with pytest.raises(ConfigError, match=r"give a finite loss.*bench-modelling"):
        modelling_of(target)
    with pytest.raises(ConfigError, match=r"ranked gives no distance.*bench-modelling"):
        modelling_of(0.4, targets="ranked")


def test_every_way_to_stop_on_rungs_names_its_rungs() -> None:
    usual = Entry(Path(), "gp-ei", 0, 4)
    for way, setting in (("asha", "eta=4"), ("asha-or-full", "eta=4"), ("full", "")):
        assert replace(usual, spending=ReplaySpending(way, eta=4)).setting == setting
    reaching = replace(usual, method="gp-esp", modelling=Modelling(target=0.4))
    assert reaching.setting == "target=0.4"


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        ({"modelling": Modelling(target=0.4)}, "add --method gp-pi"),
        ({"modelling": Modelling(width="schedule")}, "add --method gp-lcb"),
        ({"spending": ReplaySpending(minutes=1.0)}, r"add --method gp-ei\+asha"),
        ({"method": "tpe", "modelling": Modelling(models="single")}, "add --method gp-ei"),
    ],
)
def test_an_option_that_no_method_uses_is_refused_with_one_that_would(
    change: dict[str, Any], advice: str
) -> None:
    with pytest.raises(ConfigError, match=advice):
        refuse_idle_options([replace(Entry(Path(), "gp-ei", 0, 4), **change)])


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("epochs", "give a setting.*bench-modelling"),
        ("hidden=[", "give a setting.*bench-modelling"),
        ("epoch=3", "search.ranking.epoch: unknown key; did you mean 'epochs'"),
        ("acquisition=best", "'best'.*'mean-rank'"),
        ("rate_end=0.001", "more than a 40th of rate 0.02"),
    ],
)
def test_settings_of_ranking_that_no_configuration_could_have_are_refused(
    given: str, wrong: str
) -> None:
    with pytest.raises(ConfigError, match=f"(?s){wrong}"):
        ranking_of([given])


def test_settings_of_ranking_reach_the_search_and_name_its_runs(tmp_path: Path) -> None:
    """At a rate this low no network learns, and the rows are other ones."""
    how = ranking_of(["hidden=[8, 8]", "rate=1e-9", "rate_end=1e-11", "epochs=20", "range=null"])
    assert (
        how == Ranking(hidden=(8, 8), rate=1e-9, rate_end=1e-11, epochs=20)
        and ranking_of([]) == Ranking()
    )
    usual = Entry(saved(tmp_path), "ranking", 0, 12, 3, ranking=Ranking(hidden=(8, 8), epochs=20))
    given = replace(usual, ranking=how)
    (_, usual_race), (_, given_race) = race([usual, given])
    assert (
        usual_race.rows[:3].tolist() == given_race.rows[:3].tolist()
        and usual_race.rows.tolist() != given_race.rows.tolist()
    )
    assert given.setting == "epochs=20 hidden=[8,8] initial=3 rate=1e-09 rate_end=1e-11"
    assert (
        replace(given, method="random").setting
        == replace(given, method="ranking", ranking=Ranking(), initial=None).setting
        == ""
    )


def test_a_method_that_nobody_has_is_refused_and_so_are_several_workers_for_one_that_takes_turns() -> (
    None
):
    with pytest.raises(ConfigError, match=r"gp-ei, .*optuna-tpe"):
        refuse_methods(["gp-ie"], 1)
    with pytest.raises(ConfigError, match="bench-workers"):
        refuse_methods(["scikit-learn-gp"], 2)


def test_the_figure_shows_every_method_once_and_what_chance_needs(table: RecordedTable) -> None:
    entries = [Entry(Path(), method, 0, draws=30, initial=3) for method in ("gp-ei", "random")]
    runs = [
        [
            replay(table, entry.method, first_row=seed, seed=seed, draws=30, initial=3)
            for seed in range(3)
        ]
        for entry in entries
    ]
    view = RaceView(
        table.name,
        30,
        chance_curve(table, 30),
        [success_curve(table, *pair) for pair in zip(entries, runs, strict=True)],
        [
            row
            for pair in zip(entries, runs, strict=True)
            for row in compute_standings(table, *pair)
        ],
    )
    figure = race_figure([view, view])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(names) == ["gp-ei (initial=3)", "random", "random, exact"]
    assert png(figure)[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_race_does_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    entries = [
        Entry(saved(tmp_path), method, seed, 8, 3, 2)
        for method in ("gp-ei", "random")
        for seed in range(2)
    ]
    alone, together = (
        [result.rows.tolist() for _, result in race(entries, processes)] for processes in (1, 2)
    )
    assert alone == together


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"y": np.array(["a"] * 30)}, "table-value"),
        ({"y": np.full(30, np.nan)}, "table-value"),
        ({"y": np.ones(29)}, "table-shape"),
        ({"y": np.array([-np.inf, *np.ones(29)])}, "table-value"),
        ({"cost": np.zeros(30)}, "table-value"),
        ({"kinds": np.array(["ord", "any"])}, "table-value"),
        ({"X": np.zeros((30, 2))}, "table-repeats"),
        ({"X": np.full((30, 2), np.nan)}, "table-value"),
        ({"names": np.array(["rate"])}, "table-shape"),
        ({"y": np.array([{}] * 30)}, "table-damaged"),
    ],
)
def test_a_faulty_table_is_refused_by_name(
    tmp_path: Path, changes: dict[str, Any], code: str
) -> None:
    with pytest.raises(SearchError) as fault:
        load_table(saved(tmp_path, **changes))
    assert fault.value.code == code
    assert "line.npz" in fault.value.sentence


@pytest.mark.parametrize("content", [b"", b"PK", b"not an archive"])
def test_a_file_that_is_no_table_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "cut.npz").write_bytes(content)
    np.save(tmp_path / "curves.npy", np.ones((3, 2)))
    for path in (tmp_path / "cut.npz", tmp_path / "curves.npy"):
        with pytest.raises(SearchError, match="table-damaged"):
            load_table(path)


def test_a_missing_file_and_one_without_losses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="table-missing"):
        load_table(tmp_path / "nowhere.npz")
    np.savez(tmp_path / "half.npz", X=np.zeros((2, 1)))
    with pytest.raises(SearchError, match=r"lacks kinds, y, cost, names"):
        load_table(tmp_path / "half.npz")
