"""The stopwatch beside deciding: that the textbooks' recursions come to the same, not how long they take."""

from __future__ import annotations

import numpy as np
import pytest

from deciding import BODIES, COLUMNS, HEIGHTS, app, decode_by_pairs, decode_by_slices, simulate
from fovnet.decision.chain.chain_model import ChainModel
from fovnet.decision.chain.spans import slice_edges
from fovnet.decision.rule import Rule
from fovnet.records import read_tsv
from fovnet.regions import DEFAULT
from tests.typed_words import output_of


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("heights", [(), HEIGHTS])
def test_the_textbooks_find_the_same_path_and_the_same_probabilities(
    body: str, heights: tuple
) -> None:
    probabilities, z_mm = simulate(150, body, 3)
    n = len(DEFAULT.chain)
    chain = ChainModel.of(
        probabilities, n, slice_edges(z_mm), Rule(border_toll=1.0, heights=heights)
    )
    worth, shares = decode_by_pairs(chain) if heights else decode_by_slices(chain)
    assert worth == pytest.approx(chain.ladder.best()[1])
    np.testing.assert_allclose(
        shares[:, :n] if heights else shares[:, 1:-1],
        chain.ladder.crossings().posterior()[:, :n],
        atol=1e-8,
    )


def test_the_command_writes_a_row_a_size_a_body_and_a_rule(tmp_path) -> None:
    words = f"--out {tmp_path / 't.tsv'} --slices 30 --slices 60 --repeats 1"
    output_of(app, *words.split())
    rows = read_tsv(tmp_path / "t.tsv")
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 2 * len(BODIES) * 2
    assert all(float(row["ours_ms"]) > 0 for row in rows)
