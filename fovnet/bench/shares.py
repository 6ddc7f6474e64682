"""Shares with intervals over subjects: volumes and slices of one person are not independent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.intervals import cluster_weights, ratio_interval, wilson_interval

COLUMNS = ("what", "count", "of", "share", "low", "high")
RESAMPLES = 1000
SEED = 0


def share_of(what: str, people: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Values of COLUMNS of a count out of the volumes, slices or borders of each person: {subject:
    (count, total)}.

    The 95 % interval resamples people, or is Wilson's with as many trials as people where that has
    no ends.
    """
    counts = np.array([pair for pair in people.values() if pair[1]], dtype=np.int64).reshape(-1, 2)
    count, total = counts.sum(axis=0).tolist()
    share = count / total if total else None
    low, high = (None, None) if share is None else _interval(counts.astype(np.float64), share)
    return {"what": what, "count": count, "of": total, "share": share, "low": low, "high": high}


def _interval(counts: NDArray[np.float64], share: float) -> tuple[float, float]:
    if len(counts) > 1:
        weights = cluster_weights(len(counts), RESAMPLES, SEED)
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = ratio_interval(counts[:, :1], counts[:, 1:], weights)
        if np.isfinite([low[0], high[0]]).all():
            return float(low[0]), float(high[0])
    return wilson_interval(len(counts) * share, len(counts))


class PersonTally:
    """Counts by name and person, from which shares are made."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, tuple[int, int]]] = {}

    def add(self, name: str, subject: str, count: int, total: int = 1) -> None:
        """Adds `count` out of `total` to the counts of a name and person."""
        counts = self._counts.setdefault(name, {})
        old_count, old_total = counts.get(subject, (0, 0))
        counts[subject] = (old_count + int(count), old_total + int(total))

    def share(self, name: str) -> dict[str, Any]:
        """The share of a name, as `share_of`; 0 of 0 where nothing was counted."""
        return share_of(name, self._counts.get(name, {}))
