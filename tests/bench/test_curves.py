"""Replays of learning curves: scores by their rule, epochs counted by hand, and goals that count at the end
only."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.bench.figures.race import RaceView, race_figure
from fovnet.bench.peers import PEERS, THAWING_PEERS, replay_peer
from fovnet.bench.races import Entry, compute_standings, success_curve
from fovnet.bench.replay import ReplayedSearch, Slot, replay, replay_from_slots
from fovnet.bench.spending import WAYS_TO_SPEND, ReplaySpending
from fovnet.bench.tables import RecordedTable, load_table
from fovnet.cli import app
from fovnet.drawing.canvas import png
from fovnet.errors import SearchError
from fovnet.search.look.view import Modelling
from fovnet.search.space import Axis, Space

ROWS, R = 40, 9
ASHA = ReplaySpending("asha")


def curves(seed: int = 0) -> np.ndarray:
    """(40, 10) losses that fall towards a bowl's, those of great ends more slowly; every eighth row
    diverges."""
    x, rng = np.linspace(0, 1, ROWS), np.random.default_rng(seed)
    ends = 1 + (x - 0.37) ** 2
    made = (
        ends[:, None]
        + np.exp(-np.arange(R + 1) / (1 + ends[:, None]))
        + 0.01 * rng.standard_normal((ROWS, R + 1))
    )
    for row in range(5, ROWS, 8):
        made[row, 1 + row % R :] = np.nan
    return made


def saved(folder: Path, **changes: Any) -> Path:
    made = curves()
    y = np.where(np.isfinite(made[:, -1]), made[:, -1], 99.0)
    path = folder / "line.npz"
    arrays = {
        "X": np.linspace(0, 1, ROWS)[:, None],
        "kinds": np.array(["ord"]),
        "names": np.array(["rate"]),
        "y": y,
    }
    given = {**arrays, "cost": np.full(ROWS, 18.0), "curves": made, **changes}
    np.savez(path, **{name: value for name, value in given.items() if value is not None})
    return path


@pytest.fixture
def table(tmp_path: Path) -> RecordedTable:
    return load_table(saved(tmp_path))


@pytest.fixture
def late(tmp_path: Path) -> RecordedTable:
    """Its best row is the worst of all until the last epoch, and nobody finds it soon."""
    made = curves()
    made[int(np.nanargmin(made[:, -1])), 1:-1] = 50.0
    return load_table(saved(tmp_path, curves=made))


@pytest.mark.parametrize("rule", ["lowest", "last"])
def test_y_follows_from_the_curves_by_their_rule(rule: str, tmp_path: Path) -> None:
    """At every epoch against a loop over the epochs; nan from the first epoch on that is not finite."""
    made = curves()
    y = [min(row[1:]) if rule == "lowest" else row[-1] for row in made.tolist()]
    read = load_table(saved(tmp_path, y=np.array(y), rule=np.array(rule)))
    assert load_table(saved(tmp_path, y=np.array(y))).rule == read.rule == rule
    for row, losses in enumerate(made.tolist()):
        for epochs in range(1, R + 1):
            seen = losses[1 : epochs + 1]
            score = (
                (min(seen) if rule == "lowest" else seen[-1]) if np.isfinite(seen).all() else np.nan
            )
            assert read.scores[row, epochs] == pytest.approx(score, nan_ok=True)
    assert np.isnan(read.scores[:, 0]).all() and read.full_epochs == R


def test_a_row_whose_curve_diverges_has_diverged_whatever_y_says_and_costs_the_epochs_until_then(
    table: RecordedTable,
) -> None:
    """y of row 5 is 99; its sixth epoch is the first without a loss."""
    assert np.isnan(table.loss[5]) and table.last_epochs[5] == 6 and table.last_epochs[0] == R
    run = replay_from_slots(
        table,
        [Slot(0, 0, 1), Slot(5, 0, 3), Slot(5, 3, R), Slot(0, 1, R)],
        np.arange(4.0),
        [0.1] * 4,
    )
    assert run.epochs_spent.tolist() == [1, 4, 7, 15]  # 1, 3, the 3 until it diverges, 8
    assert run.rows_begun.tolist() == [1, 2, 2, 2] and run.epochs.tolist() == [1, 3, 6, R]
    assert run.is_complete.tolist() == [False, False, False, True]


def test_curves_beside_the_table_and_seconds_of_an_epoch_are_read(tmp_path: Path) -> None:
    np.save(tmp_path / "line.curves.npy", curves().astype(np.float32))
    read = load_table(saved(tmp_path, curves=None, epoch_seconds=np.full(ROWS, 0.5)))
    assert read.full_epochs == R and (read.cost == 0.5 * R).all()
    finite = np.isfinite(read.loss)
    assert (
        read.scores[finite, -1] == read.loss[finite]
    ).all()  # y itself, not its float32 neighbour


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"curves": curves()[1:]}, "table-shape"),
        ({"curves": curves()[:, :1]}, "table-shape"),
        ({"curves": np.ones(ROWS)}, "table-shape"),
        ({"curves": curves()[::-1]}, "table-curves"),
        ({"rule": np.array("best")}, "table-curves"),
        ({"rule": np.array("lowest")}, "table-curves"),
        ({"curves": np.full((ROWS, 3), "a")}, "table-value"),
        ({"curves": np.full((ROWS, 3), np.nan)}, "table-value"),
        ({"epoch_seconds": np.zeros(ROWS)}, "table-value"),
        ({"epoch_seconds": np.ones(3)}, "table-value"),
    ],
)
def test_faulty_curves_are_refused_by_name(
    changes: dict[str, Any], code: str, tmp_path: Path
) -> None:
    with pytest.raises(SearchError) as fault:
        load_table(saved(tmp_path, **changes))
    assert fault.value.code == code and "line.npz" in fault.value.sentence


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\x01\x00", b"no array"])
def test_damaged_curves_beside_a_table_are_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = saved(tmp_path, curves=None)
    (tmp_path / "line.curves.npy").write_bytes(content)
    with pytest.raises(SearchError, match=r"line\.curves\.npy.*table-damaged"):
        load_table(path)


@pytest.mark.parametrize("method", ["gp-ei", "random", "tpe"])
def test_full_trainings_draw_the_same_rows_with_and_without_curves(
    method: str, tmp_path: Path
) -> None:
    """Where no row diverges, which without curves has a loss of 99; each draw costs R epochs."""
    made = curves()
    made = made[np.isfinite(made).all(axis=1)]
    rows = {name: np.linspace(0, 1, len(made)) for name in ("X", "cost")}
    given = {"X": rows["X"][:, None], "cost": 1 + rows["cost"], "y": made[:, -1]}
    (with_curves, plain) = (
        load_table(saved(tmp_path, curves=each, **given)) for each in (made, None)
    )
    first, second = (
        replay(table, method, first_row=3, seed=1, draws=14) for table in (with_curves, plain)
    )
    assert first.rows.tolist() == second.rows.tolist()
    assert first.epochs_spent.tolist() == [R * draw for draw in second.epochs_spent]
    assert first.end_times == pytest.approx(second.end_times)


@pytest.mark.parametrize("way", WAYS_TO_SPEND)
@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_pays_every_epoch_of_a_row_once_and_ends_with_the_best_row_at_its_end(
    way: str, workers: int, table: RecordedTable
) -> None:
    run = replay(
        table,
        "random",
        first_row=3,
        seed=1,
        draws=40,
        workers=workers,
        spending=ReplaySpending(way),
    )
    trained: Counter[int] = Counter()
    for row, epochs, spent, before in zip(
        run.rows.tolist(), run.epochs, run.epochs_spent, [0, *run.epochs_spent[:-1]], strict=True
    ):
        assert spent - before == epochs - trained[row] > 0
        trained[row] = epochs
    assert run.epochs_spent[-1] == sum(trained.values()) == run.epochs_until(table.best_loss)
    assert run.rows_begun[-1] == len(trained) == run.draws_until(table.best_loss)
    assert all(trained[row] <= table.last_epochs[row] for row in trained)
    busy = sum(float(table.cost[row]) / R * epochs for row, epochs in trained.items())
    assert run.idle_share >= 0 and (workers > 1 or run.idle_share == pytest.approx(0, abs=1e-9))
    # predicted: also what diverges is planned whole
    assert workers * float(run.end_times.max()) * (1 - run.idle_share) >= busy - 1e-9


@pytest.mark.parametrize("way", WAYS_TO_SPEND)
def test_no_run_spends_more_than_its_cap_nor_stops_before_another_training_would(
    way: str, late: RecordedTable
) -> None:
    run = replay(late, "random", first_row=3, seed=2, draws=0, cap=57, spending=ReplaySpending(way))
    assert run.epochs_until(late.best_loss) is None
    assert 57 - R < run.epochs_spent[-1] <= 57


def test_a_goal_counts_when_its_row_is_trained_to_the_end_and_not_before(
    table: RecordedTable,
) -> None:
    best = int(np.nanargmin(table.loss))
    slots = [Slot(0, 0, R), Slot(best, 0, 1), Slot(1, 0, 1), Slot(best, 1, R)]
    found, missed = (
        replay_from_slots(table, slots, np.array([9.0, 1, 2, 3]), [0.1] * 4),
        replay_from_slots(table, slots[:3], np.ones(3), [0.1] * 3),
    )
    assert (
        found.draws_until(table.best_loss),
        found.epochs_until(table.best_loss),
        found.time_until(table.best_loss),
    ) == (
        3,
        2 * R + 1,
        3.0,
    )
    assert missed.draws_until(table.best_loss) is missed.epochs_until(table.best_loss) is None
    entry = Entry(Path(), "random", 0, draws=5, spending=ASHA)
    first = compute_standings(table, entry, [found, missed])[0]
    assert (first.misses, first.mean, first.epochs, first.epochs_worst) == (
        1,
        3.0,
        (2 * R + 1 + 5 * R) / 2,
        5 * R,
    )
    assert first.full_trainings == first.epochs / R
    share = success_curve(table, entry, [found, missed]).share
    assert (len(share), share[2 * R - 1], share[2 * R], share[-1]) == (5 * R, 0.0, 0.5, 0.5)


def test_one_epoch_trains_half_the_budget_for_an_epoch_each_and_the_best_of_these_to_the_end(
    late: RecordedTable,
) -> None:
    """Budget 50: 25 rows for an epoch each, and of them (50 - 25) // 8 = 3 to the end."""
    run = replay(
        late, "random", first_row=3, seed=4, draws=0, cap=50, spending=ReplaySpending("one-epoch")
    )
    assert run.epochs[:25].tolist() == [1] * 25 and len(run.rows) == 28
    scored = [row for row in run.rows[:25].tolist() if np.isfinite(late.scores[row, 1])]
    ranked = sorted(scored, key=lambda row: float(late.scores[row, 1]))
    assert run.rows[25:].tolist() == ranked[:3]


def test_stopping_the_worse_trainings_finds_the_best_row_in_fewer_epochs(
    table: RecordedTable,
) -> None:
    """Curves that fall alike tell after an epoch: by chance 20 full trainings, 185 epochs, are needed."""

    def mean(way: str) -> float:
        runs = [
            replay(
                table,
                "random",
                first_row=2 * seed,
                seed=seed,
                draws=40,
                spending=ReplaySpending(way),
            )
            for seed in range(20)
        ]
        return float(np.mean([run.epochs_until(table.best_loss) for run in runs]))

    full, sooner = mean("full"), [mean(way) for way in ("asha", "hyperband", "one-epoch")]
    assert max(sooner) < 0.7 * full


def test_a_model_is_told_the_latest_score_or_all_with_their_rungs(table: RecordedTable) -> None:
    """Both reach the best row, by other ways."""
    latest, axis = (
        replay(
            table,
            "gp-ei",
            first_row=9,
            seed=1,
            draws=40,
            spending=ASHA,
            modelling=Modelling(fidelity=sees),
        )
        for sees in ("latest", "axis")
    )
    assert latest.epochs_until(table.best_loss) and axis.epochs_until(table.best_loss)
    assert latest.rows.tolist() != axis.rows.tolist()


@pytest.mark.parametrize("name", THAWING_PEERS)
def test_another_library_that_stops_trainings_is_held_to_the_same_account(
    name: str, table: RecordedTable
) -> None:
    absent = [module for module in PEERS[name].modules if find_spec(module) is None]
    if absent:
        pytest.skip(f"{name}: {', '.join(absent)} is not installed")
    run, again = (
        replay_peer(table, name, first_row=4, seed=1, cap=30 * R, initial=3) for _ in range(2)
    )
    assert run.rows.tolist() == again.rows.tolist() and run.rows[0] == 4
    trained: Counter[int] = Counter()
    for row, epochs, spent, before in zip(
        run.rows.tolist(), run.epochs, run.epochs_spent, [0, *run.epochs_spent[:-1]], strict=True
    ):
        assert spent - before == epochs - trained[row] > 0
        trained[row] = epochs
    assert name == "dehb" or len(trained) == len(run.rows)  # what Optuna has pruned stays so
    assert run.epochs_spent[-1] <= 30 * R and any(0 < epochs < R for epochs in trained.values())


@pytest.mark.parametrize("name", THAWING_PEERS)
@pytest.mark.parametrize("trainable", [1, 2, 4, 12])
@pytest.mark.parametrize("seed", range(3))
def test_another_library_goes_on_where_nearly_every_training_diverges(
    name: str, trainable: int, seed: int
) -> None:
    absent = [module for module in PEERS[name].modules if find_spec(module) is None]
    if absent:
        pytest.skip(f"{name}: {', '.join(absent)} is not installed")
    rows = 40
    curves = np.full((rows, R + 1), np.nan)
    curves[:, 0] = 1.0
    curves[-trainable:, 1:] = np.linspace(0.9, 0.2, R) - np.arange(trainable)[:, None] / 100
    sparse = RecordedTable(
        "sparse", Space((Axis("x", tuple(range(rows))),)), curves[:, -1], np.ones(rows), curves
    )
    run = replay_peer(sparse, name, first_row=0, seed=seed, cap=20 * R, initial=3)
    assert len(run.rows) > 1 and run.epochs_spent[-1] <= 20 * R


def test_a_race_counts_epochs_where_there_are_curves_and_shows_them(tmp_path: Path) -> None:
    words = [
        "bench",
        "search",
        str(saved(tmp_path)),
        "--out",
        str(tmp_path / "race"),
        "--runs",
        "2",
        "--draws",
        "10",
    ]
    words += [
        "--method",
        "random",
        "--method",
        "random+asha",
        "--eta",
        "2",
        "--method",
        "hyperband",
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "epochs until the best row" in done.output and "random, exact" not in done.output
    lines = (tmp_path / "race" / "runs.tsv").read_text().splitlines()
    assert lines[0].split("\t")[-2:] == ["epochs", "spent"]
    assert {line.split("\t")[1] for line in lines[1:]} == {"random", "random+asha", "hyperband"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--spend", "asha"], "bench-spend"),
        (["--method", "hyperband"], "bench-spend"),
        (["--spend", "often"], "bench-spend"),
        (["--method", "random+often"], "bench-spend"),
        (["--fidelity", "some"], "bench-modelling"),
    ],
)
def test_stopping_early_is_refused_where_nothing_is_known_before_the_end(
    words: list[str], code: str, tmp_path: Path
) -> None:
    path = saved(tmp_path, curves=None)
    done = CliRunner().invoke(
        app, ["bench", "search", str(path), "--out", str(tmp_path / "race"), *words]
    )
    assert getattr(done.exception, "code", "") == code
    assert not (tmp_path / "race" / "runs.tsv").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--eta", "1"], "search-schedule"),
        (["--least-epochs", "10"], "search-schedule"),
        (["--epochs", "8"], "bench-spend"),
    ],
)
def test_rungs_that_cannot_be_are_refused_before_anything_runs(
    words: list[str], code: str, tmp_path: Path
) -> None:
    given = [
        "bench",
        "search",
        str(saved(tmp_path)),
        "--out",
        str(tmp_path / "race"),
        "--spend",
        "asha",
        *words,
    ]
    fault = CliRunner().invoke(app, given).exception
    assert getattr(fault, "code", "") == code and (words[0] != "--eta" or "--eta 1:" in str(fault))


def test_the_figure_counts_epochs_without_a_chance_that_nobody_has_counted(
    table: RecordedTable,
) -> None:
    entry = Entry(Path(), "random", 0, draws=10, spending=ASHA)
    runs: list[ReplayedSearch] = [
        replay(table, "random", first_row=seed, seed=seed, draws=10, spending=ASHA)
        for seed in range(3)
    ]
    view = RaceView(
        table.name,
        ROWS,
        np.zeros(0),
        [success_curve(table, entry, runs)],
        compute_standings(table, entry, runs),
    )
    figure = race_figure([view])
    assert [axis.get_xlabel().split()[0] for axis in figure.axes] == ["epochs", "epochs"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["random+asha"]
    assert png(figure)[:8] == b"\x89PNG\r\n\x1a\n"
