"""The counts that one volume contributes to every measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.fitting.objective import has_side_region_alone
from fovnet.evaluate.borders import Border, borders_of
from fovnet.evaluate.calibration import brier_total, negative_log_likelihood, reliability_totals
from fovnet.evaluate.cases import STAGES, Case
from fovnet.evaluate.overlaps import SpanCounts, count_spans
from fovnet.evaluate.risk import RankedVolumes, rank_volumes
from fovnet.evaluate.slices import (
    are_far_apart,
    confusion_matrix,
    confusion_rows,
    has_false_label,
    predicted_classes,
)
from fovnet.evaluate.statements import StatementTally, count_statements
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """Counts of one volume that was not refused.

    confusions                  (3, k, k) confusion, one a stage (raw, smoothed, decided)
    negative_counts             (k,) slices that do not show the class
    true_regions, predicted_regions
                                (k - 1,) regions and side regions present in the truth and in the
                                decision, anywhere in the volume; if the true chain region of some
                                slices is not labelled, chain regions that are only predicted are
                                left out
    far_slice_count             slices by `are_far_apart` (predicted chain region no neighbour of
                                the true one)
    false_label_count           slices by `has_false_label`
    confidence_sums             (k,) confidences of the slices by the class decided, summed
    bins                        (b, 3) reliability totals by stage of calibration, and
                                `one_class_bins` of the slices with one true class only
    brier, log_loss             totals over the slices by stage; the decision has no probabilities
                                of all classes, and none of these
    confidence                  of the volume, as its answer states it and as abstention compares it
                                with its threshold: black margins are left out
    lit_slice_count             slices that are not all dark; all if darkness is not known
    wrong_lit_slice_count       those of them that are wrong after the decision
    statements                  those on its regions; None where there are none
    """

    case: Case
    confusions: NDArray[np.int64]
    negative_counts: NDArray[np.int64]
    true_regions: NDArray[np.bool_]
    predicted_regions: NDArray[np.bool_]
    far_slice_count: int
    false_label_count: int
    borders: tuple[Border, ...]
    confidence_sums: Floats
    bins: Mapping[str, Floats]
    one_class_bins: Mapping[str, Floats]
    brier: Mapping[str, float]
    log_loss: Mapping[str, float]
    spans: SpanCounts
    confidence: float
    lit_slice_count: int
    wrong_lit_slice_count: int
    statements: StatementTally | None = None

    @property
    def slice_count(self) -> int:
        """Slices of the volume."""
        return len(self.case.z_mm)

    @property
    def right_counts(self) -> NDArray[np.int64]:
        """(3,) slices that are right at each stage."""
        return np.asarray(np.trace(self.confusions, axis1=1, axis2=2))

    @property
    def wrong_raw_count(self) -> int:
        """Slices that are wrong before the decision, by the networks alone."""
        return self.slice_count - int(self.right_counts[0])

    @property
    def wrong_count(self) -> int:
        """Slices that are wrong after the decision."""
        return self.slice_count - int(self.right_counts[-1])

    @property
    def is_set_exact(self) -> bool:
        """Whether the predicted set of regions is the true one."""
        return bool((self.true_regions == self.predicted_regions).all())


def stack_counts(tallies: Sequence[Tally], name: str) -> NDArray[Any]:
    """(c, ...) an attribute of the counts of each volume."""
    return np.array([getattr(tally, name) for tally in tallies])


def rank_by_slices(tallies: Sequence[Tally]) -> RankedVolumes:
    """The volumes in order of confidence, each with its wrong slices out of all."""
    return rank_volumes(
        stack_counts(tallies, "confidence"),
        stack_counts(tallies, "wrong_count"),
        stack_counts(tallies, "slice_count"),
    )


def rank_by_sets(tallies: Sequence[Tally]) -> RankedVolumes:
    """The volumes in order of confidence, each wrong if its set of regions is."""
    return rank_volumes(
        stack_counts(tallies, "confidence"),
        ~stack_counts(tallies, "is_set_exact"),
        np.ones(len(tallies)),
    )


def count_case(case: Case, vocabulary: Vocabulary) -> Tally:
    """The counts of one volume; it must have slices."""
    class_count = len(vocabulary.classes)
    predicted_by_stage = {stage: predicted_classes(case, stage, vocabulary) for stage in STAGES}
    matrices = np.stack(
        [
            confusion_matrix(
                confusion_rows(case.truth, predicted_class, vocabulary),
                predicted_class,
                class_count,
            )
            for predicted_class in predicted_by_stage.values()
        ]
    )
    true_regions = np.asarray(case.truth[:, :-1].any(axis=0))
    probabilities_by_stage = _probabilities_by_stage(case)
    confidence_by_stage, is_right_by_stage = _confidence_and_rightness(
        case, probabilities_by_stage, predicted_by_stage["decided"]
    )
    has_one_class = case.truth.sum(axis=1) == 1
    is_lit = _are_lit(case)
    return Tally(
        case=case,
        confusions=matrices,
        negative_counts=np.asarray((~case.truth).sum(axis=0)),
        true_regions=true_regions,
        predicted_regions=_predicted_regions(case, true_regions, len(vocabulary.chain)),
        far_slice_count=int(are_far_apart(case.truth, case.decided_labels, vocabulary).sum()),
        false_label_count=int(has_false_label(case.truth, case.decided_labels, vocabulary).sum()),
        borders=borders_of(case, vocabulary),
        confidence_sums=np.asarray(
            np.bincount(
                predicted_by_stage["decided"], weights=case.slice_confidence, minlength=class_count
            ),
            dtype=np.float64,
        ),
        bins={
            stage: reliability_totals(confidence_by_stage[stage], is_right_by_stage[stage])
            for stage in confidence_by_stage
        },
        one_class_bins={
            stage: reliability_totals(
                confidence_by_stage[stage][has_one_class], is_right_by_stage[stage][has_one_class]
            )
            for stage in confidence_by_stage
        },
        brier={
            stage: brier_total(stage_probabilities, case.truth)
            for stage, stage_probabilities in probabilities_by_stage.items()
        },
        log_loss={
            stage: negative_log_likelihood(stage_probabilities, case.truth)
            for stage, stage_probabilities in probabilities_by_stage.items()
        },
        spans=count_spans(case, vocabulary),
        confidence=_volume_confidence(case),
        lit_slice_count=int(is_lit.sum()),
        wrong_lit_slice_count=int((is_lit & ~is_right_by_stage["decided"]).sum()),
        statements=count_statements(case, vocabulary),
    )


def _predicted_regions(
    case: Case, true_regions: NDArray[np.bool_], chain_region_count: int
) -> NDArray[np.bool_]:
    """(r,) the regions that are decided to be shown; where slices are labelled with a side region
    alone, further regions of the chain are not held against the decision."""
    predicted_regions = case.decided_labels[:, :-1].any(axis=0)
    if has_side_region_alone(case.truth, chain_region_count).any():
        is_side_region = np.arange(len(true_regions)) >= chain_region_count
        predicted_regions = predicted_regions & (true_regions | is_side_region)
    return np.asarray(predicted_regions)


def _probabilities_by_stage(case: Case) -> dict[str, Floats]:
    """(s, k) each, of the stages before the decision that the case has."""
    array_by_stage = {
        "raw": case.raw_probabilities,
        "calibrated": case.calibrated_probabilities,
        "smoothed": case.smoothed_probabilities,
    }
    return {stage: array for stage, array in array_by_stage.items() if array is not None}


def _are_lit(case: Case) -> NDArray[np.bool_]:
    """(s,) the slices that are not dark; all, where that is not known."""
    if case.is_dark is None:
        return np.ones(len(case.z_mm), dtype=bool)
    return ~case.is_dark


def _volume_confidence(case: Case) -> float:
    """That of the decision; the mean of its slices', where an earlier version wrote none."""
    if case.volume_confidence is None:
        return float(case.slice_confidence.mean())
    return case.volume_confidence


def _confidence_and_rightness(
    case: Case, probabilities_by_stage: Mapping[str, Floats], decided_class: NDArray[np.int64]
) -> tuple[dict[str, Floats], dict[str, NDArray[np.bool_]]]:
    """By stage, (s,) the confidence of each slice's predicted class, and whether it is right.

    probabilities_by_stage  (s, k) each, of the stages before the decision
    decided_class           (s,) index of the class decided
    """
    slice_indices = np.arange(len(case.z_mm))
    confidence_by_stage = {}
    is_right_by_stage = {}
    for stage, probabilities in probabilities_by_stage.items():
        confidence_by_stage[stage] = probabilities.max(axis=1)
        is_right_by_stage[stage] = case.truth[slice_indices, probabilities.argmax(axis=1)]
    confidence_by_stage["decided"] = case.slice_confidence
    is_right_by_stage["decided"] = case.truth[slice_indices, decided_class]
    return confidence_by_stage, is_right_by_stage
