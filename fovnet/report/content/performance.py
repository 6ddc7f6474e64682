"""The chapter on performance: errors by slice, border, volume and subgroup, and what each step is
worth."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fovnet.evaluate.ablation import Ablation
from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.evaluate.cases import STAGES
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.evaluate.groups import BODY_ENDS, REGION_BORDERS, Group
from fovnet.evaluate.parts import PART_BORDERS
from fovnet.records import json_key
from fovnet.regions import Vocabulary
from fovnet.report.content.ablation import AblationView, ablation_view
from fovnet.report.content.cells import MeasuredText, ReportTable, Row
from fovnet.report.content.confusions import TITLE_BY_STAGE, ConfusionView, confusion_view
from fovnet.report.content.doubt_words import doubt_in_words
from fovnet.report.content.run_record import ByRegion
from fovnet.report.content.statement_rates import StatementsView, statements_view
from fovnet.report.content.wording import (
    DASH,
    decimal_text,
    measure_text,
    percent,
    regions_text,
    unitless_text,
    with_spaces,
)
from fovnet.words import several

TITLE_BY_BORDER_MEASURE = {
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
"""Columns of the table of borders."""

SPAN_F1_TITLE = "F1 of spans: the region found, in about the right place"
ANY_LABEL_TITLE = "slices with any false label, also beside a spine"
"""The two rows of the results by volume that are left out where they were not measured."""

TITLE_BY_HEADER_RATE = {
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
"""Maximum number of rows of `headers_table`."""


@dataclass(frozen=True)
class BorderDots:
    """Signed errors of one kind of border; `are_ends` if they lie between a region and none."""

    name: str
    errors_mm: tuple[float, ...]
    median_mm: float | None
    are_ends: bool = False


@dataclass(frozen=True)
class PerformanceChapter:
    """Errors and their tables.

    stages           by slice, before and after the decision
    confusion        the same as matrices
    regions          by slice and class
    borders          rates, by kind of border
    border_errors    the signed error of every border found
    volume_rates     by volume: right sets of regions, abstentions, refusals
    doubts           by volume: what was in doubt
    volumes          a row each
    subgroups        by collection and recorded attribute
    small_subgroups  names of subgroups of fewer than five subjects
    statements       what is said of each region; None where nothing is said region by region
    header_rates     the header's Body Part Examined against the truth and against fovnet
    headers          the most frequent headers
    ablation         what each step is worth; None where it was not measured
    """

    stages: ReportTable
    confusion: ConfusionView
    regions: ReportTable
    borders: ReportTable
    border_errors: tuple[BorderDots, ...]
    volume_rates: ReportTable = field(metadata=json_key("handling"))
    doubts: ReportTable
    volumes: ReportTable
    subgroups: ReportTable
    small_subgroups: tuple[str, ...] = field(metadata=json_key("too_few"))
    statements: StatementsView | None = field(metadata=json_key("said"))
    header_rates: ReportTable
    headers: ReportTable
    ablation: AblationView | None


def performance_of(
    evaluation: Evaluation,
    ablation: Ablation | None,
    by_region: ByRegion | None = None,
    by_part: ByRegion | None = None,
) -> PerformanceChapter:
    """The chapter on performance; `by_region` is None where no bars were chosen for statements on
    regions, `by_part` where none were for those on parts."""
    small_subgroups = tuple(
        group.name for group in evaluation.subgroups if group.too_few and group.volumes
    )
    return PerformanceChapter(
        stages=stages_table(evaluation),
        confusion=confusion_view(evaluation),
        regions=regions_table(evaluation),
        borders=borders_table(evaluation),
        border_errors=border_dots(evaluation),
        volume_rates=volume_rates_table(evaluation),
        doubts=doubts_table(evaluation),
        volumes=volumes_table(evaluation),
        subgroups=subgroups_table(evaluation),
        small_subgroups=small_subgroups,
        statements=statements_view(evaluation, by_region, by_part),
        header_rates=header_rates_table(evaluation),
        headers=headers_table(evaluation),
        ablation=ablation_view(ablation, evaluation.vocabulary),
    )


def regions_table(evaluation: Evaluation) -> ReportTable:
    """Sensitivity before and after the decision, specificity, PPV, F1, AUC and presence, one row
    per class; undefined values are dashes."""
    all_volumes_group = evaluation.everything
    vocabulary = evaluation.vocabulary
    title_by_measure_and_stage = {
        ("sensitivity", "raw"): "sensitivity, networks alone",
        ("sensitivity", "decided"): "sensitivity",
        ("specificity", "decided"): "specificity",
        ("ppv", "decided"): "positive predictive value",
        ("stated_confidence", "decided"): "confidence stated there",
        ("f1", "decided"): "F1 of slices",
        ("auroc", "smoothed"): "area under the ROC curve, smoothed",
        ("presence_f1", "decided"): "F1 of presence in volumes",
    }
    measures_and_stages = {(measure.name, measure.stage) for measure in all_volumes_group.measures}
    columns = [column for column in title_by_measure_and_stage if column in measures_and_stages]
    rows: list[Row] = []
    for class_name in vocabulary.classes:
        cells = []
        for measure_name, stage in columns:
            measure = all_volumes_group.find(measure_name, stage, class_name)
            if measure_name == "auroc":
                cells.append(unitless_text(measure))
            else:
                cells.append(measure_text(measure))
        rows.append((class_name, *cells))
    header = ("region", *(title_by_measure_and_stage[column] for column in columns))
    return ReportTable(
        header, rows, list(map(vocabulary.colour, vocabulary.classes)), name="regions"
    )


def stages_table(evaluation: Evaluation) -> ReportTable:
    """Slice error and balanced accuracy at each stage, over all volumes and over the answered
    ones; of these, dashes if there are none."""
    rows: list[Row] = []
    for stage in STAGES:
        cells = []
        for group in (evaluation.everything, evaluation.answered):
            for measure_name in ("slice_error", "balanced_accuracy"):
                measure = None
                if group:
                    measure = group.find(measure_name, stage)
                cells.append(measure_text(measure))
        rows.append((TITLE_BY_STAGE[stage], *cells))
    header = (
        "stage",
        "slice error, all volumes",
        "balanced accuracy, all volumes",
        "slice error, answered",
        "balanced accuracy, answered",
    )
    return ReportTable(header, rows, name="stages")


def borders_table(evaluation: Evaluation) -> ReportTable:
    """Errors of borders in mm, missed and invented ones, coverage of their intervals: all together,
    each kind, then ends; last those between parts of regions, together and each kind."""
    all_volumes_group = evaluation.everything
    border_names = [
        measure.region
        for measure in all_volumes_group.measures
        if measure.name == "border_abs_median_mm"
    ]
    measured_names = {measure.name for measure in all_volumes_group.measures}
    title_by_measure_name = {
        measure_name: title
        for measure_name, title in TITLE_BY_BORDER_MEASURE.items()
        if measure_name in measured_names
    }
    rows: list[Row] = []
    for border_name in border_names:
        cells = [
            measure_text(all_volumes_group.find(measure_name, "decided", border_name))
            for measure_name in title_by_measure_name
        ]
        rows.append((_border_title(border_name), *cells))
    if evaluation.parts is not None:
        for border_name in (PART_BORDERS, *evaluation.parts.border_kinds):
            cells = [
                measure_text(evaluation.parts.find(measure_name, border_name))
                for measure_name in title_by_measure_name
            ]
            rows.append((_border_title(border_name), *cells))
    return ReportTable(("border", *title_by_measure_name.values()), rows, name="borders")


def _border_title(border_name: str) -> str:
    """ "pelvis | abdomen", or what the name of a summary over several kinds of borders stands
    for."""
    title_by_summary_name = {
        REGION_BORDERS: "all between two regions",
        BODY_ENDS: "ends: region and none",
        PART_BORDERS: "all between two parts",
    }
    return title_by_summary_name.get(border_name, border_name.replace("|", " | "))


def border_dots(evaluation: Evaluation) -> tuple[BorderDots, ...]:
    """The signed errors in mm of every border found, each kind from the feet up, then ends; a
    missed border has no error."""
    border_names = [
        measure.region
        for measure in evaluation.everything.measures
        if measure.name == "border_signed_median_mm"
    ]
    dots_by_border = []
    for border_name in border_names[1:]:  # the first is all kinds together
        are_ends = border_name == BODY_ENDS
        errors_mm = sorted(
            border.error_mm
            for border in evaluation.borders
            if border.error_mm is not None
            and border.is_end == are_ends
            and (are_ends or border.kind == border_name)
        )
        median_mm = None
        if errors_mm:
            median_mm = float(np.median(errors_mm))
        dots_by_border.append(
            BorderDots(_border_title(border_name), tuple(errors_mm), median_mm, are_ends)
        )
    return tuple(dots_by_border)


def volume_rates_table(evaluation: Evaluation) -> ReportTable:
    """Results by volume: right sets of regions, gross confusions, abstentions, refusals."""
    all_volumes_group = evaluation.everything
    exact_set_of_answered = None
    if evaluation.answered:
        exact_set_of_answered = evaluation.answered.find("exact_set", "decided")
    handling_rate_by_name = {measure.name: measure for measure in evaluation.handling}
    measure_by_title = {
        "exactly the right regions": all_volumes_group.find("exact_set", "decided"),
        "the same, volumes without a doubt only": exact_set_of_answered,
        "F1 of presence, weighted by region": all_volumes_group.find(
            "presence_f1_weighted", "decided"
        ),
        SPAN_F1_TITLE: all_volumes_group.find("span_f1", "decided"),
        "a slice given a region not adjacent to the true one": all_volumes_group.find(
            "far_confusion_volumes", "decided"
        ),
        ANY_LABEL_TITLE: all_volumes_group.find("slice_error_any_label", "decided"),
        "with a doubt about the whole volume": handling_rate_by_name["abstained"],
        "refused": handling_rate_by_name["refused"],
    }
    rows = [
        (title, measure_text(measure))
        for title, measure in measure_by_title.items()
        if measure or title not in (SPAN_F1_TITLE, ANY_LABEL_TITLE)
    ]
    return ReportTable(
        ("counted in volumes, unless stated otherwise", "value"), rows, name="handling"
    )


def volumes_table(evaluation: Evaluation) -> ReportTable:
    """One row per volume, by descending slice error, refused ones last."""
    volumes_by_error = sorted(
        evaluation.volumes,
        key=lambda volume: (
            volume.slice_error is None,
            -(volume.slice_error or 0.0),
            volume.volume_id,
        ),
    )
    header = (
        "volume",
        "collection",
        "status",
        "shows",
        "predicted",
        "regions",
        "wrong slices",
        "confidence",
    )
    rows = [_volume_cells(volume, evaluation.vocabulary) for volume in volumes_by_error]
    return ReportTable(header, rows, name="volumes")


def _volume_cells(volume: EvaluatedVolume, vocabulary: Vocabulary) -> Row:
    """The cells of one volume; dashes for a refused one."""
    leading_cells = (
        volume.volume_id,
        volume.collection,
        volume.status,
    )
    if volume.status == "refused":
        return (*leading_cells, *[DASH] * 5)
    verdict = "wrong"
    if volume.right:
        verdict = "right"
    wrong_slices = f"{volume.wrong}/{volume.slices}"
    return (
        *leading_cells,
        regions_text(volume.truth, vocabulary),
        regions_text(volume.predicted, vocabulary),
        verdict,
        MeasuredText(percent(volume.slice_error), "", wrong_slices),
        decimal_text(volume.confidence),
    )


def subgroups_table(evaluation: Evaluation) -> ReportTable:
    """Errors of slices, sets and borders, one row per subgroup; those of fewer than five subjects
    are marked "too few"."""
    measure_key_by_title = {
        "slice error, networks alone": ("slice_error", "raw"),
        "slice error": ("slice_error", "decided"),
        "right set of regions": ("exact_set", "decided"),
        "border error, median": ("border_abs_median_mm", "decided", REGION_BORDERS),
        "borders within 10 mm": ("border_within_10_mm", "decided", REGION_BORDERS),
    }
    rows: list[Row] = []
    for subgroup in evaluation.subgroups:
        measured_cells = [
            measure_text(subgroup.find(*measure_key))
            for measure_key in measure_key_by_title.values()
        ]
        attribute = with_spaces(subgroup.attribute)
        rows.append((f"{attribute}: {subgroup.value}", _size_cell(subgroup), *measured_cells))
    return ReportTable(("subgroup", "rests on", *measure_key_by_title), rows, name="subgroups")


def _size_cell(subgroup: Group) -> MeasuredText:
    """The numbers of subjects and volumes of a subgroup, and whether its subjects are too few."""
    volumes_phrase = several(subgroup.volumes, "volume")
    if subgroup.refused:
        volumes_phrase += f", {subgroup.refused} refused"
    remark = ""
    if subgroup.too_few:
        remark = "too few"
    return MeasuredText(several(subgroup.subjects, "subject"), volumes_phrase, remark)


def doubts_table(evaluation: Evaluation) -> ReportTable:
    """Volumes by doubt, and how many of them and of their slices were wrong."""
    rows = []
    for doubt in evaluation.doubts:
        doubt_words = doubt_in_words(doubt.code)
        if doubt.code == "none":
            doubt_words = "named no region (not counted as a doubt)"
        rows.append(
            (
                doubt_words,
                _share_cell(doubt.wrong, doubt.volumes),
                _share_cell(doubt.wrong_slices, doubt.slices),
            )
        )
    return ReportTable(("doubt", "volumes with wrong regions", "wrong slices"), rows, name="doubts")


def _share_cell(count: int, total_count: int) -> MeasuredText:
    """A count of a total, in percent; a dash where the total is 0."""
    share = None
    if total_count:
        share = count / total_count
    return MeasuredText(percent(share), "", f"{count:,}/{total_count:,}")


def header_rates_table(evaluation: Evaluation) -> ReportTable:
    """How often the header's Body Part Examined agrees with the truth and with fovnet, one row per
    rate."""
    rate_by_name = {rate.name: rate for rate in evaluation.header_rates}
    rows = [
        (title, measure_text(rate_by_name[rate_name]))
        for rate_name, title in TITLE_BY_HEADER_RATE.items()
        if rate_name in rate_by_name
    ]
    return ReportTable(("counted in volumes", "value"), rows, name="header-rates")


def headers_table(evaluation: Evaluation) -> ReportTable:
    """Header, true and predicted regions, the most frequent combinations first."""
    rows: list[Row] = []
    for header in evaluation.headers[:MOST_HEADERS]:
        regions_texts = (
            regions_text(region_names, evaluation.vocabulary)
            for region_names in (header.header, header.truth, header.predicted)
        )
        rows.append((header.text, *regions_texts, f"{header.volumes:,}"))
    return ReportTable(("header", "means", "shows", "predicted", "volumes"), rows, name="headers")
