"""`fovnet bench`: the reliability of answers, of their confidence, and of evaluation figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.cli.options import Device, Given, GivenBy, ModelFolder, file_out, model_folder, table_of
from fovnet.cli.screen import err, out, progress_bar, show_table, titled
from fovnet.errors import ConfigError
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
        GivenBy(
            help="A folder with volumes.tsv and regions.tsv of a few volumes; default: simulated "
            "people."
        ),
    ] = None,
    each: Annotated[
        int, typer.Option(min=1, help="Simulated people, and volumes of each kind without a body.")
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the people and changes.")] = 1,
    device: Device = "auto",
) -> None:
    """Measure robustness: predict volumes again with changed brightness, cropped, half dark, noisy, turned or
    shuffled, and volumes without a body."""
    from fovnet.bench.robustness import COLUMNS, of_collection, people, robustness
    from fovnet.decision.ensemble import load

    ensemble = load(model_folder(model), device)
    volumes = of_collection(collection, ensemble.vocabulary) if collection else people(each, seed)
    with progress_bar("judging") as advance:
        rows = robustness(
            ensemble,
            volumes,
            seed=seed,
            bodiless=0 if collection else each,
            progress=advance,
            log=err.print,
        )
    write_tsv(out_file, COLUMNS, rows)
    counted = list(dict.fromkeys(row["what"] for row in rows))
    shown = titled(
        f"{several(len(volumes), 'volume')}, changed (95 % over subjects)", "change", *counted
    )
    for change in dict.fromkeys(row["change"] for row in rows):
        shown.add_row(change, *(_share(row) for row in rows if row["change"] == change))
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("engines")
def bench_engines(
    out_file: Annotated[
        Path, file_out(table_of("fovnet.bench.engines"), "A TSV file for the figures.")
    ],
    model: ModelFolder = None,
    slices: Annotated[
        Path | None,
        GivenBy(
            help="A folder of slices made by `fovnet slice`: checks whether its decisions are the same."
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
    """Measure the installed engines: loading time, slices per second compared with torch, and whether they
    agree."""
    from fovnet.bench.engines import COLUMNS, engine_times
    from fovnet.volume.collection.pack import load_pack

    if most is not None and slices is None:
        raise ConfigError(
            "bench-most",
            f"--most {most}: counts the volumes of --slices to decide on; give those too, or leave it out",
        )
    with progress_bar("deciding") as advance:
        rows = engine_times(
            model_folder(model),
            load_pack(slices) if slices else None,
            batch or [32, 128],
            repeats,
            most or 1000,
            advance,
        )
    write_tsv(out_file, COLUMNS, rows)
    title = f"engines, {several(rows[0]['threads'], 'thread')}, median of {repeats}"
    shown = titled(
        title,
        "engine",
        "loading s",
        "batch",
        "slices / s",
        "/ torch",
        "probabilities off",
        "features off",
        "decisions changed",
    )
    for row in rows:
        changed = "" if row["volumes"] is None else f"{row['changed']} of {row['volumes']}"
        off = (f"{row[name]:.1e}" for name in ("probabilities_off", "features_off"))
        shown.add_row(
            f"{row['engine']} {row['version']}",
            f"{row['load_s']:.2f}",
            str(row["batch"]),
            f"{row['slices_per_second']:,.0f}",
            f"{row['ratio']:.2f}",
            *off,
            changed,
        )
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("decide")
def bench_decide(
    out_file: Annotated[
        Path, file_out(table_of("fovnet.bench.deciding"), "A TSV file for the times.")
    ],
    slices: Annotated[
        list[int] | None,
        typer.Option("--slices", min=2, help="Slices of a body; may be repeated. [200, 600, 2000]"),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Repeats of each way; medians are reported.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise.")] = 0,
) -> None:
    """Measure deciding: milliseconds per volume, compared with textbook versions of the same recursions."""
    from fovnet.bench.deciding import COLUMNS, deciding_times

    rows = list(deciding_times(slices or [200, 600, 2000], repeats, seed))
    write_tsv(out_file, COLUMNS, [{**vars(row), "ratio": row.ratio} for row in rows])
    shown = titled(
        f"deciding, one thread, median of {repeats}",
        "slices",
        "body",
        "heights",
        "ms",
        "textbook",
        "textbook / ms",
    )
    for row in rows:
        shown.add_row(
            f"{row.slices:,}",
            row.body,
            "known" if row.known else "",
            f"{row.ours_ms:,.1f}",
            f"{row.textbook_ms:,.0f}",
            f"{row.ratio:.3g}",
        )
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("intervals")
def bench_intervals(
    out_file: Annotated[
        Path,
        file_out(
            table_of("fovnet.bench.coverage"),
            "A TSV file: how often each kind of interval contained the truth.",
        ),
    ],
    subjects: Annotated[
        list[int] | None,
        typer.Option("--subjects", min=5, help="Bodies in a study; may be repeated."),
    ] = None,
    studies: Annotated[int, typer.Option(min=20, help="Simulated studies of each size.")] = 1000,
    correlation: Annotated[
        float,
        typer.Option(min=0.01, max=0.9, help="Correlation of two slices of one body being wrong."),
    ] = 0.2,
    bootstrap: Annotated[int, typer.Option(min=100)] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Simulate studies with a known truth: how often do 95 % intervals contain it when slices of one body are
    correlated?"""
    from dataclasses import asdict

    from fovnet.bench.coverage import COLUMNS, coverage

    with progress_bar("simulating") as advance:
        rows = list(
            coverage(
                subjects or [20, 30, 50, 100],
                studies=studies,
                correlation=correlation,
                repeats=bootstrap,
                seed=seed,
                progress=advance,
            )
        )
    shown = titled(
        f"share of {studies} studies whose 95 % interval contains the truth; * as used in the evaluation",
        "statistic",
        "bodies",
        "interval",
        "held",
        "",
        "median width",
    )
    for row in rows:
        held = (
            f"{row.share:.1%}",
            f"({row.low:.1%} to {row.high:.1%})",
            "–" if row.width is None else f"{row.width:.3g}",
        )
        shown.add_row(
            row.statistic, str(row.subjects), f"{row.method}{' *' if row.used else ''}", *held
        )
    show_table(shown)
    out.print(f"{write_tsv(out_file, COLUMNS, [asdict(row) for row in rows])}")


@verbs.command("accuracy")
def bench_accuracy(
    pack: Annotated[Path, Given(help="A folder of labelled slices made by `fovnet slice`.")],
    out_file: Annotated[
        Path,
        file_out(table_of("fovnet.bench.plain"), "A TSV file for the losses of every training."),
    ],
    device: Annotated[
        str, typer.Option(help="auto, cpu or cuda; also for the plain loop.")
    ] = "auto",
    seeds: Annotated[
        int,
        typer.Option(
            min=2,
            help="Number of trainings of each configuration in each way, from the same weights.",
        ),
    ] = 5,
    epochs: Annotated[int, typer.Option(min=1)] = 3,
    slices_per_epoch: Annotated[int, typer.Option(min=64)] = 800,
    validation_slices: Annotated[int, typer.Option(min=32)] = 400,
) -> None:
    """Check that speed costs no accuracy: compare validation losses with those of a plain float32 loop that
    augments slice by slice."""
    from fovnet.bench.plain import COLUMNS, Budget, compare, pairs_of
    from fovnet.net.jobs.training_data import labelled_rows
    from fovnet.volume.collection.pack import load_pack

    slices = load_pack(pack)
    learned = labelled_rows(slices)
    budget = Budget(epochs, slices_per_epoch, validation_slices)
    with progress_bar("training") as advance:
        pairs = pairs_of(
            slices.pixels,
            learned.targets,
            learned.train,
            learned.validation,
            device,
            seeds,
            budget,
            advance,
        )
    write_tsv(out_file, COLUMNS, [vars(pair) for pair in pairs])
    shown = titled(
        f"lowest validation loss, mean ± standard error of {seeds} seeds",
        "configuration",
        "fovnet",
        "plain loop",
        "difference",
    )
    for row in compare(pairs):
        shown.add_row(
            row.name,
            *(f"{mean:.3f} ± {error:.3f}" for mean, error in (row.fast, row.plain, row.difference)),
        )
    show_table(shown)
    out.print(f"{out_file}")


def _share(row: dict[str, Any]) -> str:
    """A count of a row, and its share with the interval; "" if there was nothing to count."""
    if not row["of"]:
        return ""
    return f"{row['count']:,} of {row['of']:,} ({row['low']:.0%} to {row['high']:.0%})"
