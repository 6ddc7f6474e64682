"""The engines compared: loading time, slices per second, and agreement with torch.

They are timed alternately in one process on the same threads, so that other load on the machine
affects them alike; the ratio is the median over the repeats.  Only the networks are timed, from
slices to probabilities and features.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from fovnet.bench.throughput import draw_slices
from fovnet.bench.timing import seconds_of, time_in_turn
from fovnet.bench.together import Progress
from fovnet.cli import main
from fovnet.cli.options import ModelFolder, PathOption, file_out, model_folder, table_of
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.decision.ensemble import Ensemble, load_ensemble
from fovnet.decision.folder import ModelFolder as Model
from fovnet.decision.networks import load_engine
from fovnet.errors import CollectionError, ConfigError
from fovnet.machine.cores import cores
from fovnet.net.inference.engines import Engine, list_installed_engines
from fovnet.records import write_tsv
from fovnet.volume.collection.pack import Pack, load_pack
from fovnet.volume.slices.placing import Placing
from fovnet.words import several

DEFAULT_VOLUMES = 1000  # decided on, unless another number is given
COLUMNS = (
    "engine",
    "version",
    "threads",
    "load_s",
    "batch",
    "slices_per_second",
    "ratio",
    "probabilities_off",
    "features_off",
    "volumes",
    "changed",
)

app = typer.Typer(add_completion=False)


class Verdict(NamedTuple):
    """What is decided of a volume: its status, and region, first and last slice of each span."""

    status: str
    spans: tuple[tuple[str, int, int], ...]


class Changes(NamedTuple):
    """Of so many volumes decided, how many an engine decides otherwise than torch."""

    volumes: int | None
    changed: int | None


def engine_times(
    model: Path,
    pack: Pack | None,
    batches: Sequence[int],
    repeats: int,
    most: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """One row of COLUMNS per engine and batch, torch first; at most `most` volumes of the pack are
    decided.

    ratio              of its slices per second to torch's
    probabilities_off  the largest difference from torch's
    features_off       likewise, relative to the largest feature
    changed            of `volumes` of the pack, how many have another status or other spans than
                       with torch; both None without a pack
    Raises CollectionError "bench-no-slices" where none of the pack's volumes has slices.
    """
    if pack is not None and not len(pack.pixels):
        raise CollectionError(
            "bench-no-slices",
            f"{pack.folder}: of {len(pack.records)} volumes none has slices; give others, or none",
        )
    ensemble = load_ensemble(model, "cpu")
    engines = {}
    load_seconds = {}
    for name in list_installed_engines():
        start_s = time.perf_counter()
        engines[name] = load_engine(Model(model), "cpu", name).engine
        load_seconds[name] = time.perf_counter() - start_s
    changes = dict.fromkeys(engines, Changes(None, None))
    if pack:
        changes = _count_changes(ensemble, engines, pack, most, progress)
    rows = []
    for batch in batches:
        slices = _choose_slices(pack, batch)
        # also the warm-up
        outputs = {name: engine.compute_outputs(*slices) for name, engine in engines.items()}
        clocks = {
            name: partial(seconds_of, engine.compute_outputs, *slices)
            for name, engine in engines.items()
        }
        seconds = time_in_turn(clocks, repeats)
        for name, engine in engines.items():
            rows.append(
                {
                    "engine": name,
                    "version": engine.version,
                    "threads": cores(),
                    "load_s": load_seconds[name],
                    "batch": batch,
                    "slices_per_second": batch / float(np.median(seconds[name])),
                    "ratio": float(np.median(seconds["torch"] / seconds[name])),
                    **_differences_of_outputs(outputs[name], outputs["torch"]),
                    **changes[name]._asdict(),
                }
            )
    return rows


def _differences_of_outputs(
    outputs: Sequence[NDArray[np.float32]], torch_outputs: Sequence[NDArray[np.float32]]
) -> dict[str, float]:
    """The columns `probabilities_off` and `features_off`."""
    probabilities_off, features_off = (
        float(np.abs(output - torch_output).max())
        for output, torch_output in zip(outputs, torch_outputs, strict=True)
    )
    largest_feature = max(float(np.abs(torch_outputs[1]).max()), 1e-9)
    return {
        "probabilities_off": probabilities_off,
        "features_off": features_off / largest_feature,
    }


class Slices(NamedTuple):
    """Pixels (n, 128, 128) uint8, the rows (batch,) of these to compute, and where all lie."""

    pixels: NDArray[np.uint8]
    rows: NDArray[np.int64]
    placing: Placing


def _choose_slices(pack: Pack | None, batch: int) -> Slices:
    """Slices of the pack, evenly spaced, or simulated ones of 400 mm, 3 mm apart, as one volume."""
    if pack is not None:
        rows = np.linspace(0, len(pack.pixels) - 1, batch).astype(np.int64)
        return Slices(pack.pixels, rows, pack.placing)
    pixels, _ = draw_slices(batch)
    placing = Placing(
        np.full(batch, 400.0),
        np.zeros(batch, dtype=np.int64),
        np.arange(batch, dtype=np.float64) * 3,
    )
    return Slices(pixels, np.arange(batch), placing)


def _count_changes(
    ensemble: Ensemble, engines: dict[str, Engine], pack: Pack, most: int, progress: Progress
) -> dict[str, Changes]:
    """Of at most `most` volumes, how many each engine decides otherwise than torch."""
    readable_rows = [row for row, record in enumerate(pack.records) if record.status == "ok"]
    decided_rows: list[int] = []
    if readable_rows:
        spread_indices = np.unique(np.linspace(0, len(readable_rows) - 1, most).astype(int))
        decided_rows = [readable_rows[index] for index in spread_indices.tolist()]
    changed_count_by_engine = dict.fromkeys(engines, 0)
    for done_count, row in enumerate(decided_rows, start=1):
        verdict_by_engine = {
            name: _decide_volume(replace(ensemble, engine=engine), pack, row)
            for name, engine in engines.items()
        }
        for name, verdict in verdict_by_engine.items():
            changed_count_by_engine[name] += verdict != verdict_by_engine["torch"]
        progress(done_count, len(decided_rows))
    return {
        name: Changes(len(decided_rows), changed_count)
        for name, changed_count in changed_count_by_engine.items()
    }


def _decide_volume(ensemble: Ensemble, pack: Pack, row: int) -> Verdict:
    """Status and spans of the volume in a row of the pack's records."""
    record = pack.records[row]
    stack = pack.stack_of_volume(row)
    answer = ensemble.judge.answer(
        record.volume_id, record.path, ensemble.compute_volume_outputs(stack), stack, stack.notes
    )
    spans: tuple[tuple[str, int, int], ...] = ()
    if answer.decision:
        spans = tuple((span.region, span.first, span.last) for span in answer.decision.spans)
    return Verdict(answer.status, spans)


@app.command()
def compare_engines(
    out_file: Annotated[Path, file_out(table_of(__name__), "A TSV file for the figures.")],
    model: ModelFolder = None,
    slices: Annotated[
        Path | None,
        PathOption(
            help="A folder of slices made by `fovnet slice`: checks whether its decisions are the "
            "same."
        ),
    ] = None,
    batch: Annotated[
        list[int] | None,
        typer.Option("--batch", min=1, help="Batch size in slices; may be repeated. [32, 128]"),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Repeats per engine; medians are reported.")
    ] = 7,
    most: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default=False,
            help="Number of volumes of --slices to decide on, evenly spaced. [1000]",
        ),
    ] = None,
) -> None:
    """Measure the installed engines: loading time, slices per second compared with torch, and
    whether they agree."""
    if most is not None and slices is None:
        raise ConfigError(
            "bench-most",
            f"--most {most}: counts the volumes of --slices to decide on; give those too, or leave "
            "it out",
        )
    pack = None
    if slices:
        pack = load_pack(slices)
    with progress_bar("deciding") as advance:
        rows = engine_times(
            model_folder(model), pack, batch or [32, 128], repeats, most or DEFAULT_VOLUMES, advance
        )
    write_tsv(out_file, COLUMNS, rows)
    show_table(_engines_table(rows, repeats))
    out.print(f"{out_file}")


def _engines_table(rows: Sequence[dict[str, Any]], repeats: int) -> Table:
    """A row for each engine and batch."""
    table = empty_table(
        f"engines, {several(rows[0]['threads'], 'thread')}, median of {repeats}",
        *("engine", "loading s", "batch", "slices / s", "/ torch"),
        *("probabilities off", "features off", "decisions changed"),
    )
    for row in rows:
        changed_text = ""
        if row["volumes"] is not None:
            changed_text = f"{row['changed']} of {row['volumes']}"
        table.add_row(
            f"{row['engine']} {row['version']}",
            f"{row['load_s']:.2f}",
            str(row["batch"]),
            f"{row['slices_per_second']:,.0f}",
            f"{row['ratio']:.2f}",
            f"{row['probabilities_off']:.1e}",
            f"{row['features_off']:.1e}",
            changed_text,
        )
    return table


if __name__ == "__main__":
    main(app)
