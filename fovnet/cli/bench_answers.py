"""`fovnet bench`: the reliability of answers, of their confidence, and of evaluation figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fovnet.cli.load_run import scored_split
from fovnet.cli.options import ConfigFile, Given, GivenBy, ModelFolder, file_out, model_folder, table_of
from fovnet.cli.screen import out, progress_bar, show_table, titled
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.bench.shares import Share

verbs = typer.Typer()
SLICES_HELP = "Labelled slices: `slices` of a results folder, cut as the ensemble's are (those of the package: 6 mm)."


@verbs.command("oddities")
def bench_oddities(
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.negative_controls"), "A TSV file, a row a volume.")],
    model: ModelFolder = None,
    each: Annotated[int, typer.Option(min=1, help="Volumes of every kind.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other volumes.")] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Show an ensemble what it should not name: air, noise, bottles of water; bodies shuffled, upside down or half dark; and bodies."""
    from fovnet.bench.negative_controls import COLUMNS, answers_to_controls, tally
    from fovnet.decision.ensemble import load
    from fovnet.records import write_tsv

    folder = model_folder(model)
    with progress_bar("judging") as advance:
        rows = list(answers_to_controls(load(folder, device), each, seed, advance))
    write_tsv(out_file, COLUMNS, [vars(row) for row in rows])
    shown = titled(f"predictions of {folder}", "volume", "of", "region, sure", "uncertain", "none, sure")
    for kind, *counts in tally(rows):
        shown.add_row(kind, *map(str, counts))
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("engines")
def bench_engines(
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.engines"), "A TSV file for the figures.")],
    model: ModelFolder = None,
    slices: Annotated[Path | None, GivenBy(help="A folder of slices, as `fovnet slice` makes it: are its decisions the same?")] = None,
    batch: Annotated[list[int] | None, typer.Option("--batch", min=1, help="Slices at once; may be repeated. [32, 128]")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each engine; medians are reported.")] = 7,
    most: Annotated[int | None, typer.Option(
        min=1, show_default=False, help="Volumes of --slices to decide on, evenly chosen. [1000]")] = None,
) -> None:
    """Measure the engines that are installed: loading, slices a second beside torch's, and whether they agree."""
    from fovnet.bench.engines import COLUMNS, engine_times
    from fovnet.errors import ConfigError
    from fovnet.records import write_tsv
    from fovnet.volume.pack import load_pack

    if most is not None and slices is None:
        raise ConfigError("bench-most", f"--most {most}: counts the volumes of --slices to decide on; give those too, or leave it out")
    with progress_bar("deciding") as advance:
        rows = engine_times(model_folder(model), load_pack(slices) if slices else None, batch or [32, 128], repeats, most or 1000, advance)
    write_tsv(out_file, COLUMNS, rows)
    title = f"engines, {several(rows[0]['threads'], 'thread')}, median of {repeats}"
    shown = titled(title, "engine", "loading s", "batch", "slices / s", "/ torch",
                   "probabilities off", "features off", "decisions changed")
    for row in rows:
        changed = "" if row["volumes"] is None else f"{row['changed']} of {row['volumes']}"
        off = (f"{row[name]:.1e}" for name in ("probabilities_off", "features_off"))
        shown.add_row(f"{row['engine']} {row['version']}", f"{row['load_s']:.2f}", str(row["batch"]), f"{row['slices_per_second']:,.0f}",
                      f"{row['ratio']:.2f}", *off, changed)
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("mistrust")
def bench_mistrust(
    config: ConfigFile,
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.shares"), "A TSV file for the shares.")],
    split: Annotated[str, typer.Option(help="validation or test.")] = "test",
    seed: Annotated[int, typer.Option(min=0, help="Shuffles the slices.")] = 1,
) -> None:
    """Turn and shuffle the volumes of a split: how many are noticed, how many false alarms are there, how much air is named a region?"""
    from fovnet.bench.flip_and_shuffle import flipped_and_shuffled

    _show_shares(config, split, out_file, partial(flipped_and_shuffled, seed=seed))


@verbs.command("crop")
def bench_crop(
    config: ConfigFile,
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.shares"), "A TSV file for the shares.")],
    split: Annotated[str, typer.Option(help="validation or test.")] = "test",
    seed: Annotated[int, typer.Option(min=0, help="Draws the windows.")] = 1,
) -> None:
    """Cut parts off the volumes of a split: how many of the borders left move at most one slice, farther, or are lost?"""
    from fovnet.bench.cropping import cropped

    _show_shares(config, split, out_file, partial(cropped, seed=seed), ", parts of them cut away")


@verbs.command("light")
def bench_light(
    slices: Annotated[Path, Given(help=SLICES_HELP)],
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.light"), "A TSV file, a row a model and light.")],
    model: Annotated[list[Path] | None, GivenBy(help="An ensemble folder; may be repeated. Else the package's.")] = None,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    most: Annotated[int, typer.Option(min=1, help="Slices of each volume, evenly spread.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Draws the bright sides.")] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Change the light of a split's volumes, as coils and protocols do: how many slices are still classified correctly?"""
    from fovnet.bench.light import COLUMNS, in_lights
    from fovnet.decision.ensemble import load
    from fovnet.evaluate.balanced import balanced, balanced_change
    from fovnet.records import write_tsv
    from fovnet.volume.pack import load_pack

    models = {str(folder): load(folder, device) for folder in model or [model_folder(None)]}
    with progress_bar("asking") as advance:
        rows = list(in_lights(models, load_pack(slices), split, balanced, balanced_change, most=most, seed=seed, progress=advance))
    write_tsv(out_file, COLUMNS, rows)
    counted = f"{several(rows[0]['slices'], 'slice')} of {several(rows[0]['volumes'], 'volume')}"
    shown = titled(f"balanced accuracy of {counted}, volumes counting alike, and its change (95 % over subjects)",
                   "model", "light", "right", "change")
    for row in rows:
        measures = [_with_ends(row, *what) for what in (("accuracy", "", ""), ("change", "change_", "+"))]
        shown.add_row(row["model"], row["light"], *measures)
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("axes")
def bench_axes(
    slices: Annotated[Path, Given(help=SLICES_HELP)],
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.axes"), "A TSV file, a row a region and way of lying.")],
    model: Annotated[Path | None, GivenBy(help="An ensemble folder. Else the package's.")] = None,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    seed: Annotated[int, typer.Option(min=0, help="Draws the turns.")] = 1,
) -> None:
    """Turn the volumes of a split against their headers: how many are noticed, and how many thought turned that are not?"""
    from fovnet.bench.axes import COLUMNS, noticed
    from fovnet.decision.ensemble import load
    from fovnet.records import write_tsv
    from fovnet.volume.pack import load_pack

    with progress_bar("turning") as advance:
        found = noticed(load(model_folder(model), "cpu"), load_pack(slices), split, seed=seed, progress=advance)
    rows = [one.row for one in found]
    write_tsv(out_file, COLUMNS, rows)
    shown = titled(f"{split} volumes thought to lie otherwise than their headers state", "shows", "lie", "count", "of", "share (95 %)")
    for row in rows:
        share = f"{row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%})"
        shown.add_row(row["shows"], row["axes"], f"{row['count']:,}", f"{row['of']:,}", share)
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("decide")
def bench_decide(
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.deciding"), "A TSV file for the times.")],
    slices: Annotated[list[int] | None, typer.Option("--slices", min=2, help="Slices of a body; may be repeated. [200, 600, 2000]")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each way; medians are reported.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the noise.")] = 0,
) -> None:
    """Measure deciding: milliseconds a volume beside the same recursions as textbooks write them."""
    from fovnet.bench.deciding import COLUMNS, deciding_times
    from fovnet.records import write_tsv

    rows = list(deciding_times(slices or [200, 600, 2000], repeats, seed))
    write_tsv(out_file, COLUMNS, [{**vars(row), "ratio": row.ratio} for row in rows])
    shown = titled(f"deciding, one thread, median of {repeats}", "slices", "body", "heights", "ms", "textbook", "textbook / ms")
    for row in rows:
        shown.add_row(f"{row.slices:,}", row.body, "known" if row.known else "", f"{row.ours_ms:,.1f}", f"{row.textbook_ms:,.0f}",
                      f"{row.ratio:.3g}")
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("intervals")
def bench_intervals(
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.coverage"), "A TSV file: how often each kind of interval held the truth.")],
    subjects: Annotated[list[int] | None, typer.Option("--subjects", min=5, help="Bodies in a study; may be repeated.")] = None,
    studies: Annotated[int, typer.Option(min=20, help="Simulated studies of each size.")] = 1000,
    correlation: Annotated[float, typer.Option(min=0.01, max=0.9, help="Of two slices of one body being wrong.")] = 0.2,
    bootstrap: Annotated[int, typer.Option(min=100)] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Simulate studies whose truth is known: how often do 95 % intervals hold it, when the slices of one body are alike?"""
    from dataclasses import asdict

    from fovnet.bench.coverage import COLUMNS, coverage
    from fovnet.records import write_tsv

    with progress_bar("simulating") as advance:
        rows = list(coverage(subjects or [20, 30, 50, 100], studies=studies, correlation=correlation, repeats=bootstrap, seed=seed,
                             progress=advance))
    shown = titled(f"share of {studies} studies whose 95 % interval holds the truth; * as the evaluation makes it",
                   "statistic", "bodies", "interval", "held", "", "median width")
    for row in rows:
        held = (f"{row.share:.1%}", f"({row.low:.1%} to {row.high:.1%})", "–" if row.width is None else f"{row.width:.3g}")
        shown.add_row(row.statistic, str(row.subjects), f"{row.method}{' *' if row.used else ''}", *held)
    show_table(shown)
    out.print(f"{write_tsv(out_file, COLUMNS, [asdict(row) for row in rows])}")


@verbs.command("accuracy")
def bench_accuracy(
    pack: Annotated[Path, Given(help="A folder of labelled slices, as `fovnet slice` makes it.")],
    out_file: Annotated[Path, file_out(table_of("fovnet.bench.plain"), "A TSV file for the losses of every training.")],
    device: Annotated[str, typer.Option(help="auto, cpu or cuda; the plain loop runs there too.")] = "auto",
    seeds: Annotated[int, typer.Option(min=2, help="Trainings of each configuration in each way, from the same weights.")] = 5,
    epochs: Annotated[int, typer.Option(min=1)] = 3,
    slices_per_epoch: Annotated[int, typer.Option(min=64)] = 800,
    validation_slices: Annotated[int, typer.Option(min=32)] = 400,
) -> None:
    """Show that speed costs no accuracy: validation losses beside those of a plain float32 loop that augments slice by slice."""
    from fovnet.bench.plain import COLUMNS, Budget, compare, pairs_of
    from fovnet.net.training_job import labelled_rows
    from fovnet.net.trials import refuse_without_slices
    from fovnet.records import write_tsv
    from fovnet.volume.pack import load_pack

    slices = load_pack(pack)
    learned = labelled_rows(slices)
    refuse_without_slices(learned)
    budget = Budget(epochs, slices_per_epoch, validation_slices)
    with progress_bar("training") as advance:
        pairs = pairs_of(slices.pixels, learned.targets, learned.train, learned.validation, device, seeds, budget, advance)
    write_tsv(out_file, COLUMNS, [vars(pair) for pair in pairs])
    shown = titled(f"lowest validation loss, mean ± standard error of {seeds} seeds", "configuration", "fovnet", "plain loop", "difference")
    for row in compare(pairs):
        shown.add_row(row.name, *(f"{mean:.3f} ± {error:.3f}" for mean, error in (row.fast, row.plain, row.difference)))
    show_table(shown)
    out.print(f"{out_file}")


def _with_ends(row: dict[str, Any], what: str, ends: str, sign: str) -> str:
    """A share of a row and its interval as text; "" if the row has no share."""
    value, low, high = (row[name] for name in (what, f"{ends}low", f"{ends}high"))
    if value is None:
        return ""
    return f"{value:{sign}.1%} ({low:{sign}.1%} to {high:{sign}.1%})" if low is not None else f"{value:{sign}.1%} (no interval)"


def _show_shares(config: Path, split: str, out_file: Path, measure: Callable[..., Sequence[Share]], done: str = "") -> None:
    """Measures counts and shares on a split's volumes, with their vocabulary and rule; prints them with intervals and writes a table."""
    from fovnet.bench.shares import COLUMNS
    from fovnet.records import write_tsv

    volumes, vocabulary, rule = scored_split(config, split)
    with progress_bar("deciding") as advance:
        shares = measure(volumes, vocabulary, rule, progress=advance)
    shown = titled(f"{several(len(volumes), 'volume')} of the {split} split{done}", "", "count", "of", "share (95 %)")
    for row in (share.row for share in shares):
        share = f"{row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%})" if row["of"] else ""
        shown.add_row(row["what"], f"{row['count']:,}", f"{row['of']:,}", share)
    show_table(shown)
    out.print(f"{write_tsv(out_file, COLUMNS, [share.row for share in shares])}")
