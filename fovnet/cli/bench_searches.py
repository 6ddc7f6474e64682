"""`fovnet bench`: how many draws search methods need on recorded trainings and with limited memory, and their
time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fovnet.acts.opening import opened
from fovnet.cli.options import ConfigFile, Given, GivenBy, Workers, file_out, folder_out, table_of
from fovnet.cli.screen import out, progress_bar, show_table, titled
from fovnet.errors import ConfigError
from fovnet.own_files import begins_with, is_our_picture, is_our_prior
from fovnet.records import write_tsv

if TYPE_CHECKING:
    from fovnet.bench.figures.race import RaceView
    from fovnet.bench.races import Standing

verbs = typer.Typer()
STANDINGS = {
    "standings.tsv": partial(begins_with, columns=("table", "method", "setting")),
    "runs.tsv": partial(begins_with, columns=("table", "method", "seed")),
    "standings.png": is_our_picture,
}
WALKS = {
    "edge.tsv": partial(begins_with, columns=("scenario", "method", "runs")),
    "walks.tsv": partial(begins_with, columns=("scenario", "method", "seed")),
}
RANKS = {
    "ranks.tsv": table_of("fovnet.bench.ranks"),
    "pairs.tsv": partial(begins_with, columns=("draw", "method", "other")),
    "ranks.png": is_our_picture,
    "critical.png": is_our_picture,
}
TABLES_HELP = (
    "Tables of recorded trainings: npz files with X, kinds, y, cost, names and, optionally, curves; "
    "default: the one that comes with the package."
)
SCENARIO_HELP = (
    "memory, steep, unestimated, diverging-rows, diverging-rates, killed or rates-and-kills, one or "
    "several; default: all."
)


@verbs.command("search")
def bench_search(
    out_folder: Annotated[
        Path, folder_out(STANDINGS, "Where standings.tsv, runs.tsv and standings.png are written.")
    ],
    tables: Annotated[list[Path] | None, Given(help=TABLES_HELP, show_default=False)] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="One or several methods, also of other libraries, optionally with a way to spend, such as "
            "gp-ei+asha; default: gp-ei and random."
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
        GivenBy(
            help="A file written by `bench learn`, for methods that use one; or several, for successive "
            "runs."
        ),
    ] = None,
    thesis: Annotated[
        bool,
        typer.Option(
            "--thesis",
            help="As in Bertrand's thesis: raw targets, a model from the second draw, every row first once.",
        ),
    ] = False,
) -> None:
    """Replay search methods on recorded trainings: draws until the best row and until good ones; with
    learning curves, the epochs until these are fully trained.

    Other libraries run with their own defaults: optuna-gp and optuna-tpe (`pip
    install optuna`), hyperopt-tpe (`pip install hyperopt`), scikit-learn-gp;
    with learning curves optuna-tpe+hyperband, optuna-tpe+halving and dehb.
    With --prior also mean-place, which uses only the places in earlier searches, and fsbo, a deep kernel
    (needs torch).
    """
    from fovnet.bench.races import (
        Entry,
        entries_of,
        modelling_of,
        parsed,
        race,
        ranking_of,
        refuse_methods,
        refuse_priors,
    )
    from fovnet.bench.spending import Spending
    from fovnet.bench.tables import load_table, own_table

    methods = list(dict.fromkeys(method or ["gp-ei", "random"]))
    tables = list(dict.fromkeys(tables or [own_table()]))
    spending = Spending(spend, eta, least_epochs, reuse)
    refuse_methods([*methods, *([f"random+{spend}"] if spend else [])], workers)
    contestants = dict.fromkeys(parsed(name, spending) for name in methods)
    modelling = modelling_of(
        targets=targets or ("raw" if thesis else "half-ranked"),
        kernel=kernel,
        hyperparameters=hyperparameters,
        fidelity=fidelity,
        choose=choose,
    )
    ranks = ranking_of(ranking or [])
    loaded = {path: load_table(path) for path in tables}
    refuse_priors(methods, prior or [], loaded)
    like = Entry(
        Path(),
        "",
        0,
        draws,
        initial or (1 if thesis else None),
        workers,
        modelling,
        lead=lead,
        epochs=epochs,
        ranking=ranks,
        priors=tuple(prior or []),
    )
    entries = entries_of(like, loaded, list(contestants), runs, every_row_first=thesis)
    with progress_bar("racing") as advance:
        results = list(race(entries, processes, advance))
    _show_standings(out_folder, loaded, results)


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
    """Record a table of trained networks: `search.trials` rows drawn from the configuration's space, each
    trained to its end, with their learning curves; resumes after a kill."""
    from collections import Counter

    from fovnet.bench.recording import recording, write_table
    from fovnet.net.jobs.run import pack_to_train_on

    if seed is not None and again is None:
        raise ConfigError(
            "table-again",
            f"--seed {seed}: only used with --again; give both, or set `seed` in {config}",
        )
    settings = opened(config).settings
    made = recording(settings, pack_to_train_on(settings, config), side)
    if again is not None:
        made = made.again(again, settings.seed if seed is None else seed)
    if not done:
        with progress_bar("training") as advance:
            made.trained(advance)
    trials = made.finished()
    write_table(out_file, trials, made)
    counts = ", ".join(
        f"{number} {status}"
        for status, number in Counter(trial.outcome.status for trial in trials).items()
    )
    out.print(f"{len(trials)} of {made.count} rows: {counts}; journal {made.journal}")
    out.print(f"{out_file}")


@verbs.command("learn")
def bench_learn(
    tables: Annotated[
        list[Path], Given(help="Recorded tables of the same axes, each an earlier search.")
    ],
    out_file: Annotated[
        Path, file_out(is_our_prior, "The file for `bench search --prior`.", "a prior")
    ],
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials of one search per table; default: all rows.")
    ] = None,
    steps: Annotated[
        int, typer.Option(min=1, help="Steps of the training, each on one table.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training and of the searches.")] = 1,
    context: Annotated[
        bool | None,
        typer.Option(
            "--context/--no-context",
            show_default=False,
            help="Use networks that are shown what a search has seen so far; default: if the tables are large.",
        ),
    ] = None,
) -> None:
    """Learn from recorded tables, or from searches on them, what a search on another table should try
    first."""
    from fovnet.bench.lessons import sources_of
    from fovnet.search.learn.training import Lessons, learn
    from fovnet.search.prior import write_prior

    axes, sources = sources_of(tables, trials, seed)
    with progress_bar("learning") as advance:
        prior = learn(
            sources, axes, Lessons(steps=steps, context=context), seed, advance, checked=False
        )
    rows = ", ".join(f"{one.name} ({one.scored})" for one in prior.sources)
    out.print(f"{write_prior(prior, out_file)}: learned from {rows}")


@verbs.command("ranks")
def bench_ranks(
    out_folder: Annotated[
        Path,
        folder_out(RANKS, "Where ranks.tsv, pairs.tsv, ranks.png and critical.png are written."),
    ],
    runs: Annotated[
        list[Path] | None,
        Given(help="Folders that `fovnet bench search --out` wrote.", show_default=False),
    ] = None,
    incumbents: Annotated[
        Path | None,
        GivenBy(
            help="Published runs instead: an npz file with keys and, for each method, the best value so far "
            "(1 is the best of all)."
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="One or several methods with their settings, as in ranks.tsv; default: all."
        ),
    ] = None,
) -> None:
    """Rank search methods on many tables: mean ranks and regrets by draw, with intervals from resampling
    tables, and the significance of differences between methods."""
    from fovnet.bench import ranks
    from fovnet.bench.figures.ranks import critical_figure, ranks_figure
    from fovnet.drawing.canvas import save_png

    if bool(runs) == (incumbents is not None):
        raise ConfigError("ranks-runs", "give either folders of runs or --incumbents FILE")
    compared = (
        ranks.replays(runs, method or ())
        if runs
        else ranks.incumbents(incumbents or Path(), method or ())
    )
    lines, tests = list(ranks.lines(compared)), ranks.differences(compared)
    write_tsv(out_folder / "ranks.tsv", ranks.COLUMNS, lines)
    write_tsv(out_folder / "pairs.tsv", ranks.PAIRS, ranks.pairs(compared, tests))
    save_png(ranks_figure(lines), out_folder / "ranks.png")
    save_png(critical_figure(tests), out_folder / "critical.png")
    title = f"{len(compared.table)} runs on {compared.tables} tables: mean rank (regret) by draw"
    shown = titled(title, "method", *(f"{draw}" for draw in compared.moments))
    for name in compared.methods:
        mine = {
            line["draw"]: f"{line['rank']:.2f} ({line['regret']:.4f})"
            for line in lines
            if line["method"] == name
        }
        shown.add_row(name, *(mine[draw] for draw in compared.moments))
    show_table(shown)
    for test in tests:
        out.print(f"at {test.draw}: {test.sentence}")
    out.print(f"{out_folder}: {', '.join(RANKS)}")


@verbs.command("sorting")
def bench_sorting(
    out_file: Annotated[
        Path, file_out(table_of("fovnet.bench.sorting"), "A TSV file for the numbers.")
    ],
    rate: Annotated[
        list[float] | None,
        typer.Option(min=0, help="One or several learning rates; default: 0.001."),
    ] = None,
    processes: Workers = 1,
) -> None:
    """Train the networks of `ranking` to sort numbers, and compare with the sorting study in the thesis that
    introduced the method."""
    from fovnet.bench.sorting import COLUMNS, compared

    with progress_bar("sorting") as advance:
        lines = list(compared(rate or [0.001], processes, advance))
    write_tsv(out_file, COLUMNS, lines)
    title = "share of lists sorted without an error"
    shown = titled(title, "numbers per list", "epochs", "between", "rate", "here", "thesis")
    for line in lines:
        between, near = f"{line['low']:g} and {line['high']:g}", "" if line["near"] else " *"
        cells = [f"{line[key]:g}" for key in ("size", "epochs")]
        shown.add_row(
            *cells,
            between,
            f"{line['rate']:g}",
            f"{line['share']:.3f}",
            f"{line['thesis']:.2f}{near}",
        )
    show_table(shown)
    out.print("* more than 0.05 from the thesis, which names no optimiser")
    out.print(f"{out_file}")


@verbs.command("bound")
def bench_bound(
    rows: Annotated[int, typer.Option(min=1, help="Rows of the space.")] = 34_300,
    out_file: Annotated[
        Path | None, file_out(table_of("fovnet.bench.bounds"), "A TSV file for the same numbers.")
    ] = None,
) -> None:
    """Compute how many draws random search needs until it has probably drawn one of the best rows."""
    from fovnet.bench.bounds import CERTAINTIES, COLUMNS, SHARES, bounds

    found = bounds(rows)
    title = f"draws of {rows:,} rows, no row twice (any row again)"
    shown = titled(title, "one of the best", "rows", *(f"with > {p:g}" for p in CERTAINTIES))
    for share in SHARES:
        same = [bound for bound in found if bound.share == share]
        cells = [f"{bound.without_replacement} ({bound.with_replacement})" for bound in same]
        shown.add_row(f"{100 * share:g} %", f"{same[0].good:,}", *cells)
    show_table(shown)
    if out_file is not None:
        write_tsv(out_file, COLUMNS, [vars(bound) for bound in found])
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
    """Measure the cost of a proposal over the paper's 34,300 rows: seconds on one core, including refits, and
    memory."""
    from fovnet.bench.pace import COLUMNS, paces
    from fovnet.bench.races import refuse_unknown

    refuse_unknown([method])
    with progress_bar("timing") as advance:
        measured = list(paces(method, trials or [300, 1000], seed, diverged, advance))
    write_tsv(out_file, COLUMNS, [vars(pace) for pace in measured])
    shown = titled(
        f"{method}: seconds per proposal over {measured[0].rows:,} rows",
        "trials known",
        "proposals (refits)",
        "median",
        "mean",
        "max",
        "processor",
        "after a restart",
        "peak MB (idle)",
    )
    for pace in measured:
        seconds = [
            f"{value:.3f}" for value in (pace.median, pace.mean, pace.worst, pace.cpu, pace.resumed)
        ]
        shown.add_row(
            f"{pace.trials:,}",
            f"{pace.proposals} ({pace.refits})",
            *seconds,
            f"{pace.peak_mb:.0f} ({pace.idle_mb:.0f})",
        )
    show_table(shown)
    out.print(f"{out_file}")


@verbs.command("edge")
def bench_edge(
    out_folder: Annotated[Path, folder_out(WALKS, "Where edge.tsv and walks.tsv are written.")],
    scenario: Annotated[list[str] | None, typer.Option(help=SCENARIO_HELP)] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="One or several search methods; default: gp-ei and random."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Problems of each scenario.")] = 40,
    processes: Workers = 1,
) -> None:
    """Count the draws that fail for lack of memory, or otherwise, before the best network that can be trained
    is drawn."""
    from fovnet.bench.edge import MEASURES, SCENARIOS, edge_standings, walked
    from fovnet.bench.races import refuse_unknown
    from fovnet.bench.together import each

    scenarios, methods = scenario or list(SCENARIOS), method or ["gp-ei", "random"]
    refuse_unknown(methods)
    for name in scenarios:
        if name not in SCENARIOS:
            raise ConfigError(
                "bench-scenario", f"--scenario {name}: unknown; choose among {', '.join(SCENARIOS)}"
            )
    tasks = [(name, how, seed) for name in scenarios for how in methods for seed in range(seeds)]
    with progress_bar("walking") as advance:
        made = list(zip(tasks, each(walked, tasks, processes, advance), strict=True))
    lines = [
        {"scenario": name, "method": how, "seed": seed, **vars(one), "failed": one.failed}
        for (name, how, seed), one in made
    ]
    write_tsv(out_folder / "walks.tsv", list(lines[0]), lines)
    shown = titled(
        f"until the best row that trains, {seeds} seeds: mean (95 % interval; worst)",
        "scenario",
        "method",
        *MEASURES,
    )
    rows = []
    for name in scenarios:
        for how in methods:
            standing = edge_standings(
                name, how, [one for (a, b, _), one in made if (a, b) == (name, how)]
            )
            rows += standing
            shown.add_row(
                name,
                how,
                *(
                    f"{row.mean:.1f} ({row.low:.0f}-{row.high:.0f}; {row.worst})"
                    for row in standing
                ),
            )
    write_tsv(out_folder / "edge.tsv", list(vars(rows[0])), [vars(row) for row in rows])
    show_table(shown)
    if lost := sum(not one.found for _, one in made):
        out.print(
            f"{lost} of {len(made)} searches never drew it: the machine stopped it each time it was tried; "
            "they count as all rows"
        )
    out.print(f"{out_folder / 'edge.tsv'}")


@verbs.command("another-model")
def bench_another_model(
    out_folder: Annotated[
        Path,
        folder_out(
            {"another-model.tsv": table_of("fovnet.bench.another_model")},
            "Where another-model.tsv and the searches' journals are written.",
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(help="One or several search methods; default: a-mads and random."),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Number of trainings per search, about two seconds each.")
    ] = 60,
    seeds: Annotated[
        int, typer.Option(min=1, help="Searches per method, with seeds 0, 1, ...")
    ] = 3,
    start: Annotated[
        str, typer.Option(help="The configuration tried first: good, or bad.")
    ] = "good",
    thesis: Annotated[
        bool,
        typer.Option(
            "--thesis",
            help="mads and a-mads: optimisers form a cycle, and a change sets the usual rate of "
            "the next one.",
        ),
    ] = False,
    processes: Workers = 1,
) -> None:
    """Search another model, an autoencoder that tells interrupted digits from complete ones, as an example of
    a custom space: a journal for each search, which `fovnet search explain` explains."""
    from fovnet.bench.another_model import COLUMNS, STARTS, Task, searched
    from fovnet.bench.races import refuse_unknown
    from fovnet.bench.together import each

    methods = list(dict.fromkeys(method or ["a-mads", "random"]))
    refuse_unknown(methods)
    if start not in STARTS:
        raise ConfigError(
            "bench-start", f"--start {start}: unknown; choose among {', '.join(STARTS)}"
        )
    how = "-thesis" if thesis else ""
    tasks = [
        Task(out_folder / f"{name}-{start}{how}-{seed}", name, start, seed, trials, thesis)
        for name in methods
        for seed in range(seeds)
    ]
    with progress_bar("searching") as advance:
        found = list(each(searched, tasks, processes, advance))
    write_tsv(out_folder / "another-model.tsv", COLUMNS, [vars(one) for one in found])
    title = f"{trials} trainings from a {start} start, each search's best by validation"
    shown = titled(
        title,
        "method",
        "validation score",
        "test F1, complete / interrupted",
        "their mean, at test",
        "failed",
    )
    for name in methods:
        mine = [one for one in found if one.method == name]
        cells = [
            (
                f"{one.score:.3f}",
                f"{one.complete:.2f} / {one.interrupted:.2f}",
                f"{one.mean:.2f} ({one.low:.2f}-{one.high:.2f})",
            )
            for one in mine
        ]
        shown.add_row(
            name,
            *("\n".join(column) for column in zip(*cells, strict=True)),
            f"{sum(one.failed for one in mine)}",
        )
    show_table(shown)
    share = f"{100 * found[0].prevalence:.0f} % of the test pictures are interrupted"
    out.print(f"{share}; in brackets the 95 % interval (bootstrap of the pictures)")
    out.print(f"{out_folder}: another-model.tsv, and a journal for each search")


def _show_standings(folder: Path, tables: Mapping[Path, Any], results: list[Any]) -> None:
    """Writes standings.tsv, runs.tsv and standings.png, and prints what each method needed."""
    from fovnet.bench.figures.standings import write_standings

    for view in write_standings(folder, tables, results):
        (_show_epochs if view.unit == "epochs" else _show_draws)(view)
    out.print(f"{folder}: standings.tsv, runs.tsv, standings.png")


def _show_draws(view: RaceView) -> None:
    """Prints the draws of a table without learning curves."""
    from fovnet.bench.figures.race import label
    from fovnet.bench.races import GOALS

    shown = _headed(
        f"{view.name}: draws until the best row, and mean draws until the good ones",
        "best",
        "worst",
        "missed",
    )
    for best, others in _by_method(view):
        spread, missed = f"{best.mean:.1f}±{best.sd:.0f}", f"{best.misses}/{best.runs}"
        shown.add_row(
            label(best), spread, f"{best.worst}", missed, *(f"{row.mean:.1f}" for row in others)
        )
    exact = [f"{row.chance:.1f}" for row in view.standings[: len(GOALS)]]
    shown.add_row("random, exact", exact[0], "", "", *exact[1:])
    show_table(shown)


def _show_epochs(view: RaceView) -> None:
    """Prints the epochs of a table with learning curves, those as trainings of full length, and draws, which
    are rows begun; of several workers their virtual time, and the share of it that they waited, instead."""
    from fovnet.bench.figures.race import label

    title = f"{view.name}: epochs until the best row is trained to the end, and mean epochs until the good ones"
    several = any(best.workers > 1 for best, _ in _by_method(view))
    besides = ("virtual time", "idle") if several else ("full length", "draws")
    shown = _headed(title, "best", "worst", "missed", *besides)
    for best, others in _by_method(view):
        cells = [
            f"{best.epochs:,.0f}±{best.epochs_sd:,.0f}",
            f"{best.epochs_worst:,}",
            f"{best.misses}/{best.runs}",
        ]
        cells += (
            [f"{best.time:,.4g}", f"{best.idle:.0%}"]
            if several
            else [f"{best.full_trainings:.1f}", f"{best.mean:.0f}"]
        )
        shown.add_row(label(best), *cells, *(f"{row.epochs:,.0f}" for row in others))
    show_table(shown)


def _headed(title: str, *columns: str) -> Any:
    """An empty table with a column for each of these, and for each goal but the best row."""
    from fovnet.bench.races import GOALS

    shown = titled(title)
    shown.add_column("method", overflow="fold")
    for heading in (*columns, *GOALS[1:]):
        shown.add_column(heading.replace(" ", "\n", 1), justify="right", no_wrap=True)
    return shown


def _by_method(view: RaceView) -> Iterator[tuple[Standing, Sequence[Standing]]]:
    """Of every method the standing for the best row, and those for the other goals."""
    from fovnet.bench.races import GOALS

    for first in range(0, len(view.standings), len(GOALS)):
        best, *others = view.standings[first : first + len(GOALS)]
        yield best, others
