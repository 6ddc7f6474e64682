"""`fovnet examine`: the answers of `predict` beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fovnet.cli.options import FolderOut, PathArgument, PathOption
from fovnet.cli.screen import empty_table, measure_text, out, show_table
from fovnet.config.regions import vocabulary
from fovnet.errors import ConfigError
from fovnet.evaluate.answers import (
    Matching,
    cases_of_answers,
    find_built_in_vocabulary,
    vocabulary_of_answers,
    volume_outcomes,
)
from fovnet.evaluate.cases import Case
from fovnet.evaluate.evaluation import Evaluation, evaluate
from fovnet.evaluate.matching import BY_CONTENT, BY_NAME, BY_PATH_END
from fovnet.evaluate.measures import Measure
from fovnet.evaluate.parts import PART_BORDERS, PartEvaluation
from fovnet.evaluate.writing import write_evaluation
from fovnet.regions import Vocabulary
from fovnet.volume.collection.tables import read_collection
from fovnet.words import several

verbs = typer.Typer()

MEASURES_PRINTED = (
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
"""The measures that `examine` prints, those of statements where answers are given region by region;
the tables have all."""

PART_MEASURES_PRINTED = (
    "statements_decided",
    "yes_wrong",
    "no_wrong",
    "surely_found",
)
PART_BORDER_MEASURES_PRINTED = (
    "border_signed_median_mm",
    "border_abs_median_mm",
    "border_within_10_mm",
    "border_within_15_mm",
    "border_missed",
    "border_invented",
    "border_interval_holds",
)
"""Those of parts of regions, and of the borders between them."""

EXAMINE_HELP = (
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
    "the regions shown that have a yes.\n\n"
    "Parts of regions (foot, lower leg, knee and thigh of legs) are judged where answers tell of them and labels "
    "name them: parts.tsv, and the last columns of volumes.tsv. A slice labelled with the whole alone tells "
    "nothing of parts. border within 10 mm, within 15 mm and missed are shares of the borders labelled."
)
"""What the help of `examine` ends with."""

SENTENCE_BY_MATCH_KIND = {
    BY_CONTENT: "matched by content, a copy of the labelled file at another path",
    BY_PATH_END: "matched by the end of the path, as in an archive that was moved; the files were not compared",
    BY_NAME: "matched by name alone, answered from another file than the labelled one, perhaps another "
    "person's; look whether they belong together",
}


@verbs.command(epilog=EXAMINE_HELP)
def examine(
    answers: Annotated[Path, PathArgument(help="A folder that `predict --out` wrote.")],
    truth: Annotated[
        Path,
        PathOption(help="A collection with labels: a folder with volumes.tsv and regions.tsv."),
    ],
    out_folder: Annotated[
        Path,
        FolderOut(
            "--out", help="Where evaluation.json, rates.tsv, volumes.tsv, borders.tsv are written."
        ),
    ],
    regions: Annotated[
        str | None,
        typer.Option(
            help="The regions the ensemble knows: default, nine, or a YAML file; else nine where the "
            "answers tell of its parts, and default elsewhere."
        ),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(min=100, help="Bootstrap resamples of the subjects.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Compare the answers of `predict` with a labelled collection; status 3 if labelled volumes have no
    answer."""
    _refuse_in_inputs(out_folder, truth, answers)
    regions = regions or find_built_in_vocabulary(answers)
    network_vocabulary = vocabulary(regions)
    region_vocabulary = vocabulary_of_answers(answers, network_vocabulary)
    matching = Matching.of(answers, read_collection(truth, network_vocabulary))
    cases, unanswered_ids, unlabelled_ids = cases_of_answers(
        matching, region_vocabulary, network_vocabulary
    )
    evaluation = evaluate(
        cases,
        region_vocabulary,
        bootstrap=bootstrap,
        seed=seed,
        network_vocabulary=network_vocabulary,
    )
    # written before anything is printed, since a closed pipe ends the command
    written_files = write_evaluation(
        out_folder, evaluation, settings={"regions": regions, "bootstrap": bootstrap}
    )
    _show_unmatched(unanswered_ids, unlabelled_ids)
    _show_matched_otherwise(matching)
    _show_volumes(cases, region_vocabulary)
    _show_rates(evaluation)
    if evaluation.parts is not None:
        _show_parts(evaluation.parts)
    out.print("  ".join(map(str, written_files)))
    if unanswered_ids:
        raise typer.Exit(3)


def _refuse_in_inputs(out_folder: Path, truth: Path, answers: Path) -> None:
    """Raises ConfigError "out-in-inputs" if the tables would overwrite those of the truth, or be
    written among the answers."""
    labels_folder = truth
    if truth.suffix == ".tsv":
        labels_folder = truth.parent
    for contents, folder in (("labels", labels_folder), ("answers", answers)):
        if out_folder.resolve() == folder.resolve():
            raise ConfigError(
                "out-in-inputs",
                f"--out {out_folder}: holds the {contents}, which would be overwritten or mixed up; give "
                "another folder",
            )


def _show_unmatched(unanswered_ids: Sequence[str], unlabelled_ids: Sequence[str]) -> None:
    """Prints labelled volumes without an answer, and answers without a labelled volume."""
    if unanswered_ids:
        volumes_in_words = several(len(unanswered_ids), "labelled volume")
        out.print(
            f"{volumes_in_words} without an answer (set aside, not given, or only one of the same name on another "
            f"file): {', '.join(unanswered_ids)}"
        )
    if unlabelled_ids:
        answers_in_words = several(len(unlabelled_ids), "answer")
        out.print(f"{answers_in_words} for no labelled volume: {', '.join(unlabelled_ids)}")


def _show_matched_otherwise(matching: Matching) -> None:
    """Prints the volumes that are not matched by path: those by content by name, others with both
    paths."""
    for match_kind, sentence in SENTENCE_BY_MATCH_KIND.items():
        matches_of_kind = [match for match in matching.matches if match.matched_by == match_kind]
        if not matches_of_kind:
            continue
        if match_kind == BY_CONTENT:
            volumes_in_words = ", ".join(match.volume_id for match in matches_of_kind)
        else:
            volumes_in_words = "; ".join(match.paths_text for match in matches_of_kind)
        out.print(f"{several(len(matches_of_kind), 'volume')} {sentence}: {volumes_in_words}")


def _show_volumes(cases: Sequence[Case], region_vocabulary: Vocabulary) -> None:
    """Prints a row for each volume: what it shows, what was predicted, how many slices are
    right."""
    table = empty_table(
        f"{len(cases)} labelled volumes; slices as predict cuts them, not every one",
        "volume",
        "status",
        "truth",
        "predicted",
        "slices right",
        "wrong, but empty",
    )
    for row in volume_outcomes(cases, region_vocabulary):
        slices_text = ""
        if row["slices"]:
            slices_text = f"{row['right']}/{row['slices']}"
        table.add_row(
            row["volume_id"],
            row["status"],
            row["truth"],
            row["predicted"],
            slices_text,
            str(row["wrong_empty"] or ""),
        )
    show_table(table)


def _show_rates(evaluation: Evaluation) -> None:
    """Prints the measures in MEASURES_PRINTED, of all volumes and of those answered without a doubt."""
    table = empty_table(
        "with 95 % intervals over subjects", "measure", "all read", "without a doubt"
    )
    for name, stage in MEASURES_PRINTED:
        region = ""
        if name.startswith("border"):
            region = "regions"
        measure_of_all = evaluation.everything.find(name, stage, region)
        measure_of_answered = None
        if evaluation.answered:
            measure_of_answered = evaluation.answered.find(name, stage, region)
        if stage or measure_of_all is not None:
            measure_in_words = " ".join(filter(None, [name.replace("_", " "), stage]))
            table.add_row(
                measure_in_words, measure_text(measure_of_all), measure_text(measure_of_answered)
            )
    show_table(table)


def _show_parts(parts: PartEvaluation) -> None:
    """Prints the measures of the parts of regions, and those of the borders between them, without
    their intervals."""
    for title, names, regions in (
        ("parts", PART_MEASURES_PRINTED, ("", *parts.part_names)),
        (
            "borders between parts",
            PART_BORDER_MEASURES_PRINTED,
            (PART_BORDERS, *parts.border_kinds),
        ),
    ):
        columns = [name.removeprefix("border_").replace("_", " ") for name in names]
        table = empty_table(f"{title}; parts.tsv has the intervals", "", *columns)
        for region in regions:
            measures = [parts.find(name, region) for name in names]
            table.add_row(region or PART_BORDERS, *map(_text_without_interval, measures))
        show_table(table)


def _text_without_interval(measure: Measure | None) -> str:
    """A measure and its denominator; empty where there is none."""
    if measure is None:
        return ""
    return measure_text(replace(measure, low=None))
