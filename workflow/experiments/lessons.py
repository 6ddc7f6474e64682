"""Earlier searches to learn from, made of recorded tables: all of a table, or a search of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from fovnet.bench.races import first_row
from fovnet.bench.replay import replay
from fovnet.bench.tables import RecordedTable, load_table
from fovnet.cli import main
from fovnet.cli.options import PathArgument, file_out
from fovnet.cli.screen import out, progress_bar
from fovnet.errors import ConfigError
from fovnet.own_files import is_our_prior
from fovnet.records import digest
from fovnet.search.learn.training import Lessons, learn
from fovnet.search.prior import EarlierSearch, describe_axis_difference, write_prior
from fovnet.search.space import Axis

app = typer.Typer(add_completion=False)


def sources_of(
    paths: Sequence[Path], trials: int | None, seed: int
) -> tuple[tuple[Axis, ...], list[EarlierSearch]]:
    """The axes of the tables, and what each teaches.  Raises ConfigError "bench-axes" where they
    differ."""
    tables = [load_table(path) for path in paths]
    axes = tables[0].space.axes
    for path, table in zip(paths, tables, strict=True):
        if fault := describe_axis_difference(table.space.axes, axes, "that of the first table"):
            raise ConfigError(
                "bench-axes", f"{path}: {fault}; give tables of the same axes and levels"
            )
    return axes, [earlier_search(table, trials, seed) for table in tables]


def earlier_search(table: RecordedTable, trials: int | None, seed: int) -> EarlierSearch:
    """All rows of a table with a finite loss, or those among the first `trials` of a search by
    gp-ei, with this seed and no end at the best row."""
    rows: NDArray[np.int64] = np.arange(len(table.loss))
    if trials is not None:
        rows = replay(
            table,
            "gp-ei",
            first_row=first_row(table, seed),
            seed=seed,
            draws=trials,
            ends_at_best=False,
        ).rows
    rows = rows[np.isfinite(table.loss[rows])]
    rows = rows[np.argsort(table.loss[rows], kind="stable")]
    levels = table.space.rows[rows]
    losses = table.loss[rows]
    return EarlierSearch(table.name, digest([levels, losses]), len(rows), levels, losses)


@app.command()
def learn_from_tables(
    tables: Annotated[
        list[Path], PathArgument(help="Recorded tables of the same axes, each an earlier search.")
    ],
    out_file: Annotated[
        Path, file_out(is_our_prior, "The file for `fovnet bench search --prior`.", "a prior")
    ],
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials of one search per table; default: all rows.")
    ] = None,
    steps: Annotated[
        int, typer.Option(min=1, help="Steps of the training, each on one table.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training and of the searches.")] = 1,
    context: Annotated[
        bool | None,
        typer.Option(
            "--context/--no-context",
            show_default=False,
            help="Use networks that are shown what a search has seen so far; default: if the "
            "tables are large.",
        ),
    ] = None,
) -> None:
    """Learn from recorded tables, or from searches on them, what a search on another table should
    try first."""
    axes, sources = sources_of(tables, trials, seed)
    lessons = Lessons(steps=steps, context=context)
    with progress_bar("learning") as advance:
        prior = learn(sources, axes, lessons, seed, advance, checked=False)
    sources_text = ", ".join(f"{source.name} ({source.scored_count})" for source in prior.sources)
    out.print(f"{write_prior(prior, out_file)}: learned from {sources_text}")


if __name__ == "__main__":
    main(app)
