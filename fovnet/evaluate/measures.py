"""A measured number, its denominator, and its interval.

    c  cases (volumes)    n  subjects    q  measures of one kind, computed together

The interval of a rate, in this order:

* fewer than two subjects: not estimable, because one subject does not show how subjects vary;
* at most one observation per subject: Wilson's, as the observations are independent;
* 0 %, 100 %, or the same share of every subject: Wilson's over the subjects, because resamples of
equal values do not vary;
* fewer than FEWEST_SUBJECTS subjects: not estimable, because there are too few different resamples;
* else the bootstrap-t over subjects, all slices and volumes of a subject being resampled together.

Means over slices, functions of sums (balanced accuracy) and areas under ROC curves have the
bootstrap-t too, medians and areas under risk-coverage curves the percentile interval, widened for
few subjects; the 95th percentile has that of order statistics, which needs more subjects. Where all
values are equal, neither is estimable. `workflow/experiments/interval_coverage.py` measures the
coverage of these intervals. That of the expected calibration error is too low with few subjects
(89 % in 200 simulated studies of 20 subjects, 91 % of 50, 94 % of 100): the statistic is not
smooth, and biased upwards in resamples.
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
from fovnet.maths.ranking import count_pairs, roc_area

Floats = NDArray[np.float64]

NOT_ESTIMABLE = "not estimable"
BOOTSTRAP_T = "bootstrap-t"
PERCENTILE = "percentile"
ORDER_STATISTICS = "order statistics"
OVER_SUBJECTS = "wilson over subjects"
FEWEST_SUBJECTS = 5
"""With fewer, a subgroup is flagged and no interval is resampled: four subjects have 35 different
resamples, and 95 % intervals covered the true value in 52 % of simulated studies of two subjects,
80 % of three, 92 % of four."""
LEAST_TAIL_SHARE = 0.9
"""Quantiles from this on have intervals of order statistics: resamples underestimate how the tail
varies."""


@dataclass(frozen=True)
class Measure:
    """One number of the evaluation.

    name         "slice_error", "sensitivity", "border_abs_median_mm", ... (names ending in _mm are
                 millimetres, in _nats nats, the rest shares; a Brier score reaches from 0 to 2)
    stage        "raw", "smoothed", "decided", or "" where it has none
    region       a class or a border ("pelvis|abdomen"), or ""
    numerator    None if the measure is no ratio of counts (a median)
    denominator  its number of slices, volumes or borders
    value        None when the denominator is 0
    low, high    95 % interval, None when not estimable
    interval     how the interval was made: "bootstrap-t", "percentile", "order statistics",
                 "wilson", "wilson over subjects", or "not estimable"
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
        """`subject_ids` (c,) of the cases; the order of cases does not matter, because subjects are
        numbered in sorted order."""
        subjects = sorted(set(subject_ids))
        index_by_subject = {
            subject: subject_index for subject_index, subject in enumerate(subjects)
        }
        self.subject_index = np.array(
            [index_by_subject[subject] for subject in subject_ids], dtype=np.int64
        )
        self.subject_count = len(subjects)
        self.weights = cluster_weights(self.subject_count, repeats, seed)

    def sum_by_subject(self, per_case: NDArray[Any]) -> Floats:
        """Totals (n, ...) by subject of contributions (c, ...) by case."""
        totals = np.zeros((self.subject_count, *per_case.shape[1:]))
        np.add.at(totals, self.subject_index, per_case)
        return totals

    def measure_rates(
        self,
        name: str,
        numerators: NDArray[Any],
        denominators: NDArray[Any],
        *,
        stage: str = "",
        regions: Sequence[str] = ("",),
    ) -> list[Measure]:
        """q ratios of counts (c, q), one per region."""
        numerators = self.sum_by_subject(numerators)
        denominators = self.sum_by_subject(denominators)
        low, high = ratio_interval(numerators, denominators, self.weights)
        return [
            self._rate_from_subject_counts(
                name,
                stage,
                region,
                numerators[:, ratio_index],
                denominators[:, ratio_index],
                (float(low[ratio_index]), float(high[ratio_index])),
            )
            for ratio_index, region in enumerate(regions)
        ]

    def measure_rate(
        self, name: str, numerators: Any, denominators: Any, *, stage: str = "", region: str = ""
    ) -> Measure:
        """One ratio of counts (c,)."""
        (measure,) = self.measure_rates(
            name,
            np.asarray(numerators)[:, None],
            np.asarray(denominators)[:, None],
            stage=stage,
            regions=(region,),
        )
        return measure

    def _rate_from_subject_counts(
        self,
        name: str,
        stage: str,
        region: str,
        numerators: Floats,
        denominators: Floats,
        bootstrap_ends: tuple[float, float],
    ) -> Measure:
        """From numerators and denominators (n,) by subject, and the ends of the bootstrap-t."""
        numerator = float(numerators.sum())
        denominator = float(denominators.sum())
        subject_count = int((denominators > 0).sum())
        interval_ends: tuple[float, float] | tuple[None, None] = None, None
        method = NOT_ESTIMABLE
        if subject_count >= 2:
            if denominators.max() <= 1:
                method = "wilson"
                interval_ends = wilson_interval(numerator, denominator)
            elif numerator in (0.0, denominator):
                method = OVER_SUBJECTS
                interval_ends = wilson_interval(subject_count if numerator else 0, subject_count)
            elif math.isnan(sum(bootstrap_ends)):  # every subject has the very same share
                method = OVER_SUBJECTS
                interval_ends = wilson_interval(
                    subject_count * numerator / denominator, subject_count
                )
            elif subject_count >= FEWEST_SUBJECTS:
                method = BOOTSTRAP_T
                interval_ends = bootstrap_ends
        low, high = interval_ends
        return Measure(
            name=name,
            stage=stage,
            region=region,
            numerator=numerator,
            denominator=int(denominator),
            value=numerator / denominator if denominator else None,
            low=low,
            high=high,
            interval=method,
            subjects=subject_count,
        )

    def measure_statistic(
        self,
        name: str,
        per_case: NDArray[Any],
        value_of: Callable[[Floats], Floats],
        denominator: int,
        *,
        stage: str = "",
        region: str = "",
    ) -> Measure:
        """Any function of summed totals, such as a balanced accuracy from confusion matrices (c, k,
        k); subjects whose totals are all 0 are not counted in `subjects`."""
        totals_by_subject = self.sum_by_subject(per_case)
        subject_count = int(totals_by_subject.reshape(len(totals_by_subject), -1).any(axis=1).sum())
        value = _number_or_none(value_of(totals_by_subject.sum(axis=0)[None])[0])
        measure = _bare_measure(name, stage, region, denominator, value, subject_count)
        if value in (0.0, 1.0) and subject_count > 1:
            return _with_wilson_interval(measure)
        return _with_interval(
            measure, studentised_interval(totals_by_subject, value_of, self.weights)
        )

    def measure_mean(
        self,
        name: str,
        per_case: NDArray[Any],
        counts: NDArray[Any],
        *,
        stage: str = "",
        region: str = "",
        most: float = math.inf,
    ) -> Measure:
        """A mean over slices, volumes or borders of a quantity that is no share: totals (c,) of the
        cases over their `counts` (c,).

        most  upper bound of a single value, to which the interval is clipped
        """
        totals_by_subject = self.sum_by_subject(per_case[:, None])
        counts_by_subject = self.sum_by_subject(counts[:, None])
        low, high = ratio_interval(totals_by_subject, counts_by_subject, self.weights, share=False)
        observation_count = int(counts_by_subject.sum())
        subject_count = int((counts_by_subject > 0).sum())
        value = float(totals_by_subject.sum() / observation_count) if observation_count else None
        interval_ends = np.maximum(low[0], 0.0), np.minimum(high[0], most)
        return _with_interval(
            _bare_measure(name, stage, region, observation_count, value, subject_count),
            interval_ends,
        )

    def measure_roc_area(
        self,
        name: str,
        scores: Floats,
        positive: NDArray[np.bool_],
        cases: NDArray[np.int64],
        *,
        stage: str = "",
        region: str = "",
    ) -> Measure:
        """The area under the ROC curve of scores (s,) of the cases numbered in `cases` (s,); its
        denominator is the positive slices."""
        subject_index_by_slice = self.subject_index[cases]
        ranked_pairs = count_pairs(scores, positive, subject_index_by_slice, self.subject_count)
        value = _number_or_none(roc_area(scores, positive))
        subject_count = len(np.unique(subject_index_by_slice[positive]))
        measure = _bare_measure(name, stage, region, int(positive.sum()), value, subject_count)
        if value == 1.0 and subject_count > 1:
            return _with_wilson_interval(measure)
        low, high = t_interval(ranked_pairs.area_and_error, self.weights)
        return _with_interval(measure, (low[0], high[0]))

    def measure_share(self, name: str, value_of: Callable[[Floats], Floats]) -> Measure:
        """Any share after the decision that is a function of how often each case is drawn, from
        weights (B, c) to values (B,).

        A share of 0 or 1 has Wilson's interval over subjects, because its resamples do not vary.
        """

        def value_of_subjects(weights: Floats) -> Floats:
            return value_of(weights[:, self.subject_index])

        value = _number_or_none(value_of_subjects(np.ones((1, self.subject_count)))[0])
        measure = _bare_measure(
            name, "decided", "", len(self.subject_index), value, self.subject_count
        )
        if self.subject_count < 2:
            return measure
        if value in (0.0, 1.0):
            return _with_wilson_interval(measure)
        interval_ends = percentile_interval(
            value_of_subjects(self.weights), widened_level(self.subject_count)
        )
        return _with_interval(measure, interval_ends, PERCENTILE)

    def measure_quantile(
        self, name: str, values: Floats, cases: NDArray[np.int64], share: float, *, region: str = ""
    ) -> Measure:
        """A quantile of values (v,), each belonging to the case numbered in `cases` (v,)."""
        subject_index_by_value = self.subject_index[cases]
        subject_count = len(set(subject_index_by_value.tolist()))
        value = float(np.quantile(values, share)) if len(values) else None
        measure = _bare_measure(name, "decided", region, len(values), value, subject_count)
        if share >= LEAST_TAIL_SHARE:
            return _with_interval(
                measure, tail_interval(values, subject_index_by_value, share), ORDER_STATISTICS
            )
        if subject_count < 2 or not np.ptp(values) > 0:  # resamples of equal values do not vary
            return measure
        resampled_quantiles = resampled_quantile(
            values, self.weights[:, subject_index_by_value], share
        )
        interval_ends = percentile_interval(resampled_quantiles, widened_level(subject_count))
        return _with_interval(measure, interval_ends, PERCENTILE)


def known_values_and_cases(
    values: Iterable[tuple[int, float | None]],
) -> tuple[Floats, NDArray[np.int64]]:
    """The values (v,) that are known, and the numbers (v,) of their cases, from pairs of case and
    value."""
    known_pairs = [(case_index, value) for case_index, value in values if value is not None]
    case_indices = np.array([case_index for case_index, _ in known_pairs], dtype=np.int64)
    return np.array([value for _, value in known_pairs], dtype=np.float64), case_indices


def _with_wilson_interval(measure: Measure) -> Measure:
    """The measure with Wilson's interval over subjects: a share of 0 or 1 is the same in all of
    them."""
    low, high = wilson_interval(measure.subjects * (measure.value or 0.0), measure.subjects)
    return replace(measure, low=low, high=high, interval=OVER_SUBJECTS)


def _with_interval(
    measure: Measure, interval_ends: tuple[Any, Any], method: str = BOOTSTRAP_T
) -> Measure:
    """The measure with these ends of its interval; without one if an end is NaN, or subjects are
    too few."""
    low, high = map(_number_or_none, interval_ends)
    if measure.subjects < FEWEST_SUBJECTS or low is None or high is None:
        return measure
    return replace(measure, low=low, high=high, interval=method)


def _bare_measure(
    name: str, stage: str, region: str, denominator: int, value: float | None, subjects: int
) -> Measure:
    """A measure that is no ratio of counts, without an interval."""
    return Measure(
        name=name,
        stage=stage,
        region=region,
        numerator=None,
        denominator=denominator,
        value=value,
        low=None,
        high=None,
        interval=NOT_ESTIMABLE,
        subjects=subjects,
    )


def _number_or_none(value: Any) -> float | None:
    """A plain float, None for NaN (JSON has no NaN)."""
    number = float(value)
    if math.isnan(number):
        return None
    return number
