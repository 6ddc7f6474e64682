"""The chapter on performance: errors by slice, border, volume and subgroup, and what each step is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.ablation import Ablation
from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.evaluate.cases import STAGES
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.evaluate.groups import ALL_BORDERS, ENDS
from fovnet.regions import Vocabulary
from fovnet.report.content.ablation import AblationView, ablation_view
from fovnet.report.content.cells import Row, Shown, Table
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.run_record import ByRegion
from fovnet.report.content.statement_rates import SaidView, said_view
from fovnet.report.content.wording import percent, plain, run_of, shown
from fovnet.words import several

STAGE_NAMES = {
    "raw": "networks alone",
    "smoothed": "after smoothing",
    "decided": "after the decision",
}

NO_REGION = "named no region (not counted as a doubt)"
"""The code "none" in the table of doubts."""

HEADERS = {
    "header_understood": "headers that name a region",
    "header_exact": "the header names exactly the regions shown",
    "header_beside": "the header names none of the regions shown",
    "predicted_exact_where_header": "fovnet predicts exactly the regions shown",
    "header_and_prediction_differ": "header and fovnet differ",
    "predicted_exact_where_they_differ": "fovnet is right where they differ",
    "header_exact_where_they_differ": "the header is right where they differ",
}
"""Rates of the header's Body Part Examined, in words."""

MOST_HEADERS = 30
"""Maximum number of rows of `header_rows`."""


@dataclass(frozen=True)
class StageMatrix:
    """One confusion matrix (k, k), rows true and columns predicted, with its name and its error in words."""

    name: str
    error: str
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class ConfusionView:
    """The confusion matrices before smoothing, after it, and after the decision."""

    classes: tuple[str, ...]
    stages: tuple[StageMatrix, ...]


@dataclass(frozen=True)
class BorderDots:
    """Signed errors of one kind of border; `are_ends` if they lie between a region and none."""

    name: str
    errors_mm: tuple[float, ...]
    median_mm: float | None
    are_ends: bool = False


@dataclass(frozen=True)
class Performance:
    """Errors and their tables.

    stages, confusion, regions   by slice, before and after the decision
    borders, border_errors       rates, and the signed error of every border found
    handling, doubts, volumes    by volume: right sets of regions, what was in doubt, a row each
    subgroups, too_few           by collection and recorded attribute, and those of fewer than five subjects
    said                         what is said of each region; None where nothing is said region by region
    header_rates, headers        the header's Body Part Examined against the truth and against fovnet
    ablation                     what each step is worth; None where it was not measured
    """

    stages: Table
    confusion: ConfusionView
    regions: Table
    borders: Table
    border_errors: tuple[BorderDots, ...]
    handling: Table
    doubts: Table
    volumes: Table
    subgroups: Table
    too_few: tuple[str, ...]
    said: SaidView | None
    header_rates: Table
    headers: Table
    ablation: AblationView | None


def performance_of(
    evaluation: Evaluation, ablation: Ablation | None, by_region: ByRegion | None = None
) -> Performance:
    """The chapter; `by_region` is None where no bars were chosen for statements on regions."""
    return Performance(
        stages=stages_table(evaluation),
        confusion=confusion_view(evaluation),
        regions=regions_table(evaluation),
        borders=borders_table(evaluation),
        border_errors=border_dots(evaluation),
        handling=handling_table(evaluation),
        doubts=doubts_table(evaluation),
        volumes=volumes_table(evaluation),
        subgroups=subgroups_table(evaluation),
        too_few=tuple(
            group.name for group in evaluation.subgroups if group.too_few and group.volumes
        ),
        said=said_view(evaluation, by_region),
        header_rates=header_rates(evaluation),
        headers=header_rows(evaluation),
        ablation=ablation_view(ablation),
    )


def confusion_view(evaluation: Evaluation) -> ConfusionView:
    """The matrices of the three stages, each with its slice error."""
    stages = []
    for stage in STAGES:
        error = shown(evaluation.everything.find("slice_error", stage))
        words = f"{error.value} wrong, {error.count} ({error.interval})"
        stages.append(StageMatrix(STAGE_NAMES[stage], words, evaluation.confusions[stage]))
    return ConfusionView(evaluation.vocabulary.classes, tuple(stages))


def regions_table(evaluation: Evaluation) -> Table:
    """Sensitivity before and after the decision, specificity, PPV, F1, AUC and presence, one row per class;
    undefined values are dashes."""
    whole, vocabulary = evaluation.everything, evaluation.vocabulary
    wanted = {
        ("sensitivity", "raw"): "sensitivity, networks alone",
        ("sensitivity", "decided"): "sensitivity",
        ("specificity", "decided"): "specificity",
        ("ppv", "decided"): "positive predictive value",
        ("stated_confidence", "decided"): "confidence stated there",
        ("f1", "decided"): "F1 of slices",
        ("auroc", "smoothed"): "area under the ROC curve, smoothed",
        ("presence_f1", "decided"): "F1 of presence in volumes",
    }
    measured = {(one.name, one.stage) for one in whole.measures}
    kept = [key for key in wanted if key in measured]
    words = {"auroc": plain}
    rows: list[Row] = [
        (
            name,
            *(
                words.get(measure, shown)(whole.find(measure, stage, name))
                for measure, stage in kept
            ),
        )
        for name in vocabulary.classes
    ]
    header = ("region", *(wanted[key] for key in kept))
    return Table(header, rows, list(map(vocabulary.colour, vocabulary.classes)), name="regions")


def stages_table(evaluation: Evaluation) -> Table:
    """Slice error and balanced accuracy at each stage, over all volumes and over the answered ones."""
    rows: list[Row] = [
        (
            STAGE_NAMES[stage],
            *(
                shown(group.find(name, stage) if group else None)
                for group in (evaluation.everything, evaluation.answered)
                for name in ("slice_error", "balanced_accuracy")
            ),
        )
        for stage in STAGES
    ]
    over = (
        "slice error, all volumes",
        "balanced accuracy, all volumes",
        "slice error, answered",
        "balanced accuracy, answered",
    )
    return Table(("stage", *over), rows, name="stages")


def borders_table(evaluation: Evaluation) -> Table:
    """Errors of borders in mm, missed and invented ones, coverage of their intervals: all together, each
    kind, then ends."""
    whole = evaluation.everything
    names = [one.region for one in whole.measures if one.name == "border_abs_median_mm"]
    wanted = {
        "border_signed_median_mm": "signed, median",
        "border_abs_mean_mm": "absolute, mean",
        "border_abs_median_mm": "absolute, median",
        "border_abs_p95_mm": "absolute, 95th percentile",
        "border_within_10_mm": f"within {AGREEMENT_MM:.0f} mm",
        "border_missed": "missed",
        "border_invented": "invented",
        "border_interval_holds": "90 % intervals that contain the true height",
        "border_interval_median_mm": "width of these intervals, median",
    }
    measured = {one.name for one in whole.measures}
    wanted = {name: words for name, words in wanted.items() if name in measured}
    rows: list[Row] = [
        (_border_name(name), *(shown(whole.find(measure, "decided", name)) for measure in wanted))
        for name in names
    ]
    return Table(("border", *wanted.values()), rows, name="borders")


def _border_name(name: str) -> str:
    known = {ALL_BORDERS: "all between two regions", ENDS: "ends: region and none"}
    return known.get(name, name.replace("|", " | "))


def border_dots(evaluation: Evaluation) -> tuple[BorderDots, ...]:
    """The signed errors in mm of every border found, each kind from the feet up, then ends; a missed border
    has no error."""
    names = [
        one.region
        for one in evaluation.everything.measures
        if one.name == "border_signed_median_mm"
    ]
    rows = []
    for name in names[1:]:  # the first is all kinds together
        mine = [
            border
            for border in evaluation.borders
            if (ENDS if border.is_end else border.kind) == name
        ]
        errors = tuple(sorted(border.error_mm for border in mine if border.error_mm is not None))
        rows.append(
            BorderDots(
                _border_name(name),
                errors,
                float(np.median(errors)) if errors else None,
                name == ENDS,
            )
        )
    return tuple(rows)


def handling_table(evaluation: Evaluation) -> Table:
    """Results by volume: right sets of regions, gross confusions, abstentions, refusals."""
    whole, answered = evaluation.everything, evaluation.answered
    handled = {measure.name: measure for measure in evaluation.handling}
    spans = "F1 of spans: the region found, in about the right place"
    beside = "slices with any false label, also beside a spine"
    measures = {
        "exactly the right regions": whole.find("exact_set", "decided"),
        "the same, volumes without a doubt only": answered.find("exact_set", "decided")
        if answered
        else None,
        "F1 of presence, weighted by region": whole.find("presence_f1_weighted", "decided"),
        spans: whole.find("span_f1", "decided"),
        "a slice given a region not adjacent to the true one": whole.find(
            "far_confusion_volumes", "decided"
        ),
        beside: whole.find("slice_error_any_label", "decided"),
        "with a doubt about the whole volume": handled["abstained"],
        "refused": handled["refused"],
    }
    rows = [
        (words, shown(one))
        for words, one in measures.items()
        if one or words not in (spans, beside)
    ]
    return Table(("counted in volumes, unless stated otherwise", "value"), rows, name="handling")


def volumes_table(evaluation: Evaluation) -> Table:
    """One row per volume, by descending slice error, refused ones last."""
    ordered = sorted(
        evaluation.volumes,
        key=lambda row: (row.slice_error is None, -(row.slice_error or 0.0), row.volume_id),
    )
    return Table(
        (
            "volume",
            "collection",
            "status",
            "shows",
            "predicted",
            "regions",
            "wrong slices",
            "confidence",
        ),
        [_volume_cells(row, evaluation.vocabulary) for row in ordered],
        name="volumes",
    )


def _volume_cells(row: EvaluatedVolume, vocabulary: Vocabulary) -> Row:
    if row.status == "refused":
        return (row.volume_id, row.collection, row.status, "–", "–", "–", "–", "–")
    share = Shown(percent(row.slice_error), "", f"{row.wrong}/{row.slices}")
    sure = "–" if row.confidence is None else f"{row.confidence:.2f}"
    truth, predicted = run_of(row.truth, vocabulary), run_of(row.predicted, vocabulary)
    return (
        row.volume_id,
        row.collection,
        row.status,
        truth,
        predicted,
        "right" if row.right else "wrong",
        share,
        sure,
    )


def subgroups_table(evaluation: Evaluation) -> Table:
    """Errors of slices, sets and borders, one row per subgroup; those of fewer than five subjects are marked
    "too few"."""
    wanted = {
        "slice error, networks alone": ("slice_error", "raw"),
        "slice error": ("slice_error", "decided"),
        "right set of regions": ("exact_set", "decided"),
        "border error, median": ("border_abs_median_mm", "decided", ALL_BORDERS),
        "borders within 10 mm": ("border_within_10_mm", "decided", ALL_BORDERS),
    }
    rows: list[Row] = []
    for group in evaluation.subgroups:
        volumes = several(group.volumes, "volume") + (
            f", {group.refused} refused" if group.refused else ""
        )
        counts = Shown(
            several(group.subjects, "subject"), volumes, "too few" if group.too_few else ""
        )
        attribute = group.attribute.replace("_", " ")
        rows.append(
            (
                f"{attribute}: {group.value}",
                counts,
                *(shown(group.find(*one)) for one in wanted.values()),
            )
        )
    return Table(("subgroup", "rests on", *wanted), rows, name="subgroups")


def doubts_table(evaluation: Evaluation) -> Table:
    """Volumes by doubt, and how many of them and of their slices were wrong."""
    rows = [
        (
            NO_REGION if one.code == "none" else doubt_in_words(one.code),
            _share(one.wrong, one.volumes),
            _share(one.wrong_slices, one.slices),
        )
        for one in evaluation.doubts
    ]
    return Table(("doubt", "volumes with wrong regions", "wrong slices"), rows, name="doubts")


def _share(part: int, whole: int) -> Shown:
    return Shown(percent(part / whole) if whole else "–", "", f"{part:,}/{whole:,}")


def header_rates(evaluation: Evaluation) -> Table:
    """How often the header's Body Part Examined agrees with the truth and with fovnet, one row per rate."""
    found = {one.name: one for one in evaluation.header_rates}
    rows = [(words, shown(found[name])) for name, words in HEADERS.items() if name in found]
    return Table(("counted in volumes", "value"), rows, name="header-rates")


def header_rows(evaluation: Evaluation) -> Table:
    """Header, true and predicted regions, the most frequent combinations first."""
    rows: list[Row] = []
    for one in evaluation.headers[:MOST_HEADERS]:
        regions = (
            run_of(names, evaluation.vocabulary) for names in (one.header, one.truth, one.predicted)
        )
        rows.append((one.text, *regions, f"{one.volumes:,}"))
    return Table(("header", "means", "shows", "predicted", "volumes"), rows, name="headers")
