"""`fovnet bench propose`: the seconds and the memory of a proposal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fovnet.bench.pace import COLUMNS as PACE_COLUMNS
from fovnet.bench.pace import measure_paces
from fovnet.bench.races import refuse_unknown_methods
from fovnet.cli.options import file_out, table_of
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.records import write_tsv

verbs = typer.Typer()
DEFAULT_TRIAL_COUNTS = (300, 1000)


@verbs.command("propose")
def bench_propose(
    out_file: Annotated[
        Path, file_out(table_of("fovnet.bench.pace"), "A TSV file for the numbers.")
    ],
    trials: Annotated[
        list[int] | None,
        typer.Option(min=2, max=30_000, help="Final number of known trials; or several numbers."),
    ] = None,
    method: Annotated[str, typer.Option(help="A search method.")] = "gp-ei",
    diverged: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the trials that have diverged.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Measure the cost of a proposal over the paper's 34,300 rows: seconds on one core, including
    refits, and memory."""
    refuse_unknown_methods([method])
    with progress_bar("timing") as advance:
        measured_paces = list(
            measure_paces(method, trials or DEFAULT_TRIAL_COUNTS, seed, diverged, advance)
        )
    write_tsv(out_file, PACE_COLUMNS, [vars(pace) for pace in measured_paces])
    table = empty_table(
        f"{method}: seconds per proposal over {measured_paces[0].rows:,} rows",
        *("trials known", "proposals (refits)", "median", "mean", "max"),
        *("processor", "after a restart", "peak MB (idle)"),
    )
    for pace in measured_paces:
        pace_seconds = (pace.median, pace.mean, pace.worst, pace.cpu, pace.resumed)
        table.add_row(
            f"{pace.trials:,}",
            f"{pace.proposals} ({pace.refits})",
            *(f"{seconds:.3f}" for seconds in pace_seconds),
            f"{pace.peak_mb:.0f} ({pace.idle_mb:.0f})",
        )
    show_table(table)
    out.print(f"{out_file}")
