"""The risk-coverage curve: the error among the volumes answered, if only the most confident are.

    v  volumes    B  resamples

It goes from the most confident volume to all of them: the share answered (coverage), and the share
wrong among those (risk). Its area is the mean risk over the volumes, each taken as the last one
answered: 0 if nothing is wrong, the overall risk if confidence is not informative. Volumes of equal
confidence enter together.

Source: Geifman & El-Yaniv, *Selective classification for deep neural networks* (NIPS 2017); the
area as in Geifman, Uziel & El-Yaniv (ICLR 2019), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.shares import share_or_nan

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankedVolumes:
    """Volumes by falling confidence, (v,) each.

    volume_order              their numbers
    wrong_count, total_count  so many wrong of so many
    last_of_ties              the place of the last volume of equal confidence
    """

    volume_order: NDArray[np.int64]
    falling_confidence: Floats
    wrong_count: Floats
    total_count: Floats
    last_of_ties: NDArray[np.int64]

    def curve(self) -> tuple[Floats, Floats, Floats]:
        """Confidence, coverage and risk (v',) at every distinct confidence."""
        last_of_each_confidence = np.unique(self.last_of_ties)
        risk_by_confidence = (
            np.cumsum(self.wrong_count)[last_of_each_confidence]
            / np.cumsum(self.total_count)[last_of_each_confidence]
        )
        return (
            self.falling_confidence[last_of_each_confidence],
            (last_of_each_confidence + 1) / len(self.last_of_ties),
            risk_by_confidence,
        )

    def area(self, weights: Floats) -> Floats:
        """The area (B,) with volume i, in the order given, counted weights[:, i] times (B, v)."""
        weights = weights[:, self.volume_order]
        wrong_so_far = np.cumsum(weights * self.wrong_count, axis=1)
        total_so_far = np.cumsum(weights * self.total_count, axis=1)
        risk_at_volume = np.divide(
            wrong_so_far, total_so_far, out=np.zeros_like(wrong_so_far), where=total_so_far > 0
        )[:, self.last_of_ties]
        return share_or_nan((weights * risk_at_volume).sum(axis=1), weights.sum(axis=1))


def rank_volumes(confidence: Floats, wrong: Floats, total: Floats) -> RankedVolumes:
    """The volumes in order of confidence; `wrong` out of `total` of each may be slices, or 0 and 1
    of 1 for whole volumes."""
    falling_order = np.argsort(-confidence, kind="stable")
    falling_confidence = confidence[falling_order]
    last_of_equal_confidence = (
        np.searchsorted(-falling_confidence, -falling_confidence, side="right") - 1
    )
    return RankedVolumes(
        volume_order=falling_order,
        falling_confidence=falling_confidence,
        wrong_count=np.asarray(wrong, dtype=np.float64)[falling_order],
        total_count=np.asarray(total, dtype=np.float64)[falling_order],
        last_of_ties=last_of_equal_confidence,
    )
