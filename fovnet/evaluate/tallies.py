"""What one volume contributes to every measure, counted once and summed in many ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.objective import untold
from fovnet.evaluate.borders import Border, borders_of
from fovnet.evaluate.calibration import brier_total, negative_log_likelihood, reliability
from fovnet.evaluate.cases import Case
from fovnet.evaluate.overlaps import span_counts
from fovnet.evaluate.slices import STAGES, confusion, far_apart, said_classes, true_rows, untrue
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """Counts of one volume that was not refused.

    matrices    (3, k, k) confusion, one a stage (raw, smoothed, decided)
    negatives   (k,) slices that do not show the class
    has, says   (k - 1,) regions and protocols present in truth and in the decided answer, anywhere in the volume; in a volume with
                slices whose truth does not tell the chain region, a chain region that is only said is not held against it
    far, untrue  slices called a chain region that does not touch the true one, and slices of which anything untrue is said
    stated      (k,) confidences of the slices by the class decided, summed
    bins        (b, 3) reliability totals by stage of calibration, and `plain_bins` of the slices that truly show one class alone
    brier, log_loss  totals over the slices by stage, of probabilities alone
    spans       spans that are right, true, said
    confidence  the volume's, as its answer has it and as the bar is held against it: black margins are left out
    lit         slices that are not all dark, and those of them that are wrong after the decision; all count where it is not known
    """

    case: Case
    matrices: NDArray[np.int64]
    negatives: NDArray[np.int64]
    has: NDArray[np.bool_]
    says: NDArray[np.bool_]
    far: int
    untrue: int
    borders: tuple[Border, ...]
    stated: Floats
    bins: Mapping[str, Floats]
    plain_bins: Mapping[str, Floats]
    brier: Mapping[str, float]
    log_loss: Mapping[str, float]
    spans: tuple[int, int, int]
    confidence: float
    lit: tuple[int, int]

    @property
    def slices(self) -> int:
        """Slices of the volume."""
        return len(self.case.z_mm)

    @property
    def right(self) -> NDArray[np.int64]:
        """(3,) slices that are right at each stage."""
        return np.asarray(np.trace(self.matrices, axis1=1, axis2=2))

    @property
    def wrong(self) -> int:
        """Slices that are wrong after the decision."""
        return self.slices - int(self.right[-1])

    @property
    def exact(self) -> bool:
        """Whether the said set of regions is the true one."""
        return bool((self.has == self.says).all())


def tally(case: Case, vocabulary: Vocabulary) -> Tally:
    """The counts of one volume; it must have slices."""
    classes, chain = len(vocabulary.classes), len(vocabulary.chain)
    said = {stage: said_classes(case, stage, vocabulary) for stage in STAGES}
    matrices = np.stack([confusion(true_rows(case.truth, said[stage], vocabulary), said[stage], classes) for stage in STAGES])
    has, says = case.truth[:, :-1].any(axis=0), case.decided[:, :-1].any(axis=0)
    if untold(case.truth, chain).any():
        says = says & (has | (np.arange(classes - 1) >= chain))
    told = {"raw": case.raw, "calibrated": case.calibrated, "smoothed": case.smoothed}
    probabilities = {stage: array for stage, array in told.items() if array is not None}
    every = np.arange(len(case.z_mm))
    stated = {stage: (p.max(axis=1), case.truth[every, p.argmax(axis=1)]) for stage, p in probabilities.items()}
    stated["decided"] = case.confidence, case.truth[every, said["decided"]]
    plain = case.truth.sum(axis=1) == 1
    lit = np.ones(len(every), dtype=bool) if case.empty is None else ~case.empty
    return Tally(
        case=case,
        matrices=matrices,
        negatives=np.asarray((~case.truth).sum(axis=0)),
        has=np.asarray(has),
        says=np.asarray(says),
        far=int(far_apart(case.truth, case.decided, vocabulary).sum()),
        untrue=int(untrue(case.truth, case.decided, vocabulary).sum()),
        borders=borders_of(case, vocabulary),
        stated=np.asarray(np.bincount(said["decided"], weights=case.confidence, minlength=classes), dtype=np.float64),
        bins={stage: reliability(sure, right) for stage, (sure, right) in stated.items()},
        plain_bins={stage: reliability(sure[plain], right[plain]) for stage, (sure, right) in stated.items()},
        brier={stage: brier_total(p, case.truth) for stage, p in probabilities.items()},
        log_loss={stage: negative_log_likelihood(p, case.truth) for stage, p in probabilities.items()},
        spans=span_counts(case, vocabulary),
        confidence=float(case.confidence.mean()) if case.sure is None else case.sure,
        lit=(int(lit.sum()), int((lit & ~stated["decided"][1]).sum())),
    )
