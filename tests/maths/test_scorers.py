"""Batched networks against torch's, against themselves alone, and what they learn of orders."""

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.ranking_losses import LOSSES, find_tie_starts, list_mle, weigh_places
from fovnet.maths.scorers import (
    Adam,
    Layers,
    backward,
    cosine_rate,
    forward,
    parameter_count,
    score_points,
)

rng = np.random.default_rng(0)
WIDTHS = (5, 32, 32, 1)
X = rng.random((20, 5))
SINGLE = np.arange(20)
LOG = weigh_places("log", SINGLE)


def drawn(members=4, seed=1, widths=WIDTHS):
    return Layers.draw(widths, members, np.random.default_rng(seed))


def one_list(x, c=LOG, first=SINGLE, loss=list_mle):
    return lambda: Batch(x, x[:0], lambda s: loss(s[..., 0], c, first)[1][..., None] / len(first))


def torch_scores(layers, member, x):
    """The scores (n,) of one network, and its parameters as torch's leaves."""
    leaves, h = [], torch.tensor(x)
    for i, (w, b) in enumerate(layers.views):
        leaves += [torch.tensor(one[member], requires_grad=True) for one in (w, b)]
        h = (torch.relu(h) if i else h) @ leaves[-2] + leaves[-1]
    return h[:, 0], leaves


def test_parameters_are_views_of_one_array_and_start_within_torchs_bounds():
    layers = drawn(members=200)
    assert (
        layers.flat.shape
        == (200, parameter_count(WIDTHS))
        == (200, 5 * 32 + 32 + 32 * 32 + 32 + 32 + 1)
    )
    assert all(np.shares_memory(one, layers.flat) for pair in layers.views for one in pair)
    theirs = torch.nn.Linear(32, 32)
    for (w, b), inputs in zip(layers.views, WIDTHS[:-1], strict=True):
        assert (
            0.98 / np.sqrt(inputs) < max(np.abs(w).max(), np.abs(b).max()) <= 1.0 / np.sqrt(inputs)
        )
    w = layers.views[1][0]
    assert w.std() == pytest.approx(theirs.weight.std().item(), rel=0.05)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("widths", [(5, 1), (5, 7, 1), WIDTHS, (5, 8, 6, 4, 1)])
def test_scores_and_gradients_of_whole_networks_are_torchs(name, widths):
    layers, first = drawn(widths=widths), find_tie_starts(np.sort(rng.integers(0, 12, 20)))
    c = weigh_places("log", first)
    values = forward(layers, X)
    _, slope = LOSSES[name](values[-1][..., 0], c, first)
    found = Layers(widths, backward(layers, values, slope[..., None])[0]).views
    for member in range(4):
        theirs, leaves = torch_scores(layers, member, X)
        assert np.allclose(score_points(layers, X)[member], theirs.detach(), atol=1e-13)
        theirs.backward(torch.tensor(slope[member]))
        mine = [one[member] for pair in found for one in pair]
        assert all(
            np.allclose(a, b.grad, rtol=1e-9, atol=1e-12) for a, b in zip(mine, leaves, strict=True)
        )


def test_gradients_are_those_of_central_differences():
    layers, step = drawn(), 1e-6
    values = forward(layers, X)
    gradient = backward(layers, values, list_mle(values[-1][..., 0], LOG, SINGLE)[1][..., None])[0]
    for k in rng.integers(0, parameter_count(WIDTHS), 40):
        ends = []
        for side in (step, -step):
            moved = Layers(WIDTHS, layers.flat + side * (np.arange(parameter_count(WIDTHS)) == k))
            ends.append(list_mle(score_points(moved, X), LOG, SINGLE)[0])
        assert gradient[:, k] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-7)


def test_networks_trained_at_once_are_those_trained_alone():
    together = drawn()
    alone = [Layers(WIDTHS, together.flat[[member]]) for member in range(4)]
    lone = np.concatenate([score_points(one, X) for one in alone])
    assert np.abs(score_points(together, X) - lone).max() < 1e-12
    for layers in (together, *alone):
        train(Ranker(layers), one_list(X), 300, 0.02, 0.0005)
    assert np.abs(together.flat - np.concatenate([one.flat for one in alone])).max() < 1e-9


def test_inputs_of_each_network_its_own_are_scored_apart():
    layers, own = drawn(), rng.random((4, 20, 5))
    values = forward(layers, own)
    gradient = backward(layers, values, np.ones((4, 20, 1)))[0]
    for member in range(4):
        alone = Layers(WIDTHS, layers.flat[[member]])
        values = forward(alone, own[member])
        assert np.allclose(score_points(layers, own)[member], values[-1][0, :, 0], atol=1e-13)
        assert np.allclose(
            gradient[member], backward(alone, values, np.ones((1, 20, 1)))[0], atol=1e-11
        )


def test_adam_and_its_rate_are_torchs():
    mine, theirs = (
        rng.normal(size=(3, 8)),
        torch.nn.Parameter(torch.zeros((3, 8), dtype=torch.float64)),
    )
    theirs.data = torch.tensor(mine.copy())
    adam, optimiser = Adam(mine), torch.optim.Adam([theirs], lr=0.02)
    annealing = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 50, 0.0005)
    for step in range(50):
        rate = cosine_rate(step, 50, 0.02, 0.0005)
        assert rate == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-10)
        gradient = rng.normal(size=(3, 8)) * 10.0 ** rng.integers(-6, 3)
        theirs.grad = torch.tensor(gradient)
        adam.step(gradient, rate)
        optimiser.step()
        annealing.step()
        assert np.abs(mine - theirs.detach().numpy()).max() < 1e-10
    assert cosine_rate(50, 50, 0.02, 0.0005) == pytest.approx(0.0005, rel=1e-12)


@pytest.mark.parametrize(
    ("loss_of", "least"), [(lambda x: -x, 0.99), (lambda x: (x - 0.4) ** 2, 0.95)]
)
def test_the_order_of_200_rows_is_learned_from_30(loss_of, least):
    every = np.linspace(0.0, 1.0, 200)[:, None]
    known = rng.choice(200, 30, replace=False)
    known = known[np.argsort(loss_of(every[known, 0]))]
    layers, first = drawn(10, widths=(1, 32, 32, 1)), np.arange(30)
    train(
        Ranker(layers), one_list(every[known], weigh_places("log", first), first), 300, 0.02, 0.0005
    )
    order = score_points(layers, every).argsort(axis=1).argsort(axis=1).mean(axis=0)
    assert kendalltau(order, -loss_of(every[:, 0])).statistic >= least


def test_lists_of_a_hundred_numbers_are_sorted_without_a_fault():
    """1000 of 1000 lists, after 1000 lists have been seen."""
    draw, first = np.random.default_rng(2), np.arange(100)

    def batch():
        return one_list(np.sort(draw.random((100, 1)), axis=0)[::-1], np.ones(100), first)()

    layers = drawn(1, widths=(1, 32, 32, 1))
    train(Ranker(layers), batch, 1000, 0.005, 0.0)
    lists = np.sort(draw.integers(1, 101, (1000, 100)), axis=1)[:, ::-1] / 100.0
    found = score_points(layers, lists.reshape(-1, 1)).reshape(1000, 100)
    assert ((np.diff(found, axis=1) < 0.0) | (np.diff(lists, axis=1) == 0.0)).all()
