"""Weights of the members, held against brute force, the best single member and the plain mean."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from sklearn.model_selection import LeaveOneGroupOut

from fovnet.decision import member_weights as weighing
from fovnet.decision.member_weights import WEIGHTS_BY_WAY, log_loss, mean_by_weights, weigh_by_way


def problem(
    seed: int, p: int, s: int = 60, k: int = 4
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Members (p, s, k) float32 of different skill, truth (s, k) with some double labels, and the subject of
    each slice."""
    rng = np.random.default_rng(seed)
    truth = np.eye(k, dtype=bool)[rng.integers(0, k, s)]
    truth[rng.random(s) < 0.2, 0] = True
    skill = rng.uniform(0, 3, p)[:, None, None]
    score = skill * truth + rng.normal(size=(p, s, k))
    members = np.exp(score) / np.exp(score).sum(axis=2, keepdims=True)
    return members.astype(np.float32), truth, np.arange(s) // 6


def shares_of(truth: np.ndarray) -> np.ndarray:
    return truth / truth.sum(axis=1, keepdims=True)


@settings(max_examples=40)
@given(seed=integers(0, 10**6), p=integers(1, 8), way=integers(0, len(WEIGHTS_BY_WAY) - 1))
def test_weights_are_shares_and_the_stated_loss_is_theirs(seed: int, p: int, way: int) -> None:
    members, truth, groups = problem(seed, p)
    name = list(WEIGHTS_BY_WAY)[way]
    found = weigh_by_way(members, truth, groups, name)
    assert found.way_name == name
    assert found.weights.sum() == pytest.approx(1)
    assert (found.weights >= 0).all()
    whole = np.tensordot(found.weights, members.astype(np.float64), axes=1)
    assert found.loss_by_way[name] == pytest.approx(log_loss(whole, shares_of(truth)))


@settings(max_examples=40)
@given(seed=integers(0, 10**6), p=integers(1, 8))
def test_greedy_is_never_worse_than_the_best_single_member(seed: int, p: int) -> None:
    members, truth, groups = problem(seed, p)
    alone = min(log_loss(member.astype(np.float64), shares_of(truth)) for member in members)
    assert weigh_by_way(members, truth, groups, "greedy").loss_by_way["greedy"] <= alone + 1e-12


@settings(max_examples=20)
@given(seed=integers(0, 10**6))
def test_greedy_of_two_picks_finds_the_best_pair_that_holds_its_first(seed: int) -> None:
    """With as few picks as can be tried: of all multisets of two that hold the best member, none has less
    loss."""
    members, truth, groups = problem(seed, 4)
    shares = shares_of(truth)
    rounds, weighing.GREEDY_PICKS = weighing.GREEDY_PICKS, 2
    try:
        found = weigh_by_way(members, truth, groups, "greedy").loss_by_way["greedy"]
    finally:
        weighing.GREEDY_PICKS = rounds
    losses = [log_loss(member.astype(np.float64), shares) for member in members]
    first = int(np.argmin(losses))
    pairs = [pair for pair in combinations_with_replacement(range(4), 2) if first in pair]
    best = min(
        log_loss(members[list(pair)].mean(axis=0, dtype=np.float64), shares) for pair in pairs
    )
    assert found == pytest.approx(min(best, losses[first]))


def test_greedy_keeps_the_best_mean_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two members that know one half of the slices each: after two picks they have the same weight, and the
    third pick makes it worse."""
    monkeypatch.setattr(weighing, "GREEDY_PICKS", 3)
    truth = np.eye(2, dtype=bool)[np.zeros(8, dtype=int)]
    sure = np.where(np.arange(8) < 4, 0.9, 0.1)
    members = np.stack([np.column_stack([p, 1 - p]) for p in (sure, sure[::-1])])
    np.testing.assert_allclose(weigh_by_way(members, truth, np.arange(8), "greedy").weights, 0.5)


def test_with_one_subject_alone_the_loss_is_that_on_itself() -> None:
    members, truth, _ = problem(3, 4)
    found = weigh_by_way(members, truth, np.zeros(len(truth), dtype=np.int64))
    assert found.held_out_loss_by_way == pytest.approx(dict(found.loss_by_way))


def test_equal_say_is_the_mean() -> None:
    members, truth, groups = problem(1, 5)
    np.testing.assert_allclose(
        mean_by_weights(members, weigh_by_way(members, truth, groups, "equal").weights),
        members.mean(axis=0, dtype=np.float64),
    )


def test_by_loss_gives_a_member_with_a_nat_less_over_all_subjects_e_times_the_weight() -> None:
    """Two members certain at p and at p e^(-1/n) on every slice, n subjects: exp(-n · difference) = 1/e."""
    truth, groups = np.eye(2, dtype=bool)[np.zeros(40, dtype=int)], np.arange(40) % 8
    sure = np.tile([0.8, 0.2], (40, 1))
    less = np.tile([0.8 * np.exp(-1 / 8), 1 - 0.8 * np.exp(-1 / 8)], (40, 1))
    weights = weigh_by_way(np.stack([sure, less]), truth, groups, "by-loss").weights
    assert weights[0] / weights[1] == pytest.approx(np.e)


def test_the_way_is_chosen_on_subjects_left_out() -> None:
    """One member knows the labels, nine are noise: equal weights lose; if all are copies of one, all ways are
    alike and equal is kept."""
    members, truth, groups = problem(2, 10, s=120)
    known = np.where(truth / truth.sum(axis=1, keepdims=True) > 0, 0.9, 0.1 / 3).astype(np.float32)
    members[0] = known / known.sum(axis=1, keepdims=True)
    chosen = weigh_by_way(members, truth, groups)
    assert chosen.way_name != "equal"
    assert (
        chosen.held_out_loss_by_way[chosen.way_name]
        == min(chosen.held_out_loss_by_way.values())
        < chosen.held_out_loss_by_way["equal"]
    )
    assert weigh_by_way(np.stack([members[3]] * 4), truth, groups).way_name == "equal"


@pytest.mark.parametrize("way", WEIGHTS_BY_WAY)
def test_the_loss_on_subjects_left_out_is_that_of_weights_made_without_them(way: str) -> None:
    """As scikit-learn leaves out one group of five after another; eight members that know nothing are weighed
    well on those they were weighed on only."""
    rng = np.random.default_rng(4)
    groups, label = np.repeat(np.arange(5), [4, 6, 8, 10, 12]), rng.integers(0, 3, 40)
    members, truth = rng.dirichlet(np.ones(3), (8, 40)), np.eye(3, dtype=bool)[label]
    wanted = [
        log_loss(
            mean_by_weights(
                members[:, out],
                weigh_by_way(members[:, kept], truth[kept], groups[kept], way).weights,
            ),
            truth[out],
        )
        for kept, out in LeaveOneGroupOut().split(label, groups=groups)
    ]
    found = weigh_by_way(members, truth, groups, way)
    # mean over slices, not people
    assert found.held_out_loss_by_way[way] == pytest.approx(
        np.average(wanted, weights=np.bincount(groups))
    )
    assert way == "equal" or found.held_out_loss_by_way[way] > found.loss_by_way[way]
