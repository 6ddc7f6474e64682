"""The chapter on confidence: whether it is calibrated, and how many errors are avoided by answering
only the surest volumes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.calibration import BINS
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.report.content.cells import ReportTable
from fovnet.report.content.run_record import Abstention
from fovnet.report.content.wording import measure_text, percent, unitless_text
from fovnet.words import several

PRESENCE = "presence"
"""The stage of the probabilities that a region is shown."""

STAGE_IN_WORDS = {
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
    """One bin of confidence with at least one slice, or one statement."""

    stage: str
    middle: float
    confidence: float
    share: float
    slices: int


@dataclass(frozen=True)
class RiskPoint:
    """A coverage, most confident volumes first, with the shares of wrong slices and of volumes with
    wrong regions."""

    coverage: float
    slice_error: float
    wrong_sets: float


@dataclass(frozen=True)
class RiskView:
    """Risk against coverage.

    answered  share of volumes about which there is no doubt, None without volumes
    """

    points: tuple[RiskPoint, ...]
    answered: float | None
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
    """The chapter; `abstention` is None where no threshold was chosen."""
    return ConfidenceChapter(
        reliability=reliability_points(evaluation.reliability),
        calibration=calibration_table(evaluation),
        risk=risk_view(evaluation),
        promise=promise_words(abstention, evaluation.answered_risk) if abstention else "",
    )


def reliability_points(
    reliability: Mapping[str, NDArray[np.float64]],
) -> tuple[ReliabilityPoint, ...]:
    """Share of right slices against confidence by bin, from the totals (b, 3) of each stage; a bin
    without slices has no point."""
    reliability_points_of_stages = []
    for stage, bin_totals in reliability.items():
        for bin_index, (slice_count, summed_confidence, right_slices) in enumerate(bin_totals):
            if slice_count:
                reliability_points_of_stages.append(
                    ReliabilityPoint(
                        stage,
                        middle=(bin_index + 0.5) / len(bin_totals),
                        confidence=float(summed_confidence / slice_count),
                        share=float(right_slices / slice_count),
                        slices=int(slice_count),
                    )
                )
    return tuple(reliability_points_of_stages)


def calibration_table(evaluation: Evaluation) -> ReportTable:
    """The measures of calibration, at every stage that has them."""
    all_volumes_group = evaluation.everything
    words_by_measure_name = {
        "expected_calibration_error": f"expected calibration error ({BINS} bins)",
        "brier": "Brier score (0 perfect, 2 worst)",
        "log_loss_nats": "negative log-likelihood, nats",
        "set_brier": "Brier score of the whole set of regions (0 perfect, 1 worst)",
    }
    calibration_measures = [
        measure
        for measure_name in words_by_measure_name
        for measure in all_volumes_group.measures
        if measure.name == measure_name and not measure.region
    ]
    rows = [
        (
            f"{words_by_measure_name[measure.name]}, {STAGE_IN_WORDS.get(measure.stage, measure.stage)}",
            unitless_text(measure),
        )
        for measure in calibration_measures
    ]
    return ReportTable(("measure", "value"), rows, name="calibration")


def risk_view(evaluation: Evaluation) -> RiskView:
    """The curve over all volumes with a confidence, doubted ones included, and a table at
    TABLE_COVERAGES with intervals over subjects."""
    volumes_with_confidence = [
        evaluated_volume
        for evaluated_volume in evaluation.volumes
        if evaluated_volume.slices and evaluated_volume.confidence is not None
    ]
    volumes_by_confidence = sorted(
        volumes_with_confidence,
        key=lambda evaluated_volume: (
            -(evaluated_volume.confidence or 0.0),
            evaluated_volume.volume_id,
        ),
    )
    if not volumes_by_confidence:
        return RiskView((), None, ReportTable((), (), name="risk"), "")
    answered_slice_counts = np.cumsum(
        [evaluated_volume.slices for evaluated_volume in volumes_by_confidence]
    )
    wrong_slice_counts = np.cumsum(
        [evaluated_volume.wrong for evaluated_volume in volumes_by_confidence]
    )
    wrong_set_counts = np.cumsum(
        [not evaluated_volume.right for evaluated_volume in volumes_by_confidence]
    )
    risk_points = tuple(
        RiskPoint(
            coverage=float(answered_count / len(volumes_by_confidence)),
            slice_error=float(
                wrong_slice_counts[answered_count - 1] / answered_slice_counts[answered_count - 1]
            ),
            wrong_sets=float(wrong_set_counts[answered_count - 1] / answered_count),
        )
        for answered_count in range(1, len(volumes_by_confidence) + 1)
    )
    area_under_curve = evaluation.everything.find("risk_coverage_slices", "decided")
    if area_under_curve is None:
        mean_error_text = percent(float(np.mean(wrong_slice_counts / answered_slice_counts)))
    else:
        area_text = measure_text(area_under_curve)
        mean_error_text = f"{area_text.value} ({area_text.interval})"
    sentence = (
        f"Averaged over all coverages, {mean_error_text} of the slices answered are wrong (the area "
        "under the solid curve); answering everything, "
        f"{percent(float(wrong_slice_counts[-1] / answered_slice_counts[-1]))}."
    )
    undoubted_count = sum(
        evaluated_volume.is_answered for evaluated_volume in volumes_by_confidence
    )
    return RiskView(
        risk_points,
        undoubted_count / len(volumes_by_confidence),
        _risk_table(volumes_by_confidence, evaluation),
        sentence,
    )


def _risk_table(
    volumes_by_confidence: Sequence[EvaluatedVolume], evaluation: Evaluation
) -> ReportTable:
    """One row for each of TABLE_COVERAGES: the errors of the surest volumes, from volumes in
    descending order of confidence."""
    rows = []
    for coverage in TABLE_COVERAGES:
        answered_volumes = list(
            volumes_by_confidence[: max(math.ceil(coverage * len(volumes_by_confidence)), 1)]
        )
        set_error, slice_error = _set_and_slice_error(answered_volumes, evaluation)
        rows.append(
            (
                f"surest {percent(coverage)}",
                f"{len(answered_volumes):,} of {len(volumes_by_confidence):,}",
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
        [evaluated_volume.subject_id for evaluated_volume in answered_volumes],
        repeats=evaluation.bootstrap,
        seed=evaluation.seed,
    )
    volume_counts = np.ones((len(answered_volumes), 1), dtype=np.int64)
    is_wrong_set = np.array(
        [[not evaluated_volume.right] for evaluated_volume in answered_volumes], dtype=np.int64
    )
    wrong_slice_counts = np.array(
        [[evaluated_volume.wrong] for evaluated_volume in answered_volumes]
    )
    slice_counts = np.array([[evaluated_volume.slices] for evaluated_volume in answered_volumes])
    (set_error,) = resampling.rates("wrong_set", is_wrong_set, volume_counts, stage="decided")
    (slice_error,) = resampling.rates(
        "slice_error", wrong_slice_counts, slice_counts, stage="decided"
    )
    return set_error, slice_error


def promise_words(abstention: Abstention, test_error: Measure | None = None) -> str:
    """The error that the threshold was chosen for, whether it holds for new people, and the error
    on the test split (`test_error`)."""
    stated_error = percent(abstention.stated_error)
    subjects_phrase = several(abstention.subjects, "subject")
    promise = (
        f"Extents are sure from a confidence of {abstention.min_confidence:.2f}, chosen on "
        f"{subjects_phrase} of the validation split for an error of at most {stated_error} of the slices "
        "answered, on average over people. "
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
    measured_error = measure_text(test_error)
    return (
        f"{promise} On the test split it is {measured_error.value} ({measured_error.interval}, "
        f"{several(test_error.subjects, 'subject')})."
    )
