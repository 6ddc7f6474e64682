"""`fovnet bench ...` as it is typed: files where they were asked for, and faults in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import FovnetError
from fovnet.phantom.collection import simulate_collection
from fovnet.records import read_tsv
from fovnet.volume.collection.pack import slice_collections


@pytest.fixture
def line(tmp_path: Path) -> Path:
    """Twelve configurations along a line, the eighth the best."""
    X = np.linspace(0, 1, 12)[:, None]
    path = tmp_path / "line.npz"
    np.savez(
        path,
        X=X,
        kinds=np.array(["ord"]),
        names=np.array(["rate"]),
        y=(X[:, 0] - 0.62) ** 2 + 1,
        cost=np.ones(12),
    )
    return path


def bench(*words: str | Path) -> str:
    done = CliRunner().invoke(app, ["bench", *map(str, words)], catch_exceptions=True)
    if isinstance(done.exception, FovnetError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_a_race_leaves_its_numbers_its_runs_and_its_figure(line: Path, tmp_path: Path) -> None:
    folder = tmp_path / "race"
    output = bench(
        "search",
        line,
        "--out",
        folder,
        "--runs",
        2,
        "--draws",
        12,
        "--targets",
        "raw",
        "--initial",
        2,
    )
    rows = read_tsv(folder / "standings.tsv")
    assert {(row["method"], row["setting"]) for row in rows} == {
        ("gp-ei", "initial=2 targets=raw"),
        ("random", ""),
    }
    # (12 + 1) / 2
    assert {float(row["chance"]) for row in rows if row["goal"] == "best"} == {6.5}
    assert (folder / "standings.png").read_bytes()[:4] == b"\x89PNG"
    assert len({row["seed"] for row in read_tsv(folder / "runs.tsv")}) == 2
    assert "random, exact" in output


def test_the_thesis_starts_from_every_row_once(line: Path, tmp_path: Path) -> None:
    bench("search", line, "--out", tmp_path, "--thesis", "--method", "random")
    firsts = [int(row["row"]) for row in read_tsv(tmp_path / "runs.tsv") if row["draw"] == "1"]
    assert sorted(firsts) == list(range(12))


def test_the_bound_of_chance_is_printed_and_kept(tmp_path: Path) -> None:
    output = bench("bound", "--rows", 600, "--out", tmp_path / "bound.tsv")
    # C(534, 6) / C(600, 6) is the first below a half
    assert "66 (69)" in output
    assert len(read_tsv(tmp_path / "bound.tsv")) == 9


def test_the_edge_is_walked_and_counted(tmp_path: Path) -> None:
    bench("edge", "--out", tmp_path, "--seeds", 2, "--scenario", "killed", "--method", "random")
    (first, _), rows = read_tsv(tmp_path / "walks.tsv"), read_tsv(tmp_path / "edge.tsv")
    assert (
        int(first["failed"])
        == int(first["out_of_memory"]) + int(first["errors"])
        < int(first["draws"])
        <= 600
    )
    assert [row["measure"] for row in rows] == [
        "draws",
        "out of memory",
        "diverged",
        "failed in all",
        "killed, tried again",
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("edge --out x --scenario flood", "bench-scenario"),
        ("edge --out x --method optuna-gp", "bench-method"),
        ("propose --out x --method gp", "bench-method"),
        ("search no.npz --out x --kernel k", "bench-modelling"),
        ("search no.npz --out x --method hyperopt-tpe --method gp-ie", "bench-method"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_before_anything_runs(
    words: str, code: str
) -> None:
    with pytest.raises(FovnetError, match=code):
        bench(*words.split())


def test_the_help_names_every_scenario() -> None:
    """Written out there, so that `--help` need not import the experiment."""
    from fovnet.bench.edge import SCENARIOS
    from fovnet.cli.bench_searches import SCENARIO_HELP

    assert all(name in SCENARIO_HELP for name in SCENARIOS)


def test_slices_without_labels_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    simulate_collection(
        tmp_path / "people", subjects=1, volumes_per_subject=1, seed=3, without=["everything"]
    )
    (tmp_path / "people" / "regions.tsv").unlink()
    slice_collections({"made": tmp_path / "people"}, tmp_path / "slices")
    with pytest.raises(FovnetError) as refused:
        bench("accuracy", tmp_path / "slices", "--out", tmp_path / "made.tsv")
    assert refused.value.code == "search-no-slices"
    assert not (tmp_path / "made.tsv").exists()
