"""Races over trees: what is known of the problems exactly, and runs that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fovnet.bench.conditional import FUNCTIONS
from fovnet.bench.peers import PeerLibrary
from fovnet.bench.tree_networks import digits_tree, slices_tree
from fovnet.bench.tree_peers import TREE_PEERS, search_by_hyperopt
from fovnet.bench.tree_problems import make_problem
from fovnet.bench.tree_races import (
    TreeEntry,
    TreeRun,
    compare_tree_contests,
    make_tree_entries,
    race_on_tree,
)
from fovnet.cli import app
from fovnet.errors import FovnetError
from fovnet.net.family.layered_tree import refuse_foreign_tree
from fovnet.records import read_tsv
from fovnet.search.tree.tree import Tree, points_of
from tests.typed_words import output_of

STARTS = {"function": 1.26895, "coupled": 1.00391}


def bench(*words: str | Path) -> str:
    return output_of(app, "bench", "tree", *words)


def template(tmp_path: Path, problem: str = "function", trials: int = 12) -> TreeEntry:
    return TreeEntry(problem, "", 0, trials, 1, tmp_path / "data")


@pytest.mark.parametrize("problem", STARTS)
def test_the_start_has_the_value_of_its_description(problem: str) -> None:
    function = FUNCTIONS[problem]
    start = function.tree.configuration(function.tree.start_point)
    assert function.loss(start) == pytest.approx(STARTS[problem], abs=5e-6)


def numbers_of_layers(layers: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """A count of layers, and their values of a, b, s and, where there is a fourth, c."""
    values = {
        f"layers.{layer}.{name}": value
        for layer, numbers in enumerate(layers, start=1)
        for name, value in zip("absc", numbers, strict=False)
    }
    return {"layers": len(layers), **values}


LAYERS = ((0.2, 4, 1, "x"), (0.35, 8, 2, "y"), (0.5, 16, 1, "y"), (0.65, 32, 2, "z"))
COMMON = {"u": 0.3, "v": 10**-2.8}  # at place 0.55 of 1e-5 to 0.1
# r at places 0.6 and 0.35 of 1e-4 to 1
OPTIMA: Mapping[str, dict[str, Any]] = {
    "function": numbers_of_layers(LAYERS) | {"way": "p", "way.r": 10**-1.6, "way.m": 0.7} | COMMON,
    "fixed": numbers_of_layers([layer[:3] for layer in LAYERS])
    | {"r": 10**-1.6, "m": 0.7}
    | COMMON,
    "coupled": numbers_of_layers([(0.5, 8, 2, "x"), (0.5, 4, 1, "z"), (0.5, 16, 1, "y")])
    | {"way": "r", "way.r": 10**-2.6, "way.m": 0.8}
    | COMMON,
}


@pytest.mark.parametrize("problem", OPTIMA)
def test_the_optimum_has_the_lowest_value_and_nothing_beside_it_is_lower(problem: str) -> None:
    """One number after another is moved; a layer is left out."""
    function = FUNCTIONS[problem]
    optimum = OPTIMA[problem]
    assert function.tree.point(optimum).shape == (len(function.tree),)
    lowest = function.loss(optimum)
    assert lowest == pytest.approx(function.lowest_value, abs=1e-12)
    for key, value in optimum.items():
        changes: list[Any] = []
        if isinstance(value, int):
            changes = [value - 1]
        elif isinstance(value, float):
            changes = [value * 0.9, value * 1.1]
        for change in changes:
            assert function.loss({**optimum, key: change}) > lowest, (key, change)


@pytest.mark.parametrize("contestant", ["random", *TREE_PEERS])
def test_every_contestant_begins_with_the_start_and_keeps_its_seed(
    tmp_path: Path, contestant: str
) -> None:
    if contestant in TREE_PEERS and TREE_PEERS[contestant].software.missing:
        pytest.skip(f"{contestant} is not installed: pip install hyperopt PyNomadBBO")
    entries = make_tree_entries(template(tmp_path), [contestant], 2)
    runs = race_on_tree(entries, tmp_path / "runs", 1)
    for run in runs:
        assert run.losses[0] == pytest.approx(STARTS["function"], abs=5e-6)
        # none is trained twice
        assert len(set(run.losses)) == len(run.losses) <= 12
    assert runs[0].losses != runs[1].losses
    (again,) = race_on_tree(entries[1:], tmp_path / "again", 1)
    assert again.losses == runs[1].losses


@pytest.mark.skipif(find_spec("hyperopt") is None, reason="hyperopt is not installed")
def test_hyperopt_draws_from_the_tree_s_own_prior(tmp_path: Path) -> None:
    """Its first twenty points are of the prior: every count of layers is there, and nothing that is
    trained has a fault or an inactive variable."""
    problem = make_problem("function", tmp_path)
    trained: list[Any] = []
    for seed in range(5):
        search_by_hyperopt(problem, seed, 10, trained.append)
    assert {configuration["layers"] for configuration in trained} == set(range(7))
    assert {configuration["way"] for configuration in trained} == set("pqrs")
    points = points_of(problem.tree, trained)
    assert all(fault is None for fault in problem.costs(problem.tree.columns(points)).faults)
    assert [problem.tree.configuration(point) for point in points] == trained


def test_runs_are_kept_and_only_the_others_are_made(tmp_path: Path) -> None:
    """Stopped after the third of four."""
    entries = make_tree_entries(template(tmp_path), ["random", "mads"], 2)
    undisturbed = race_on_tree(entries, tmp_path / "undisturbed", 1)

    def stop(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        race_on_tree(entries, tmp_path / "runs", 1, stop)
    dates = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    assert len(dates) == 3
    runs = race_on_tree(entries, tmp_path / "runs", 1)
    assert [run.losses for run in runs] == [run.losses for run in undisturbed]
    assert all(path.stat().st_mtime_ns == date for path, date in dates.items())
    assert len(list((tmp_path / "runs").iterdir())) == 4


def test_a_table_says_how_much_lower_each_is_by_seed(tmp_path: Path) -> None:
    """Of two seeds, by hand; hyperopt ends at 1.5 on average, which the first has after two trainings."""
    first, second = (
        [TreeRun(losses, (None,) * len(losses), 1.0) for losses in of_contestant]
        for of_contestant in (
            [(3.0, 1.0, None), (3.0, 2.0, 1.0)],
            [(3.0, None, 2.0), (3.0,)],
        )
    )
    entries = make_tree_entries(template(tmp_path, trials=3), ["random", "hyperopt"], 2)
    runs = [first[0], second[0], first[1], second[1]]
    lines = compare_tree_contests(make_problem("function", tmp_path), entries, runs)
    assert [line["method"] for line in lines] == ["random", "hyperopt"]
    assert [line["mean"] for line in lines] == [1.0, 2.5]
    assert lines[1]["difference"] == 1.5
    # of 1 and 2
    assert lines[1]["difference_se"] == pytest.approx(0.5)
    assert [line["to_hyperopt"] for line in lines] == [2, 3]
    assert lines[1]["worst"] == 3.0


def test_workers_see_less_and_begin_alike(tmp_path: Path) -> None:
    entries = make_tree_entries(template(tmp_path, trials=14), ["mads"], 1)
    (alone,) = race_on_tree(entries, tmp_path / "runs", 1)
    (among_four,) = race_on_tree([replace(entries[0], workers=4)], tmp_path / "runs", 1)
    assert alone.losses[:10] == among_four.losses[:10]
    assert alone.losses[10:] != among_four.losses[10:]


def test_the_verb_writes_its_table(tmp_path: Path) -> None:
    words = ["--method", "random", "--runs", "3", "--trials", "60", "--out", tmp_path]
    output = bench("--problem", "fixed", *words)
    lines = read_tsv(tmp_path / "fixed.tsv")
    assert [line["after"] for line in lines] == ["50", "60"]
    assert float(lines[0]["mean"]) >= float(lines[1]["mean"]) > 0
    assert "fixed, 3 seeds" in output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--problem function2", r"choose among function, coupled, .*\[bench-problem\]"),
        ("--method grid", r"choose among random, .*\[bench-method\]"),
        ("--method hyperband", r"choose among random, .*\[bench-method\]"),
        ("--peer optuna", r"choose among hyperopt, nomad \[bench-peer\]"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(words: str, sentence: str) -> None:
    with pytest.raises(FovnetError, match=sentence):
        bench(*words.split(), "--out", "x")


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    library = PeerLibrary("nobodys-search", ("nobodys_search",), None)
    absent = {**TREE_PEERS, "hyperopt": TREE_PEERS["hyperopt"]._replace(software=library)}
    monkeypatch.setattr("fovnet.bench.tree_races.TREE_PEERS", absent)
    with pytest.raises(FovnetError, match=r"--peer hyperopt.*pip install nobodys-search.*missing"):
        bench("--peer", "hyperopt", "--out", "x")


@pytest.mark.parametrize(
    ("tree", "count", "start_count"), [(digits_tree(), 45, 17), (slices_tree(), 49, 21)]
)
def test_networks_are_trees_of_so_many_variables(tree: Tree, count: int, start_count: int) -> None:
    refuse_foreign_tree(tree)
    assert (len(tree), len(tree.configuration(tree.start_point))) == (count, start_count)


def test_the_start_learns_digits(tmp_path: Path) -> None:
    problem = make_problem("digits", tmp_path)
    answer = problem.train(problem.tree.configuration(problem.tree.start_point), 1)
    assert answer.loss is not None and answer.loss < 0.5 * np.log(10)
    assert answer.test_accuracy is not None and answer.test_accuracy > 0.8
    # in another folder they are the same pictures, whenever they are written
    assert make_problem("digits", tmp_path / "later").facts == problem.facts
