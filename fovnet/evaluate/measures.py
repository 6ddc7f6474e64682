"""A measured number, its denominator, and its interval.

    c  cases (volumes)    n  subjects    q  measures of one kind, computed together

The interval of a rate, in this order:

* fewer than two subjects: not estimable, because one body says nothing about the next;
* at most one observation a subject: Wilson's, which needs independent observations and has them;
* 0 % or 100 %: Wilson's over the subjects, because resampling equal values would claim certainty;
* else the percentile bootstrap that resamples subjects, all slices and volumes of one subject travelling together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.intervals import cluster_bootstrap, cluster_weights, percentile_interval, resampled_quantile, wilson_interval

Floats = NDArray[np.float64]

NOT_ESTIMABLE = "not estimable"


@dataclass(frozen=True)
class Measure:
    """One number of the evaluation.

    name         "slice_error", "sensitivity", "border_abs_median_mm", ... (names ending in _mm are millimetres, the rest shares)
    stage        "raw", "smoothed", "decided", or "" where it has none;  region a class or a border ("pelvis|abdomen"), or ""
    numerator    None for what is no ratio of counts (a median);  denominator slices, volumes or borders it rests on
    value        None when the denominator is 0;  low, high  95 % interval, None when not estimable
    interval     how the interval was made: "bootstrap", "wilson", "wilson over subjects", or "not estimable"
    """

    name: str
    stage: str
    region: str
    numerator: float | None
    denominator: int
    value: float | None
    low: float | None
    high: float | None
    interval: str
    subjects: int


class Resampling:
    """The subjects of a group of cases, and the resamples all its measures share."""

    def __init__(self, subject_ids: Sequence[str], *, repeats: int, seed: int) -> None:
        """`subject_ids` (c,) one a case; the order of cases does not matter, because subjects are numbered in sorted order."""
        subjects = sorted(set(subject_ids))
        number = {subject: index for index, subject in enumerate(subjects)}
        self.of_case = np.array([number[subject] for subject in subject_ids], dtype=np.int64)
        self.subjects = len(subjects)
        self.weights = cluster_weights(self.subjects, repeats, seed)

    def by_subject(self, per_case: NDArray[Any]) -> Floats:
        """Totals (n, ...) of what the cases (c, ...) contribute."""
        totals = np.zeros((self.subjects, *per_case.shape[1:]))
        np.add.at(totals, self.of_case, per_case)
        return totals

    def rates(
        self, name: str, numerators: NDArray[Any], denominators: NDArray[Any], *, stage: str = "", regions: Sequence[str] = ("",)
    ) -> list[Measure]:
        """q ratios of counts (c, q), one a region."""
        parts, wholes = self.by_subject(numerators), self.by_subject(denominators)
        low, high = percentile_interval(_ratio(self.weights @ parts, self.weights @ wholes))
        return [
            self._rate(name, stage, region, parts[:, column], wholes[:, column], (float(low[column]), float(high[column])))
            for column, region in enumerate(regions)
        ]

    def _rate(
        self, name: str, stage: str, region: str, part: Floats, whole: Floats, resampled: tuple[float, float]
    ) -> Measure:
        right, total, subjects = float(part.sum()), float(whole.sum()), int((whole > 0).sum())
        ends: tuple[float, float] | None = resampled
        if subjects < 2:
            how, ends = NOT_ESTIMABLE, None
        elif whole.max() <= 1:
            how, ends = "wilson", wilson_interval(right, total)
        elif right in (0.0, total):
            how, ends = "wilson over subjects", wilson_interval(subjects if right else 0, subjects)
        else:
            how = "bootstrap"
        value = right / total if total else None
        low, high = ends or (None, None)
        return Measure(name, stage, region, right, int(total), value, low, high, how, subjects)

    def statistic(
        self,
        name: str,
        per_case: NDArray[Any],
        value_of: Callable[[Floats], Floats],
        denominator: int,
        *,
        stage: str = "",
        numerator: float | None = None,
    ) -> Measure:
        """Any function of summed totals, such as a balanced accuracy from confusion matrices (c, k, k)."""
        totals = self.by_subject(per_case)
        value = _known(value_of(totals.sum(axis=0)[None])[0])
        if value in (0.0, 1.0) and self.subjects > 1:
            low, high = wilson_interval(self.subjects * value, self.subjects)
            return Measure(name, stage, "", numerator, denominator, value, low, high, "wilson over subjects", self.subjects)
        ends = cluster_bootstrap(totals, value_of, weights=self.weights)
        return self._spread(name, stage, "", numerator, denominator, value, _known(ends[0]), _known(ends[1]), self.subjects)

    def quantile(self, name: str, values: Floats, cases: NDArray[np.int64], share: float, *, region: str = "") -> Measure:
        """A quantile of values (v,), each belonging to the case numbered in `cases` (v,)."""
        subject = self.of_case[cases]
        low, high = percentile_interval(resampled_quantile(values, self.weights[:, subject], share))
        value = float(np.quantile(values, share)) if len(values) else None
        subjects = len(set(subject.tolist()))
        return self._spread(name, "decided", region, None, len(values), value, _known(low), _known(high), subjects)

    @staticmethod
    def _spread(
        name: str,
        stage: str,
        region: str,
        numerator: float | None,
        denominator: int,
        value: float | None,
        low: float | None,
        high: float | None,
        subjects: int,
    ) -> Measure:
        if subjects < 2 or low is None or high is None:
            return Measure(name, stage, region, numerator, denominator, value, None, None, NOT_ESTIMABLE, subjects)
        return Measure(name, stage, region, numerator, denominator, value, low, high, "bootstrap", subjects)


def _ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole, NaN where the whole is 0: a resample that drew no such slice."""
    result = np.full(part.shape, np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def _known(value: Any) -> float | None:
    """A plain float, None for NaN (JSON has no NaN)."""
    number = float(value)
    return None if math.isnan(number) else number
