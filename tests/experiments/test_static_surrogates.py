"""Static surrogates: what cheap trainings cost and order, and which trainings rules stop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import digit_networks
from digit_networks import network_of
from fovnet.bench.replay import replay
from fovnet.bench.tables import RecordedTable, load_table
from fovnet.errors import ConfigError
from fovnet.records import read_npz, read_tsv
from fovnet.search.space import Axis, Space, row_places
from static_stops import end_after_last_success, end_below_baseline, stop_lines
from static_surrogates import (
    CheapTrainings,
    Screening,
    app,
    cheap_trainings,
    replay_screened,
)
from tests.typed_words import output_of

SPACE = Space((Axis("rate", tuple(range(9))), Axis("width", tuple(range(9)))))
EPOCHS = 40


@pytest.fixture
def table() -> RecordedTable:
    """A bowl over 81 rows, whose curves fall from 2 to it in straight lines."""
    places = row_places(SPACE)
    loss = 0.1 + ((places - 0.6) ** 2).sum(axis=1)
    curves = np.linspace(2.0, loss, EPOCHS + 1, axis=1)
    return RecordedTable("bowl", SPACE, loss, np.ones(81), curves, "lowest", guessing_loss=2.0)


def test_without_cheap_trainings_it_is_the_mads_of_the_product(table: RecordedTable) -> None:
    for seed in range(3):
        epochs = replay_screened(table, None, seed, 81)["top 1 %"]
        first = int(np.random.default_rng([seed, 81]).integers(81))
        run = replay(table, "mads", first_row=first, seed=seed, draws=81)
        assert epochs == run.epochs_until(table.best_loss)


def test_a_perfect_order_that_is_free_needs_no_more_and_its_price_is_added(
    table: RecordedTable,
) -> None:
    free = CheapTrainings(table.loss, np.zeros(81))
    paid = CheapTrainings(table.loss, np.full(81, 4.0))
    pairs = [(replay_screened(table, t, 1, 81)["top 1 %"]) for t in (free, paid)]
    assert pairs[0] <= replay_screened(table, None, 1, 81)["top 1 %"]
    assert pairs[1] > pairs[0]
    assert (pairs[1] - pairs[0]) % 4.0 == 0.0
    assert free.correlation(table.loss) == pytest.approx(1.0)


def test_no_row_is_paid_twice_and_diverged_ones_come_last() -> None:
    class Slot:
        slot = 5

    screening = Screening(CheapTrainings(np.array([np.nan, 3.0, 2.0]), np.full(3, 2.0)))
    assert screening.pick(Slot(), None, np.array([0, 1])) == 1
    assert screening.pick(Slot(), None, np.array([0, 1, 2])) == 2
    assert screening.cost_until(5) == 6.0
    assert screening.cost_until(4) == 0.0


def test_a_training_ends_an_eighth_after_its_last_success(table: RecordedTable) -> None:
    curves = table.curves.copy()
    curves[3, 11:] = 5.0
    stuck = replace(table, curves=curves)
    assert end_after_last_success(stuck, 3, None) == 10 + EPOCHS // 8 + 1
    assert end_after_last_success(stuck, 4, None) == EPOCHS


def test_a_training_is_stopped_at_the_first_milestone_where_it_is_behind(
    table: RecordedTable,
) -> None:
    best = int(np.argmin(table.loss))
    worst = int(np.argmax(table.loss))
    gains = 2.0 - table.loss
    share = gains[worst] / gains[best]
    rule = {0.25: share - 0.01, 0.5: share + 0.01}
    assert end_below_baseline(rule, table, worst, best) == EPOCHS // 2
    assert end_below_baseline(rule, table, best, worst) == EPOCHS
    assert end_below_baseline(rule, table, worst, None) == EPOCHS


def test_curves_that_never_cross_lose_no_best_training(table: RecordedTable) -> None:
    for line in stop_lines(table, 3):
        assert line["lost"] == 0
        assert 0.0 < line["epochs_share"] <= 1.0


def test_shares_of_the_data_are_read_in_their_order(table: RecordedTable) -> None:
    scores = np.stack([table.loss, table.loss + 1.0, table.loss + 2.0])
    trainings = cheap_trainings(table, scores)
    assert list(trainings) == ["R1", "R2", "R3", "R4"]
    assert trainings["R1"].cost[0] == 5.0
    assert trainings["R4"].scores[0] == table.loss[0] + 2.0
    assert trainings["R4"].cost[0] == pytest.approx(4.0)


def test_the_command_trains_digits_once_and_writes_both_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(digit_networks, "EPOCHS", 2)
    words = ("--digits", 3, "--runs", 1, "--draws", 3, "--out", tmp_path)
    own_table = tmp_path / "own.npz"
    write_bowl(own_table)
    output_of(app, own_table, *words)
    table = load_table(tmp_path / "digits" / "digits.npz")
    assert table.full_epochs == 2
    scores = read_npz(tmp_path / "digits" / "digits.npz")["scores_of_share"]
    assert (scores[0] == table.loss).all()
    kept = sorted((tmp_path / "digits" / "trainings").iterdir())
    written = [path.stat().st_mtime_ns for path in kept]
    output_of(app, own_table, *words)
    assert [path.stat().st_mtime_ns for path in kept] == written
    rankings = read_tsv(tmp_path / "rankings.tsv")
    assert {row["ranking"] for row in rankings if row["table"] == "digits"} == {
        *("mads", "R1", "R2", "R3", "R4", "mads+asha")
    }
    assert len(read_tsv(tmp_path / "stops.tsv")) == 2 * 9


def test_a_table_without_curves_is_refused(tmp_path: Path) -> None:
    write_bowl(tmp_path / "own.npz", with_curves=False)
    with pytest.raises(ConfigError, match="no learning curves"):
        output_of(app, tmp_path / "own.npz", "--out", tmp_path / "out")


def test_a_network_of_digits_has_its_layers() -> None:
    levels = Space(digit_networks.AXES).configuration(0) | {"convolutions": 2}
    network = network_of(levels)
    assert network["conv"] == 2
    assert {name for name in network if name.startswith("conv.")} == {
        f"conv.{number}.{name}"
        for number in (1, 2)
        for name in ("channels", "kernel", "stride", "padding", "pooling")
    }


def write_bowl(path: Path, *, with_curves: bool = True) -> None:
    """A table of twelve rows in a file."""
    rows = np.arange(12.0)
    loss = 0.1 + (rows / 11.0 - 0.4) ** 2
    arrays = {"curves": np.linspace(2.0, loss, 9, axis=1), "rule": "lowest"}
    if not with_curves:
        arrays = {}
    np.savez(
        path,
        X=rows[:, None] / 11.0,
        kinds=["ord"],
        names=["rate"],
        y=loss,
        cost=np.ones(12),
        **arrays,
    )
