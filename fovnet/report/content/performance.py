"""The measures of an evaluation as tables and views of the page."""

from __future__ import annotations

import numpy as np

from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.evaluate.calibration import BINS
from fovnet.evaluate.evaluation import Evaluation, VolumeRow
from fovnet.evaluate.groups import ALL_BORDERS, ENDS
from fovnet.evaluate.slices import STAGES
from fovnet.regions import Vocabulary
from fovnet.report.content.page import BorderDots, ConfusionView, ReliabilityPoint, ReliabilityView, Shown, StageMatrix, Table
from fovnet.report.content.wording import percent, plain, run_of, shown
from fovnet.words import several

Row = tuple[str | Shown, ...]

STAGE_NAMES = {"raw": "networks alone", "smoothed": "after smoothing", "decided": "after the decision"}


def confusion_view(evaluation: Evaluation) -> ConfusionView:
    """The matrices of the three stages, each with its slice error."""
    stages = []
    for stage in STAGES:
        error = shown(evaluation.everything.find("slice_error", stage))
        words = f"{error.value} wrong, {error.count} ({error.interval})"
        stages.append(StageMatrix(STAGE_NAMES[stage], words, evaluation.confusions[stage]))
    return ConfusionView(evaluation.vocabulary.classes, tuple(stages))


def regions_table(evaluation: Evaluation) -> Table:
    """Sensitivity before and after the decision, specificity, PPV, F1, AUC and presence, one row per class; undefined values are dashes."""
    whole, vocabulary = evaluation.everything, evaluation.vocabulary
    wanted = {
        ("sensitivity", "raw"): "sensitivity, networks alone", ("sensitivity", "decided"): "sensitivity",
        ("specificity", "decided"): "specificity", ("ppv", "decided"): "positive predictive value",
        ("stated_confidence", "decided"): "confidence stated there", ("f1", "decided"): "F1 of slices",
        ("auroc", "smoothed"): "area under the ROC curve, smoothed", ("presence_f1", "decided"): "F1 of presence in volumes",
    }
    measured = {(one.name, one.stage) for one in whole.measures}
    kept = [key for key in wanted if key in measured]
    words = {"auroc": plain}
    rows: list[Row] = [
        (name, *(words.get(measure, shown)(whole.find(measure, stage, name)) for measure, stage in kept)) for name in vocabulary.classes
    ]
    return Table(("region", *(wanted[key] for key in kept)), tuple(rows), tuple(vocabulary.colour(name) for name in vocabulary.classes),
                 name="regions")


def stages_table(evaluation: Evaluation) -> Table:
    """Slice error and balanced accuracy at each stage, over all volumes and over the answered ones."""
    rows: list[Row] = []
    for stage in STAGES:
        row: list[str | Shown] = [STAGE_NAMES[stage]]
        for group in (evaluation.everything, evaluation.answered):
            for name in ("slice_error", "balanced_accuracy"):
                row.append(shown(group.find(name, stage) if group else None))
        rows.append(tuple(row))
    over = ("slice error, all volumes", "balanced accuracy, all volumes", "slice error, answered", "balanced accuracy, answered")
    return Table(("stage", *over), tuple(rows), name="stages")


def borders_table(evaluation: Evaluation) -> Table:
    """Errors of borders in mm, missed and invented ones, coverage of their intervals: all together, each kind, then ends."""
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
        "border_interval_holds": "90 % intervals that hold the true height",
        "border_interval_median_mm": "width of these intervals, median",
    }
    measured = {one.name for one in whole.measures}
    wanted = {name: words for name, words in wanted.items() if name in measured}
    rows: list[Row] = [(_border_name(name), *(shown(whole.find(measure, "decided", name)) for measure in wanted)) for name in names]
    return Table(("border", *wanted.values()), tuple(rows), name="borders")


def _border_name(name: str) -> str:
    return {ALL_BORDERS: "all between two regions", ENDS: "ends: region and none"}.get(name, name.replace("|", " | "))


def border_dots(evaluation: Evaluation) -> tuple[BorderDots, ...]:
    """The signed errors in mm of every border found, each kind from the feet up, then ends; a missed border has no error."""
    names = [one.region for one in evaluation.everything.measures if one.name == "border_signed_median_mm"]
    rows = []
    for name in names[1:]:                               # the first is all kinds together
        mine = [border for border in evaluation.borders if (ENDS if border.is_end else border.kind) == name]
        errors = tuple(sorted(border.error_mm for border in mine if border.error_mm is not None))
        rows.append(BorderDots(_border_name(name), errors, float(np.median(errors)) if errors else None, name == ENDS))
    return tuple(rows)


def handling_table(evaluation: Evaluation) -> Table:
    """Results by volume: right sets of regions, gross confusions, abstentions, refusals."""
    whole, answered = evaluation.everything, evaluation.answered
    handled = {measure.name: shown(measure) for measure in evaluation.handling}
    spans, beside = whole.find("span_f1", "decided"), whole.find("slice_error_any_label", "decided")
    return Table(
        ("counted in volumes, unless it says slices", "value"),
        (
            ("exactly the right regions", shown(whole.find("exact_set", "decided"))),
            ("the same, answered volumes only", shown(answered.find("exact_set", "decided") if answered else None)),
            ("F1 of presence, weighted by region", shown(whole.find("presence_f1_weighted", "decided"))),
            *([("F1 of spans: the region found, in about the right place", shown(spans))] if spans else []),
            ("some slice called a region that does not touch the true one", shown(whole.find("far_confusion_volumes", "decided"))),
            *([("slices with any false label, beside a spine too", shown(beside))] if beside else []),
            ("abstained (“cannot say”)", handled["abstained"]),
            ("refused", handled["refused"]),
        ),
        name="handling",
    )


def volumes_table(evaluation: Evaluation) -> Table:
    """One row per volume, by descending slice error, refused ones last."""
    ordered = sorted(evaluation.volumes, key=lambda row: (row.slice_error is None, -(row.slice_error or 0.0), row.volume_id))
    return Table(
        ("volume", "collection", "status", "shows", "predicted", "regions", "wrong slices", "confidence"),
        tuple(_volume_cells(row, evaluation.vocabulary) for row in ordered),
        name="volumes",
    )


def _volume_cells(row: VolumeRow, vocabulary: Vocabulary) -> Row:
    if row.status == "refused":
        return (row.volume_id, row.collection, row.status, "–", "–", "–", "–", "–")
    share = Shown(percent(row.slice_error), "", f"{row.wrong}/{row.slices}")
    sure = "–" if row.confidence is None else f"{row.confidence:.2f}"
    truth, predicted = run_of(row.truth, vocabulary), run_of(row.predicted, vocabulary)
    return (row.volume_id, row.collection, row.status, truth, predicted, "right" if row.right else "wrong", share, sure)


def subgroups_table(evaluation: Evaluation) -> Table:
    """Errors of slices, sets and borders, one row per subgroup; those of fewer than five subjects are marked "too few"."""
    wanted = [("slice_error", "raw", ""), ("slice_error", "decided", ""), ("exact_set", "decided", "")]
    wanted += [("border_abs_median_mm", "decided", ALL_BORDERS), ("border_within_10_mm", "decided", ALL_BORDERS)]
    rows: list[Row] = []
    for group in evaluation.subgroups:
        volumes = several(group.volumes, "volume") + (f", {group.refused} refused" if group.refused else "")
        counts = Shown(several(group.subjects, "subject"), volumes, "too few" if group.too_few else "")
        attribute = group.attribute.replace("_", " ")
        rows.append((f"{attribute}: {group.value}", counts, *(shown(group.find(*measure)) for measure in wanted)))
    header = ("subgroup", "rests on", "slice error, networks alone", "slice error", "right set of regions", "border error, median")
    return Table((*header, "borders within 10 mm"), tuple(rows), name="subgroups")


def reliability_view(evaluation: Evaluation) -> ReliabilityView:
    """Share of right slices against confidence, by bin, before and after calibration; bins without slices have no point."""
    points = []
    for stage, totals in evaluation.reliability.items():
        for index, (slices, confidence, right) in enumerate(totals):
            if slices:
                middle = (index + 0.5) / len(totals)
                points.append(ReliabilityPoint(stage, middle, float(confidence / slices), float(right / slices), int(slices)))
    whole = evaluation.everything
    wanted = {
        "expected_calibration_error": f"expected calibration error ({BINS} bins)", "brier": "Brier score (0 perfect, 2 worst)",
        "log_loss_nats": "negative log-likelihood, nats", "set_brier": "Brier score of the whole set of regions (0 perfect, 1 worst)",
    }
    found = [one for name in wanted for one in whole.measures if one.name == name and not one.region]
    rows = tuple((f"{wanted[one.name]}, {CALIBRATED.get(one.stage, one.stage)}", plain(one)) for one in found)
    return ReliabilityView(tuple(points), Table(("measure", "value"), rows, name="calibration"))


CALIBRATED = {"raw": "networks alone", "calibrated": "after calibration", "smoothed": "smoothed", "decided": "decided"}
"""Names of the stages in the calibration figures."""
