"""Shares with intervals over subjects: volumes and slices of one person are not independent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.intervals import cluster_weights, ratio_interval, wilson_interval

COLUMNS = ("what", "count", "of", "share", "low", "high")
RESAMPLES, SEED = 1000, 0


def share_of(what: str, people: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Values of COLUMNS of a count out of the volumes, slices or borders of each person: {subject:
    (so, of)}.

    The 95 % interval resamples people, or is Wilson's with as many trials as people where that has
    no ends.
    """
    counts = np.array([each for each in people.values() if each[1]], dtype=np.int64).reshape(-1, 2)
    so, of = counts.sum(axis=0).tolist()
    share = so / of if of else None
    low, high = (None, None) if share is None else _interval(counts.astype(np.float64), share)
    return {"what": what, "count": so, "of": of, "share": share, "low": low, "high": high}


def _interval(counts: NDArray[np.float64], share: float) -> tuple[float, float]:
    weights = cluster_weights(len(counts), RESAMPLES, SEED)
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = (
            ratio_interval(counts[:, :1], counts[:, 1:], weights)
            if len(counts) > 1
            else ([np.nan], [np.nan])
        )
    if np.isfinite([low[0], high[0]]).all():
        return float(low[0]), float(high[0])
    return wilson_interval(len(counts) * share, len(counts))


class Tally:
    """Counts by name and person, from which shares are made."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, tuple[int, int]]] = {}

    def add(self, name: str, subject: str, so: int, of: int = 1) -> None:
        """Adds `so` out of `of` to the counts of a name and person."""
        known = self._counts.setdefault(name, {})
        before = known.get(subject, (0, 0))
        known[subject] = before[0] + int(so), before[1] + int(of)

    def share(self, name: str) -> dict[str, Any]:
        """The share of a name, as `share_of`; 0 of 0 where nothing was counted."""
        return share_of(name, self._counts.get(name, {}))
