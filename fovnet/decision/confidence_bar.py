"""The confidence threshold (bar) for answering, chosen so that answers to unseen subjects err no more often
than stated.

    a volume's error     share of its slices that are decided wrongly
    a subject's error    mean of that over the subject's volumes that are answered; subjects without any do
                         not count
    risk                 the mean error of subjects            coverage  share of the volumes that are
        answered

A bar is *promised* if the validation subjects reject the hypothesis "the risk above it is the stated error or
more".  From each start, the bars of BARS are tested in descending order until one does not reject, and the
two starts share the level (fixed-sequence testing). The promise then fails for at most `at_risk` of all
validation splits, whatever the networks are: Angelopoulos et al. (2021), *Learn then test*, arXiv:2110.01052,
section 4.3, with the p-value of maths/betting.py.  It takes about ln(1 / (0.8 at_risk)) / -ln(1 - stated)
subjects without an error, 51 for 5 % at risk 10 %.  If no bar is promised, the bar is the lowest at which the
validation volumes themselves err no more than stated.  A bar is never below SURE_ENOUGH.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.betting import chance_of_reaching

Floats = NDArray[np.float64]
SURE_ENOUGH = 0.7
"""A volume of lower confidence is "uncertain" even where all volumes together err rarely: a low average must
not justify a guess."""
BARS = (0.95, 0.9, 0.85, 0.8, 0.75, SURE_ENOUGH)
STARTS = ((2, 0.8), (0, 0.2))
"""Place in BARS where each sequence starts (0.85 and 0.95), and its share of the risk.  With equal shares,
100 subjects with a mean slice error of 2 % promised no bar below 0.95 for a stated 5 %."""
FALSE_ALARMS = 0.01
"""Share of the validation volumes, which are in order and upright, that may be flagged as shuffled or upside
down."""
ALLOWANCE = 0.05
"""Share of the volumes of unseen subjects, if they are like the training ones, that each floor may reject."""


@dataclass(frozen=True)
class GradedAnswer:
    """A decided, labelled volume: its subject, the answer's confidence, whether another doubt withholds it,
    the share of wrong slices."""

    subject: str
    sure: float
    withheld: bool
    wrong: float


@dataclass(frozen=True)
class Bar:
    """The lowest confidence that is answered.

    promised  whether the test shows the stated error for unseen subjects     p_value   of the bar chosen, 1
        where none was promised
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
    bars: Sequence[float] = BARS,
    starts: Sequence[tuple[int, float]] = STARTS,
) -> Bar:
    """The bar for the stated error, from validation volumes.  `seed` only sets the order of the subjects in
    the test; a bar is never below the last of `bars`, which descend."""
    found: tuple[float, float] | None = None
    for start, share in starts:
        for height in bars[start:]:
            p = chance_of_reaching(
                stated_error, _shuffled(_errors(volumes, height), seed), share * at_risk
            )
            if p > share * at_risk:
                break
            if found is None or height < found[0]:
                found = height, p
    people = len({one.subject for one in volumes})
    if found:
        return Bar(found[0], True, found[1], people)
    return Bar(_held(volumes, stated_error, bars[-1]), False, 1.0, people)


def fewest_people(stated_error: float, at_risk: float) -> int:
    """The fewest validation subjects for which the stated error can be promised: enough if all are answered
    without an error."""
    most = max(share for _, share in STARTS) * at_risk

    def enough(people: int) -> bool:
        return chance_of_reaching(stated_error, np.zeros(people), most) <= most

    # `enough` is monotone in the number of people: doubling, then bisection
    high = 1
    while not enough(high):
        high *= 2
    return high // 2 + 1 + bisect_left(range(high // 2 + 1, high), True, key=enough)


def risk_coverage(volumes: Sequence[GradedAnswer]) -> list[dict[str, float]]:
    """Risk-coverage curve: bar, coverage, volumes, subjects and risk at each distinct confidence, from the
    highest down.

    Geifman & El-Yaniv (2017), *Selective classification for deep neural networks*, NeurIPS, eqs 1-2.
    """
    ordered = sorted((one for one in volumes if not one.withheld), key=lambda one: -one.sure)
    whose: dict[str, tuple[float, int]] = {}
    curve, total = [], 0.0
    # each volume added changes its own subject's mean only
    for given, one in enumerate(ordered, start=1):
        wrong, answered = whose.get(one.subject, (0.0, 0))
        total += (wrong + one.wrong) / (answered + 1) - (wrong / answered if answered else 0.0)
        whose[one.subject] = wrong + one.wrong, answered + 1
        if given == len(ordered) or ordered[given].sure < one.sure:
            curve.append(
                {
                    "bar": one.sure,
                    "coverage": given / len(volumes),
                    "volumes": given,
                    "subjects": len(whose),
                    "risk": total / len(whose),
                }
            )
    return curve


def floor(values: Floats, allowance: float = ALLOWANCE) -> float:
    """The value that at most `allowance` of unseen volumes fall below: the ⌊allowance (n + 1)⌋-th smallest of
    n; 0 where n is too small.

    A split conformal quantile: Lei et al. (2018), *Distribution-free predictive inference for regression*,
    JASA 113:1094, section 2.2.
    """
    rank = int(np.floor(allowance * (len(values) + 1)))
    return float(np.sort(values)[rank - 1]) if rank else 0.0


def _is_given(one: GradedAnswer, height: float) -> bool:
    return one.sure >= height and not one.withheld


def _errors(volumes: Sequence[GradedAnswer], height: float) -> Floats:
    """(n,) mean error of the answered volumes of every subject that has any, by name."""
    whose: dict[str, list[float]] = {}
    for one in volumes:
        if _is_given(one, height):
            whose.setdefault(one.subject, []).append(one.wrong)
    return np.array([np.mean(whose[subject]) for subject in sorted(whose)])


def _shuffled(errors: Floats, seed: int) -> Floats:
    """The errors in random order: an order by name may be one in time, as hospitals number patients."""
    return errors[np.random.default_rng(seed).permutation(len(errors))]


def _held(volumes: Sequence[GradedAnswer], stated_error: float, lowest: float) -> float:
    """The lowest bar, at least `lowest`, at which the volumes themselves err no more than stated; 1 where
    there is none."""
    sure = [point for point in risk_coverage(volumes) if point["bar"] >= lowest]
    if not sure or sure[-1]["risk"] <= stated_error:
        return lowest if sure else 1.0
    return min((point["bar"] for point in sure if point["risk"] <= stated_error), default=1.0)
