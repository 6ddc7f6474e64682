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
    values_by_case,
)
from fovnet.evaluate.tallies import Tally
from fovnet.maths.intervals import (
    difference_interval,
    quantile_difference_interval,
    resampled_quantile,
)

Floats = NDArray[np.float64]
IDENTICAL = "no volume differs"
WIDER = "wider of bootstrap-t and percentile"


@dataclass(frozen=True)
class VolumeOutcome:
    """The result of a run on one volume: wrong slices, whether its set of regions is exact, its
    spans, its borders between regions.

    wrong_raw     before the decision
    spans         right, true, predicted
    true_borders  how many there are
    errors_mm     of those that were found, predicted minus true
    """

    volume_id: str
    subject_id: str
    slices: int
    wrong_raw: int
    wrong: int
    exact: bool
    far_slices: int
    spans: tuple[int, int, int]
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

    mm: Floats
    volume: NDArray[np.int64]


Part = Callable[[VolumeOutcome], tuple[float, float]]


def _near_borders(outcome: VolumeOutcome) -> int:
    return sum(abs(error) <= AGREEMENT_MM + ROUNDING_MM for error in outcome.errors_mm)


MEAN_MM = "border_abs_mean_mm"
RATES: Mapping[tuple[str, str], Part] = {
    ("slice_error", "raw"): lambda volume: (volume.wrong_raw, volume.slices),
    ("slice_error", "decided"): lambda volume: (volume.wrong, volume.slices),
    ("span_f1", "decided"): lambda volume: (
        2 * volume.spans[0],
        volume.spans[1] + volume.spans[2],
    ),
    ("exact_set", "decided"): lambda volume: (volume.exact, 1),
    ("far_confusion_volumes", "decided"): lambda volume: (volume.far_slices > 0, 1),
    ("border_within_10_mm", "decided"): lambda volume: (_near_borders(volume), volume.true_borders),
    ("border_missed", "decided"): lambda volume: (
        volume.true_borders - len(volume.errors_mm),
        volume.true_borders,
    ),
    (MEAN_MM, "decided"): lambda volume: (sum(map(abs, volume.errors_mm)), len(volume.errors_mm)),
}
QUANTILES = {"border_abs_median_mm": 0.5, "border_abs_p95_mm": 0.95}
HIGHER_IS_BETTER = frozenset(
    {
        "span_f1",
        "exact_set",
        "border_within_10_mm",
        "exactly_right_regions",
        "statements_decided",
        "surely_found",
    }
)


def outcome_of(tally: Tally) -> VolumeOutcome:
    """The outcome of one volume, from its counts."""
    inner_borders = [border for border in tally.borders if not border.is_end]
    errors_mm = (border.error_mm for border in inner_borders)
    return VolumeOutcome(
        volume_id=tally.case.volume_id,
        subject_id=tally.case.subject_id,
        slices=tally.slices,
        wrong_raw=tally.slices - int(tally.right[0]),
        wrong=tally.wrong,
        exact=tally.exact,
        far_slices=tally.far_slices,
        spans=tally.spans,
        true_borders=sum(border.true_mm is not None for border in inner_borders),
        errors_mm=tuple(error for error in errors_mm if error is not None),
    )


def run_measures(run: Sequence[VolumeOutcome], draws: Resampling) -> list[Measure]:
    """The measures of one run that `differences` compares."""
    measures: list[Measure] = []
    for (name, stage), part in RATES.items():
        parts = _parts(run, part)
        measure = draws.mean if name == MEAN_MM else draws.rate
        measures.append(measure(name, *parts.T, stage=stage))
    errors = _errors(run)
    for name, share in QUANTILES.items():
        measures.append(draws.quantile(name, errors.mm, errors.volume, share))
    return measures


def differences(
    first: Sequence[VolumeOutcome], second: Sequence[VolumeOutcome], draws: Resampling
) -> list[Difference]:
    """Second minus first in every measure that both runs have; outcomes and `draws` are of the same
    volumes in the same order."""
    changes = []
    for (name, stage), part in RATES.items():
        first_parts = _parts(first, part)
        second_parts = _parts(second, part)
        if first_parts[:, 1].any() and second_parts[:, 1].any():
            changes.append(rate_difference(name, stage, first_parts, second_parts, draws))
    first_errors = _errors(first)
    second_errors = _errors(second)
    if len(first_errors.mm) and len(second_errors.mm):
        for name, share in QUANTILES.items():
            changes.append(_quantile_difference(name, share, first_errors, second_errors, draws))
    return changes


def _quantile_difference(
    name: str, share: float, first: BorderErrors, second: BorderErrors, draws: Resampling
) -> Difference:
    resamples = [
        resampled_quantile(errors.mm, draws.weights[:, draws.of_case[errors.volume]], share)
        for errors in (first, second)
    ]
    volumes = np.concatenate([first.volume, second.volume])
    return _difference(
        name,
        "decided",
        values=[float(np.quantile(errors.mm, share)) for errors in (first, second)],
        ends=quantile_difference_interval(resamples[1] - resamples[0], draws.subjects),
        how=PERCENTILE,
        subjects=len(set(draws.of_case[volumes].tolist())),
        differ=not all(map(np.array_equal, first, second)),
    )


def rate_difference(
    name: str, stage: str, first: Floats, second: Floats, draws: Resampling
) -> Difference:
    """Second minus first of a ratio, from numerators and denominators (c, 2) by volume of either
    run; both have some."""
    totals = draws.by_subject(np.concatenate([first, second], axis=1))
    return _difference(
        name,
        stage,
        values=[float(parts[:, 0].sum() / parts[:, 1].sum()) for parts in (first, second)],
        ends=difference_interval(totals, _ratio_difference, draws.weights),
        how=WIDER,
        subjects=int((totals[:, 1] + totals[:, 3] > 0).sum()),
        differ=bool((first != second).any()),
    )


def _parts(run: Sequence[VolumeOutcome], part: Part) -> Floats:
    """(c, 2) numerators and denominators."""
    return np.array([part(outcome) for outcome in run], dtype=np.float64)


def _errors(run: Sequence[VolumeOutcome]) -> BorderErrors:
    return BorderErrors(
        *values_by_case(
            (index, abs(error)) for index, outcome in enumerate(run) for error in outcome.errors_mm
        )
    )


def _ratio_difference(sums: Floats) -> Floats:
    """Second ratio minus first (B,), from sums (B, 4)."""
    denominators = np.where(sums[:, 1::2] > 0, sums[:, 1::2], np.nan)
    ratios = sums[:, 0::2] / denominators
    return np.asarray(ratios[:, 1] - ratios[:, 0])


def _difference(
    name: str,
    stage: str,
    values: Sequence[float],
    ends: tuple[float, float],
    how: str,
    subjects: int,
    differ: bool,
) -> Difference:
    interval: tuple[float | None, float | None] = ends
    if not differ:
        interval = None, None
        how = IDENTICAL
    elif any(map(math.isnan, ends)) or subjects < FEWEST_SUBJECTS:
        interval = None, None
        how = NOT_ESTIMABLE
    first, second = values
    low, high = interval
    return Difference(
        measure=name,
        stage=stage,
        first=first,
        second=second,
        difference=second - first,
        low=low,
        high=high,
        interval=how,
        subjects=subjects,
        lower_is_better=name not in HIGHER_IS_BETTER,
    )
