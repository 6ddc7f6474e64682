"""Priors made of recorded tables: what is learned of them, and runs that begin with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fovnet.bench.races import Entry
from fovnet.bench.tables import load_table
from fovnet.errors import ConfigError, FovnetError
from fovnet.records import read_tsv
from lessons import app, earlier_search, sources_of
from tests.bench.test_verbs import bench
from tests.typed_words import output_of


def saved(folder: Path, name: str, best: float, rows: int = 40) -> Path:
    """A line of configurations with its lowest loss near `best`, and two that diverged."""
    X = np.linspace(0, 1, rows)[:, None]
    y = np.where(np.arange(rows) % 20 == 3, np.nan, (X[:, 0] - best) ** 2)
    path, kinds, names = folder / f"{name}.npz", np.array(["ord"]), np.array(["rate"])
    np.savez(path, X=X, kinds=kinds, names=names, y=y, cost=np.ones(rows))
    return path


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    return [
        saved(tmp_path, *named_loss)
        for named_loss in (("first", 0.71), ("second", 0.75), ("third", 0.73))
    ]


def test_a_table_teaches_all_its_finite_losses_from_the_lowest(paths: list[Path]) -> None:
    table = load_table(paths[0])
    _, (first, *_) = sources_of(paths, None, 0)
    assert (first.name, first.scored_count, len(first.losses)) == ("first", 38, 38)
    assert (np.diff(first.losses) >= 0).all()
    assert (table.loss[first.levels[:, 0]] == first.losses).all()


def test_a_journal_has_the_scores_of_so_many_trials_and_goes_on_beyond_the_best(
    paths: list[Path],
) -> None:
    """40 trials are all rows; of 12, those that failed have no score."""
    table = load_table(paths[0])
    assert earlier_search(table, 40, 0).scored_count == 38
    few, other = earlier_search(table, 12, 1), earlier_search(table, 12, 2)
    assert 10 <= few.scored_count <= 12 and few.losses[0] == table.best_loss
    assert few.sha256 != other.sha256 and few.sha256 == earlier_search(table, 12, 1).sha256


def test_tables_of_other_axes_are_refused_with_the_axis(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"finer\.npz: its axis 1 is .* that of the first table .*bench-ax"
    ):
        sources_of([*paths, saved(tmp_path, "finer", 0.5, rows=41)], None, 0)


def test_runs_take_the_priors_by_seed_in_turn_and_are_kept_apart(
    paths: list[Path], tmp_path: Path
) -> None:
    *others, target = paths
    priors = [tmp_path / f"p{seed}.safetensors" for seed in range(2)]
    for seed, prior in enumerate(priors):
        output = output_of(
            app, *others, "--out", prior, "--steps", 2000, "--seed", seed, "--no-context"
        )
        assert "learned from first (38), second (38)" in output.replace("\n", " ")
    given = [word for prior in priors for word in ("--prior", prior)]
    given += ["--method", "ranking", "--method", "random"]
    bench("search", target, "--out", tmp_path / "with", "--runs", 2, "--draws", 12, *given)
    runs = read_tsv(tmp_path / "with" / "runs.tsv")
    assert {(run["method"], run["setting"]) for run in runs} == {
        ("ranking", "prior=p0,p1"),
        ("random", ""),
    }
    assert [
        Entry(target, "ranking", seed, 9, priors=tuple(priors)).prior for seed in range(4)
    ] == 2 * priors
    assert len({prior.read_bytes() for prior in priors}) == 2
    second = [int(run["row"]) for run in runs if (run["method"], run["draw"]) == ("ranking", "2")]
    assert len(second) == 2 and all(abs(row - 28) <= 6 for row in second)  # the others' best


def test_a_prior_that_no_method_takes_or_of_other_axes_is_refused(
    paths: list[Path], tmp_path: Path
) -> None:
    prior, finer = tmp_path / "p.safetensors", saved(tmp_path, "finer", 0.5, rows=41)
    output_of(app, *paths, "--out", prior, "--steps", 1)
    for table, method, code in (
        (paths[0], "random", "bench-prior"),
        (finer, "ranking", "prior-space"),
    ):
        with pytest.raises(FovnetError, match=code):
            bench("search", table, "--method", method, "--out", tmp_path / "race", "--prior", prior)


def test_a_method_that_needs_a_prior_is_refused_without(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(
        FovnetError, match=r"gp-rgpe: learns from other searches; give --prior.*bench-prior"
    ):
        bench("search", paths[0], "--method", "gp-rgpe", "--out", tmp_path)
