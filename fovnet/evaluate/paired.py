"""Two runs on the same volumes: the difference in every measure, with paired intervals that resample the
subjects of both at once.

Errors of the two runs on one volume are correlated, so that the difference has a narrower interval than
either figure. A resampled subject enters with its contributions to both runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
IDENTICAL, WIDER = "no volume differs", "wider of bootstrap-t and percentile"


@dataclass(frozen=True)
class VolumeOutcome:
    """The result of a run on one volume: wrong slices, whether its set of regions is exact, its spans, its
    borders between regions.

    spans  right, true, predicted; None where the run does not record them;  wrong_raw likewise
    true_borders  how many there are;  errors_mm  of those that were found, predicted minus true
    """

    volume_id: str
    subject_id: str
    slices: int
    wrong_raw: int | None
    wrong: int
    exact: bool
    far: int
    spans: tuple[int, int, int] | None
    true_borders: int
    errors_mm: tuple[float, ...]


@dataclass(frozen=True)
class Difference:
    """A measure of two runs, second minus first, with its 95 % interval over subjects; better when lower
    where `lower_is_better`."""

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


Part = Callable[[VolumeOutcome], tuple[float, float] | None]


def _near(one: VolumeOutcome) -> int:
    return sum(abs(error) <= AGREEMENT_MM + ROUNDING_MM for error in one.errors_mm)


MEAN_MM = "border_abs_mean_mm"
RATES: Mapping[tuple[str, str], Part] = {
    ("slice_error", "raw"): lambda one: (
        None if one.wrong_raw is None else (one.wrong_raw, one.slices)
    ),
    ("slice_error", "decided"): lambda one: (one.wrong, one.slices),
    ("span_f1", "decided"): lambda one: (
        one.spans and (2 * one.spans[0], one.spans[1] + one.spans[2])
    ),
    ("exact_set", "decided"): lambda one: (one.exact, 1),
    ("far_confusion_volumes", "decided"): lambda one: (one.far > 0, 1),
    ("border_within_10_mm", "decided"): lambda one: (_near(one), one.true_borders),
    ("border_missed", "decided"): lambda one: (
        one.true_borders - len(one.errors_mm),
        one.true_borders,
    ),
    (MEAN_MM, "decided"): lambda one: (sum(map(abs, one.errors_mm)), len(one.errors_mm)),
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


def outcome_of(one: Tally) -> VolumeOutcome:
    """The outcome of one volume, from its counts."""
    between = [border for border in one.borders if not border.is_end]
    return VolumeOutcome(
        one.case.volume_id,
        one.case.subject_id,
        one.slices,
        one.slices - int(one.right[0]),
        one.wrong,
        one.exact,
        one.far,
        one.spans,
        sum(border.true_mm is not None for border in between),
        tuple(border.error_mm for border in between if border.error_mm is not None),
    )


def run_measures(run: Sequence[VolumeOutcome], draws: Resampling) -> list[Measure]:
    """The measures of one run that `differences` compares."""
    found: list[Measure] = []
    for (name, stage), part in RATES.items():
        parts = _parts(run, part)
        if parts is not None and name == MEAN_MM:
            found.append(draws.mean(name, *parts.T, stage=stage))
        elif parts is not None:
            found.append(draws.rate(name, *parts.T, stage=stage))
    errors, volume_of = _errors(run)
    return found + [
        draws.quantile(name, errors, volume_of, share) for name, share in QUANTILES.items()
    ]


def differences(
    first: Sequence[VolumeOutcome], second: Sequence[VolumeOutcome], draws: Resampling
) -> list[Difference]:
    """Second minus first in every measure that both runs have; outcomes and `draws` are of the same volumes
    in the same order."""
    found = []
    for (name, stage), part in RATES.items():
        ours, theirs = _parts(first, part), _parts(second, part)
        if ours is None or theirs is None or not ours[:, 1].any() or not theirs[:, 1].any():
            continue
        found.append(rate_difference(name, stage, ours, theirs, draws))
    before, after = _errors(first), _errors(second)
    (ours, our_volumes), (theirs, their_volumes) = before, after
    differ = not all(map(np.array_equal, before, after))
    for name, share in QUANTILES.items() if len(ours) and len(theirs) else ():
        values = [float(np.quantile(side, share)) for side in (ours, theirs)]
        sides = [
            resampled_quantile(errors, draws.weights[:, draws.of_case[volume_of]], share)
            for errors, volume_of in (before, after)
        ]
        ends = quantile_difference_interval(sides[1] - sides[0], draws.subjects)
        subjects = len(set(draws.of_case[np.concatenate([our_volumes, their_volumes])].tolist()))
        found.append(_difference(name, "decided", values, ends, PERCENTILE, subjects, differ))
    return found


def rate_difference(
    name: str, stage: str, ours: Floats, theirs: Floats, draws: Resampling
) -> Difference:
    """Second minus first of a ratio, from numerators and denominators (c, 2) by volume of either run; both
    have some."""
    totals = draws.by_subject(np.concatenate([ours, theirs], axis=1))
    values = [float(side[:, 0].sum() / side[:, 1].sum()) for side in (ours, theirs)]
    ends = difference_interval(totals, _ratio_difference, draws.weights)
    subjects = int((totals[:, 1] + totals[:, 3] > 0).sum())
    return _difference(name, stage, values, ends, WIDER, subjects, bool((ours != theirs).any()))


def _parts(run: Sequence[VolumeOutcome], part: Part) -> Floats | None:
    """(c, 2) numerators and denominators; None if a volume lacks them."""
    parts = [part(one) for one in run]
    known = [each for each in parts if each is not None]
    return np.array(known, dtype=np.float64) if len(known) == len(parts) else None


def _errors(run: Sequence[VolumeOutcome]) -> tuple[Floats, NDArray[np.int64]]:
    """Absolute errors (v,) in mm of the borders found, and the number of the volume (v,) that each is of."""
    return values_by_case(
        (index, abs(error)) for index, one in enumerate(run) for error in one.errors_mm
    )


def _ratio_difference(sums: Floats) -> Floats:
    """Second ratio minus first (B,), from sums (B, 4)."""
    whole = np.where(sums[:, 1::2] > 0, sums[:, 1::2], np.nan)
    ratios = sums[:, 0::2] / whole
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
    low, high = (None if math.isnan(end) else end for end in ends)
    if not differ:
        low, high, how = None, None, IDENTICAL
    elif low is None or high is None or subjects < FEWEST_SUBJECTS:
        low, high, how = None, None, NOT_ESTIMABLE
    first, second = values
    return Difference(
        name,
        stage,
        first,
        second,
        second - first,
        low,
        high,
        how,
        subjects,
        name not in HIGHER_IS_BETTER,
    )
