"""Contestants that learn from earlier searches: the rules of the race hold for each of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import deep_kernel
from fovnet.bench.replay import ReplayedSearch, replay_asking
from fovnet.bench.tables import RecordedTable
from fovnet.errors import FovnetError
from fovnet.records import read_tsv
from fovnet.search.learn.training import Lessons, learn
from fovnet.search.prior import EarlierSearch, write_prior
from fovnet.search.space import Axis, Space, row_places
from taught_race import CONTESTANTS, TaughtEntry, app
from tests.typed_words import output_of

SPACE = Space((Axis("rate", (1, 2, 4, 8, 16, 32)), Axis("kind", ("a", "b", "c"), "categorical")))


def earlier(name: str, rows: list[int]) -> EarlierSearch:
    """A search that had these rows, the best first."""
    return EarlierSearch(name, "0" * 64, len(rows), SPACE.rows[rows], np.arange(float(len(rows))))


SOURCES = [earlier("one", [7, 2, 11, 0, 5, 1]), earlier("other", [11, 7, 9, 3, 17, 16])]
PRIOR = learn(SOURCES, SPACE.axes, Lessons(steps=1), 0, checked=False)


@pytest.fixture
def table() -> RecordedTable:
    """A bowl over 18 rows, one of which diverged."""
    places = row_places(SPACE)
    loss = (places[:, 0] - 0.6) ** 2 + 0.1 * (places[:, 1] != 1)
    loss[4] = np.nan
    return RecordedTable("bowl", SPACE, loss, np.ones(len(loss)))


def run(table: RecordedTable, name: str, seed: int) -> ReplayedSearch:
    searcher = CONTESTANTS[name](SPACE, seed, PRIOR)
    return replay_asking(table, searcher, first_row=4, seed=seed, cap=18)


@pytest.mark.parametrize("name", CONTESTANTS)
def test_a_contestant_starts_where_it_must_and_draws_no_row_twice(
    table: RecordedTable, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eighteen draws are all rows, the diverged one among them, unless the best comes before."""
    monkeypatch.setattr(deep_kernel, "STEPS", 20)
    monkeypatch.setattr(deep_kernel, "EPOCHS", 5)
    first = run(table, name, 1)
    assert first.rows[0] == 4
    assert len(set(first.rows.tolist())) == len(first.rows)
    assert first.loss[-1] == table.best_loss
    assert run(table, name, 1).rows.tolist() == first.rows.tolist()


def test_rows_come_in_the_order_of_their_mean_place_and_last_those_that_no_search_had(
    table: RecordedTable,
) -> None:
    """Of six: 7 is first and second; 11 third and first, 2 second in one search alone; 9 third, and so on."""
    table.loss[13] = -1.0  # which no search had
    runs = [run(table, "mean-place", seed) for seed in range(6)]
    for replay in runs:
        assert replay.rows[[0, 1, 4]].tolist() == [4, 7, 9]
        assert [set(replay.rows[i:][:2].tolist()) for i in (2, 5, 7, 9)] == [
            {2, 11},
            {0, 3},
            {5, 17},
            {1, 16},
        ]
        assert replay.rows[-1] == 13
    assert len({len(replay.rows) for replay in runs}) > 1


def test_the_command_writes_the_tables_of_a_race(tmp_path: Path) -> None:
    path = tmp_path / "bowl.npz"
    X = np.column_stack([SPACE.rows[:, 0] / 5.0, SPACE.rows[:, 1]])
    losses = (X[:, 0] - 0.6) ** 2 + 0.1 * (X[:, 1] != 1)
    np.savez(path, X=X, kinds=["ord", "cat"], names=["rate", "kind"], y=losses, cost=np.ones(18))
    levels = (Axis("rate", tuple(np.unique(X[:, 0])), places=tuple(np.unique(X[:, 0]))),)
    axes = (*levels, Axis("kind", (0.0, 1.0, 2.0), "categorical"))
    prior = write_prior(
        learn(SOURCES, axes, Lessons(steps=1), 0, checked=False), tmp_path / "p.safetensors"
    )
    words = (path, "--prior", prior, "--runs", 2, "--draws", 18)
    output_of(app, *words, "--method", "mean-place", "--out", tmp_path / "race")
    rows = read_tsv(tmp_path / "race" / "runs.tsv")
    assert {(row["method"], row["setting"]) for row in rows} == {("mean-place", "prior=p")}
    with pytest.raises(FovnetError, match="bench-method"):
        output_of(app, *words, "--method", "fsb", "--out", tmp_path / "race")
    priors = (Path("a"), Path("b"))
    entries = [TaughtEntry(path, "fsbo", seed, 9, priors=priors) for seed in range(4)]
    assert [entry.prior for entry in entries] == [*priors, *priors]
