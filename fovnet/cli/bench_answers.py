"""`fovnet bench`: the reliability of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.cli.options import Device, ModelFolder, PathOption, file_out, model_folder, table_of
from fovnet.cli.screen import empty_table, err, out, progress_bar, show_table
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
    from fovnet.bench.robustness import COLUMNS, of_collection, people, robustness
    from fovnet.decision.ensemble import load_ensemble

    ensemble = load_ensemble(model_folder(model), device)
    volumes = of_collection(collection, ensemble.vocabulary) if collection else people(count, seed)
    with progress_bar("judging") as advance:
        rows = robustness(
            ensemble,
            volumes,
            seed=seed,
            bodiless=0 if collection else count,
            progress=advance,
            log=err.print,
        )
    write_tsv(out_file, COLUMNS, rows)
    counted_names = list(dict.fromkeys(row["what"] for row in rows))
    table = empty_table(
        f"{several(len(volumes), 'volume')}, changed (95 % over subjects)", "change", *counted_names
    )
    for change in dict.fromkeys(row["change"] for row in rows):
        table.add_row(change, *(_share_text(row) for row in rows if row["change"] == change))
    show_table(table)
    out.print(f"{out_file}")


def _share_text(counted_row: dict[str, Any]) -> str:
    """A count of a row, and its share with the interval; "" if there was nothing to count."""
    if not counted_row["of"]:
        return ""
    return f"{counted_row['count']:,} of {counted_row['of']:,} ({counted_row['low']:.0%} to {counted_row['high']:.0%})"
