"""The chapter on confidence: whether it is calibrated, and how many errors are avoided by answering
only the surest volumes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.calibration import BIN_COUNT
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.records import json_key
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.run_record import Abstention
from fovnet.report.content.wording import measure_text, percent, unitless_text
from fovnet.words import several

PRESENCE = "presence"
"""The stage of the probabilities that a region is shown."""

WORDS_BY_STAGE = {
    "raw": "networks alone",
    "calibrated": "after calibration",
    "smoothed": "smoothed",
    "decided": "decided",
    PRESENCE: "that a region is shown",
}
"""Names of the stages in the calibration figures."""

TABLE_COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25)
"""Shares of the volumes, most confident first, for which the table gives risks with intervals."""


@dataclass(frozen=True)
class ReliabilityPoint:
    """One bin of confidence with at least one slice, or one statement.

    bin_middle   middle of the bin, 0 to 1
    confidence   mean of its slices
    right_share  share of its slices that are right
    """

    stage: str
    bin_middle: float = field(metadata=json_key("middle"))
    confidence: float
    right_share: float = field(metadata=json_key("share"))
    slice_count: int = field(metadata=json_key("slices"))


@dataclass(frozen=True)
class RiskPoint:
    """A coverage, most confident volumes first, with the shares of wrong slices and of volumes with
    wrong regions."""

    coverage: float
    slice_error: float
    wrong_set_share: float = field(metadata=json_key("wrong_sets"))


@dataclass(frozen=True)
class RiskView:
    """Risk against coverage.

    answered_share  share of volumes about which there is no doubt, None without volumes
    """

    points: tuple[RiskPoint, ...]
    answered_share: float | None = field(metadata=json_key("answered"))
    table: ReportTable
    sentence: str


@dataclass(frozen=True)
class ConfidenceChapter:
    """Points of the reliability diagram, measures of calibration, risk against coverage.

    promise  the error that the confidence threshold was chosen for, "" where none was
    """

    reliability: tuple[ReliabilityPoint, ...]
    calibration: ReportTable
    risk: RiskView
    promise: str


def confidence_of(evaluation: Evaluation, abstention: Abstention | None) -> ConfidenceChapter:
    """The chapter on confidence; `abstention` is None where no threshold was chosen."""
    promise = ""
    if abstention:
        promise = promise_sentences(abstention, evaluation.answered_risk)
    return ConfidenceChapter(
        reliability=reliability_points(evaluation.reliability),
        calibration=calibration_table(evaluation),
        risk=risk_view(evaluation),
        promise=promise,
    )


def reliability_points(
    bin_totals_by_stage: Mapping[str, NDArray[np.float64]],
) -> tuple[ReliabilityPoint, ...]:
    """Share of right slices against confidence, a point for each bin that has slices.

    bin_totals_by_stage  arrays (b, 3): of each of b bins of confidence the number of slices, the
                         sum of their confidences, and the number of right ones
    """
    points = []
    for stage, bin_totals in bin_totals_by_stage.items():
        for bin_index, (slice_count, summed_confidence, right_count) in enumerate(bin_totals):
            if slice_count:
                points.append(
                    ReliabilityPoint(
                        stage,
                        bin_middle=(bin_index + 0.5) / len(bin_totals),
                        confidence=float(summed_confidence / slice_count),
                        right_share=float(right_count / slice_count),
                        slice_count=int(slice_count),
                    )
                )
    return tuple(points)


def calibration_table(evaluation: Evaluation) -> ReportTable:
    """The measures of calibration, at every stage that has them."""
    title_by_measure_name = {
        "expected_calibration_error": f"expected calibration error ({BIN_COUNT} bins)",
        "brier": "Brier score (0 perfect, 2 worst)",
        "log_loss_nats": "negative log-likelihood, nats",
        "set_brier": "Brier score of the whole set of regions (0 perfect, 1 worst)",
    }
    calibration_measures = [
        measure
        for measure_name in title_by_measure_name
        for measure in evaluation.everything.measures
        if measure.name == measure_name and not measure.region
    ]
    rows = [
        (
            f"{title_by_measure_name[measure.name]}, "
            f"{WORDS_BY_STAGE.get(measure.stage, measure.stage)}",
            unitless_text(measure),
        )
        for measure in calibration_measures
    ]
    return ReportTable(("measure", "value"), rows, name="calibration")


def risk_view(evaluation: Evaluation) -> RiskView:
    """The curve over all volumes with a confidence, doubted ones included, and a table at
    TABLE_COVERAGES with intervals over subjects."""
    volumes_with_confidence = [
        volume for volume in evaluation.volumes if volume.slices and volume.confidence is not None
    ]
    volumes_by_confidence = sorted(
        volumes_with_confidence,
        key=lambda volume: (
            -(volume.confidence or 0.0),
            volume.volume_id,
        ),
    )
    if not volumes_by_confidence:
        return RiskView((), None, ReportTable((), (), name="risk"), "")
    risk_points = _risk_points(volumes_by_confidence)
    undoubted_count = sum(volume.is_answered for volume in volumes_by_confidence)
    return RiskView(
        risk_points,
        undoubted_count / len(volumes_by_confidence),
        _risk_table(volumes_by_confidence, evaluation),
        _mean_error_sentence(risk_points, evaluation),
    )


def _risk_points(volumes_by_confidence: Sequence[EvaluatedVolume]) -> tuple[RiskPoint, ...]:
    """The errors of the surest volume, of the two surest, and so on to all of them."""
    slice_counts = np.cumsum([volume.slices for volume in volumes_by_confidence])
    wrong_slice_counts = np.cumsum([volume.wrong for volume in volumes_by_confidence])
    wrong_set_counts = np.cumsum([not volume.right for volume in volumes_by_confidence])
    return tuple(
        RiskPoint(
            coverage=float((last_index + 1) / len(volumes_by_confidence)),
            slice_error=float(wrong_slice_counts[last_index] / slice_counts[last_index]),
            wrong_set_share=float(wrong_set_counts[last_index] / (last_index + 1)),
        )
        for last_index in range(len(volumes_by_confidence))
    )


def _mean_error_sentence(risk_points: Sequence[RiskPoint], evaluation: Evaluation) -> str:
    """The mean slice error over all coverages, and that of answering everything."""
    area_under_curve = evaluation.everything.find("risk_coverage_slices", "decided")
    if area_under_curve is None:
        mean_error_text = percent(float(np.mean([point.slice_error for point in risk_points])))
    else:
        area_text = measure_text(area_under_curve)
        mean_error_text = f"{area_text.value} ({area_text.interval})"
    return (
        f"Averaged over all coverages, {mean_error_text} of the slices answered are wrong (the "
        "area under the solid curve); answering everything, "
        f"{percent(risk_points[-1].slice_error)}."
    )


def _risk_table(
    volumes_by_confidence: Sequence[EvaluatedVolume], evaluation: Evaluation
) -> ReportTable:
    """One row for each of TABLE_COVERAGES: the errors of the surest volumes, from volumes in
    descending order of confidence."""
    volume_count = len(volumes_by_confidence)
    rows = []
    for coverage in TABLE_COVERAGES:
        answered_count = max(math.ceil(coverage * volume_count), 1)
        answered_volumes = volumes_by_confidence[:answered_count]
        set_error, slice_error = _set_and_slice_error(answered_volumes, evaluation)
        rows.append(
            (
                f"surest {percent(coverage)}",
                f"{answered_count:,} of {volume_count:,}",
                f"{answered_volumes[-1].confidence:.2f}",
                measure_text(slice_error),
                measure_text(set_error),
            )
        )
    header = (
        "answering the",
        "volumes",
        "confidence at least",
        "slices wrong",
        "volumes with wrong regions",
    )
    return ReportTable(header, rows, name="risk")


def _set_and_slice_error(
    answered_volumes: Sequence[EvaluatedVolume], evaluation: Evaluation
) -> tuple[Measure, Measure]:
    """(share of volumes with a wrong set of regions, share of wrong slices), with intervals over
    subjects."""
    resampling = Resampling(
        [volume.subject_id for volume in answered_volumes],
        repeats=evaluation.bootstrap,
        seed=evaluation.seed,
    )
    volume_counts = np.ones((len(answered_volumes), 1), dtype=np.int64)
    is_wrong_set = np.array([[not volume.right] for volume in answered_volumes], dtype=np.int64)
    wrong_slice_counts = np.array([[volume.wrong] for volume in answered_volumes])
    slice_counts = np.array([[volume.slices] for volume in answered_volumes])
    (set_error,) = resampling.measure_rates(
        "wrong_set", is_wrong_set, volume_counts, stage="decided"
    )
    (slice_error,) = resampling.measure_rates(
        "slice_error", wrong_slice_counts, slice_counts, stage="decided"
    )
    return set_error, slice_error


def promise_sentences(abstention: Abstention, test_error: Measure | None = None) -> str:
    """The error that the threshold was chosen for, whether it holds for new people, and the error
    on the test split (`test_error`)."""
    stated_error = percent(abstention.stated_error)
    subjects_phrase = several(abstention.subjects, "subject")
    promise = (
        f"Extents are sure from a confidence of {abstention.min_confidence:.2f}, chosen on "
        f"{subjects_phrase} of the validation split for an error of at most {stated_error} of the "
        "slices answered, on average over people. "
    )
    if abstention.promised:
        promise += "A test over subjects shows that this holds for new people like them."
    else:
        promise += (
            "This could not be shown for new people: there are too few subjects, or too many "
            "errors."
        )
    if test_error is None or test_error.value is None:
        return promise
    test_error_text = measure_text(test_error)
    return (
        f"{promise} On the test split it is {test_error_text.value} ({test_error_text.interval}, "
        f"{several(test_error.subjects, 'subject')})."
    )
