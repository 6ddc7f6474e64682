"""The edge of memory: a problem as documented, and counts that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edge import SCENARIOS, MemoryProblem, app, edge_standings, make_problem, walk
from fovnet.errors import FovnetError
from fovnet.net.cost.columns import columns_of_configurations
from fovnet.net.cost.predicted import predict_costs, predict_training_bytes
from fovnet.records import read_tsv
from tests.typed_words import output_of


@pytest.fixture(scope="module")
def problem() -> MemoryProblem:
    return make_problem(SCENARIOS["memory"], seed=3, rows=60)


def test_the_best_network_that_fits_is_smaller_than_many_that_do_not(
    problem: MemoryProblem,
) -> None:
    """The limit leaves 30 to 70 % of the rows; the lowest loss of all lies beyond it."""
    assert 0.25 < problem.fits.mean() < 0.75
    assert (
        problem.memory[problem.best_row]
        <= problem.limit
        < problem.memory[int(problem.loss.argmin())]
    )
    assert np.corrcoef(np.log(problem.memory), problem.loss)[0, 1] < -0.7


def test_memory_is_the_price_of_the_network_and_the_estimate_a_tenth_off(
    problem: MemoryProblem,
) -> None:
    nets = columns_of_configurations(
        [problem.space.configuration(row) for row in range(60)], classes=7, head="fc"
    )
    assert problem.memory == pytest.approx(predict_training_bytes(predict_costs(nets), nets.batch))
    assert np.log(problem.estimate / problem.memory).std() == pytest.approx(0.1, rel=0.5)


def test_a_problem_is_its_seed(problem: MemoryProblem) -> None:
    again, other = (
        make_problem(SCENARIOS["memory"], seed=3, rows=60),
        make_problem(SCENARIOS["memory"], seed=4, rows=60),
    )
    assert again.loss.tolist() == problem.loss.tolist()
    assert other.limit != problem.limit
    assert walk(problem, "gp-ei") == walk(again, "gp-ei")


@pytest.mark.parametrize("name", ["diverging-rows", "diverging-rates"])
def test_a_fifth_of_the_rows_diverges_and_the_best_is_none_of_them(name: str) -> None:
    problem = make_problem(SCENARIOS[name], seed=0, rows=100)
    assert problem.diverges.sum() == 20
    assert not problem.diverges[problem.best_row]
    if name == "diverging-rates":
        rates = problem.space.rows[:, 5]
        assert rates[problem.diverges].min() >= rates[~problem.diverges].max()


def test_chance_meets_half_of_all_that_cannot_fit(problem: MemoryProblem) -> None:
    """Each of them comes before the best row with probability 1/2; the mean of 100 orders is within four
    deviations."""
    walks = [walk(replace(problem, seed=seed), "random") for seed in range(100)]
    missing = int((~problem.fits).sum())
    counts = np.array([replay.out_of_memory for replay in walks])
    assert counts.mean() == pytest.approx(missing / 2, abs=4 * counts.std() / 10)
    assert np.mean([replay.draws for replay in walks]) == pytest.approx(
        61 / 2, abs=4 * 60 / np.sqrt(12) / 10
    )
    assert all(
        replay.found and replay.failed == replay.out_of_memory < replay.draws for replay in walks
    )


def test_a_killed_training_is_tried_again_and_three_times_killed_is_an_error(
    problem: MemoryProblem,
) -> None:
    """At one in three, a draw ends as an error with 1/27, and takes 1/3 + 1/9 repetitions on average."""
    scenario = replace(SCENARIOS["killed"], killed=1 / 3)
    walks = [walk(replace(problem, seed=seed, scenario=scenario), "random") for seed in range(150)]
    draws = sum(replay.draws for replay in walks)
    assert sum(replay.errors for replay in walks) == pytest.approx(
        draws / 27, abs=4 * np.sqrt(draws / 27)
    )
    assert sum(replay.kills for replay in walks) == pytest.approx(
        draws * 4 / 9, abs=4 * np.sqrt(draws * 0.6)
    )
    lost = [replay for replay in walks if not replay.found]
    assert all(replay.draws == 60 for replay in lost)
    assert edge_standings("killed", "random", walks)[0].missed == len(lost)


def test_a_search_that_learns_the_limit_fails_far_less_than_chance(problem: MemoryProblem) -> None:
    mine = [walk(make_problem(SCENARIOS["memory"], seed, rows=120), "gp-ei") for seed in range(4)]
    chance = [
        walk(make_problem(SCENARIOS["memory"], seed, rows=120), "random") for seed in range(4)
    ]
    assert sum(replay.out_of_memory for replay in mine) < 0.5 * sum(
        replay.out_of_memory for replay in chance
    )


def test_the_edge_is_walked_and_counted(tmp_path: Path) -> None:
    words = ("--out", tmp_path, "--seeds", 2, "--scenario", "killed", "--method", "random")
    for _ in range(2):  # its own tables are written anew
        output_of(app, *words)
    first, _ = read_tsv(tmp_path / "walks.tsv")
    rows = read_tsv(tmp_path / "edge.tsv")
    failed = int(first["out_of_memory"]) + int(first["errors"])
    assert int(first["failed"]) == failed < int(first["draws"]) <= 600
    assert [row["measure"] for row in rows] == [
        "draws",
        "out of memory",
        "diverged",
        "failed in all",
        "killed, tried again",
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [("--scenario flood", "bench-scenario"), ("--method optuna-gp", "bench-method")],
)
def test_options_that_cannot_be_meant_are_refused_before_anything_runs(
    words: str, code: str, tmp_path: Path
) -> None:
    with pytest.raises(FovnetError, match=code):
        output_of(app, "--out", tmp_path, *words.split())
