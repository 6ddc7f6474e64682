"""A table whose rungs mislead: what it changes, and what it keeps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from fovnet.bench.tables import load_table, own_table_path
from fovnet.errors import ConfigError
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--correlation", "0.5"), "1 given; give 3, .*4 rungs.*bench-correlations"),
        (("flat.npz",), "flat.npz: no learning curves.*bench-curves"),
    ],
)
def test_what_cannot_be_dealt_out_is_refused(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A correlation for each of three steps is wanted; a table of two trainings has no curves."""
    monkeypatch.chdir(tmp_path)
    np.savez("flat.npz", X=np.eye(2), kinds=["ord", "ord"], names=["a", "b"], y=[1, 2], cost=[1, 1])
    with pytest.raises(ConfigError, match=message):
        output_of(app, "--out", "misleading.npz", *words)


def test_another_table_is_not_overwritten_and_one_of_its_own_is(tmp_path: Path) -> None:
    out_file = tmp_path / "misleading.npz"
    np.savez(out_file, X=np.eye(2))
    with pytest.raises(ConfigError, match="out-other-file"):
        output_of(app, "--out", str(out_file))
    out_file.unlink()
    output_of(app, "--out", str(out_file))
    output_of(app, "--out", str(out_file), "--seed", "1")
