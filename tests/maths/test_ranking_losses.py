"""Losses of orders against brute force, Cox's likelihood, torch and scikit-learn."""

import itertools

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from sklearn.metrics import log_loss, mean_squared_error

from fovnet.maths.ranking_losses import (
    LOSSES,
    SHARPNESS,
    WEIGHTS,
    find_tie_starts,
    levels,
    list_mle,
    list_net,
    rank_net,
    squared_level_error,
    weigh_places,
)

rng = np.random.default_rng(0)
TIED = find_tie_starts(np.array([1.0, 2.0, 2.0, 2.0, 5.0, 6.0, 6.0]))
SINGLE = np.arange(7)
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
every_list = pytest.mark.parametrize(
    "first", [SINGLE, TIED, np.zeros(7, dtype=np.int64)], ids=["single", "tied", "all"]
)


def likelihood(scores):
    """The probability of an order under Plackett and Luce: of each choice among what is left."""
    left = np.exp(scores)
    return np.prod([left[j] / left[j:].sum() for j in range(len(left))])


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_the_list_loss_is_minus_the_log_likelihood_of_the_order(n):
    s = rng.normal(size=n)
    orders = np.array(list(itertools.permutations(range(n))))
    chances = np.exp(-list_mle(s[orders], np.ones(n), np.arange(n))[0])
    assert chances.sum() == pytest.approx(1.0, rel=1e-12)
    assert np.allclose(chances, [likelihood(s[order]) for order in orders], rtol=1e-12)
    assert (orders[chances.argmax()] == np.argsort(-s)).all()


@pytest.mark.parametrize("kind", WEIGHTS)
def test_tied_places_have_coxs_partial_likelihood_in_breslows_form_and_no_order(kind):
    s, c = rng.normal(size=7), weigh_places(kind, TIED)
    at_risk = [logsumexp(s[first:]) for first in TIED]
    value, gradient = list_mle(s[None], c, TIED)
    assert value[0] == pytest.approx(sum(c * (at_risk - s)), rel=1e-12)
    swapped = [0, 3, 1, 2, 4, 6, 5]
    other, turned = list_mle(s[None, swapped], c, TIED)
    assert other == pytest.approx(value, rel=1e-14) and turned == pytest.approx(
        gradient[:, swapped], rel=1e-12
    )


@every_loss
@every_list
@pytest.mark.parametrize("kind", WEIGHTS)
def test_gradients_are_those_of_central_differences(loss, first, kind):
    s, c, step = rng.normal(size=(3, 7)), weigh_places(kind, first), 1e-5
    _, gradient = loss(s, c, first)
    for j in range(7):
        moved = step * (np.arange(7) == j)
        slope = (loss(s + moved, c, first)[0] - loss(s - moved, c, first)[0]) / (2 * step)
        assert gradient[:, j] == pytest.approx(slope, rel=1e-6, abs=1e-9)


def of_torch(name, s, c, first):
    """The loss (M,) in torch's own words."""
    n, level = s.shape[1], torch.tensor(levels(first))
    if name == "list":
        log_q = torch.logcumsumexp(s.flip(1), dim=1).flip(1)[:, torch.tensor(first)]
        return (torch.tensor(c) * (log_q - s)).sum(dim=1)
    if name == "net":
        wanted = torch.softmax(SHARPNESS * level, dim=0).expand_as(s)
        return torch.nn.functional.cross_entropy(s, wanted, reduction="none")
    if name == "point":
        return torch.nn.functional.mse_loss(s, level.expand_as(s), reduction="none").mean(dim=1)
    pairs = [(i, j) for i in range(n) for j in range(n) if first[i] < first[j]]
    better, worse = (torch.tensor(side) for side in zip(*pairs, strict=True))
    over = s[:, better] - s[:, worse]
    wanted = torch.ones_like(over)
    return torch.nn.functional.binary_cross_entropy_with_logits(
        over, wanted, reduction="none"
    ).mean(dim=1)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("first", [SINGLE, TIED], ids=["single", "tied"])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_losses_and_gradients_are_torchs(name, first, kind):
    s = torch.tensor(3.0 * rng.normal(size=(4, 7)), requires_grad=True)
    c = weigh_places(kind, first)
    theirs = of_torch(name, s, c, first)
    theirs.sum().backward()
    value, gradient = LOSSES[name](s.detach().numpy(), c, first)
    assert np.allclose(value, theirs.detach(), rtol=1e-12) and np.allclose(
        gradient, s.grad, rtol=1e-9, atol=1e-13
    )


@every_list
@pytest.mark.parametrize("loss", [list_mle, rank_net, list_net])
def test_a_constant_added_to_all_scores_changes_nothing(loss, first):
    s, c = rng.normal(size=(3, 7)), weigh_places("log", first)
    value, gradient = loss(s, c, first)
    assert loss(s + 7.5, c, first)[0] == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert np.abs(gradient.sum(axis=1)).max() < 1e-12


@every_list
@pytest.mark.parametrize("loss", [list_mle, list_net])
def test_losses_of_lists_are_convex_in_the_scores(loss, first):
    one, other = 3.0 * rng.normal(size=(2, 500, 7))
    ends = [
        loss(s, weigh_places("inverse", first), first)[0] for s in (one, other, 0.5 * (one + other))
    ]
    assert (ends[2] <= 0.5 * (ends[0] + ends[1]) + 1e-12).all()


def test_a_right_order_scaled_up_costs_nothing_and_a_wrong_one_ever_more():
    right, c = np.arange(7.0)[::-1][None], weigh_places("log", SINGLE)
    for loss in (list_mle, rank_net):
        falling = [loss(scale * right, c, SINGLE)[0][0] for scale in (1.0, 3.0, 10.0, 40.0)]
        assert falling == sorted(falling, reverse=True) and 0.0 <= falling[-1] < 1e-16
        assert loss(-40.0 * right, c, SINGLE)[0][0] > 10.0


@every_loss
def test_scores_of_700_and_long_lists_give_finite_values_and_gradients(loss):
    s = np.stack(
        [
            rng.choice([-700.0, 700.0], 2000),
            np.linspace(-700, 700, 2000),
            np.linspace(700, -700, 2000),
        ]
    )
    first = find_tie_starts(np.sort(rng.integers(0, 1500, 2000)))
    for value in loss(s, weigh_places("log", first), first):
        assert np.isfinite(value).all()


def test_pairs_and_points_are_scikit_learns():
    s, level = rng.normal(size=(1, 7)), levels(TIED)
    over = [s[0, i] - s[0, j] for i in range(7) for j in range(7) if TIED[i] < TIED[j]]
    # log_loss wants both classes: each pair twice
    mirrored = np.array([*over, *(-one for one in over)])
    wanted = np.repeat([1, 0], len(over))
    assert rank_net(s, SINGLE, TIED)[0] == pytest.approx(
        log_loss(wanted, 1 / (1 + np.exp(-mirrored))), rel=1e-12
    )
    assert squared_level_error(s, SINGLE, TIED)[0] == pytest.approx(
        mean_squared_error(level, s[0]), rel=1e-12
    )


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_fall_by_place_and_ties_share_theirs(kind):
    alone, tied = weigh_places(kind, SINGLE), weigh_places(kind, TIED)
    assert (np.diff(alone) <= 0).all() and tied.sum() == pytest.approx(alone.sum())
    assert tied[1] == tied[2] == tied[3] == pytest.approx(alone[1:4].mean()) and tied[4] == alone[4]


def test_linear_weights_sum_to_one_and_the_best_place_weighs_1_44_by_logarithms():
    assert weigh_places("linear", SINGLE).sum() == pytest.approx(1.0)
    assert weigh_places("log", SINGLE)[0] == pytest.approx(1.0 / np.log(2.0))
    assert weigh_places("inverse", SINGLE)[3] == 0.25
