"""A copy of a table with learning curves whose early losses mislead.

Of the trainings that do not diverge, the losses of each epoch are dealt out again: the lowest to that
which is first in an order, which ranks with the order at the next rung by a given correlation and
with those at the end by what is left of it.  The losses at the end stay, and so do those of each
epoch as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from fovnet.bench.tables import OWN_TABLE, RecordedTable, load_table
from fovnet.cli import main
from fovnet.cli.options import PathArgument, file_out
from fovnet.cli.screen import out
from fovnet.errors import ConfigError
from fovnet.records import read_npz, write_npz
from fovnet.search.spend.schedule import Schedule

Floats = NDArray[np.float64]

MARK = "correlations_of_rungs"
"""An array that only tables of this command have."""

app = typer.Typer(add_completion=False)


def misleading_scores(table: RecordedTable, correlations: Sequence[float], seed: int) -> Floats:
    """(M, R+1) the scores by epoch, dealt out anew up to the last rung but one; correlations are of
    each rung with the next, the first rung first."""
    generator = np.random.default_rng(seed)
    scores = table.scores.copy()
    ended_rows = np.flatnonzero(np.isfinite(scores[:, -1]))
    rungs = Schedule("asha", table.full_epochs).rungs
    order = norm.ppf(rankdata(scores[ended_rows, -1], "ordinal") / (len(ended_rows) + 1))
    for number in reversed(range(len(rungs) - 1)):
        correlation = correlations[number]
        noise = np.sqrt(1.0 - correlation**2) * generator.standard_normal(len(order))
        order = correlation * order + noise
        first_epoch = rungs[number - 1] + 1 if number else 1
        for epoch in range(first_epoch, rungs[number] + 1):
            scores[ended_rows[order.argsort()], epoch] = np.sort(scores[ended_rows, epoch])
    return scores


def _is_misleading_table(path: Path) -> bool:
    """Whether a file is a table of this command."""
    try:
        return MARK in read_npz(path)
    except ValueError:
        return False


@app.command()
def write_misleading_table(
    out_file: Annotated[
        Path,
        file_out(_is_misleading_table, "The npz file to write.", "a table of this command", ".npz"),
    ],
    table_path: Annotated[
        Path,
        PathArgument(
            help="A table with learning curves; default: that of the package.", show_default=False
        ),
    ] = OWN_TABLE,
    correlation: Annotated[
        list[float] | None,
        typer.Option(
            min=-1,
            max=1,
            help="Of each rung with the next, the first rung first; default: 0 for all.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the orders.")] = 0,
) -> None:
    """Write a copy of a table in which rungs say little of the end."""
    table = load_table(table_path)
    if table.full_epochs == 1:
        raise ConfigError(
            "bench-curves", f"{table_path}: no learning curves; give a table that has them"
        )
    step_count = len(Schedule("asha", table.full_epochs).rungs) - 1
    correlations = correlation or [0.0] * step_count
    if len(correlations) != step_count:
        raise ConfigError(
            "bench-correlations",
            f"--correlation: {len(correlations)} given; give {step_count}, as {table_path} has "
            f"{step_count + 1} rungs, or none",
        )
    scores = misleading_scores(table, correlations, seed)
    changes = {"curves": scores, "rule": np.array("last"), MARK: np.array(correlations)}
    write_npz(out_file, **{**read_npz(table_path), **changes})
    out.print(str(out_file))


if __name__ == "__main__":
    main(app)
