"""When to abstain: what is stated holds on people never seen, and what cannot be shown is not promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from scipy.stats import binom
from sklearn.metrics import auc

from fovnet.decision.confidence_bar import (
    ALLOWED_REJECTED_SHARE,
    CANDIDATE_BARS,
    LOWEST_BAR,
    GradedAnswer,
    choose_bar,
    conformal_floor,
    fewest_subjects,
    risk_coverage,
)

STATED, AT_RISK = 0.05, 0.1


def people(seed: int, subjects: int, slope: float = 0.25, volumes: int = 4) -> list[GradedAnswer]:
    """Volumes whose wrong share is about `slope` times their doubt, more or less by subject: subjects differ,
    and stay what they are."""
    rng = np.random.default_rng(seed)
    graded = []
    for subject in range(subjects):
        mood = rng.uniform(0, 2)
        for sure in rng.beta(9, 1, volumes):
            wrong = rng.random() < 0.6 and rng.beta(2, 2) * 2 * slope * mood * (1 - sure) / 0.6
            graded.append(
                GradedAnswer(
                    f"s{subject}", float(sure), bool(rng.random() < 0.05), float(min(1.0, wrong))
                )
            )
    return graded


def risk(volumes: list[GradedAnswer], height: float) -> float:
    """Mean over subjects of the mean wrong share of their answered volumes, counted by hand."""
    whose: dict[str, list[float]] = {}
    for one in volumes:
        if one.confidence >= height and not one.is_withheld:
            whose.setdefault(one.subject, []).append(one.error)
    return float(np.mean([np.mean(wrong) for wrong in whose.values()]))


@pytest.mark.parametrize("slope", [0.3, 0.55, 1.0])
def test_a_promise_is_broken_no_more_often_than_stated(slope: float) -> None:
    """200 validation splits of 80 people; the true risk above each bar from 20,000 others. Slopes: far below,
    about at, above the limit."""
    others = people(10**6, 20_000, slope)
    truth = {height: risk(others, height) for height in CANDIDATE_BARS}
    found = [choose_bar(people(seed, 80, slope), STATED, AT_RISK, seed) for seed in range(200)]
    broken = sum(one.promised and truth[one.min_confidence] > STATED for one in found)
    assert broken <= binom.ppf(0.999, len(found), AT_RISK)


def test_good_networks_and_enough_people_earn_a_promise_and_few_people_do_not() -> None:
    assert (
        sum(
            choose_bar(people(seed, 150, 0.15), STATED, AT_RISK, seed).promised
            for seed in range(20)
        )
        >= 18
    )
    for seed in range(10):
        few = choose_bar(people(seed, 20, 0.0), STATED, AT_RISK, seed)
        assert not few.promised and few.p_value == 1 and few.subjects == 20
        assert few.min_confidence == LOWEST_BAR


@settings(max_examples=50)
@given(seed=integers(0, 10**6), subjects=integers(1, 12))
def test_without_a_promise_the_examples_keep_the_stated_error(seed: int, subjects: int) -> None:
    volumes = people(seed, subjects, 2.0)
    found = choose_bar(volumes, STATED, AT_RISK, seed)
    assert LOWEST_BAR <= found.min_confidence <= 1
    if any(one.confidence >= found.min_confidence and not one.is_withheld for one in volumes):
        assert risk(volumes, found.min_confidence) <= STATED + 1e-12


def test_the_curve_is_the_risk_of_each_bar_and_ends_with_all_that_may_be_answered() -> None:
    volumes = people(3, 12, 1.0)
    curve = risk_coverage(volumes)
    for point in curve:
        assert point["risk"] == pytest.approx(risk(volumes, point["bar"]))
    assert curve[-1]["coverage"] == pytest.approx(np.mean([not one.is_withheld for one in volumes]))
    assert (np.diff([point["coverage"] for point in curve]) > 0).all()
    assert 0 <= auc([point["coverage"] for point in curve], [point["risk"] for point in curve]) <= 1


def test_a_floor_turns_away_no_more_of_the_unseen_than_allowed() -> None:
    """Mean over 400 draws of 80 values; the conformal rank keeps it at or below, and within a value's worth
    of, the allowance."""
    rng = np.random.default_rng(0)
    below = [
        (rng.normal(size=1000) < conformal_floor(rng.normal(size=80))).mean() for _ in range(400)
    ]
    assert (
        ALLOWED_REJECTED_SHARE - 1 / 81 - 0.003 < np.mean(below) <= ALLOWED_REJECTED_SHARE + 0.003
    )
    assert conformal_floor(np.arange(1.0, 19.0)) == 0  # one in twenty is less than one of 18


def test_one_person_fewer_than_it_takes_promises_nothing() -> None:
    """51 without a fault for 5 % at a risk of 10 %: the two starts share the risk, and with 50 neither has
    enough of it left."""
    people = fewest_subjects(0.05, 0.1)
    faultless = [GradedAnswer(f"p{number}", 0.99, False, 0.0) for number in range(people)]
    assert (
        people == 51
        and choose_bar(faultless, 0.05, 0.1).promised
        and not choose_bar(faultless[1:], 0.05, 0.1).promised
    )


@pytest.mark.parametrize("stated", [0.01, 0.02, 0.03, 0.1, 0.4, 0.9])
def test_the_fewest_people_are_the_first_with_whom_it_can_be_promised(stated: float) -> None:
    """Counted up one by one: never before, and always from there on."""
    fewest = fewest_subjects(stated, AT_RISK)
    promised = [
        choose_bar(
            [GradedAnswer(f"p{number}", 0.99, False, 0.0) for number in range(n)], stated, AT_RISK
        ).promised
        for n in (max(1, fewest - 1), fewest, fewest + 1, 2 * fewest)
    ]
    assert promised == [fewest == 1, True, True, True]


def graded(count: int, sure: float, wrong: float, withheld: bool = False) -> list[GradedAnswer]:
    return [
        GradedAnswer(f"{sure}-{wrong}-{number}", sure, withheld, wrong) for number in range(count)
    ]


def test_an_answer_as_sure_as_the_bar_is_given() -> None:
    """60 who are sure and right, and 60 wrong ones exactly as sure as the lowest bar: it is not promised."""
    assert (
        choose_bar(
            graded(60, 0.99, 0.0) + graded(60, LOWEST_BAR, 1.0), STATED, AT_RISK
        ).min_confidence
        == 0.75
    )
    for few in (graded(1, LOWEST_BAR, 0.0), graded(3, 0.9, 0.0)):
        assert choose_bar(few, STATED, AT_RISK).min_confidence == LOWEST_BAR


def test_where_nobody_is_sure_enough_nothing_is_answered() -> None:
    found = choose_bar(graded(30, 0.69, 0.0), STATED, AT_RISK)
    assert (found.min_confidence, found.promised, found.subjects) == (1.0, False, 30)
    assert choose_bar(graded(7, 0.99, 0.0, withheld=True), STATED, AT_RISK).subjects == 7


@settings(max_examples=30)
@given(seed=integers(0, 10**6))
def test_in_what_order_volumes_are_listed_is_of_no_account(seed: int) -> None:
    volumes = people(seed, 80, 0.2)
    order = np.random.default_rng(seed).permutation(len(volumes))
    one, other = (
        choose_bar(volumes, STATED, AT_RISK, 1),
        choose_bar([volumes[at] for at in order], STATED, AT_RISK, 1),
    )
    assert (one.min_confidence, one.promised, one.subjects) == (
        other.min_confidence,
        other.promised,
        other.subjects,
    )
    assert one.p_value == pytest.approx(other.p_value, rel=1e-9)


def test_the_bar_is_the_lowest_that_either_start_reaches() -> None:
    """80 without a fault at 0.96 reject at either start's share of the risk; with those between 0.9 and 0.95
    the smaller share does not, and the larger one does at every bar."""
    found = choose_bar(graded(80, 0.96, 0.0) + graded(4, 0.92, 0.3), STATED, AT_RISK)
    assert (found.promised, found.min_confidence) == (
        True,
        LOWEST_BAR,
    ) and 0.02 < found.p_value <= 0.08


def test_what_another_doubt_withholds_is_no_answer_and_no_error() -> None:
    """60 people who are answered rightly, and the same with a volume each that is wrong, sure, and
    withheld."""
    right = [GradedAnswer(f"p{number}", 0.99, False, 0.0) for number in range(60)]
    withheld = [GradedAnswer(f"p{number}", 0.99, True, 1.0) for number in range(60)]
    assert (
        choose_bar(right + withheld, 0.05, 0.1) == choose_bar(right, 0.05, 0.1)
        and choose_bar(right, 0.05, 0.1).min_confidence == LOWEST_BAR
    )
