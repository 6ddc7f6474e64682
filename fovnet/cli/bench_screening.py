"""`fovnet bench`: what each feature of the simulator contributes to networks trained on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.cli.options import Device, GivenBy, Workers, file_out, table_of
from fovnet.cli.screen import out, progress_bar, show_table, titled
from fovnet.records import write_tsv

verbs = typer.Typer()


@verbs.command("screening")
def bench_screening(
    out_file: Annotated[
        Path, file_out(table_of("fovnet.bench.screening"), "A TSV file with one row per feature.")
    ],
    collection: Annotated[
        Path | None, GivenBy(help="A labelled collection of real volumes to evaluate on as well.")
    ] = None,
    arms: Annotated[
        list[str] | None,
        typer.Option(
            "--arms",
            help='"without NAME", "without NAME + NAME"; may be repeated. Default: each feature alone.',
            show_default=False,
        ),
    ] = None,
    subjects: Annotated[
        int,
        typer.Option(
            min=8, help="Number of simulated people per training, and of others to evaluate on."
        ),
    ] = 40,
    epochs: Annotated[int, typer.Option(min=1)] = 6,
    slices_per_epoch: Annotated[int, typer.Option(min=32)] = 4000,
    scratch: Annotated[
        Path | None, GivenBy(help="Folder for volumes and networks; default: beside the table.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    workers: Workers = 1,
    device: Device = "auto",
) -> None:
    """Measure the contribution of all features of the simulator at once, with small networks that each leave
    out half of them: a screening design of at least 16 trainings (64 for 25 features, 18 GB of scratch). If
    killed, the same command resumes."""
    from fovnet.bench.screening import COLUMNS, factors_of, screened
    from fovnet.bench.simulated_training import Study
    from fovnet.evaluate.balanced import balanced_resampled
    from fovnet.phantom.features import known_features
    from fovnet.volume.collection.tables import read_collection

    if collection is not None:
        read_collection(collection)  # any fault in it raises here, before minutes of simulation
    study = Study(
        scratch or out_file.with_suffix(".scratch"),
        subjects,
        epochs,
        slices_per_epoch,
        seed,
        workers,
        device,
    )
    factors = factors_of(arms or [], known_features())
    with progress_bar("trainings") as advance:
        rows = list(screened(study, factors, balanced_resampled, collection, advance))
    write_tsv(out_file, COLUMNS, rows)
    trainings = rows[0]["trainings"]
    shown = titled(
        "change of the balanced accuracy of slices when a feature is left out, volumes weighted equally (95 "
        f"%; {trainings} trainings)",
        "left out",
        "simulated people",
        "labelled collection",
    )
    for row in sorted(rows, key=lambda row: float(row["simulated_effect"])):
        shown.add_row(row["left_out"], _effect(row, "simulated"), _effect(row, "labelled"))
    show_table(shown)
    out.print(f"{out_file}")


def _effect(row: dict[str, Any], on: str) -> str:
    """ "-2.5% (-5.3% to +0.3%)", or "" if nothing was judged on that set."""
    if f"{on}_effect" not in row:
        return ""
    effect, low, high = (f"{row[f'{on}_{what}']:+.1%}" for what in ("effect", "low", "high"))
    return f"{effect} ({low} to {high})"
