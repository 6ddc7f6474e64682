"""Earlier searches to learn from, made of recorded tables: all of a table, or a search of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.races import first_row
from fovnet.bench.replay import replay
from fovnet.bench.tables import Table, load_table
from fovnet.errors import ConfigError
from fovnet.records import digest
from fovnet.search.prior import EarlierSearch, difference
from fovnet.search.space import Axis


def sources_of(
    paths: Sequence[Path], trials: int | None, seed: int
) -> tuple[tuple[Axis, ...], list[EarlierSearch]]:
    """The axes of the tables, and what each teaches.  Raises ConfigError "bench-axes" where they differ."""
    tables = [load_table(path) for path in paths]
    axes = tables[0].space.axes
    for path, table in zip(paths, tables, strict=True):
        if other := difference(table.space.axes, axes, "that of the first table"):
            raise ConfigError(
                "bench-axes", f"{path}: {other}; give tables of the same axes and levels"
            )
    return axes, [taught_by(table, trials, seed) for table in tables]


def taught_by(table: Table, trials: int | None, seed: int) -> EarlierSearch:
    """All rows of a table with a finite loss, or those among the first `trials` of a search by gp-ei,
    with this seed and no end at the best row."""
    rows: NDArray[np.int64] = np.arange(len(table.loss))
    if trials is not None:
        first = first_row(table, seed)
        rows = replay(
            table, "gp-ei", first_row=first, seed=seed, draws=trials, ends_at_best=False
        ).rows
    rows = rows[np.isfinite(table.loss[rows])]
    rows = rows[np.argsort(table.loss[rows], kind="stable")]
    levels, losses = table.space.rows[rows], table.loss[rows]
    return EarlierSearch(table.name, digest([levels, losses]), len(rows), levels, losses)
