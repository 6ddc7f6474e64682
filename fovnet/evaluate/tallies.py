"""What one volume contributes to every measure, counted once and summed in many ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.borders import Border, borders_of
from fovnet.evaluate.calibration import brier_total, reliability
from fovnet.evaluate.cases import Case
from fovnet.evaluate.slices import STAGES, confusion, far_apart, said_classes, true_rows
from fovnet.regions import Vocabulary


@dataclass(frozen=True)
class Tally:
    """Counts of one volume that was not refused.

    matrices    (3, k, k) confusion, one a stage (raw, smoothed, decided)
    has, says   (k - 1,) regions and protocols present in truth and in the decided answer, anywhere in the volume
    bins        (2, b, 3) reliability totals of the smoothed and of the decided answer
    brier       squared distance of the smoothed probabilities from truth, summed over slices
    confidence  mean probability of the decided labels
    """

    case: Case
    matrices: NDArray[np.int64]
    has: NDArray[np.bool_]
    says: NDArray[np.bool_]
    far: int
    borders: tuple[Border, ...]
    bins: NDArray[np.float64]
    brier: float
    confidence: float

    @property
    def slices(self) -> int:
        """Slices of the volume."""
        return len(self.case.z_mm)

    @property
    def right(self) -> NDArray[np.int64]:
        """(3,) slices that are right at each stage."""
        return np.asarray(np.trace(self.matrices, axis1=1, axis2=2))

    @property
    def exact(self) -> bool:
        """Whether the said set of regions is the true one."""
        return bool((self.has == self.says).all())


def tally(case: Case, vocabulary: Vocabulary) -> Tally:
    """The counts of one volume; it must have slices."""
    classes = len(vocabulary.classes)
    said = {stage: said_classes(case, stage, vocabulary) for stage in STAGES}
    matrices = np.stack([confusion(true_rows(case.truth, said[stage], vocabulary), said[stage], classes) for stage in STAGES])
    every = np.arange(len(case.z_mm))
    bins = np.stack(
        [
            reliability(case.smoothed.max(axis=1), case.truth[every, said["smoothed"]]),
            reliability(case.confidence, case.truth[every, said["decided"]]),
        ]
    )
    return Tally(
        case=case,
        matrices=matrices,
        has=np.asarray(case.truth[:, :-1].any(axis=0)),
        says=np.asarray(case.decided[:, :-1].any(axis=0)),
        far=int(matrices[-1][far_apart(vocabulary)].sum()),
        borders=borders_of(case, vocabulary),
        bins=bins,
        brier=brier_total(case.smoothed, case.truth),
        confidence=float(case.confidence.mean()),
    )
