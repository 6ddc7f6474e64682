"""Deep ensembles as contestants: what restarts, and what is used again."""

from pathlib import Path

import numpy as np
import pytest

import deep_ensembles
from deep_ensembles import ARMS, Arm, EnsembleImprovement, app
from fovnet.records import read_tsv
from tests.typed_words import output_of

X = np.linspace(0.0, 1.0, 8)[:, None]
Y = (X[:, 0] - 0.3) ** 2


@pytest.fixture(autouse=True)
def few_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_ensembles, "EPOCHS", 5)


def test_networks_that_are_used_again_have_been_trained_and_those_that_restart_are_not_kept():
    reused = EnsembleImprovement(Arm(5, restarts=False), np.random.default_rng(0))
    reused(X, Y, X)
    networks = reused.networks
    weights = networks.flat.copy()
    assert len(weights) == 5
    reused(X, Y, X)
    assert reused.networks is networks
    assert (networks.flat != weights).any()
    restarted = EnsembleImprovement(Arm(5, restarts=True), np.random.default_rng(0))
    restarted(X, Y, X)
    assert restarted.networks is None


def test_both_begin_alike():
    """The first draw has nothing to use again."""
    values = [
        EnsembleImprovement(Arm(3, restarts), np.random.default_rng(0))(X, Y, X)
        for restarts in (True, False)
    ]
    assert (values[0] == values[1]).all()


def test_the_command_writes_the_tables_of_a_race(tmp_path: Path):
    rows = np.arange(12.0)
    np.savez(
        tmp_path / "bowl.npz",
        X=rows[:, None] / 11.0,
        kinds=["ord"],
        names=["rate"],
        y=(rows - 4.0) ** 2,
        cost=np.ones(12),
    )
    output_of(app, tmp_path / "bowl.npz", "--runs", 2, "--out", tmp_path / "race")
    lines = read_tsv(tmp_path / "race" / "runs.tsv")
    assert {line["method"] for line in lines} == set(ARMS)
    first_rows = {(line["seed"], line["row"]) for line in lines if line["draw"] == "1"}
    assert len(first_rows) == 2
