"""`fovnet bench ...` as it is typed: files where they were asked for, and faults in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fovnet.cli import app
from fovnet.cli.bench import SCRIPT_OF_VERB
from fovnet.errors import FovnetError
from fovnet.records import read_tsv
from tests.typed_words import output_of

SCRIPTS = Path(__file__).parents[2] / "workflow" / "experiments"


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
    return output_of(app, "bench", *words)


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


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("propose --out x --method gp", "bench-method"),
        ("search no.npz --out x --kernel k", "bench-modelling"),
        ("search no.npz --out x --rung-minutes inf", "search-schedule"),
        ("search no.npz --out x --method hyperopt-tpe --method gp-ie", "bench-method"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_before_anything_runs(
    words: str, code: str
) -> None:
    with pytest.raises(FovnetError, match=code):
        bench(*words.split())


@pytest.mark.parametrize("verb", SCRIPT_OF_VERB)
def test_a_verb_that_is_a_script_now_says_which(verb: str) -> None:
    with pytest.raises(FovnetError, match=f"experiments/{SCRIPT_OF_VERB[verb]}`.*bench-moved"):
        bench(verb, "--out", "x")
    assert (SCRIPTS / SCRIPT_OF_VERB[verb]).is_file()
