"""Evaluation of a run, comparison of two runs, and the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fovnet.acts.evaluate import evaluate_run
from fovnet.acts.finished_search import read_finished_search
from fovnet.acts.opening import open_run
from fovnet.acts.run import Run
from fovnet.acts.search_space import start_configuration
from fovnet.cli.options import ConfigFile, FolderOut, PathArgument
from fovnet.cli.screen import (
    difference_text,
    empty_table,
    out,
    progress_bar,
    show_table,
    value_text,
)
from fovnet.decision.folder import ModelFolder
from fovnet.evaluate import finished_run
from fovnet.evaluate.ablation import (
    MEASURES_SHOWN,
    Ablation,
    current_ablation,
    input_checksums,
    measure_ablation,
    write_ablation,
)
from fovnet.evaluate.comparison import (
    Comparison,
    compare_evaluations,
    find_better_run,
    write_comparison,
)
from fovnet.evaluate.networks import score_networks
from fovnet.words import several

verbs = typer.Typer()


@verbs.command()
def evaluate(config: ConfigFile) -> None:
    """Compare the decisions on the test split with the truth."""
    evaluation, written_files = evaluate_run(open_run(config))
    out.print(f"{several(len(evaluation.volumes), 'volume')} evaluated: {written_files[0]}")


@verbs.command()
def ablate(config: ConfigFile) -> None:
    """Measure what each step contributes, on the test split: the decision, the mean of the members, the
    search."""
    run = open_run(config)
    pack = run.pack  # raises, where there are no slices, before the ensemble is looked at
    run.refuse_other_rule()
    finished_run.evaluate_results(run.settings, run.results, pack)  # raises as `evaluate` does
    ablation = _ablate_run(run)
    written_files = write_ablation(
        run.results.evaluation,
        ablation,
        made_from=input_checksums(run.results),
        settings=run.settings.evaluate.model_dump(),
    )
    _show_ablation(ablation)
    for ladder, arm, reason in ablation.omitted_arms:
        out.print(f"left out of {ladder}: {arm}; {reason}")
    out.print("  ".join(map(str, written_files)))


def _ablate_run(run: Run) -> Ablation:
    """What each step of a run contributes, measured."""
    settings = run.settings
    search_folder, trials = read_finished_search(run.results)
    ensemble_probabilities = run.scored_arrays
    with progress_bar("scoring") as advance:
        networks = score_networks(
            run.pack,
            ensemble_probabilities,
            run.results.ensemble,
            trials,
            search_folder / "networks",
            start_configuration(settings),
            device=settings.training.device,
            progress=advance,
        )
    with progress_bar("deciding") as advance:
        return measure_ablation(
            run.pack,
            networks,
            ensemble_probabilities["rows"],
            run.vocabulary,
            ModelFolder(run.results.ensemble).rule,
            bootstrap=settings.evaluate.bootstrap,
            seed=settings.seed,
            progress=advance,
        )


def _show_ablation(ablation: Ablation) -> None:
    """Prints the measures in MEASURES_SHOWN of every arm, and below each its change by the step."""
    table = empty_table(
        "test split; below each figure its change by the step, with a 95 % interval over subjects",
        "",
        "arm",
        *(name.removeprefix("border_").replace("_", " ") for name, _ in MEASURES_SHOWN),
    )
    for step in ablation.steps:
        value_by_name_and_stage = {
            (measure.name, measure.stage): measure.value for measure in step.measures
        }
        value_cells = [
            value_text(name, value_by_name_and_stage[name, stage]) for name, stage in MEASURES_SHOWN
        ]
        table.add_row(step.ladder, step.arm, *value_cells)
        if step.gains:
            gain_by_name_and_stage = {(gain.measure, gain.stage): gain for gain in step.gains}
            gain_cells = [
                difference_text(gain_by_name_and_stage.get((name, stage)))
                for name, stage in MEASURES_SHOWN
            ]
            table.add_row("", "", *gain_cells)
    show_table(table)


@verbs.command()
def compare(
    first: Annotated[
        Path, PathArgument(help="A results folder, or the folder `evaluation` in it.")
    ],
    second: Annotated[
        Path, PathArgument(help="Another one, on the same volumes with the same truth.")
    ],
    out_folder: Annotated[
        Path | None,
        FolderOut("--out", help="Where comparison.json and comparison.tsv are written."),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(min=100, help="Bootstrap resamples of the subjects.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Compare two runs on the same volumes: second minus first, with intervals from resampling the subjects
    of both together."""
    comparison = compare_evaluations(first, second, bootstrap=bootstrap, seed=seed)
    # written before anything is printed, since a closed pipe ends the command
    written_files = []
    if out_folder is not None:
        written_files = write_comparison(out_folder, comparison)
    _show_differences(comparison)
    out.print(
        f"fewer wrong slices in the second: {comparison.better} volumes, more: {comparison.worse}"
    )
    if written_files:
        out.print("  ".join(map(str, written_files)))


def _show_differences(comparison: Comparison) -> None:
    """Prints every measure of two runs, with the difference and which run is better."""
    table = empty_table(
        f"{comparison.volumes} volumes of {comparison.subjects} subjects",
        "measure",
        "first",
        "second",
        "second minus first",
        "better",
    )
    for difference in comparison.differences:
        measure = difference.measure
        table.add_row(
            " ".join(filter(None, (measure.replace("_", " "), difference.stage))),
            value_text(measure, difference.first),
            value_text(measure, difference.second),
            difference_text(difference),
            find_better_run(difference),
        )
    show_table(table)


@verbs.command()
def report(config: ConfigFile) -> None:
    """Write the report: one self-contained page."""
    run = open_run(config)
    page_file = run.report()
    ablation_path = run.results.evaluation / "ablation.json"
    if ablation_path.exists() and current_ablation(run.results) is None:
        out.print(
            "the ablation is left out: it was made with other networks, another rule or other labels; "
            "`fovnet ablate` makes it again"
        )
    out.print(f"report: {page_file}")
