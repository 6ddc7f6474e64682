"""A race of contestants that learn from earlier searches, on recorded tables.

    mean-place  rows in the order of their mean place in the earlier searches: the bar for learning
    fsbo        a Gaussian process on features that a network learned from them (deep_kernel.py)

The tables that it writes are those of `fovnet bench search --prior`, which races fovnet's own
methods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from deep_kernel import deep_improvement
from fovnet.bench.figures.standings import write_standings
from fovnet.bench.peers import Surrogate
from fovnet.bench.races import Entry, first_row, load_prior, refuse_unknown_methods
from fovnet.bench.replay import ReplayedSearch, Searcher, replay_asking
from fovnet.bench.tables import RecordedTable, load_table
from fovnet.bench.together import run_each
from fovnet.cli import main
from fovnet.cli.bench_searches import RECOGNISER_BY_FILE
from fovnet.cli.options import PathArgument, PathOption, Workers, folder_out
from fovnet.cli.screen import out, progress_bar
from fovnet.machine.threads import one_thread
from fovnet.search.prior import Prior
from fovnet.search.space import Space
from mean_place import MeanPlace

RacedEntry = TypeVar("RacedEntry", bound=Entry)

CONTESTANTS: Mapping[str, Callable[[Space, int, Prior], Searcher]] = {
    "mean-place": MeanPlace,
    "fsbo": lambda space, seed, prior: Surrogate(space, seed, 1, deep_improvement(prior)),
}

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class TaughtEntry(Entry):
    """One run of one of CONTESTANTS, which takes its priors by seed in turn."""

    @property
    def contestant(self) -> str:
        return self.method

    @property
    def way_to_spend(self) -> str:
        return "full"

    @property
    def prior(self) -> Path:
        return self.priors[self.seed % len(self.priors)]

    @property
    def setting(self) -> str:
        return f"prior={','.join(path.stem for path in self.priors)}"


def run_entry(entry: TaughtEntry) -> ReplayedSearch:
    """The run of an entry, in this process, with one thread for linear algebra."""
    table = load_table(entry.table)
    prior = load_prior(entry.prior, table.space.axes)
    with one_thread():
        return replay_asking(
            table,
            CONTESTANTS[entry.method](table.space, entry.seed, prior),
            first_row=first_row(table, entry.seed),
            seed=entry.seed,
            cap=entry.epoch_cap(table),
        )


@app.command()
def race_taught(
    tables: Annotated[list[Path], PathArgument(help="Tables of recorded trainings.")],
    out_folder: Annotated[
        Path,
        folder_out(
            RECOGNISER_BY_FILE, "Where standings.tsv, runs.tsv and standings.png are written."
        ),
    ],
    prior: Annotated[
        list[Path],
        PathOption(help="A file written by lessons.py; or several, for successive runs."),
    ],
    method: Annotated[
        list[str] | None, typer.Option(help="mean-place or fsbo, one or both; default: both.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each, as in `bench search`.")] = 20,
    draws: Annotated[int, typer.Option(min=1, help="Maximum number of trainings of a run.")] = 150,
    processes: Workers = 1,
) -> None:
    """Race contestants that learn from earlier searches: draws until the best row of a table and
    until good ones."""
    methods = list(dict.fromkeys(method or CONTESTANTS))
    refuse_unknown_methods(methods, CONTESTANTS)
    table_by_path = {path: load_table(path) for path in tables}
    for table in table_by_path.values():
        for path in prior:
            load_prior(path, table.space.axes)
    entries = [
        TaughtEntry(path, name, seed, draws, priors=tuple(prior))
        for path in table_by_path
        for name in methods
        for seed in range(runs)
    ]
    race(entries, run_entry, table_by_path, out_folder, processes)


def race(
    entries: Sequence[RacedEntry],
    run_entry: Callable[[RacedEntry], ReplayedSearch],
    table_by_path: Mapping[Path, RecordedTable],
    out_folder: Path,
    processes: int,
) -> None:
    """Runs entries, writes their standings to `out_folder`, and prints who draws the best row when."""
    with progress_bar("racing") as advance:
        replays = run_each(run_entry, entries, processes, advance)
        results = list(zip(entries, replays, strict=True))
    for view in write_standings(out_folder, table_by_path, results):
        for standing in view.standings:
            if standing.goal == "best":
                mean = f"{standing.mean:.1f} ± {standing.sd:.1f}"
                out.print(f"{view.name}: {standing.method} draws the best row after {mean}")
    out.print(f"{out_folder}: standings.tsv, runs.tsv, standings.png")


if __name__ == "__main__":
    main(app)
