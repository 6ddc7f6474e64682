"""Confusion matrices side by side: of the stages of the decision, and of networks alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.ablation import NetworkConfusion
from fovnet.evaluate.cases import STAGES
from fovnet.evaluate.evaluation import Evaluation
from fovnet.records import json_key
from fovnet.regions import Vocabulary
from fovnet.report.content.wording import measure_text, percent

TITLE_BY_STAGE = {
    "raw": "networks alone",
    "smoothed": "after smoothing",
    "decided": "after the decision",
}


@dataclass(frozen=True)
class ConfusionMatrix:
    """One confusion matrix.

    name        of the stage, or of the network
    error_text  its slice error in words
    counts      (k, k) slices, rows true and columns predicted
    """

    name: str
    error_text: str = field(metadata=json_key("error"))
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class ConfusionView:
    """Up to three confusion matrices of the same slices."""

    classes: tuple[str, ...]
    matrices: tuple[ConfusionMatrix, ...] = field(metadata=json_key("stages"))


def confusion_view(evaluation: Evaluation) -> ConfusionView:
    """The matrices before smoothing, after it, and after the decision, each with its slice error."""
    matrices = []
    for stage in STAGES:
        slice_error = measure_text(evaluation.everything.find("slice_error", stage))
        error_text = f"{slice_error.value} wrong, {slice_error.count} ({slice_error.interval})"
        matrices.append(
            ConfusionMatrix(TITLE_BY_STAGE[stage], error_text, evaluation.confusions[stage])
        )
    return ConfusionView(evaluation.vocabulary.classes, tuple(matrices))


def network_confusion_view(
    confusions: Sequence[NetworkConfusion], vocabulary: Vocabulary
) -> ConfusionView:
    """The matrices of the starting network, of the best and of the ensemble, before any smoothing."""
    matrices = []
    for confusion in confusions:
        counts = np.array(confusion.counts, dtype=np.int64)
        slice_count = int(counts.sum())
        wrong_count = slice_count - int(np.trace(counts))
        wrong_share = percent(wrong_count / max(slice_count, 1))
        error_text = f"{wrong_share} wrong, {wrong_count:,}/{slice_count:,}"
        matrices.append(ConfusionMatrix(confusion.name, error_text, counts))
    return ConfusionView(vocabulary.classes, tuple(matrices))
