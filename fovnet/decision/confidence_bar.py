"""The confidence threshold (bar) for answering, chosen so that answers to unseen subjects err no
more often than stated.

    a volume's error     share of its slices that are decided wrongly
    a subject's error    mean of that over the subject's volumes that are answered; subjects without
                         any do not count
    risk                 the mean error of subjects
    coverage             share of the volumes that are answered

A bar is *promised* if the validation subjects reject the hypothesis "the risk above it is the
stated error or more".  From each start, the bars of CANDIDATE_BARS are tested in descending order
until one does not reject, and the two starts share the level (fixed-sequence testing). The promise
then fails for at most `at_risk` of all validation splits, whatever the networks are: Angelopoulos
et al. (2021), *Learn then test*, arXiv:2110.01052, section 4.3, with the p-value of
maths/betting.py.  It takes about ln(1 / (0.8 at_risk)) / -ln(1 - stated) subjects without an error,
51 for 5 % at risk 10 %.  If no bar is promised, the bar is the lowest at which the validation
volumes themselves err no more than stated.  A bar is never below LOWEST_BAR.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.betting import p_value_of_reaching

Floats = NDArray[np.float64]
LOWEST_BAR = 0.7
"""A volume of lower confidence is "uncertain" even where all volumes together err rarely: a low
average must not justify a guess."""
CANDIDATE_BARS = (0.95, 0.9, 0.85, 0.8, 0.75, LOWEST_BAR)
TEST_STARTS = ((2, 0.8), (0, 0.2))
"""Index in CANDIDATE_BARS at which each sequence starts (0.85 and 0.95), and its share of the risk.
With equal shares, 100 subjects with a mean slice error of 2 % promised no bar below 0.95 for a
stated 5 %."""
FALSE_ALARM_SHARE = 0.01
"""Share of the validation volumes, which are in order and upright, that may be flagged as shuffled
or upside down."""
ALLOWED_REJECTED_SHARE = 0.05
"""Share of the volumes of unseen subjects, if they are like the training ones, that each floor may
reject."""


@dataclass(frozen=True)
class GradedAnswer:
    """A decided, labelled volume: its subject, the answer's confidence, whether another doubt
    withholds it, the share of wrong slices."""

    subject: str
    confidence: float
    is_withheld: bool
    error: float


@dataclass(frozen=True)
class Bar:
    """The lowest confidence that is answered.

    promised  whether the test shows the stated error for unseen subjects
    p_value   of the bar chosen, 1 where none was promised
    """

    min_confidence: float
    promised: bool
    p_value: float
    subjects: int


def choose_bar(
    volumes: Sequence[GradedAnswer],
    stated_error: float,
    at_risk: float,
    seed: int = 0,
    bars: Sequence[float] = CANDIDATE_BARS,
    starts: Sequence[tuple[int, float]] = TEST_STARTS,
) -> Bar:
    """The bar for the stated error, from validation volumes.  `seed` only sets the order of the
    subjects in the test; a bar is never below the last of `bars`, which descend."""
    subject_count = len({volume.subject for volume in volumes})
    promised_bar: Bar | None = None
    for start_index, risk_share in starts:
        for candidate_bar in bars[start_index:]:
            errors = _shuffle(_subject_errors(volumes, candidate_bar), seed)
            p_value = p_value_of_reaching(stated_error, errors, risk_share * at_risk)
            if p_value > risk_share * at_risk:
                break
            if promised_bar is None or candidate_bar < promised_bar.min_confidence:
                promised_bar = Bar(
                    candidate_bar, promised=True, p_value=p_value, subjects=subject_count
                )
    return promised_bar or Bar(
        _lowest_bar(volumes, stated_error, bars[-1]),
        promised=False,
        p_value=1.0,
        subjects=subject_count,
    )


def fewest_subjects(stated_error: float, at_risk: float) -> int:
    """The fewest validation subjects for which the stated error can be promised: enough if all are
    answered without an error."""
    greatest_risk = max(risk_share for _, risk_share in TEST_STARTS) * at_risk

    def are_enough(subject_count: int) -> bool:
        return (
            p_value_of_reaching(stated_error, np.zeros(subject_count), greatest_risk)
            <= greatest_risk
        )

    # `are_enough` is monotone in the number of subjects: doubling, then bisection
    sufficient_count = 1
    while not are_enough(sufficient_count):
        sufficient_count *= 2
    least_count = sufficient_count // 2 + 1
    return least_count + bisect_left(range(least_count, sufficient_count), True, key=are_enough)


def risk_coverage(volumes: Sequence[GradedAnswer]) -> list[dict[str, float]]:
    """Risk-coverage curve: bar, coverage, volumes, subjects and risk at each distinct confidence,
    from the highest down.

    Geifman & El-Yaniv (2017), *Selective classification for deep neural networks*, NeurIPS, eqs
    1-2.
    """
    candidates = [volume for volume in volumes if not volume.is_withheld]
    candidates.sort(key=lambda volume: -volume.confidence)
    # by subject: the sum of errors, and the number of volumes
    totals_by_subject: dict[str, tuple[float, int]] = {}
    curve = []
    sum_of_subject_means = 0.0
    # each volume added changes its own subject's mean only
    for answered_count, volume in enumerate(candidates, start=1):
        error_sum, volume_count = totals_by_subject.get(volume.subject, (0.0, 0))
        mean_before = error_sum / volume_count if volume_count else 0.0
        sum_of_subject_means += (error_sum + volume.error) / (volume_count + 1) - mean_before
        totals_by_subject[volume.subject] = error_sum + volume.error, volume_count + 1
        if (
            answered_count == len(candidates)
            or candidates[answered_count].confidence < volume.confidence
        ):
            curve_point = {
                "bar": volume.confidence,
                "coverage": answered_count / len(volumes),
                "volumes": answered_count,
                "subjects": len(totals_by_subject),
                "risk": sum_of_subject_means / len(totals_by_subject),
            }
            curve.append(curve_point)
    return curve


def conformal_floor(values: Floats, allowance: float = ALLOWED_REJECTED_SHARE) -> float:
    """The value that at most `allowance` of unseen volumes fall below: the ⌊allowance (n + 1)⌋-th
    smallest of n; 0 where n is too small.

    A split conformal quantile: Lei et al. (2018), *Distribution-free predictive inference for
    regression*, JASA 113:1094, section 2.2.
    """
    rank = int(np.floor(allowance * (len(values) + 1)))
    if not rank:
        return 0.0
    return float(np.sort(values)[rank - 1])


def _subject_errors(volumes: Sequence[GradedAnswer], bar: float) -> Floats:
    """(n,) mean error of the answered volumes of every subject that has any, by name."""
    errors_by_subject: dict[str, list[float]] = {}
    for volume in volumes:
        if volume.confidence >= bar and not volume.is_withheld:
            errors_by_subject.setdefault(volume.subject, []).append(volume.error)
    return np.array([np.mean(errors_by_subject[subject]) for subject in sorted(errors_by_subject)])


def _shuffle(errors: Floats, seed: int) -> Floats:
    """The errors in random order: an order by name may be one in time, as hospitals number
    patients."""
    return errors[np.random.default_rng(seed).permutation(len(errors))]


def _lowest_bar(
    volumes: Sequence[GradedAnswer], stated_error: float, lowest_allowed: float
) -> float:
    """The lowest bar, at least `lowest_allowed`, at which the volumes themselves err no more than
    stated; 1 where there is none."""
    curve_points = [
        curve_point
        for curve_point in risk_coverage(volumes)
        if curve_point["bar"] >= lowest_allowed
    ]
    if curve_points and curve_points[-1]["risk"] <= stated_error:
        return lowest_allowed
    return min(
        (curve_point["bar"] for curve_point in curve_points if curve_point["risk"] <= stated_error),
        default=1.0,
    )
