"""Networks that know the task by a set of its rows: against torch's, and what a set may not depend on."""

import numpy as np
import pytest
import torch

from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.ranking_losses import LOSSES, find_tie_starts, list_mle, weigh_places

rng = np.random.default_rng(0)
X, SUPPORT = rng.random((20, 5)), rng.random((7, 6))
SINGLE = np.arange(20)


def drawn(members=3, seed=1, inputs=5):
    return Ranker.draw(inputs, (8, 8), members, np.random.default_rng(seed), knows_task=True)


def leaves_of(ranker):
    return [
        [
            (torch.tensor(w, requires_grad=True), torch.tensor(b, requires_grad=True))
            for w, b in part.views
        ]
        for part in ranker.parts
    ]


def through(layers, h):
    for i, (w, b) in enumerate(layers):
        h = (torch.relu(h) if i else h) @ w + b
    return h


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "support", [SUPPORT, SUPPORT[:1], SUPPORT[:0]], ids=["seven", "one", "none"]
)
def test_scores_and_gradients_of_all_networks_are_torchs(name, support):
    ranker, first = drawn(), find_tie_starts(np.sort(rng.integers(0, 12, 20)))
    c = weigh_places("log", first)
    members, each, whole = leaves_of(ranker)
    latent = through(each, torch.tensor(12.0**0.5 * (support - 0.5))).sum(1, keepdim=True) / max(
        1, len(support)
    )
    code = through(whole, latent).expand(-1, 20, -1)
    theirs = through(members, torch.cat([code, torch.tensor(X)[None]], 2).expand(3, -1, -1))[..., 0]
    assert np.allclose(ranker.scores(X, support), theirs.detach(), atol=1e-13)
    slope = LOSSES[name](theirs.detach().numpy(), c, first)[1]
    theirs.backward(torch.tensor(slope))
    found = ranker.gradients(
        Batch(X, support, lambda s: LOSSES[name](s[..., 0], c, first)[1][..., None])
    )
    for k, (mine, part) in enumerate(zip(found, (members, each, whole), strict=True)):
        flat = np.concatenate(
            [t.grad.numpy().reshape(len(mine), -1) for pair in part for t in pair], axis=1
        )
        # torch has the sum over members, the code their mean
        shared = 1.0 if k == 0 else 3.0
        assert np.allclose(mine * shared, flat, rtol=1e-9, atol=1e-12)


def test_a_support_is_a_set_of_which_only_the_shares_count():
    ranker = drawn()
    plain = ranker.scores(X, SUPPORT)
    assert np.abs(ranker.scores(X, np.tile(SUPPORT, (3, 1))) - plain).max() < 1e-12
    assert np.abs(ranker.scores(X, SUPPORT[::-1]) - plain).max() < 1e-12
    assert np.abs(ranker.scores(X, SUPPORT[:3]) - plain).max() > 1e-6


def test_a_copy_is_trained_and_the_original_stays():
    ranker = drawn()
    before, copy = [part.flat.copy() for part in ranker.parts], ranker.copy()
    train(
        copy,
        lambda: Batch(X, SUPPORT, lambda s: list_mle(s[..., 0], np.ones(20), SINGLE)[1][..., None]),
        5,
        0.02,
        0.0005,
    )
    assert all((part.flat == old).all() for part, old in zip(ranker.parts, before, strict=True))
    assert all((part.flat != old).any() for part, old in zip(copy.parts, before, strict=True))


def test_of_two_tasks_that_are_each_others_reverse_the_support_tells_which():
    """The loss is x, or -x: three rows with their levels say which, and no network without them could."""
    draw = np.random.default_rng(3)
    ranker = Ranker.draw(1, (32, 32), 3, draw, knows_task=True)

    def task(sign, n):
        x = np.sort(draw.random(n))[::sign]
        return x[:, None], np.column_stack([x, (np.arange(n) + 0.5) / n])

    def batch():
        sign = int(draw.choice([-1, 1]))
        return Batch(
            task(sign, 20)[0],
            task(sign, 20)[1],
            lambda s: list_mle(s[..., 0], np.ones(20), SINGLE)[1][..., None] / 20,
        )

    train(ranker, batch, 1000, 0.003, 0.0)
    for sign in (1, -1):
        s = ranker.scores(np.linspace(0, 1, 50)[:, None], task(sign, 3)[1])
        assert (np.sign(np.diff(s.mean(axis=0))) == -sign).mean() > 0.95
