"""`fovnet bench`: what each feature of the simulator contributes to networks trained on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.cli.options import Device, GivenBy, Workers, file_out, table_of
from fovnet.cli.screen import out, progress_bar, show_table, titled
from fovnet.records import write_tsv

verbs = typer.Typer()
Collection = Annotated[
    Path | None, GivenBy(help="A labelled collection of real volumes to evaluate on as well.")
]
SlicesPerEpoch = Annotated[int, typer.Option(min=32)]
Epochs = Annotated[int, typer.Option(min=1)]
Scratch = Annotated[Path | None, GivenBy(help="Folder for volumes and networks; default: beside the table.")]
Seed = Annotated[int, typer.Option(min=0)]


@verbs.command("screening")
def bench_screening(
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.screening"),
        "A TSV file with one row per feature.")],
    collection: Collection = None,
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
        typer.Option(min=8, help="Number of simulated people per training, and of others to evaluate on."),
    ] = 40,
    epochs: Epochs = 6,
    slices_per_epoch: SlicesPerEpoch = 4000,
    scratch: Scratch = None,
    seed: Seed = 1,
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

    _refuse_wrong_tables(collection)
    study = Study(
        scratch or out_file.with_suffix(".scratch"), subjects, epochs, slices_per_epoch, seed, workers, device
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
        shown.add_row(
            row["left_out"],
            *(
                _with_interval(row, f"{on}_effect", f"{on}_low", f"{on}_high", "+")
                for on in ("simulated", "labelled")
            ),
        )
    show_table(shown)
    out.print(f"{out_file}")


def _refuse_wrong_tables(collection: Path | None) -> None:
    """Reads a collection's tables, so that any fault in them raises before minutes of simulation."""
    from fovnet.volume.collection.tables import read_collection

    if collection is not None:
        read_collection(collection)


def _with_interval(row: dict[str, Any], name: str, low: str, high: str, sign: str = "") -> str:
    """ "65.9% (50.7% to 77.8%)", or "" if the row has no such interval."""
    return (
        ""
        if row.get(low) is None
        else f"{row[name]:{sign}.1%} ({row[low]:{sign}.1%} to {row[high]:{sign}.1%})"
    )
