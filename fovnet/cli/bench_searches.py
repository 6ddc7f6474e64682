"""`fovnet bench`: how many draws search methods need on recorded trainings, how these are recorded,
and the seconds of a proposal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fovnet.acts.opening import open_run
from fovnet.acts.slices import load_slices_to_train_on
from fovnet.cli.options import (
    ConfigFile,
    PathArgument,
    PathOption,
    Workers,
    file_out,
    folder_out,
    table_of,
)
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.errors import ConfigError
from fovnet.own_files import begins_with_columns, is_our_picture
from fovnet.records import write_tsv

if TYPE_CHECKING:
    from fovnet.bench.figures.race import RaceView
    from fovnet.bench.races import Standing

verbs = typer.Typer()
IS_OWN_BY_FILE = {
    "standings.tsv": partial(begins_with_columns, columns=("table", "method", "setting")),
    "runs.tsv": partial(begins_with_columns, columns=("table", "method", "seed")),
    "standings.png": is_our_picture,
}
TABLES_HELP = (
    "Tables of recorded trainings: npz files with X, kinds, y, cost, names and, optionally, "
    "curves; default: the one that comes with the package."
)


@verbs.command("search")
def bench_search(
    out_folder: Annotated[
        Path,
        folder_out(IS_OWN_BY_FILE, "Where standings.tsv, runs.tsv and standings.png are written."),
    ],
    tables: Annotated[list[Path] | None, PathArgument(help=TABLES_HELP, show_default=False)] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="One or several methods, also of other libraries, optionally with a way to spend, "
            "such as gp-ei+asha; default: gp-ei and random."
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each method, from the same first rows; default: 20."),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum number of trainings of a run; a missed goal counts as this many."
        ),
    ] = 150,
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum number of epochs of a run with learning curves; default: those of "
            "--draws.",
        ),
    ] = None,
    spend: Annotated[
        str | None,
        typer.Option(
            help="full, hyperband, asha, or the baseline one-epoch; default: the method's own."
        ),
    ] = None,
    eta: Annotated[int, typer.Option(help="One of this many trainings on a rung continues.")] = 3,
    least_epochs: Annotated[int, typer.Option(help="Minimum epochs of the first rung.")] = 1,
    reuse: Annotated[
        bool,
        typer.Option(
            help="Whether hyperband may continue trainings that an earlier bracket stopped."
        ),
    ] = True,
    fidelity: Annotated[
        str,
        typer.Option(
            help="Which scores of stopped trainings a model sees: latest, or all of them, as "
            "an axis."
        ),
    ] = "latest",
    choose: Annotated[
        str,
        typer.Option(
            help="The row gp-ei chooses: best, or drawn in proportion to its expected improvement."
        ),
    ] = "best",
    initial: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of draws spread over the space before a model is used; default: a few.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Parallel trainings, in virtual time.")] = 1,
    lead: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="How far workers may run ahead of the results; 1: never wait."
        ),
    ] = 0.15,
    processes: Workers = 1,
    targets: Annotated[
        str | None, typer.Option(help="How scores are modelled: half-ranked, ranked, raw.")
    ] = None,
    kernel: Annotated[str, typer.Option(help="matern52 or squared-exponential.")] = "matern52",
    hyperparameters: Annotated[str, typer.Option(help="map or sampled.")] = "map",
    ranking: Annotated[
        list[str] | None,
        typer.Option(
            help="One or several settings of search.ranking: acquisition=mean-rank, hidden=[64, "
            "64]."
        ),
    ] = None,
    prior: Annotated[
        list[Path] | None,
        PathOption(
            help="A file written by `fovnet search learn`, for methods that use one; or several, "
            "for successive runs."
        ),
    ] = None,
    thesis: Annotated[
        bool,
        typer.Option(
            "--thesis",
            help="As in Bertrand's thesis: raw targets, a model from the second draw, every row "
            "first once.",
        ),
    ] = False,
) -> None:
    """Replay search methods on recorded trainings: draws until the best row and until good ones;
    with learning curves, the epochs until these are fully trained.

    Other libraries run with their own defaults: optuna-gp and optuna-tpe (`pip
    install optuna`), hyperopt-tpe (`pip install hyperopt`), scikit-learn-gp;
    with learning curves optuna-tpe+hyperband, optuna-tpe+halving and dehb.
    """
    from fovnet.bench.figures.standings import write_standings
    from fovnet.bench.races import (
        Entry,
        entries_of,
        modelling_of,
        parse_contestant,
        race,
        ranking_of,
        refuse_methods,
        refuse_priors,
    )
    from fovnet.bench.spending import ReplaySpending
    from fovnet.bench.tables import load_table, own_table

    methods = list(dict.fromkeys(method or ["gp-ei", "random"]))
    table_paths = list(dict.fromkeys(tables or [own_table()]))
    spending = ReplaySpending(spend, eta, least_epochs, reuse)
    refuse_methods([*methods, *([f"random+{spend}"] if spend else [])], workers)
    contestants = list(dict.fromkeys(parse_contestant(name, spending) for name in methods))
    modelling = modelling_of(
        targets=targets or ("raw" if thesis else "half-ranked"),
        kernel=kernel,
        hyperparameters=hyperparameters,
        fidelity=fidelity,
        choose=choose,
    )
    entry_template = Entry(
        Path(),
        "",
        0,
        draws,
        initial=initial or (1 if thesis else None),
        workers=workers,
        modelling=modelling,
        lead=lead,
        epochs=epochs,
        ranking=ranking_of(ranking or []),
        priors=tuple(prior or []),
    )
    table_by_path = {path: load_table(path) for path in table_paths}
    refuse_priors(methods, prior or [], table_by_path)
    entries = entries_of(entry_template, table_by_path, contestants, runs, every_row_first=thesis)
    with progress_bar("racing") as advance:
        race_results = list(race(entries, processes, advance))
    for view in write_standings(out_folder, table_by_path, race_results):
        show_table(_epochs_table(view) if view.unit == "epochs" else _draws_table(view))
    out.print(f"{out_folder}: standings.tsv, runs.tsv, standings.png")


def _is_recording(path: Path) -> bool:
    from fovnet.bench.recording import is_recording

    return is_recording(path)


@verbs.command("table")
def bench_table(
    config: ConfigFile,
    out_file: Annotated[
        Path,
        file_out(
            _is_recording,
            "The npz file that `bench search` replays.",
            "a table that this command wrote",
        ),
    ],
    side: Annotated[
        int, typer.Option(min=1, help="Side in pixels to which the slices are averaged.")
    ] = 32,
    done: Annotated[
        bool, typer.Option("--done", help="Train nothing: write a table of the finished trainings.")
    ] = False,
    again: Annotated[
        int | None,
        typer.Option(min=1, help="Train this many of the rows again instead, to measure noise."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Seed of --again; default: the configuration's, which gives identical results.",
        ),
    ] = None,
) -> None:
    """Record a table of trained networks: `search.trials` rows drawn from the configuration's
    space, each trained to its end, with their learning curves; resumes after a kill."""
    from fovnet.bench.recording import begin_recording, write_table

    if seed is not None and again is None:
        raise ConfigError(
            "table-again",
            f"--seed {seed}: only used with --again; give both, or set `seed` in {config}",
        )
    settings = open_run(config).settings
    recording = begin_recording(settings, load_slices_to_train_on(settings, config), side)
    if again is not None:
        recording = recording.repeat(again, settings.seed if seed is None else seed)
    if not done:
        with progress_bar("training") as advance:
            recording.train(advance)
    trials = recording.finished_trials()
    write_table(out_file, trials, recording)
    count_by_status = Counter(trial.outcome.status for trial in trials)
    counts_text = ", ".join(f"{count} {status}" for status, count in count_by_status.items())
    rows_text = f"{len(trials)} of {recording.count} rows"
    out.print(f"{rows_text}: {counts_text}; journal {recording.journal}")
    out.print(f"{out_file}")


@verbs.command("propose")
def bench_propose(
    out_file: Annotated[
        Path, file_out(table_of("fovnet.bench.pace"), "A TSV file for the numbers.")
    ],
    trials: Annotated[
        list[int] | None,
        typer.Option(min=2, max=30_000, help="Final number of known trials; or several numbers."),
    ] = None,
    method: Annotated[str, typer.Option(help="A search method.")] = "gp-ei",
    diverged: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the trials that have diverged.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Measure the cost of a proposal over the paper's 34,300 rows: seconds on one core, including
    refits, and memory."""
    from fovnet.bench.pace import COLUMNS, paces
    from fovnet.bench.races import refuse_unknown

    refuse_unknown([method])
    with progress_bar("timing") as advance:
        paces_measured = list(paces(method, trials or [300, 1000], seed, diverged, advance))
    write_tsv(out_file, COLUMNS, [vars(pace) for pace in paces_measured])
    table = empty_table(
        f"{method}: seconds per proposal over {paces_measured[0].rows:,} rows",
        *("trials known", "proposals (refits)", "median", "mean", "max"),
        *("processor", "after a restart", "peak MB (idle)"),
    )
    for pace in paces_measured:
        seconds_columns = (pace.median, pace.mean, pace.worst, pace.cpu, pace.resumed)
        table.add_row(
            f"{pace.trials:,}",
            f"{pace.proposals} ({pace.refits})",
            *(f"{value:.3f}" for value in seconds_columns),
            f"{pace.peak_mb:.0f} ({pace.idle_mb:.0f})",
        )
    show_table(table)
    out.print(f"{out_file}")


def _draws_table(view: RaceView) -> Table:
    """The draws of each method on a table without learning curves."""
    from fovnet.bench.races import GOALS

    table = _goals_table(
        f"{view.name}: draws until the best row, and mean draws until the good ones",
        *("best", "worst", "missed"),
    )
    for best_standing, other_standings in _standings_by_method(view):
        table.add_row(
            best_standing.label,
            f"{best_standing.mean:.1f}±{best_standing.sd:.0f}",
            f"{best_standing.worst}",
            f"{best_standing.misses}/{best_standing.runs}",
            *(f"{other_standing.mean:.1f}" for other_standing in other_standings),
        )
    chance_of_best, *chances_of_others = [
        f"{exact.chance:.1f}" for exact in view.standings[: len(GOALS)]
    ]
    table.add_row("random, exact", chance_of_best, "", "", *chances_of_others)
    return table


def _epochs_table(view: RaceView) -> Table:
    """The epochs of each method on a table with learning curves.

    Beside them those as trainings of full length, and draws, which are rows begun; of several
    workers instead their virtual time, and the share of it that they waited.
    """
    has_workers = any(best_standing.workers > 1 for best_standing, _ in _standings_by_method(view))
    time_headings = ("virtual time", "idle") if has_workers else ("full length", "draws")
    title = "epochs until the best row is trained to the end, and mean epochs until the good ones"
    table = _goals_table(f"{view.name}: {title}", "best", "worst", "missed", *time_headings)
    for best_standing, other_standings in _standings_by_method(view):
        if has_workers:
            time_cells = [f"{best_standing.time:,.4g}", f"{best_standing.idle:.0%}"]
        else:
            time_cells = [f"{best_standing.full_trainings:.1f}", f"{best_standing.mean:.0f}"]
        table.add_row(
            best_standing.label,
            f"{best_standing.epochs:,.0f}±{best_standing.epochs_sd:,.0f}",
            f"{best_standing.epochs_worst:,}",
            f"{best_standing.misses}/{best_standing.runs}",
            *time_cells,
            *(f"{other_standing.epochs:,.0f}" for other_standing in other_standings),
        )
    return table


def _goals_table(title: str, *headings: str) -> Table:
    """An empty table with a column for each of these, and for each goal but the best row."""
    from fovnet.bench.races import GOALS

    table = empty_table(title)
    table.add_column("method", overflow="fold")
    for heading in (*headings, *GOALS[1:]):
        table.add_column(heading.replace(" ", "\n", 1), justify="right", no_wrap=True)
    return table


def _standings_by_method(view: RaceView) -> Iterator[tuple[Standing, Sequence[Standing]]]:
    """Of every method the standing for the best row, and those for the other goals."""
    from fovnet.bench.races import GOALS

    for first_index in range(0, len(view.standings), len(GOALS)):
        best_standing, *other_standings = view.standings[first_index : first_index + len(GOALS)]
        yield best_standing, other_standings
