"""The chapter on confidence: whether it is calibrated, and how many errors are avoided by answering only the
surest volumes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.calibration import BINS
from fovnet.evaluate.evaluation import EvaluatedVolume, Evaluation
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.report.content.cells import Table
from fovnet.report.content.run_record import Abstention
from fovnet.report.content.wording import percent, plain, shown
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
    """A coverage, most confident volumes first, with the shares of wrong slices and of volumes with wrong
    regions."""

    coverage: float
    slice_error: float
    wrong_sets: float


@dataclass(frozen=True)
class RiskView:
    """Risk against coverage; `answered` is the share of volumes about which there is no doubt, None without
    volumes."""

    points: tuple[RiskPoint, ...]
    answered: float | None
    table: Table
    sentence: str


@dataclass(frozen=True)
class Confidence:
    """Points of the reliability diagram, measures of calibration, risk against coverage; `promise` is the
    error that the confidence threshold was chosen for, "" where none was."""

    reliability: tuple[ReliabilityPoint, ...]
    calibration: Table
    risk: RiskView
    promise: str


def confidence_of(evaluation: Evaluation, abstention: Abstention | None) -> Confidence:
    """The chapter; `abstention` is None where no threshold was chosen."""
    return Confidence(
        reliability=reliability_points(evaluation.reliability),
        calibration=calibration_table(evaluation),
        risk=risk_view(evaluation),
        promise=promise_words(abstention, evaluation.answered_risk) if abstention else "",
    )


def reliability_points(
    reliability: Mapping[str, NDArray[np.float64]],
) -> tuple[ReliabilityPoint, ...]:
    """Share of right slices against confidence by bin, from the totals (b, 3) of each stage; a bin without
    slices has no point."""
    points = []
    for stage, totals in reliability.items():
        for index, (slices, confidence, right) in enumerate(totals):
            if slices:
                middle = (index + 0.5) / len(totals)
                mean, share = float(confidence / slices), float(right / slices)
                points.append(ReliabilityPoint(stage, middle, mean, share, int(slices)))
    return tuple(points)


def calibration_table(evaluation: Evaluation) -> Table:
    """The measures of calibration, at every stage that has them."""
    whole = evaluation.everything
    wanted = {
        "expected_calibration_error": f"expected calibration error ({BINS} bins)",
        "brier": "Brier score (0 perfect, 2 worst)",
        "log_loss_nats": "negative log-likelihood, nats",
        "set_brier": "Brier score of the whole set of regions (0 perfect, 1 worst)",
    }
    found = [
        one for name in wanted for one in whole.measures if one.name == name and not one.region
    ]
    rows = [
        (f"{wanted[one.name]}, {CALIBRATED.get(one.stage, one.stage)}", plain(one)) for one in found
    ]
    return Table(("measure", "value"), rows, name="calibration")


def risk_view(evaluation: Evaluation) -> RiskView:
    """The curve over all volumes with a confidence, doubted ones included, and a table at STEPS with
    intervals over subjects."""
    rows = [row for row in evaluation.volumes if row.slices and row.confidence is not None]
    ranked = sorted(rows, key=lambda row: (-(row.confidence or 0.0), row.volume_id))
    if not ranked:
        return RiskView((), None, Table((), (), name="risk"), "")
    slices, wrong = (
        np.cumsum([getattr(row, name) for row in ranked]) for name in ("slices", "wrong")
    )
    other_set = np.cumsum([not row.right for row in ranked])
    count = np.arange(1, len(ranked) + 1)
    points = tuple(
        RiskPoint(
            coverage=float(kept / len(ranked)),
            slice_error=float(wrong[kept - 1] / slices[kept - 1]),
            wrong_sets=float(other_set[kept - 1] / kept),
        )
        for kept in count.tolist()
    )
    area = evaluation.everything.find("risk_coverage_slices", "decided")
    mean = (
        percent(float(np.mean(wrong / slices)))
        if area is None
        else f"{shown(area).value} ({shown(area).interval})"
    )
    words = (
        f"Averaged over all coverages, {mean} of the slices answered are wrong (the area under the solid "
        f"curve); answering everything, {percent(float(wrong[-1] / slices[-1]))}."
    )
    answered = sum(row.is_answered for row in ranked)
    return RiskView(points, answered / len(ranked), _risk_table(ranked, evaluation), words)


def _risk_table(ranked: Sequence[EvaluatedVolume], evaluation: Evaluation) -> Table:
    rows = []
    for step in STEPS:
        kept = list(ranked[: max(math.ceil(step * len(ranked)), 1)])
        sets, wrong = _risks(kept, evaluation)
        least, count = f"{kept[-1].confidence:.2f}", f"{len(kept):,} of {len(ranked):,}"
        rows.append((f"surest {percent(step)}", count, least, shown(wrong), shown(sets)))
    header = (
        "answering the",
        "volumes",
        "confidence at least",
        "slices wrong",
        "volumes with wrong regions",
    )
    return Table(header, rows, name="risk")


def _risks(kept: Sequence[EvaluatedVolume], evaluation: Evaluation) -> tuple[Measure, Measure]:
    """Share of volumes whose set of regions is wrong, and of slices that are wrong, with intervals over
    subjects."""
    draws = Resampling(
        [row.subject_id for row in kept], repeats=evaluation.bootstrap, seed=evaluation.seed
    )
    one = np.ones((len(kept), 1), dtype=np.int64)
    other = np.array([[not row.right] for row in kept], dtype=np.int64)
    sets = draws.rates("wrong_set", other, one, stage="decided")
    wrong, slices = (
        np.array([[getattr(row, name)] for row in kept]) for name in ("wrong", "slices")
    )
    return sets[0], draws.rates("slice_error", wrong, slices, stage="decided")[0]


def promise_words(abstention: Abstention, risk: Measure | None = None) -> str:
    """The error that the threshold was chosen for, whether it holds for new people, and the error on the test
    split (`risk`)."""
    stated, subjects = percent(abstention.stated_error), several(abstention.subjects, "subject")
    words = (
        f"Extents are sure from a confidence of {abstention.min_confidence:.2f}, chosen on {subjects} of the "
        f"validation split for an error of at most {stated} of the slices answered, on average over people. "
    )
    if abstention.promised:
        words += "A test over subjects shows that this holds for new people like them."
    else:
        words += "This could not be shown for new people: there are too few subjects, or too many errors."
    if risk is None or risk.value is None:
        return words
    seen = shown(risk)
    return (
        f"{words} On the test split it is {seen.value} ({seen.interval}, "
        f"{several(risk.subjects, 'subject')})."
    )
