"""The bars of yes and no: what is promised of people never seen holds, and probabilities are honest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from fovnet.decision.calibrations import IDENTITY_LINE
from fovnet.decision.chain.spans import decide_volume
from fovnet.decision.confidence_bar import GradedAnswer, choose_bar, fewest_subjects
from fovnet.decision.doubts import Signs
from fovnet.decision.fitting.objective import TuningExample
from fovnet.decision.fitting.statement_bars import (
    CANDIDATE_BARS,
    TEST_STARTS,
    LabelledDecision,
    fit_statement_bars,
    region_labels,
)
from fovnet.decision.rule import Rule
from fovnet.decision.statements import region_probabilities
from fovnet.regions import DEFAULT

N, R = len(DEFAULT.chain), len(DEFAULT.classes) - 1
STATED, AT_RISK = 0.02, 0.1


def truth_of(*runs: tuple[tuple[str, ...], int]) -> np.ndarray:
    """The labels of slices from the feet up: of every run its regions, and how many slices."""
    rows = [
        [name in names for name in DEFAULT.classes] for names, count in runs for _ in range(count)
    ]
    truth = np.array(rows)
    truth[:, -1] = ~truth[:, :-1].any(axis=1)
    return truth


def test_a_region_is_shown_from_so_many_millimetres_on() -> None:
    """Slices of 4 mm: two of the pelvis are too few, three are enough."""
    edges_mm = 4.0 * np.arange(16)
    for count, enough in ((2, False), (3, True)):
        truth = truth_of((("pelvis",), count), (("abdomen",), 15 - count))
        shown, known = region_labels(truth, edges_mm, N, 10.0)
        assert shown[1] == enough and shown[2] and known.all()


def test_labels_of_a_spine_alone_do_not_tell_what_else_is_shown() -> None:
    """But for what they name in other slices; and they tell that the spine is shown."""
    truth = truth_of((("spine", "chest"), 5), (("spine",), 10))
    shown, known = region_labels(truth, 4.0 * np.arange(16), N, 10.0)
    assert shown.tolist() == [name in ("chest", "spine") for name in DEFAULT.classes[:-1]]
    assert known.tolist() == shown.tolist()


def graded(seed: int, subjects: int, slope: float) -> list[GradedAnswer]:
    """Three statements of a person, wrong as often as `slope` times their doubt, more or less by person."""
    rng = np.random.default_rng(seed)
    return [
        GradedAnswer(
            f"s{subject}",
            float(sure),
            False,
            float(rng.random() < min(1.0, slope * mood * (1 - sure))),
        )
        for subject in range(subjects)
        for mood in [rng.uniform(0, 2)]
        for sure in rng.beta(12, 0.6, 3)
    ]


def risk(volumes: list[GradedAnswer], height: float) -> float:
    whose: dict[str, list[float]] = {}
    for one in volumes:
        if one.confidence >= height:
            whose.setdefault(one.subject, []).append(one.error)
    return float(np.mean([np.mean(wrong) for wrong in whose.values()]))


@pytest.mark.parametrize("slope", [0.1, 0.7, 1.5])
def test_a_promise_of_a_kind_is_broken_no_more_often_than_half_the_risk(slope: float) -> None:
    """150 validation splits of 250 people, the truth from 40,000 others; both kinds together keep it."""
    others = graded(10**6, 40_000, slope)
    true = {height: risk(others, height) for height in CANDIDATE_BARS}
    found = [
        choose_bar(graded(seed, 250, slope), STATED, AT_RISK / 2, seed, CANDIDATE_BARS, TEST_STARTS)
        for seed in range(150)
    ]
    broken = sum(one.promised and true[one.min_confidence] > STATED for one in found)
    assert broken <= binom.ppf(0.999, len(found), AT_RISK / 2)
    if slope == 0.1:
        assert sum(one.promised for one in found) > 75


def test_so_many_people_it_takes_to_promise_two_in_a_hundred() -> None:
    assert fewest_subjects(STATED, AT_RISK / 2) == 164


def told(seed: int, bodies: Callable[..., TuningExample]) -> LabelledDecision:
    """A part of a noisy body, decided; its truth."""
    rng, one = np.random.default_rng(seed), bodies(seed, noise=3.0)
    low, high = sorted(rng.choice(np.arange(1, len(one.z_mm) - 1), 2, replace=False))
    rows = slice(int(low), int(max(high, low + 6)))
    z_mm, truth = one.z_mm[rows], one.truth[rows]
    decision = decide_volume(one.probabilities[rows], z_mm, DEFAULT, Rule(temperature=0.5))
    edges_mm = np.append(z_mm - 2.5, z_mm[-1] + 2.5)
    return LabelledDecision(
        f"s{seed // 2}", decision, Signs({}), region_labels(truth, edges_mm, N, 10.0)
    )


def test_probabilities_are_right_as_often_as_they_say(bodies: Callable[..., TuningExample]) -> None:
    """Fitted on 150 volumes, of 150 others; of regions of the chain, as no spine was seen to learn from."""
    seen, others = (
        [told(seed, bodies) for seed in seeds] for seeds in (range(150), range(150, 300))
    )
    rule, facts = fit_statement_bars(
        Rule(temperature=0.5), seen, DEFAULT, stated_error=0.1, at_risk=0.1, seed=1
    )
    chance = np.concatenate(
        [region_probabilities(one.decision.presence, rule, N)[:N] for one in others]
    )
    shown = np.concatenate([one.labels.is_shown[:N] for one in others])
    assert chance.mean() == pytest.approx(shown.mean(), abs=0.03)
    for low, high in ((0.0, 0.1), (0.1, 0.9), (0.9, 1.0)):
        inside = (chance >= low) & (chance <= high)
        assert chance[inside].mean() == pytest.approx(shown[inside].mean(), abs=0.1)
    assert rule.states_regions and 0.7 <= rule.yes_bar <= 1 and 0.7 <= rule.no_bar <= 1
    assert facts["yes"]["subjects"] == 75
    assert facts["yes"]["statements"] + facts["no"]["statements"] == 150 * R


def test_few_volumes_leave_probabilities_as_they_are_and_promise_nothing(
    bodies: Callable[..., TuningExample],
) -> None:
    rule, facts = fit_statement_bars(
        Rule(),
        [told(seed, bodies) for seed in range(2)],
        DEFAULT,
        stated_error=0.02,
        at_risk=0.1,
        seed=1,
    )
    assert (rule.chain_line, rule.side_line) == (IDENTITY_LINE, IDENTITY_LINE)
    assert not facts["yes"]["promised"] and not facts["no"]["promised"]
