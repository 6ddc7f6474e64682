"""`fovnet search`: search of the network space, and what is done with finished searches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from fovnet.acts.finished_search import read_finished_search
from fovnet.acts.learn import learn_prior
from fovnet.acts.opening import open_run
from fovnet.acts.search_explanation import explain_search
from fovnet.cli.options import ConfigFile, PathArgument, PathOption, file_out
from fovnet.cli.screen import empty_table, err, out, progress_bar, show_table
from fovnet.cli.slots import show_trials
from fovnet.drawing.canvas import save_png
from fovnet.errors import ConfigError, SearchError
from fovnet.net.cost.layered import layered_costs_of
from fovnet.own_files import is_our_picture, is_our_prior
from fovnet.records import facts_of_record, is_stamped, read_json, why_no_folder, write_json
from fovnet.report.content.search_explanation.importance import (
    brief_axes_table,
    brief_families_table,
    pairs_table,
)
from fovnet.report.content.search_explanation.view import paragraphs
from fovnet.report.figures.side_by_side import course_of, courses_figure
from fovnet.results import Results
from fovnet.search.journal import read_search
from fovnet.search.learn.training import Lessons
from fovnet.search.prior import Prior, write_prior
from fovnet.search.slot_files import read_trials
from fovnet.search.trial import Trial

verbs = typer.Typer()
search_verbs = typer.Typer(
    help="Search the network space: propose, train, learn, propose; resumes after a kill."
)
verbs.add_typer(search_verbs, name="search")


def _is_our_explanation(path: Path) -> bool:
    return is_stamped(path) and {"matter", "forecasts"} <= read_json(path).keys()


@search_verbs.callback(invoke_without_command=True)
def search(
    context: typer.Context,
    config: Annotated[
        Path | None,
        PathOption(
            "--config", help="YAML file; configs/ of the repository has some to start from."
        ),
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
    run = open_run(config)
    show_trials(run, run.search(progress_bar))


@search_verbs.command()
def explain(
    run: Annotated[
        Path, PathArgument(help="A search's journal, or a results folder whose search is done.")
    ],
    out_file: Annotated[
        Path | None,
        file_out(
            _is_our_explanation,
            "Output JSON; default: explain.json in the journal.",
            "an explanation of a search",
        ),
    ] = None,
) -> None:
    """Explain a finished search: convergence, forecasts, what mattered, what failed."""
    journal, trials = _journal_and_trials(run)
    search, explanation = explain_search(journal, trials)
    path = write_json(
        out_file or journal / "explain.json",
        facts_of_record(explanation),
        settings=search.identity,
        seed=search.seed,
    )
    for paragraph in paragraphs(explanation):
        out.print(paragraph)
    for content_table in (
        brief_axes_table(explanation.importance),
        brief_families_table(explanation.tree_importance),
        pairs_table(explanation.importance),
    ):
        if content_table.rows:
            table = Table(*content_table.header)
            for row in content_table.rows:
                table.add_row(*map(str, row))
            out.print(table)
    out.print(f"explained: {path}")


@search_verbs.command()
def compare(
    runs: Annotated[
        list[Path],
        PathArgument(help="Journals of searches, or results folders whose searches are done."),
    ],
    out_file: Annotated[
        Path,
        file_out(
            is_our_picture, "A PNG file for the picture.", "a picture that fovnet drew", ".png"
        ),
    ],
) -> None:
    """Draw searches side by side: the lowest score of each against the epochs spent."""
    search_courses = []
    table = empty_table(
        "searches side by side",
        "search",
        "seed",
        "configurations",
        "full trainings spent",
        "lowest score",
        "journal",
    )
    for journal, trials in map(_journal_and_trials, dict.fromkeys(runs)):
        if trials is None:
            trials = read_trials(journal)
        search_course = course_of(read_search(journal, layered_costs_of), trials)
        search_courses.append(search_course)
        trainings_in_words = ""
        lowest_score = "none yet"
        if len(search_course.full_trainings):
            trainings_in_words = f"{search_course.full_trainings[-1]:.1f}"
            lowest_score = f"{search_course.lowest_scores[-1]:.4f}"
        table.add_row(
            search_course.contestant,
            str(search_course.seed),
            str(search_course.configuration_count),
            trainings_in_words,
            lowest_score,
            journal.name,
        )
    save_png(courses_figure(search_courses), out_file)
    show_table(table)
    out.print(f"{out_file}")


@search_verbs.command()
def learn(
    config: ConfigFile,
    sources: Annotated[
        list[Path] | None,
        PathArgument(
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
    run = open_run(config)
    search_folders = sources or [Path(folder) for folder in run.settings.search.learn_from]
    if not search_folders:
        raise ConfigError(
            "learn-sources",
            f"{config}: no search to learn from; give journals, or set search.learn_from",
        )
    journals = [
        (str(folder), _journal_and_trials(folder)[0]) for folder in dict.fromkeys(search_folders)
    ]
    prior = learn_prior(
        run, journals, Lessons(steps=steps, context=context), seed, progress_bar, err.print
    )
    path = write_prior(prior, out_file or run.results.prior)
    show_table(_sources_table(prior))
    out.print(f"learned: {path}")


def _sources_table(prior: Prior) -> Table:
    """What each source contributed, and how well the others predicted it."""
    table = empty_table(
        "what was learned",
        "search",
        "configurations",
        "Kendall's tau, held out",
        "place of its best row",
    )
    held_out_predictions = prior.facts["held_out"] or [None] * len(prior.sources)
    for source, prediction in zip(prior.sources, held_out_predictions, strict=True):
        tau_text = ""
        place_text = ""
        if prediction:
            tau_text = f"{prediction['tau']:.2f}"
            place_text = f"{prediction['place_of_best']} of {prediction['of']}"
        table.add_row(source.name, str(source.scored_count), tau_text, place_text)
    return table


def _journal_and_trials(run: Path) -> tuple[Path, list[Trial] | None]:
    """(journal, trials) of a search that a path names: of a results folder those of its finished
    search; of a journal itself the trials are not read yet, and None.

    Raises SearchError "explain-run", or as `read_finished_search`.
    """
    if (run / "search.json").exists():
        return run, None
    if (Results(run).search / "current.json").exists():
        return read_finished_search(Results(run))
    reason = why_no_folder(run) or "neither search.json nor search/current.json in it"
    raise SearchError(
        "explain-run",
        f"{run}: {reason}; give a journal "
        "(results/.../search/<twelve characters>), or a results folder whose search is done",
    )
