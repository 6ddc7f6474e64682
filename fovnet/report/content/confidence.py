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

CALIBRATED = {
    "raw": "networks alone",
    "calibrated": "after calibration",
    "smoothed": "smoothed",
    "decided": "decided",
    PRESENCE: "that a region is shown",
}
"""Names of the stages in the calibration figures."""

STEPS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25)
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
    points = []
    for stage, totals in reliability.items():
        for index, (slices, summed_confidence, right_slices) in enumerate(totals):
            if slices:
                points.append(
                    ReliabilityPoint(
                        stage,
                        middle=(index + 0.5) / len(totals),
                        confidence=float(summed_confidence / slices),
                        share=float(right_slices / slices),
                        slices=int(slices),
                    )
                )
    return tuple(points)


def calibration_table(evaluation: Evaluation) -> ReportTable:
    """The measures of calibration, at every stage that has them."""
    everything = evaluation.everything
    measure_names = {
        "expected_calibration_error": f"expected calibration error ({BINS} bins)",
        "brier": "Brier score (0 perfect, 2 worst)",
        "log_loss_nats": "negative log-likelihood, nats",
        "set_brier": "Brier score of the whole set of regions (0 perfect, 1 worst)",
    }
    measures = [
        measure
        for name in measure_names
        for measure in everything.measures
        if measure.name == name and not measure.region
    ]
    rows = [
        (
            f"{measure_names[measure.name]}, {CALIBRATED.get(measure.stage, measure.stage)}",
            unitless_text(measure),
        )
        for measure in measures
    ]
    return ReportTable(("measure", "value"), rows, name="calibration")


def risk_view(evaluation: Evaluation) -> RiskView:
    """The curve over all volumes with a confidence, doubted ones included, and a table at STEPS
    with intervals over subjects."""
    rows = [row for row in evaluation.volumes if row.slices and row.confidence is not None]
    ranked = sorted(rows, key=lambda row: (-(row.confidence or 0.0), row.volume_id))
    if not ranked:
        return RiskView((), None, ReportTable((), (), name="risk"), "")
    slices_answered = np.cumsum([row.slices for row in ranked])
    slices_wrong = np.cumsum([row.wrong for row in ranked])
    wrong_sets = np.cumsum([not row.right for row in ranked])
    points = tuple(
        RiskPoint(
            coverage=float(answered_count / len(ranked)),
            slice_error=float(
                slices_wrong[answered_count - 1] / slices_answered[answered_count - 1]
            ),
            wrong_sets=float(wrong_sets[answered_count - 1] / answered_count),
        )
        for answered_count in range(1, len(ranked) + 1)
    )
    area_under_curve = evaluation.everything.find("risk_coverage_slices", "decided")
    if area_under_curve is None:
        mean_error = percent(float(np.mean(slices_wrong / slices_answered)))
    else:
        area_text = measure_text(area_under_curve)
        mean_error = f"{area_text.value} ({area_text.interval})"
    sentence = (
        f"Averaged over all coverages, {mean_error} of the slices answered are wrong (the area "
        "under the solid curve); answering everything, "
        f"{percent(float(slices_wrong[-1] / slices_answered[-1]))}."
    )
    answered = sum(row.is_answered for row in ranked)
    return RiskView(points, answered / len(ranked), _risk_table(ranked, evaluation), sentence)


def _risk_table(ranked: Sequence[EvaluatedVolume], evaluation: Evaluation) -> ReportTable:
    rows = []
    for coverage in STEPS:
        answered = list(ranked[: max(math.ceil(coverage * len(ranked)), 1)])
        set_error, slice_error = _wrong_shares(answered, evaluation)
        rows.append(
            (
                f"surest {percent(coverage)}",
                f"{len(answered):,} of {len(ranked):,}",
                f"{answered[-1].confidence:.2f}",
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


def _wrong_shares(
    answered: Sequence[EvaluatedVolume], evaluation: Evaluation
) -> tuple[Measure, Measure]:
    """Share of volumes whose set of regions is wrong, and of slices that are wrong, with intervals
    over subjects."""
    draws = Resampling(
        [row.subject_id for row in answered], repeats=evaluation.bootstrap, seed=evaluation.seed
    )
    ones = np.ones((len(answered), 1), dtype=np.int64)
    wrong_set = np.array([[not row.right] for row in answered], dtype=np.int64)
    wrong_slices = np.array([[row.wrong] for row in answered])
    slices = np.array([[row.slices] for row in answered])
    (set_error,) = draws.rates("wrong_set", wrong_set, ones, stage="decided")
    (slice_error,) = draws.rates("slice_error", wrong_slices, slices, stage="decided")
    return set_error, slice_error


def promise_words(abstention: Abstention, risk: Measure | None = None) -> str:
    """The error that the threshold was chosen for, whether it holds for new people, and the error
    on the test split (`risk`)."""
    stated_error = percent(abstention.stated_error)
    subjects = several(abstention.subjects, "subject")
    text = (
        f"Extents are sure from a confidence of {abstention.min_confidence:.2f}, chosen on "
        f"{subjects} of the validation split for an error of at most {stated_error} of the slices "
        "answered, on average over people. "
    )
    if abstention.promised:
        text += "A test over subjects shows that this holds for new people like them."
    else:
        text += (
            "This could not be shown for new people: there are too few subjects, or too many "
            "errors."
        )
    if risk is None or risk.value is None:
        return text
    measured = measure_text(risk)
    return (
        f"{text} On the test split it is {measured.value} ({measured.interval}, "
        f"{several(risk.subjects, 'subject')})."
    )
