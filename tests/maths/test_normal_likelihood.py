"""The likelihood of networks' normal distributions against torch's, its maximum, and their mixture."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from fovnet.maths.normal_likelihood import (
    LEAST_VARIANCE,
    mixture_moments,
    moments,
    negative_log_likelihood,
)
from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.scorers import Layers, forward

rng = np.random.default_rng(0)
OUTPUTS, Y = 3.0 * rng.normal(size=(4, 20, 2)), rng.normal(size=20)


def test_loss_and_gradient_are_torchs_also_where_the_variance_is_least_or_large():
    outputs = OUTPUTS.copy()
    outputs[0, :3, 1] = -800.0, 800.0, -30.0
    leaf = torch.tensor(outputs, requires_grad=True)
    variance = torch.nn.functional.softplus(leaf[..., 1]) + LEAST_VARIANCE
    gaussian = torch.nn.GaussianNLLLoss(reduction="none")
    theirs = gaussian(leaf[..., 0], torch.tensor(Y).expand(4, 20), variance).mean(dim=1)
    loss, gradient = negative_log_likelihood(outputs, Y)
    assert np.allclose(loss, theirs.detach(), rtol=1e-12, atol=1e-12)
    theirs.sum().backward()
    assert np.allclose(gradient, leaf.grad, rtol=1e-7, atol=1e-12)  # torch's softplus is x above 20


def test_loss_is_minus_the_log_density_but_for_a_constant_and_its_gradient_that_of_central_differences():
    mean, variance = moments(OUTPUTS)
    loss, gradient = negative_log_likelihood(OUTPUTS, Y)
    wanted = -norm.logpdf(Y, mean, np.sqrt(variance)).mean(axis=1) - 0.5 * np.log(2.0 * np.pi)
    assert loss == pytest.approx(wanted, rel=1e-12)
    for row, which in rng.integers(0, [20, 2], (12, 2)):
        step = np.zeros_like(OUTPUTS)
        step[:, row, which] = 1e-6
        ends = [negative_log_likelihood(OUTPUTS + side * step, Y)[0] for side in (1.0, -1.0)]
        assert gradient[:, row, which] == pytest.approx(
            (ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-8
        )


def fitted(x, y, hidden=(32, 32), epochs=300):
    layers = Layers.draw((1, *hidden, 2), 5, np.random.default_rng(1))
    train(
        Ranker(layers),
        lambda: Batch(x, x[:0], lambda outputs: negative_log_likelihood(outputs, y)[1]),
        epochs,
        0.02,
        0.0005,
    )
    return layers


def test_without_inputs_to_tell_rows_apart_each_network_finds_the_sample_mean_and_variance():
    """The maximum of the likelihood of one normal distribution."""
    y = rng.normal(0.4, 0.8, 50)
    mean, variance = moments(
        forward(fitted(np.zeros((50, 1)), y, epochs=1500), np.zeros((1, 1)))[-1]
    )
    assert mean == pytest.approx(np.full((5, 1), y.mean()), abs=1e-3)
    assert variance - LEAST_VARIANCE == pytest.approx(
        np.full((5, 1), y.var() - LEAST_VARIANCE), rel=1e-2
    )


def test_networks_find_a_curve_and_where_its_noise_is():
    x = rng.random((400, 1))
    noise = np.where(x[:, 0] < 0.5, 0.15, 0.6)
    layers = fitted(x, np.sin(4.0 * x[:, 0]) + noise * rng.standard_normal(400))
    at = np.array([0.15, 0.3, 0.7, 0.85])
    mean, variance = mixture_moments(*moments(forward(layers, at[:, None])[-1]), np.full(5, 0.2))
    assert mean == pytest.approx(np.sin(4.0 * at), abs=0.25)
    assert np.sqrt(variance[:2]).max() < 0.25 and np.sqrt(variance[2:]).min() > 0.45


def test_the_mixture_has_the_moments_of_draws_from_it():
    mean = np.array([[1.0, 0.0], [3.0, 0.0], [-2.0, 0.0]])
    variance = np.array([[0.5, 1.0], [2.0, 2.0], [0.1, 3.0]])
    share = np.array([0.5, 0.3, 0.2])
    member = rng.choice(3, 200_000, p=share)
    draws = mean[member] + np.sqrt(variance[member]) * rng.standard_normal((200_000, 2))
    found = mixture_moments(mean, variance, share)
    assert found[0] == pytest.approx(draws.mean(axis=0), abs=0.02)
    assert found[1] == pytest.approx(draws.var(axis=0), rel=0.02)
    alike = mixture_moments(mean, variance, np.full(3, 1 / 3))
    assert alike[1] == pytest.approx((variance + mean**2).mean(axis=0) - mean.mean(axis=0) ** 2)
