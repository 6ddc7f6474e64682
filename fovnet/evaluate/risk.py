"""How wrong is what is answered, if only the surest volumes are?

    v  volumes    B  resamples

The risk-coverage curve goes from the surest volume to all of them: the share answered, and the share that is wrong among those. Its
area is the mean risk over the volumes, each taken as the last one answered: 0 where nothing is wrong, the overall risk where confidence
says nothing. Volumes of equal confidence come in together.

Source: Geifman & El-Yaniv, *Selective classification for deep neural networks* (NIPS 2017); the area as in Geifman, Uziel & El-Yaniv
(ICLR 2019), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ranked:
    """Volumes from the surest down: confidence (v,), what is wrong and of how much (v,), the place of the last of equals (v,)."""

    order: NDArray[np.int64]
    confidence: Floats
    wrong: Floats
    total: Floats
    last: NDArray[np.int64]

    def curve(self) -> tuple[Floats, Floats, Floats]:
        """Confidence, coverage and risk (v',) at every place where answering may stop."""
        stops = np.unique(self.last)
        risk = np.cumsum(self.wrong)[stops] / np.cumsum(self.total)[stops]
        return self.confidence[stops], (stops + 1) / len(self.last), risk

    def area(self, weights: Floats) -> Floats:
        """The area (B,) where volume i, in the order it was given, is counted weights[:, i] times (B, v)."""
        counted = weights[:, self.order]
        wrong, total = np.cumsum(counted * self.wrong, axis=1), np.cumsum(counted * self.total, axis=1)
        risk = np.divide(wrong, total, out=np.zeros_like(wrong), where=total > 0)[:, self.last]
        volumes = counted.sum(axis=1)
        return np.asarray(np.divide((counted * risk).sum(axis=1), volumes, out=np.full(len(weights), np.nan), where=volumes > 0))


def ranked(confidence: Floats, wrong: Floats, total: Floats) -> Ranked:
    """The volumes in order of confidence; `wrong` out of `total` of each may be slices, or 0 and 1 of 1 for whole volumes."""
    order = np.argsort(-confidence, kind="stable")
    falling = confidence[order]
    last = np.searchsorted(-falling, -falling, side="right") - 1
    return Ranked(order, falling, np.asarray(wrong, dtype=np.float64)[order], np.asarray(total, dtype=np.float64)[order], last)
