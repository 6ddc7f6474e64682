"""Comparison of predictions with the truth and of runs with each other, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fovnet.acts.evaluate import evaluated
from fovnet.acts.opening import opened
from fovnet.cli.options import ConfigFile, FolderOut, Given, GivenBy
from fovnet.cli.screen import (
    difference_text,
    measure_text,
    out,
    progress_bar,
    show_table,
    titled,
    value_text,
)
from fovnet.errors import ConfigError
from fovnet.evaluate import finished_run
from fovnet.evaluate.matching import CONTENT, NAME, PATH_END
from fovnet.net.jobs.run import finished_search
from fovnet.net.jobs.search_plan import start_configuration
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.evaluate.answers import Matching

verbs = typer.Typer()


@verbs.command()
def evaluate(config: ConfigFile) -> None:
    """Compare the decisions on the test split with the truth."""
    evaluation, written = evaluated(opened(config))
    out.print(f"{several(len(evaluation.volumes), 'volume')} evaluated: {written[0]}")


@verbs.command()
def ablate(config: ConfigFile) -> None:
    """Measure what each step contributes, on the test split: the decision, the mean of the members, the
    search."""
    from fovnet.decision.folder import ModelFolder
    from fovnet.evaluate.ablation import SHOWN, ablate, made_from, write_ablation
    from fovnet.evaluate.networks import networks_of

    run = opened(config)
    settings, results, pack = run.settings, run.results, run.pack
    run.refuse_other_rule()
    finished_run.evaluation_of(settings, results, pack)  # raises as `evaluate` does
    (journal, trials), arrays = finished_search(results), run.scored_arrays
    with progress_bar("scoring") as advance:
        networks = networks_of(
            pack,
            arrays,
            results.ensemble,
            trials,
            journal / "networks",
            start_configuration(settings),
            device=settings.training.device,
            progress=advance,
        )
    with progress_bar("deciding") as advance:
        found = ablate(
            pack,
            networks,
            arrays["rows"],
            run.vocabulary,
            ModelFolder(results.ensemble).rule,
            bootstrap=settings.evaluate.bootstrap,
            seed=settings.seed,
            progress=advance,
        )
    written = write_ablation(
        results.evaluation,
        found,
        made_from=made_from(results),
        settings=settings.evaluate.model_dump(),
    )
    table = titled(
        "test split; below each figure its change by the step, with a 95 % interval over subjects",
        "",
        "arm",
        *(name.removeprefix("border_").replace("_", " ") for name, _ in SHOWN),
    )
    for step in found.steps:
        measures = {(one.name, one.stage): one for one in step.measures}
        gains = {(one.measure, one.stage): one for one in step.gains}
        table.add_row(
            step.ladder,
            step.arm,
            *(value_text(measures[key].name, measures[key].value) for key in SHOWN),
        )
        if gains:
            table.add_row("", "", *(difference_text(gains.get(key)) for key in SHOWN))
    show_table(table)
    for ladder, arm, why in found.left_out:
        out.print(f"left out of {ladder}: {arm}; {why}")
    out.print(f"{written[0]}  {written[1]}")


EXAMINED = (
    ("slice_error", "raw"),
    ("slice_error", "decided"),
    ("slice_error_not_dark", "decided"),
    ("balanced_accuracy", "decided"),
    ("presence_f1_weighted", "decided"),
    ("exact_set", "decided"),
    ("border_abs_median_mm", "decided"),
    ("border_within_10_mm", "decided"),
    ("border_interval_holds", "decided"),
    ("statements_decided", ""),
    ("statements_wrong", ""),
    ("yes_wrong", ""),
    ("no_wrong", ""),
    ("surely_found", ""),
)
"""The measures that `examine` prints, those of statements where answers are given region by region; the
tables have all."""


MEASURES = (
    "Volumes are matched by path, else by the content of their files, else by the end of their paths, else "
    "by a volume_id that is not one of several (T1, T1-2); all but the first are named.\n\n"
    "Measures: slice_error is the share of slices given a "
    "wrong region, raw by the networks alone, decided in the answer; a slice with a spine is judged by the "
    "spine alone; "
    "slice_error_any_label also counts false labels beside a spine; slice_error_not_dark leaves out slices "
    "without signal. "
    "presence_f1_weighted is the F1 of "
    "naming the regions of a volume, weighted by how many volumes show each; exact_set the share of volumes "
    "with exactly the right "
    "regions. far_confusion_slices and far_confusion_volumes count those given a region not adjacent to the "
    "true one.\n\n"
    "If labels name only the spine, the regions it crosses do not count as errors.\n\n"
    "For answers by region: statements_decided is the share that are yes or no, statements_wrong the share "
    "of these that are wrong, yes_wrong and no_wrong the same for each kind, and surely_found the share of "
    "the regions shown that have a yes."
)
"""What the help of `examine` ends with."""


@verbs.command(epilog=MEASURES)
def examine(
    answers: Annotated[Path, Given(help="A folder that `predict --out` wrote.")],
    truth: Annotated[
        Path, GivenBy(help="A collection with labels: a folder with volumes.tsv and regions.tsv.")
    ],
    out_folder: Annotated[
        Path,
        FolderOut(
            "--out", help="Where evaluation.json, rates.tsv, volumes.tsv, borders.tsv are written."
        ),
    ],
    regions: Annotated[
        str, typer.Option(help="The regions the ensemble knows: default, or a YAML file.")
    ] = "default",
    bootstrap: Annotated[
        int, typer.Option(min=100, help="Bootstrap resamples of the subjects.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Compare the answers of `predict` with a labelled collection; status 3 if labelled volumes have no
    answer."""
    from fovnet.config.regions import vocabulary
    from fovnet.evaluate.answers import (
        Matching,
        cases_of_answers,
        refuse_other_regions,
        volume_outcomes,
    )
    from fovnet.evaluate.evaluation import evaluate as evaluated
    from fovnet.evaluate.writing import write_evaluation
    from fovnet.volume.collection.tables import read_collection

    _refuse_in_inputs(out_folder, truth, answers)
    known = vocabulary(regions)
    refuse_other_regions(answers, known)
    collection = read_collection(truth, known)
    matching = Matching.of(answers, collection)
    cases, lacking, beyond = cases_of_answers(matching, known)
    found = evaluated(cases, known, bootstrap=bootstrap, seed=seed)
    # written before anything is printed, since a closed pipe ends the command
    written = write_evaluation(
        out_folder, found, settings={"regions": regions, "bootstrap": bootstrap}
    )
    _show_unmatched(lacking, beyond)
    _show_matched_otherwise(matching)
    rows = titled(
        f"{len(cases)} labelled volumes; slices as predict cuts them, not every one",
        "volume",
        "status",
        "truth",
        "predicted",
        "slices right",
        "wrong, but empty",
    )
    for row in volume_outcomes(cases, known):
        right = f"{row['right']}/{row['slices']}" if row["slices"] else ""
        rows.add_row(
            row["volume_id"],
            row["status"],
            row["truth"],
            row["predicted"],
            right,
            str(row["wrong_empty"] or ""),
        )
    show_table(rows)
    rates = titled("with 95 % intervals over subjects", "measure", "all read", "without a doubt")
    for name, stage in EXAMINED:
        where = "regions" if name.startswith("border") else ""
        measures = [
            group.find(name, stage, where) if group else None
            for group in (found.everything, found.answered)
        ]
        if stage or measures[0] is not None:
            words = " ".join(filter(None, [name.replace("_", " "), stage]))
            rates.add_row(words, *(measure_text(one) for one in measures))
    show_table(rates)
    out.print("  ".join(map(str, written)))
    if lacking:
        raise typer.Exit(3)


def _show_unmatched(lacking: Sequence[str], beyond: Sequence[str]) -> None:
    """Prints labelled volumes without an answer, and answers without a labelled volume."""
    if lacking:
        counted = several(len(lacking), "labelled volume")
        out.print(
            f"{counted} without an answer (set aside, not given, or only one of the same name on another "
            f"file): {', '.join(lacking)}"
        )
    if beyond:
        out.print(f"{several(len(beyond), 'answer')} for no labelled volume: {', '.join(beyond)}")


OTHERWISE = {
    CONTENT: "matched by content, a copy of the labelled file at another path",
    PATH_END: "matched by the end of the path, as in an archive that was moved; the files were not compared",
    NAME: "matched by name alone, answered from another file than the labelled one, perhaps another "
    "person's; look whether they belong together",
}


def _show_matched_otherwise(matching: Matching) -> None:
    """Prints the volumes that are not matched by path: those by content by name, others with both paths."""
    for kind, sentence in OTHERWISE.items():
        matches = [match for match in matching.matches if match.by == kind]
        if not matches:
            continue
        separator = ", " if kind == CONTENT else "; "
        words = (match.volume_id if kind == CONTENT else match.paths for match in matches)
        out.print(f"{several(len(matches), 'volume')} {sentence}: {separator.join(words)}")


def _refuse_in_inputs(out_folder: Path, truth: Path, answers: Path) -> None:
    """Raises ConfigError "out-in-inputs" if the tables would overwrite those of the truth, or be written
    among the answers."""
    labels = truth.parent if truth.suffix == ".tsv" else truth
    for what, folder in (("labels", labels), ("answers", answers)):
        if out_folder.resolve() == folder.resolve():
            raise ConfigError(
                "out-in-inputs",
                f"--out {out_folder}: holds the {what}, which would be overwritten or mixed up; give "
                "another folder",
            )


@verbs.command()
def compare(
    first: Annotated[Path, Given(help="A results folder, or the folder `evaluation` in it.")],
    second: Annotated[Path, Given(help="Another one, on the same volumes with the same truth.")],
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
    from fovnet.evaluate.comparison import compare, verdict, write_comparison

    found = compare(first, second, bootstrap=bootstrap, seed=seed)
    written = [] if out_folder is None else write_comparison(out_folder, found)
    table = titled(
        f"{found.volumes} volumes of {found.subjects} subjects",
        "measure",
        "first",
        "second",
        "second minus first",
        "better",
    )
    for one in found.differences:
        values = (value_text(one.measure, value) for value in (one.first, one.second))
        table.add_row(
            " ".join(filter(None, (one.measure.replace("_", " "), one.stage))),
            *values,
            difference_text(one),
            verdict(one),
        )
    show_table(table)
    out.print(f"fewer wrong slices in the second: {found.better} volumes, more: {found.worse}")
    if written:
        out.print("  ".join(map(str, written)))


@verbs.command()
def report(config: ConfigFile) -> None:
    """Write the report: one self-contained page."""
    from fovnet.evaluate.ablation import current_ablation

    run = opened(config)
    page, results = run.report(), run.results
    if (results.evaluation / "ablation.json").exists() and current_ablation(results) is None:
        out.print(
            "the ablation is left out: it was made with other networks, another rule or other labels; "
            "`fovnet ablate` makes it again"
        )
    out.print(f"report: {page}")
