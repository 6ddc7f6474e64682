"""`fovnet bench`: the speed of training and of prediction."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fovnet.cli.options import (
    Device,
    ModelFolder,
    PathArgument,
    PathOption,
    file_out,
    folder_out,
    model_folder,
    table_of,
)
from fovnet.cli.screen import empty_table, first_notes, number_cells, out, progress_bar, show_table
from fovnet.errors import ConfigError, VolumeError
from fovnet.own_files import is_our_picture
from fovnet.records import write_tsv
from fovnet.words import several

verbs = typer.Typer()


@verbs.command("train")
def bench_train(
    out_folder: Annotated[
        Path,
        folder_out(
            {
                "throughput.tsv": table_of("fovnet.bench.throughput"),
                "throughput.png": is_our_picture,
            },
            "Where throughput.tsv and throughput.png are written.",
        ),
    ],
    device: Device = "auto",
    repeats: Annotated[
        int, typer.Option(min=1, help="Epochs of each pipeline, alternating; medians are reported.")
    ] = 5,
    budget_seconds: Annotated[
        float,
        typer.Option(
            min=1.0, help="Time limit per configuration; those predicted to need more are left out."
        ),
    ] = 12.0,
    memory_gb: Annotated[
        float, typer.Option(min=0.1, help="Configurations predicted to need more are left out.")
    ] = 4.0,
    loader_workers: Annotated[
        int | None,
        typer.Option(
            min=0, help="Loader workers of MONAI; default: one fewer than the cores, at most 8."
        ),
    ] = None,
    pack: Annotated[
        Path | None,
        PathOption(help="A folder of slices made by `fovnet slice`; default: random slices."),
    ] = None,
) -> None:
    """Measure training: images per second compared with a pipeline from the MONAI tutorials,
    memory, and the time spent in each part of a step."""
    from fovnet.bench.figures.throughput import throughput_figure
    from fovnet.bench.throughput import COLUMNS, SPREAD, Bounds, throughputs
    from fovnet.drawing.canvas import save_png
    from fovnet.volume.collection.pack import load_pack

    if pack:
        load_pack(pack)  # any fault in it raises here, before a process is started
    if loader_workers is None:
        loader_workers = max(1, min(8, (os.cpu_count() or 1) - 1))
    bounds = Bounds(budget_seconds, memory_gb * 1e9, repeats, loader_workers)
    pixels = pack / "pixels.npy" if pack else None
    with progress_bar("training") as advance:
        throughput_rows = list(throughputs(device, bounds, pixels, SPREAD, advance))
    write_tsv(out_folder / "throughput.tsv", COLUMNS, [vars(row) for row in throughput_rows])
    table = empty_table(
        f"training, median of {repeats}; MONAI with {loader_workers} loader workers",
        *("configuration", "images/s", "ms/step", "matrix rate", "data"),
        *("MB (predicted)", "MONAI", "ratio (range)"),
    )
    for row in throughput_rows:
        if row.images_per_second is None:
            table.add_row(row.label, *[""] * 3, row.note)
            continue
        ratio_in_words = ""
        if row.ratio is not None:
            ratio_in_words = f"{row.ratio:.1f} ({row.ratio_low:.1f}-{row.ratio_high:.1f})"
        table.add_row(
            row.label,
            f"{row.images_per_second:,.0f}",
            f"{row.ms_per_step:.1f}",
            f"{row.matrix_share:.0%}",
            f"{row.handling_share:.0%}",
            f"{row.peak_mb:,.0f} ({row.predicted_mb:,.0f})",
            f"{row.monai_images_per_second or 0:,.0f}",
            ratio_in_words,
        )
    show_table(table)
    for note in sorted(
        {row.note for row in throughput_rows if row.note and row.images_per_second is not None}
    ):
        out.print(note)
    save_png(throughput_figure(throughput_rows), out_folder / "throughput.png")
    out.print(f"{out_folder / 'throughput.tsv'}")


@verbs.command("predict")
def bench_predict(
    out_file: Annotated[
        Path,
        file_out(
            table_of("fovnet.bench.predicting"),
            "A TSV file for the times of every file and engine.",
        ),
    ],
    paths: Annotated[
        list[Path] | None,
        PathArgument(help="Volumes; default: one simulated volume.", show_default=False),
    ] = None,
    shape: Annotated[
        tuple[int, int, int] | None,
        typer.Option(
            min=8, max=1024, show_default=False, help="Voxels of the simulated volume. [320 250 72]"
        ),
    ] = None,
    model: ModelFolder = None,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats; medians are reported.")] = 5,
    engine: Annotated[
        list[str] | None,
        typer.Option(help="Engine; may be repeated. Default: all.", show_default=False),
    ] = None,
    neighbours: Annotated[
        int,
        typer.Option(
            "--beside",
            min=0,
            help="Number of busy processes beside which everything is measured again.",
        ),
    ] = 0,
) -> None:
    """Measure prediction: volumes per second, milliseconds of each stage and peak memory, for every
    installed engine."""
    from fovnet.bench.predicting import COLUMNS, STAGES, predicting_times, simulate
    from fovnet.net.inference.engines import refuse_unknown_engine

    for name in engine or ():
        refuse_unknown_engine(name)
    if paths and shape:
        raise ConfigError(
            "bench-shape",
            f"--shape {' '.join(map(str, shape))}: describes the simulated volume, but {paths[0]} "
            "is measured instead; leave out one of the two",
        )
    with tempfile.TemporaryDirectory() as folder, progress_bar("predicting") as advance:
        files_measured = paths or [
            simulate(Path(folder) / "simulated.nii.gz", shape or (320, 250, 72))
        ]
        time_rows = list(
            predicting_times(
                files_measured, model_folder(model), repeats, advance, engine or (), neighbours
            )
        )
    measured_rows = [row for row in time_rows if row.total_ms is not None]
    if not measured_rows:
        raise VolumeError(
            "bench-nothing",
            f"none of {len(files_measured)} could be answered: {first_notes(time_rows)}",
        )
    write_tsv(out_file, COLUMNS, [vars(row) for row in time_rows])
    table = empty_table(
        f"milliseconds per volume on the CPU, median of {repeats}",
        *("file", "voxels", "engine", *STAGES),
        *("all", "gzip and numpy", "volumes / s", "peak MB"),
    )
    for row in measured_rows:
        stages_ms = (getattr(row, f"{stage}_ms") for stage in (*STAGES, "total", "unpack"))
        table.add_row(
            Path(row.path).name,
            row.voxels,
            row.engine,
            *number_cells(",.0f", *stages_ms),
            f"{row.volumes_per_second:.2f}",
            f"{row.peak_mb:,.0f}",
        )
        peaks_mb = (getattr(row, f"{stage}_peak_mb") for stage in STAGES)
        table.add_row("", "", "peak MB", *number_cells(",.0f", *peaks_mb))
    show_table(table)
    if neighbours:
        show_table(_neighbours_table(measured_rows, neighbours, repeats))
    for note in dict.fromkeys(row.note for row in time_rows if row.note):
        out.print(note)
    out.print(f"{out_file}")
    if len(measured_rows) < len(time_rows):
        raise typer.Exit(3)


def _neighbours_table(rows: Sequence[Any], neighbours: int, repeats: int) -> Table:
    """The table of times with and without neighbours."""
    processes_in_words = several(neighbours, "busy process", "busy processes")
    table = empty_table(
        f"milliseconds per volume, alone and beside {processes_in_words}, alternating, {repeats} times",
        *("file", "engine", "threads", "alone: median", "least"),
        *("beside: median", "least", "ratio of medians"),
    )
    for row in rows:
        time_cells = number_cells(
            ",.0f", row.whole_ms, row.least_ms, row.beside_ms, row.beside_least_ms
        )
        table.add_row(
            Path(row.path).name, row.engine, str(row.threads), *time_cells, f"{row.ratio:.2f}"
        )
    return table
