"""Random numbers of a search: who draws from one stream is said to."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from fovnet.bench.replay import replay
from fovnet.bench.tables import OWN_TABLE, load_table
from fovnet.search.look import mesh, ranking, view

SHARED = {
    ("Mesh._nearest_free_rows", "_poll_points"): (mesh.Mesh._nearest_free_rows, mesh._poll_points),
    ("_rows_nearby", "_poll_points"): (mesh._rows_nearby, mesh._poll_points),
    ("View.rng", "fit_ranker"): (view.View.rng.fget, ranking.fit_ranker),
}


def streams(
    monkeypatch: pytest.MonkeyPatch, method: str, draws: int
) -> dict[tuple[int, ...], set[str]]:
    """The functions that made a generator, by its seed without the zeros that numpy adds."""
    makers: dict[tuple[int, ...], set[str]] = defaultdict(set)
    default_rng = np.random.default_rng

    def recorded(seed: Any = None) -> np.random.Generator:
        maker = sys._getframe(1).f_code
        if isinstance(seed, list | tuple):
            words = [int(word) for word in seed]
            while words and words[-1] == 0:
                words.pop()
            makers[tuple(words)].add(maker.co_qualname)
        return default_rng(seed)

    with monkeypatch.context() as patch:
        patch.setattr(np.random, "default_rng", recorded)
        replay(load_table(OWN_TABLE), method, first_row=300, seed=1, draws=draws)
    return makers


@pytest.mark.parametrize(
    ("method", "draws", "shared"),
    [
        ("random", 20, set()),
        ("tpe", 20, set()),
        ("gp-ei", 8, set()),
        ("gp-ts", 8, set()),
        ("gp-mes", 8, set()),
        ("ensemble-ei", 6, set()),
        ("mads", 40, {("Mesh._nearest_free_rows", "_poll_points")}),
        ("a-mads", 30, {("Mesh._nearest_free_rows", "_poll_points")}),
        ("a-dogs", 30, set()),
        ("ranking", 5, {("View.rng", "fit_ranker")}),
    ],
)
def test_two_functions_draw_from_one_stream_only_where_they_say_so(
    monkeypatch: pytest.MonkeyPatch, method: str, draws: int, shared: set[tuple[str, str]]
) -> None:
    makers = streams(monkeypatch, method, draws)
    assert {tuple(sorted(names)) for names in makers.values() if len(names) > 1} == shared
    assert shared <= set(SHARED)


@pytest.mark.parametrize("names", sorted(SHARED))
def test_those_that_do_name_one_another(names: tuple[str, str]) -> None:
    told = " ".join(str(function.__doc__) for function in SHARED[names])
    assert "numbers" in told and any(
        name.rpartition(".")[2] in told or "ranking" in told for name in names
    )
