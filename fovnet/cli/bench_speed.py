"""`fovnet bench`: the speed of training and of prediction."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fovnet.bench import predicting, throughput
from fovnet.bench.figures.throughput import throughput_figure
from fovnet.bench.predicting import PredictingTime, measure_predictions, write_simulated_files
from fovnet.bench.throughput import Bounds, Throughput, measure_throughputs
from fovnet.cli.options import (
    Device,
    ModelFolder,
    PathArgument,
    PathOption,
    device_and_engine_as_options,
    file_out,
    folder_out,
    model_folder,
    table_of,
)
from fovnet.cli.screen import empty_table, first_notes, number_cells, out, progress_bar, show_table
from fovnet.drawing.canvas import save_png
from fovnet.errors import ConfigError, VolumeError
from fovnet.net.inference.engines import refuse_unknown_engine
from fovnet.own_files import is_our_picture
from fovnet.records import write_tsv
from fovnet.volume.collection.pack import load_pack
from fovnet.words import several

verbs = typer.Typer()
MOST_LOADER_WORKERS = 8
SIMULATED_SHAPE = (320, 250, 72)  # voxels of the volume that is measured where none is given

ThroughputFolder = Annotated[
    Path,
    folder_out(
        {
            "throughput.tsv": table_of("fovnet.bench.throughput"),
            "throughput.png": is_our_picture,
        },
        "Where throughput.tsv and throughput.png are written.",
    ),
]
EpochRepeats = Annotated[
    int, typer.Option(min=1, help="Epochs of each pipeline, alternating; medians are reported.")
]
BudgetSeconds = Annotated[
    float,
    typer.Option(
        min=1.0, help="Time limit per configuration; those predicted to need more are left out."
    ),
]
MemoryGb = Annotated[
    float, typer.Option(min=0.1, help="Configurations predicted to need more are left out.")
]
LoaderWorkers = Annotated[
    int | None,
    typer.Option(
        min=0, help="Loader workers of MONAI; default: one fewer than the cores, at most 8."
    ),
]
PackFolder = Annotated[
    Path | None,
    PathOption(help="A folder of slices made by `fovnet slice`; default: random slices."),
]
TimesFile = Annotated[
    Path,
    file_out(
        table_of("fovnet.bench.predicting"), "A TSV file for the times of every file and engine."
    ),
]
VolumePaths = Annotated[
    list[Path] | None,
    PathArgument(
        help="Volumes; default: a simulated NIfTI, the same as DICOM, and a file that is refused.",
        show_default=False,
    ),
]
SimulatedShape = Annotated[
    tuple[int, int, int] | None,
    typer.Option(
        min=8, max=1024, show_default=False, help="Voxels of the simulated volume. [320 250 72]"
    ),
]
PredictionRepeats = Annotated[int, typer.Option(min=1, help="Repeats; medians are reported.")]
EngineNames = Annotated[
    list[str] | None,
    typer.Option(help="Engine; may be repeated. Default: all.", show_default=False),
]
NeighbourCount = Annotated[
    int,
    typer.Option(
        "--beside",
        min=0,
        help="Number of busy processes beside which everything is measured again.",
    ),
]


@verbs.command("train")
def bench_train(
    out_folder: ThroughputFolder,
    device: Device = "auto",
    repeats: EpochRepeats = 5,
    budget_seconds: BudgetSeconds = 12.0,
    memory_gb: MemoryGb = 4.0,
    loader_workers: LoaderWorkers = None,
    pack: PackFolder = None,
) -> None:
    """Measure training: images per second compared with a pipeline from the MONAI tutorials,
    memory, and the time spent in each part of a step."""
    pixels_file = None
    if pack:
        load_pack(pack)  # any fault in it raises here, before a process is started
        pixels_file = pack / "pixels.npy"
    if loader_workers is None:
        spare_cores = (os.cpu_count() or 1) - 1
        loader_workers = max(1, min(MOST_LOADER_WORKERS, spare_cores))
    bounds = Bounds(budget_seconds, memory_gb * 1e9, repeats, loader_workers)
    with progress_bar("training") as advance:
        rows = list(
            measure_throughputs(
                device, bounds, pixels_file, throughput.TIMED_CONFIGURATIONS, advance
            )
        )
    write_tsv(out_folder / "throughput.tsv", throughput.COLUMNS, [vars(row) for row in rows])
    show_table(_throughput_table(rows, bounds))
    measured_rows = [row for row in rows if row.images_per_second is not None]
    for note in sorted({row.note for row in measured_rows if row.note}):
        out.print(note)
    save_png(throughput_figure(rows), out_folder / "throughput.png")
    out.print(f"{out_folder / 'throughput.tsv'}")


def _throughput_table(rows: Sequence[Throughput], bounds: Bounds) -> Table:
    """A row for each configuration: its figures, or why it was left out."""
    table = empty_table(
        f"training, median of {bounds.repeats}; MONAI with {bounds.loader_workers} loader workers",
        *("configuration", "images/s", "ms/step", "matrix rate", "data"),
        *("MB (predicted)", "MONAI", "ratio (range)"),
    )
    for row in rows:
        if row.images_per_second is None:
            table.add_row(row.label, "", "", "", row.note)
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
    return table


@verbs.command("predict")
def bench_predict(
    out_file: TimesFile,
    paths: VolumePaths = None,
    shape: SimulatedShape = None,
    model: ModelFolder = None,
    repeats: PredictionRepeats = 5,
    engine: EngineNames = None,
    neighbours: NeighbourCount = 0,
) -> None:
    """Measure prediction: volumes per second, milliseconds of each stage and peak memory, for every
    installed engine."""
    engine_names = engine or []
    with device_and_engine_as_options():
        for engine_name in engine_names:
            refuse_unknown_engine(engine_name)
    if paths and shape:
        raise ConfigError(
            "bench-shape",
            f"--shape {' '.join(map(str, shape))}: describes the simulated volume, but {paths[0]} "
            "is measured instead; leave out one of the two",
        )
    with tempfile.TemporaryDirectory() as folder, progress_bar("predicting") as advance:
        measured_paths = paths or write_simulated_files(Path(folder), shape or SIMULATED_SHAPE)
        times = list(
            measure_predictions(
                measured_paths, model_folder(model), repeats, advance, engine_names, neighbours
            )
        )
    measured_times = [time for time in times if time.total_ms is not None]
    if not measured_times:
        raise VolumeError(
            "bench-nothing",
            f"none of {len(measured_paths)} could be answered: {first_notes(times)}",
        )
    write_tsv(out_file, predicting.COLUMNS, [vars(time) for time in times])
    show_table(_times_table(measured_times, repeats))
    if neighbours:
        show_table(_neighbours_table(measured_times, neighbours, repeats))
    show_table(_one_shot_table([time for time in times if time.one_shot_cpu_s], repeats))
    for note in dict.fromkeys(time.note for time in times if time.note):
        out.print(note)
    out.print(f"{out_file}")
    if paths and len(measured_times) < len(times):
        raise typer.Exit(3)


def _one_shot_table(times: Sequence[PredictingTime], repeats: int) -> Table:
    """A row for each file and engine: a new process for it alone, and the bare script."""
    table = empty_table(
        f"a new process for one volume, without page and picture, median of {repeats}",
        *("file", "engine", "CPU s", "peak MB", "bare script: CPU s", "peak MB", "ratio of CPU s"),
    )
    for time in times:
        ratio = None
        if time.one_shot_cpu_s and time.bare_cpu_s:
            ratio = time.one_shot_cpu_s / time.bare_cpu_s
        table.add_row(
            Path(time.path).name,
            time.engine,
            *number_cells(".2f", time.one_shot_cpu_s),
            *number_cells(",.0f", time.one_shot_peak_mb),
            *number_cells(".2f", time.bare_cpu_s),
            *number_cells(",.0f", time.bare_peak_mb),
            *number_cells(".2f", ratio),
        )
    return table


def _times_table(times: Sequence[PredictingTime], repeats: int) -> Table:
    """Two rows for each file and engine: the milliseconds of each stage, and its peak memory."""
    stages = predicting.STAGES
    table = empty_table(
        f"milliseconds per volume on the CPU, median of {repeats}",
        *("file", "voxels", "engine", *stages),
        *("all", "gzip and numpy", "volumes / s", "peak MB"),
    )
    for time in times:
        stages_ms = (getattr(time, f"{stage}_ms") for stage in (*stages, "total", "unpack"))
        table.add_row(
            Path(time.path).name,
            time.voxels,
            time.engine,
            *number_cells(",.0f", *stages_ms),
            f"{time.volumes_per_second:.2f}",
            f"{time.peak_mb:,.0f}",
        )
        peaks_mb = (getattr(time, f"{stage}_peak_mb") for stage in stages)
        table.add_row("", "", "peak MB", *number_cells(",.0f", *peaks_mb))
    return table


def _neighbours_table(times: Sequence[PredictingTime], neighbour_count: int, repeats: int) -> Table:
    """A row for each file and engine: times without and with so many busy processes beside it."""
    processes_in_words = several(neighbour_count, "busy process", "busy processes")
    table = empty_table(
        f"milliseconds per volume, alone and beside {processes_in_words}, alternating, {repeats} times",
        *("file", "engine", "threads", "alone: median", "least"),
        *("beside: median", "least", "ratio of medians"),
    )
    for time in times:
        file_name = Path(time.path).name
        time_cells = number_cells(
            ",.0f", time.whole_ms, time.least_ms, time.beside_ms, time.beside_least_ms
        )
        table.add_row(file_name, time.engine, str(time.threads), *time_cells, f"{time.ratio:.2f}")
    return table
