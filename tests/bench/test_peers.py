"""Other libraries as contestants: the rules of the race hold for each of them, those to come included."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from fovnet.bench import peers
from fovnet.bench.peers import PEERS, THAWING_PEERS, PeerLibrary, replay_peer
from fovnet.bench.replay import replay_asking
from fovnet.bench.tables import RecordedTable
from fovnet.errors import SearchError
from fovnet.search.space import Axis, Space, draw_nearest_free, row_places

SPACE = Space((Axis("rate", (1, 2, 4, 8, 16, 32)), Axis("kind", ("a", "b", "c"), "categorical")))


@pytest.fixture
def table() -> RecordedTable:
    """A bowl over 18 rows, one of which diverged."""
    places = row_places(SPACE)
    loss = (places[:, 0] - 0.6) ** 2 + 0.1 * (places[:, 1] != 1)
    loss[4] = np.nan
    return RecordedTable("bowl", SPACE, loss, np.ones(len(loss)))


@pytest.fixture(
    params=sorted(
        name for name, peer in PEERS.items() if peer.make_searcher and name not in THAWING_PEERS
    )
)
def name(request: pytest.FixtureRequest) -> str:
    absent = [module for module in PEERS[request.param].modules if find_spec(module) is None]
    if absent:
        pytest.skip(f"{request.param}: {', '.join(absent)} is not installed")
    return str(request.param)


def test_a_contestant_starts_where_it_must_and_draws_no_row_twice(
    table: RecordedTable, name: str
) -> None:
    """Eighteen draws are all rows, the diverged one among them, unless the best comes before; the same seed
    draws the same."""
    run = replay_peer(table, name, first_row=4, seed=1, cap=18, initial=3)
    assert run.rows[0] == 4
    assert len(set(run.rows.tolist())) == len(run.rows)
    assert run.loss[-1] == table.best_loss
    again = replay_peer(table, name, first_row=4, seed=1, cap=18, initial=3)
    assert run.rows.tolist() == again.rows.tolist()


def test_what_is_not_free_becomes_the_nearest_free_row_and_a_category_counts_one() -> None:
    places, free = row_places(SPACE), np.ones(len(SPACE), dtype=bool)
    rng = np.random.default_rng(0)
    wanted = SPACE.row_of({"rate": 4, "kind": "b"})
    assert draw_nearest_free(SPACE, places, places[wanted], free, rng) == wanted
    free[wanted] = False
    beside = {draw_nearest_free(SPACE, places, places[wanted], free, rng) for _ in range(20)}
    # 0.2 away, equals by lot
    assert beside == {SPACE.row_of({"rate": rate, "kind": "b"}) for rate in (2, 8)}
    free[:] = False
    free[[SPACE.row_of({"rate": 32, "kind": "b"}), SPACE.row_of({"rate": 4, "kind": "c"})]] = True
    # 0.6 against 1
    assert draw_nearest_free(SPACE, places, places[wanted], free, rng) == SPACE.row_of(
        {"rate": 32, "kind": "b"}
    )


def test_a_searcher_is_given_the_row_that_was_really_trained(table: RecordedTable) -> None:
    class Stubborn:
        """Asks for the same corner for ever."""

        def __init__(self) -> None:
            self.trained: list[int] = []

        def ask(self, is_free: np.ndarray) -> np.ndarray:
            return np.array([0.0, 0.0])

        def tell(self, row: int, loss: float) -> None:
            assert np.array_equal(loss, table.loss[row], equal_nan=True)
            self.trained.append(row)

    stubborn = Stubborn()
    run = replay_asking(table, stubborn, first_row=0, seed=0, cap=5)
    assert stubborn.trained == run.rows.tolist()
    # 0.8 along the axis is less than a category
    assert table.space.rows[run.rows].tolist() == [[level, 0] for level in range(5)]


def test_a_library_that_is_absent_is_named_with_what_to_type(
    monkeypatch: pytest.MonkeyPatch, table: RecordedTable
) -> None:
    monkeypatch.setattr(
        peers,
        "PEERS",
        {
            "nobody": PeerLibrary(
                "nobodys-search", ("nobodys_search",), PEERS["optuna-tpe"].make_searcher
            )
        },
    )
    with pytest.raises(
        SearchError, match=r"python -m pip install nobodys-search.*\[peer-missing\]"
    ):
        replay_peer(table, "nobody", first_row=0, seed=0, cap=2, initial=1)


def test_all_that_lack_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    make = PEERS["optuna-tpe"].make_searcher
    monkeypatch.setattr(
        peers,
        "PEERS",
        {
            name: PeerLibrary(f"{name}-search", (f"{name}_search",), make)
            for name in ("nobody", "noone")
        },
    )
    with pytest.raises(
        SearchError,
        match=r"nobody, noone: needs .* pip install nobody-search noone-search`, or leave these out",
    ):
        peers.refuse_absent("nobody", "noone")
    peers.refuse_absent()


def test_nomad_starts_where_it_must_draws_no_row_twice_and_repeats_itself(
    table: RecordedTable,
) -> None:
    """It may end before the best row is drawn, when it knows no other point."""
    pytest.importorskip("PyNomad", reason="PyNomadBBO is not installed")
    runs = [
        replay_peer(table, "nomad", first_row=4, seed=seed, cap=18, initial=3) for seed in (1, 1, 2)
    ]
    assert runs[0].rows.tolist() == runs[1].rows.tolist()
    for run in runs:
        assert (
            run.rows[0] == 4
            and len(set(run.rows.tolist())) == len(run.rows) > 3
            and (np.diff(run.end_times) > 0).all()
        )
