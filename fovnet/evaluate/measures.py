"""A measured number, its denominator, and its interval.

    c  cases (volumes)    n  subjects    q  measures of one kind, computed together

The interval of a rate, in this order:

* fewer than two subjects: not estimable, because one subject does not show how subjects vary;
* at most one observation per subject: Wilson's, as the observations are independent;
* 0 %, 100 %, or the same share of every subject: Wilson's over the subjects, because resamples of equal
values do not vary;
* fewer than FEWEST_SUBJECTS subjects: not estimable, because there are too few different resamples;
* else the bootstrap-t over subjects, all slices and volumes of a subject being resampled together.

Means over slices, functions of sums (balanced accuracy) and areas under ROC curves have the bootstrap-t too,
medians and areas under risk-coverage curves the percentile interval, widened for few subjects; the 95th
percentile has that of order statistics, which needs more subjects. Where all values are equal, neither is
estimable. `workflow/experiments/interval_coverage.py` measures the coverage of these intervals.
That of the expected calibration error is too low with few subjects (89 % in 200 simulated studies
of 20 subjects, 91 % of 50, 94 % of 100): the statistic is not smooth, and biased upwards in
resamples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.intervals import (
    cluster_weights,
    percentile_interval,
    ratio_interval,
    resampled_quantile,
    studentised_interval,
    t_interval,
    tail_interval,
    widened_level,
    wilson_interval,
)
from fovnet.maths.ranking import pairs_of, roc_area

Floats = NDArray[np.float64]

NOT_ESTIMABLE, BOOTSTRAP_T, PERCENTILE, ORDER, OVER_SUBJECTS = (
    "not estimable",
    "bootstrap-t",
    "percentile",
    "order statistics",
    "wilson over subjects",
)
FEWEST_SUBJECTS = 5
"""With fewer, a subgroup is flagged and no interval is resampled: four subjects have 35 different resamples,
and 95 % intervals covered the true value in 52 % of simulated studies of two subjects, 80 % of three, 92 % of
four."""
TAIL = 0.9
"""Quantiles from this on have intervals of order statistics: resamples underestimate how the tail varies."""


@dataclass(frozen=True)
class Measure:
    """One number of the evaluation.

    name         "slice_error", "sensitivity", "border_abs_median_mm", ... (names ending in _mm are
                 millimetres, in _nats nats, the rest shares; a Brier score reaches from 0 to 2)
    stage        "raw", "smoothed", "decided", or "" where it has none;  region a class or a border
                 ("pelvis|abdomen"), or ""
    numerator    None if the measure is no ratio of counts (a median);  denominator its number of slices,
                 volumes or borders
    value        None when the denominator is 0;  low, high  95 % interval, None when not estimable
    interval     how the interval was made: "bootstrap-t", "percentile", "order statistics", "wilson", "wilson
                 over subjects", or "not estimable"
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
        """`subject_ids` (c,) of the cases; the order of cases does not matter, because subjects are numbered
        in sorted order."""
        subjects = sorted(set(subject_ids))
        number = {subject: index for index, subject in enumerate(subjects)}
        self.of_case = np.array([number[subject] for subject in subject_ids], dtype=np.int64)
        self.subjects = len(subjects)
        self.weights = cluster_weights(self.subjects, repeats, seed)

    def by_subject(self, per_case: NDArray[Any]) -> Floats:
        """Totals (n, ...) by subject of contributions (c, ...) by case."""
        totals = np.zeros((self.subjects, *per_case.shape[1:]))
        np.add.at(totals, self.of_case, per_case)
        return totals

    def rates(
        self,
        name: str,
        numerators: NDArray[Any],
        denominators: NDArray[Any],
        *,
        stage: str = "",
        regions: Sequence[str] = ("",),
    ) -> list[Measure]:
        """q ratios of counts (c, q), one per region."""
        parts, wholes = self.by_subject(numerators), self.by_subject(denominators)
        low, high = ratio_interval(parts, wholes, self.weights)
        return [
            self._rate(
                name,
                stage,
                region,
                parts[:, column],
                wholes[:, column],
                (float(low[column]), float(high[column])),
            )
            for column, region in enumerate(regions)
        ]

    def rate(
        self, name: str, numerators: Any, denominators: Any, *, stage: str = "", region: str = ""
    ) -> Measure:
        """One ratio of counts (c,)."""
        parts, wholes = (np.asarray(counts)[:, None] for counts in (numerators, denominators))
        return self.rates(name, parts, wholes, stage=stage, regions=(region,))[0]

    def _rate(
        self,
        name: str,
        stage: str,
        region: str,
        part: Floats,
        whole: Floats,
        resampled: tuple[float, float],
    ) -> Measure:
        right, total, subjects = float(part.sum()), float(whole.sum()), int((whole > 0).sum())
        ends: tuple[float, float] | None = resampled
        if subjects < 2:
            how, ends = NOT_ESTIMABLE, None
        elif whole.max() <= 1:
            how, ends = "wilson", wilson_interval(right, total)
        elif right in (0.0, total):
            how, ends = OVER_SUBJECTS, wilson_interval(subjects if right else 0, subjects)
        elif math.isnan(sum(resampled)):  # every subject has the very same share
            how, ends = OVER_SUBJECTS, wilson_interval(subjects * right / total, subjects)
        elif subjects < FEWEST_SUBJECTS:
            how, ends = NOT_ESTIMABLE, None
        else:
            how = BOOTSTRAP_T
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
        region: str = "",
    ) -> Measure:
        """Any function of summed totals, such as a balanced accuracy from confusion matrices (c, k, k);
        subjects whose totals are all 0 are not counted in `subjects`."""
        totals = self.by_subject(per_case)
        subjects = int(totals.reshape(len(totals), -1).any(axis=1).sum())
        value = _known(value_of(totals.sum(axis=0)[None])[0])
        of = _bare(name, stage, region, denominator, value, subjects)
        if value in (0.0, 1.0) and subjects > 1:
            return _alike(of)
        return _between(of, studentised_interval(totals, value_of, self.weights))

    def mean(
        self,
        name: str,
        per_case: NDArray[Any],
        wholes: NDArray[Any],
        *,
        stage: str = "",
        region: str = "",
        most: float = math.inf,
    ) -> Measure:
        """A mean over slices, volumes or borders of a quantity that is no share: totals (c,) of the cases
        over their numbers (c,).

        most  upper bound of a single value, to which the interval is clipped
        """
        totals, slices = self.by_subject(per_case[:, None]), self.by_subject(wholes[:, None])
        low, high = ratio_interval(totals, slices, self.weights, share=False)
        count, subjects = int(slices.sum()), int((slices > 0).sum())
        value = float(totals.sum() / count) if count else None
        ends = np.maximum(low[0], 0.0), np.minimum(high[0], most)
        return _between(_bare(name, stage, region, count, value, subjects), ends)

    def roc_area(
        self,
        name: str,
        scores: Floats,
        positive: NDArray[np.bool_],
        cases: NDArray[np.int64],
        *,
        stage: str = "",
        region: str = "",
    ) -> Measure:
        """The area under the ROC curve of scores (s,) of the cases numbered in `cases` (s,); its denominator
        is the positive slices."""
        of_subject = self.of_case[cases]
        pairs = pairs_of(scores, positive, of_subject, self.subjects)
        value = _known(roc_area(scores, positive))
        subjects = len(np.unique(of_subject[positive]))
        of = _bare(name, stage, region, int(positive.sum()), value, subjects)
        if value == 1.0 and subjects > 1:
            return _alike(of)
        low, high = t_interval(pairs.area_and_error, self.weights)
        return _between(of, (low[0], high[0]))

    def weighted(self, name: str, value_of: Callable[[Floats], Floats]) -> Measure:
        """Any share after the decision that is a function of how often each case is drawn, from weights
        (B, c) to values (B,).

        A share of 0 or 1 has Wilson's interval over subjects, because its resamples do not vary.
        """
        of_cases: Callable[[Floats], Floats] = lambda weights: value_of(weights[:, self.of_case])  # noqa: E731
        value = _known(of_cases(np.ones((1, self.subjects)))[0])
        of = _bare(name, "decided", "", len(self.of_case), value, self.subjects)
        if self.subjects < 2:
            return of
        if value in (0.0, 1.0):
            return _alike(of)
        ends = percentile_interval(of_cases(self.weights), widened_level(self.subjects))
        return _between(of, ends, PERCENTILE)

    def quantile(
        self, name: str, values: Floats, cases: NDArray[np.int64], share: float, *, region: str = ""
    ) -> Measure:
        """A quantile of values (v,), each belonging to the case numbered in `cases` (v,)."""
        subject = self.of_case[cases]
        subjects, tail = len(set(subject.tolist())), share >= TAIL
        ends: tuple[Any, Any] = np.nan, np.nan
        if tail:
            ends = tail_interval(values, subject, share)
        elif subjects > 1 and np.ptp(values) > 0:  # resamples of equal values do not vary
            ends = percentile_interval(
                resampled_quantile(values, self.weights[:, subject], share), widened_level(subjects)
            )
        value = float(np.quantile(values, share)) if len(values) else None
        of = _bare(name, "decided", region, len(values), value, subjects)
        return _between(of, ends, ORDER if tail else PERCENTILE)


def values_by_case(values: Iterable[tuple[int, float | None]]) -> tuple[Floats, NDArray[np.int64]]:
    """The values (v,) that are known, and the numbers (v,) of their cases, from pairs of case and value."""
    known = [(case, value) for case, value in values if value is not None]
    cases = np.array([case for case, _ in known], dtype=np.int64)
    return np.array([value for _, value in known], dtype=np.float64), cases


def _alike(of: Measure) -> Measure:
    """The measure with Wilson's interval over subjects: a share of 0 or 1 is the same in all of them."""
    low, high = wilson_interval(of.subjects * (of.value or 0.0), of.subjects)
    return replace(of, low=low, high=high, interval=OVER_SUBJECTS)


def _between(of: Measure, ends: tuple[Any, Any], how: str = BOOTSTRAP_T) -> Measure:
    """The measure with these ends of its interval; without one if an end is NaN, or subjects are too few."""
    low, high = map(_known, ends)
    if of.subjects < FEWEST_SUBJECTS or low is None or high is None:
        return of
    return replace(of, low=low, high=high, interval=how)


def _bare(
    name: str, stage: str, region: str, denominator: int, value: float | None, subjects: int
) -> Measure:
    """A measure that is no ratio of counts, without an interval."""
    return Measure(
        name, stage, region, None, denominator, value, None, None, NOT_ESTIMABLE, subjects
    )


def _known(value: Any) -> float | None:
    """A plain float, None for NaN (JSON has no NaN)."""
    number = float(value)
    return None if math.isnan(number) else number
