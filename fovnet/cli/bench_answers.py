"""`fovnet bench`: the reliability of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.bench.robustness import COLUMNS as ROBUSTNESS_COLUMNS
from fovnet.bench.robustness import measure_robustness, read_scans, simulate_people
from fovnet.cli.options import (
    Device,
    ModelFolder,
    PathOption,
    device_and_engine_as_options,
    file_out,
    model_folder,
    table_of,
)
from fovnet.cli.screen import empty_table, err, out, progress_bar, show_table
from fovnet.decision.ensemble import load_ensemble
from fovnet.records import write_tsv
from fovnet.words import several

verbs = typer.Typer()


@verbs.command("robustness")
def bench_robustness(
    out_file: Annotated[
        Path,
        file_out(
            table_of("fovnet.bench.robustness"), "A TSV file with one row per change and count."
        ),
    ],
    model: ModelFolder = None,
    collection: Annotated[
        Path | None,
        PathOption(
            help="A folder with volumes.tsv and regions.tsv of a few volumes; default: simulated "
            "people."
        ),
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            "--each", min=1, help="Simulated people, and volumes of each kind without a body."
        ),
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the people and changes.")] = 1,
    device: Device = "auto",
) -> None:
    """Measure robustness: predict volumes again with changed brightness, cropped, half dark, noisy,
    turned or shuffled, and volumes without a body."""
    with device_and_engine_as_options():
        ensemble = load_ensemble(model_folder(model), device)
    if collection:
        volumes = read_scans(collection, ensemble.vocabulary)
        bodiless_count = 0
    else:
        volumes = simulate_people(count, seed)
        bodiless_count = count
    with progress_bar("judging") as advance:
        rows = measure_robustness(
            ensemble,
            volumes,
            seed=seed,
            bodiless_count=bodiless_count,
            progress=advance,
            log=err.print,
        )
    write_tsv(out_file, ROBUSTNESS_COLUMNS, rows)
    counted_names = list(dict.fromkeys(row["what"] for row in rows))
    table = empty_table(
        f"{several(len(volumes), 'volume')}, changed (95 % over subjects)", "change", *counted_names
    )
    for change in dict.fromkeys(row["change"] for row in rows):
        table.add_row(change, *(_share_text(row) for row in rows if row["change"] == change))
    show_table(table)
    out.print(f"{out_file}")


def _share_text(counted_row: dict[str, Any]) -> str:
    """ "3 of 20 (5% to 36%)": a count of a row with the interval of its share; "" if there was
    nothing to count."""
    if not counted_row["of"]:
        return ""
    interval_text = f"{counted_row['low']:.0%} to {counted_row['high']:.0%}"
    return f"{counted_row['count']:,} of {counted_row['of']:,} ({interval_text})"
