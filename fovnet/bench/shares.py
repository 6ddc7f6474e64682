"""Shares with intervals over subjects: volumes and slices of one person are not independent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.intervals import cluster_weights, ratio_interval, wilson_interval

COLUMNS = ("what", "count", "of", "share", "low", "high")
RESAMPLES = 1000
SEED_OF_RESAMPLES = 0


def share_of(what: str, counts_by_subject: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """{column of COLUMNS: value} of a count out of the volumes, slices or borders of each person.

    counts_by_subject  {subject: (count, total)}
    The 95 % interval resamples people, or is Wilson's with as many trials as people where that has
    no ends.
    """
    counts_by_person = np.array(
        [(count, total) for count, total in counts_by_subject.values() if total], dtype=np.int64
    ).reshape(-1, 2)
    count, total = counts_by_person.sum(axis=0).tolist()
    share = None
    lower_end = None
    upper_end = None
    if total:
        share = count / total
        lower_end, upper_end = _share_interval(counts_by_person.astype(np.float64), share)
    return {
        "what": what,
        "count": count,
        "of": total,
        "share": share,
        "low": lower_end,
        "high": upper_end,
    }


def _share_interval(counts_by_person: NDArray[np.float64], share: float) -> tuple[float, float]:
    """The ends of the 95 % interval of a share, from (count, total) of each person (n, 2)."""
    if len(counts_by_person) > 1:
        resampling_weights = cluster_weights(len(counts_by_person), RESAMPLES, SEED_OF_RESAMPLES)
        with np.errstate(invalid="ignore", divide="ignore"):
            lower_ends, upper_ends = ratio_interval(
                counts_by_person[:, :1], counts_by_person[:, 1:], resampling_weights
            )
        if np.isfinite([lower_ends[0], upper_ends[0]]).all():
            return float(lower_ends[0]), float(upper_ends[0])
    return wilson_interval(len(counts_by_person) * share, len(counts_by_person))


class PersonTally:
    """Counts by name and person, from which shares are made."""

    def __init__(self) -> None:
        self._counts_by_name_and_subject: dict[str, dict[str, tuple[int, int]]] = {}

    def add(self, name: str, subject: str, count: int, total: int = 1) -> None:
        """Adds `count` out of `total` to the counts of a name and person."""
        counts_by_subject = self._counts_by_name_and_subject.setdefault(name, {})
        old_count, old_total = counts_by_subject.get(subject, (0, 0))
        counts_by_subject[subject] = (old_count + int(count), old_total + int(total))

    def share(self, name: str) -> dict[str, Any]:
        """The share of a name, as `share_of`; 0 of 0 where nothing was counted."""
        return share_of(name, self._counts_by_name_and_subject.get(name, {}))
