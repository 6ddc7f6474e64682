"""Search of the network space, in one process or slot by slot; training of a single network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from fovnet.acts import slots
from fovnet.acts.opening import opened
from fovnet.acts.run import Run
from fovnet.cli.options import ConfigFile, FolderOut, Given, GivenBy, file_out
from fovnet.cli.screen import epoch_bar, err, out, progress_bar, score_text, show_table, titled
from fovnet.errors import ConfigError
from fovnet.net.jobs.run import explain_search, finished_search, pack_to_train_on
from fovnet.net.jobs.search_plan import SearchPlan, changed_start
from fovnet.own_files import is_our_picture, is_our_prior
from fovnet.records import is_stamped, read_json
from fovnet.results import Results
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.net.jobs.single_training import SingleTraining
    from fovnet.search.prior import Prior
    from fovnet.search.trial import Outcome, Trial

verbs = typer.Typer()
slot = typer.Typer(
    no_args_is_help=True,
    help="Search slot by slot, one command each, as on a cluster; the trials are the same as those of "
    "`search`.",
)
searching = typer.Typer(
    help="Search the network space: propose, train, learn, propose; resumes after a kill."
)
Slot = Annotated[int, typer.Option(min=0, help="Which slot, counted from 0.")]


def _is_explanation(path: Path) -> bool:
    return is_stamped(path) and {"matter", "forecasts"} <= read_json(path).keys()


@searching.callback(invoke_without_command=True)
def search(
    context: typer.Context,
    config: Annotated[
        Path | None,
        GivenBy("--config", help="YAML file; configs/ of the repository has some to start from."),
    ] = None,
) -> None:
    """Search the network space: propose, train, learn, propose; resumes after a kill."""
    if context.invoked_subcommand is not None:
        if config is not None:
            raise ConfigError(
                "search-config",
                f"--config {config}: `search {context.invoked_subcommand}` takes none; leave it out",
            )
        return
    if config is None:
        raise ConfigError(
            "search-config",
            "fovnet search: --config is missing; give a YAML file, or see `fovnet search --help`",
        )
    _search(config)


@searching.command()
def explain(
    run: Annotated[
        Path, Given(help="A search's journal, or a results folder whose search is done.")
    ],
    out_file: Annotated[
        Path | None,
        file_out(
            _is_explanation,
            "Output JSON; default: explain.json in the journal.",
            "an explanation of a search",
        ),
    ] = None,
) -> None:
    """Explain a finished search: convergence, forecasts, what mattered, what failed."""
    from dataclasses import asdict

    from fovnet.records import write_json
    from fovnet.report.content.explained import brief_table, pairs_table, sentences

    journal, trials = _journal_of(run)
    owner, explanation = explain_search(journal, trials)
    path = write_json(
        out_file or journal / "explain.json",
        asdict(explanation),
        settings=owner.identity,
        seed=owner.seed,
    )
    for paragraph in sentences(explanation):
        out.print(paragraph)
    for brief in (brief_table(explanation.matter), pairs_table(explanation.matter)):
        if brief.rows:
            table = Table(*brief.header)
            for row in brief.rows:
                table.add_row(*map(str, row))
            out.print(table)
    out.print(f"explained: {path}")


@searching.command()
def compare(
    runs: Annotated[
        list[Path], Given(help="Journals of searches, or results folders whose searches are done.")
    ],
    out_file: Annotated[
        Path, file_out(is_our_picture, "A PNG file for the picture.", "a picture that fovnet drew")
    ],
) -> None:
    """Draw searches side by side: the lowest score of each against the epochs spent."""
    from fovnet.drawing.canvas import save_png
    from fovnet.report.figures.side_by_side import course, courses_figure
    from fovnet.search.journal import read_search, read_trials

    courses = []
    shown = titled(
        "searches side by side",
        "search",
        "seed",
        "configurations",
        "full trainings spent",
        "lowest score",
        "journal",
    )
    for journal, trials in map(_journal_of, dict.fromkeys(runs)):
        one = course(read_search(journal), read_trials(journal) if trials is None else trials)
        courses.append(one)
        spent, lowest = (
            (f"{one.spent[-1]:.1f}", f"{one.lowest[-1]:.4f}")
            if len(one.spent)
            else ("", "none yet")
        )
        shown.add_row(one.contestant, str(one.seed), str(one.begun), spent, lowest, journal.name)
    save_png(courses_figure(courses), out_file)
    show_table(shown)
    out.print(f"{out_file}")


@searching.command()
def learn(
    config: ConfigFile,
    sources: Annotated[
        list[Path] | None,
        Given(
            help="Journals of searches, or results folders whose searches are done; default: those of "
            "search.learn_from.",
            show_default=False,
        ),
    ] = None,
    out_file: Annotated[
        Path | None,
        file_out(is_our_prior, "Default: prior.safetensors in the results folder.", "a prior"),
    ] = None,
    steps: Annotated[
        int, typer.Option(min=1, help="Steps of the training; each uses a list of up to 100 rows.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the training.")] = 1,
    context: Annotated[
        bool | None,
        typer.Option(
            "--context/--no-context",
            show_default=False,
            help="Use networks that are shown what the new search has seen; default: if there are three "
            "searches of 300 rows each.",
        ),
    ] = None,
) -> None:
    """Learn from earlier searches what a new one should try first.

    --config is that of the new search; configurations of earlier ones
    that its space does not have are left out. Set there search.method: ranking and, as search.prior, the file
    written here; or set search.learn_from, and the workflow runs this step itself.
    """
    from fovnet.acts.learn import learned
    from fovnet.search.learn.training import Lessons
    from fovnet.search.prior import write_prior

    run = opened(config)
    folders = sources or [Path(folder) for folder in run.settings.search.learn_from]
    if not folders:
        raise ConfigError(
            "learn-sources",
            f"{config}: no search to learn from; give journals, or set search.learn_from",
        )
    journals = [(str(folder), _journal_of(folder)[0]) for folder in dict.fromkeys(folders)]
    prior = learned(
        run, journals, Lessons(steps=steps, context=context), seed, progress_bar, err.print
    )
    path = write_prior(prior, out_file or run.results.prior)
    show_table(_taught(prior))
    out.print(f"learned: {path}")


def _taught(prior: Prior) -> Table:
    """What each source contributed, and how well the others predicted it."""
    shown = titled(
        "what was learned",
        "search",
        "configurations",
        "Kendall's tau, held out",
        "place of its best row",
    )
    held_out = prior.facts["held_out"] or [None] * len(prior.sources)
    for source, one in zip(prior.sources, held_out, strict=True):
        tau, place = (
            (f"{one['tau']:.2f}", f"{one['place_of_best']} of {one['of']}") if one else ("", "")
        )
        shown.add_row(source.name, str(source.scored), tau, place)
    return shown


def _journal_of(run: Path) -> tuple[Path, list[Trial] | None]:
    """The journal that a path names; of a results folder that of its finished search, and its trials.

    Raises SearchError "explain-run", or as `finished_search`.
    """
    from fovnet.errors import SearchError

    if not any(
        path.exists() for path in (run / "search.json", Results(run).search / "current.json")
    ):
        wanted = (
            "give a journal (results/.../search/<twelve characters>), or a results folder whose search is "
            "done"
        )
        raise SearchError(
            "explain-run", f"{run}: neither search.json nor search/current.json in it; {wanted}"
        )
    return (run, None) if (run / "search.json").exists() else finished_search(Results(run))


@verbs.command()
def train(
    config: ConfigFile,
    out_folder: Annotated[
        Path, FolderOut("--out", help="Where the network, trial.json and curve.png are written.")
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="axis=level, may be repeated; default: search.start."),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Else training.epochs.")] = None,
    training_seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=0,
            max=2**64 - 1,
            help="Seed of the training; a trial's own seed repeats that trial.",
        ),
    ] = None,
) -> None:
    """Train one configuration; status 3 if it does not complete. If killed, the same command resumes."""
    from fovnet.net.training.train import choose_device
    from fovnet.report.content.wording import settings as described

    settings = opened(config).settings
    configuration = changed_start(settings, changes or [])
    choose_device(settings.training.device)
    pack = pack_to_train_on(settings, config)
    training = SearchPlan(settings, pack).single(configuration, out_folder, epochs, training_seed)
    replaced = training.replaces()
    if replaced is not None:
        err.print(f"{out_folder}: replaces the network of another training ({described(replaced)})")
    amount = (
        f"{several(training.job.recipe.epochs, 'epoch')} of "
        f"{several(settings.training.slices_per_epoch, 'slice')}"
    )
    if training.recorded() is None:
        err.print(
            f"{described(configuration)}: {amount}, validated on {several(len(training.scored_on), 'slice')}"
        )
    with epoch_bar(settings.training.slices_per_epoch) as show_epoch:
        outcome = training.outcome(show_epoch)
    _draw_training(training, outcome)
    done = len(outcome.validation_loss)
    best = "" if outcome.score is None else f", validation loss {outcome.score:.4f} at best"
    out.print(
        f"{outcome.status} after {several(done, 'epoch')}{best}{outcome.message and f': {outcome.message}'}"
    )
    out.print(
        f"{out_folder}: {', '.join(path.name for path in sorted(out_folder.iterdir()) if path.is_file())}"
    )
    if outcome.status != "completed":
        raise typer.Exit(3)


def _search(config: Path) -> None:
    """Runs the search of a configuration, or continues it from its journal."""
    run = opened(config)
    _show_search(run, run.search(progress_bar))


@slot.command("begin")
def slot_begin(config: ConfigFile) -> None:
    """Begin a search whose slots run as separate jobs: all decisions before the first slot."""
    search, journal = slots.begun(opened(config))
    out.print(f"{search.feasible.sum():,} of {len(search.space):,} configurations fit: {journal}")


@slot.command("propose")
def slot_propose(config: ConfigFile, slot: Slot) -> None:
    """Propose what a slot trains, from the slots it must have seen; writes proposal-0007.json."""
    decided = slots.proposed(opened(config), slot)
    out.print(
        decided
        if isinstance(decided, str)
        else f"slot {slot}: {dict(decided.configuration)}, having seen {len(decided.seen)} slots"
    )


@slot.command("train")
def slot_train(config: ConfigFile, slot: Slot) -> None:
    """Train the proposal of a slot; writes slot-0007.json, even if the training fails."""
    trial = slots.trained(opened(config), slot)
    out.print(
        " ".join(
            [
                "slot",
                str(slot),
                trial.outcome.status,
                score_text(trial.score),
                trial.outcome.message,
            ]
        ).rstrip()
    )


@slot.command("gather")
def slot_gather(config: ConfigFile) -> None:
    """End a search whose slots are all finished; writes trials.tsv, for the ensemble and the report."""
    run = opened(config)
    _show_search(run, slots.gathered(run))


@verbs.command()
def propose(
    run: Annotated[
        Path, Given(help="A search's journal, or a results folder whose search is done.")
    ],
    slot: Annotated[
        int, typer.Option(min=0, help="The slot to propose again from what it had seen.")
    ],
) -> None:
    """Compute what a search proposes for a slot; for a finished slot this gives its recorded proposal
    again."""
    from fovnet.search.journal import replay
    from fovnet.search.trial import proposal_facts

    journal = (
        finished_search(Results(run))[0] if (Results(run).search / "current.json").exists() else run
    )
    out.print_json(json.dumps(proposal_facts(replay(journal, slot))))


def _draw_training(training: SingleTraining, outcome: Outcome) -> None:
    """Writes curve.png beside the record of the training."""
    from fovnet.drawing.canvas import save_png
    from fovnet.report.content.wording import settings as described
    from fovnet.report.figures.learning import learning_figure

    ending = (
        f"{outcome.status.replace('_', ' ')} after {len(outcome.validation_loss)} epochs, "
        f"{outcome.seconds:.0f} s on {outcome.device}"
    )
    figure = learning_figure(
        outcome.training_loss,
        outcome.validation_loss,
        training.guess,
        described(training.configuration),
        ending,
    )
    save_png(figure, training.folder / "curve.png")


def _show_search(run: Run, trials: list[Trial]) -> None:
    """Prints what a finished search came to."""
    from fovnet.search.trial import latest

    scores = [trial.score for trial in latest(trials) if trial.score is not None]
    losses = f"validation loss {score_text(trials[0].score)} at the start, {score_text(min(scores))} at best"
    begun = len(latest(trials))
    slots = "" if begun == len(trials) else f" in {len(trials)} slots"
    out.print(
        f"{several(begun, 'trial')}{slots}, {len(scores)} with a score; {losses}: {run.results.trials}"
    )
