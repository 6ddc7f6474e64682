"""`fovnet bench`: the speed of training, slicing and prediction."""

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
    Given,
    GivenBy,
    ModelFolder,
    file_out,
    folder_out,
    model_folder,
    table_of,
)
from fovnet.cli.screen import out, progress_bar, show_table, titled
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
        GivenBy(help="A folder of slices made by `fovnet slice`; default: random slices."),
    ] = None,
) -> None:
    """Measure training: images per second compared with a pipeline from the MONAI tutorials, memory, and the
    time spent in each part of a step."""
    from fovnet.bench.figures.throughput import throughput_figure
    from fovnet.bench.throughput import COLUMNS, SPREAD, Bounds, throughputs
    from fovnet.drawing.canvas import save_png
    from fovnet.volume.collection.pack import load_pack

    if pack:
        load_pack(pack)  # any fault in it raises here, before a process is started
    workers = (
        max(1, min(8, (os.cpu_count() or 1) - 1)) if loader_workers is None else loader_workers
    )
    bounds = Bounds(budget_seconds, memory_gb * 1e9, repeats, workers)
    with progress_bar("training") as advance:
        rows = list(
            throughputs(device, bounds, pack / "pixels.npy" if pack else None, SPREAD, advance)
        )
    write_tsv(out_folder / "throughput.tsv", COLUMNS, [vars(row) for row in rows])
    shown = titled(
        f"training, median of {repeats}; MONAI with {workers} loader workers",
        "configuration",
        "images/s",
        "ms/step",
        "matrix rate",
        "data",
        "MB (predicted)",
        "MONAI",
        "ratio (range)",
    )
    for row in rows:
        if row.images_per_second is None:
            shown.add_row(row.label, *[""] * 3, row.note)
            continue
        ratio = (
            ""
            if row.ratio is None
            else f"{row.ratio:.1f} ({row.ratio_low:.1f}-{row.ratio_high:.1f})"
        )
        shown.add_row(
            row.label,
            f"{row.images_per_second:,.0f}",
            f"{row.ms_per_step:.1f}",
            f"{row.matrix_share:.0%}",
            f"{row.handling_share:.0%}",
            f"{row.peak_mb:,.0f} ({row.predicted_mb:,.0f})",
            f"{row.monai_images_per_second or 0:,.0f}",
            ratio,
        )
    show_table(shown)
    for note in sorted(
        {row.note for row in rows if row.note and row.images_per_second is not None}
    ):
        out.print(note)
    save_png(throughput_figure(rows), out_folder / "throughput.png")
    out.print(f"{out_folder / 'throughput.tsv'}")


@verbs.command("slice")
def bench_slice(
    paths: Annotated[list[Path], Given(help="Volumes, or folders that hold some.")],
    out_file: Annotated[
        Path, file_out(table_of("fovnet.bench.slicing"), "A TSV file for the times of every file.")
    ],
    repeats: Annotated[
        int, typer.Option(min=1, help="Repeats of each way; medians are reported.")
    ] = 5,
) -> None:
    """Measure slicing: milliseconds per file, compared with MONAI's transforms and with plain unpacking plus
    one resize."""
    from fovnet.bench.slicing import COLUMNS, medians, slicing_times
    from fovnet.volume.sources.discovery import find

    with progress_bar("slicing") as advance:
        rows = list(slicing_times(find(paths).volumes, repeats, advance))
    if all(row.ours_ms is None for row in rows):
        raise VolumeError(
            "slice-nothing", f"none of {len(rows)} could be cut: {_first_notes(rows)}"
        )
    write_tsv(out_file, COLUMNS, [vars(row) for row in rows])
    shown = titled(
        f"slicing, one thread, median of {repeats}",
        "file",
        "slices",
        "ms",
        "MONAI",
        "unpacking",
        "floor",
        "MONAI / ms",
        "ms / floor",
    )
    for row in rows:
        if row.ours_ms is not None:
            times = _known(",.0f", row.ours_ms, row.monai_ms, row.unpack_ms, row.floor_ms)
            ratios = _known(".2f", row.monai_over_ours, row.over_floor)
            shown.add_row(Path(row.path).name, str(row.slices), *times, *ratios)
    middle = medians(rows)
    ratios = _known(".2f", middle["monai_over_ours"], middle["over_floor"])
    shown.add_row("median", *[""] * 5, *ratios)
    show_table(shown)
    out.print("milliseconds; floor: unpacking and one resize")
    for row in rows:
        if row.note:
            out.print(row.note if row.ours_ms is None else f"{Path(row.path).name}: {row.note}")
    out.print(f"{out_file}")
    if any(row.ours_ms is None for row in rows):
        raise typer.Exit(3)


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
        list[Path] | None, Given(help="Volumes; default: one simulated volume.", show_default=False)
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
    beside: Annotated[
        int,
        typer.Option(
            min=0, help="Number of busy processes beside which everything is measured again."
        ),
    ] = 0,
) -> None:
    """Measure prediction: volumes per second, milliseconds of each stage and peak memory, for every installed
    engine."""
    from fovnet.bench.predicting import COLUMNS, STAGES, predicting_times, simulated
    from fovnet.net.inference.engines import refuse_unknown

    for name in engine or ():
        refuse_unknown(name)
    if paths and shape:
        raise ConfigError(
            "bench-shape",
            f"--shape {' '.join(map(str, shape))}: describes the simulated volume, but {paths[0]} is "
            "measured instead; leave out one of the two",
        )
    with tempfile.TemporaryDirectory() as place, progress_bar("predicting") as advance:
        files = paths or [simulated(Path(place) / "simulated.nii.gz", shape or (320, 250, 72))]
        rows = list(
            predicting_times(files, model_folder(model), repeats, advance, engine or (), beside)
        )
    measured = [row for row in rows if row.total_ms is not None]
    if not measured:
        raise VolumeError(
            "bench-nothing", f"none of {len(files)} could be answered: {_first_notes(rows)}"
        )
    write_tsv(out_file, COLUMNS, [vars(row) for row in rows])
    shown = titled(
        f"milliseconds per volume on the CPU, median of {repeats}",
        "file",
        "voxels",
        "engine",
        *STAGES,
        "all",
        "gzip and numpy",
        "volumes / s",
        "peak MB",
    )
    for row in measured:
        cells = _known(
            ",.0f", *(getattr(row, f"{stage}_ms") for stage in (*STAGES, "total", "unpack"))
        )
        shown.add_row(
            Path(row.path).name,
            row.voxels,
            row.engine,
            *cells,
            f"{row.volumes_per_second:.2f}",
            f"{row.peak_mb:,.0f}",
        )
        peaks = _known(",.0f", *(getattr(row, f"{stage}_peak_mb") for stage in STAGES))
        shown.add_row("", "", "peak MB", *peaks)
    show_table(shown)
    if beside:
        show_table(_beside(measured, beside, repeats))
    for note in dict.fromkeys(row.note for row in rows if row.note):
        out.print(note)
    out.print(f"{out_file}")
    if len(measured) < len(rows):
        raise typer.Exit(3)


def _beside(rows: Sequence[Any], beside: int, repeats: int) -> Table:
    """The table of times with and without neighbours."""
    shown = titled(
        f"milliseconds per volume, alone and beside {several(beside, 'busy process', 'busy processes')}, "
        f"alternating, {repeats} times",
        "file",
        "engine",
        "threads",
        "alone: median",
        "least",
        "beside: median",
        "least",
        "ratio of medians",
    )
    for row in rows:
        times = _known(",.0f", row.whole_ms, row.least_ms, row.beside_ms, row.beside_least_ms)
        shown.add_row(Path(row.path).name, row.engine, str(row.threads), *times, f"{row.ratio:.2f}")
    return shown


def _known(how: str, *numbers: float | None) -> list[str]:
    """The numbers in this format, "" where one was not measured."""
    return ["" if number is None else format(number, how) for number in numbers]


def _first_notes(rows: Sequence[Any]) -> str:
    """The first three distinct reasons why rows could not be measured."""
    return "; ".join(list(dict.fromkeys(row.note for row in rows if row.note))[:3])
