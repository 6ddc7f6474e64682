"""Two runs on the same volumes: the difference in every measure, with paired intervals that
resample the subjects of both at once.

Errors of the two runs on one volume are correlated, so that the difference has a narrower interval
than either figure. A resampled subject enters with its contributions to both runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.borders import AGREEMENT_MM, ROUNDING_MM
from fovnet.evaluate.measures import (
    FEWEST_SUBJECTS,
    NOT_ESTIMABLE,
    PERCENTILE,
    Measure,
    Resampling,
    known_values_and_cases,
)
from fovnet.evaluate.overlaps import SpanCounts
from fovnet.evaluate.tallies import Tally
from fovnet.maths.intervals import (
    difference_interval,
    quantile_difference_interval,
    resampled_quantile,
)

Floats = NDArray[np.float64]
NO_VOLUME_DIFFERS = "no volume differs"
WIDER_OF_BOTH = "wider of bootstrap-t and percentile"


@dataclass(frozen=True)
class VolumeOutcome:
    """The result of a run on one volume: wrong slices, whether its set of regions is exact, its
    spans, its borders between regions.

    wrong_raw     before the decision
    true_borders  how many there are
    errors_mm     of those that were found, predicted minus true
    """

    volume_id: str
    subject_id: str
    slices: int
    wrong_raw: int
    wrong: int
    is_set_exact: bool
    far_slices: int
    spans: SpanCounts
    true_borders: int
    errors_mm: tuple[float, ...]


@dataclass(frozen=True)
class Difference:
    """A measure of two runs, second minus first, with its 95 % interval over subjects; better when
    lower where `lower_is_better`."""

    measure: str
    stage: str
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    interval: str
    subjects: int
    lower_is_better: bool


class BorderErrors(NamedTuple):
    """Absolute errors (v,) in mm of the borders found, and the number of the volume (v,) that each
    is of."""

    errors_mm: Floats
    volume_index: NDArray[np.int64]


CountsOfVolume = Callable[[VolumeOutcome], tuple[float, float]]


def _near_border_count(outcome: VolumeOutcome) -> int:
    return sum(abs(error) <= AGREEMENT_MM + ROUNDING_MM for error in outcome.errors_mm)


MEAN_BORDER_ERROR = "border_abs_mean_mm"
COUNTS_BY_MEASURE: Mapping[tuple[str, str], CountsOfVolume] = {
    ("slice_error", "raw"): lambda volume: (volume.wrong_raw, volume.slices),
    ("slice_error", "decided"): lambda volume: (volume.wrong, volume.slices),
    ("span_f1", "decided"): lambda volume: (
        2 * volume.spans.right,
        volume.spans.true + volume.spans.predicted,
    ),
    ("exact_set", "decided"): lambda volume: (volume.is_set_exact, 1),
    ("far_confusion_volumes", "decided"): lambda volume: (volume.far_slices > 0, 1),
    ("border_within_10_mm", "decided"): lambda volume: (
        _near_border_count(volume),
        volume.true_borders,
    ),
    ("border_missed", "decided"): lambda volume: (
        volume.true_borders - len(volume.errors_mm),
        volume.true_borders,
    ),
    (MEAN_BORDER_ERROR, "decided"): lambda volume: (
        sum(map(abs, volume.errors_mm)),
        len(volume.errors_mm),
    ),
}
QUANTILE_BY_MEASURE = {"border_abs_median_mm": 0.5, "border_abs_p95_mm": 0.95}
HIGHER_IS_BETTER = frozenset(
    {
        "span_f1",
        "exact_set",
        "border_within_10_mm",
        "exactly_right_regions",
        "statements_decided",
        "surely_found",
        "part_statements_decided",
        "parts_surely_found",
    }
)


def outcome_of(tally: Tally) -> VolumeOutcome:
    """The outcome of one volume, from its counts."""
    inner_borders = [border for border in tally.borders if not border.is_end]
    errors_mm = (border.error_mm for border in inner_borders)
    return VolumeOutcome(
        volume_id=tally.case.volume_id,
        subject_id=tally.case.subject_id,
        slices=tally.slice_count,
        wrong_raw=tally.wrong_raw_count,
        wrong=tally.wrong_count,
        is_set_exact=tally.is_set_exact,
        far_slices=tally.far_slice_count,
        spans=tally.spans,
        true_borders=sum(border.true_mm is not None for border in inner_borders),
        errors_mm=tuple(error_mm for error_mm in errors_mm if error_mm is not None),
    )


def measure_run(run: Sequence[VolumeOutcome], resampling: Resampling) -> list[Measure]:
    """The measures of one run that `measure_differences` compares."""
    measures: list[Measure] = []
    for (name, stage), counts_of_volume in COUNTS_BY_MEASURE.items():
        counts = _numerators_and_denominators(run, counts_of_volume)
        make_measure = (
            resampling.measure_mean if name == MEAN_BORDER_ERROR else resampling.measure_rate
        )
        measures.append(make_measure(name, *counts.T, stage=stage))
    border_errors = _border_errors(run)
    for name, quantile in QUANTILE_BY_MEASURE.items():
        measures.append(
            resampling.measure_quantile(
                name, border_errors.errors_mm, border_errors.volume_index, quantile
            )
        )
    return measures


def measure_differences(
    first: Sequence[VolumeOutcome], second: Sequence[VolumeOutcome], resampling: Resampling
) -> list[Difference]:
    """Second minus first in every measure that both runs have; outcomes and `resampling` are of the
    same volumes in the same order."""
    differences = []
    for (name, stage), counts_of_volume in COUNTS_BY_MEASURE.items():
        first_counts = _numerators_and_denominators(first, counts_of_volume)
        second_counts = _numerators_and_denominators(second, counts_of_volume)
        if first_counts[:, 1].any() and second_counts[:, 1].any():
            differences.append(
                rate_difference(name, stage, first_counts, second_counts, resampling)
            )
    first_errors = _border_errors(first)
    second_errors = _border_errors(second)
    if len(first_errors.errors_mm) and len(second_errors.errors_mm):
        for name, quantile in QUANTILE_BY_MEASURE.items():
            differences.append(
                _quantile_difference(name, quantile, first_errors, second_errors, resampling)
            )
    return differences


def _quantile_difference(
    name: str, quantile: float, first: BorderErrors, second: BorderErrors, resampling: Resampling
) -> Difference:
    """Second minus first of a quantile of the absolute border errors."""
    resampled_quantiles = [
        resampled_quantile(
            border_errors.errors_mm,
            resampling.weights[:, resampling.subject_index[border_errors.volume_index]],
            quantile,
        )
        for border_errors in (first, second)
    ]
    volume_indices = np.concatenate([first.volume_index, second.volume_index])
    return _difference_of_values(
        name,
        "decided",
        values_of_both=[
            float(np.quantile(border_errors.errors_mm, quantile))
            for border_errors in (first, second)
        ],
        interval_ends=quantile_difference_interval(
            resampled_quantiles[1] - resampled_quantiles[0], resampling.subject_count
        ),
        method=PERCENTILE,
        subjects=len(set(resampling.subject_index[volume_indices].tolist())),
        does_any_differ=not all(map(np.array_equal, first, second)),
    )


def rate_difference(
    name: str, stage: str, first: Floats, second: Floats, resampling: Resampling
) -> Difference:
    """Second minus first of a ratio, from numerators and denominators (c, 2) by volume of either
    run; both have some."""
    totals_by_subject = resampling.sum_by_subject(np.concatenate([first, second], axis=1))
    return _difference_of_values(
        name,
        stage,
        values_of_both=[
            float(counts[:, 0].sum() / counts[:, 1].sum()) for counts in (first, second)
        ],
        interval_ends=difference_interval(
            totals_by_subject, _differences_of_ratios, resampling.weights
        ),
        method=WIDER_OF_BOTH,
        subjects=int((totals_by_subject[:, 1] + totals_by_subject[:, 3] > 0).sum()),
        does_any_differ=bool((first != second).any()),
    )


def _numerators_and_denominators(
    run: Sequence[VolumeOutcome], counts_of_volume: CountsOfVolume
) -> Floats:
    """(c, 2) numerators and denominators."""
    return np.array([counts_of_volume(outcome) for outcome in run], dtype=np.float64)


def _border_errors(outcomes: Sequence[VolumeOutcome]) -> BorderErrors:
    """The absolute errors of all borders found, each with the index of its volume."""
    return BorderErrors(
        *known_values_and_cases(
            (volume_index, abs(error_mm))
            for volume_index, outcome in enumerate(outcomes)
            for error_mm in outcome.errors_mm
        )
    )


def _differences_of_ratios(resampled_sums: Floats) -> Floats:
    """Second ratio minus first (B,), from `resampled_sums` (B, 4): numerator and denominator of the
    first run, then of the second."""
    denominators = np.where(resampled_sums[:, 1::2] > 0, resampled_sums[:, 1::2], np.nan)
    ratios = resampled_sums[:, 0::2] / denominators
    return np.asarray(ratios[:, 1] - ratios[:, 0])


def _difference_of_values(
    name: str,
    stage: str,
    values_of_both: Sequence[float],
    interval_ends: tuple[float, float],
    method: str,
    subjects: int,
    does_any_differ: bool,
) -> Difference:
    """The difference of two values (first, second), with these ends of its interval; without them
    where no volume differs, an end is NaN, or subjects are too few."""
    interval: tuple[float | None, float | None] = interval_ends
    if not does_any_differ:
        interval = None, None
        method = NO_VOLUME_DIFFERS
    elif any(map(math.isnan, interval_ends)) or subjects < FEWEST_SUBJECTS:
        interval = None, None
        method = NOT_ESTIMABLE
    first, second = values_of_both
    low, high = interval
    return Difference(
        measure=name,
        stage=stage,
        first=first,
        second=second,
        difference=second - first,
        low=low,
        high=high,
        interval=method,
        subjects=subjects,
        lower_is_better=name not in HIGHER_IS_BETTER,
    )
