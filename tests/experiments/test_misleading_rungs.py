"""A table whose rungs mislead: what it changes, and what it keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from fovnet.bench.tables import load_table, own_table_path
from misleading_rungs import app
from tests.typed_words import output_of


def test_losses_are_dealt_out_anew_at_the_given_correlations_and_the_ends_stay(tmp_path: Path):
    """Of 573 trainings of 27 epochs; correlations of ranks are a little lower than of the orders."""
    out_file = tmp_path / "misleading.npz"
    words = [f"--correlation={correlation}" for correlation in (0.9, 0.5, 0.0)]
    output_of(app, "--out", str(out_file), *words)
    table = load_table(own_table_path())
    misleading = load_table(out_file)
    ended = np.isfinite(table.loss)
    assert np.array_equal(misleading.loss, table.loss, equal_nan=True)
    assert np.array_equal(misleading.scores[~ended], table.scores[~ended], equal_nan=True)
    assert np.array_equal(
        np.sort(misleading.scores[ended], axis=0),
        np.sort(table.scores[ended], axis=0),
        equal_nan=True,
    )
    correlations = [
        spearmanr(misleading.scores[ended, epoch], misleading.scores[ended, next_epoch])[0]
        for epoch, next_epoch in ((1, 3), (3, 9), (9, 27))
    ]
    assert np.allclose(correlations, [0.89, 0.48, 0.0], atol=0.1)
