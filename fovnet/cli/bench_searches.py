"""`fovnet bench search`: how many draws search methods need on recorded trainings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fovnet.bench.figures.race import RaceView
from fovnet.bench.figures.standings import write_standings
from fovnet.bench.races import (
    GOALS,
    Entry,
    Standing,
    entries_of,
    modelling_of,
    parse_contestant,
    race,
    ranking_of,
    refuse_idle_options,
    refuse_methods,
    refuse_priors,
)
from fovnet.bench.spending import ReplaySpending
from fovnet.bench.tables import RecordedTable, load_table, own_table_path
from fovnet.cli.options import PathArgument, PathOption, Workers, folder_out
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.errors import SearchError
from fovnet.own_files import begins_with_columns, is_our_picture

verbs = typer.Typer()
RECOGNISER_BY_FILE = {
    "standings.tsv": partial(begins_with_columns, columns=("table", "method", "setting")),
    "runs.tsv": partial(begins_with_columns, columns=("table", "method", "seed")),
    "standings.png": is_our_picture,
}
"""{name of a file that the verb writes: function that tells whether a file is of that kind}"""
DEFAULT_METHODS = ("gp-ei", "random")

OutFolder = Annotated[
    Path,
    folder_out(RECOGNISER_BY_FILE, "Where standings.tsv, runs.tsv and standings.png are written."),
]
Tables = Annotated[
    list[Path] | None,
    PathArgument(
        help="Tables of recorded trainings: npz files with X, kinds, y, cost, names and, optionally, "
        "curves; default: the one that comes with the package.",
        show_default=False,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        help="One or several methods, also of other libraries, optionally with a way to spend, "
        "such as gp-ei+asha; default: gp-ei and random."
    ),
]
Runs = Annotated[
    int | None,
    typer.Option(min=1, help="Runs of each method, from the same first rows; default: 20."),
]
MostDraws = Annotated[
    int,
    typer.Option(
        min=1, help="Maximum number of trainings of a run; a missed goal counts as this many."
    ),
]
MostEpochs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Maximum number of epochs of a run with learning curves; default: those of --draws.",
    ),
]
WayToSpend = Annotated[
    str | None,
    typer.Option(
        help="full, hyperband, asha, asha-or-full, or the baseline one-epoch; default: the method's own."
    ),
]


def _refuse_small_eta(eta: int) -> int:
    """The value of --eta.  Raises SearchError "search-schedule" below 2."""
    if eta < 2:
        raise SearchError(
            "search-schedule", f"--eta {eta}: give 2 or more; one of eta trainings continues."
        )
    return eta


Eta = Annotated[
    int,
    typer.Option(
        callback=_refuse_small_eta, help="One of this many trainings on a rung continues."
    ),
]


def _refuse_endless_rungs(minutes: float | None) -> float | None:
    """The value of --rung-minutes.  Raises SearchError "search-schedule" for infinity."""
    if minutes == math.inf:
        raise SearchError(
            "search-schedule", "--rung-minutes inf: give the minutes of the longest trainings."
        )
    return minutes


LeastEpochs = Annotated[int, typer.Option(help="Minimum epochs of the first rung.")]
Reuse = Annotated[
    bool,
    typer.Option(help="Whether hyperband may continue trainings that an earlier bracket stopped."),
]
RungMinutes = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        callback=_refuse_endless_rungs,
        help="Rungs are this many minutes, by the recorded costs, and a third, a ninth, ... of "
        "them (--eta); default: epochs.",
    ),
]
Fidelity = Annotated[
    str,
    typer.Option(
        help="Which scores of stopped trainings a model sees: latest, or all of them, as an axis."
    ),
]
RowChoice = Annotated[
    str,
    typer.Option(
        help="The row gp-ei chooses: best, or drawn in proportion to its expected improvement."
    ),
]
InitialDraws = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of draws spread over the space before a model is used; default: a few.",
    ),
]
VirtualWorkers = Annotated[int, typer.Option(min=1, help="Parallel trainings, in virtual time.")]
Lead = Annotated[
    float,
    typer.Option(min=0, max=1, help="How far workers may run ahead of the results; 1: never wait."),
]
Targets = Annotated[
    str | None,
    typer.Option(help="How scores are modelled: half-ranked, half-limited, ranked, raw."),
]
Models = Annotated[
    str | None,
    typer.Option(help="Of gp-ei: alternating, a careful model and a bold one by turns, or single."),
]
Kernel = Annotated[str, typer.Option(help="matern52 or squared-exponential.")]
Hyperparameters = Annotated[str, typer.Option(help="map or sampled.")]
ScoreToReach = Annotated[
    float | None,
    typer.Option(
        help="The loss that gp-pi, and gp-esp by it, ask to reach; default: any improvement."
    ),
]
WidthOfBound = Annotated[
    str,
    typer.Option(
        help="Standard deviations from the mean to the bound of gp-lcb, also in gp-esp; or schedule: "
        "rising with the draws."
    ),
]
RankingSettings = Annotated[
    list[str] | None,
    typer.Option(
        help="One or several settings of search.ranking: acquisition=mean-rank, hidden=[64, 64]."
    ),
]
Priors = Annotated[
    list[Path] | None,
    PathOption(
        help="A file written by `fovnet search learn`, for methods that use one; or several, "
        "for successive runs."
    ),
]
AsInThesis = Annotated[
    bool,
    typer.Option(
        "--thesis",
        help="As in Bertrand's thesis: raw targets, a single model from the second draw on, every row "
        "first once.",
    ),
]


@verbs.command("search")
def bench_search(
    out_folder: OutFolder,
    tables: Tables = None,
    method: Methods = None,
    runs: Runs = None,
    draws: MostDraws = 150,
    epochs: MostEpochs = None,
    spend: WayToSpend = None,
    eta: Eta = 3,
    least_epochs: LeastEpochs = 1,
    reuse: Reuse = True,
    rung_minutes: RungMinutes = None,
    fidelity: Fidelity = "latest",
    choose: RowChoice = "best",
    initial: InitialDraws = None,
    workers: VirtualWorkers = 1,
    lead: Lead = 0.15,
    processes: Workers = 1,
    targets: Targets = None,
    models: Models = None,
    kernel: Kernel = "matern52",
    hyperparameters: Hyperparameters = "map",
    target: ScoreToReach = None,
    width: WidthOfBound = "2",
    ranking: RankingSettings = None,
    prior: Priors = None,
    thesis: AsInThesis = False,
) -> None:
    """Replay search methods on recorded trainings: draws until the best row and until good ones;
    with learning curves, the epochs until these are fully trained.

    Other libraries run with their own defaults: optuna-gp and optuna-tpe (`pip
    install optuna`), hyperopt-tpe (`pip install hyperopt`), scikit-learn-gp;
    with learning curves optuna-tpe+hyperband, optuna-tpe+halving and dehb.
    """
    methods = list(dict.fromkeys(method or DEFAULT_METHODS))
    if thesis:
        targets = targets or "raw"
        initial = initial or 1
        if any(name.partition("+")[0] == "gp-ei" for name in methods):
            models = models or "single"
    kernel_options = {
        "kernel": kernel,
        "hyperparameters": hyperparameters,
        "models": models or "alternating",
    }
    score_options = {"targets": targets or "half-ranked", "fidelity": fidelity, "choose": choose}
    spending = ReplaySpending(spend, eta, least_epochs, reuse, rung_minutes)
    contestants = _contestants_of(methods, spending, workers)
    entry_template = Entry(
        table=Path(),
        method="",
        seed=0,
        draws=draws,
        initial=initial,
        workers=workers,
        modelling=modelling_of(target, width, **kernel_options, **score_options),
        lead=lead,
        epochs=epochs,
        ranking=ranking_of(ranking or []),
        priors=tuple(prior or []),
    )
    table_by_path = {path: load_table(path) for path in tables or [own_table_path()]}
    refuse_priors(methods, prior or [], table_by_path)
    entries = entries_of(entry_template, table_by_path, contestants, runs, every_row_first=thesis)
    refuse_idle_options(entries)
    _race_and_show(out_folder, table_by_path, entries, processes)


def _contestants_of(
    methods: Sequence[str], spending: ReplaySpending, workers: int
) -> list[tuple[str, ReplaySpending]]:
    """The methods, each with how it spends.

    Raises ConfigError or SearchError, as `refuse_methods`, for one that cannot be run, or for an
    unknown way to spend.
    """
    names = list(methods)
    if spending.way:
        # any method: an unknown way is refused
        names.append(f"random+{spending.way}")
    refuse_methods(names, workers)
    return list(dict.fromkeys(parse_contestant(name, spending) for name in methods))


def _race_and_show(
    out_folder: Path,
    table_by_path: Mapping[Path, RecordedTable],
    entries: Sequence[Entry],
    processes: int,
) -> None:
    """Makes the runs, writes what they come to and prints it."""
    with progress_bar("racing") as advance:
        race_results = list(race(entries, processes, advance))
    for view in write_standings(out_folder, table_by_path, race_results):
        show_table(_standings_table(view))
    out.print(f"{out_folder}: standings.tsv, runs.tsv, standings.png")


def _standings_table(view: RaceView) -> Table:
    """The table of one recorded table's race, counted in epochs where it has learning curves, else
    in draws."""
    if view.unit == "epochs":
        return _epochs_table(view)
    return _draws_table(view)


def _draws_table(view: RaceView) -> Table:
    """The draws of each method on a table without learning curves."""
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
    time_headings = ("full length", "draws")
    if has_workers:
        time_headings = ("virtual time", "idle")
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
    table = empty_table(title)
    table.add_column("method", overflow="fold")
    for heading in (*headings, *GOALS[1:]):
        table.add_column(heading.replace(" ", "\n", 1), justify="right", no_wrap=True)
    return table


def _standings_by_method(view: RaceView) -> Iterator[tuple[Standing, Sequence[Standing]]]:
    """Of every method the standing for the best row, and those for the other goals."""
    for first_index in range(0, len(view.standings), len(GOALS)):
        best_standing, *other_standings = view.standings[first_index : first_index + len(GOALS)]
        yield best_standing, other_standings
